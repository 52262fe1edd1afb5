"""What is measured, and in which order: each plan against both sides, turn and turn about."""

from __future__ import annotations

import http.client
import itertools
import time
from collections.abc import Callable

import msgspec
import uvloop

from bench import load, machine, upstream
from bench.load import Plan, Sample, Target
from bench.server import Process

WARM_PART = 6  # a sixth of a round goes before the first, uncounted
IDLE_STREAMS = 1000
IDLE_WARM_TURNS_SECONDS = 0.5

PLANS = {
    "json-1": Plan(model="bench-4", stream=False, clients=1),
    "json-32": Plan(model="bench-4", stream=False, clients=32),
    "json-128": Plan(model="bench-4", stream=False, clients=128),
    "json-32-unnamed": Plan(model="bench-4", stream=False, clients=32, named=False),
    "sse-1": Plan(model="bench-4", stream=True, clients=1),
    "sse-32": Plan(model="bench-4", stream=True, clients=32),
    "sse-128": Plan(model="bench-4", stream=True, clients=128),
    "sse-events": Plan(model="bench-1000", stream=True, clients=16, turns_per_session=8),  # what fits the window
    "sse-rotating": Plan(model="bench-1000", stream=True, clients=16),  # and what does not
}


Clock = tuple[float, float, float, float]  # CPU seconds, in the order of `Cores`


class Broken(Exception):
    """A side does not do the work that is to be measured."""


class Cores(msgspec.Struct, frozen=True):
    """CPU used during one run, in cores."""

    load: float
    upstream: float
    everthread: float
    machine: float  # all processes, ours included

    @classmethod
    def between(cls, before: Clock, after: Clock, seconds: float) -> Cores:
        return cls(*((b - a) / seconds for a, b in zip(before, after, strict=True)))

    @property
    def others(self) -> float:
        return max(0.0, self.machine - self.load - self.upstream - self.everthread)


class Round(msgspec.Struct, frozen=True):
    sample: Sample
    took: float  # seconds, with connecting and the last answers
    cores: Cores


class Measured(msgspec.Struct, frozen=True):
    """All rounds of one plan, by side; of the servers there are some, or none."""

    plan: Plan
    direct: list[Round]
    everthread: list[Round]
    bare: list[Round]


class Sides:
    """The upstream, and the servers in front of it."""

    def __init__(self, upstream: Process, *servers: Process) -> None:
        self.upstream = upstream
        self.servers = servers

    def clock(self) -> Clock:
        return (
            time.process_time(),
            self.upstream.cpu_seconds(),
            sum(server.cpu_seconds() for server in self.servers),
            machine.busy_seconds(),
        )

    def round(self, target: Target, plan: Plan, seconds: float) -> Round:
        before, started = self.clock(), time.perf_counter()
        sample = uvloop.run(load.measure(target, plan, seconds))
        after, took = self.clock(), time.perf_counter() - started
        return Round(sample, took, Cores.between(before, after, took))

    def measure(self, plan: Plan, *, rounds: int, seconds: float) -> Measured:
        targets = [process.target for process in (self.upstream, *self.servers)]
        for target in targets:
            uvloop.run(load.measure(target, plan, seconds / WARM_PART))
        found: dict[str, list[Round]] = {"direct": [], "everthread": [], "bare": []}
        for _ in range(rounds):
            for target in targets:
                found[target.name].append(self.round(target, plan, seconds))
        return Measured(plan=plan, **found)


# --- idle streams ---------------------------------------------------------------------------------


class Idle(msgspec.Struct, frozen=True):
    streams: int
    before_kb: int
    after_kb: int

    @property
    def kb_each(self) -> float:
        return (self.after_kb - self.before_kb) / self.streams


def idle(process: Process, source: Target, *, streams: int = IDLE_STREAMS) -> Idle:
    """How the process grows by open, silent streams. Give a fresh one: a used one has free room for them."""
    uvloop.run(load.measure(process.target, PLANS["sse-1"], IDLE_WARM_TURNS_SECONDS))
    before = process.rss_kb()
    after = uvloop.run(load.hold(process.target, streams, process.rss_kb, releasing(source, streams)))
    return Idle(streams=streams, before_kb=before, after_kb=after)


def releasing(target: Target, streams: int) -> Callable[[], None]:
    def release() -> None:
        released = msgspec.json.decode(post(target, "/bench/release"), type=Released).released
        if released != streams:
            raise Broken(f"{released} streams were open at the upstream instead of {streams}")

    return release


# --- is it the real work? -------------------------------------------------------------------------


class Message(msgspec.Struct):
    content: str | None = None


class Choice(msgspec.Struct):
    message: Message = msgspec.field(default_factory=Message)
    delta: Message = msgspec.field(default_factory=Message)


class Reply(msgspec.Struct):
    choices: list[Choice]


class Released(msgspec.Struct):
    released: int


def post(target: Target, path: str, body: object = None, session: str | None = None) -> bytes:
    headers = {"Authorization": f"Bearer {target.key}", "Content-Type": "application/json"}
    if session is not None:
        headers["X-Hermes-Session-Id"] = session
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=15)
    try:
        connection.request("POST", path, msgspec.json.encode(body), headers)
        reply = connection.getresponse()
        text = reply.read()
    finally:
        connection.close()
    if reply.status != 200:
        raise Broken(f"{target.name}, {path}: {reply.status} {text[:1500].decode(errors='replace')}")
    return text


def check_stream(target: Target) -> None:
    """The words of a stream are those of the upstream."""
    body = {"model": "bench-4", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    lines = post(target, "/v1/chat/completions", body).decode().splitlines()
    chunks = [msgspec.json.decode(line[6:], type=Reply) for line in lines if line.startswith("data: {")]
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    if text != "".join(upstream.pieces_of("bench-4")) or "data: [DONE]" not in lines:
        raise Broken(f"{target.name} streamed {text!r}: {lines}")


def check_history(target: Target) -> list[int]:
    """Three turns in one session; the upstream says how many messages it was sent with each."""
    counts = []
    for turn in range(3):
        body = {"model": "bench-echo", "messages": [{"role": "user", "content": f"Turn {turn}"}]}
        reply = msgspec.json.decode(post(target, "/v1/chat/completions", body, "bench:history"), type=Reply)
        counts.append(int(reply.choices[0].message.content or 0))
    if [b - a for a, b in itertools.pairwise(counts)] != [2, 2]:
        raise Broken(f"the history does not reach the upstream: it saw {counts} messages in three turns")
    return counts
