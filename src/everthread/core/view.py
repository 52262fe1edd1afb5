"""Steps seen through other doors: responses, stored completions, runs, the items of a conversation.

None of them has words of its own. A response, a completion and a run bear the name of the step that answers them; an
item is a part of a message of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

import msgspec

from everthread.core.ids import NO_KEY, KeyId, SessionId, SessionKey, StepId, Tenant
from everthread.core.messages import Message
from everthread.core.session import Place, Session
from everthread.core.transcript import Order
from everthread.core.turn import Keep, Step, ViewKind

RunKind = Literal["run", "response", "job"]
RunStatus = Literal[
    "queued", "running", "stopping", "completed", "failed", "cancelled", "interrupted", "missed", "skipped"
]

OVER: frozenset[RunStatus] = frozenset({"completed", "failed", "cancelled", "interrupted", "missed", "skipped"})


class Fault(msgspec.Struct, frozen=True):
    """Why something that runs by itself came to nothing: what a client would have been told."""

    code: str
    message: str


class Hook(msgspec.Struct, frozen=True):
    """Where it is told that something is over, and the secret that signs it."""

    url: str
    secret: str


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A step as a response or a stored completion shows it."""

    id: StepId
    keep: Keep
    created_at: datetime


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """A step and where it stands: the session as it is now, the one it was said in, the place after it."""

    step: Step
    session: Session  # the tip of the step's own path
    said_in: SessionId
    parent: SessionId | None  # of the session that it was said in
    place: Place

    @property
    def then(self) -> Session:
        """The session as its client was told of it."""
        return msgspec.structs.replace(self.session, id=self.said_in, parent=self.parent)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that outlives its connection. When it is completed, the step of its name is its answer."""

    id: StepId
    kind: RunKind
    session: SessionId  # the id its thread is known by
    status: RunStatus
    created_at: datetime
    updated_at: datetime
    turn: bytes = b""  # the turn as JSON, for as long as it may have to be run again
    told: bool = False  # some of its events are recorded, so somebody may have seen them
    model: str | None = None
    metadata: Mapping[str, str] = {}
    fault: Fault | None = None
    ticket: bytes = b""  # digest of what opens its events without a key
    ticket_until: datetime | None = None
    session_key: SessionKey | None = None  # that its turn names: its thread may not be there yet
    due_at: datetime | None = None  # not before; None: at once
    attempt: int = 1
    retries: int = 0  # how often it is tried again after a failure that may pass
    timeout: float | None = None  # seconds for one attempt
    hook: Hook | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    job: str | None = None  # whose schedule it follows
    scheduled_at: datetime | None = None  # by that schedule
    key: KeyId = NO_KEY  # the API key that asks for it


class Sort(msgspec.Struct, frozen=True, kw_only=True):
    """Which stored completions to list."""

    model: str | None = None
    metadata: Mapping[str, str] = {}
    key_prefix: str | None = None  # of the session keys that they may belong to


class Items(msgspec.Struct, frozen=True):
    """Some steps of a path in a row, and whether there are more after them."""

    steps: tuple[Stored, ...]
    more: bool


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A step's messages, each with the number by which its items are known: input from 0 on, None for the answer.

    A message that was removed is not there; the numbers of the others stay."""

    step: StepId
    messages: tuple[tuple[int | None, Message], ...]
    reasoning: str = ""
    said_at: datetime


class Views(Protocol):
    """Where these views are kept. Every call names its tenant; what is another's is not there."""

    # steps
    async def spot(self, tenant: Tenant, step: StepId) -> Spot | None:
        """A step by its name, whatever it is seen as."""
        ...

    # responses and stored completions: written with their step (`Commit.keep`), or with a run
    async def view(self, tenant: Tenant, step: StepId, kind: ViewKind) -> View | None: ...

    async def views(
        self, tenant: Tenant, kind: ViewKind, *, sort: Sort, after: StepId | None, limit: int, order: Order
    ) -> tuple[tuple[View, ...], bool]:
        """Those that are answered, by age, and whether there are more; Malformed when `after` is none of them."""
        ...

    async def label(self, tenant: Tenant, step: StepId, kind: ViewKind, metadata: Mapping[str, str]) -> bool:
        """Gives it other metadata; False when it is not there."""
        ...

    async def drop(self, tenant: Tenant, step: StepId, kind: ViewKind, *, now: datetime) -> bool:
        """It is gone for ever, and so are the words of a thread that nobody named and of which no view is left. False
        when it is not there."""
        ...

    # items of a conversation
    async def append(
        self,
        tenant: Tenant,
        session: Session,
        messages: Sequence[Message],
        *,
        tokens: Sequence[int],
        now: datetime,
    ) -> tuple[StepId, ...]:
        """Messages that nobody answered, each as a step of its own (`import`) at the end of a path; `tokens` is what
        each weighs; raises
        SessionMoved."""
        ...

    async def items(self, tenant: Tenant, session: Session, *, after: StepId | None, limit: int, order: Order) -> Items:
        """Steps of the session's whole path, imported exchanges included, at most `limit`; those beyond step `after`
        if it is given (it is itself part of the answer, so that a page may begin inside of it)."""
        ...

    async def stored(self, tenant: Tenant, session: Session, step: StepId) -> Stored | None:
        """One step of the session's path."""
        ...

    async def remove(
        self,
        tenant: Tenant,
        session: Session,
        step: StepId,
        number: int | None,
        call: str | None,
        *,
        weigh: Callable[[tuple[Message, ...]], int],
        now: datetime,
    ) -> bool:
        """Takes one message out of a step for good, or one tool call out of it; its words leave the index, the memory
        and later prompts. The calls of a message stay when its words are removed, and the other way round. `weigh`
        tells what the messages that are left cost in a later prompt. False when it is not there; Malformed when it
        was imported."""
        ...

    async def about(self, tenant: Tenant, session: Session) -> tuple[datetime, Mapping[str, str]]:
        """When the thread began, and the metadata that its owner gave it as a conversation."""
        ...

    async def describe(self, tenant: Tenant, session: Session, metadata: Mapping[str, str]) -> None:
        """Gives the thread other metadata."""
        ...
