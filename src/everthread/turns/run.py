"""One turn, top to bottom."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from datetime import datetime, timedelta

import msgspec

from everthread.agent import loop
from everthread.agent.ability import Ability
from everthread.agent.loop import Interruption
from everthread.agent.toolbox import MOST_CALLS, Toolbox
from everthread.context import epoch, reconcile, shorten
from everthread.context.epoch import Room
from everthread.context.tokens import weigh
from everthread.core.cause import CAUSE
from everthread.core.cuts import Cutting
from everthread.core.ids import CURRENT, LineageId, SessionId, StepId, is_ephemeral
from everthread.core.memory import View
from everthread.core.messages import Message, begins_with_result
from everthread.core.ports import Clock, Commit, Ids, Model, Recorded, Store, TokenCounter, past_of
from everthread.core.session import Session
from everthread.core.transcript import Archive
from everthread.core.turn import (
    Cuts,
    Envelope,
    Event,
    Events,
    Finished,
    Folding,
    ModelEvent,
    Prompt,
    Started,
    Step,
    Turn,
    Usage,
)
from everthread.core.usage import Accounts
from everthread.core.view import Views
from everthread.errors import Malformed, NotFound, SessionBusy, StoreUnavailable
from everthread.turns import command, replay
from everthread.turns.command import Commands
from everthread.turns.live import Listened, Live, Lives
from everthread.turns.permit import permit
from everthread.turns.plan import Plan, Planning, carried, unsaid
from everthread.turns.recall import Recall
from everthread.turns.remember import Remembering
from everthread.turns.rotate import Rotations
from everthread.turns.tools import tools

log = logging.getLogger("everthread.turns")

REDELIVERED = timedelta(hours=24)  # how long a client's own message id is known again
LONGEST_CATCHING_UP = 10.0  # seconds
TRIED_AGAIN = timedelta(seconds=60)  # how long a library's retry may be the same turn


class Summary(msgspec.Struct, frozen=True):
    """A conversation in short."""

    text: str
    asked: tuple[Message, ...]  # what the user said of it, verbatim
    tokens: int  # of all that it sums up
    length: int  # its own


class Asking:
    """A turn that is being asked: its plan, its name, and what the model has said so far."""

    def __init__(self, turn: Turn, plan: Plan, name: StepId, now: datetime, live: Live | None = None) -> None:
        self.turn = turn
        self.plan = plan
        self.name = name
        self.now = now
        self.interruption = Interruption()
        self.live = live  # others may be listening
        if live is not None:
            live.stop = self.interruption.want
        self.folding = Folding()
        self.cutting = Cutting() if turn.keep is not None or turn.name is not None else None
        self.toolbox: Toolbox | None = None  # what the model may look up by itself

    def hear(self, some: Sequence[ModelEvent]) -> Sequence[ModelEvent]:
        """What the model says, on its way to the client."""
        if self.cutting is not None:
            for event in some:
                self.cutting.add(event)
        if self.live is not None:
            self.live.tell(some)
        return some

    def tell(self, event: Started | Finished) -> Sequence[Event]:
        """What we say ourselves."""
        if self.live is not None:
            self.live.tell([event])
        return [event]

    def cuts(self) -> Cuts:
        """How the answer was streamed, if it can be asked for again piece by piece."""
        if self.cutting is not None:
            return self.cutting.cuts()
        return self.live.cuts if self.live is not None else ()

    def started(self) -> Started:
        return Started(session=self.plan.session, step=self.name, at=self.now, compacted=self.plan.compacted)

    def prompt(self) -> Prompt:
        return Prompt(
            model=self.turn.model or "",
            messages=self.plan.assembled.messages,
            options=self.turn.options,
            auxiliary=self.turn.envelope.auxiliary,
        )

    def finished(self, session: Session, step: Step, *, degraded: bool = False) -> Finished:
        return Finished(session=session, asked=self.turn.envelope.asked, step=step, degraded=degraded)


class Turns:
    """Runs turns: the one path that every endpoint leads to."""

    def __init__(
        self,
        *,
        store: Store,
        views: Views,
        archive: Archive,
        model: Model,
        clock: Clock,
        ids: Ids,
        counter: TokenCounter,
        budget: int,
        distil: bool = False,
        commands: bool = True,
        answer_without_history: bool = False,
        recall: Recall | None = None,
        remembering: Remembering | None = None,
        server_tools: bool = False,
        accounts: Accounts | None = None,
    ) -> None:
        self._store = store
        self._accounts = accounts
        self._counting: set[asyncio.Task[None]] = set()
        self._model = model
        self._clock = clock
        self._ids = ids
        self._counter = counter
        self._budget = budget
        self._limits = shorten.limits(budget)
        self._answer_without_history = answer_without_history
        self._recall = recall
        self._remembering = remembering
        self._ability = Ability(clock) if server_tools else None
        self.rotations = Rotations(
            store=store,
            model=model,
            clock=clock,
            ids=ids,
            counter=counter,
            budget=budget,
            distil=distil,
            recall=recall,
            rotated=remembering.nudge if remembering else None,
        )
        self._planning = Planning(
            store=store,
            views=views,
            rotations=self.rotations,
            clock=clock,
            ids=ids,
            counter=counter,
            budget=budget,
            recall=recall,
        )
        self._commands = Commands(store=store, archive=archive, rotations=self.rotations, clock=clock, ids=ids)
        self._takes_commands = commands
        self.stirred = 0.0  # when a turn began, was heard of or ended last
        self.live: Lives = {}  # those that can be listened to

    def run(self, turn: Turn) -> Events:
        """The turn's events: `Started` first, `Finished` last, and by then it is on disk."""
        if self._takes_commands and turn.name is None:
            turn = command.without_commands(turn)
            if not turn.envelope.auxiliary and (told := command.command(turn)):
                return self._commands.run(turn, told)
        if turn.envelope.session_id == CURRENT:
            return self._current(turn)
        if turn.envelope.auxiliary or not turn.store or is_ephemeral(turn.envelope.session_id):
            return self._traceless(turn)
        if turn.name is not None:
            return self._held(turn, turn.name, nullcontext())
        if turn.envelope.replay is None:
            return self._heard(turn)
        return replay.once(
            self._store,
            turn.envelope.tenant,
            turn.envelope.replay,
            events=lambda: self._heard(turn),
            permit=lambda session: permit(turn.envelope, session),
            asked=turn.envelope.asked,
            now=self._clock.now(),
        )

    async def busy(self, envelope: Envelope) -> bool:
        """Whether a turn of this session would have to wait for another one."""
        session_id = envelope.session_id
        try:
            if session_id == CURRENT and envelope.session_key is not None:
                current = await self._commands.known(envelope.tenant, envelope.session_key)
                session_id = current.id if current else None
            return session_id is not None and await self._store.held(envelope.tenant, session_id)
        except StoreUnavailable:  # the turn itself will say so
            return False

    def refuse_command(self, turn: Turn) -> None:
        """A command is answered by the server itself, at once: it cannot run by itself."""
        if self._takes_commands and (told := command.command(turn)):
            raise Malformed(f"{told} is a command; send it where it is answered at once, as to /v1/chat/completions.")

    async def admitted(self, envelope: Envelope) -> Envelope:
        """Who is asking and where, settled before a turn that runs by itself begins: the session exists or gets an id,
        and may be spoken in."""
        if envelope.session_id == CURRENT:
            current = await self._commands.current(envelope)
            envelope = msgspec.structs.replace(envelope, session_id=current.root if current else None)
        session_id = envelope.session_id or self._fresh_id()
        permit(envelope, await self._store.find(envelope.tenant, session_id))
        if envelope.on_busy == "reject" and await self._store.held(envelope.tenant, session_id):
            raise SessionBusy(final=True)
        return msgspec.structs.replace(envelope, session_id=session_id)

    async def weighed(self, turn: Turn) -> int:
        """The tokens of the prompt that a turn would be asked with; nothing is asked, and nothing kept."""
        envelope = turn.envelope
        session_id = envelope.session_id or self._fresh_id()
        session = await self._store.find(envelope.tenant, session_id)
        permit(envelope, session)
        plan = await self._planning.plan(msgspec.structs.replace(turn, store=False), session, session_id)
        return plan.assembled.context.prompt_tokens

    async def summed_up(self, turn: Turn) -> Summary:
        """All that was said up to a turn, its own messages included, in short; nothing is kept of it."""
        envelope = turn.envelope
        session_id = envelope.session_id or self._fresh_id()
        session = await self._store.find(envelope.tenant, session_id)
        permit(envelope, session)
        past = await self._planning.past(turn, session)
        new = past_of(turn.messages, weigh(turn.messages, self._counter), seq=past.past[-1].seq + 1 if past.past else 1)
        held = msgspec.structs.replace(past, past=(*past.past, new) if turn.messages else past.past)
        sealed = await self.rotations.summed_up(held)
        kept = unsaid(carried(held), turn.carried) + turn.carried
        text = "\n\n".join(each for each in (*(message.text for message in kept), sealed.text) if each)
        users = tuple(message for step in held.past for message in step.messages if message.role == "user")
        read = sum(step.tokens for step in held.past) + weigh(kept, self._counter)
        return Summary(text, users, read, self._counter.count(text))

    async def compress(self, envelope: Envelope) -> Session:
        """Rotates a session now; the session itself when nothing in it can go to the log."""
        if envelope.session_id is None:
            raise NotFound("There is no such session.")
        permit(envelope, await self._store.find(envelope.tenant, envelope.session_id))
        return await self.rotations.now(envelope.tenant, envelope.session_id)

    # --- one turn -----------------------------------------------------------------------------------------------

    def _heard(self, turn: Turn) -> Events:
        """The turn, which others can listen to while it runs."""
        name = StepId(self._ids.new())
        return self._held(turn, name, Listened(self.live, (turn.envelope.tenant, name)))

    async def _held(self, turn: Turn, name: StepId, listened: AbstractContextManager[Live | None]) -> Events:
        """The turn while its session is ours."""
        envelope = turn.envelope
        session_id = envelope.session_id or self._fresh_id()
        begun = False
        self.stirred = time.monotonic()
        try:
            with listened as live:
                arrived = await self._tips(turn, session_id) if may_be_sent_twice(turn) else {}
                async with self._store.claim(
                    envelope.tenant, session_id, by=name, on_busy=envelope.on_busy, patient=turn.name is not None
                ) as claim:
                    permit(envelope, claim.session)
                    known = await self._known(turn, claim.session, arrived)
                    if known is not None:
                        yield list(replay.replayed(known, asked=envelope.asked))
                        return
                    if envelope.wait_for_memory:
                        await self._caught_up(turn, claim.session)
                    plan = await self._planning.plan(turn, claim.session, session_id)
                    asking = Asking(turn, plan, name, self._clock.now(), live)
                    begun = True
                    yield asking.tell(asking.started())
                    interruption = asking.interruption
                    claim.listen(interruption.want)
                    asking.toolbox = self._toolbox(asking)
                    events = loop.run(self._model, asking.prompt(), asking.folding, interruption, asking.toolbox)
                    try:
                        async for some in events:
                            self.stirred = time.monotonic()
                            yield asking.hear(some)
                    finally:
                        await events.aclose()
                    step = self._step(asking)
                    session = await self._commit(asking, step)
                if self._remembering is not None:
                    self._remembering.nudge()
                self._make_room_later(asking, session, step)
                yield asking.tell(asking.finished(session, step))
        except StoreUnavailable:
            if begun or not self._answer_without_history:
                raise
            async with aclosing(self._traceless(turn, degraded=True)) as rest:
                async for some_more in rest:
                    yield some_more
        finally:
            self.stirred = time.monotonic()

    async def _traceless(self, turn: Turn, *, degraded: bool = False) -> Events:
        """An answer that leaves nothing behind: for a UI's own requests, or when there is no store to keep it."""
        envelope = turn.envelope
        session_id = envelope.session_id or self._fresh_id()
        session = None if degraded else await self._store.find(envelope.tenant, session_id)
        permit(envelope, session)
        plan = await self._planning.plan(turn, session, session_id)
        asking = Asking(turn, plan, StepId(self._ids.new()), self._clock.now())
        yield [asking.started()]
        async with aclosing(loop.run(self._model, asking.prompt(), asking.folding)) as events:
            async for some in events:
                yield some
        step = self._step(asking)
        self._count(turn, step)
        yield [asking.finished(plan.session, step, degraded=degraded)]

    def _count(self, turn: Turn, step: Step) -> None:
        """What a turn took that is not kept: its tokens are, and nothing else of it. Nobody waits for that."""
        if self._accounts is not None:
            counting = asyncio.create_task(self._counted(self._accounts, turn.envelope, step))
            self._counting.add(counting)
            counting.add_done_callback(self._counting.discard)

    @staticmethod
    async def _counted(accounts: Accounts, envelope: Envelope, step: Step) -> None:
        try:
            await accounts.add(envelope.tenant, envelope.key, step)
        except StoreUnavailable as failure:
            log.warning("the tokens of a turn could not be counted: %s", failure.code)

    async def _current(self, turn: Turn) -> Events:
        """The turn in its key's current session."""
        session = await self._commands.current(turn.envelope)
        named = msgspec.structs.replace(turn.envelope, session_id=session.root if session else None)
        async with aclosing(self.run(msgspec.structs.replace(turn, envelope=named))) as events:
            async for some in events:
                yield some

    async def _known(self, turn: Turn, session: Session | None, arrived: dict[LineageId, int]) -> Recorded | None:
        """What this very request led to, if it came before: by the client's own message id, or as a retry."""
        envelope = turn.envelope
        if session is None:
            return None
        goes_on = turn.messages[-1].role in {"tool", "assistant"}  # with the same turn, under the same id
        if envelope.message_id is not None and not goes_on:
            since = self._clock.now() - REDELIVERED
            said = await self._store.said(envelope.tenant, session, envelope.message_id, since=since)
            if said:
                return Recorded(session, said)
        twice = may_be_sent_twice(turn)
        if envelope.body is None or not (twice or envelope.again):
            return None
        now = self._clock.now()
        for tip in {one.lineage: one for one in (session, await self._head(turn, session))}.values():
            seen = arrived.get(tip.lineage, tip.fork_seq)  # how far the path had come when the request did
            overtaken = twice and seen < tip.last_seq
            if overtaken or envelope.again:
                step = await self._store.repeated(
                    envelope.tenant,
                    tip,
                    envelope.body,
                    after=seen if overtaken else tip.last_seq,
                    since=now - TRIED_AGAIN if envelope.again else None,
                )
                if step is not None:
                    return Recorded(tip, step)
        return None

    async def _tips(self, turn: Turn, session_id: SessionId) -> dict[LineageId, int]:
        """How far the path that an id leads to has come, and the path last answered."""
        session = await self._store.find(turn.envelope.tenant, session_id)
        if session is None:
            return {}
        head = await self._head(turn, session)
        return {session.lineage: session.last_seq, head.lineage: head.last_seq}

    async def _head(self, turn: Turn, session: Session) -> Session:
        if turn.envelope.session_id == session.root:
            return session
        return await self._store.find(turn.envelope.tenant, session.root) or session

    async def _caught_up(self, turn: Turn, session: Session | None) -> None:
        """Waits, but not for ever, until what was said before has been read."""
        tenant, key = turn.envelope.tenant, turn.envelope.session_key
        scope = session.scope if session else await self._planning.scope(tenant, key)
        if self._remembering is not None and scope is not None:
            await self._remembering.caught_up(tenant, scope, within=LONGEST_CATCHING_UP)

    def _toolbox(self, asking: Asking) -> Toolbox | None:
        """What the model may look up by itself: from a thread's first rotation on, there is something."""
        envelope, plan = asking.turn.envelope, asking.plan
        calls = MOST_CALLS if asking.turn.searches is None else min(MOST_CALLS, asking.turn.searches)
        if self._ability is None or self._recall is None or not plan.rotated or not envelope.server_tools or not calls:
            return None
        view = View(envelope.tenant, plan.session.scope, plan.session)
        context = plan.assembled.context
        return Toolbox(
            tools(self._recall, view, envelope.said_at or asking.now),
            room=context.budget - context.prompt_tokens,
            counter=self._counter,
            ability=self._ability,
            calls=calls,
        )

    # --- after the model has answered ---------------------------------------------------------------------------

    async def _commit(self, asking: Asking, step: Step) -> Session:
        envelope, plan = asking.turn.envelope, asking.plan
        return await self._store.commit(
            envelope.tenant,
            Commit(
                session=plan.session,
                step=step,
                begins=plan.begins,
                branches=plan.branches,
                imported=plan.imported,
                bind=envelope.session_key if plan.session.session_key is None else None,
                replay=envelope.replay,
                profile=plan.profile,
                keep=asking.turn.keep,
                asked=envelope.asked is not None,
                fence=asking.turn.fence or 0 if asking.turn.name is not None else None,
                key=envelope.key,
                job=asking.turn.job,
            ),
        )

    def _step(self, asking: Asking) -> Step:
        turn, plan, folding, name, now = asking.turn, asking.plan, asking.folding, asking.name, asking.now
        envelope, session, given = turn.envelope, plan.session, plan.input
        context = plan.assembled.context
        if asking.toolbox is not None and asking.toolbox.weight:
            context = context.with_tools(asking.toolbox.weight, asking.toolbox.hidden.tokens)
        outcome = folding.outcome(lambda: Usage(context.prompt_tokens, self._counter.count(folding.text)))
        if (cause := CAUSE.get()) is not None:
            cause.spend(outcome.usage.prompt, outcome.usage.completion)
        answer = outcome.choices[0].message()
        goes_on = begins_with_result(given) and plan.past and plan.past[-1].turn
        return Step(
            id=name,
            turn=plan.past[-1].turn or name if goes_on else name,
            seq=session.last_seq + 1,
            source=turn.source,
            input=(*plan.carried, *given),
            outcome=outcome,
            answer=answer,
            context=context,
            said_at=envelope.said_at or now,
            stored_at=now,
            tokens=self._later_weight(given, answer, name, plan.assembled.message),
            rolling=reconcile.rolled(session.rolling, (*given, answer)) if turn.source == "api" else session.rolling,
            message_id=envelope.message_id,
            parent_message_id=envelope.parent_message_id,
            body=envelope.body,
            tail=plan.tail if plan.tail.text else None,
            cuts=asking.cuts(),
            compacted=plan.compacted,
            asked=envelope.asked if envelope.asked != session.id else None,
            took=(self._clock.now() - now).total_seconds() if asking.cutting is not None else 0.0,
        )

    def _later_weight(self, given: tuple[Message, ...], answer: Message, turn: StepId, weight: int) -> int:
        """What the step weighs in later prompts, where its long texts are shortened."""
        short = shorten.shortened(given, turn, self._limits)
        if short != given:
            weight = weigh(short, self._counter)
        return weight + weigh(shorten.shortened((answer,), turn, self._limits), self._counter)

    def _make_room_later(self, asking: Asking, session: Session, step: Step) -> None:
        """Rotates off the reply's path when the next turn would find the window too full."""
        plan = asking.plan
        to = epoch.room(self._budget, given=plan.given, log=plan.assembled.context.log)
        if step.answer.calls:
            return
        if plan.compacted:  # the client was told so
            weight = sum(past.tokens for past in plan.past) + step.tokens
            self.rotations.later(asking.turn.envelope.tenant, session, Room(0, 0, weight // 2, to.log, to.block))
            return
        if sum(past.tokens for past in plan.past) + step.tokens <= to.mark:
            return
        past = (*plan.past, past_of(step.messages(), step.tokens, step.turn, step.seq, step.said_at))
        if epoch.full(past, to):
            self.rotations.later(asking.turn.envelope.tenant, session, to)

    def _fresh_id(self) -> SessionId:
        return SessionId(f"ses_{self._ids.new()}")


def may_be_sent_twice(turn: Turn) -> bool:
    """Its body has a history: the very same one while the first still runs is the same turn."""
    return turn.envelope.body is not None and any(message.role == "assistant" for message in turn.messages)
