"""Runs in the order in which they are due, beside the ledger in its file."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from everthread.core.ids import KeyId, StepId, Tenant
from everthread.core.queue import NOBODY, Taken
from everthread.core.turn import Keep, ModelEvent, Replay
from everthread.core.view import Fault, Run, RunStatus
from everthread.storage import journal, runs
from everthread.storage.index import listed
from everthread.storage.rows import UNFINISHED, moment_of, stamp
from everthread.storage.sqlite import SqliteStore, nothing

TAKEN_AT_ONCE = 50  # runs: a short while for those who wait
LOOKED_AT = 200  # of which several may be of one session
HELD_AT_ONCE = 100
FAR = timedelta(hours=1)  # no run is put off for so long: one that seems to be was, by a clock that has been set back

WAITING = f"run INDEXED BY run_waiting WHERE {UNFINISHED} AND held_until IS NULL"
AT_ONCE, LATER = f"{WAITING} AND due_at IS NULL", f"{WAITING} AND due_at IS NOT NULL"
HELD = f"run INDEXED BY run_held WHERE {UNFINISHED} AND held_until IS NOT NULL"

FAIR = "api_key NOT IN (SELECT value FROM json_each(:sated))"  # keys that have as many as one may have
WAITS = f"""{FAIR} AND NOT EXISTS (SELECT 1 FROM run AS other INDEXED BY run_in_line
    WHERE other.tenant = run.tenant AND other.session = run.session AND other.held_until > :now
    AND other.held_until IS NOT NULL AND other.status IN ('queued', 'running', 'stopping'))
"""  # noqa: S608  # runs of one session follow each other

FREE = f"""
    SELECT tenant, run, session, api_key FROM (
        SELECT * FROM (SELECT tenant, run, session, api_key, created_at AS due FROM {AT_ONCE} AND {WAITS}
            ORDER BY created_at, run LIMIT :limit)
        UNION ALL
        SELECT * FROM (SELECT tenant, run, session, api_key, due_at FROM {LATER} AND due_at <= :now AND {WAITS}
            ORDER BY due_at, created_at, run LIMIT :limit)
        UNION ALL
        SELECT * FROM (SELECT tenant, run, session, api_key, due_at FROM {LATER} AND due_at > :far AND {WAITS}
            ORDER BY due_at, created_at, run LIMIT :limit)
        UNION ALL
        SELECT * FROM (SELECT tenant, run, session, api_key, coalesce(due_at, created_at) FROM {HELD}
            AND held_until <= :now AND {FAIR} ORDER BY held_until LIMIT :limit)
    ) ORDER BY due, run LIMIT :limit
"""  # noqa: S608
NEXT_DUE = f"""
    SELECT min(due) FROM (
        SELECT * FROM (SELECT created_at AS due FROM {AT_ONCE} ORDER BY created_at LIMIT 1)
        UNION ALL SELECT * FROM (SELECT due_at FROM {LATER} ORDER BY due_at LIMIT 1)
        UNION ALL SELECT * FROM (SELECT held_until FROM {HELD} ORDER BY held_until LIMIT 1)
    )
"""  # noqa: S608


class SqliteQueue:
    """The `Queue` port on an open store's file."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    async def enqueue(self, tenant: Tenant, run: Run, *, keep: Keep | None, replay: Replay | None) -> StepId:
        def replaying(key: str) -> bool:
            return self._store.replaying(tenant, key)

        return await self._store.writing(
            lambda db: runs.enqueue(db, tenant, run, keep=keep, replay=replay, replaying=replaying), after=nothing
        )

    async def run(self, tenant: Tenant, run: StepId) -> Run | None:
        with self._store.reading() as db:
            return runs.run(db, tenant, run)

    # --- a worker's side ----------------------------------------------------------------------------------------

    async def take(
        self,
        worker: str,
        *,
        now: datetime,
        until: datetime,
        limit: int,
        at_work: Mapping[KeyId, int] = NOBODY,
        each: int | None = None,
    ) -> tuple[Taken, ...]:
        sated = [key for key, count in at_work.items() if each is not None and count >= each]
        given = {"now": stamp(now), "far": stamp(now + FAR), "sated": listed(sated)}
        with self._store.reading() as db:
            if not db.execute(FREE, {**given, "limit": 1}).fetchall():
                return ()

        def job(db: sqlite3.Connection) -> tuple[Taken, ...]:
            first: dict[tuple[str, str], tuple[str, str]] = {}  # of each session
            having = Counter(at_work)
            for tenant, name, session, key in db.execute(FREE, {**given, "limit": LOOKED_AT}):
                if (tenant, session) not in first and (each is None or having[key] < each):
                    first[tenant, session] = (tenant, name)
                    having[key] += 1
            names = list(first.values())[: min(limit, TAKEN_AT_ONCE)]
            return tuple(taken_of(self._take(db, name, worker, stamp(now), stamp(until))) for name in names)

        return await self._store.writing(job, after=nothing)

    @staticmethod
    def _take(db: sqlite3.Connection, name: tuple[str, str], worker: str, now: int, until: int) -> tuple[Any, ...]:
        """What was told of, or is to be stopped, is taken to be ended: it does not begin once more."""
        (row,) = db.execute(
            "UPDATE run SET fence = fence + 1, worker = ?, held_until = ?,"  # noqa: S608
            " started_at = iif(told OR status = 'stopping', started_at, ?)"
            f" WHERE tenant = ? AND run = ? RETURNING tenant, fence, {runs.NAMES}",
            (worker, until, now, *name),
        ).fetchall()
        return tuple(row)

    async def hold(
        self, worker: str, held: Sequence[tuple[Tenant, StepId, int]], *, until: datetime
    ) -> tuple[tuple[Tenant, StepId], ...]:
        def job(db: sqlite3.Connection, some: Sequence[tuple[Tenant, StepId, int]]) -> list[tuple[Tenant, StepId]]:
            return [
                (tenant, name)
                for tenant, name, fence in some
                if not db.execute(
                    "UPDATE run SET held_until = ? WHERE tenant = ? AND run = ? AND fence = ? AND worker = ?"  # noqa: S608
                    f" AND {UNFINISHED}",
                    (stamp(until), tenant, name, fence, worker),
                ).rowcount
            ]

        lost: list[tuple[Tenant, StepId]] = []
        for start in range(0, len(held), HELD_AT_ONCE):
            some = held[start : start + HELD_AT_ONCE]
            lost += await self._store.writing(partial(job, some=some), after=nothing)
        return tuple(lost)

    async def next_due(self) -> datetime | None:
        with self._store.reading() as db:
            return moment_of(db.execute(NEXT_DUE).fetchone()[0])

    async def journal(
        self, tenant: Tenant, run: StepId, events: Sequence[ModelEvent], *, fence: int, now: datetime
    ) -> bool:
        return await self._store.writing(
            lambda db: journal.add(db, tenant, run, events, fence=fence, now=stamp(now)), after=nothing
        )

    async def journalled(self, tenant: Tenant, run: StepId) -> tuple[ModelEvent, ...]:
        with self._store.reading() as db:
            return journal.told(db, tenant, run)

    async def settle(
        self,
        tenant: Tenant,
        run: StepId,
        status: RunStatus,
        *,
        fence: int | None = None,
        fault: Fault | None = None,
        now: datetime,
    ) -> bool:
        return await self._store.writing(
            lambda db: runs.settle(db, tenant, run, status, fence=fence, fault=fault, now=stamp(now)), after=nothing
        )

    async def put_off(
        self, tenant: Tenant, run: StepId, *, fence: int, until: datetime, fault: Fault, now: datetime
    ) -> bool:
        def job(db: sqlite3.Connection) -> bool:
            done = db.execute(
                "UPDATE run SET status = 'queued', attempt = attempt + 1, due_at = ?, told = 0, fault_code = ?,"
                " fault = ?, updated_at = ?, fence = fence + 1, worker = NULL, held_until = NULL"
                " WHERE tenant = ? AND run = ? AND fence = ? AND status IN ('queued', 'running')",
                (stamp(until), fault.code, fault.message, stamp(now), tenant, run, fence),
            )
            if done.rowcount:
                journal.drop(db, tenant, run)
            return done.rowcount == 1

        return await self._store.writing(job, after=nothing)

    async def abandoned(self) -> None:
        def job(db: sqlite3.Connection) -> None:
            db.execute(f"UPDATE run SET worker = NULL, held_until = NULL WHERE {UNFINISHED} AND held_until IS NOT NULL")  # noqa: S608

        await self._store.writing(job, after=nothing)


def taken_of(row: tuple[Any, ...]) -> Taken:
    tenant, fence, *run = row
    return Taken(Tenant(tenant), runs.run_of(tuple(run)), fence)
