"""What a person may see of a memory, and do to it with their own hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime
from typing import Literal
from weakref import WeakValueDictionary

import msgspec

from everthread.core.claim import Claim, ClaimId, Draft, Kind, Span, State, claim_id
from everthread.core.embedding import Embedder
from everthread.core.ids import ScopeId, SessionId, StepId, Tenant
from everthread.core.memory import Dead, Forget, Forgotten, Given, Kept, Memory, Source, View
from everthread.core.messages import say
from everthread.core.ports import Clock, Ids, Store
from everthread.core.session import Session, fresh
from everthread.core.transcript import Archive
from everthread.core.turn import Envelope
from everthread.errors import Malformed, NotFound, Unavailable
from everthread.memory import ledger, rank
from everthread.memory.ledger import Change
from everthread.memory.notice import notice
from everthread.memory.slots import relation
from everthread.turns import timeline
from everthread.turns.scopes import Scopes, is_named, permitted
from everthread.turns.search import Query, Results, Search
from everthread.turns.timeline import Era

NEAREST = 50  # claims that something may concern
MOST_SOURCES = 50
MOST_DEAD = 50

replace = msgspec.structs.replace


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which claims of a scope."""

    kinds: tuple[Kind, ...] = ()  # none: all
    states: tuple[State, ...] = ()  # none: all
    pinned: bool | None = None
    after: ClaimId | None = None
    limit: int


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says is so, in their own words."""

    text: str
    kind: Kind = "fact"
    speaker: str = "user"
    pinned: bool = False
    valid_from: datetime | None = None
    because: str | None = None


class Sourced(msgspec.Struct, frozen=True):
    """A claim, what it has to do with the one that was asked about, and where it was said; None: by hand."""

    relation: Literal["claim", "cause", "replaced"]
    claim: Claim
    source: Source | None


class Status(msgspec.Struct, frozen=True, kw_only=True):
    embedder: str
    dimensions: int
    waiting: int
    lag_seconds: float
    behind: bool | None  # whether something of the scope that was named is waiting
    dead: tuple[Dead, ...]


class Memories:
    """Claims to look at, to add and to change. Who asks, and for which scope, is said by the envelope.

    What is done by hand in a scope is done one after the other, so that two hands do not undo each other's work."""

    def __init__(
        self, *, memory: Memory, store: Store, archive: Archive, clock: Clock, ids: Ids, embedder: Embedder
    ) -> None:
        self._memory = memory
        self._store = store
        self._archive = archive
        self._clock = clock
        self._ids = ids
        self._embedder = embedder
        self._scopes = Scopes(memory=memory, store=store)
        self._search = Search(memory=memory, embedder=embedder, clock=clock)
        self._hands: WeakValueDictionary[tuple[Tenant, ScopeId], asyncio.Lock] = WeakValueDictionary()

    def now(self) -> datetime:
        return self._clock.now()

    # --- looking ---

    async def many(self, to: Envelope, wanted: Wanted) -> tuple[tuple[Claim, ...], bool]:
        """Claims in the order in which they were said, and whether more follow."""
        view = await self._scopes.view(to)
        if wanted.after is not None:
            await self._scopes.last(view, wanted.after)
        if view is None:
            return (), False
        found = await self._memory.claims(
            view,
            kinds=wanted.kinds,
            states=wanted.states,
            pinned=wanted.pinned,
            after=wanted.after,
            limit=wanted.limit + 1,
        )
        return found[: wanted.limit], len(found) > wanted.limit

    async def one(self, to: Envelope, claim: ClaimId) -> Claim:
        return await self._seen(to, await self._scopes.kept(to, claim))

    async def _seen(self, to: Envelope, kept: Kept) -> Claim:
        """A claim as a list shows it: what replaced it may have been edited away since."""
        if kept.claim.step is None or kept.claim.superseded_by is None:
            return kept.claim
        linked = await self._memory.about(View(to.tenant, kept.scope), (kept.claim.step,))
        return next((one for one in linked if one.id == kept.claim.id), kept.claim)

    async def known(self, to: Envelope) -> bool:
        """Whether there is such a scope; a Failure if it may not be asked for."""
        return await self._scopes.view(to) is not None

    async def everything(self, to: Envelope, kinds: Sequence[Kind] = ()) -> AsyncIterator[tuple[Claim, ...]]:
        """All claims of the scope, in portions; also those that were taken back."""
        view = await self._scopes.view(to)
        if view is not None:
            async for page in self._scopes.pages(view, kinds):
                yield page

    async def successors(self, to: Envelope, claims: Iterable[Claim]) -> dict[ClaimId, Claim]:
        """What took the place of these claims."""
        wanted = {claim.superseded_by for claim in claims if claim.superseded_by is not None}
        kept = [await self._memory.claim(to.tenant, claim) for claim in sorted(wanted)]
        return {one.claim.id: one.claim for one in kept if one is not None}

    async def search(self, to: Envelope, query: Query) -> Results:
        view = await self._scopes.view(to)
        return await self._search.run(view, query) if view is not None else Results()

    async def timeline(self, to: Envelope, era: Era) -> tuple[tuple[Change, ...], bool]:
        view = await self._scopes.view(to)
        return await timeline.page(self._scopes, view, era) if view is not None else ((), False)

    async def sources(self, to: Envelope, claim: ClaimId) -> tuple[Sourced, ...]:
        """Where a claim was said, and its cause, and what it replaced."""
        kept = await self._scopes.kept(to, claim)
        linked = await self._scopes.linked(View(to.tenant, kept.scope), kept.claim)
        by_id = {one.id: one for one in linked}
        found = [Sourced("claim", kept.claim, await self._memory.source(to.tenant, kept.claim))]
        if kept.claim.cause is not None and (cause := by_id.get(kept.claim.cause)) is not None:
            found.append(Sourced("cause", cause, await self._memory.source(to.tenant, cause)))
        for one in replaced_by(kept.claim, linked)[:MOST_SOURCES]:
            found.append(Sourced("replaced", one, await self._memory.source(to.tenant, one)))  # noqa: PERF401
        return tuple(found)

    async def given(self, to: Envelope, step: StepId) -> Given:
        """What one reply was given from memory."""
        given = await self._memory.given(to.tenant, step)
        if given is None or not permitted(to, given.session_key):
            raise no_turn()
        if is_named(to):
            view = await self._scopes.view(to)
            session = await self._store.find(to.tenant, given.root)
            if view is None or session is None or session.scope != view.scope:
                raise no_turn()
        return given

    async def status(self, to: Envelope) -> Status:
        """How far memory is behind; what could not be read is told to those who may see all of the tenant."""
        lag = await self._memory.lag(to.tenant)
        view = await self._scopes.view(to) if is_named(to) else None
        return Status(
            embedder=self._embedder.name,
            dimensions=self._embedder.dimensions,
            waiting=lag.waiting,
            lag_seconds=max(0.0, (self._clock.now() - lag.oldest).total_seconds()) if lag.oldest else 0.0,
            behind=await self._memory.behind(view.tenant, view.scope) if view is not None else None,
            dead=await self._memory.dead(to.tenant, limit=MOST_DEAD) if to.key_prefix is None else (),
        )

    # --- a person's own hand ---

    async def add(self, to: Envelope, statement: Statement) -> tuple[Claim, bool]:
        """The claim, and whether it is new: the very same words that hold already are not written twice."""
        view = await self._scopes.view(to) or await self._begun(to)
        vector = await self._vector(statement.text)
        async with self._hand(to, view.scope):
            near = await self._memory.near(
                view,
                words=rank.words(statement.text),
                vector=vector,
                model=self._embedder.name,
                limit=NEAREST,
            )
            for one in near:
                if is_same(one.claim, statement):
                    return await self._pinned(view, one.claim, pinned=one.claim.pinned or statement.pinned), False
            claim = self._stated(statement)
            replaced = [
                one.claim for one in near if relation(claim, one.claim, turning="soft", replaces=None) == "replaces"
            ]
            if replaced:
                claim = replace(claim, supersedes=replaced[0].id)
            await self._write(view, claim, [ledger.reversed_by(old, claim) for old in replaced], vector)
            return claim, True

    async def correct(self, to: Envelope, claim: ClaimId, statement: Statement) -> Claim:
        """How it really is: a new claim that takes the old one's place."""
        kept = await self._scopes.kept(to, claim)
        async with self._hand(to, kept.scope):
            kept = await self._scopes.kept(to, claim)  # as it is now that it is our turn
            old, view = await self._seen(to, kept), View(to.tenant, kept.scope)
            if old.state not in {"current", "unresolved"}:
                holds = f": correct {claim_id(old.superseded_by)}" if old.superseded_by else "; add a new one instead"
                raise Malformed(f"This claim is {old.state} and does not hold any more{holds}.", param="id")
            contested = await self._contested(view, old)
            new = self._stated(replace(statement, kind=old.kind, speaker=old.speaker))
            closed, new = ledger.correct(old, new)
            await self._write(
                view,
                new,
                [closed, *(ledger.reversed_by(other, new) for other in contested)],
                await self._vector(new.quote),
            )
            return new

    async def _contested(self, view: View, claim: Claim) -> list[Claim]:
        """The other side of a conflict."""
        if claim.state != "unresolved":
            return []
        linked = [
            one for one in await self._scopes.linked(view, claim) if claim.id in {one.supersedes, one.superseded_by}
        ]
        return [one for one in await self._as_kept(view, linked) if one.state == "unresolved"]

    async def pin(self, to: Envelope, claim: ClaimId, *, pinned: bool) -> Claim:
        kept = await self._scopes.kept(to, claim)
        async with self._hand(to, kept.scope):
            kept = await self._scopes.kept(to, claim)  # as it is now that it is our turn
            state = (await self._seen(to, kept)).state
            if pinned and state in {"reversed", "retracted"}:
                raise Malformed(f"This claim is {state}: only what holds can be pinned.", param="id")
            return await self._pinned(View(to.tenant, kept.scope), kept.claim, pinned=pinned)

    async def _pinned(self, view: View, claim: Claim, *, pinned: bool) -> Claim:
        if claim.pinned == pinned:
            return claim
        changed = ledger.pin(claim, pinned=pinned)
        await self._memory.remember(view.tenant, view.scope, (changed,))
        return changed

    async def retract(self, to: Envelope, claim: ClaimId, *, reason: str | None = None) -> Claim:
        """It was never so: what it had replaced, or put in doubt, holds again."""
        kept = await self._scopes.kept(to, claim)
        async with self._hand(to, kept.scope):
            kept = await self._scopes.kept(to, claim)  # as it is now that it is our turn
            if kept.claim.state == "retracted":
                return kept.claim
            view = View(to.tenant, kept.scope)
            touching = [
                one
                for one in await self._scopes.linked(view, kept.claim)
                if kept.claim.id in {one.supersedes, one.superseded_by}
            ]
            linked = await self._as_kept(view, touching)
            gone, *others = ledger.retract(kept.claim, linked, at=self._clock.now())
            if kept.claim.state == "reversed":  # what it had replaced gives way to what replaced it
                heir = kept.claim.superseded_by
                others = [replace(one, superseded_by=heir) for one in linked if one.superseded_by == claim]
            gone = replace(gone, because=reason) if reason else gone
            await self._memory.remember(view.tenant, view.scope, (gone, *others))
            return gone

    async def _as_kept(self, view: View, claims: Iterable[Claim]) -> list[Claim]:
        """The claims as they are written, not as they look from somewhere."""
        kept = [await self._memory.claim(view.tenant, claim.id) for claim in claims]
        return [one.claim for one in kept if one is not None and one.scope == view.scope]

    async def delete(self, to: Envelope, session: Session) -> None:
        """Deletes a session that is held, with what others were told of it."""
        what = Forget(session=session.id, for_good=False)
        await self._memory.forget(to.tenant, session.scope, what, now=self._clock.now(), dry_run=False)

    async def forget(self, to: Envelope, what: Forget, *, dry_run: bool) -> Forgotten:
        """Erases for good. A claim and a session name their scope themselves."""
        now = self._clock.now()
        if what.session is not None:
            session = await self._scopes.session(replace(to, session_id=what.session), what.session)
            if dry_run:
                return await self._memory.forget(to.tenant, session.scope, what, now=now, dry_run=True)
            by = StepId(self._ids.new())
            async with self._store.claim(to.tenant, session.id, by=by, on_busy=to.on_busy):
                return await self._memory.forget(to.tenant, session.scope, what, now=now, dry_run=False)
        if what.claim is not None:
            scope = (await self._scopes.kept(to, what.claim)).scope
        else:
            view = await self._scopes.view(to)
            if view is None:
                return Forgotten()
            scope = view.scope
        return await self._memory.forget(to.tenant, scope, what, now=now, dry_run=dry_run)

    def _hand(self, to: Envelope, scope: ScopeId) -> asyncio.Lock:
        return self._hands.setdefault((to.tenant, scope), asyncio.Lock())

    async def _begun(self, to: Envelope) -> View:
        """The scope of a key under which nothing was said yet: its current session begins, and makes it."""
        session = fresh(SessionId(f"ses_{self._ids.new()}"), self._ids.new, session_key=to.session_key)
        session = await self._archive.begin(to.tenant, session, now=self._clock.now(), current=True)
        return View(to.tenant, session.scope)

    def _stated(self, statement: Statement) -> Claim:
        """A claim in a person's words; what it is about, the rules may see."""
        now = self._clock.now()
        seen = noticed(statement, now)
        return Claim(
            id=ClaimId(self._ids.new()),
            kind=statement.kind,
            quote=statement.text,
            step=None,
            seq=0,
            span=Span(0, 0, len(statement.text)),
            speaker=statement.speaker,
            said_at=now,
            recorded_at=now,
            subject=seen.subject if seen else None,
            attribute=seen.attribute if seen else None,
            value=seen.value if seen else None,
            negated=seen.negated if seen else False,
            when=seen.when if seen else None,
            valid_from=statement.valid_from or (seen.valid_from if seen else None),
            valid_to=seen.valid_to if seen and statement.valid_from is None else None,
            because=statement.because or (seen.because if seen else None),
            author="person",
            pinned=statement.pinned,
        )

    async def _write(self, view: View, new: Claim, changed: Sequence[Claim], vector: bytes | None) -> None:
        vectors = (vector,) if vector is not None else ()
        model = self._embedder.name
        await self._memory.remember(view.tenant, view.scope, (new, *changed), vectors=vectors, model=model)

    # --- vectors ---

    async def _vector(self, text: str) -> bytes | None:
        """To be kept; words alone must do where there is none."""
        try:
            return (await self._embedder.embed([text]))[0] if self._embedder.dimensions else None
        except Unavailable:
            return None


def no_turn() -> NotFound:
    return NotFound("There is no such turn; a reply names its own in hermes.run_id.")


def is_same(claim: Claim, statement: Statement) -> bool:
    since = statement.valid_from is None or claim.valid_from == statement.valid_from
    same = claim.quote == statement.text and claim.kind == statement.kind and claim.speaker == statement.speaker
    return claim.state == "current" and same and since


def noticed(statement: Statement, now: datetime) -> Draft | None:
    """What the rules see in it, if that is one thing."""
    drafts = notice((say("user", statement.text),), now)
    return drafts[0] if len(drafts) == 1 else None


def replaced_by(claim: Claim, linked: Sequence[Claim]) -> list[Claim]:
    """What a claim replaced, and what that had replaced before, the nearest first."""
    found: list[Claim] = []
    heads = [claim.id]
    while heads:
        head = heads.pop(0)
        before = [one for one in linked if one.superseded_by == head and one not in found]
        found += before
        heads += [one.id for one in before]
    return found
