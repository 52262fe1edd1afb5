"""One connection writes. Jobs that arrive together share one transaction, each in a savepoint of its own.

What a job asks of the database is short and runs where the event loop runs. Rows that nothing in the transaction needs
to see are put off: a thread inserts them, many with one statement, and does what waits for the disk, the COMMIT. If it
ran the short statements too, it would wait for the interpreter's lock after each of them:
docs/decisions/001-one-writer-sqlite.md has the figures.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from everthread.errors import StoreDamaged, StoreUnavailable
from everthread.storage import opening
from everthread.storage.watch import Watch

T = TypeVar("T")
MOST_PER_COMMIT = 64
MOST_PARAMETERS = 30_000  # of one statement; SQLite's own limit is a little higher
MOST_WAITING = 4096
BUSY_AGAIN = 0.005  # seconds until another try, while another process writes
LONGEST_BUSY = 60.0  # seconds: another process writes, or the file is being swept


class Later:
    """Rows that nothing in their transaction needs to see: inserted together, just before the commit."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[Any, ...]]] = {}
        self._numbered: dict[str, str] = {}  # tables whose rows get their number when they are inserted; their indexes

    def insert(self, table: str, row: tuple[Any, ...]) -> None:
        self._rows.setdefault(table, []).append(row)

    def insert_numbered(self, table: str, row: tuple[Any, ...], *, index: str, entry: tuple[Any, ...]) -> None:
        """A row that will have the next number of its table, and its entry in an index under the same number."""
        self._numbered[table] = index
        self.insert(table, row)
        self.insert(index, entry)

    def mark(self) -> dict[str, int]:
        """How much is put off, for `back`."""
        return {table: len(rows) for table, rows in self._rows.items()}

    def back(self, mark: dict[str, int]) -> None:
        """What was put off since then is not inserted: whoever put it off has failed."""
        self._rows = {table: rows[: mark[table]] for table, rows in self._rows.items() if mark.get(table)}

    def write(self, db: sqlite3.Connection) -> None:
        for table, index in self._numbered.items():
            (last,) = db.execute(f"SELECT coalesce(max(no), 0) FROM {table}").fetchone()  # noqa: S608
            for name in (table, index):
                if name in self._rows:  # whoever put them off may have failed
                    self._rows[name] = [(no, *row) for no, row in enumerate(self._rows[name], start=last + 1)]
        for table, rows in self._rows.items():
            marks = f"({', '.join('?' * len(rows[0]))})"
            for part in portions(rows, MOST_PARAMETERS // len(rows[0])):
                sql = f"INSERT INTO {table} VALUES {', '.join([marks] * len(part))}"  # noqa: S608
                db.execute(sql, [value for row in part for value in row])
        self._rows = {}
        self._numbered = {}


Job = Callable[[sqlite3.Connection, Later], Any]


def portions(rows: list[T], most: int) -> Iterator[list[T]]:
    """The rows in a few portions, of sizes that are two binary digits and then zeros: so there are few different
    statements, and they are prepared already. One of many rows takes long to be prepared, and many kB to be kept."""
    start = 0
    while left := min(len(rows) - start, most):
        count = left >> (spare := max(0, left.bit_length() - 2)) << spare
        yield rows[start : start + count]
        start += count


class Waiting(msgspec.Struct, eq=False):
    """A job, and what its caller will be told."""

    job: Job
    sees_all: bool  # it must find the rows that jobs before it put off
    future: asyncio.Future[Any]
    after: Callable[[], None] | None = None  # what follows from it, also when the caller has left
    result: Any = None
    failure: BaseException | None = None


class Writer:
    """Belongs to one event loop. A job's future is resolved after its transaction is on disk."""

    def __init__(self, db: sqlite3.Connection, watch: Watch) -> None:
        self._db = db
        self._watch = watch
        self._astray = False  # what was last committed may have gone nowhere
        self._db.execute("PRAGMA busy_timeout = 0")  # never wait where the event loop runs
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Waiting] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._busy_since: float | None = None
        self._stopping = False
        self._commits: queue.SimpleQueue[tuple[list[Waiting], Later] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._commit, name="everthread-commit", daemon=True)
        self._thread.start()

    async def run(self, job: Callable[[sqlite3.Connection], T], *, after: Callable[[], None] | None = None) -> T:
        """Runs a job that may look at everything; `after` is called when it is on disk, or has failed."""
        return await self._queue(lambda db, _: job(db), sees_all=True, after=after)

    async def put(
        self,
        job: Callable[[sqlite3.Connection, Later], T],
        *,
        sees_all: bool = False,
        after: Callable[[], None] | None = None,
    ) -> T:
        """Runs a job that adds rows and, as a rule, looks at nothing that others may have put off."""
        return await self._queue(job, sees_all=sees_all, after=after)

    async def _queue(
        self, job: Callable[[sqlite3.Connection, Later], T], *, sees_all: bool, after: Callable[[], None] | None
    ) -> T:
        if self._stopping:
            raise StoreUnavailable("The store is closed.")
        if len(self._waiting) >= MOST_WAITING:
            raise StoreUnavailable("Too many writes are waiting.")
        future: asyncio.Future[T] = self._loop.create_future()
        self._waiting.append(Waiting(job, sees_all, future, after))
        if self._idle.is_set():
            self._idle.clear()
            self._loop.call_soon(self._begin)
        return await future  # a caller that leaves does not take the write back

    async def stop(self) -> None:
        """Returns when every job that was handed in is done; no more are taken."""
        self._stopping = True
        await self._idle.wait()
        self._commits.put(None)
        self._thread.join()
        self._db.close()

    def _begin(self) -> None:
        """Runs what is waiting in one transaction, and hands it to the thread to commit."""
        if self._astray and (lost := self._watch.astray()) is not None:
            self._refuse(lost)
            return
        try:
            if self._db.in_transaction:  # the last one failed, and could not even be rolled back then
                self._db.execute("ROLLBACK")
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            self._not_begun(error)
            return
        self._busy_since = None
        jobs = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_PER_COMMIT))]
        later = Later()
        try:
            for waiting in jobs:
                if waiting.sees_all:
                    later.write(self._db)
                self._one(waiting, later)
        except Exception as error:  # whatever it is, nobody may wait for ever
            self._done(jobs, error, self._watch.astray())
        else:
            self._commits.put((jobs, later))

    def _not_begun(self, error: sqlite3.Error) -> None:
        """Another process is writing: try again shortly. Anything else, or too long, is told to those who wait."""
        now = self._loop.time()
        self._busy_since = self._busy_since or now
        busy = opening.code(error) == sqlite3.SQLITE_BUSY
        if busy and now - self._busy_since < LONGEST_BUSY:
            self._loop.call_later(BUSY_AGAIN, self._begin)
            return
        self._busy_since = None
        self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        jobs = list(self._waiting)
        self._waiting.clear()
        self._done(jobs, error, self._watch.astray())

    def _one(self, waiting: Waiting, later: Later) -> None:
        db = self._db
        before = later.mark()
        db.execute("SAVEPOINT job")
        try:
            waiting.result = waiting.job(db, later)
        except Exception as error:  # it is the caller's to see
            if not db.in_transaction:  # the engine gave up the whole transaction
                raise
            db.execute("ROLLBACK TO job")
            later.back(before)
            waiting.failure = self._watch.unavailable(error) if isinstance(error, sqlite3.Error) else error
        db.execute("RELEASE job")

    def _commit(self) -> None:
        """The thread: inserts what was put off, commits, and says so."""
        while (next_one := self._commits.get()) is not None:
            jobs, later = next_one
            failed: Exception | None = None
            try:
                later.write(self._db)
                self._db.execute("COMMIT")
            except Exception as error:  # whatever it is, nobody may wait for ever
                failed = error
            self._loop.call_soon_threadsafe(self._done, jobs, failed, self._watch.astray())

    def _done(self, jobs: list[Waiting], failed: Exception | None, lost: StoreDamaged | None) -> None:
        if failed is not None and self._db.in_transaction:
            with suppress(sqlite3.Error):  # then it is done before the next one begins
                self._db.execute("ROLLBACK")
        self._astray = lost is not None
        failed = lost or failed
        for waiting in jobs:
            if waiting.after is not None:
                waiting.after()
            failure = self._failure(failed) if failed is not None else waiting.failure
            if waiting.future.done():
                continue
            if failure is not None:
                waiting.future.set_exception(failure)
            else:
                waiting.future.set_result(waiting.result)
        if self._waiting:
            self._begin()
        else:
            self._idle.set()

    def _failure(self, error: Exception) -> StoreUnavailable:
        return error if isinstance(error, StoreUnavailable) else self._watch.unavailable(error)
