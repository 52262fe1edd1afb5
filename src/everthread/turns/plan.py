"""What is decided before the model is asked: where the turn goes on, what is sent, what must make room."""

from __future__ import annotations

import logging
from functools import lru_cache

import msgspec

from everthread.context import epoch, reconcile, shorten
from everthread.context.assemble import Assembled, Frame, assemble, frame
from everthread.context.epoch import Room, Sealed, sealed
from everthread.core.claim import Block
from everthread.core.ids import LineageId, ScopeId, SessionId, SessionKey, Tenant, is_ephemeral, response_id
from everthread.core.memory import View
from everthread.core.messages import Message, begins_with_result
from everthread.core.ports import Clock, Epoch, Ids, Past, Store, TokenCounter, past_of
from everthread.core.sentences import own_words
from everthread.core.session import Exchange, Session, fresh
from everthread.core.turn import Turn
from everthread.core.view import Views
from everthread.errors import PreviousNotFound, SessionMoved
from everthread.memory.rank import Question
from everthread.turns.place import Placed, Placing
from everthread.turns.recall import Recall
from everthread.turns.rotate import Rotations

logger = logging.getLogger("everthread.rotation")

LOGS_AT_HAND = 256  # rendered and weighed once for the many prompts that carry them
MOST_AT_HAND, LATELY = 10_000, 4  # paths; of each, turns
MOST_ROTATIONS = 2  # before one turn: a block that was on its way may not make enough room
JOINTS = 8  # tokens that may be lost where a tail and a message meet


class Plan(msgspec.Struct, frozen=True):
    """A turn that is ready to be asked."""

    session: Session
    input: tuple[Message, ...]
    given: int  # what its path's instructions and tools usually weigh
    assembled: Assembled
    past: tuple[Past, ...]
    tail: Block = Block()
    profile: Block | None = None  # that the session begins with, if this is its first turn
    carried: tuple[Message, ...] = ()  # instructions that later turns are given too, new on this path
    compacted: str = ""  # what was said before, in short, if the client asked for that
    rotated: bool = False  # its path has left a window behind
    begins: bool = False
    branches: bool = False
    imported: tuple[Exchange, ...] = ()


class Planning:
    def __init__(
        self,
        *,
        store: Store,
        views: Views,
        rotations: Rotations,
        clock: Clock,
        ids: Ids,
        counter: TokenCounter,
        budget: int,
        recall: Recall | None = None,
    ) -> None:
        self._store = store
        self._recall = recall
        self._clock = clock
        self._rotations = rotations
        self._placing = Placing(store, views, clock, ids)
        self._ids = ids
        self._counter = counter
        self._budget = budget
        self._limits = shorten.limits(budget)
        self._sealed = lru_cache(maxsize=LOGS_AT_HAND)(lambda stored, most: sealed(stored, counter, most))
        self._given: dict[LineageId, tuple[int, ...]] = {}

    async def plan(self, turn: Turn, session: Session | None, session_id: SessionId) -> Plan:
        """Everything that is decided before the model is asked."""
        if session is None and turn.after is not None:
            raise PreviousNotFound(f"Previous response with id '{response_id(turn.after)}' not found.")
        if session is None:
            return await self._first(turn, session_id)
        if turn.envelope.auxiliary:
            placed = Placed(session, reconcile.read(turn.messages).new)
        else:
            placed = await self._placing.place(turn, session)
        session = placed.session if placed.session.named else msgspec.structs.replace(placed.session, named=True)
        tenant, new = turn.envelope.tenant, placed.input
        held = await self._store.epoch(tenant, session, tokens=self._rotations.reads)
        profile: Block | None = None
        if session.last_seq == 0 and held.profile is None and not turn.envelope.auxiliary:
            profile = await self._profile(View(tenant, session.scope, session))
            held = msgspec.structs.replace(held, profile=profile)
        reconcile.refuse_unknown_calls(new, held.past[-1].calls if held.past else ())
        fixed = self._frame(turn, held, new)
        usual = fixed.given if turn.envelope.auxiliary else self._usually_given(session.lineage, fixed.given)
        if turn.store and not placed.branches and not turn.envelope.auxiliary and not begins_with_result(new):
            for _ in range(MOST_ROTATIONS):
                if sum(step.tokens for step in held.past) <= fixed.room + max(0, fixed.given - usual):
                    break
                to = epoch.room(self._budget, given=usual, log=fixed.log, beside=fixed.room)
                session, held = await self._made_room(turn, session, held, to)
                fixed = self._frame(turn, held, new)
        view = View(tenant, session.scope, session)
        tail = await self._tail(turn, view, fixed, held)
        assembled = assemble(fixed, held.past, self._counter, tail=tail, distilled=session.distilled)
        return Plan(
            session,
            new,
            usual,
            assembled,
            held.past,
            tail,
            profile,
            compacted=await self._compacted(turn, held, assembled),
            carried=unsaid(turn.carried, carried(held)),
            rotated=held.log is not None,
            branches=placed.branches,
        )

    async def past(self, turn: Turn, session: Session | None) -> Epoch:
        """What was said before a turn."""
        if session is None:
            return Epoch(None, ())
        placed = await self._placing.place(turn, session)
        return await self._store.epoch(turn.envelope.tenant, placed.session, tokens=self._rotations.reads)

    def _usually_given(self, lineage: LineageId, given: int) -> int:
        """What a path's instructions and tools weigh, a single heavy request aside: that one sees less, once."""
        if len(self._given) >= MOST_AT_HAND:
            self._given.clear()
        lately = self._given[lineage] = (*self._given.get(lineage, ()), given)[-LATELY:]
        return sorted(lately)[-2] if len(lately) > 1 else given

    async def _first(self, turn: Turn, session_id: SessionId) -> Plan:
        """The plan of a thread's first turn; a history in the body is brought along, and what its key remembers."""
        reconciled = reconcile.begun(turn.messages, self._counter, self._limits)
        if history := reconciled.history:
            kept = await self._store.importable(turn.envelope.tenant, session_id, history)
            if kept != history:
                reconciled = reconcile.reworded(reconciled, kept, self._counter, self._limits)
        imported = reconciled.imported
        session = fresh(
            session_id,
            self._ids.new,
            session_key=turn.envelope.session_key,
            named=turn.envelope.session_id is not None or turn.keep is not None,
            imported=imported,
        )
        past = tuple(past_of(exchange.messages, exchange.tokens) for exchange in imported)
        view = await self._known(turn)
        profile = await self._profile(view) if view else None
        held = Epoch(None, past, profile)
        fixed = self._frame(turn, held, reconciled.input)
        tail = await self._tail(turn, view, fixed, held) if view else Block()
        assembled = assemble(fixed, past, self._counter, tail=tail)
        return Plan(
            session,
            reconciled.input,
            fixed.given,
            assembled,
            past,
            tail,
            profile,
            compacted=await self._compacted(turn, held, assembled),
            carried=turn.carried,
            begins=True,
            imported=imported,
        )

    async def _compacted(self, turn: Turn, held: Epoch, assembled: Assembled) -> str:
        """What was said before this turn in short, if the client wants that of a prompt so long."""
        if turn.compact_at is None or assembled.context.prompt_tokens < turn.compact_at:
            return ""
        if sum(step.tokens for step in held.past) < turn.compact_at // 2:  # it was done just now: the rest is memory
            return ""
        return (await self._rotations.summed_up(held)).text

    async def _known(self, turn: Turn) -> View | None:
        """What a new session's key remembers, if anything."""
        envelope = turn.envelope
        if self._recall is None or envelope.session_key is None or envelope.auxiliary:
            return None
        if is_ephemeral(envelope.session_id):
            return None
        scope = await self.scope(envelope.tenant, envelope.session_key)
        return View(envelope.tenant, scope) if scope is not None else None

    async def scope(self, tenant: Tenant, key: SessionKey | None) -> ScopeId | None:
        """What a session key names, once something was said under it."""
        return await self._recall.scope(tenant, key) if self._recall is not None and key is not None else None

    async def _profile(self, view: View) -> Block | None:
        """What a session that begins now knows of people and their wishes for as long as it lasts."""
        if self._recall is None:
            return None
        profile = await self._recall.profile(view, room=epoch.shares(self._budget).profile)
        return profile if profile.text else None

    async def _tail(self, turn: Turn, view: View, fixed: Frame, held: Epoch) -> Block:
        """What is recalled for a person's message, in the room that the window leaves."""
        asked = next((message for message in reversed(fixed.input) if message.role == "user"), None)
        if self._recall is None or turn.envelope.auxiliary or asked is None:
            return Block()
        left = fixed.room - sum(step.tokens for step in held.past) - JOINTS
        room = min(epoch.shares(self._budget - fixed.given).tail, left)
        before = next((message.text for step in reversed(held.past) for message in step.messages[:1]), "")
        at = turn.envelope.said_at or self._clock.now()
        question = Question(text=own_words(asked.text), previous=own_words(before), at=at)
        return await self._recall.tail(view, question, room=room, profile=held.profile)

    def _frame(self, turn: Turn, held: Epoch, new: tuple[Message, ...]) -> Frame:
        stored = held.log

        def log(most: int) -> Sealed:
            return self._sealed(stored, most) if stored else Sealed()

        newest = sum(step.tokens for unit in epoch.turns(held.past)[-1:] for step in unit) if stored else 0
        return frame(
            (*unsaid(carried(held), turn.instructions), *turn.instructions),
            new,
            turn.options,
            log=log,
            newest=newest,
            budget=self._budget,
            counter=self._counter,
            profile=held.profile,
        )

    async def _made_room(self, turn: Turn, session: Session, held: Epoch, to: Room) -> tuple[Session, Epoch]:
        """The session after a rotation that could not wait; if it fails, the newest that fits is sent."""
        tenant = turn.envelope.tenant
        try:
            child = await self._rotations.claimed(tenant, session, to)
            return child, await self._store.epoch(tenant, child, tokens=self._rotations.reads)
        except SessionMoved:
            raise
        except Exception:  # whatever it is, it fails no turn
            logger.exception("session %s was not rotated before its turn", session.id)
            return session, held


def carried(held: Epoch) -> tuple[Message, ...]:
    """Instructions that stood among the messages of earlier turns, and still apply."""
    return tuple(instruction for step in held.past for instruction in step.instructions)


def unsaid(instructions: tuple[Message, ...], said: tuple[Message, ...]) -> tuple[Message, ...]:
    """Those of the instructions that the others do not say already."""
    known = {instruction.text for instruction in said}
    return tuple(instruction for instruction in instructions if instruction.text not in known)
