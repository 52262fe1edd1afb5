"""Loads a server for a long time, looks at it again and again, and says if it stays as it is. Exit code 1 if not."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from crash.audit import Audit
from crash.book import Book
from process import Process
from soak.gauge import HEAD, Gauge, Row, cells, line, table, verdicts
from soak.model import Model
from soak.speakers import Direct, Pace, cast

EPILOG = """\
The server is a real process with a database of its own in a temporary folder. Seventeen clients talk to it: chat as
JSON and as streams, two in one session, Idempotency-Keys, chains of responses, runs, a session that rotates, two who
are remembered, one who leaves in the middle, one whose model fails. Two more ask the model's server itself. After a
warm-up figures are taken again and again. Over the last two thirds of them a line is drawn through each (the median of
all slopes): it may rise by no more than is printed. Times are judged in runs of five minutes or more, latency where
other programs use less than half a core, memory without what is at hand (windows and vectors: some 1 kB a turn, up to
70 MB). At the end the transcripts are held against what the clients were told.

examples:
  python -m soak                        30 minutes
  python -m soak --minutes 5
  python -m soak --minutes 0.4          the shortest that says something
"""
BUDGET = 3_000  # tokens of a prompt: a session of long texts rotates every few turns
ROWS = 12  # at least
NOT_HERE = ("| kills", "| times of a job", "| databases between")  # what only the crash loop does
LOOKS = 6  # for each row
WARM_UP = 0.25  # of the time: caches fill, models are loaded
LONGEST_WARM_UP = 120.0  # seconds


def run(args: argparse.Namespace, folder: Path) -> tuple[Book, list[Row]]:
    book, model = Book(), Model(args.seed)
    speakers = cast(book, model.url)
    home = folder / "home"
    process = Process(home, upstream_url=model.url, context_budget=str(BUDGET), distil="rules", memory=args.memory)
    try:
        gauge = Gauge(process, home)
        pace = Pace(speakers, process.client, each=args.pace, gauge=gauge)
        pace.start()
        try:
            rows = measured(gauge, pace, args.minutes * 60)
        finally:
            pace.stop()
        audit = Audit(book, [speaker for speaker in speakers if not isinstance(speaker, Direct)], [])
        audit.full(process.client)
        audit.check(process)
    finally:
        process.stop()
        model.close()
    return book, rows


def measured(gauge: Gauge, pace: Pace, seconds: float) -> list[Row]:
    warm_up = min(WARM_UP * seconds, LONGEST_WARM_UP)
    count = max(ROWS, round((seconds - warm_up) / 60))
    each = (seconds - warm_up) / count
    time.sleep(warm_up)
    gauge.forget()
    began, rows, before = time.monotonic(), list[Row](), pace.turns
    print(line(HEAD), file=sys.stderr)
    for number in range(count):
        looks = []
        for part in range(1, LOOKS + 1):
            time.sleep(max(0.0, began + (number + part / LOOKS) * each - time.monotonic()))
            looks.append(gauge.look())
        turns, before = pace.turns - before, pace.turns
        rows.append(gauge.row((warm_up + time.monotonic() - began) / 60, looks, turns))
        print(line(cells(rows[-1])), file=sys.stderr)
    return rows


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m soak",
        description="Loads a server for a long time and says whether memory, files and latency stay as they are.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=30, help="how long (default 30)")
    parser.add_argument("--pace", type=float, default=1, help="turns of each client in a second, at most (default 1)")
    parser.add_argument("--memory", choices=("on", "off"), default="on", help="whether the server remembers (on)")
    parser.add_argument("--seed", type=int, default=0, help="for what is said and which faults are met")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="everthread-soak-") as folder:
        try:
            book, rows = run(args, Path(folder))
        except KeyboardInterrupt:
            return 130
    found = verdicts(rows, minutes=args.minutes)
    print(table(rows))
    print()
    print("\n".join(row for row in book.table().splitlines() if not row.startswith(NOT_HERE)))
    print()
    print("\n".join(str(verdict) for verdict in found))
    if not any(verdict.bound.calm for verdict in found):
        print("Latency is not judged: the run was too short, or the machine was busy with other things.")
    print(f"Took {time.monotonic() - began:,.0f} s.")
    return 0 if not book.wrongs and all(verdict.flat for verdict in found) else 1


if __name__ == "__main__":
    sys.exit(main())
