"""A thread with a reading connection of its own: for reads that take too long for the event loop."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from everthread.errors import StoreUnavailable
from everthread.storage.watch import Watch

T = TypeVar("T")


class Aside:
    """One read after the other. Both the thread and the connection begin with the first."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], watch: Watch) -> None:
        self._connect = connect
        self._watch = watch
        self._thread: ThreadPoolExecutor | None = None
        self._db: sqlite3.Connection | None = None
        self._closing = False

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        if self._closing:  # a new thread would use the connection that is about to go
            raise StoreUnavailable("The store is closed.")
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "everthread-recall")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, job)

    def _run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._db is None:
                self._db = self._connect()
                self._db.execute("PRAGMA query_only = ON")
                self._db.execute("PRAGMA cache_size = -16000")  # kB: a search looks at much
            return job(self._db)
        except sqlite3.Error as error:
            if self._db is not None:  # it may be left in the middle of something: the next read gets another
                self._db.close()
                self._db = None
            raise self._watch.unavailable(error) from error

    async def close(self) -> None:
        """Waits for the read at hand."""
        self._closing = True
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.to_thread(thread.shutdown)
        if self._db is not None:
            self._db.close()
            self._db = None
        self._closing = False
