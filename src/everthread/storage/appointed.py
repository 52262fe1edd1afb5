"""Jobs as rows: what is to be said, and when next."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Any

import msgspec

from everthread.core.ids import Tenant
from everthread.core.job import Job, Standing
from everthread.core.schedule import Cron, Every, Once, Schedule
from everthread.storage import runs
from everthread.storage.rows import UNFINISHED, moment, moment_of

COLUMNS = "job.body, job.next_at, job.fired, job.updated_at"
FIELDS = {field.name: field.type for field in msgspec.structs.fields(Job) if field.name != "schedule"}
SCHEDULES: dict[str, type[Schedule]] = {kind.kind: kind for kind in (Cron, Every, Once)}

OVER = f"""
    SELECT run, status FROM run WHERE tenant = ?1 AND job = ?2 AND NOT run.{UNFINISHED} AND NOT EXISTS
        (SELECT 1 FROM parcel WHERE parcel.tenant = run.tenant AND parcel.run = run.run AND parcel.state = 'waiting')
    LIMIT ?3
"""  # noqa: S608


def text_of(job: Job) -> str:
    body = msgspec.to_builtins(job, builtin_types=(datetime,))
    body["schedule"]["kind"] = job.schedule.kind
    return msgspec.json.encode(body).decode()


def job_of(text: str) -> Job:
    """What a job was not told when it was made, it is not told now either."""
    body = msgspec.json.decode(text)
    given = {name: msgspec.convert(value, FIELDS[name]) for name, value in body.items() if name in FIELDS}
    when = body["schedule"]
    return Job(schedule=msgspec.convert(when, SCHEDULES[when["kind"]]), **given)


def standing_of(row: tuple[Any, ...]) -> Standing:
    """A job from COLUMNS, and how it stands."""
    body, next_at, fired, updated_at = row
    return Standing(job=job_of(body), next_at=moment_of(next_at), fired=fired, updated_at=moment(updated_at))


# --- what goes ---


def remove(db: sqlite3.Connection, tenant: Tenant, job: str) -> bool:
    """It is gone at once, with its words, and what it has not begun is not begun; its history follows in portions."""
    gone = db.execute(
        "UPDATE job SET removed = 1, next_at = NULL, body = '', session = '', session_key = NULL"
        " WHERE tenant = ? AND job = ? AND removed = 0",
        (tenant, job),
    )
    if not gone.rowcount:
        return False
    waiting = db.execute(
        "SELECT run FROM run INDEXED BY run_of_job_unfinished WHERE tenant = ? AND job = ? AND status = 'queued'"  # noqa: S608
        f" AND {UNFINISHED} AND job IS NOT NULL AND held_until IS NULL",
        (tenant, job),
    ).fetchall()
    for (name,) in waiting:
        runs.drop_without_step(db, tenant, name)
    return True


def erase(db: sqlite3.Connection, tenant: str, job: str, portion: int) -> int:
    """A portion of a removed job's history, but for what is yet to be told; and itself, when nothing is left of it.
    How many runs went."""
    over = db.execute(OVER, (tenant, job, portion)).fetchall()
    for name, status in over:
        if status == "completed":
            runs.drop(db, tenant, name)
        else:
            runs.drop_without_step(db, tenant, name)
    db.execute(
        "DELETE FROM job WHERE tenant = ?1 AND job = ?2 AND removed = 1"
        " AND NOT EXISTS (SELECT 1 FROM run WHERE run.tenant = ?1 AND run.job = ?2)",
        (tenant, job),
    )
    return len(over)


def erase_some(db: sqlite3.Connection, limit: int) -> int:
    """What is left of removed jobs, at most so many runs; how many went."""
    gone = 0
    for tenant, job in db.execute(
        "SELECT tenant, job FROM job INDEXED BY job_removed WHERE removed = 1 LIMIT ?", (limit,)
    ).fetchall():
        if gone < limit:
            gone += erase(db, tenant, job, limit - gone)
    return gone
