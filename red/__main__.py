"""Copies the tree, breaks it, runs the test that must fail. Exit code 1 if one passes, or fails where all is well."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from red.sabotages import SABOTAGES, Edit, Sabotage

ROOT = Path(__file__).parent.parent
NEEDED = ("src", "tests", "bench", "crash", "soak", "pyproject.toml")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "node_modules", ".hypothesis")
LONGEST = 150  # seconds for one test; one that hangs fails
FAILED = 1  # pytest's exit code for it; others mean that the test did not run


class Misplaced(Exception):
    """A text that is to be replaced does not stand exactly once in its file."""


def broken(text: str, edit: Edit) -> str:
    if (found := text.count(edit.old)) != 1:
        raise Misplaced(f"{edit.file}: {edit.old.strip()!r} stands there {found} times")
    return text.replace(edit.old, edit.new)


def copied(folder: Path) -> Path:
    tree = folder / "tree"
    tree.mkdir()
    for name in NEEDED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=LEFT_OUT)
        else:
            shutil.copy(source, tree / name)
    return tree


def tested(tree: Path, *tests: str) -> tuple[int, str]:
    """pytest's exit code for these tests of the copy, and what it printed."""
    environ = {**os.environ, "PYTHONPATH": str(tree / "src"), "COLUMNS": "400"}
    command = [sys.executable, "-m", "pytest", "-x", "-rf", "--tb=no", f"--timeout={LONGEST}", *tests]
    done = subprocess.run(command, cwd=tree, env=environ, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def seen(tree: Path, sabotage: Sabotage) -> tuple[bool, str]:
    """Whether the test fails while the sabotage is in place, and why; if not, what was printed."""
    whole: dict[Path, str] = {}
    try:
        for edit in sabotage.edits:
            path = tree / "src" / "everthread" / edit.file
            now = path.read_text()
            whole.setdefault(path, now)
            path.write_text(broken(now, edit))
        code, printed = tested(tree, sabotage.test)
    finally:
        for path, text in whole.items():
            path.write_text(text)
    lines = [line for line in printed.splitlines() if line.startswith(f"FAILED {sabotage.test}")]
    if code != FAILED or not lines:
        return False, printed
    return True, lines[0].partition(" - ")[2]


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m red",
        description="Breaks each promise on purpose in a copy of the tree, and looks whether its test fails there.",
    )
    parser.add_argument("--only", metavar="WORDS", help="sabotages of which something contains these words")
    return parser.parse_args(argv)


def chosen(words: str | None) -> list[Sabotage]:
    return [each for each in SABOTAGES if words is None or any(words in part for part in each[:3])]


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    sabotages = chosen(args.only)
    began = time.monotonic()
    rows: list[tuple[str, str, str, str]] = []
    with tempfile.TemporaryDirectory(prefix="everthread-red-") as folder:
        tree = copied(Path(folder))
        code, printed = tested(tree, *dict.fromkeys(each.test for each in sabotages))
        if code != 0:
            print(printed)
            print("Not all of these tests pass as the tree is; nothing was broken.")
            return 1
        print(f"All {len({each.test for each in sabotages})} tests pass as the tree is.", file=sys.stderr)
        for sabotage in sabotages:
            red, printed = seen(tree, sabotage)
            took = time.monotonic() - began
            print(f"[{took:5.0f} s] {'red' if red else 'NOT SEEN'}: {sabotage.what}: {printed}", file=sys.stderr)
            rows.append((sabotage.promise, sabotage.what, sabotage.test, "yes" if red else "NO"))
    print(table(rows))
    missed = sum(row[-1] == "NO" for row in rows)
    print(f"{len(rows)} sabotages, {len(rows) - missed} seen. Took {time.monotonic() - began:.0f} s.")
    return 1 if missed else 0


def table(rows: list[tuple[str, str, str, str]]) -> str:
    head = ("promise", "sabotage", "test", "seen red")
    lines = [head, ("---",) * 4, *((promise, what, f"`{test}`", red) for promise, what, test, red in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
