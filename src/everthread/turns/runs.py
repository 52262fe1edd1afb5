"""Turns that outlive their connection: started, listened to by any number of readers, stopped, taken up again.

They wait in a queue, from which whoever has time takes them. What a reader is told of such a turn is on disk before:
its events are recorded in batches while it goes, and with its step when it is done. A run that a dead process held is
run again if nobody can have seen any of it; one of which something was told is over: its words cannot be said again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, aclosing, suppress
from datetime import datetime, timedelta

import msgspec

from everthread.core.cause import CAUSE, Cause
from everthread.core.ids import NO_KEY, KeyId, SessionId, StepId, Tenant, is_ephemeral, run_id
from everthread.core.ports import Clock, Ids, Recorded, Store
from everthread.core.queue import Queue, Taken
from everthread.core.session import fresh
from everthread.core.turn import Event, Events, Finished, ModelEvent, Started, Turn
from everthread.core.view import OVER, Fault, Hook, Run, RunKind, RunStatus, Views
from everthread.errors import (
    Bug,
    Failure,
    LimitReached,
    Malformed,
    NotFound,
    RunFailed,
    RunTimedOut,
    Stopping,
    StoreUnavailable,
    Unavailable,
)
from everthread.turns.alarm import LONGEST_SLEEP, Alarm, until
from everthread.turns.live import Live, Lives
from everthread.turns.replay import replayed
from everthread.turns.room import Room, share
from everthread.turns.run import Turns

log = logging.getLogger("everthread.runs")

MOST_AT_ONCE = (
    64  # runs that this process does, each of another session; others wait, and some room is for others' keys
)
MOST_BEGUN = 4096  # runs that are not over; each has its listeners' place in memory, waiting ones too
BATCH = 0.1  # seconds that a run's events are gathered before they are recorded
HELD = timedelta(seconds=30)  # how long a run is ours without a word from us
BEAT = 10.0  # seconds between such words
LONGEST_PAUSE = 300.0  # seconds before another attempt

INTERRUPTED = Fault(
    "interrupted", "The server stopped while this ran. Nothing of it is in the conversation; send it again."
)
CANCELLED = Fault("cancelled", "This was cancelled. Nothing of it is in the conversation.")

NOTHING: Mapping[str, str] = {}
TURN = msgspec.json.Decoder(Turn)


class Ticket(msgspec.Struct, frozen=True):
    """What opens a run's events without a key, for a while."""

    digest: bytes
    until: datetime


class Running(msgspec.Struct, eq=False):
    """A run that this process does."""

    taken: Taken
    live: Live
    until: datetime  # it is ours so long, unless we say so again
    task: asyncio.Task[None] | None = None
    unwanted: bool = False  # somebody wants it to end


class Runs:
    def __init__(
        self,
        *,
        turns: Turns,
        views: Views,
        queue: Queue,
        store: Store,
        clock: Clock,
        ids: Ids,
        worker: str,
        resume: bool = True,
    ) -> None:
        self._turns = turns
        self._views = views
        self._queue = queue
        self._store = store
        self._clock = clock
        self._ids = ids
        self._worker = worker
        self._resume = resume
        self._live: Lives = {}  # also of those that nobody has taken yet
        self._begun = Room(MOST_BEGUN)
        self._owners: dict[tuple[Tenant, StepId], KeyId] = {}  # of those that have a place there
        self._running: dict[tuple[Tenant, StepId], Running] = {}
        self._alarm = Alarm()
        self._stopping = False
        self.over: Callable[[], None] = lambda: None  # is told when one has come to its end
        self.spent: Callable[[Cause], None] = lambda cause: None  # is told what an attempt took

    # --- what clients do ----------------------------------------------------------------------------------------

    async def start(
        self,
        turn: Turn,
        kind: RunKind,
        *,
        metadata: Mapping[str, str] = NOTHING,
        ticket: Ticket | None = None,
        hook: Hook | None = None,
        at_once: int | None = None,
    ) -> Run:
        """A run that goes on by itself from now on; the one that its Idempotency-Key led to before, if it did.

        Overloaded when too many are not over yet, of all keys or of this one; LimitReached when the key has as many as
        it may have `at_once`."""
        if turn.envelope.auxiliary or is_ephemeral(turn.envelope.session_id):
            raise Malformed("What leaves no trace cannot run in the background: there would be nothing to read.")
        self._turns.refuse_command(turn)
        key = turn.envelope.key or NO_KEY
        if at_once is not None and self._begun.of(key) >= at_once:
            raise LimitReached(f"This API key may have {at_once} runs at once, and has them.")
        with ExitStack() as place:
            self._begun.enter(key)
            place.callback(self._begun.leave, key)
            run = await self._made(turn, kind, metadata=metadata, ticket=ticket, hook=hook)
            known = await self._queue.enqueue(turn.envelope.tenant, run, keep=turn.keep, replay=turn.envelope.replay)
            if known != run.id:
                return await self.known(turn.envelope.tenant, known)
            self._owners[turn.envelope.tenant, run.id] = key
            place.pop_all()  # it has its place until it is over
        self._live[turn.envelope.tenant, run.id] = Live()
        self.wake()
        return run

    async def _made(
        self, turn: Turn, kind: RunKind, *, metadata: Mapping[str, str], ticket: Ticket | None, hook: Hook | None
    ) -> Run:
        """A turn as a run that is yet to begin; where it is said is settled."""
        now, name = self._clock.now(), StepId(self._ids.new())
        to = msgspec.structs.replace(await self._turns.admitted(turn.envelope), replay=None)
        return Run(
            id=name,
            kind=kind,
            session=to.session_id or SessionId(""),
            session_key=to.session_key,
            status="queued",
            created_at=now,
            updated_at=now,
            turn=msgspec.json.encode(msgspec.structs.replace(turn, envelope=to, name=name)),
            model=turn.model,
            metadata=metadata,
            ticket=ticket.digest if ticket else b"",
            ticket_until=ticket.until if ticket else None,
            hook=hook,
            key=to.key or NO_KEY,
        )

    async def stop(self, tenant: Tenant, name: StepId) -> Run:
        """Ends it; nothing of it will be in the conversation. A turn that somebody waits for ends where it stands. One
        that is over stays as it is."""
        running = self._running.get((tenant, name))
        now = self._clock.now()
        live = self._turns.live.get((tenant, name))
        if live is not None and live.stop is not None:  # somebody's own turn: what was said until now stands
            live.stop()
            await live.ended()
        elif running is None:
            await self._queue.settle(tenant, name, "cancelled", fault=CANCELLED, now=now)
            self._forget(tenant, name, RunFailed("cancelled", CANCELLED.code, CANCELLED.message))
        elif await self._queue.settle(tenant, name, "stopping", now=now) and running.task is not None:
            running.unwanted = True
            running.task.cancel()
            await asyncio.wait({running.task})
        return await self.known(tenant, name)

    async def known(self, tenant: Tenant, name: StepId) -> Run:
        """Any turn as a run: one that was started here, one that goes on now, or one whose step is kept."""
        run = await self._queue.run(tenant, name)
        if run is not None:
            return run
        live = self._turns.live.get((tenant, name))
        started = live.started if live else None
        if started is not None:
            return plain(started.step, started.session.root, "running", started)
        spot = await self._views.spot(tenant, name)
        if spot is None:
            raise NotFound("There is no such run.")
        first = Started(session=spot.session, step=name, at=spot.step.stored_at)
        return plain(name, spot.session.root, "completed", first)

    async def follow(self, tenant: Tenant, name: StepId) -> Events:
        """Its events from the first one on, told as they come while it runs; ends with `Finished`, or raises what it
        came to."""
        live = self._live.get((tenant, name)) or self._turns.live.get((tenant, name))
        if live is None:
            run = await self._queue.run(tenant, name)
            if run is not None and run.status not in OVER:  # it waits to be taken
                live = self._live.setdefault((tenant, name), Live())
                self.wake()
        heard = False
        if live is not None:
            try:
                async with aclosing(live.events()) as events:
                    async for some in events:
                        heard = True
                        yield some
            except RunFailed:
                if heard:
                    raise
        if not heard:  # it is over, or was before it began: what is kept of it says so
            async with aclosing(self._recorded(tenant, name)) as events:
                async for some in events:
                    yield some

    async def _recorded(self, tenant: Tenant, name: StepId) -> Events:
        spot = await self._views.spot(tenant, name)
        if spot is not None:
            yield list(replayed(Recorded(spot.then, spot.step), asked=spot.step.asked))
            return
        run = await self._queue.run(tenant, name)
        if run is None:
            raise NotFound("There is no such run.")
        session = await self._store.find(tenant, run.session) or fresh(run.session, self._ids.new, session_key=None)
        yield [Started(session=session, step=name, at=run.created_at, replayed=True)]
        if journalled := await self._queue.journalled(tenant, name):
            yield journalled
        raise failed(run)

    # --- what a worker does -------------------------------------------------------------------------------------

    def wake(self) -> None:
        """There is something to run."""
        self._alarm.ring()

    async def work(self) -> None:
        """Takes what is due and runs it, for as long as the server does."""
        beating = asyncio.create_task(self._beat())
        try:
            while True:
                self._alarm.reset()
                try:
                    pause = await self._take()
                except Failure as failure:
                    log.warning("runs cannot be taken now: %s", failure.code)
                    pause = 1.0
                await self._alarm.sleep(pause)
        finally:
            beating.cancel()

    async def finish(self, within: float) -> None:
        """Takes no more, and waits for what is running, but not for ever."""
        self._stopping = True
        if tasks := self._tasks():
            await asyncio.wait(tasks, timeout=within)

    async def close(self) -> None:
        """Lets go of what is running: the next process takes it up."""
        tasks = self._tasks()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [running.task for running in self._running.values() if running.task is not None]

    async def _take(self) -> float:
        """Takes what there is room for; how long to wait before looking again."""
        room = MOST_AT_ONCE - len(self._running)
        if room <= 0 or self._stopping:
            return LONGEST_SLEEP
        now = self._clock.now()
        if any(running.until <= now for running in self._running.values()):  # the clock was set, or all was asleep
            await self._hold()
        at_work = Counter(running.taken.run.key for running in self._running.values())
        found = await self._queue.take(
            self._worker, now=now, until=now + HELD, limit=room, at_work=at_work, each=share(MOST_AT_ONCE)
        )
        for taken in found:
            await self._begin(taken, now + HELD)
        if found:
            return 0.0
        due = await self._queue.next_due()
        if due is None or due <= now:  # what is due waits for its session, and is looked for when that is free
            return LONGEST_SLEEP
        return until(due, self._clock.now())

    async def _begin(self, taken: Taken, until: datetime) -> None:
        tenant, run = taken.tenant, taken.run
        if run.status == "stopping":
            await self._over(taken, "cancelled", CANCELLED)
        elif run.status == "running" and (run.told or not self._resume) and run.kind != "job":
            await self._over(taken, "interrupted", INTERRUPTED)
        else:
            live = self._live.setdefault((tenant, run.id), Live())
            running = self._running[tenant, run.id] = Running(taken, live, until)
            running.task = asyncio.create_task(self._run(running))

    async def _over(self, taken: Taken, status: RunStatus, fault: Fault) -> None:
        await self._queue.settle(
            taken.tenant, taken.run.id, status, fence=taken.fence, fault=fault, now=self._clock.now()
        )
        self._forget(taken.tenant, taken.run.id, RunFailed(status, fault.code, fault.message))

    def _forget(self, tenant: Tenant, name: StepId, why: Failure | None) -> None:
        live = self._live.pop((tenant, name), None)
        if live is not None:
            live.end(why)
        owner = self._owners.pop((tenant, name), None)
        if owner is not None:
            self._begun.leave(owner)

    async def _beat(self) -> None:
        """Says again and again that what is taken is being done; what is not ours any more is given up."""
        while True:
            await asyncio.sleep(BEAT)
            try:
                await self._hold()
            except Failure as failure:
                log.warning("could not say that %d runs go on: %s", len(self._running), failure.code)

    async def _hold(self) -> None:
        held = [(tenant, name, running.taken.fence) for (tenant, name), running in self._running.items()]
        if not held:
            return
        until = self._clock.now() + HELD
        lost = await self._queue.hold(self._worker, held, until=until)
        for tenant, name, _ in held:
            running = self._running.get((tenant, name))
            if running is None:
                continue
            running.until = until
            if (tenant, name) in lost and running.task is not None:
                log.warning("run %s was taken by someone else", name)
                running.task.cancel()

    async def _run(self, running: Running) -> None:
        tenant, run = running.taken.tenant, running.taken.run
        why: Failure | None = None
        again = False
        cause, began = Cause(run_id(run.id)), time.perf_counter()
        CAUSE.set(cause)
        try:
            await self._told(running)
        except Failure as failure:
            again = await self._tried_again(running, failure)
            why = None if again else await self._settled(running, "failed", Fault(failure.code, failure.message))
        except asyncio.CancelledError:
            why = await self._settled(running, "cancelled", CANCELLED) if running.unwanted else Stopping()
        except Exception:  # the task's boundary: whatever it is, the run must not seem to go on for ever
            log.exception("run %s failed", run.id)
            bug = Bug()
            why = await self._settled(running, "failed", Fault(bug.code, bug.message))
        finally:
            del self._running[tenant, run.id]
            self._note(running.taken, cause, time.perf_counter() - began, "again" if again else fault_of(why))
            if not again:
                self._forget(tenant, run.id, why)
                self.over()
            self.wake()

    def _note(self, taken: Taken, cause: Cause, seconds: float, code: str | None) -> None:
        """One line for each attempt, as a request has one."""
        self.spent(cause)
        fields: dict[str, object] = {"kind": taken.run.kind, "ms": round(seconds * 1000, 1), "tenant": taken.tenant}
        if taken.run.job is not None:
            fields["job"] = taken.run.job
        if code is not None:
            fields["code"] = code
        fields["prompt_tokens"], fields["completion_tokens"] = cause.prompt, cause.completion
        fields["upstream_ms"] = round(cause.upstream * 1000, 1)
        log.info("run", extra={"fields": fields})

    async def _told(self, running: Running) -> None:
        """Runs the turn and tells its events, each after it is recorded."""
        taken = running.taken
        turn = msgspec.structs.replace(TURN.decode(taken.run.turn), fence=taken.fence)
        telling = Telling(self._queue, self._clock, taken, running.live)
        try:
            async with asyncio.timeout(taken.run.timeout) as limit, aclosing(self._turns.run(turn)) as events:
                async for some in events:
                    await telling.add(some)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise RunTimedOut(f"The run took longer than {taken.run.timeout:g} s.") from error
        finally:
            await telling.close()

    async def _tried_again(self, running: Running, failure: Failure) -> bool:
        """Whether a run that failed is put off: if it may pass, and if it may be tried once more."""
        run = running.taken.run
        if run.attempt > run.retries or not isinstance(failure, Unavailable):
            return False
        now = self._clock.now()
        pause = failure.retry_after or min(LONGEST_PAUSE, 5.0 * 2 ** (run.attempt - 1))
        try:
            return await self._queue.put_off(
                running.taken.tenant,
                run.id,
                fence=running.taken.fence,
                until=now + timedelta(seconds=min(pause, LONGEST_PAUSE)),
                fault=Fault(failure.code, failure.message),
                now=now,
            )
        except Failure:
            log.exception("run %s failed, and could not be put off", run.id)
            return False

    async def _settled(self, running: Running, status: RunStatus, fault: Fault) -> Failure:
        taken = running.taken
        try:
            await self._queue.settle(
                taken.tenant, taken.run.id, status, fence=taken.fence, fault=fault, now=self._clock.now()
            )
        except Failure:  # the store is away: whoever takes it next says what became of it
            log.exception("run %s is %s, which could not be recorded", taken.run.id, status)
        return RunFailed(status, fault.code, fault.message)


class Telling:
    """Gathers a run's events and tells them when they are recorded. A job's are told when it is done: it may be tried
    again, and then they never were."""

    def __init__(self, queue: Queue, clock: Clock, taken: Taken, live: Live) -> None:
        self._queue = queue
        self._clock = clock
        self._tenant, self._name, self._fence = taken.tenant, taken.run.id, taken.fence
        self._quiet = taken.run.kind == "job"
        self._live = live
        self._begun: Sequence[Event] = ()
        self._gathered: list[ModelEvent] = []
        self._writing: asyncio.Task[None] | None = None
        self._closed = asyncio.Event()

    async def add(self, some: Sequence[Event]) -> None:
        match some[-1]:
            case Started():
                await self._queue.settle(self._tenant, self._name, "running", fence=self._fence, now=self._clock.now())
                if self._quiet:
                    self._begun = some
                else:
                    self._live.tell(some)
            case Finished():  # all of it is on disk with its step
                await self.close()
                self._live.tell([*self._begun, *self._gathered, *some])
                self._gathered = []
            case _:
                self._gathered += [each for each in some if not isinstance(each, Started | Finished)]
                if not self._quiet and (self._writing is None or self._writing.done()):
                    self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        """Records what is gathered and tells it, and goes on while there is more; nothing is told that is not
        recorded."""
        while self._gathered and not self._closed.is_set():
            some = self._gathered[:]
            try:
                ours = await self._queue.journal(
                    self._tenant, self._name, some, fence=self._fence, now=self._clock.now()
                )
            except StoreUnavailable:  # told later, when it can be recorded
                log.warning("events of run %s could not be recorded", self._name, exc_info=True)
                return
            if not ours:
                return
            del self._gathered[: len(some)]
            self._live.tell(some)
            with suppress(TimeoutError):
                async with asyncio.timeout(BATCH):
                    await self._closed.wait()

    async def close(self) -> None:
        """Nothing more is on its way to the disk."""
        self._closed.set()
        if self._writing is not None:
            await asyncio.wait({self._writing})


def fault_of(why: Failure | None) -> str | None:
    return why.why if isinstance(why, RunFailed) else why.code if why is not None else None


def failed(run: Run) -> RunFailed:
    """What a run that came to nothing is told as."""
    if run.status in OVER and run.fault is not None:
        return RunFailed(run.status, run.fault.code, run.fault.message)
    return RunFailed("interrupted", INTERRUPTED.code, INTERRUPTED.message)


def plain(name: StepId, session: SessionId, status: RunStatus, started: Started) -> Run:
    """A turn that was never started as a run, seen as one."""
    return Run(id=name, kind="run", session=session, status=status, created_at=started.at, updated_at=started.at)
