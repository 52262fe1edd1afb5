"""`everthread check`: is everything in order?"""

from __future__ import annotations

import argparse
import sys

from everthread import settings, wiring
from everthread.cli import Subparsers
from everthread.cli.keys import with_store
from everthread.core.ports import Problem, Store
from everthread.errors import NotFound, StoreDamaged

DESCRIPTION = """\
Reads the whole database and says what it looked at and what is wrong with it, while the server runs and answers. Exits
with 0 when everything is in order, else with 1.

With --repair it first makes anew what is derived: the index of words, and what points to something that is gone. What
was said is never changed. It does so in portions; while one of them runs, the server's writes wait.
"""
EPILOG = """\
examples:
  everthread check                 is everything in order?
  everthread check --repair        make good what can be made good

A damaged file cannot be repaired. Go back to a backup: everthread restore PATH --force
"""


def register(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "check",
        help="check the database: integrity, sessions, the index against the ledger",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repair", action="store_true", help="make anew what is derived, such as the index")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    chosen = settings.load()
    if not wiring.backup.occupied(chosen.database):
        raise NotFound(f"There is no database at {chosen.database}; the server makes it when it first starts.")
    print(f"Checking {chosen.database}")
    try:
        return with_store(lambda store: checked(store, repair=args.repair))
    except StoreDamaged as damaged:
        print(f"PROBLEM: {damaged.message}")
        return 1


async def checked(store: Store, *, repair: bool) -> int:
    problems = await store.check(repair=repair, looking=shown)
    for problem in problems:
        print(f"{'mended' if problem.mended else 'PROBLEM'}: {problem.what}")
    left = [problem for problem in problems if not problem.mended]
    print(verdict(left, repair=repair))
    return 1 if left else 0


def verdict(left: list[Problem], *, repair: bool) -> str:
    if not left:
        return "Everything is in order."
    number = f"{len(left)} problem{'' if len(left) == 1 else 's'}."
    if all(problem.mendable for problem in left) and not repair:
        return f"{number} All of this is derived and can be made anew: everthread check --repair"
    return (
        f"{number} What was said, or the file itself, is touched, and that cannot be made anew. Copy the whole folder"
        " to a safe place before anything else; then go back to a backup: everthread restore PATH --force"
    )


def shown(part: str, found: int | None) -> None:
    """One line for each part, begun before it is read: that can take a while."""
    if found is None:
        print(f"  {part:58}", end="", flush=True)
    else:
        print("ok" if not found else f"{found} problem{'' if found == 1 else 's'}")
        sys.stdout.flush()
