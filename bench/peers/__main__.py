"""Everthread and its peers on the same load: prints the table, and writes it into the docs if asked to."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

import msgspec

from bench import machine
from bench.peers import page, table
from bench.peers.results import Results
from bench.peers.run import FAILED, FULL, PEERS, QUICK, Bench

EPILOG = """\
The first time, each peer is installed into .venv-peers; that needs a package index and is no part of the measurement.
A peer that cannot be installed, started or that answers wrongly is reported with its error, and the rest goes on.

examples:
  python -m bench.peers                             about seven minutes on a quiet machine
  python -m bench.peers --quick                     about two, rougher
  python -m bench.peers --only litellm              without Hermes Agent
  python -m bench.peers --write-docs --json FILE    writes docs/performance.md's part and plots, and the raw figures
  python -m bench.peers --from FILE --write-docs    the same from raw figures, without measuring
"""


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.peers",
        description="Measures Everthread and its peers in one run, on the same load and the same fake upstream.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="one short round and a shorter session")
    parser.add_argument("--only", metavar="PEERS", default=",".join(PEERS), help=f"of {', '.join(PEERS)}")
    parser.add_argument("--dir", metavar="FOLDER", help="where the temporary data goes (default: the system's)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the raw results")
    parser.add_argument("--from", metavar="FILE", type=Path, dest="source", help="do not measure, take these results")
    parser.add_argument("--write-docs", action="store_true", help="write the table and the plots into docs/")
    args = parser.parse_args(argv)
    args.peers = [name for name in args.only.split(",") if name]
    unknown = set(args.peers) - set(PEERS)
    if unknown:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    return args


def found(args: argparse.Namespace) -> Results:
    if args.source:
        return msgspec.json.decode(args.source.read_bytes(), type=Results)
    machine.allow_many_files()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # or the servers would be left behind
    return Bench(QUICK if args.quick else FULL, args.peers, args.dir).run()


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    try:
        results = found(args)
    except FAILED as error:
        print(f"\nbench FAILED: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(table.printed(results))
    print(f"Took {results.took:.0f} s.")
    for failure in results.failures:
        print(f"\n{failure.name}, {failure.what}:\n{failure.error}", file=sys.stderr)
    if args.json:
        args.json.write_bytes(msgspec.json.format(msgspec.json.encode(results)))
    if args.write_docs:
        page.write(results)
    return 0 if compared(results) else 1


def compared(results: Results) -> bool:
    """Whether there is anything to compare: Everthread without a failure, and a peer."""
    failed = {failure.name for failure in results.failures}
    return table.OURS not in failed and any(about.name != table.OURS for about in results.about)


if __name__ == "__main__":
    sys.exit(main())
