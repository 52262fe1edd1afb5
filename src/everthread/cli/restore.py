"""`everthread restore`: a backup becomes the database."""

from __future__ import annotations

import argparse
from pathlib import Path

from everthread import settings, wiring
from everthread.cli import Subparsers
from everthread.cli.backup import FOLDER, number, progress, stoppable, summary
from everthread.errors import NotFound

DESCRIPTION = """\
Puts a backup, or any other whole copy of a database, where the server keeps its own. Stop the server first. Nothing is
touched until the backup has been read, verified and, if an older version wrote it, brought up to date.

A database that is there already is replaced only with --force, and even then not deleted: it is moved aside, to
everthread.db.replaced-<date>.
"""
EPILOG = """\
examples:
  everthread restore everthread-20260131-030000.db
  EVERTHREAD_HOME=/tmp/look everthread restore /mnt/nas/yesterday.db    look at a backup, away from the real one
  everthread restore yesterday.db --force                               go back to it

What happened after the backup is gone with it: a key that was revoked since is valid again, what was forgotten since is
there again, jobs go on from their last fire.
"""


def register(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "restore",
        help="put a backup where the database is",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", metavar="PATH", type=Path, help="the backup")
    parser.add_argument("--force", action="store_true", help="replace the database that is there; it is moved aside")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    chosen = settings.load()
    given = args.path.expanduser().absolute()
    if not given.is_file():
        raise NotFound(f"There is no backup at {given}.{known(chosen)}")
    now = wiring.SystemClock().now()
    wiring.make_home(chosen)
    with stoppable(), progress(given.name) as report:
        done = wiring.backup.restore(given, chosen.database, now=now, force=args.force, report=report)
    print(f"Restored to {chosen.database}: {summary(done.contents)}.")
    if done.schema != done.contents.schema:
        print(f"An older version wrote it; its schema was brought from {done.schema} to {done.contents.schema}.")
    if not done.sealed:
        print("It was not written by `everthread backup`, so it has no checksum; its structure was verified.")
    if done.aside is not None:
        print(f"What was there before is now {done.aside}; delete it when you do not need it any more.")
    print(f"\nNext:\n{following(done.contents)}")
    return 0


def following(found: wiring.backup.Contents) -> str:
    steps = {
        "everthread check": "read all of it once",
        "everthread keys list": f"{number(found.keys, 'key')}: revoke again what was revoked since the backup",
    }
    if found.jobs:
        steps["everthread jobs list"] = f"{number(found.jobs, 'job')} will fire; what was missed fires as it says"
    goes_on = f"; {number(found.unfinished, 'unfinished run')} will go on" if found.unfinished else ""
    steps["everthread serve"] = f"start the server{goes_on}"
    return "\n".join(f"  {command:22} {why}" for command, why in steps.items())


def known(chosen: settings.Settings) -> str:
    """Which backups there are in the usual place."""
    newest = max((chosen.home / FOLDER).glob("*.db"), default=None)
    return f" The newest in {newest.parent} is {newest.name}." if newest else ""
