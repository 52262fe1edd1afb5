"""What can be seen of a server from outside, again and again, and whether it stays as it is."""

from __future__ import annotations

import re
import statistics
import threading
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import msgspec

from bench import machine
from bench.load import Target, percentile
from bench.server import Process as Seen
from process import Process

KB = 1024
LONG = 5.0  # minutes from which on times are judged
CALM = 0.5  # cores that others may use in a stretch whose latency is judged
ENOUGH = 4  # such stretches


class Look(msgspec.Struct, frozen=True):
    """The server at one moment."""

    memory: float  # MB, resident
    at_hand: float  # MB of it: windows and vectors, which have bounds of their own
    files: int
    threads: int
    tasks: int
    wal: float  # MB


class Row(msgspec.Struct, frozen=True):
    """One stretch of time. Of what comes and goes with the load the least is taken: what is always there."""

    minute: float
    turns: int  # that somebody waited for
    p50: float  # milliseconds
    p99: float
    direct: float  # p50 of the same question to the model's server itself
    cpu: float  # milliseconds of the server for each of its turns
    others: float  # cores that other programs used
    memory: float
    at_hand: float
    files: int
    threads: int
    tasks: int
    wal: float

    @property
    def beside(self) -> float:
        """The memory beside what is at hand."""
        return self.memory - self.at_hand

    @property
    def ratio(self) -> float:
        return self.p50 / self.direct if self.direct else 0.0


class Bound(msgspec.Struct, frozen=True):
    """How much a figure may grow in the last two thirds of the time: a share of its middle, and so much more."""

    figure: str
    name: str
    share: float
    more: float
    timed: bool = False
    calm: bool = False  # judged where nothing else kept the machine busy


BOUNDS = (
    Bound("beside", "memory, MB", 0.04, 4),
    Bound("files", "open files", 0, 10),
    Bound("threads", "threads", 0, 6),
    Bound("tasks", "tasks", 0, 20),
    Bound("wal", "write-ahead log, MB", 0, 8),
    Bound("ratio", "p50 / direct p50", 0.5, 0.5, timed=True, calm=True),
    Bound("cpu", "CPU for a turn, ms", 0.3, 1, timed=True),
)


class Verdict(msgspec.Struct, frozen=True):
    bound: Bound
    middle: float
    grown: float
    allowed: float

    @property
    def flat(self) -> bool:
        return self.grown <= self.allowed

    def __str__(self) -> str:
        word = "flat" if self.flat else "NOT FLAT"
        return (
            f"{self.bound.name:20} {word:8}  {self.grown:+8.2f} about {self.middle:8.2f}, at most {self.allowed:+.2f}"
        )


def verdicts(rows: Sequence[Row], *, minutes: float) -> list[Verdict]:
    """Each figure over the last two thirds."""
    late = rows[len(rows) // 3 :]
    calm = [row for row in late if row.others < CALM]
    found = []
    for bound in BOUNDS:
        if (bound.timed and minutes < LONG) or (bound.calm and len(calm) < ENOUGH):
            continue
        values = [float(getattr(row, bound.figure)) for row in (calm if bound.calm else late)]
        middle = statistics.median(values)
        found.append(Verdict(bound, middle, grown(values), bound.share * middle + bound.more))
    return found


def grown(values: Sequence[float]) -> float:
    """From the first to the last along the line through them: the median of all slopes (Theil and Sen), so that one
    odd value does not matter."""
    slopes = [(b - a) / (j - i) for (i, a), (j, b) in combinations(enumerate(values), 2)]
    return statistics.median(slopes) * (len(values) - 1) if slopes else 0.0


class Clock(msgspec.Struct, frozen=True):
    """Seconds: of time, and of the processors."""

    at: float
    server: float
    clients: float  # and their model's server
    machine: float

    def since(self, before: Clock) -> Clock:
        return Clock(
            self.at - before.at,
            self.server - before.server,
            self.clients - before.clients,
            self.machine - before.machine,
        )


class Gauge:
    """Looks at a server process; hears from its clients how long turns took."""

    def __init__(self, process: Process, home: Path) -> None:
        target = Target(name="everthread", port=int(process.client.url.rpartition(":")[2]), key="")
        self._seen = Seen(target, process.running, home)
        self._client = process.client
        self._wal = home / "everthread.db-wal"
        self._lock = threading.Lock()
        self.forget()

    def note(self, seconds: float) -> None:
        """Somebody waited for a turn."""
        with self._lock:
            self._taken.append(int(seconds * 1e9))

    def note_direct(self, seconds: float) -> None:
        with self._lock:
            self._direct.append(int(seconds * 1e9))

    def forget(self) -> None:
        """What was noted until now does not count."""
        with self._lock:
            self._taken: list[int] = []
            self._direct: list[int] = []
        self._clock = self._read()

    def _read(self) -> Clock:
        return Clock(time.monotonic(), self._seen.cpu_seconds(), time.process_time(), machine.busy_seconds())

    def look(self) -> Look:
        figures = self._client.get("/metrics").body.decode()
        told = dict(re.findall(r"^(everthread_\w+) (\S+)$", figures, re.MULTILINE))
        return Look(
            memory=self._seen.rss_kb() / KB,
            at_hand=float(told["everthread_at_hand_bytes"]) / KB / KB,
            files=sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in self._seen.pids()),
            threads=self._seen.threads(),
            tasks=int(float(told["everthread_tasks"])),
            wal=self._wal.stat().st_size / KB / KB if self._wal.exists() else 0.0,
        )

    def row(self, minute: float, looks: Sequence[Look], turns: int) -> Row:
        """What was noted since the last one, and what was seen; `turns` is how many there were of all kinds."""
        taken, direct, before = self._taken, self._direct, self._clock
        self.forget()
        spent = self._clock.since(before)
        return Row(
            minute=minute,
            turns=turns,
            p50=percentile(taken, 0.50) or 0.0,
            p99=percentile(taken, 0.99) or 0.0,
            direct=percentile(direct, 0.50) or 0.0,
            cpu=spent.server * 1000 / max(1, turns),
            others=max(0.0, (spent.machine - spent.server - spent.clients) / spent.at),
            memory=statistics.median(look.memory for look in looks),
            at_hand=statistics.median(look.at_hand for look in looks),
            files=min(look.files for look in looks),
            threads=min(look.threads for look in looks),
            tasks=min(look.tasks for look in looks),
            wal=max(look.wal for look in looks),
        )


HEAD = (
    "minute",
    "turns",
    "p50 ms",
    "p99 ms",
    "direct ms",
    "CPU ms",
    "others",
    "memory MB",
    "at hand",
    "files",
    "threads",
    "tasks",
    "WAL MB",
)


def cells(row: Row) -> tuple[str, ...]:
    return (
        f"{row.minute:.1f}",
        f"{row.turns:,}",
        f"{row.p50:.1f}",
        f"{row.p99:.1f}",
        f"{row.direct:.1f}",
        f"{row.cpu:.1f}",
        f"{row.others:.1f}",
        f"{row.memory:.1f}",
        f"{row.at_hand:.1f}",
        str(row.files),
        str(row.threads),
        str(row.tasks),
        f"{row.wal:.1f}",
    )


def line(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.rjust(len(name)) for value, name in zip(values, HEAD, strict=True)) + " |"


def table(rows: Sequence[Row]) -> str:
    rule = tuple("-" * (len(name) - 1) + ":" for name in HEAD)
    return "\n".join([line(HEAD), line(rule), *(line(cells(row)) for row in rows)])
