"""A full session becomes its child: the older half of its window goes to the log.

After a reply, and off its path; only when a turn would not fit does it happen before the turn's first word. A rotation
that fails is tried again after the next turn: it never fails one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing

import msgspec

from everthread.context import distil, epoch, log
from everthread.context.epoch import Room, Sealed
from everthread.context.log import Block, Said
from everthread.core.claim import Block as Profile
from everthread.core.ids import LineageId, SessionId, StepId, Tenant, child_id
from everthread.core.memory import View
from everthread.core.ports import Clock, Epoch, Ids, Model, Past, Store, TokenCounter
from everthread.core.session import Session
from everthread.core.turn import Folding, Prompt
from everthread.errors import Failure, NotFound, SessionMoved
from everthread.turns.recall import Recall

logger = logging.getLogger("everthread.rotation")

MOST_READ = 4  # budgets' worth of steps that one rotation looks at
SLOWEST_MODEL = 120.0  # seconds that a model may take to write a block


class Sealing(msgspec.Struct, frozen=True):
    """A block that is ready to be put into a log, and where the window begins after it."""

    session: SessionId  # whose window it is taken from
    block: Block
    from_seq: int
    distilled: int = 0  # tokens that writing it took


class Rotations:
    def __init__(
        self,
        *,
        store: Store,
        model: Model,
        clock: Clock,
        ids: Ids,
        counter: TokenCounter,
        budget: int,
        distil: bool,
        recall: Recall | None = None,
        rotated: Callable[[], None] | None = None,
    ) -> None:
        self._store = store
        self._model = model
        self._clock = clock
        self._ids = ids
        self._counter = counter
        self._budget = budget
        self._distil = distil
        self._recall = recall
        self._rotated = rotated  # is told when one has happened
        self._running: dict[LineageId, asyncio.Task[None]] = {}
        self._extracting: dict[LineageId, asyncio.Task[Sealing | None]] = {}

    @property
    def reads(self) -> int:
        """How many tokens of a session's steps are read for its prompt: more than can ever be in one."""
        return MOST_READ * self._budget

    def later(self, tenant: Tenant, session: Session, to: Room) -> None:
        """Rotates after the reply, one rotation of a lineage at a time."""
        if session.lineage in self._running:
            return
        task = asyncio.create_task(self._after(tenant, session, to))
        self._running[session.lineage] = task
        task.add_done_callback(lambda _: self._running.pop(session.lineage, None))

    async def _after(self, tenant: Tenant, session: Session, to: Room) -> None:
        try:
            await self._rotate(tenant, session, to)
        except SessionMoved:
            logger.info("session %s was rotated by someone else meanwhile", session.id)
        except Failure as failure:
            logger.warning("session %s was not rotated (%s); it is tried again later", session.id, failure.code)
        except Exception:  # whatever it is, turns go on without it
            logger.exception("session %s was not rotated", session.id)

    async def _rotate(self, tenant: Tenant, session: Session, to: Room) -> None:
        held = await self._store.epoch(tenant, session, tokens=self.reads)
        task = asyncio.create_task(self._sealing(session, held.past, to))
        self._extracting[session.lineage] = task
        try:
            sealing = await task
        finally:
            del self._extracting[session.lineage]
        if sealing is None:
            return
        if self._distil:
            sealing = await self._retold(sealing, held.past, to)
        async with self._store.claim(tenant, session.id, by=StepId(self._ids.new())):
            tip = await self._store.tip(tenant, session.lineage)
            if tip.id == session.id:  # else the loser's block is discarded
                newest = await self._store.epoch(tenant, tip, tokens=self.reads)
                if not epoch.open_call(newest.past):
                    await self._seal(tenant, tip, held.log, sealing, to)

    async def now(self, tenant: Tenant, session_id: SessionId) -> Session:
        """Rotates at once; the session itself when there is nothing that could go to the log."""
        async with self._store.claim(tenant, session_id, by=StepId(self._ids.new())) as claim:
            if claim.session is None:
                raise NotFound("There is no such session.")
            return await self.claimed(tenant, claim.session)

    async def claimed(self, tenant: Tenant, session: Session, to: Room | None = None) -> Session:
        """Rotates a session that is ours, without asking a model; itself when that is not possible.

        A block that is being extracted for it already is used: it was to become this one's, only later."""
        kept = await self._store.epoch(tenant, session, tokens=self.reads)
        if epoch.open_call(kept.past):
            return session
        if to is None:
            weight = sum(step.tokens for step in kept.past)
            usual = epoch.shares(self._budget)
            to = Room(weight, weight, weight // 2, usual.log, usual.block)
        under_way = self._extracting.get(session.lineage)
        sealing = await (asyncio.shield(under_way) if under_way else self._sealing(session, kept.past, to))
        if sealing is None or sealing.session != session.id:
            return session
        return await self._seal(tenant, session, kept.log, sealing, to)

    async def summed_up(self, held: Epoch) -> Sealed:
        """All that was said, in short, as a log tells it; nothing of it is kept."""
        usual = epoch.shares(self._budget)
        earlier = log.decode(held.log) if held.log else ()
        said = told(held.past, self._clock)
        if not said:
            return epoch.sealed(held.log, self._counter, usual.log) if held.log else Sealed()
        block = await asyncio.to_thread(log.extract, said, room=usual.log // 2, counter=self._counter)
        blocks = (*earlier, log.without_repeats(block, earlier, self._counter))
        bounded = await asyncio.to_thread(log.consolidate, blocks, room=usual.log, counter=self._counter)
        return epoch.sealed(log.encode(bounded), self._counter, usual.log)

    async def _sealing(self, session: Session, past: tuple[Past, ...], to: Room) -> Sealing | None:
        """The older turns as a block; None when there are none."""
        older, kept = epoch.split(past, to.keep)
        if not older:
            return None
        said = told(older, self._clock)
        block = await asyncio.to_thread(log.extract, said, room=to.block, counter=self._counter)
        return Sealing(session.id, block, kept[0].seq if kept else session.last_seq + 1)

    async def _retold(self, sealing: Sealing, past: tuple[Past, ...], to: Room) -> Sealing:
        """The block in a model's words, if it writes one that holds all that the extracted one does."""
        said = told(tuple(step for step in past if step.seq < sealing.from_seq), self._clock)
        room = to.block
        prompt = Prompt(model="", messages=distil.brief(said, room=room, over=sealing.block), auxiliary=True)
        folding = Folding()
        try:
            async with asyncio.timeout(SLOWEST_MODEL), aclosing(self._model.stream(prompt)) as events:
                async for some in events:
                    for event in some:
                        folding.add(event)
        except (Failure, TimeoutError) as failure:
            logger.info("no model wrote the log block (%s); the extracted one stands", type(failure).__name__)
            return sealing
        usage = folding.usage
        spent = usage.prompt + usage.completion if usage else self._counter.count(folding.text)
        block = distil.written(folding.text, sealing.block, room=room, counter=self._counter)
        if block is None:
            logger.info("the model's log block lost something; the extracted one stands")
        return Sealing(sealing.session, block or sealing.block, sealing.from_seq, spent)

    async def _seal(self, tenant: Tenant, session: Session, stored: str | None, sealing: Sealing, to: Room) -> Session:
        earlier = log.decode(stored) if stored else ()
        blocks = (*earlier, log.without_repeats(sealing.block, earlier, self._counter))
        bounded = await asyncio.to_thread(log.consolidate, blocks, room=to.log, counter=self._counter)
        now = self._clock.now()
        child = session.rotated(
            child_id(session.root, now, self._ids.new()), from_seq=sealing.from_seq, distilled=sealing.distilled
        )
        rotated = await self._store.rotate(
            tenant, session, child, log=log.encode(bounded), now=now, profile=await self._profile(tenant, session)
        )
        if self._rotated is not None:
            self._rotated()
        return rotated

    async def _profile(self, tenant: Tenant, session: Session) -> Profile | None:
        """What the child knows of people and their wishes from its beginning on."""
        if self._recall is None:
            return None
        room = epoch.shares(self._budget).profile
        return await self._recall.profile(View(tenant, session.scope, session), room=room)

    async def settle(self) -> None:
        """Returns when no rotation is under way."""
        while self._running:
            await asyncio.wait(self._running.values())

    async def close(self) -> None:
        """What is under way is given up; it is tried again after a later turn."""
        for task in list(self._running.values()):
            task.cancel()
        await self.settle()


def told(past: tuple[Past, ...], clock: Clock) -> list[Said]:
    """Steps as the log reads them. Imported ones have no time of their own: that of the first step, or now."""
    first = next((step.at for step in past if step.at is not None), None) or clock.now()
    return [
        Said(step.seq, step.at or first, message.name or message.role, message.role, message.text)
        for step in past
        for message in step.messages
    ]
