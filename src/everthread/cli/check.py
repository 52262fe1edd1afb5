"""`everthread check`: is everything in order?"""

from __future__ import annotations

import argparse

from everthread import settings
from everthread.cli import Subparsers
from everthread.cli.keys import with_store
from everthread.core.ports import Store
from everthread.errors import NotFound


def register(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "check",
        help="check the database: integrity, sessions, the index against the ledger",
        description="Reads the whole database and says what is wrong with it. Exits with 1 when something is.",
    )
    parser.add_argument("--repair", action="store_true", help="rebuild what is derived, such as the index")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    chosen = settings.load()
    if not chosen.database.exists():
        raise NotFound(f"There is no database at {chosen.database}; the server makes it when it first starts.")
    return with_store(lambda store: checked(store, repair=args.repair))


async def checked(store: Store, *, repair: bool) -> int:
    problems = await store.check(repair=repair)
    for problem in problems:
        print(f"{'mended' if problem.mended else 'PROBLEM'}: {problem.what}")
    left = [problem for problem in problems if not problem.mended]
    print("Everything is in order." if not left else f"{len(left)} problems.")
    return 1 if left else 0
