"""The load, through one server after the other, turn and turn about; whoever is not asked is stopped meanwhile."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec
import uvloop

from bench import load, scenario
from bench.load import Plan, Run, Sample, Target
from bench.scenario import Cores, Round, Sides
from bench.server import Process

GRACE_SECONDS = 90.0  # for answers under way when a round is over: a slow server has a long queue
LOOK_SECONDS = 0.01
PLANS = {name: scenario.PLANS[name] for name in ("json-1", "json-32", "sse-1")} | {
    "sse-events": Plan(model="bench-250", stream=True, clients=16),
    "json-128": scenario.PLANS["json-128"],
}
ONCE = ("json-128",)  # a round of which takes a slow server long
BRIEF = ("json-1",)  # what a server is asked that shows a setting only


class Length(msgspec.Struct, frozen=True):
    """A round lasts so long; for a slow server until there are enough answers, but never too long."""

    seconds: float
    most: float

    def is_over(self, seconds: float, answers: int, plan: Plan) -> bool:
        enough = min(max(LEAST, plan.clients), ENOUGH)
        return seconds >= self.most or (seconds >= self.seconds and answers >= enough)


LEAST = 8  # answers in a round; and one for each client,
ENOUGH = 32  # but never more than so many


async def measure(target: Target, plan: Plan, length: Length) -> Sample:
    """As `load.measure`, for servers of any speed."""
    run = Run(target, plan)
    clients = await load.connect(target, run)
    loop = asyncio.get_running_loop()
    gc.collect()
    gc.disable()
    try:
        began = loop.time()

        def look() -> None:
            took = loop.time() - began
            if length.is_over(took, len(run.latencies), plan) or run.left == 0:
                run.stop()
                ended.set_result(took)
            else:
                loop.call_later(LOOK_SECONDS, look)

        ended: asyncio.Future[float] = loop.create_future()
        for client in clients:
            client.ask()
        loop.call_later(LOOK_SECONDS, look)
        await run.until(run.all_left, length.most + GRACE_SECONDS)
        seconds = await ended
    finally:
        gc.enable()
    begun = run.latencies + run.late  # in a round of few answers those that come later are the slow ones
    return Sample(
        seconds=seconds,
        turns=len(run.latencies),
        events=run.events,
        p50=load.percentile(begun, 0.50),
        p99=load.percentile(begun, 0.99),
        first_p50=load.percentile(run.firsts, 0.50),
    )


def round_of(upstream: Process, server: Process, plan: Plan, length: Length) -> Round:
    """One, with the CPU that it took."""
    sides = Sides(upstream, *(() if server is upstream else (server,)))
    before, began = sides.clock(), time.perf_counter()
    sample = uvloop.run(measure(server.target, plan, length))
    after, took = sides.clock(), time.perf_counter() - began
    return Round(sample, took, Cores.between(before, after, took))


def cpu_ms(round_: Round, plan: Plan) -> float:
    """Per turn; each client's last one is answered when the round is over, and not counted in the sample."""
    return round_.cores.everthread * round_.took / (round_.sample.turns + plan.clients) * 1e3


@contextmanager
def alone(server: Process, others: Sequence[Process]) -> Iterator[None]:
    """What others still have to do after their answers waits."""
    stopped = [other for other in others if other is not server and other.popen.poll() is None]
    tell(stopped, signal.SIGSTOP)
    try:
        yield
    finally:
        tell(stopped, signal.SIGCONT)


def tell(processes: Sequence[Process], what: signal.Signals) -> None:
    for process in processes:
        for pid in process.pids():
            with suppress(ProcessLookupError):  # a child may have ended just now
                os.kill(pid, what)
