"""A file that is still arriving: it grows by checked slices and gets its name when it is whole."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from pathlib import Path
from types import TracebackType

from everthread.errors import Unavailable
from everthread.models.embedded.catalogue import Weights

READ = 1024 * 1024


class PullFailed(Unavailable):
    """The weights could not be fetched."""


class PullRunning(PullFailed):
    """Another pull of these weights is running."""


class DiskTooSmall(PullFailed):
    """The disk has too little room for the weights."""


class Damaged(PullFailed):
    """What arrived is not what it should be."""


class Partial:
    """The `.part` file of some weights, held by one process at a time.

    What it holds is always a right beginning of the file, but for the slice that is arriving."""

    def __init__(self, weights: Weights, folder: Path) -> None:
        self.size = 0
        self._weights = weights
        self._path = part_path(weights, folder)
        self._file = lock(self._path)
        self._whole = hashlib.sha256()
        self._before = self._whole.copy()  # as it was when the slice began
        self._piece = hashlib.sha256()
        self._slice = 0  # the one that is arriving
        self._slice_start = 0

    def __enter__(self) -> Partial:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    @property
    def is_whole(self) -> bool:
        return self.size == self._weights.size

    @property
    def slice(self) -> int:
        """The number of the slice that is arriving, from 0."""
        return self._slice

    def resume(self) -> None:
        """Reads what an earlier pull left and keeps it as far as it is right."""
        os.lseek(self._file, 0, os.SEEK_SET)
        try:
            while piece := os.read(self._file, READ):
                self._take(piece)
        except Damaged:
            self.drop_slice()
        os.lseek(self._file, self.size, os.SEEK_SET)

    def write(self, data: bytes) -> None:
        """Adds bytes; Damaged, and without its last slice, if that turns out to be wrong."""
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                raise DiskTooSmall(
                    f"The disk filled up while writing {self._path}; free some and pull again."
                ) from error
            raise
        try:
            self._take(data)
        except Damaged:
            self.drop_slice()
            raise

    def _take(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            if self._slice == len(self._weights.slices):
                raise Damaged(f"{self._weights.file} is longer than it should be.")
            wanted = self._weights.slices[self._slice]
            taken = view[: self._slice_start + wanted.size - self.size]
            self._whole.update(taken)
            self._piece.update(taken)
            self.size += len(taken)
            view = view[len(taken) :]
            if self.size == self._slice_start + wanted.size:
                if self._piece.hexdigest() != wanted.sha256:
                    number, count = self._slice + 1, len(self._weights.slices)
                    raise Damaged(f"Part {number} of {count} of {self._weights.file} is damaged.")
                self._slice += 1
                self._slice_start = self.size
                self._before = self._whole.copy()
                self._piece = hashlib.sha256()

    def drop_slice(self) -> None:
        """Forgets the slice that is arriving."""
        os.ftruncate(self._file, self._slice_start)
        os.lseek(self._file, self._slice_start, os.SEEK_SET)
        self._whole, self._piece = self._before.copy(), hashlib.sha256()
        self.size = self._slice_start

    def truncate(self) -> None:
        """Forgets everything."""
        self._before = hashlib.sha256()
        self._slice = self._slice_start = 0
        self.drop_slice()

    def finish(self, path: Path) -> None:
        """Gives the file its name, on disk for good; Damaged, and empty, if it is not the right one."""
        if self._whole.hexdigest() != self._weights.sha256:
            self.truncate()
            raise Damaged(f"{self._weights.file} arrived whole but is not the file it should be.")
        os.fsync(self._file)
        self._path.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def discard(self) -> None:
        self._path.unlink(missing_ok=True)


def part_path(weights: Weights, folder: Path) -> Path:
    return folder / f"{weights.file}.part"


def lock(path: Path) -> int:
    """The file, opened for us alone; PullRunning if somebody else has it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(file)
            raise PullRunning(f"Another pull is running: it holds {path}.") from error
        if path.exists() and path.stat().st_ino == os.fstat(file).st_ino:
            return file
        os.close(file)  # the one we waited on has just been finished and renamed
