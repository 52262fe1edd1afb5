"""Prints the Python to make the virtual environment with: the first on the PATH that will do, or another one there that
is clearly faster. Builds of one version differ: compiled with the help of a profile, one ran 1.4 to 1.6 times as fast
as another that was not. Takes a second or two, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

NAMES = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")
CLEARLY = 1.1  # times as fast
ROUNDS = 3
TRIAL = """
import sys
if sys.version_info < (3, 11):
    raise SystemExit(1)
import ensurepip, sqlite3, ssl, time, venv

class Turn:
    def __init__(self, number):
        self.number, self.parts = number, {}

    def said(self, word):
        self.parts[word] = self.parts.get(word, 0) + self.number
        return self

def talk(turns):
    return sum(len(Turn(number).said("hello").said(str(number % 97)).parts) for number in range(turns))

talk(2_000)
began = time.process_time()
talk(40_000)
print(time.process_time() - began, sys._base_executable)
"""


def tried(python: Path) -> tuple[float, Path] | None:
    """The seconds that it takes for a little work, and where it really is; None if it will not do."""
    ran = subprocess.run([python, "-c", TRIAL], capture_output=True, text=True, check=False)
    seconds, _, path = ran.stdout.strip().partition(" ")
    return (float(seconds), Path(path).resolve()) if ran.returncode == 0 else None


def candidates() -> dict[Path, None]:
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    paths = (Path(folder, name) for folder in folders for name in NAMES)
    return {path.resolve(): None for path in paths if os.access(path, os.X_OK)}


def main() -> None:
    seconds: dict[Path, float] = {}
    for python in candidates():
        if first := tried(python):
            seconds.setdefault(first[1], first[0])
    if not seconds:
        raise SystemExit(1)
    for _ in range(ROUNDS if len(seconds) > 1 else 0):
        for python, least in seconds.items():
            again, _ = tried(python) or (least, python)
            seconds[python] = min(least, again)
    usual, quickest = next(iter(seconds)), min(seconds, key=lambda python: seconds[python])
    times = seconds[usual] / seconds[quickest]
    if times > CLEARLY:
        print(
            f"{quickest} runs {times:.1f} times as fast as {usual} here: using it (PYTHON=... chooses)", file=sys.stderr
        )
    print(quickest if times > CLEARLY else usual)


main()
