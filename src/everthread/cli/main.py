"""The `everthread` command."""

from __future__ import annotations

import argparse
import sys

from everthread import __version__
from everthread.cli import (
    backup,
    chat,
    check,
    eval,  # noqa: A004 - a command's name
    jobs,
    keys,
    memory,
    models,
    restore,
    serve,
    sessions,
)
from everthread.errors import Failure

EPILOG = """\
first steps:
  everthread serve                 start the server; it prints its address, its key and a line to try
  everthread chat                  talk to it in the terminal
  everthread sessions list         see which conversations there are
  everthread memory list --help    see what is remembered, correct it, forget it
  everthread jobs add --help       have something said on a schedule
  everthread keys create           make another API key
  everthread backup                copy everything to one file, while the server runs

Settings come from the environment (EVERTHREAD_...) or from everthread.toml; docs/settings.md lists them.
"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="everthread",
        description="A server for conversations that never end: the OpenAI API with persistent sessions.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"everthread {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for room in (serve, chat, sessions, memory, jobs, keys, models, backup, restore, check, eval):
        room.register(commands)
    return top


def main(argv: list[str] | None = None) -> int:
    """Runs one command; what goes wrong is said in one line."""
    args = parser().parse_args(argv)
    try:
        return int(args.run(args))
    except Failure as failure:
        print(f"everthread: {failure.message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
