"""What a turn is given from memory: the tail before its message, and the profile in its prefix."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import chain

import msgspec

from everthread.core.claim import Block, Claim
from everthread.core.embedding import Embedder
from everthread.core.ids import LineageId, ScopeId, SessionId, SessionKey, StepId, Tenant
from everthread.core.memory import Memory, Told, View
from everthread.core.ports import TokenCounter
from everthread.errors import Unavailable
from everthread.memory import rank, render, series, telling
from everthread.memory.rank import Question, Ranked
from everthread.memory.wording import stems

LEAST_SEARCHED, MOST_SEARCHED = 200, 300  # passages: so many by words, as many by meaning, and as many of both kept
PER_PASSAGE = 7  # tokens of room: several times as many are searched as could be shown
CONSIDERED = 80  # of the best, whose claims are looked at
LONGEST_QUESTION = 800  # characters of a message whose vector is made: half from its beginning, half from its end
MOST_ADDED, ENOUGH = 200, 3  # claims by hand; more than a third of the question's words
MOST_WRITTEN = 32  # profiles at hand
LEAST_ROOM = 60  # tokens: less is not worth a block
SLOWEST_VECTOR = 0.5  # seconds; without it, words alone must do


class Changed(msgspec.Struct, frozen=True):
    """What a prompt's profile does not say, or no longer rightly says."""

    came: Sequence[Claim] = ()  # wishes, and what was pinned
    went: Sequence[Claim] = ()
    facts: Sequence[Claim] = ()  # that were replaced by others
    overtaken: Sequence[StepId] = ()  # turns that tell facts of which a later turn says otherwise


class Written(msgspec.Struct, frozen=True):
    """A profile, what stood when it was written, and the turns of what was left out because a later one overtook it."""

    standing: Sequence[Claim]
    block: Block
    overtaken: frozenset[StepId]


UNCHANGED = Changed()


class Recall:
    """Finds what was said before that matters now.

    Without vectors it goes by words alone; a store that cannot be read fails the turn: no memory is not an empty one.
    """

    def __init__(self, *, memory: Memory, embedder: Embedder, counter: TokenCounter) -> None:
        self._memory = memory
        self._embedder = embedder
        self._counter = counter
        self._written: dict[tuple[ScopeId, LineageId | None, int], Written] = {}

    async def scope(self, tenant: Tenant, key: SessionKey) -> ScopeId | None:
        return await self._memory.scope(tenant, key)

    async def tail(self, view: View, question: Question, *, room: int, profile: Block | None) -> Block:
        """What belongs before this message: what was said about it, and wishes that the profile does not know yet."""
        if room < LEAST_ROOM:
            return Block()
        if not await self._memory.elsewhere(view):
            return Block()
        return await self._tail(view, question, room, profile or Block())

    async def profile(self, view: View, *, room: int) -> Block:
        """What people said of themselves and how they want to be answered, as it is now."""
        return (await self._profile(view, await self._memory.standing(view), room)).block

    async def _profile(self, view: View, standing: Sequence[Claim], room: int) -> Written:
        """As it was written last, if what stands is still the same."""
        name = (view.scope, view.session.lineage if view.session else None, room)
        before = self._written.get(name)
        if before is not None and before.standing is standing:
            return before
        if before is None and len(self._written) >= MOST_WRITTEN:
            self._written.clear()
        over = await self._overtaken(view, [claim for claim in standing if render.describes(claim)])
        kept = [claim for claim in standing if claim.step not in over or stays(claim)]
        block = render.profile(kept, room=room, counter=self._counter)
        self._written[name] = Written(standing, block, over)
        return self._written[name]

    async def _overtaken(self, view: View, claims: Sequence[Claim]) -> frozenset[StepId]:
        """The steps of those that were said in a turn of which a later one is known to say otherwise."""
        steps = tuple(dict.fromkeys(claim.step for claim in claims if claim.step is not None))
        if not steps:
            return frozenset()
        found = series.series(await self._memory.kindred(view, steps=steps))
        return frozenset(passage.step for one in found for passage, _ in one.ended if passage.step is not None)

    async def search(self, view: View, question: Question, *, room: int) -> tuple[Ranked, ...]:
        """What was said that fits, the best first; more than there is room for."""
        names = await self._memory.speakers(view)
        wanted = rank.sought(question, names=names)
        if not wanted.text:
            return ()
        words, limit = wanted.words, breadth(room)
        worded, vector = await asyncio.gather(
            self._memory.worded(view, words=words, model=self._embedder.name, limit=limit), self._vector(wanted.text)
        )
        found = await self._memory.search(
            view, words=words, vector=vector, model=self._embedder.name, limit=limit, worded=worded
        )
        return rank.rank(found, question, names=names)

    async def block(self, view: View, question: Question, *, room: int) -> Block:
        """What fits a question, as a block of quotes."""
        ranked = await self.search(view, question, room=room)
        return await self.shown(view, question, ranked, room=room)

    async def opened(self, view: View, seq: int, session: SessionId | None) -> Told | None:
        """One turn as a whole, by the number that a block names it with."""
        return await self._memory.opened(view, seq, session)

    async def _tail(self, view: View, question: Question, room: int, profile: Block) -> Block:
        changed, noted, ranked = await asyncio.gather(
            self._changed(view, profile, room), self._noted(view, question), self.search(view, question, room=room)
        )
        return await self.shown(view, question, ranked, room=room, changed=changed, noted=noted)

    async def _noted(self, view: View, question: Question) -> tuple[Claim, ...]:
        """What people added by hand about it: it was said in no turn that could be found."""
        wanted = stems(question.text)
        return tuple(
            claim
            for claim in await self._memory.added(view, limit=MOST_ADDED)
            if len(wanted & stems(claim.quote)) * ENOUGH > len(wanted)
        )

    async def shown(
        self,
        view: View,
        question: Question,
        ranked: Sequence[Ranked],
        *,
        room: int,
        changed: Changed = UNCHANGED,
        noted: Sequence[Claim] = (),
    ) -> Block:
        """What was found, as a block: led by what changed since the profile, and by what people noted."""
        first = (*changed.facts, *noted)
        steps = dict.fromkeys(one.passage.step for one in ranked[:CONSIDERED] if one.passage.step is not None)
        steps |= dict.fromkeys(claim.step for claim in first if claim.step is not None)
        steps |= dict.fromkeys(changed.overtaken)
        claims = await self._memory.about(view, tuple(steps)) if steps else ()
        claims += tuple(await self._replaced(view, noted))
        numbers = [one.passage.no for one in ranked[:CONSIDERED]]
        kindred = await self._memory.kindred(view, numbers, steps=changed.overtaken)
        claims = telling.unlinked(claims, kindred)
        found = series.series(kindred)
        return render.tail(
            chain(first, telling.told(ranked, claims, found, overtaken=changed.overtaken)),
            (*first, *claims),  # what was found is as it stands from here
            room=room,
            counter=self._counter,
            here=view.session.root if view.session else SessionId(""),
            wishes=changed.came,
            withdrawn=changed.went,
        )

    async def _replaced(self, view: View, claims: Sequence[Claim]) -> list[Claim]:
        """What claims by hand took the place of."""
        found = [await self._memory.claim(view.tenant, claim.supersedes) for claim in claims if claim.supersedes]
        return [kept.claim for kept in found if kept is not None]

    async def _changed(self, view: View, profile: Block, room: int) -> Changed:
        """What came and what went since the profile was written."""
        standing = await self._memory.standing(view)
        now = await self._profile(view, standing, max(room, profile.tokens))
        known = set(profile.claims)
        new = set(now.block.claims) - known
        came = [claim for claim in standing if claim.id in new and stays(claim) and not in_window(claim, view)]
        holding = {claim.id for claim in standing}
        left = [await self._memory.claim(view.tenant, claim) for claim in profile.claims if claim not in holding]
        gone = [kept.claim for kept in left if kept is not None and kept.claim.state != "current"]
        return Changed(
            came,
            [claim for claim in gone if claim.kind == "instruction" or claim.state == "retracted"],
            [claim for claim in gone if claim.kind != "instruction" and claim.state != "retracted"],
            [
                claim.step
                for claim in standing
                if claim.id in known and claim.step in now.overtaken and not stays(claim)
            ],
        )

    async def _vector(self, text: str) -> bytes | None:
        if not self._embedder.dimensions:
            return None
        try:
            async with asyncio.timeout(SLOWEST_VECTOR):
                return await self._embedder.query(ends(text))
        except (Unavailable, TimeoutError):
            return None


def breadth(room: int) -> int:
    """How many passages are searched for."""
    return max(LEAST_SEARCHED, min(MOST_SEARCHED, room // PER_PASSAGE))


def ends(text: str) -> str:
    """A text, or of a long one its beginning and its end: what is asked stands there, and a vector takes its time."""
    half = LONGEST_QUESTION // 2
    return text if len(text) <= LONGEST_QUESTION else f"{text[:half]}\n{text[-half:]}"


def stays(claim: Claim) -> bool:
    """Whether it is in the profile whatever later turns say: a person put it there, or would have to take it back."""
    return claim.pinned or claim.kind == "instruction"


def in_window(claim: Claim, view: View) -> bool:
    """Whether the prompt shows it anyway, in the turn where it was said."""
    return view.session is not None and claim.session == view.session.root and claim.seq >= view.session.from_seq
