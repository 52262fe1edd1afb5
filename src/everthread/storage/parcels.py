"""Parcels on their way, beside the ledger in its file."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from everthread.core.ids import StepId, Tenant
from everthread.core.queue import Waiting
from everthread.storage import posted, runs
from everthread.storage.posted import waiting_of
from everthread.storage.rows import moment_of, stamp
from everthread.storage.sqlite import SqliteStore, nothing

FREE = """
    SELECT tenant, parcel FROM (
        SELECT * FROM (SELECT tenant, parcel, due_at FROM parcel INDEXED BY parcel_waiting
            WHERE state = 'waiting' AND held_until IS NULL AND due_at <= :now ORDER BY due_at, parcel LIMIT :limit)
        UNION ALL
        SELECT * FROM (SELECT tenant, parcel, due_at FROM parcel INDEXED BY parcel_held
            WHERE state = 'waiting' AND held_until IS NOT NULL AND held_until <= :now ORDER BY held_until LIMIT :limit)
    ) ORDER BY due_at, parcel LIMIT :limit
"""
NEXT_DUE = """
    SELECT min(due_at) FROM (
        SELECT * FROM (SELECT due_at FROM parcel INDEXED BY parcel_waiting
            WHERE state = 'waiting' AND held_until IS NULL ORDER BY due_at LIMIT 1)
        UNION ALL
        SELECT * FROM (SELECT held_until FROM parcel INDEXED BY parcel_held
            WHERE state = 'waiting' AND held_until IS NOT NULL ORDER BY held_until LIMIT 1)
    )
"""
OURS = "tenant = ? AND parcel = ? AND fence = ? AND state = 'waiting'"


class SqliteOutgoing:
    """The `Outgoing` port on an open store's file."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    async def take(self, worker: str, *, now: datetime, until: datetime, limit: int) -> tuple[Waiting, ...]:
        with self._store.reading() as db:
            if not db.execute(FREE, {"now": stamp(now), "limit": 1}).fetchall():
                return ()

        def job(db: sqlite3.Connection) -> tuple[Waiting, ...]:
            taken = []
            for name in db.execute(FREE, {"now": stamp(now), "limit": limit}).fetchall():
                taken += db.execute(
                    "UPDATE parcel SET fence = fence + 1, worker = ?, held_until = ?"  # noqa: S608
                    f" WHERE tenant = ? AND parcel = ? RETURNING {posted.NAMES}",
                    (worker, stamp(until), *name),
                ).fetchall()
            return tuple(map(waiting_of, taken))

        return await self._store.writing(job, after=nothing)

    async def delivered(self, waiting: Waiting, *, status: int, now: datetime) -> None:
        def job(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE parcel SET state = 'delivered', attempts = attempts + 1, status = ?, fault = NULL,"  # noqa: S608
                f" updated_at = ?, worker = NULL, held_until = NULL WHERE {OURS}",
                (status, stamp(now), waiting.tenant, waiting.parcel.id, waiting.fence),
            )

        await self._store.writing(job, after=nothing)

    async def failed(self, waiting: Waiting, *, why: str, again: datetime | None, now: datetime) -> None:
        def job(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE parcel SET state = ?, attempts = attempts + 1, due_at = coalesce(?, due_at), fault = ?,"  # noqa: S608
                f" updated_at = ?, worker = NULL, held_until = NULL WHERE {OURS}",
                (
                    "dead" if again is None else "waiting",
                    stamp(again) if again is not None else None,
                    why,
                    stamp(now),
                    waiting.tenant,
                    waiting.parcel.id,
                    waiting.fence,
                ),
            )

        await self._store.writing(job, after=nothing)

    async def again(self, tenant: Tenant, run: StepId, *, now: datetime) -> bool:
        def job(db: sqlite3.Connection) -> bool:
            row = db.execute(
                "SELECT run.kind, run.hook_url, run.hook_secret, run.status, json_extract(step.reply, '$.finish')"  # noqa: S608
                " FROM run LEFT JOIN step ON step.tenant = run.tenant AND step.step = run.run"
                f" WHERE run.tenant = ? AND run.run = ? AND {runs.THERE}",
                (tenant, run),
            ).fetchone()
            if row is None:
                return False
            kind, url, secret, status, finish = row
            return posted.tell(db, tenant, run, (kind, url, secret), status, finish=finish or "", now=stamp(now))

        return await self._store.writing(job, after=nothing)

    async def next_due(self) -> datetime | None:
        with self._store.reading() as db:
            return moment_of(db.execute(NEXT_DUE).fetchone()[0])

    async def abandoned(self) -> None:
        def job(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE parcel SET worker = NULL, held_until = NULL WHERE state = 'waiting' AND held_until IS NOT NULL"
            )

        await self._store.writing(job, after=nothing)
