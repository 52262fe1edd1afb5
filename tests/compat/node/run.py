"""Runs the clients for Node against Everthread and a reader behind it; says so and leaves where there is no Node."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from compat.reader import Reader
from front_door import KEY, Everthread

HERE = Path(__file__).parent
OLDEST = 20


def main(*tests: str) -> int:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return skipped("there is no node and npm on the PATH")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < OLDEST:
        return skipped(f"node is {version}, and its clients need {OLDEST} or newer")
    install(npm)
    reader = Reader()
    with tempfile.TemporaryDirectory() as home:
        everthread = Everthread(Path(home), reader.url)
        environ = {**os.environ, "EVERTHREAD_URL": f"{everthread.url}/v1", "EVERTHREAD_KEY": KEY}
        files = tests or tuple(sorted(path.name for path in HERE.glob("*.test.js")))
        try:
            return subprocess.run(
                [node, "--test", "--test-reporter=spec", *files], cwd=HERE, env=environ, check=False
            ).returncode
        finally:
            everthread.stop()
            reader.close()


def install(npm: str) -> None:
    """Once for each state of the lock file."""
    lock, done = HERE / "package-lock.json", HERE / "node_modules/.package-lock.json"
    if not done.exists() or done.stat().st_mtime < lock.stat().st_mtime:
        subprocess.run([npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=HERE, check=True)


def skipped(why: str) -> int:
    sys.stdout.write(f"The tests of the clients for Node are skipped: {why}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
