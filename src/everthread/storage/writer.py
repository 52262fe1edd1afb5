"""One thread writes. Jobs that arrive together share one transaction, each in a savepoint of its own."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from everthread.errors import StoreUnavailable

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], Any]
Waiting = tuple[Job, "asyncio.Future[Any]", asyncio.AbstractEventLoop]
Answer = tuple["asyncio.Future[Any]", Any, BaseException | None]

MOST_PER_COMMIT = 64
MOST_WAITING = 4096


class Writer:
    """Runs jobs on its own connection; a job's future is resolved after its transaction is on disk."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._jobs: queue.Queue[Waiting | None] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._work, name="everthread-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns when every job that was handed in is done."""
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        try:
            self._jobs.put_nowait((job, future, loop))
        except queue.Full as error:
            raise StoreUnavailable("Too many writes are waiting.") from error
        return await asyncio.shield(future)  # a caller that leaves does not take the write back

    def _work(self) -> None:
        db = self._connect()
        try:
            while (first := self._jobs.get()) is not None:
                stopping = self._commit_together(db, first)
                if stopping:
                    return
        finally:
            db.close()

    def _commit_together(self, db: sqlite3.Connection, first: Waiting) -> bool:
        """One transaction over what is waiting now; True when the end of the queue was among it."""
        answers: list[Answer] = []
        loop = first[2]
        stopping = False
        waiting: Waiting | None = first
        try:
            db.execute("BEGIN IMMEDIATE")
            while waiting is not None:
                answers.append(self._one(db, waiting))
                if len(answers) >= MOST_PER_COMMIT:
                    break
                try:
                    waiting = self._jobs.get_nowait()
                except queue.Empty:
                    break
                stopping = waiting is None
            db.execute("COMMIT")
        except sqlite3.Error as error:
            if waiting is not None and not any(answer[0] is waiting[1] for answer in answers):
                answers.append((waiting[1], None, None))
            answers = [(future, None, unavailable(error)) for future, _, _ in answers]
            if db.in_transaction:
                db.execute("ROLLBACK")
        if not loop.is_closed():
            loop.call_soon_threadsafe(resolve, answers)
        return stopping

    def _one(self, db: sqlite3.Connection, waiting: Waiting) -> Answer:
        job, future, _ = waiting
        db.execute("SAVEPOINT job")
        try:
            result = job(db)
        except Exception as error:
            if not db.in_transaction:  # the engine gave up the whole transaction
                raise
            db.execute("ROLLBACK TO job")
            db.execute("RELEASE job")
            return future, None, unavailable(error) if isinstance(error, sqlite3.Error) else error
        db.execute("RELEASE job")
        return future, result, None


def unavailable(error: sqlite3.Error) -> StoreUnavailable:
    failure = StoreUnavailable()
    failure.__cause__ = error
    return failure


def resolve(answers: list[Answer]) -> None:
    for future, result, error in answers:
        if future.done():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)
