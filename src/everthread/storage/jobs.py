"""Jobs and what came of them, beside the ledger in its file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from everthread.core.ids import StepId, Tenant
from everthread.core.job import Firing, Job, JobId, Standing
from everthread.core.transcript import Order
from everthread.core.view import Fault, Run
from everthread.errors import Malformed
from everthread.storage import appointed, runs
from everthread.storage.appointed import COLUMNS, standing_of
from everthread.storage.rows import UNFINISHED, moment_of, stamp, stamped
from everthread.storage.sqlite import SqliteStore, nothing

ERASED_AT_ONCE = 100  # runs of a removed job: a short while for those who wait
SKIPPED = Fault("skipped", "An earlier run of this job was not over yet.")


class SqliteJobs:
    """The `Jobs` port on an open store's file."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    # --- their owners' side -------------------------------------------------------------------------------------

    async def add(self, tenant: Tenant, standing: Standing) -> None:
        job = standing.job
        row = (
            tenant,
            job.id,
            job.session_id,
            job.session_key,
            appointed.text_of(job),
            stamped(standing.next_at),
            standing.fired,
            stamp(job.created_at),
            stamp(standing.updated_at),
        )
        await self._store.writing(
            lambda db: db.execute("INSERT INTO job VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)", row).rowcount, after=nothing
        )

    async def job(self, tenant: Tenant, job: JobId) -> Standing | None:
        with self._store.reading() as db:
            row = db.execute(
                f"SELECT {COLUMNS} FROM job WHERE tenant = ? AND job = ? AND removed = 0",  # noqa: S608
                (tenant, job),
            ).fetchone()
        return standing_of(row) if row else None

    async def many(
        self, tenant: Tenant, *, after: JobId | None, limit: int, key_prefix: str | None = None
    ) -> tuple[tuple[Standing, ...], bool]:
        wanted = ["tenant = ?", "removed = 0"]
        given: list[object] = [tenant]
        if key_prefix is not None:
            wanted.append("substr(session_key, 1, length(?)) = ?")
            given += [key_prefix, key_prefix]
        where = " AND ".join(wanted)
        with self._store.reading() as db:
            beyond = ""
            if after is not None:
                of = f"SELECT created_at FROM job WHERE {where} AND job = ?"  # noqa: S608
                known = db.execute(of, (*given, after)).fetchone()
                if known is None:
                    raise Malformed(f"after: there is no job {after[:100]!r}.", param="after")
                beyond, given = "AND (created_at, job) > (?, ?)", [*given, known[0], after]
            rows = db.execute(
                f"SELECT {COLUMNS} FROM job INDEXED BY job_by_age WHERE {where} {beyond}"  # noqa: S608
                " ORDER BY created_at, job LIMIT ?",
                (*given, limit + 1),
            ).fetchall()
        return tuple(map(standing_of, rows[:limit])), len(rows) > limit

    async def change(self, tenant: Tenant, job: Job, *, next_at: datetime | None, now: datetime) -> bool:
        def write(db: sqlite3.Connection) -> bool:
            done = db.execute(
                "UPDATE job SET session = ?, session_key = ?, body = ?, next_at = ?,"
                " updated_at = max(?, updated_at + 1)"  # whoever found it as it was is to notice
                " WHERE tenant = ? AND job = ? AND removed = 0",
                (
                    job.session_id,
                    job.session_key,
                    appointed.text_of(job),
                    stamped(next_at),
                    stamp(now),
                    tenant,
                    job.id,
                ),
            )
            return done.rowcount == 1

        return await self._store.writing(write, after=nothing)

    async def remove(self, tenant: Tenant, job: JobId) -> bool:
        if not await self._store.writing(lambda db: appointed.remove(db, tenant, job), after=nothing):
            return False
        while (
            await self._store.writing(lambda db: appointed.erase(db, tenant, job, ERASED_AT_ONCE), after=nothing)
            == ERASED_AT_ONCE
        ):
            pass
        await self._store.cleared(at_once=False)
        return True

    async def runs(
        self, tenant: Tenant, job: JobId, *, after: StepId | None, limit: int, order: Order = "desc"
    ) -> tuple[tuple[Run, ...], bool]:
        where = f"tenant = ? AND job = ? AND {runs.THERE}"
        given: list[object] = [tenant, job]
        beyond, (than, direction) = "", ("<", "DESC") if order == "desc" else (">", "ASC")
        with self._store.reading() as db:
            if after is not None:
                of = f"SELECT scheduled_at FROM run WHERE {where} AND run = ?"  # noqa: S608
                known = db.execute(of, (*given, after)).fetchone()
                if known is None:
                    raise Malformed(f"after: there is no such run of this job: {after[:100]!r}.", param="after")
                beyond, given = f"AND (scheduled_at, run) {than} (?, ?)", [*given, known[0], after]
            rows = db.execute(
                f"SELECT {runs.COLUMNS} FROM run INDEXED BY run_of_job WHERE {where} {beyond}"  # noqa: S608
                f" ORDER BY scheduled_at {direction}, run {direction} LIMIT ?",
                (*given, limit + 1),
            ).fetchall()
        return tuple(map(runs.run_of, rows[:limit])), len(rows) > limit

    async def unfinished(self, tenant: Tenant, job: JobId, *, most: int) -> int:
        with self._store.reading() as db:
            return unfinished(db, tenant, job, most=most)

    async def latest(self, tenant: Tenant, jobs: Sequence[JobId]) -> Mapping[JobId, Run]:
        with self._store.reading() as db:
            rows = db.execute(
                f"SELECT wanted.value, {runs.COLUMNS} FROM json_each(?1) AS wanted"  # noqa: S608
                " CROSS JOIN run ON run.tenant = ?2 AND run.run = (SELECT run.run FROM run INDEXED BY run_of_job"
                f" WHERE tenant = ?2 AND job = wanted.value AND {runs.THERE}"
                " ORDER BY scheduled_at DESC, run DESC LIMIT 1)",
                (msgspec.json.encode(jobs).decode(), tenant),
            ).fetchall()
        return {JobId(job): runs.run_of(tuple(row)) for job, *row in rows}

    # --- the scheduler's side -----------------------------------------------------------------------------------

    async def later(self, *, than: datetime, limit: int) -> tuple[tuple[Tenant, Standing], ...]:
        with self._store.reading() as db:
            rows = db.execute(
                f"SELECT tenant, {COLUMNS} FROM job INDEXED BY job_due WHERE next_at > ? ORDER BY next_at DESC LIMIT ?",  # noqa: S608
                (stamp(than), limit),
            ).fetchall()
        return tuple((Tenant(tenant), standing_of(tuple(row))) for tenant, *row in rows)

    async def due(self, *, now: datetime, limit: int) -> tuple[tuple[Tenant, Standing], ...]:
        with self._store.reading() as db:
            rows = db.execute(
                f"SELECT tenant, {COLUMNS} FROM job INDEXED BY job_due WHERE next_at <= ? ORDER BY next_at LIMIT ?",  # noqa: S608
                (stamp(now), limit),
            ).fetchall()
        return tuple((Tenant(tenant), standing_of(tuple(row))) for tenant, *row in rows)

    async def next_due(self) -> datetime | None:
        with self._store.reading() as db:
            row = db.execute("SELECT min(next_at) FROM job INDEXED BY job_due WHERE next_at IS NOT NULL").fetchone()
        return moment_of(row[0])

    async def fire(
        self, tenant: Tenant, standing: Standing, firing: Firing, runs: Sequence[Run], *, now: datetime
    ) -> bool:
        def write(db: sqlite3.Connection) -> bool:
            moved = db.execute(
                "UPDATE job SET next_at = ? WHERE tenant = ? AND job = ? AND next_at IS ? AND updated_at = ?"
                " AND removed = 0",
                (
                    stamped(firing.next_at),
                    tenant,
                    standing.job.id,
                    stamped(standing.next_at),
                    stamp(standing.updated_at),
                ),
            )
            if moved.rowcount:
                made = fired(db, tenant, standing.job, runs, now)
                db.execute(
                    "UPDATE job SET fired = fired + ? WHERE tenant = ? AND job = ?", (made, tenant, standing.job.id)
                )
            return moved.rowcount == 1

        return await self._store.writing(write, after=nothing)


def fired(db: sqlite3.Connection, tenant: Tenant, job: Job, made: Sequence[Run], now: datetime) -> int:
    """A job's runs, as they are or skipped; how often it has fired. Those that are made at once do not keep each other
    from being run: they wait for each other."""
    busy = job.on_overlap == "skip" and unfinished(db, tenant, job.id, most=1) > 0
    count = 0
    for run in made:
        queued = run.status == "queued"
        given = skipped(run, now) if queued and busy else run
        count += runs.insert(db, tenant, given, known="IGNORE") and queued
    return count


def unfinished(db: sqlite3.Connection, tenant: Tenant, job: JobId, *, most: int) -> int:
    found = db.execute(
        "SELECT 1 FROM run INDEXED BY run_of_job_unfinished WHERE tenant = ? AND job = ? AND job IS NOT NULL"  # noqa: S608
        f" AND {UNFINISHED} LIMIT ?",
        (tenant, job, most),
    )
    return len(found.fetchall())


def skipped(run: Run, now: datetime) -> Run:
    return msgspec.structs.replace(run, status="skipped", turn=b"", fault=SKIPPED, ended_at=now)
