"""Installs a peer from the package index, in an environment of its own that is kept for the next time."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distributions
from pathlib import Path

from bench.server import ROOT

FOLDER = ROOT / ".venv-peers"
LONGEST_SECONDS = 900.0
SHOWN = 12  # lines of what pip said


class NotInstalled(Exception):
    """The index was not reached, or does not have it."""


def requirements_of(name: str) -> Path:
    return ROOT / "requirements" / f"peers-{name}.in"


def environment(name: str, say: Callable[[str], None]) -> Path:
    """The environment's folder; installs only if it is not there, or if other versions or another Python are wanted."""
    folder = FOLDER / name
    wanted = requirements_of(name)
    stamp = folder / ".ready"
    digest = hashlib.sha256(wanted.read_bytes() + sys.version.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return folder
    say(f"{name}: installing {wanted.name} into {folder.relative_to(ROOT)}, a minute or so")
    run(name, [sys.executable, "-m", "venv", "--clear", str(folder)])
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run(name, [*pip, "-r", str(wanted)])
    stamp.write_text(digest)
    return folder


def run(name: str, command: list[str]) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"{name} could not be installed: {error}") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        said = "\n".join(lines[-SHOWN:])
        raise NotInstalled(
            f"{name} could not be installed: is the package index reached? `{Path(command[0]).name} "
            f"{' '.join(command[1:4])}` ended with {done.returncode} and said:\n{said}"
        )


def version(folder: Path, package: str) -> str:
    """Of what is installed there."""
    places = [str(place) for place in folder.glob("lib/python*/site-packages")]
    return next((found.version for found in distributions(name=package, path=places)), "unknown")
