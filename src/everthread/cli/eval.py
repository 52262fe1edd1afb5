"""`everthread eval`: how well the memory finds what was said, and whether it knows what holds now."""

from __future__ import annotations

import argparse
import importlib

from everthread.cli import Subparsers
from everthread.evals.conversation import FAMILIES

SEED = 7

DESCRIPTION = """\
Measures the memory by the very parts that the server is made of: conversations are said, turn by
turn, in a home of their own, and read by the rules; then questions are asked. No language model is
called, and nothing leaves this machine.

With PATH, a file in LoCoMo's format or a folder of such files: how often all that a question needs
is in the block that a prompt would be given, by the size of the block. If audit_errors.json lies
beside the file, its corrections are applied.

With --reversals, conversations are made up in which things change: whether prompts show what holds
now as current, and what does not as reversed. Those who write the rules look at the other families
only; the independent one is there to report.
"""
EPILOG = """\
examples:
  everthread eval locomo10.json                          all questions, at 512 to 8192 tokens
  everthread eval locomo10.json --limit 100              the first hundred questions
  everthread eval locomo10.json --budget 1500 --json     one size, for a script
  everthread eval --reversals 500                        500 conversations in which things change
  everthread eval --reversals 50 --seed 8 --keep DIR     50 others; their database stays in DIR, for
                                                         EVERTHREAD_HOME=DIR everthread sessions list
  everthread eval --paraphrases                          40 changes told without the usual words

It takes about a minute for every thousand turns. The same arguments give the same shares.
"""


def register(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "eval",
        help="measure how well the memory works",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", metavar="PATH", nargs="?", help="conversations and questions in LoCoMo's format")
    parser.add_argument(
        "--reversals", metavar="N", type=int, help="make up so many conversations in which things change"
    )
    parser.add_argument("--paraphrases", action="store_true", help="changes told without the usual words")
    parser.add_argument(
        "--family", choices=FAMILIES, default="independent", help="whose wording (default: %(default)s)"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=SEED, help="which ones (default: %(default)s)")
    parser.add_argument(
        "--budget", metavar="TOKENS", type=int, action="append", help="a block's size; may be given several times"
    )
    parser.add_argument("--limit", metavar="N", type=int, help="ask the first N questions only")
    parser.add_argument("--keep", metavar="DIR", help="keep the database there (default: it is removed at the end)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """What is measured with is loaded only by those who measure: it is large."""
    code: int = importlib.import_module("everthread.cli.measuring").run(args)
    return code
