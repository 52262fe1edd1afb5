"""Is the file still the one that was opened, and sound as far as anybody has seen?"""

from __future__ import annotations

import logging
import os
import sqlite3
from pathlib import Path

from everthread.errors import StoreDamaged, StoreUnavailable
from everthread.storage import opening

log = logging.getLogger("everthread.storage")

Identity = tuple[int, int]  # device, inode
MARKS = (60, 12)  # where in the header the user version and the application id are: a backup has others
GONE = (
    "The database file was deleted, moved or replaced while the server runs, so nothing is kept any more. Stop the"
    " server, put the file back or go back to a backup with `everthread restore PATH`, and start it again."
)
DAMAGED = (
    "The database is damaged: some of it cannot be read. `everthread check` says how far; go back to a backup with"
    " `everthread restore PATH --force`."
)
FULL = (
    "The disk is full, so nothing can be kept; nothing was lost and nothing was changed. Free some space where the"
    " database lies: the server goes on by itself."
)
LOCKED = (
    "Another process has been writing to the database for too long; nothing was lost and nothing was changed. The"
    " server goes on by itself when that process is done."
)
WORDS = {sqlite3.SQLITE_FULL: FULL, sqlite3.SQLITE_BUSY: LOCKED, sqlite3.SQLITE_LOCKED: LOCKED}


class Watch:
    """Begins when the file is open, and ends when it is closed.

    What is written to a file that has no name any more is lost with the process: it must not be acknowledged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names = (str(path), str(opening.beside(path, "-wal")))
        self._handle: int | None = None  # open all the time: closing it would drop SQLite's own locks on the file
        self._known: tuple[Identity | None, Identity | None] = (None, None)
        self._marks = b""
        self._said = False
        self.damage: StoreDamaged | None = None
        self.trouble = False  # a statement failed, and nobody has seen since then that the file can be written to

    def begin(self) -> None:
        self.damage = None
        self.trouble = False
        self._said = False
        self._handle = os.open(self._path, os.O_RDONLY)
        self._known = self._identities()
        self._marks = self._read_marks()

    def end(self) -> None:
        """After the last connection is closed."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def astray(self) -> StoreDamaged | None:
        """What to tell those whose writes may have gone nowhere. Some microseconds, so it is asked with each commit."""
        if self._handle is None:
            return None
        if self._identities() == self._known and self._read_marks() == self._marks:
            self._said = False
            return None
        if not self._said:
            log.error("%s: %s", self._path, GONE)
            self._said = True
        return StoreDamaged(GONE)

    def unavailable(self, error: Exception) -> StoreUnavailable:
        """What a failing statement means for its caller. Damage is remembered: it does not heal by itself."""
        self.trouble = True
        failure = StoreUnavailable(WORDS.get(opening.code(error) or 0))
        if isinstance(error, sqlite3.Error) and opening.damage(error) is not None:
            if self.damage is None:
                log.error("%s: %s (%s)", self._path, DAMAGED, error)
            failure = self.damage = StoreDamaged(DAMAGED)
        failure.__cause__ = error
        return failure

    def _identities(self) -> tuple[Identity | None, Identity | None]:
        """Of the file and of its log: what is committed is in the one or in the other."""
        file, log = self._names
        return identity(file), identity(log)

    def _read_marks(self) -> bytes:
        assert self._handle is not None
        place, length = MARKS
        return os.pread(self._handle, length, place)


def identity(name: str) -> Identity | None:
    try:
        found = os.stat(name)  # noqa: PTH116 - with each commit: half the time of Path.stat
    except OSError:
        return None
    return found.st_dev, found.st_ino
