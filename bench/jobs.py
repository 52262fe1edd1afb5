"""Ten thousand jobs: what they cost a server that waits, and how late they are when 50 are due each second."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import msgspec

from bench import server, timetable
from bench.history import History, Run
from bench.recall import asked
from bench.scenario import PLANS, Broken, Cores, Round, Sides
from bench.server import Process

JOBS = 10_000
PER_SECOND = 50
STEP = timedelta(seconds=200)  # of jobs that fire: all of them in turn, so many in each second
STARTS, QUICK_STARTS = 3, 1
IDLE_SECONDS = 6.0  # longer than the server ever sleeps
SETTLE_SECONDS = 0.5
LEAD = 20.0  # seconds to write the jobs and to start a server, before the first is due
WARM_SECONDS = 0.5
ALONE, QUICK_ALONE = 20, 8  # seconds of nothing but fires
GAP = 3  # seconds for those that are late
PART = 4  # seconds with fires, and seconds without, while a client talks
PARTS, QUICK_PARTS = 3, 1
REST = 120  # seconds after the first fire: what is not to be seen fires from here on
OVERDUE_SECONDS = 180.0
LATE, DAILY = timedelta(hours=1), timedelta(days=1)
CHAT = PLANS["json-1"]


class Standing(msgspec.Struct, frozen=True):
    """Servers that have nothing to do, one after the other."""

    ready_ms: list[float]
    rss_kb: list[int]
    threads: list[int]
    idle_cpu: list[float]  # ms of CPU per second


class Lags(msgspec.Struct, frozen=True):
    """Of fires, in ns after the time they were scheduled for."""

    started: list[int]
    ended: list[int]


class Footprint(msgspec.Struct, frozen=True):
    rss_kb: int
    threads: int

    @classmethod
    def of(cls, process: Process) -> Footprint:
        return cls(process.rss_kb(), process.threads())


class Fired(msgspec.Struct, frozen=True):
    alone: Lags
    beside: Lags  # while a client talks
    off: int  # fires that did not happen exactly once, by the histories and by the sessions
    asked: float  # requests to the upstream per fire
    cpu_us: float  # per fire
    before: Footprint
    after: Footprint
    cores: Cores  # while nothing but fires went on
    chat: list[Round]  # one client, without fires
    chat_beside: list[Round]


class Overdue(msgspec.Struct, frozen=True):
    """A start at which all jobs are to be made up for."""

    ready_ms: float
    first: float  # seconds from there until the first runs
    seconds: float  # and until all have run
    chat: Round  # one client meanwhile
    after: Footprint


class Jobs(msgspec.Struct, frozen=True):
    count: int
    empty: Standing
    full: Standing
    fired: Fired
    overdue: Overdue | None


class Sizes(msgspec.Struct, frozen=True):
    starts: int = STARTS
    alone: int = ALONE
    parts: int = PARTS
    overdue: bool = True

    @property
    def length(self) -> int:
        return self.alone + GAP + 2 * PART * self.parts

    def quiet(self, part: int) -> int:
        """The second in which a part without fires begins; one with fires follows it."""
        return self.alone + GAP + 2 * PART * part

    def beside(self) -> list[int]:
        starts = [self.quiet(part) + PART for part in range(self.parts)]
        return [second for start in starts for second in range(start, start + PART)]

    def moments(self, start: datetime) -> list[datetime]:
        """When each job is due: so many in each second that has fires; all others when nobody looks any more."""
        seconds = [*range(self.alone), *self.beside()]
        due = [start + timedelta(seconds=second) for second in seconds for _ in range(PER_SECOND)]
        later = range(REST, STEP.seconds)
        rest = (start + timedelta(seconds=later[number % len(later)]) for number in itertools.count())
        return [*due, *itertools.islice(rest, JOBS - len(due))]


def sizes(*, quick: bool) -> Sizes:
    return Sizes(QUICK_STARTS, QUICK_ALONE, QUICK_PARTS, overdue=False) if quick else Sizes()


def measure(parent: str | None, upstream: Process, size: Sizes, say: Callable[[str], None]) -> Jobs:
    empty, full = standing(parent, upstream, size, say)
    fired = fires(parent, upstream, size, say)
    late = overdue(parent, upstream, say) if size.overdue else None
    return Jobs(JOBS, empty, full, fired, late)


# --- waiting ---


def standing(
    parent: str | None, upstream: Process, size: Sizes, say: Callable[[str], None]
) -> tuple[Standing, Standing]:
    """Without a job and with all of them, side by side."""
    found = Standing([], [], [], []), Standing([], [], [], [])
    with server.folder(parent) as without, server.folder(parent) as with_jobs:
        timetable.write(without, ())
        timetable.write(with_jobs, timetable.various(JOBS, datetime.now(UTC)))
        for number in range(size.starts):
            say(f"jobs: start {number + 1} of {size.starts}, without any and with {JOBS:,}")
            sides = [(without, found[0]), (with_jobs, found[1])]
            with ExitStack() as stack:
                wait(
                    [
                        (stack.enter_context(server.everthread_at(home, upstream.target)), into)
                        for home, into in (sides if number % 2 == 0 else reversed(sides))
                    ]
                )
    return found


def wait(sides: list[tuple[Process, Standing]]) -> None:
    time.sleep(SETTLE_SECONDS)
    before = [process.cpu_ns() for process, _ in sides]
    time.sleep(IDLE_SECONDS)
    for (process, into), spent in zip(sides, before, strict=True):
        into.idle_cpu.append((process.cpu_ns() - spent) / 1e6 / IDLE_SECONDS)
        into.ready_ms.append(process.ready_ms)
        into.rss_kb.append(process.rss_kb())
        into.threads.append(process.threads())


# --- firing ---


def fires(parent: str | None, upstream: Process, size: Sizes, say: Callable[[str], None]) -> Fired:
    start = timetable.whole_second(LEAD)
    due = size.moments(start)
    with server.folder(parent) as home:
        timetable.write(home, timetable.punctual(due, STEP, now=datetime.now(UTC)))
        with server.everthread_at(home, upstream.target) as process:
            return Firing(process, upstream, size, start, say).run()


class Firing:
    """One server whose jobs come due, second by second, as it was arranged."""

    def __init__(
        self, process: Process, upstream: Process, size: Sizes, start: datetime, say: Callable[[str], None]
    ) -> None:
        self.process = process
        self.upstream = upstream
        self.sides = Sides(upstream, process)
        self.size = size
        self.start = start
        self.say = say

    def run(self) -> Fired:
        self.chat(WARM_SECONDS)
        self.process.has_read()
        before, ours, cores, requests = self.alone()
        after = Footprint.of(self.process)
        chat, beside = self.beside()
        self.until(self.size.length + GAP)
        self.say("jobs: their histories")
        expected = {
            f"job_punctual-{number:05}": at
            for number, at in enumerate(self.size.moments(self.start))
            if at < self.start + timedelta(seconds=REST)
        }
        alone_lags, beside_lags, off = self.look_back(expected)
        count = self.size.alone * PER_SECOND
        return Fired(
            alone=alone_lags,
            beside=beside_lags,
            off=off,
            asked=requests / count,
            cpu_us=ours / count * 1e6,
            before=before,
            after=after,
            cores=cores,
            chat=chat,
            chat_beside=beside,
        )

    def until(self, second: float) -> None:
        """Returns at that second of the arrangement."""
        left = (self.start - datetime.now(UTC)).total_seconds() + second
        if left < 0:
            raise Broken(f"this machine is {-left:.1f} s too slow for what was arranged")
        time.sleep(left)

    def chat(self, seconds: float) -> Round:
        return self.sides.round(self.process.target, CHAT, seconds)

    def alone(self) -> tuple[Footprint, float, Cores, int]:
        """Nothing but fires, and a while for those that are late: the server's CPU seconds and requests."""
        self.until(-0.2)
        self.say(f"jobs: {PER_SECOND} fires per second for {self.size.alone} s")
        footprint, requests = Footprint.of(self.process), asked(self.upstream.target)
        before, began = self.sides.clock(), time.perf_counter()
        self.until(self.size.alone)
        after, took = self.sides.clock(), time.perf_counter() - began
        cores = Cores.between(before, after, took)
        self.until(self.size.alone + GAP - 0.2)
        ours = self.process.cpu_seconds() - before[2]
        return footprint, ours, cores, asked(self.upstream.target) - requests

    def beside(self) -> tuple[list[Round], list[Round]]:
        without: list[Round] = []
        with_fires: list[Round] = []
        for part in range(self.size.parts):
            self.say(f"jobs: a client, without fires and with them, part {part + 1} of {self.size.parts}")
            for found, second in ((without, self.size.quiet(part)), (with_fires, self.size.quiet(part) + PART)):
                self.until(second + 0.5)
                found.append(self.chat(PART - 1.0))
        return without, with_fires

    def look_back(self, expected: dict[str, datetime]) -> tuple[Lags, Lags, int]:
        """How late each fire was, and how many did not happen exactly once."""
        alone, beside = Lags([], []), Lags([], [])
        with History(self.process.target) as history:
            ran = {job.id for job in history.jobs() if job.last_run_at is not None}
            histories = {job: history.runs(job) for job in sorted(ran | expected.keys())}
            spoken = {session.id: session.message_count for session in history.sessions()}
        off = set(spoken.items()) ^ {(f"job:{job}", 2) for job in expected}
        wrong = {session.removeprefix("job:") for session, _ in off}
        for job, runs in histories.items():
            if [(run.scheduled_at, run.status) for run in runs] != [(expected.get(job), "completed")]:
                wrong.add(job)
                continue
            (run,) = runs
            lags = alone if run.scheduled_at < self.start + timedelta(seconds=self.size.alone) else beside
            lags.started.append(late_ns(run, run.started_at))
            lags.ended.append(late_ns(run, run.ended_at))
        if not alone.started or not beside.started:
            raise Broken(f"none of the jobs ran as it should; the first history: {next(iter(histories.items()), None)}")
        return alone, beside, len(wrong)


def late_ns(run: Run, at: datetime | None) -> int:
    if at is None:
        raise Broken(f"a run is over and does not say when it was: {run}")
    return (at - run.scheduled_at) // timedelta(microseconds=1) * 1_000


# --- too late ---


def overdue(parent: str | None, upstream: Process, say: Callable[[str], None]) -> Overdue:
    """All jobs had their time while no server ran; each is made up for once."""
    missed = [timetable.whole_second(number % 100) - LATE for number in range(JOBS)]
    with server.folder(parent) as home:
        timetable.write(home, timetable.punctual(missed, DAILY, now=datetime.now(UTC) - DAILY))
        say(f"jobs: a start with {JOBS:,} overdue")
        before = asked(upstream.target)
        with server.everthread_at(home, upstream.target) as process:
            began = time.perf_counter()
            first = reached(upstream, before + 1, began)
            chat = Sides(upstream, process).round(process.target, CHAT, PART)
            seconds = reached(upstream, before + chat.sample.turns + JOBS, began)
            time.sleep(GAP)
            after = Footprint.of(process)
            with History(process.target) as history:
                left = [job for job in history.jobs() if job.last_status != "completed"]
    if left:
        raise Broken(f"{len(left):,} of {JOBS:,} overdue jobs have not run; the first: {left[0]}")
    return Overdue(process.ready_ms, first, seconds, chat, after)


def reached(upstream: Process, requests: int, began: float) -> float:
    """How long it took until the upstream had been asked so often."""
    while (so_far := asked(upstream.target)) < requests:
        if time.perf_counter() - began > OVERDUE_SECONDS:
            raise Broken(f"after {OVERDUE_SECONDS:.0f} s {requests - so_far:,} overdue jobs had not run")
        time.sleep(0.05)
    return time.perf_counter() - began
