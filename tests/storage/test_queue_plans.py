"""What a worker asks of the file costs as little when much has been done, and when much is waiting."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.contract.test_jobs_port import fire, standing
from tests.contract.test_store import NOW, A
from tests.contract.test_views_port import run

from everthread.core.job import JobId
from everthread.storage import parcels, queue
from everthread.storage.jobs import SqliteJobs
from everthread.storage.parcels import SqliteOutgoing
from everthread.storage.queue import SqliteQueue
from everthread.storage.rows import stamp
from everthread.storage.sqlite import SqliteStore

FINISHED, QUEUED, LATER, HELD, JOBS = 100_000, 10_000, 10_000, 1_000, 5_000
AT = stamp(NOW)

MANY_RUNS = """
    WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count LIMIT :count)
    INSERT INTO run (tenant, run, kind, session, status, turn, told, metadata, ticket, created_at, updated_at, due_at,
            held_until, worker, job, scheduled_at)
        SELECT 'a', :prefix || n, 'job', 's' || n, :status, '{}', 0, '{}', x'', :at - n, :at, :due, :held, 'w',
            'j' || (n % 50), :at - n FROM count
"""
MANY_PARCELS = """
    INSERT INTO parcel SELECT tenant, 'msg_' || run, run, 'run.failed', 'https://example.com', 's', '',
        iif(status = 'failed', 'delivered', 'waiting'), 0, :at + iif(status = 'failed', 0, 9), NULL, NULL, 0, NULL,
        NULL, :at, :at, NULL, NULL FROM run WHERE due_at IS NULL
"""
MANY_JOBS = """
    WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count LIMIT :count)
    INSERT INTO job SELECT 'a', 'job' || n, 's', NULL, '{}', :at + 1000 + n, 0, :at, :at, 0 FROM count
"""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "store.db")
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def busy(store: SqliteStore) -> SqliteStore:
    def fill(db: sqlite3.Connection) -> None:
        kinds = (
            ("f", "failed", FINISHED, None, None),
            ("q", "queued", QUEUED, None, None),
            ("l", "queued", LATER, AT + 10**9, None),
            ("h", "running", HELD, None, AT + 10**9),
        )
        for prefix, status, count, due, held in kinds:
            given = {"prefix": prefix, "status": status, "count": count, "due": due, "held": held, "at": AT}
            db.execute(MANY_RUNS, given)
        db.execute(MANY_PARCELS, {"at": AT})
        db.execute(MANY_JOBS, {"count": JOBS, "at": AT})

    await store.writing(fill)
    return store


async def test_work_is_found_quickly_among_all_that_was_done_and_all_that_waits(busy: SqliteStore) -> None:
    work, jobs, outgoing = SqliteQueue(busy), SqliteJobs(busy), SqliteOutgoing(busy)
    await work.enqueue(A, run("first", due_at=NOW - timedelta(days=9)), keep=None, replay=None)
    await jobs.add(A, standing("due"))
    ((_, due),) = await jobs.due(now=NOW, limit=9)
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    with busy.reading() as db:
        db.set_progress_handler(count, 100)
    began = time.perf_counter()
    taken = await work.take("w", now=NOW, until=NOW + timedelta(seconds=30), limit=10)
    assert [one.run.id for one in taken][:2] == ["first", f"q{QUEUED}"]
    assert await work.next_due() is not None
    assert len(await outgoing.take("w", now=NOW + timedelta(seconds=1), until=NOW, limit=10)) == 10
    assert await outgoing.next_due() is not None
    assert await fire(jobs, due, NOW, next_at=None)
    assert await jobs.next_due() is not None
    assert len(await jobs.latest(A, [JobId(f"j{number}") for number in range(50)])) == 50
    page, more = await jobs.runs(A, JobId("j7"), after=None, limit=20)
    assert (len(page), more) == (20, True)
    took = time.perf_counter() - began
    with busy.reading() as db:
        db.set_progress_handler(None, 0)
    assert steps < 500, "hundreds of the engine's instructions: what is read does not grow with what is kept"
    assert took < 0.5


LOOKS = ("SCAN run", "SEARCH run", "SEARCH other", "SCAN parcel", "SEARCH parcel")


@pytest.mark.parametrize("query", [queue.FREE, queue.NEXT_DUE, parcels.FREE, parcels.NEXT_DUE])
async def test_no_table_is_looked_through_for_what_is_due(store: SqliteStore, query: str) -> None:
    given = {"now": AT, "far": AT, "sated": "[]", "limit": 10} if ":limit" in query else {}
    with store.reading() as db:
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}", given)]
    told = "\n".join(plan)
    looked = [line for line in plan if line.startswith(LOOKS)]
    assert len(looked) == len([line for line in plan if "run" in line or "parcel" in line]) >= 2, told
    for line in looked:  # the first rows of an index are taken in its order, without a sort
        assert "USING INDEX" in line or "USING COVERING INDEX" in line, told
    if ":limit" in query:
        assert all(line.startswith("SEARCH") for line in looked), told
        assert sum("TEMP B-TREE" in line for line in plan) == 1, told
    else:
        assert not any("TEMP B-TREE" in line for line in plan), told
