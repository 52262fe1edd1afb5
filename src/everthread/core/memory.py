"""What is remembered of a scope, and what the engine asks of the place where it is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

import msgspec

from everthread.core.claim import Block, Claim, ClaimId, Kind, State
from everthread.core.ids import LineageId, ScopeId, SessionId, SessionKey, StepId, Tenant, ThreadId
from everthread.core.messages import Message
from everthread.core.session import Session

# --- the index ---


class Passage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A piece of one message, as the index knows it: the whole message unless that is long."""

    no: int  # the index's own number for it
    step: StepId | None  # None: it was imported
    session: SessionId  # the id its thread is known by
    thread: ThreadId
    lineage: LineageId
    seq: int  # the step's number on its path, as the prompt names it
    message: int  # which of the step's messages, its input first
    start: int  # where in the message's text it begins
    role: str
    speaker: str  # a person's name in a group, else the role
    said_at: datetime
    text: str


class Found(msgspec.Struct, frozen=True, gc=False):
    """A passage that may matter, and how well it fits."""

    passage: Passage
    lexical: float = 0.0  # BM25, the higher the better; 0: no word in common, or too many fit better
    similar: float = 0.0  # cosine; 0: it has no vector yet


MEANING = 2.0  # what a cosine of 1 counts for; the best BM25 counts for 1
LEAST_BEST = 1.0  # BM25 below which the best is not good


def own_fits(scores: Sequence[tuple[float, float]]) -> list[float]:
    """How well passages fit by themselves, by the BM25 and the cosine of each: the first as a share of the best one."""
    best = max(LEAST_BEST, *(lexical for lexical, _ in scores)) if scores else LEAST_BEST
    return [
        (lexical / best if lexical > 0 else 0.0) + (MEANING * similar if similar > 0 else 0.0)
        for lexical, similar in scores
    ]


class Worded(msgspec.Struct, frozen=True):
    """Passages by number: those that have the words of a search, and the scores of all that were looked at."""

    found: Sequence[int] = ()
    scores: Mapping[int, float] = {}


class View(msgspec.Struct, frozen=True):
    """Whose memory is looked at, and from where.

    From a session: its own path, and the newest path of every other thread of the scope. Without one: the newest path
    of each. Nothing else of a tree is seen: what somebody edited away, or had answered again, is not remembered. To
    claims the session's window belongs; `search` and `elsewhere` leave it out, for the prompt has it already."""

    tenant: Tenant
    scope: ScopeId
    session: Session | None = None


class Chances(msgspec.Struct, frozen=True, gc=False):
    """What a later statement does to an earlier one, if they tell about the same thing."""

    replaces: float  # it gives another value
    repeats: float  # it gives the same

    @property
    def either(self) -> float:
        return self.replaces + self.repeats


UNRELATED = Chances(0.0, 0.0)


class Kin(msgspec.Struct, frozen=True, gc=False):
    """Two passages, by their numbers, that may tell about the same thing."""

    earlier: int
    later: int
    chances: Chances


class Kindred(msgspec.Struct, frozen=True):
    """Passages that may tell about the same things, and which goes with which."""

    passages: Sequence[Passage] = ()
    kin: Sequence[Kin] = ()


# --- what is waiting to be read ---

WorkKind = Literal["step", "session", "thread"]


class Work(msgspec.Struct, frozen=True):
    """Something that memory has yet to read. It stays until it is done, or is given up with the reason."""

    no: int
    tenant: Tenant
    kind: WorkKind  # a step that was said; what a session's beginning pushed out of the window; a whole thread
    name: str  # the id of that step, session or thread
    attempts: int = 0
    scope: int = 0  # the same for all that belongs to one


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A step as memory reads it."""

    step: StepId
    seq: int
    session: Session  # the tip of its path
    scope: ScopeId
    session_key: SessionKey | None
    messages: tuple[Message, ...]  # its input first, the answer last
    said_at: datetime


class Lag(msgspec.Struct, frozen=True):
    """How far memory is behind."""

    waiting: int = 0
    oldest: datetime | None = None  # when the one that has waited longest came
    dead: int = 0  # given up


class Dead(msgspec.Struct, frozen=True):
    """A dead letter: what could not be read, and why."""

    work: Work
    failure: str
    at: datetime


# --- claims ---


class Kept(msgspec.Struct, frozen=True):
    """A claim and the scope it belongs to."""

    claim: Claim
    scope: ScopeId
    session_key: SessionKey | None


class Near(msgspec.Struct, frozen=True):
    """An earlier claim that a new statement may concern."""

    claim: Claim
    similar: float = 0.0  # cosine of their quotes; 0: not known


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a claim comes from, down to the place in the transcript."""

    root: SessionId
    session: SessionId  # the epoch it was said in
    step: StepId
    turn: StepId
    seq: int
    place: int  # number of the message in the whole transcript, from 1
    role: str
    text: str  # the whole message
    said_at: datetime


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What one reply was given from memory."""

    root: SessionId
    session: SessionId
    session_key: SessionKey | None
    step: StepId
    seq: int
    said_at: datetime
    tail: Block  # the exact block before the message; an empty one when there was none
    profile: Block  # what stood in the frozen prefix


# --- forgetting ---


class Forget(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be forgotten within one scope: exactly one of these."""

    claim: ClaimId | None = None
    session: SessionId | None = None  # any id of the thread: all of it goes
    text: str | None = None  # wherever it stands, whatever its case
    everything: bool = False
    for_good: bool = True  # a history that is sent again does not bring it back


class Place(msgspec.Struct, frozen=True):
    """A place where forgotten words stood."""

    session: SessionId
    step: StepId | None  # None: imported
    seq: int
    role: str
    excerpt: str


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """What was, or would be, forgotten."""

    claims: tuple[Claim, ...] = ()
    places: tuple[Place, ...] = ()  # the first hundred
    messages: int = 0
    sessions: int = 0


class Memory(Protocol):
    """Where what is remembered lives: beside the ledger, in one transaction with it where that matters.

    Every call names its tenant. A store that cannot read or write raises StoreUnavailable."""

    # reading what was said
    async def waiting(
        self, *, limit: int, now: datetime, first: Sequence[tuple[Tenant, ScopeId]] = ()
    ) -> tuple[Work, ...]:
        """What is to be read and whose time has come, the oldest first; that of the scopes named before all other."""
        ...

    async def told(self, tenant: Tenant, step: StepId) -> Told | None:
        """A step to be read; None when it was deleted meanwhile."""
        ...

    async def evicted(self, work: Work) -> tuple[Told, ...]:
        """The steps that a session's beginning pushed out of its window, the oldest first."""
        ...

    async def unembedded(self, work: Work, *, model: str, limit: int) -> tuple[Passage, ...]:
        """The passages that a piece of work covers and that have no vector of this model yet; those of a step only
        if its scope has a key (what is in its only session's window is not searched)."""
        ...

    async def nearest(
        self, passage: Passage, vector: bytes, *, model: str, limit: int
    ) -> Sequence[tuple[float, Passage]]:
        """What was said in the same role and scope and is similar to a passage that is yet to be embedded, with the
        cosines; the most similar first."""
        ...

    async def just_before(self, passage: Passage) -> Passage | None:
        """How the message begins that the same person sent just before this one, on the same stretch of its path."""
        ...

    async def embedded(self, vectors: Sequence[tuple[int, bytes]], *, model: str, kin: Sequence[Kin] = ()) -> None:
        """Keeps passages' vectors, by the passages' numbers, and what was found out about pairs of them; those that
        were deleted meanwhile are left out."""
        ...

    async def near(
        self, view: View, *, words: Sequence[str], vector: bytes | None, model: str, limit: int
    ) -> tuple[Near, ...]:
        """Claims that may be about the same thing: with words in common, or similar, or recent; the nearest first, and
        after them what took the place of those that were reversed. None that was retracted."""
        ...

    async def remember(
        self, tenant: Tenant, scope: ScopeId, claims: Sequence[Claim], *, vectors: Sequence[bytes] = (), model: str = ""
    ) -> None:
        """Writes claims, new ones and changed ones, by their ids; `vectors` are those of the first of them."""
        ...

    async def done(self, *works: Work) -> None:
        """They were read."""
        ...

    async def failed(self, work: Work, *, failure: str, again: datetime | None, now: datetime) -> None:
        """It could not be read: it is tried again at a time, or is a dead letter."""
        ...

    async def dead(self, tenant: Tenant | None = None, *, limit: int) -> tuple[Dead, ...]: ...

    async def lag(self, tenant: Tenant | None = None) -> Lag:
        """How far reading is behind: for one tenant, or for all."""
        ...

    async def behind(self, tenant: Tenant, scope: ScopeId) -> bool:
        """Whether something of this scope is waiting to be read."""
        ...

    # recalling
    async def elsewhere(self, view: View) -> bool:
        """Whether the scope has anything outside the session's window. Cheap: every turn asks."""
        ...

    async def speakers(self, view: View) -> tuple[str, ...]:
        """The names of those who speak in the scope; of a conversation without names, none."""
        ...

    async def worded(self, view: View, *, words: Sequence[str], model: str, limit: int) -> Worded:
        """The half of a search that needs no vector: it may be made meanwhile."""
        ...

    async def search(
        self,
        view: View,
        *,
        words: Sequence[str],
        vector: bytes | None,
        model: str,
        limit: int,
        worded: Worded | None = None,
    ) -> tuple[Found, ...]:
        """Passages with these words, and similar ones: of `limit` of each, the `limit` that fit best by themselves, in
        no order. Its cost does not grow with other scopes, nor its scores. `worded`: what that half has found, if it
        was asked before."""
        ...

    async def kindred(self, view: View, passages: Sequence[int] = (), *, steps: Sequence[StepId] = ()) -> Kindred:
        """What these passages, or those of these steps, lead to, from one to the next: all that may tell about the same
        things and is seen, the session's window too; but not what a person took back or put right by hand."""
        ...

    async def about(self, view: View, steps: Sequence[StepId]) -> tuple[Claim, ...]:
        """The claims drawn from these steps, and all that their links lead to, both ways. One whose successor is not
        seen from here holds again."""
        ...

    async def added(self, view: View, *, limit: int) -> tuple[Claim, ...]:
        """What people added by hand and still holds, the newest first."""
        ...

    async def standing(self, view: View) -> tuple[Claim, ...]:
        """What may stand in a profile: wishes, pinned claims, current facts and preferences; the newest of each."""
        ...

    # looking, and a person's own hand
    async def scope(self, tenant: Tenant, key: SessionKey) -> ScopeId | None: ...

    async def claims(
        self,
        view: View,
        *,
        kinds: Sequence[Kind] = (),
        states: Sequence[State] = (),
        pinned: bool | None = None,
        after: ClaimId | None = None,
        limit: int,
    ) -> tuple[Claim, ...]:
        """The claims of a scope in the order in which they were said."""
        ...

    async def claim(self, tenant: Tenant, claim: ClaimId) -> Kept | None: ...

    async def source(self, tenant: Tenant, claim: Claim) -> Source | None: ...

    async def given(self, tenant: Tenant, step: StepId) -> Given | None: ...

    async def opened(self, view: View, seq: int, session: SessionId | None = None) -> Told | None:
        """The step that the view's prompt means by "turn N": of its own session, or of another one of the scope.
        None where there is none to be seen."""
        ...

    async def forget(self, tenant: Tenant, scope: ScopeId, what: Forget, *, now: datetime, dry_run: bool) -> Forgotten:
        """Erases words and all that was derived from them, for good; a history that is sent again does not bring them
        back. With `dry_run`, only tells what would go."""
        ...
