"""What is decided before the model is asked: where the turn goes on, what is sent, what must make room."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from everthread.context import epoch, reconcile, shorten
from everthread.context.assemble import Assembled, Frame, assemble, frame
from everthread.context.epoch import Sealed, sealed
from everthread.core.ids import LineageId, ScopeId, SessionId, ThreadId
from everthread.core.messages import Message
from everthread.core.ports import Clock, Epoch, Ids, Past, Store, TokenCounter, past_of
from everthread.core.session import Exchange, Session, begin
from everthread.core.turn import Turn
from everthread.errors import Failure, SessionMoved
from everthread.turns.place import Placed, Placing
from everthread.turns.rotate import Rotations

LOGS_AT_HAND = 256  # rendered and weighed once for the many prompts that carry them
MOST_ROTATIONS = 2  # before one turn: a block that was on its way may not make enough room
NOTHING = Epoch(None, ())


class Plan(msgspec.Struct, frozen=True):
    """A turn that is ready to be asked."""

    session: Session
    input: tuple[Message, ...]
    frame: Frame
    assembled: Assembled
    past: tuple[Past, ...]
    begins: bool = False
    branches: bool = False
    imported: tuple[Exchange, ...] = ()


class Planning:
    def __init__(
        self, *, store: Store, rotations: Rotations, clock: Clock, ids: Ids, counter: TokenCounter, budget: int
    ) -> None:
        self._store = store
        self._rotations = rotations
        self._placing = Placing(store, clock, ids)
        self._ids = ids
        self._counter = counter
        self._budget = budget
        self._limits = shorten.limits(budget)
        self._sealed = lru_cache(maxsize=LOGS_AT_HAND)(lambda stored: sealed(stored, counter))

    async def plan(self, turn: Turn, session: Session | None, session_id: SessionId) -> Plan:
        """Everything that is decided before the model is asked."""
        if session is None:
            return self._first(turn, session_id)
        if turn.envelope.auxiliary:
            placed = Placed(session, reconcile.read(turn.messages).new)
        else:
            placed = await self._placing.place(turn, session)
        session = placed.session if placed.session.named else msgspec.structs.replace(placed.session, named=True)
        tenant, new = turn.envelope.tenant, placed.input
        held = await self._store.epoch(tenant, session, tokens=self._rotations.reads)
        reconcile.refuse_unknown_calls(new, held.past[-1].messages[-1].calls if held.past else ())
        fixed = self._frame(turn, held, new)
        if not placed.branches and not turn.envelope.auxiliary and new[0].answers is None:
            for _ in range(MOST_ROTATIONS):
                if sum(step.tokens for step in held.past) <= fixed.room:
                    break
                session, held = await self._made_room(turn, session, held, fixed)
                fixed = self._frame(turn, held, new)
        assembled = assemble(fixed, held.past, self._counter)
        return Plan(session, new, fixed, assembled, held.past, branches=placed.branches)

    def _first(self, turn: Turn, session_id: SessionId) -> Plan:
        """The plan of a thread's first turn; a history in the body is brought along."""
        reconciled = reconcile.begun(turn.messages, self._counter, self._limits)
        imported = reconciled.imported
        session = begin(
            session_id,
            thread=ThreadId(self._ids.new()),
            lineage=LineageId(self._ids.new()),
            scope=ScopeId(self._ids.new()),
            session_key=turn.envelope.session_key,
            named=turn.envelope.session_id is not None,
            imported=imported,
        )
        past = tuple(past_of(exchange.messages, exchange.tokens) for exchange in imported)
        fixed = self._frame(turn, NOTHING, reconciled.input)
        assembled = assemble(fixed, past, self._counter)
        return Plan(session, reconciled.input, fixed, assembled, past, begins=True, imported=imported)

    def _frame(self, turn: Turn, held: Epoch, new: tuple[Message, ...]) -> Frame:
        log = self._sealed(held.log) if held.log else Sealed()
        return frame(turn.instructions, log, new, turn.options, budget=self._budget, counter=self._counter)

    async def _made_room(self, turn: Turn, session: Session, held: Epoch, fixed: Frame) -> tuple[Session, Epoch]:
        """The session after a rotation that could not wait; if it fails, the newest that fits is sent."""
        tenant = turn.envelope.tenant
        shares = epoch.shares(fixed.budget - fixed.given)
        keep = min(epoch.mark(shares, fixed.room, fixed.message) // 2, fixed.room - shares.block)
        try:
            child = await self._rotations.held(tenant, session, shares, max(keep, 0))
            return child, await self._store.epoch(tenant, child, tokens=self._rotations.reads)
        except SessionMoved:
            raise
        except Failure:
            return session, held
