"""The machine the figures belong to."""

from __future__ import annotations

import os
import platform
import resource
import sqlite3
import statistics
import time
import timeit
from datetime import UTC, datetime
from pathlib import Path

import msgspec

FILES_NEEDED = 8192
FSYNCS = 50
CALLS = 200_000


class Machine(msgspec.Struct, frozen=True):
    date: str
    cpu: str
    cores: int
    python: str
    call_ns: float  # of a method call: builds of one version differ by half
    sqlite: str
    system: str
    folder: str
    filesystem: str
    fsync_ms: float  # median of a 4 kB append and fsync: the floor under a durable turn


def look(folder: Path) -> Machine:
    return Machine(
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        cpu=cpu_model(),
        cores=len(os.sched_getaffinity(0)),
        python=platform.python_version(),
        call_ns=call_ns(),
        sqlite=sqlite3.sqlite_version,
        system=f"{platform.system()} {platform.release()}",
        folder=str(folder),
        filesystem=filesystem_of(folder),
        fsync_ms=fsync_ms(folder),
    )


def cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def filesystem_of(folder: Path) -> str:
    mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    around = [(len(mount[1]), mount[2]) for mount in mounts if folder.resolve().is_relative_to(mount[1])]
    return max(around)[1] if around else "unknown"


def call_ns() -> float:
    class Probe:
        def method(self) -> None: ...

    return min(timeit.repeat(Probe().method, number=CALLS, repeat=5)) / CALLS * 1e9


def fsync_ms(folder: Path) -> float:
    probe = folder / "fsync.probe"
    times = []
    with probe.open("wb", buffering=0) as file:
        for _ in range(FSYNCS):
            started = time.perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            times.append((time.perf_counter() - started) * 1000)
    probe.unlink()
    return statistics.median(times)


def busy_seconds() -> float:
    """CPU time that all processes of the machine, and its interrupts, have used."""
    user, nice, system, _idle, _iowait, irq, softirq, *_ = map(
        int, Path("/proc/stat").read_text().partition("\n")[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def allow_many_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_NEEDED if hard == resource.RLIM_INFINITY else min(FILES_NEEDED, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
