"""The load generator: closed-loop clients on raw sockets that check every answer they get."""

from __future__ import annotations

import asyncio
import gc
import itertools
import re
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import TypeVar, cast

import msgspec

from bench import upstream

GRACE_SECONDS = 15.0  # for answers under way when the time is over
TURNS_PER_SESSION = 20
SETTLE_SECONDS = 0.5
CONNECTING_AT_ONCE = 64
STATUS_OK = b"HTTP/1.1 200"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
CONTENT = re.compile(rb'"content": ?"[^"]')
STOPPED = re.compile(rb'"finish_reason": ?"stop"')
EVENT = b"data: {"
DONE = b"data: [DONE]"
END_OF_CHUNKS = b"\r\n0\r\n\r\n"
TAIL = 96  # room for [DONE] and the last chunk's framing
SHOWN = 1500  # characters of a wrong answer that are worth showing

T = TypeVar("T")
runs = itertools.count()


class WrongAnswer(Exception):
    """The server said something that is not the expected answer."""


class Target(msgspec.Struct, frozen=True):
    name: str
    port: int
    key: str


class Plan(msgspec.Struct, frozen=True):
    """What each client asks, again and again."""

    model: str
    stream: bool
    clients: int
    named: bool = True  # each client names its session, and begins a new one every so many turns
    turns_per_session: int = TURNS_PER_SESSION

    @property
    def chunks(self) -> int:
        return len(upstream.pieces_of(self.model))

    @property
    def events(self) -> int:
        return self.chunks + 2  # the role before, the finish reason after

    def request(self, target: Target) -> bytes:
        """A template with places for client, session and turn; all of fixed width."""
        stream = b"true" if self.stream else b"false"
        message = b'{"role":"user","content":"Turn %08d: what did we decide about the harbour lights?"}'
        body = b'{"model":"%b","stream":%b,"messages":[' % (self.model.encode(), stream) + message + b"]}"
        session = b"X-Hermes-Session-Id: bench:%d:" % next(runs) if self.named else b"X-Bench: "
        return (
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %b\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n%b"
            % (target.port, target.key.encode(), len(body % 0), session)
            + b"%04d:%06d\r\n\r\n"
            + body
        )


class Sample(msgspec.Struct, frozen=True):
    """One run of one plan. Times in milliseconds."""

    seconds: float
    turns: int
    events: int
    p50: float | None
    p99: float | None
    first_p50: float | None  # until the first content event, when streamed

    @property
    def turns_per_s(self) -> float:
        return self.turns / self.seconds

    @property
    def events_per_s(self) -> float:
        return self.events / self.seconds


def percentile(values: list[int], share: float) -> float | None:
    """Nearest rank, of values in nanoseconds; in milliseconds."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1e6


class Run:
    """What the clients of one run share."""

    def __init__(self, target: Target, plan: Plan, *, turns_each: int | None = None) -> None:
        self.plan = plan
        self.template = plan.request(target)
        self.text = (upstream.WORD * plan.chunks).strip().encode()  # some servers trim
        self.expected_events = plan.events
        self.turns_each = turns_each
        self.over = False
        self.latencies: list[int] = []
        self.late: list[int] = []  # of answers that were begun when the run was over
        self.firsts: list[int] = []
        self.events = 0
        self.errors: list[str] = []
        self.begun = 0  # answers whose first content was seen
        self.left = plan.clients
        self.all_begun = asyncio.Event()
        self.all_left = asyncio.Event()

    def first(self) -> None:
        self.begun += 1
        if self.begun == self.plan.clients:
            self.all_begun.set()

    def leave(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.all_left.set()
            self.all_begun.set()

    def stop(self) -> None:
        self.over = True

    async def until(self, event: asyncio.Event, seconds: float) -> None:
        """Waits for the event; silence counts as a wrong answer."""
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            self.errors.append(f"{self.left} of {self.plan.clients} clients, {self.begun} firsts: still waiting")
        self.check()

    def check(self) -> None:
        if self.errors:
            raise WrongAnswer(f"{len(self.errors)} wrong answer(s) in {self.plan}; the first:\n{self.errors[0]}")


class Client(asyncio.Protocol):
    """One keep-alive connection: asks, checks the answer, asks again until the run is over."""

    transport: asyncio.Transport

    def __init__(self, run: Run, number: int) -> None:
        self.run = run
        self.number = number
        self.turn = 0
        self.gone = False
        self.reset()

    def reset(self) -> None:
        self.head = b""
        self.in_body = False
        self.chunked = False
        self.missing = 0
        self.parts: list[bytes] = []
        self.tail = b"\r\n"
        self.events = 0
        self.first_at = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's own class

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.gone:
            self.fail("the server closed the connection")

    def ask(self) -> None:
        turn = self.turn
        self.turn = turn + 1
        request = self.run.template % (self.number, turn // self.run.plan.turns_per_session, turn)
        self.asked_at = perf_counter_ns()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        if not self.in_body:
            self.head += data
            end = self.head.find(b"\r\n\r\n")
            if end < 0:
                return
            data = self.head[end + 4 :]
            self.head = self.head[: end + 2]
            if not self.open_body():
                return
        if self.run.plan.stream and self.chunked:
            self.count(data)
        elif data:
            self.parts.append(data)
        if self.chunked:
            self.tail = (self.tail + data[-TAIL:])[-TAIL:]
            complete = self.tail.endswith(END_OF_CHUNKS)
        else:
            self.missing -= len(data)
            complete = self.missing <= 0
        if complete:
            self.finish()

    def open_body(self) -> bool:
        self.in_body = True
        length = LENGTH.search(self.head)
        if length is not None:
            self.missing = int(length[1])
        elif CHUNKED.search(self.head):
            self.chunked = True
        else:
            self.fail("neither Content-Length nor chunked")
            return False
        return True

    def count(self, data: bytes) -> None:
        """Events are counted in the raw bytes, also one that is cut between two reads."""
        edge = len(EVENT) - 1
        found = data.count(EVENT) + (self.tail[-edge:] + data[:edge]).count(EVENT)
        self.events += found
        if not self.run.over:
            self.run.events += found
        if not self.first_at:
            self.parts.append(data)
            if CONTENT.search(b"".join(self.parts)):
                self.first_at = perf_counter_ns()
                self.run.first()

    def finish(self) -> None:
        now = perf_counter_ns()
        run = self.run
        problem = self.problem()
        if problem:
            self.fail(problem)
            return
        (run.late if run.over else run.latencies).append(now - self.asked_at)
        if self.first_at and not run.over:
            run.firsts.append(self.first_at - self.asked_at)
        if run.over or self.turn == run.turns_each:
            self.leave()
            return
        self.reset()
        self.ask()

    def problem(self) -> str | None:
        if not self.head.startswith(STATUS_OK):
            return "not a 200"
        if not self.run.plan.stream:
            body = b"".join(self.parts)
            return None if self.run.text in body and STOPPED.search(body) else "not the upstream's answer"
        if not self.chunked or DONE not in self.tail:
            return "the stream ended without [DONE]"
        if self.events != self.run.expected_events:
            return f"{self.events} events instead of {self.run.expected_events}"
        return None if self.first_at else "no content in the stream"

    def fail(self, problem: str) -> None:
        body = b"".join(self.parts) + (self.tail if self.chunked else b"")
        shown = (self.head + b"\r\n" + body)[:SHOWN].decode(errors="replace")
        self.run.errors.append(f"{problem} (client {self.number}, turn {self.turn}):\n{shown}")
        self.leave()

    def leave(self) -> None:
        if self.gone:
            return
        self.gone = True
        self.transport.close()
        self.run.leave()


async def connect(target: Target, run: Run) -> list[Client]:
    loop = asyncio.get_running_loop()
    clients: list[Client] = []
    for numbers in batches(run.plan.clients):
        made = await asyncio.gather(
            *(loop.create_connection(partial(Client, run, n), "127.0.0.1", target.port) for n in numbers)
        )
        clients.extend(client for _, client in made)
    return clients


def batches(count: int) -> list[range]:
    return [range(start, min(start + CONNECTING_AT_ONCE, count)) for start in range(0, count, CONNECTING_AT_ONCE)]


async def measure(target: Target, plan: Plan, seconds: float) -> Sample:
    """Runs the plan for that long; an answer that comes later is checked but not counted."""
    run = Run(target, plan)
    clients = await connect(target, run)
    gc.collect()
    gc.disable()
    try:
        asyncio.get_running_loop().call_later(seconds, run.stop)
        for client in clients:
            client.ask()
        await run.until(run.all_left, seconds + GRACE_SECONDS)
    finally:
        gc.enable()
    return Sample(
        seconds=seconds,
        turns=len(run.latencies),
        events=run.events,
        p50=percentile(run.latencies, 0.50),
        p99=percentile(run.latencies, 0.99),
        first_p50=percentile(run.firsts, 0.50),
    )


async def hold(target: Target, streams: int, while_open: Callable[[], T], release: Callable[[], None]) -> T:
    """Opens so many streams, calls `while_open` when all are silent, then releases them and sees all end."""
    run = Run(target, Plan(model="bench-idle", stream=True, clients=streams), turns_each=1)
    clients = await connect(target, run)
    for some in batches(streams):
        for number in some:
            clients[number].ask()
        await asyncio.sleep(0.01)
    await run.until(run.all_begun, GRACE_SECONDS)
    await asyncio.sleep(SETTLE_SECONDS)
    found = while_open()
    await asyncio.to_thread(release)
    await run.until(run.all_left, GRACE_SECONDS)
    return found
