"""Loads a server, kills it, starts it again, and compares; prints the ledger. Exit code 1 if a promise was broken."""

from __future__ import annotations

import argparse
import http.client
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

from crash.audit import Audit
from crash.book import Book
from crash.migration import Migrations
from crash.model import Model
from crash.speakers import Plain, Runner, Speaker, regulars
from process import Process

EPILOG = """\
The server is a real process with a database of its own in a temporary folder; only processes that the loop has started
are killed. Moments are chosen by what the model's server sees: SIGKILL follows within some milliseconds.

examples:
  python -m crash                       100 kills, some minutes
  python -m crash --kills 1000          the long loop
  python -m crash --minutes 60          as many as fit
"""
BUDGET = 3_000  # tokens of a prompt: a session of long texts rotates every few turns
LONGEST_ROUND = 3.0  # seconds until a kill, if the awaited moment does not come
CHECKED_EVERY = 25  # rounds
JOBS = 3
SEEN_BY_THE_MODEL = ("before the first word", "between two words", "after the last word")
MOMENTS = (
    "at random",
    *SEEN_BY_THE_MODEL,
    "after the last word",  # the commit and the reply are near: twice as often
    "about a rotation",
    "in a run's turn",
    "in a job's turn",
    "while it starts",
)
ONLY = {"about a rotation": "rotating", "in a run's turn": "run-", "in a job's turn": "job-"}  # whose mark begins so


class Loop:
    def __init__(self, folder: Path, args: argparse.Namespace) -> None:
        self.args = args
        self.began = time.monotonic()
        self.chance = random.Random(args.seed)
        self.book = Book()
        self.model = Model(args.seed)
        self.model.watch = self._seen
        self.speakers = cast(self.book)
        self.process = Process(
            folder / "home", upstream_url=self.model.url, context_budget=str(BUDGET), distil="rules", memory=args.memory
        )
        self.jobs = [self._job(number) for number in range(JOBS)]
        self.audit = Audit(self.book, self.speakers, self.jobs)
        self.migrations = Migrations(folder, self.model.url, self.book, self.chance)
        self._armed: tuple[tuple[str, ...], str, float] | None = None  # moments, whose mark, seconds until the blow
        self._passes = 0
        self._struck = threading.Event()

    def _job(self, number: int) -> str:
        body = {"name": f"job {number}", "schedule": "every 10s", "prompt": "Report."}
        if number % 2:
            body["on_missed"] = "run_all"
        return str(self.process.client.post("/api/jobs", body).json["job"]["id"])

    # --- the loop ---

    def run(self) -> None:
        migrations = self.args.kills // 20
        for number in range(migrations):
            if self._time_is_left():
                self.migrations.kill(number)
        rounds = 0
        while sum(self.book.kills.values()) < self.args.kills and self._time_is_left():
            self._round(MOMENTS[rounds % len(MOMENTS)])
            rounds += 1
            if rounds % CHECKED_EVERY == 0:
                self.audit.check(self.process)
                self._say(rounds)
        self.audit.full(self.process.client)
        self.audit.check(self.process)

    def _round(self, moment: str) -> None:
        talking = [threading.Thread(target=self._talk, args=(speaker,), daemon=True) for speaker in self.speakers]
        starting = moment == "while it starts"
        self._arm("at random" if starting else moment)
        for thread in talking:
            thread.start()
        wait = self.chance.uniform(0.02, 0.8) if moment in {"at random", "while it starts"} else LONGEST_ROUND
        if moment == "in a job's turn":
            self._fire_a_job()
        struck = self._struck.wait(wait)
        self._armed = None
        self.process.kill()
        self.book.kills[moment if struck else "at random"] += 1
        for thread in talking:
            thread.join(60)
        if starting:
            self._kill_a_start()
        self.process.start()
        self.audit.quick(self.process.client)

    def _talk(self, speaker: Speaker) -> None:
        client = self.process.client
        try:
            while True:
                speaker.turn(client)
        except (OSError, http.client.HTTPException):
            return

    def _fire_a_job(self) -> None:
        try:
            self.process.client.send("POST", f"/api/jobs/{self.chance.choice(self.jobs)}/run")
        except (OSError, http.client.HTTPException):
            return

    def _kill_a_start(self) -> None:
        """One more kill, while the file is opened and what was interrupted is taken up again."""

        def start() -> None:
            try:
                self.process.start()
            except AssertionError:
                failed.append(True)

        before, failed = self.process.running, list[bool]()
        thread = threading.Thread(target=start, daemon=True)
        thread.start()
        while self.process.running is before:
            time.sleep(0.001)
        time.sleep(self.chance.uniform(0.2, 1.5))
        self.process.running.kill()
        thread.join(70)
        if not failed:
            self.process.kill()
        self.book.kills["while it starts"] += 1

    # --- moments ---

    def _arm(self, moment: str) -> None:
        self._struck.clear()
        self._passes = self.chance.randrange(60) if moment in SEEN_BY_THE_MODEL else self.chance.randrange(8)
        whose = ONLY.get(moment, "")
        if moment in SEEN_BY_THE_MODEL:
            self._armed = ((moment,), whose, self.chance.choice((0.0, 0.0005, 0.001, 0.002, 0.004)))
        elif moment == "about a rotation":
            self._armed = (("after the last word",), whose, self.chance.uniform(0.001, 0.02))
        elif whose:
            self._passes = 0 if moment == "in a job's turn" else self._passes
            self._armed = (SEEN_BY_THE_MODEL, whose, self.chance.uniform(0, 0.01))
        else:
            self._armed = None

    def _seen(self, moment: str, mark: str) -> None:
        """Is called by the model's server, which must not wait."""
        armed = self._armed
        if armed is None or moment not in armed[0] or not mark.startswith(armed[1]):
            return
        self._passes -= 1
        if self._passes >= 0:
            return
        self._armed = None
        self.model._loop.call_later(armed[2], self._strike)

    def _strike(self) -> None:
        self.process.running.kill()
        self._struck.set()

    # --- small things ---

    def _time_is_left(self) -> bool:
        return time.monotonic() - self.began < self.args.minutes * 60

    def _say(self, rounds: int) -> None:
        kills, turns = sum(self.book.kills.values()), self.book.counts["turns acknowledged"]
        wrong = sum(self.book.wrongs.values())
        took = time.monotonic() - self.began
        print(f"[{took:6.0f} s] {rounds} rounds, {kills} kills, {turns:,} turns, {wrong} wrong", file=sys.stderr)

    def close(self) -> None:
        if self.process.running.poll() is None:
            self.process.kill()
        self.model.close()


def cast(book: Book) -> list[Speaker]:
    return [
        Plain("json-0", "json", book, stream=False),
        Plain("sse-0", "sse", book, stream=True),
        *regulars(book),
        Runner("run-1", "runs 1", book),
    ]


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m crash",
        description="Kills a server under load with SIGKILL, again and again, and compares what it kept.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kills", type=int, default=100, help="how many (default 100); the last round may add one")
    parser.add_argument("--minutes", type=float, default=240, help="ends after the round in which they are over")
    parser.add_argument("--memory", choices=("on", "off"), default="on", help="whether the server remembers (on)")
    parser.add_argument("--seed", type=int, default=0, help="for the moments; the load's order is never the same")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    with tempfile.TemporaryDirectory(prefix="everthread-crash-") as folder:
        loop = Loop(Path(folder), args)
        try:
            loop.run()
        except KeyboardInterrupt:
            return 130
        finally:
            loop.close()
    print(loop.book.table())
    print(f"Took {time.monotonic() - loop.began:,.0f} s.")
    return 1 if loop.book.wrongs else 0


if __name__ == "__main__":
    sys.exit(main())
