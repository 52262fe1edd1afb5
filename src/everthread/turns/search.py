"""A person's search of a memory: what was said, and what holds, now or at another moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from everthread.core.claim import Claim
from everthread.core.embedding import Embedder
from everthread.core.memory import Found, Memory, Passage, View
from everthread.core.ports import Clock
from everthread.errors import Unavailable
from everthread.memory import ledger, rank
from everthread.memory.rank import Question, Ranked
from everthread.memory.telling import stands_in
from everthread.memory.wording import stems

SEARCHED = 400  # passages, before those of another time are left out
NEAREST = 50  # claims that a question may concern
ALIKE = 0.5  # cosine from which something without a word in common is about the same


class Query(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    as_of: datetime | None = None  # what was said up to then, and what held then
    known_at: datetime | None = None  # by what was known at that moment
    limit: int


class Hit(msgspec.Struct, frozen=True):
    """Something that was said, how well it fits, and what was drawn from it."""

    passage: Passage
    score: float
    claims: tuple[Claim, ...]


class Results(msgspec.Struct, frozen=True):
    hits: tuple[Hit, ...] = ()
    claims: tuple[Claim, ...] = ()  # those that hold


class Search:
    def __init__(self, *, memory: Memory, embedder: Embedder, clock: Clock) -> None:
        self._memory = memory
        self._embedder = embedder
        self._clock = clock

    async def run(self, view: View, query: Query) -> Results:
        """What was said that fits, the best first, and what holds of what is known about it."""
        now = self._clock.now()
        words, vector = rank.words(query.text), await self._vector(query.text)
        best = await self._passages(view, query, words, vector, now)
        claims = await self._claims(view, query, words, vector, best)
        known = [claim for claim in claims if query.known_at is None or claim.recorded_at <= query.known_at]
        hits = (Hit(one.passage, one.score, tuple(drawn(one.passage, known))) for one in best)
        return Results(tuple(hits), holding(known, query, now))

    async def _passages(
        self, view: View, query: Query, words: Sequence[str], vector: bytes | None, now: datetime
    ) -> tuple[Ranked, ...]:
        found = await self._memory.search(view, words=words, vector=vector, model=self._embedder.name, limit=SEARCHED)
        latest = min((moment for moment in (query.as_of, query.known_at) if moment is not None), default=None)
        fitting = tuple(one for one in found if latest is None or one.passage.said_at <= latest)
        ranked = rank.rank(fitting, Question(text=query.text, at=query.as_of or now)) or weak(fitting)
        return ranked[: query.limit]

    async def _claims(
        self, view: View, query: Query, words: Sequence[str], vector: bytes | None, best: Sequence[Ranked]
    ) -> list[Claim]:
        """What was drawn from the passages, what is about the same, and all that these lead to."""
        near = await self._memory.near(view, words=words, vector=vector, model=self._embedder.name, limit=NEAREST)
        asked = stems(query.text)
        about = [one.claim for one in near if one.similar >= ALIKE or stems(one.claim.quote) & asked]
        steps = dict.fromkeys(
            step for step in (*(one.passage.step for one in best), *(one.step for one in about)) if step is not None
        )
        linked = await self._memory.about(view, tuple(steps)) if steps else ()
        return list({claim.id: claim for claim in (*about, *await self._before(view, about), *linked)}.values())

    async def _before(self, view: View, claims: Sequence[Claim]) -> list[Claim]:
        """What claims by hand replaced, which no step leads to."""
        found: list[Claim] = []
        waiting = [claim.supersedes for claim in claims if claim.step is None]
        while waiting and len(found) < NEAREST:
            wanted = waiting.pop()
            kept = await self._memory.claim(view.tenant, wanted) if wanted is not None else None
            if kept is not None and kept.scope == view.scope and kept.claim not in found:
                found.append(kept.claim)
                waiting.append(kept.claim.supersedes)
        return found

    async def _vector(self, text: str) -> bytes | None:
        """Words alone must do where there is none."""
        try:
            return await self._embedder.query(text) if self._embedder.dimensions else None
        except Unavailable:
            return None


def weak(found: Sequence[Found]) -> tuple[Ranked, ...]:
    """What has a word in common, or is alike: a person who searches sees also what a prompt would leave out."""
    most = max((one.lexical for one in found), default=0.0) or 1.0
    some = [one for one in found if one.lexical > 0 or one.similar >= ALIKE]
    ranked = [Ranked(one.passage, one.lexical / most + one.similar) for one in some]
    return tuple(sorted(ranked, key=lambda one: (-one.score, -one.passage.said_at.timestamp(), one.passage.no)))


def drawn(passage: Passage, claims: Iterable[Claim]) -> Iterator[Claim]:
    """The claims whose words stand in a passage."""
    if passage.step is not None:
        yield from (claim for claim in claims if claim.step == passage.step and stands_in(claim, passage))


def holding(claims: Sequence[Claim], query: Query, now: datetime) -> tuple[Claim, ...]:
    """What held at the moment that is asked about; of today also what is contested."""
    held = ledger.as_of(claims, query.as_of or now, known=query.known_at)
    if query.as_of is not None or query.known_at is not None:
        return held
    return ledger.in_order((*held, *(claim for claim in claims if claim.state == "unresolved")))
