"""A thread as its owner looks at it: sessions, what was said in them, the tree they form."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Protocol

import msgspec

from everthread.core.ids import LineageId, SessionId, SessionKey, Tenant
from everthread.core.messages import Message
from everthread.core.session import Place, Session

Order = Literal["asc", "desc"]


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One session, as a list shows it. As a lineage's tip it stands for all of it."""

    id: SessionId
    root: SessionId  # the id the thread is known by
    tip: SessionId  # the live session that its id leads to
    parent: SessionId | None
    lineage: LineageId
    branch: bool  # its lineage left another one, by an edit or a regenerate
    session_key: SessionKey | None
    title: str | None
    source: str
    model: str | None  # what answered last
    created_at: datetime
    updated_at: datetime
    end_reason: str | None
    ended_at: datetime | None
    messages: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    distilled_tokens: int


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a transcript."""

    id: str  # names it for paging
    session: SessionId | None  # None: imported
    message: Message
    turn: str | None  # None: imported
    said_at: datetime | None
    finish: str | None = None  # of an assistant's message
    reasoning: str | None = None
    tokens: int | None = None
    model: str | None = None
    source: str = "import"


class Page(msgspec.Struct, frozen=True):
    """Some messages in a row, and whether there are more after them."""

    entries: tuple[Entry, ...]
    more: bool


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """One path of a thread's tree."""

    lineage: LineageId
    fork: LineageId | None
    fork_messages: int  # how many it shares with the path it left
    head: bool  # the path last answered
    sessions: tuple[Card, ...]  # oldest first


class Archive(Protocol):
    """Threads to look at and to change as a whole. Every call names its tenant; what is another's is not there."""

    async def cards(
        self,
        tenant: Tenant,
        *,
        session_key: SessionKey | None = None,
        key_prefix: str | None = None,
        source: str | None = None,
        include_children: bool = False,
        limit: int,
        offset: int = 0,
    ) -> tuple[Card, ...]:
        """The newest threads first, each as its head's tip; with `include_children` every session."""
        ...

    async def card(self, tenant: Tenant, session_id: SessionId) -> Card | None:
        """The session of that very id: an ancestor shows its own segment and names its tip."""
        ...

    async def transcript(
        self, tenant: Tenant, session: Session, *, after: str | None = None, limit: int, order: Order = "asc"
    ) -> Page:
        """The messages of the session's whole path, at most `limit` and about a few megabytes at a time; raises
        Malformed when `after` is none of them."""
        ...

    async def place(self, tenant: Tenant, session: Session, entry: str | None = None) -> Place:
        """The place after the step that a message belongs to, or after the newest; raises Malformed when it is none
        of the session's path."""
        ...

    async def tree(self, tenant: Tenant, session: Session) -> tuple[Branch, ...]:
        """Every path of the session's thread, the first one first."""
        ...

    async def begin(
        self, tenant: Tenant, session: Session, *, now: datetime, title: str | None = None, current: bool = False
    ) -> Session:
        """A thread in which nothing was said yet (or that shares its steps up to a fork); `current` makes it what
        its key's @current means. Raises SessionExists; SessionMoved when what it forks is gone."""
        ...

    async def current(self, tenant: Tenant, key: SessionKey) -> Session | None:
        """What @current means under this key, if it means anything yet."""
        ...

    async def amend(
        self, tenant: Tenant, session: Session, *, now: datetime, title: str | None = None, end: str | None = None
    ) -> None:
        """Gives the thread a title ("" takes it away), or says that its session is over, and why."""
        ...

    async def delete(self, tenant: Tenant, session: Session, *, now: datetime) -> None:
        """The whole thread and everything derived from it, down to its words on the disk. A fork of it keeps what it
        shares."""
        ...
