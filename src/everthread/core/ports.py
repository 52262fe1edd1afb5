"""What the engine asks of the world. Each port has a contract suite in tests/contract that every adapter passes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

import msgspec

from everthread.core.claim import Block
from everthread.core.ids import KeyId, LineageId, ScopeId, SessionId, SessionKey, StepId, Tenant
from everthread.core.key import ApiKey
from everthread.core.messages import Message, with_continuations
from everthread.core.session import Exchange, Place, Session
from everthread.core.turn import Keep, ModelEvents, OnBusy, Prompt, Replay, Step


class Clock(Protocol):
    def now(self) -> datetime: ...


class Ids(Protocol):
    """Chance, as a port. Ids sort by the time they were made."""

    def new(self) -> str: ...


class TokenCounter(Protocol):
    @property
    def per_prompt(self) -> int:
        """What the chat format itself adds to every prompt, at most."""
        ...

    @property
    def per_message(self) -> int:
        """What the chat format itself costs around each message, at most."""
        ...

    def count(self, text: str) -> int: ...


# --- models ---


class ModelCard(msgspec.Struct, frozen=True):
    id: str
    owned_by: str = "upstream"
    created: int = 0
    context_length: int | None = None


class Model(Protocol):
    """Something that answers a prompt."""

    def stream(self, prompt: Prompt) -> ModelEvents:
        """The answer as it comes; ends after every choice has ended, or raises an UpstreamFailure.

        Closing the iterator early stops the model."""
        ...

    async def cards(self) -> tuple[ModelCard, ...]:
        """The models that can be asked for, the default one first."""
        ...

    async def close(self) -> None: ...


# --- storage ---


class Past(msgspec.Struct, frozen=True):
    """A step, or an imported exchange, as a later prompt sees it."""

    messages: tuple[Message, ...]
    tokens: int  # of these
    turn: StepId | None = None  # None: imported
    seq: int = 0
    at: datetime | None = None  # when it was said
    tooled: bool = False  # it calls tools, or has their results
    size: int = 0  # bytes, about: what it takes to keep it at hand
    tail: str = ""  # what it was given from memory: shown again while its turn goes on
    instructions: tuple[Message, ...] = ()  # that were said among its messages, and still apply

    @property
    def calls(self) -> tuple[str, ...]:
        """The tool calls that its last message makes."""
        return self.messages[-1].calls if self.messages else ()


def past_of(
    messages: tuple[Message, ...],
    tokens: int,
    turn: StepId | None = None,
    seq: int = 0,
    at: datetime | None = None,
    *,
    tail: str = "",
) -> Past:
    instructions = tuple(message for message in messages if message.is_instruction)
    if instructions or any(message.is_silent for message in messages):
        messages = tuple(message for message in messages if not (message.is_instruction or message.is_silent))
    messages = with_continuations(messages)
    return Past(
        messages,
        tokens,
        turn,
        seq,
        at,
        tooled=any(message.calls or message.answers for message in messages),
        size=200 + sum(2 * len(message.raw) + 200 for message in (*messages, *instructions)) + len(tail),
        tail=tail,
        instructions=instructions,
    )


class Epoch(msgspec.Struct, frozen=True):
    """What a session's prompt is made of: the log and the profile it began with, and the steps since."""

    log: str | None
    past: tuple[Past, ...]  # oldest first
    profile: Block | None = None  # what is known of people and their wishes, as it was when the epoch began


class Hold(msgspec.Struct, frozen=True):
    """A session held for one turn. `session` is None while the id is unknown."""

    tenant: Tenant
    session_id: SessionId
    session: Session | None
    listen: Callable[[Callable[[], None]], None]  # takes what ends this turn early, should another one want that


class Reserved(msgspec.Struct, frozen=True):
    """The replay key is ours: run the turn, and commit it with its step or release it."""


class Recorded(msgspec.Struct, frozen=True):
    """The turn ran before: its session and step."""

    session: Session
    step: Step


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """All that one step writes, in one transaction."""

    session: Session  # as it was when the step began; the store refuses if it has moved since
    step: Step
    begins: bool = False  # this step is the first of a new thread
    branches: bool = False  # this step is the first of a new path of its thread
    imported: Sequence[Exchange] = ()  # history the client brought to a new thread
    bind: SessionKey | None = None  # the session key an unkeyed session joins now
    replay: Replay | None = None
    profile: Block | None = None  # that a new thread begins with
    keep: Keep | None = None  # what the step is to be seen as
    asked: bool = True  # the client itself named the session
    fence: int | None = None  # of the run of the step's name, which this completes; its view is there already
    key: KeyId | None = None  # the API key that asked
    job: str | None = None  # that the step is a run of


class Hit(msgspec.Struct, frozen=True):
    """A remembered message that matches a search."""

    session: SessionId
    seq: int
    role: str
    text: str
    said_at: datetime
    score: float


class Problem(msgspec.Struct, frozen=True):
    """Something `check` found, whether it was mended, and whether it could be."""

    what: str
    mended: bool = False
    mendable: bool = False


Looking = Callable[[str, int | None], None]  # what is looked at: None before; after, how many problems it has


class Store(Protocol):
    """Where state lives. Every call names its tenant; nothing is visible across tenants.

    A store that cannot read or write raises StoreUnavailable; it never answers with less than it holds."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def ping(self) -> None:
        """Returns if the store can be written to."""
        ...

    # keys
    async def add_key(self, key: ApiKey) -> None: ...

    async def key(self, id: KeyId) -> ApiKey | None: ...  # noqa: A002

    async def keys(self, tenant: Tenant | None = None) -> tuple[ApiKey, ...]: ...

    async def revoke_key(self, id: KeyId, now: datetime) -> bool: ...  # noqa: A002

    async def ended_keys(self, some: Collection[KeyId], now: datetime) -> tuple[KeyId, ...]:
        """Those of them that are revoked, or have expired by now; of one that nobody made nothing is said."""
        ...

    async def unhook_key(self, id: KeyId, url: str) -> None:  # noqa: A002
        """Nothing more is told to this key there."""
        ...

    # sessions
    async def find(self, tenant: Tenant, session_id: SessionId) -> Session | None:
        """The tip that an id resolves to."""
        ...

    async def tip(self, tenant: Tenant, lineage: LineageId) -> Session:
        """The live session of a known path, whether it is its thread's head or not."""
        ...

    def claim(
        self, tenant: Tenant, session_id: SessionId, *, by: StepId, on_busy: OnBusy = "queue", patient: bool = False
    ) -> AbstractAsyncContextManager[Hold]:
        """The session, ours until released: one turn at a time, first come, first served. `by` names the turn.

        Raises SessionBusy when waiting was not wanted or, unless one is patient, when the line or the wait is too
        long."""
        ...

    async def held(self, tenant: Tenant, session_id: SessionId) -> bool:
        """Whether a turn of it is running now."""
        ...

    async def epoch(self, tenant: Tenant, session: Session, *, tokens: int) -> Epoch:
        """The session's log, and the newest steps of its epoch whose weights add up to at most `tokens`; always at
        least the very newest. A branch that is only planned has one too."""
        ...

    async def matching(self, tenant: Tenant, session: Session, hashes: Sequence[bytes]) -> tuple[int, Place] | None:
        """The first of these hashes that a place of the thread has, and that place; of several the one on the
        session's own path."""
        ...

    async def following(self, tenant: Tenant, session: Session, message_id: str) -> Place | None:
        """The place after the newest step of this thread that a client's own message id led to."""
        ...

    async def before(self, tenant: Tenant, place: Place) -> Place:
        """The place before the step that a place follows, and before what others said since."""
        ...

    async def opening(self, tenant: Tenant, session: Session) -> Place | None:
        """The place before the first step that a client said had no message before it."""
        ...

    async def said(self, tenant: Tenant, session: Session, message_id: str, *, since: datetime) -> Step | None:
        """The step of this thread that a client's own message id led to."""
        ...

    async def repeated(
        self, tenant: Tenant, session: Session, body: bytes, *, after: int, since: datetime | None
    ) -> Step | None:
        """A recent step of the session's path that came from this very request body: later than step `after`, or
        asked at `since` or later."""
        ...

    async def importable(
        self, tenant: Tenant, session_id: SessionId, history: Sequence[Message]
    ) -> tuple[Message, ...]:
        """A history that a client brings along to a new session, without what is to stay forgotten: message by
        message, or nothing at all when the session was forgotten as a whole."""
        ...

    async def commit(self, tenant: Tenant, commit: Commit) -> Session:
        """Writes a step, wholly or not at all, and returns the session as it is now."""
        ...

    async def rotate(
        self, tenant: Tenant, parent: Session, child: Session, *, log: str, now: datetime, profile: Block | None = None
    ) -> Session:
        """Ends the parent and begins the child in one transaction, if the parent is still its lineage's tip; steps
        that came since are in the child's window. Returns the child as it is now, or raises SessionMoved."""
        ...

    async def tidy(
        self,
        *,
        unnamed_before: datetime,
        replays_before: datetime,
        runs_before: datetime,
        parcels_before: datetime | None = None,
        limit: int,
    ) -> int:
        """Drops unnamed threads that nobody continued since, old replay records, runs that came to nothing long ago
        (but for those of jobs), parcels that arrived or were given up long ago, and what is left of removed jobs;
        returns how many."""
        ...

    async def search(self, tenant: Tenant, scope: ScopeId, query: str, *, limit: int) -> tuple[Hit, ...]: ...

    # replays
    async def reserve(self, tenant: Tenant, replay: Replay, *, now: datetime) -> Reserved | Recorded:
        """Ours to run, or what it led to before.

        Raises IdempotencyInProgress or IdempotencyMismatch."""
        ...

    async def release(self, tenant: Tenant, replay: Replay) -> None:
        """Gives a reserved key back after a failure, so that a retry runs."""
        ...

    async def check(self, *, repair: bool, looking: Looking | None = None) -> tuple[Problem, ...]:
        """Reads everything while others go on. `repair` first makes anew what is derived, in portions."""
        ...
