"""What is remembered, beside the ledger in its file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from everthread.core.claim import Claim, ClaimId, Kind, State
from everthread.core.ids import ScopeId, SessionId, SessionKey, StepId, Tenant
from everthread.core.memory import (
    Dead,
    Forget,
    Forgotten,
    Found,
    Given,
    Kept,
    Kin,
    Kindred,
    Lag,
    Near,
    Passage,
    Source,
    Told,
    View,
    Worded,
    Work,
)
from everthread.storage import index, outbox, seen, sight, told
from everthread.storage.claims import remember as write_claims
from everthread.storage.forgetting import Forgetting
from everthread.storage.kin import FOLLOWED, Family, just_before
from everthread.storage.kin import keep as keep_kin
from everthread.storage.near import Similarities
from everthread.storage.rows import stamp
from everthread.storage.seen import Witness
from everthread.storage.sqlite import SqliteStore, nothing

T = TypeVar("T")


class SqliteMemory:
    """The `Memory` port on an open store's file: its writer, its caches, and a thread of its own to search in."""

    def __init__(self, store: SqliteStore, similarities: Similarities) -> None:
        self._store = store
        self._similarities = similarities
        self._index = index.Index(store.paths, store.vectors, similarities)
        self._family = Family(store.paths, store.vectors, similarities)
        self._forgetting = Forgetting(store)

    # --- reading what was said ----------------------------------------------------------------------------------

    async def waiting(
        self, *, limit: int, now: datetime, first: Sequence[tuple[Tenant, ScopeId]] = ()
    ) -> tuple[Work, ...]:
        with self._store.reading() as db:
            return outbox.waiting(db, limit=limit, now=stamp(now), first=first)

    async def told(self, tenant: Tenant, step: StepId) -> Told | None:
        with self._store.reading() as db:
            return told.told(db, tenant, step)

    async def evicted(self, work: Work) -> tuple[Told, ...]:
        return await self._store.searching(lambda db: told.evicted(db, self._store.paths, work))

    async def unembedded(self, work: Work, *, model: str, limit: int) -> tuple[Passage, ...]:
        return await self._store.searching(
            lambda db: index.unembedded(db, self._store.paths, work, model=model, limit=limit)
        )

    async def nearest(
        self, passage: Passage, vector: bytes, *, model: str, limit: int
    ) -> Sequence[tuple[float, Passage]]:
        return await self._store.searching(
            lambda db: self._family.nearest(db, passage, vector, model=model, limit=limit)
        )

    async def just_before(self, passage: Passage) -> Passage | None:
        return await self._store.searching(lambda db: just_before(db, passage))

    async def embedded(self, vectors: Sequence[tuple[int, bytes]], *, model: str, kin: Sequence[Kin] = ()) -> None:
        kept: dict[int, list[int]] = {}

        def job(db: sqlite3.Connection) -> None:
            kept.update(index.embed(db, vectors, model))
            keep_kin(db, kin)

        def after() -> None:
            for scope, chunks in kept.items():
                self._store.vectors.added(scope, chunks)
            if any(one.chances.either >= FOLLOWED for one in kin):  # what stands may have been replaced
                self._store.standing.drop(kept.keys())

        await self._store.writing(job, after=after)

    async def near(
        self, view: View, *, words: Sequence[str], vector: bytes | None, model: str, limit: int
    ) -> tuple[Near, ...]:
        return await self._asking(
            view,
            lambda witness: witness.near(self._similarities, words=words, vector=vector, model=model, limit=limit),
        )

    async def remember(
        self, tenant: Tenant, scope: ScopeId, claims: Sequence[Claim], *, vectors: Sequence[bytes] = (), model: str = ""
    ) -> None:
        homes: set[int] = set()

        def job(db: sqlite3.Connection) -> None:
            self._forgetting.refuse_stale(db, tenant, claims)
            homes.update(seen.homes(db, tenant, claims))
            write_claims(db, tenant, scope, claims, vectors=vectors, model=model)
            homes.update(seen.homes(db, tenant, claims))

        await self._store.writing(job, after=lambda: self._store.standing.drop(homes))
        if any(claim.state == "reversed" for claim in claims):
            self._store.news()

    async def done(self, *works: Work) -> None:
        if works:
            await self._store.writing(lambda db: outbox.done(db, works), after=nothing)

    async def failed(self, work: Work, *, failure: str, again: datetime | None, now: datetime) -> None:
        at = stamp(again) if again is not None else None
        await self._store.writing(
            lambda db: outbox.failed(db, work, failure=failure, again=at, now=stamp(now)), after=nothing
        )

    async def dead(self, tenant: Tenant | None = None, *, limit: int) -> tuple[Dead, ...]:
        with self._store.reading() as db:
            return outbox.dead(db, tenant, limit=limit)

    async def lag(self, tenant: Tenant | None = None) -> Lag:
        with self._store.reading() as db:
            return outbox.lag(db, tenant)

    async def behind(self, tenant: Tenant, scope: ScopeId) -> bool:
        with self._store.reading() as db:
            return outbox.behind(db, tenant, scope)

    # --- recalling ----------------------------------------------------------------------------------------------

    async def elsewhere(self, view: View) -> bool:
        with self._store.reading() as db:
            return sight.elsewhere(db, view)

    async def speakers(self, view: View) -> tuple[str, ...]:
        with self._store.reading() as db:
            return sight.speakers(db, view)

    async def worded(self, view: View, *, words: Sequence[str], model: str, limit: int) -> Worded:
        return await self._store.searching(lambda db: self._index.worded(db, view, words, model=model, limit=limit))

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
        what = index.Search(words, vector, model, limit)
        return await self._store.searching(lambda db: self._index.search(db, view, what, worded))

    async def kindred(self, view: View, passages: Sequence[int] = (), *, steps: Sequence[StepId] = ()) -> Kindred:
        return await self._store.searching(lambda db: self._family.kindred(db, view, passages, steps))

    async def about(self, view: View, steps: Sequence[StepId]) -> tuple[Claim, ...]:
        return await self._asking(view, lambda witness: witness.about(steps))

    async def added(self, view: View, *, limit: int) -> tuple[Claim, ...]:
        return await self._asking(view, lambda witness: witness.added(limit))

    async def standing(self, view: View) -> tuple[Claim, ...]:
        return await self._asking(view, self._store.standing.of)

    async def _asking(self, view: View, question: Callable[[Witness], tuple[T, ...]]) -> tuple[T, ...]:
        """What a witness says; nothing while nothing is known of the scope."""

        def job(db: sqlite3.Connection) -> tuple[T, ...]:
            witness = seen.witness(db, self._store.paths, view)
            return question(witness) if witness is not None else ()

        return await self._store.searching(job)

    # --- looking, and a person's own hand -----------------------------------------------------------------------

    async def scope(self, tenant: Tenant, key: SessionKey) -> ScopeId | None:
        with self._store.reading() as db:
            row = db.execute("SELECT scope FROM scope WHERE tenant = ? AND session_key = ?", (tenant, key)).fetchone()
        return ScopeId(row[0]) if row else None

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
        return await self._asking(
            view, lambda witness: witness.listed(kinds=kinds, states=states, pinned=pinned, after=after, limit=limit)
        )

    async def claim(self, tenant: Tenant, claim: ClaimId) -> Kept | None:
        with self._store.reading() as db:
            return told.kept(db, tenant, claim)

    async def source(self, tenant: Tenant, claim: Claim) -> Source | None:
        with self._store.reading() as db:
            return told.source(db, tenant, claim)

    async def given(self, tenant: Tenant, step: StepId) -> Given | None:
        with self._store.reading() as db:
            return told.given(db, tenant, step)

    async def opened(self, view: View, seq: int, session: SessionId | None = None) -> Told | None:
        with self._store.reading() as db:
            return told.opened(db, self._store.paths, view, seq, session)

    async def forget(self, tenant: Tenant, scope: ScopeId, what: Forget, *, now: datetime, dry_run: bool) -> Forgotten:
        return await self._forgetting.forget(tenant, scope, what, now=now, dry_run=dry_run)
