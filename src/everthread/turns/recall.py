"""What a turn is given from memory: the tail before its message, and the profile in its prefix."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from everthread.core.claim import Block, Claim
from everthread.core.embedding import Embedder
from everthread.core.ids import ScopeId, SessionId, SessionKey, Tenant
from everthread.core.memory import Memory, Told, View
from everthread.core.ports import TokenCounter
from everthread.errors import Unavailable
from everthread.memory import rank, render, telling
from everthread.memory.rank import Question, Ranked

SEARCHED = 300  # passages by their words, and as many by their meaning
CONSIDERED = 80  # of the best, whose claims are looked at
LONGEST_QUESTION = 2000  # characters of a message by which memory is searched
LEAST_ROOM = 60  # tokens: less is not worth a block
SLOWEST_VECTOR = 0.5  # seconds; without it, words alone must do


class Recall:
    """Finds what was said before that matters now.

    Without vectors it goes by words alone; a store that cannot be read fails the turn: no memory is not an empty one.
    """

    def __init__(self, *, memory: Memory, embedder: Embedder, counter: TokenCounter) -> None:
        self._memory = memory
        self._embedder = embedder
        self._counter = counter

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
        return render.profile(await self._memory.standing(view), room=room, counter=self._counter)

    async def search(self, view: View, question: Question) -> tuple[Ranked, ...]:
        """What was said that fits, the best first."""
        names = await self._memory.speakers(view)
        wanted = rank.sought(question, names=names)
        if not wanted.text:
            return ()
        found = await self._memory.search(
            view,
            words=wanted.words,
            vector=await self._vector(wanted.text),
            model=self._embedder.name,
            limit=SEARCHED,
        )
        return rank.rank(found, question, names=names)

    async def block(self, view: View, question: Question, *, room: int) -> Block:
        """What fits a question, as a block of quotes."""
        ranked = await self.search(view, question)
        return await self.shown(view, ranked, room=room)

    async def opened(self, view: View, seq: int, session: SessionId | None) -> Told | None:
        """One turn as a whole, by the number that a block names it with."""
        return await self._memory.opened(view, seq, session)

    async def _tail(self, view: View, question: Question, room: int, profile: Block) -> Block:
        ranked = await self.search(view, question)
        wishes, withdrawn = await self._changed(view, profile, room)
        return await self.shown(view, ranked, room=room, wishes=wishes, withdrawn=withdrawn)

    async def shown(
        self,
        view: View,
        ranked: Sequence[Ranked],
        *,
        room: int,
        wishes: Sequence[Claim] = (),
        withdrawn: Sequence[Claim] = (),
    ) -> Block:
        """What was found, as a block of quotes: of each reversal both sides."""
        steps = tuple(dict.fromkeys(one.passage.step for one in ranked[:CONSIDERED] if one.passage.step is not None))
        claims = await self._memory.about(view, steps) if steps else ()
        told = telling.told(ranked, claims)
        return render.tail(
            told.items,
            claims,
            room=room,
            counter=self._counter,
            here=view.session.root if view.session else SessionId(""),
            wishes=wishes,
            withdrawn=withdrawn,
            overtaken=told.overtaken,
        )

    async def _changed(self, view: View, profile: Block, room: int) -> tuple[list[Claim], list[Claim]]:
        """Wishes that came, and wishes that went, since the profile was written."""
        standing = await self._memory.standing(view)
        now = render.profile(standing, room=max(room, profile.tokens), counter=self._counter)
        new = set(now.claims) - set(profile.claims)
        came = [
            claim
            for claim in standing
            if claim.id in new and (claim.kind == "instruction" or claim.pinned) and not in_window(claim, view)
        ]
        holding = {claim.id for claim in standing}
        gone = [await self._memory.claim(view.tenant, claim) for claim in profile.claims if claim not in holding]
        return came, [kept.claim for kept in gone if kept is not None]

    async def _vector(self, text: str) -> bytes | None:
        if not self._embedder.dimensions:
            return None
        try:
            async with asyncio.timeout(SLOWEST_VECTOR):
                return await self._embedder.query(text[:LONGEST_QUESTION])
        except (Unavailable, TimeoutError):
            return None


def in_window(claim: Claim, view: View) -> bool:
    """Whether the prompt shows it anyway, in the turn where it was said."""
    return view.session is not None and claim.session == view.session.root and claim.seq >= view.session.from_seq
