"""Starts a fake upstream and Everthread in front of it, loads both, and prints the difference."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import msgspec

from bench import depth, endless, jobs, machine, mindful, recall, report, scenario, server
from bench.depth import Depth
from bench.endless import Endless
from bench.jobs import Jobs
from bench.load import WrongAnswer
from bench.mindful import Mindful
from bench.recall import Recalled
from bench.report import Results, Standing
from bench.scenario import Broken, Sides
from bench.server import NotReady, Process

SETTLE_SECONDS = 0.5
LASTING = ("endless", "mindful", "depth", "recall")  # plans of a session that goes on, with servers of their own
MOST_SCOPES = 1_000
USUAL = (*scenario.PLANS, *LASTING)
PLANS = (*USUAL, "jobs")

EPILOG = f"""\
Every answer is checked; wrong ones end the bench with exit code 1. A missed goal is printed, no failure.

plans: {", ".join(USUAL)}; and, if it is asked for, jobs

examples:
  python -m bench                                  about five minutes
  python -m bench --quick                          about a minute, rougher
  python -m bench --direct-only                    the ceiling of the bench itself
  python -m bench --only json-32 --bare            and that of the parts, on this machine
  python -m bench --only json-32 --seconds 20      load to hang a profiler on
  python -m bench --only endless,depth             the figures of a session that never ends
  python -m bench --only mindful --long            the same with memory on, 10,000 turns
  python -m bench --only recall --scopes 100       recall among 100 others' long conversations: 3 GB, a while
  python -m bench --only jobs                      10,000 of them: start, lag, memory; almost three minutes
  python -m bench --json results.json              raw figures of every round
"""


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measures what Everthread adds to an upstream that answers at once.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="one round of 0.5 s and fewer starts")
    parser.add_argument("--rounds", type=int, help="rounds per plan and side (default 3)")
    parser.add_argument("--seconds", type=float, help="length of a round (default 2)")
    parser.add_argument("--only", metavar="PLANS", help="some plans, comma separated; no idle streams, one start")
    parser.add_argument("--scopes", type=int, help=f"others' conversations beside recall's (default {recall.SCOPES})")
    parser.add_argument("--long", action="store_true", help=f"{mindful.LONG_TURNS:,} turns with memory on")
    parser.add_argument("--bare", action="store_true", help="also what the same parts do with the bare work of a turn")
    parser.add_argument("--direct-only", action="store_true", help="do not start Everthread")
    parser.add_argument("--dir", metavar="FOLDER", help="where the temporary data goes (default: the system's)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the raw results")
    args = parser.parse_args(argv)
    args.rounds = args.rounds or (1 if args.quick else 3)
    args.seconds = args.seconds or (0.5 if args.quick else 2.0)
    args.starts = 1 if args.only else 2 if args.quick else 3
    args.plans = args.only.split(",") if args.only else list(USUAL)
    unknown = set(args.plans) - set(PLANS)
    if unknown:
        parser.error(f"no such plan: {', '.join(sorted(unknown))}; there are {', '.join(PLANS)}")
    if not (1 <= args.rounds <= 20 and 0.1 <= args.seconds <= 60):
        parser.error("1 to 20 rounds of 0.1 to 60 seconds")
    if args.scopes is not None and not 0 <= args.scopes <= MOST_SCOPES:
        parser.error(f"0 to {MOST_SCOPES} scopes")
    return args


class Bench:
    """One whole run, in the order in which nothing disturbs what comes next."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.began = time.perf_counter()
        self.ready: dict[str, list[float]] = {}
        self.rss: dict[str, list[int]] = {}
        self.idle: dict[str, scenario.Idle] = {}

    def say(self, what: str) -> None:
        print(f"[{time.perf_counter() - self.began:5.1f} s] {what}", file=sys.stderr, flush=True)

    def note_start(self, process: Process) -> None:
        time.sleep(SETTLE_SECONDS)
        name = process.target.name
        self.ready.setdefault(name, []).append(process.ready_ms)
        self.rss.setdefault(name, []).append(process.rss_kb())
        self.say(f"{name} is ready (process {process.popen.pid})")

    def start_repeatedly(self, upstream: Process) -> None:
        """All starts but the one that will be loaded; the first of them holds the idle streams."""
        for number in range(self.args.starts - 1):
            with server.fake_upstream() as spare:
                self.note_start(spare)
                if number == 0:
                    self.idle["direct"] = scenario.idle(spare, spare.target)
            if self.args.direct_only:
                continue
            with server.everthread(upstream.target, self.args.dir) as spare:
                self.note_start(spare)
                if number == 0:
                    self.say(f"{scenario.IDLE_STREAMS} idle streams")
                    self.idle["everthread"] = scenario.idle(spare, upstream.target)

    def endless(self, upstream: Process) -> Endless:
        """Without memory: a turn with it has other things to do than one of the first hundred."""
        with (
            server.everthread(upstream.target, self.args.dir, memory="off") as fresh,
            server.everthread(upstream.target, self.args.dir, memory="off") as beside,
        ):
            cast = endless.Cast(upstream, fresh, beside)
            return endless.measure(cast, quick=self.args.quick, say=self.say)

    def mindful(self, upstream: Process) -> Mindful:
        count = mindful.turns(quick=self.args.quick, long=self.args.long)
        with server.everthread(upstream.target, self.args.dir) as fresh:
            return mindful.measure(endless.Cast(upstream, fresh, fresh), count, self.say)

    def depth(self, upstream: Process) -> Depth:
        with server.everthread(upstream.target, self.args.dir, memory="off") as fresh:
            return depth.measure(fresh, quick=self.args.quick, say=self.say)

    def recall(self, upstream: Process) -> Recalled:
        size = recall.sizes(self.args.scopes, quick=self.args.quick)
        with server.folder(self.args.dir) as home:
            return recall.measure(home, upstream, size, self.say)

    def jobs(self, upstream: Process) -> Jobs:
        return jobs.measure(self.args.dir, upstream, jobs.sizes(quick=self.args.quick), self.say)

    def wants(self, plan: str) -> bool:
        return plan in self.args.plans and not self.args.direct_only

    def run(self) -> Results:
        with ExitStack() as stack:
            home = stack.enter_context(server.folder(self.args.dir))
            facts = machine.look(home.parent)
            upstream = stack.enter_context(server.fake_upstream())
            self.note_start(upstream)
            self.start_repeatedly(upstream)
            server_process = None
            history: list[int] = []
            if not self.args.direct_only:
                server_process = stack.enter_context(server.everthread(upstream.target, self.args.dir))
                self.note_start(server_process)
                scenario.check_stream(server_process.target)
                history = scenario.check_history(server_process.target)
            servers = [server_process] if server_process else []
            if self.args.bare:
                servers.append(stack.enter_context(server.bare(upstream.target, self.args.dir)))
            sides = Sides(upstream, *servers)
            plans = {}
            for name in (name for name in self.args.plans if name in scenario.PLANS):
                self.say(name)
                plans[name] = sides.measure(scenario.PLANS[name], rounds=self.args.rounds, seconds=self.args.seconds)
            loaded = {p.target.name: p.rss_kb() for p in (upstream, server_process) if p is not None}
            lasting = self.endless(upstream) if self.wants("endless") else None
            minded = self.mindful(upstream) if self.wants("mindful") else None
            deep = self.depth(upstream) if self.wants("depth") else None
            recalled = self.recall(upstream) if self.wants("recall") else None
            appointed = self.jobs(upstream) if self.wants("jobs") else None
        return Results(
            machine=facts,
            rounds=self.args.rounds,
            seconds=self.args.seconds,
            history=history,
            plans=plans,
            endless=lasting,
            mindful=minded,
            depth=deep,
            recall=recalled,
            jobs=appointed,
            standing={name: Standing(self.ready[name], self.rss[name]) for name in self.ready},
            idle=self.idle,
            loaded_rss_kb=loaded,
        )


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    machine.allow_many_files()
    bench = Bench(args)
    try:
        results = bench.run()
    except (WrongAnswer, Broken, NotReady, OSError, TimeoutError) as error:
        print(f"\nbench FAILED: {type(error).__name__}: {error}", file=sys.stderr)
        for note in getattr(error, "__notes__", []):
            print(note, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(report.render(results))
    print(f"Took {time.perf_counter() - bench.began:.0f} s.")
    if args.json:
        args.json.write_bytes(msgspec.json.format(msgspec.json.encode(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
