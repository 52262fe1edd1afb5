"""SQLite that fails when it is told to: every statement of every connection passes here first."""

from __future__ import annotations

import sqlite3
import threading
from typing import Any

WORDS = {
    sqlite3.SQLITE_IOERR: "disk I/O error",
    sqlite3.SQLITE_FULL: "database or disk is full",
    sqlite3.SQLITE_BUSY: "database is locked",
}


class Trouble:
    """Which statements fail: the n-th from now on, alone or with all that follow it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at = 0  # 0: none fails
        self._lasts = False
        self._code = sqlite3.SQLITE_IOERR
        self.seen = 0
        self.failed: list[str] = []

    def begin(self, at: int, *, lasts: bool = False, code: int = sqlite3.SQLITE_IOERR) -> None:
        with self._lock:
            self._at, self._lasts, self._code = at, lasts, code
            self.seen = 0
            self.failed = []

    def end(self) -> None:
        with self._lock:
            self._at = 0

    def meet(self, sql: str) -> None:
        """A statement is about to run."""
        with self._lock:
            self.seen += 1
            if not self._at or self.seen < self._at or (self.seen > self._at and not self._lasts):
                return
            self.failed.append(sql)
            error = sqlite3.OperationalError(WORDS[self._code])
            error.sqlite_errorcode = self._code
        raise error

    def connection(self) -> type[sqlite3.Connection]:
        trouble = self

        class Failing(sqlite3.Connection):
            def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
                trouble.meet(sql)
                return super().execute(sql, *parameters)

            def executemany(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
                trouble.meet(sql)
                return super().executemany(sql, *parameters)

        return Failing
