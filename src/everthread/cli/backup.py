"""`everthread backup`: a copy of everything that is kept, made while the server runs."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from everthread import settings, wiring
from everthread.cli import Subparsers
from everthread.cli.models import Bar, size

FOLDER = "backups"
DESCRIPTION = """\
Writes a copy of the database to one file, while the server runs and answers. The copy is consistent: it has every turn
that was acknowledged before it began. It is verified, readable by its owner only, and gets its name when it is whole.

PATH is a file or a folder that exists; without it, a dated file in EVERTHREAD_HOME/backups. The file's name is printed
on standard output, alone on its line; everything else goes to standard error.
"""
EPILOG = """\
examples:
  everthread backup                        a dated file in EVERTHREAD_HOME/backups
  everthread backup /mnt/usb               a dated file in that folder
  everthread backup today.db --force       that file, also if it is there already
  0 3 * * *  everthread backup /mnt/nas    every night, from crontab

In it: conversations, memory, jobs, runs, webhooks with their secrets, the digests of API keys. Whoever can read it can
read what was said. Not in it: EVERTHREAD_HOME/key (a new one is made where it is missing), everthread.toml, models.

Bring one back with: everthread restore PATH
"""


def register(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "backup",
        help="copy everything that is kept to one file, while the server runs",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", metavar="PATH", nargs="?", type=Path, help="the file to write, or a folder for it")
    parser.add_argument("--force", action="store_true", help="replace the file if it is there already")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    chosen = settings.load()
    target = file_for(args.path, chosen)
    began = time.monotonic()
    with stoppable(), progress(target.name) as report:
        found = wiring.backup.write(chosen.database, target, force=args.force, report=report)
    print(target)
    say(f"{summary(found)}, {size(found.bytes)}; verified, in {time.monotonic() - began:.1f} s.")
    say(f"Keep a copy on another disk. Bring it back with: everthread restore {target}")
    return 0


def file_for(given: Path | None, chosen: settings.Settings) -> Path:
    dated = f"everthread-{wiring.SystemClock().now():%Y%m%d-%H%M%S}.db"
    if given is None:
        return chosen.home / FOLDER / dated
    given = given.expanduser().absolute()
    return given / dated if given.is_dir() else given


def summary(found: wiring.backup.Contents) -> str:
    newest = f" (the newest of {found.newest:%Y-%m-%d %H:%M} UTC)" if found.newest else ""
    return f"{number(found.conversations, 'conversation')}, {number(found.turns, 'turn')}{newest}"


def number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def say(line: str) -> None:
    print(line, file=sys.stderr)


@contextmanager
def progress(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """Shows how far it is, to a person."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = Bar(sys.stderr.write, live=True, clock=time.monotonic)
    try:
        yield lambda done, total: bar.show(wiring.weights.Progress(name, done, total))
    finally:
        bar.end()


@contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM ends the command like Ctrl-C: what is half written is taken away."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
