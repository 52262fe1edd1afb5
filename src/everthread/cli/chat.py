"""`everthread chat`: a conversation in the terminal."""

from __future__ import annotations

import argparse

from everthread.cli import Subparsers


def register(commands: Subparsers) -> None:
    parser = commands.add_parser("chat", help="talk in the terminal")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    return 0
