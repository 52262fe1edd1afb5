"""One turn, top to bottom."""

from __future__ import annotations

from contextlib import aclosing
from datetime import datetime, timedelta

import msgspec

from everthread.agent import loop
from everthread.context import reconcile
from everthread.context.assemble import Assembled, assemble, frame
from everthread.context.tokens import weigh
from everthread.core.ids import LineageId, ScopeId, SessionId, StepId, ThreadId
from everthread.core.ports import Clock, Commit, Ids, Model, Past, Recorded, Store, TokenCounter, past_of
from everthread.core.session import Session, begin
from everthread.core.turn import Events, Finished, Folding, Prompt, Started, Step, Turn, Usage
from everthread.errors import Malformed, NotFound, SessionKeyMismatch, StoreUnavailable
from everthread.turns import replay

REDELIVERED = timedelta(hours=24)  # how long a client's own message id is known again


class Plan(msgspec.Struct, frozen=True):
    """A turn that is ready to be asked."""

    session: Session
    begins: bool
    reconciled: reconcile.Reconciled
    assembled: Assembled
    past: tuple[Past, ...]


class Asking:
    """A turn that is being asked: its plan, its name, and what the model has said so far."""

    def __init__(self, turn: Turn, plan: Plan, name: StepId, now: datetime) -> None:
        self.turn = turn
        self.plan = plan
        self.name = name
        self.now = now
        self.folding = Folding()

    def started(self) -> Started:
        return Started(session=self.plan.session, step=self.name, at=self.now)

    def prompt(self) -> Prompt:
        return Prompt(
            model=self.turn.model or "",
            messages=self.plan.assembled.messages,
            options=self.turn.options,
            auxiliary=self.turn.envelope.auxiliary,
        )

    def finished(self, session: Session, step: Step, *, degraded: bool = False) -> Finished:
        return Finished(session=session, asked=self.turn.envelope.session_id, step=step, degraded=degraded)


class Turns:
    """Runs turns: the one path that every endpoint leads to."""

    def __init__(
        self,
        *,
        store: Store,
        model: Model,
        clock: Clock,
        ids: Ids,
        counter: TokenCounter,
        budget: int,
        answer_without_history: bool = False,
    ) -> None:
        self._store = store
        self._model = model
        self._clock = clock
        self._ids = ids
        self._counter = counter
        self._budget = budget
        self._answer_without_history = answer_without_history

    def run(self, turn: Turn) -> Events:
        """The turn's events: `Started` first, `Finished` last, and by then it is on disk."""
        if turn.envelope.auxiliary:
            return self._traceless(turn)
        if turn.envelope.replay is None:
            return self._held(turn)
        return replay.once(
            self._store,
            turn.envelope.tenant,
            turn.envelope.replay,
            events=lambda: self._held(turn),
            permit=lambda session: permit(turn, session),
            asked=turn.envelope.session_id,
            now=self._clock.now(),
        )

    async def _held(self, turn: Turn) -> Events:
        """The turn while its session is ours."""
        envelope = turn.envelope
        name = StepId(self._ids.new())
        session_id = envelope.session_id or self._fresh_id()
        begun = False
        try:
            async with self._store.claim(envelope.tenant, session_id, by=name, on_busy=envelope.on_busy) as claim:
                permit(turn, claim.session)
                known = await self._redelivered(turn, claim.session)
                if known is not None:
                    yield list(replay.replayed(known, asked=envelope.session_id))
                    return
                asking = Asking(turn, await self._plan(turn, claim.session, session_id), name, self._clock.now())
                begun = True
                yield [asking.started()]
                events = loop.run(self._model, asking.prompt(), asking.folding)
                try:
                    async for some in events:
                        yield some
                finally:
                    await events.aclose()
                step = self._step(asking)
                session = await self._commit(asking, step)
        except StoreUnavailable:
            if begun or not self._answer_without_history:
                raise
            async with aclosing(self._traceless(turn, degraded=True)) as rest:
                async for some_more in rest:
                    yield some_more
        else:
            yield [asking.finished(session, step)]

    async def _traceless(self, turn: Turn, *, degraded: bool = False) -> Events:
        """An answer that leaves nothing behind: for a UI's own requests, or when there is no store to keep it."""
        envelope = turn.envelope
        session_id = envelope.session_id or self._fresh_id()
        session = None if degraded else await self._store.find(envelope.tenant, session_id)
        permit(turn, session)
        plan = await self._plan(turn, session, session_id)
        asking = Asking(turn, plan, StepId(self._ids.new()), self._clock.now())
        yield [asking.started()]
        async with aclosing(loop.run(self._model, asking.prompt(), asking.folding)) as events:
            async for some in events:
                yield some
        yield [asking.finished(plan.session, self._step(asking), degraded=degraded)]

    async def _commit(self, asking: Asking, step: Step) -> Session:
        envelope, plan = asking.turn.envelope, asking.plan
        return await self._store.commit(
            envelope.tenant,
            Commit(
                session=plan.session,
                step=step,
                begins=plan.begins,
                imported=plan.reconciled.imported,
                bind=envelope.session_key if plan.session.session_key is None else None,
                replay=envelope.replay,
            ),
        )

    async def _redelivered(self, turn: Turn, session: Session | None) -> Recorded | None:
        """What this very message led to, if a client's own id says that it came before."""
        envelope = turn.envelope
        if session is None or envelope.message_id is None:
            return None
        if turn.messages[-1].answers is not None:  # a tool's result goes on with the turn under the same id
            return None
        since = self._clock.now() - REDELIVERED
        step = await self._store.said(envelope.tenant, session, envelope.message_id, since=since)
        return Recorded(session, step) if step else None

    async def _plan(self, turn: Turn, session: Session | None, session_id: SessionId) -> Plan:
        """Everything that is decided before the model is asked."""
        envelope = turn.envelope
        begins = session is None
        if session is None:
            reconciled = reconcile.begun(turn.messages, self._counter)
            session = self._new_session(turn, session_id, reconciled)
        else:
            reconciled = reconcile.continued(turn.messages)
            if not session.named:
                session = msgspec.structs.replace(session, named=True)
        fixed = frame(turn.instructions, reconciled.input, turn.options, budget=self._budget, counter=self._counter)
        if begins:
            past = tuple(past_of(exchange.messages, exchange.tokens) for exchange in reconciled.imported)
        else:
            past = await self._store.window(envelope.tenant, session, tokens=fixed.room)
            last = past[-1].messages[-1].calls if past else ()
            reconcile.refuse_unknown_calls(reconciled.input, last)
        return Plan(session, begins, reconciled, assemble(fixed, past), past)

    def _new_session(self, turn: Turn, session_id: SessionId, reconciled: reconcile.Reconciled) -> Session:
        imported = reconciled.imported
        return begin(
            session_id,
            thread=ThreadId(self._ids.new()),
            lineage=LineageId(self._ids.new()),
            scope=ScopeId(self._ids.new()),
            session_key=turn.envelope.session_key,
            named=turn.envelope.session_id is not None,
            prior=imported[-1].address if imported else None,
            rolling=imported[-1].rolling if imported else b"",
        )

    def _step(self, asking: Asking) -> Step:
        turn, plan, folding, name, now = asking.turn, asking.plan, asking.folding, asking.name, asking.now
        envelope, session, given = turn.envelope, plan.session, plan.reconciled.input
        context = plan.assembled.context
        outcome = folding.outcome(lambda: Usage(context.prompt_tokens, self._counter.count(folding.text)))
        answer = outcome.choices[0].message()
        goes_on = given[0].answers is not None and plan.past and plan.past[-1].turn
        return Step(
            id=name,
            turn=plan.past[-1].turn or name if goes_on else name,
            seq=session.last_seq + 1,
            source=turn.source,
            input=given,
            outcome=outcome,
            answer=answer,
            context=context,
            said_at=envelope.said_at or now,
            stored_at=now,
            tokens=plan.assembled.message + weigh((answer,), self._counter),
            rolling=reconcile.rolled(session.rolling, (*given, answer)),
            message_id=envelope.message_id,
            parent_message_id=envelope.parent_message_id,
        )

    def _fresh_id(self) -> SessionId:
        return SessionId(f"ses_{self._ids.new()}")


def permit(turn: Turn, session: Session | None) -> None:
    """The session's key and the API key's prefix must allow this turn."""
    asked, prefix = turn.envelope.session_key, turn.envelope.key_prefix
    owned = session.session_key if session else None
    if prefix is not None:
        if session is not None and not (owned or "").startswith(prefix):
            raise NotFound("There is no such session.")
        if session is None and asked is None:
            raise Malformed(
                f"This API key is bound to session keys that begin with {prefix!r}: send X-Hermes-Session-Key.",
                param="X-Hermes-Session-Key",
            )
    if owned is not None and asked is not None and asked != owned:
        raise SessionKeyMismatch
