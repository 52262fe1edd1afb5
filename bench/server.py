"""The processes under test: really started, timed until ready, read in /proc, and ended by us alone."""

from __future__ import annotations

import http.client
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import msgspec

from bench.load import Target

Memory = Literal["on", "off"]

ROOT = Path(__file__).resolve().parent.parent
READY_SECONDS = 180.0
POLL_SECONDS = 0.002
HEALTH = "/health/ready"
STOP_SECONDS = 35.0  # the server promises to drain within 30
REST_SECONDS = 0.06  # longer than memory waits before it reads what was said
CALM = 4  # looks within that time that find it at rest
REST_NS = 500_000  # of CPU time between two looks: timers go on
LONGEST_REST_SECONDS = 5.0
LONGEST_READING_SECONDS = 1_800.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class NotReady(Exception):
    """A process ended, or did not answer in time."""


class Process:
    """A running server, with what /proc says about it and its children."""

    def __init__(self, target: Target, popen: subprocess.Popen[bytes], log: Path) -> None:
        self.target = target
        self.popen = popen
        self.log = log
        self.ready_ms = 0.0

    def pids(self) -> list[int]:
        found = [self.popen.pid]
        for pid in found:  # grows while we walk it
            for children in self.of_threads("children", pid):
                found.extend(map(int, children.split()))
        return found

    def of_threads(self, file: str, *pids: int) -> Iterator[str]:
        """What is in a file of each thread; one that ends meanwhile is left out."""
        for pid in pids or self.pids():
            for path in Path(f"/proc/{pid}/task").glob(f"*/{file}"):
                with suppress(FileNotFoundError, ProcessLookupError):
                    yield path.read_text()

    def cpu_seconds(self) -> float:
        """User and system time of all threads."""
        total = 0
        for pid in self.pids():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / TICKS_PER_S

    def cpu_ns(self) -> int:
        """The same, of the threads that are there, in finer grains: for a single turn."""
        return sum(int(spent.split()[0]) for spent in self.of_threads("schedstat"))

    def rss_kb(self) -> int:
        total = 0
        for pid in self.pids():
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    total += int(line.split()[1])
        return total

    def threads(self) -> int:
        return sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in self.pids())

    def await_ready(self, started: float, health: str = HEALTH) -> None:
        while time.perf_counter() - started < READY_SECONDS:
            if self.popen.poll() is not None:
                break
            if answers(self.target.port, health):
                self.ready_ms = (time.perf_counter() - started) * 1000
                return
            time.sleep(POLL_SECONDS)
        raise NotReady(f"{self.target.name} is not ready; exit code {self.popen.poll()}")

    def rest(self) -> None:
        """Returns when the process does nothing any more: what follows a reply is over.

        One that waits for a core, on a busy machine, is not at rest."""
        began = time.perf_counter()
        calm = 0
        before = self.cpu_ns()
        while calm < CALM and time.perf_counter() - began < LONGEST_REST_SECONDS:
            time.sleep(REST_SECONDS / CALM)
            after = self.cpu_ns()
            calm = 0 if self.is_running() or after - before > REST_NS else calm + 1
            before = after

    def is_running(self) -> bool:
        """Whether one of its threads has, or waits for, a core or the disk."""
        return any(stat.rpartition(")")[2].split()[0] in "RD" for stat in self.of_threads("stat"))

    def has_read(self) -> None:
        """Returns when memory has read all that was said."""
        began = time.perf_counter()
        while waiting(self.target):
            if time.perf_counter() - began > LONGEST_READING_SECONDS:
                raise NotReady(f"{self.target.name} has still not read all that was said")
            time.sleep(REST_SECONDS * 10)

    def last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])

    def stop(self) -> None:
        if self.popen.stdin is not None:
            self.popen.stdin.close()  # the fake upstream's cue
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
        try:
            self.popen.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


def answers(port: int, health: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", health)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class MemoryCheck(msgspec.Struct):
    memory_waiting: int = 0


class Checks(msgspec.Struct):
    memory: MemoryCheck = msgspec.field(default_factory=MemoryCheck)


class Health(msgspec.Struct):
    checks: Checks


def waiting(target: Target) -> int:
    """How much memory has yet to read."""
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=15)
    try:
        connection.request("GET", HEALTH, headers={"Authorization": f"Bearer {target.key}"})
        return msgspec.json.decode(connection.getresponse().read(), type=Health).checks.memory.memory_waiting
    finally:
        connection.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(
    target: Target, command: list[str], env: dict[str, str], home: Path, *, health: str = HEALTH, cwd: Path = ROOT
) -> Iterator[Process]:
    log = home / "bench.log"
    started = time.perf_counter()
    with log.open("wb") as out:
        popen = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT)
    process = Process(target, popen, log)
    try:
        process.await_ready(started, health)
        yield process
    except Exception as error:
        if words := process.last_words():
            error.add_note(f"The log of {target.name} ends with:\n{words}")
        raise
    finally:
        process.stop()


@contextmanager
def folder(parent: str | None) -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="everthread-bench-", dir=parent))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def clean_env() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("EVERTHREAD_")}


@contextmanager
def fake_upstream() -> Iterator[Process]:
    target = Target(name="direct", port=free_port(), key="bench-upstream-key")
    command = [sys.executable, "-m", "bench.upstream", "--port", str(target.port)]
    with folder(None) as home, running(target, command, clean_env(), home) as process:
        yield process


@contextmanager
def bare(upstream: Target, parent: str | None) -> Iterator[Process]:
    """The same parts with the bare work of a turn."""
    target = Target(name="bare", port=free_port(), key="none")
    with folder(parent) as home:
        command = [sys.executable, "-m", "bench.bare", "--port", str(target.port), "--home", str(home)]
        command += ["--upstream", f"http://127.0.0.1:{upstream.port}/v1"]
        with running(target, command, clean_env(), home) as process:
            yield process


@contextmanager
def everthread(
    upstream: Target, parent: str | None, *, memory: Memory = "on", name: str = "everthread"
) -> Iterator[Process]:
    """The real command on an empty home, with nothing changed but the upstream's address, which is never asked to
    write a log: what it is asked is what the bench asks."""
    with folder(parent) as home, everthread_at(home, upstream, memory=memory, name=name) as process:
        yield process


@contextmanager
def everthread_at(
    home: Path, upstream: Target, *, memory: Memory = "on", name: str = "everthread"
) -> Iterator[Process]:
    """The same on a home that is there already."""
    target = Target(name=name, port=free_port(), key=secrets.token_urlsafe(32))
    command = [sys.executable, "-m", "everthread", "serve", "--host", "127.0.0.1", "--port", str(target.port)]
    env = clean_env() | {
        "EVERTHREAD_HOME": str(home),
        "EVERTHREAD_API_KEY": target.key,
        "EVERTHREAD_UPSTREAM_URL": f"http://127.0.0.1:{upstream.port}/v1",
        "EVERTHREAD_UPSTREAM_KEY": upstream.key,
        "EVERTHREAD_MODEL": "bench-4",
        "EVERTHREAD_DISTIL": "rules",
        "EVERTHREAD_MEMORY": memory,
    }
    with running(target, command, env, home) as process:
        yield process
