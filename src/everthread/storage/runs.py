"""Runs as rows: turns that outlive their connections."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import msgspec

from everthread.core.ids import StepId, Tenant
from everthread.core.ports import Commit
from everthread.core.turn import Keep, Replay
from everthread.core.view import OVER, Fault, Run, RunStatus
from everthread.errors import Bug, IdempotencyInProgress, IdempotencyMismatch, SessionMoved
from everthread.storage import journal, posted, shown
from everthread.storage.rows import OURS, UNFINISHED, moment, moment_of, stamp, stamped

NAMES = (
    "run, kind, session, status, created_at, updated_at, turn, told, model, metadata, fault_code, fault, ticket,"
    " ticket_until, session_key, due_at, attempt, retries, timeout, hook_url, hook_secret, started_at, ended_at, job,"
    " scheduled_at, api_key"
)
COLUMNS = ", ".join(f"run.{name}" for name in NAMES.split(", "))
WITHOUT_STEP = "status IN ('failed', 'cancelled', 'interrupted')"
THERE = """
    (run.status != 'completed' OR EXISTS (SELECT 1 FROM step JOIN thread
        ON thread.tenant = step.tenant AND thread.thread = step.thread AND thread.deleted_at IS NULL
        WHERE step.tenant = run.tenant AND step.step = run.run))
"""  # what a thread said that is being erased is gone


def run_of(row: tuple[Any, ...]) -> Run:
    """A run from COLUMNS."""
    name, kind, session, status, created_at, updated_at, turn, told, model, metadata, code, message = row[:12]
    ticket, until, key, due_at, attempt, retries, timeout, url, secret, *rest = row[12:]
    started_at, ended_at, job, scheduled_at, api_key = rest
    return Run(
        id=name,
        kind=kind,
        session=session,
        status=status,
        created_at=moment(created_at),
        updated_at=moment(updated_at),
        turn=turn.encode(),
        told=bool(told),
        model=model,
        metadata=shown.metadata_of(metadata),
        fault=Fault(code, message) if code is not None else None,
        ticket=ticket,
        ticket_until=moment_of(until),
        session_key=key,
        due_at=moment_of(due_at),
        attempt=attempt,
        retries=retries,
        timeout=timeout,
        hook=posted.hook_of(url, secret),
        started_at=moment_of(started_at),
        ended_at=moment_of(ended_at),
        job=job,
        scheduled_at=moment_of(scheduled_at),
        key=api_key,
    )


def run(db: sqlite3.Connection, tenant: Tenant, name: StepId) -> Run | None:
    row = db.execute(
        f"SELECT {COLUMNS} FROM run WHERE tenant = ? AND run = ? AND {THERE}",  # noqa: S608
        (tenant, name),
    ).fetchone()
    return run_of(row) if row else None


# --- a run's life ---


def enqueue(
    db: sqlite3.Connection,
    tenant: Tenant,
    given: Run,
    *,
    keep: Keep | None,
    replay: Replay | None,
    replaying: Callable[[str], bool],
) -> StepId:
    """`replaying` tells whether a turn that has this key runs now."""
    if replay is not None:
        known = replayed(db, tenant, replay, replaying)
        if known is not None:
            return known
        db.execute(
            "INSERT OR REPLACE INTO replay VALUES (?, ?, ?, ?, ?)",
            (tenant, replay.key, replay.fingerprint, given.id, stamp(given.created_at)),
        )
    insert(db, tenant, given)
    if keep is not None:
        now = stamp(given.created_at)
        db.execute(shown.INSERT, shown.row(tenant, given.id, keep, thread=None, model=None, now=now))
    return given.id


def insert(db: sqlite3.Connection, tenant: Tenant, given: Run, *, known: str = "ABORT") -> bool:
    """`known` says what is done if there is one of this name. Tells whether it was not there."""
    fault, hook = given.fault, given.hook
    key = given.session_key if given.session_key is not None else key_of(given.turn)
    values = (
        given.id,
        given.kind,
        given.session,
        given.status,
        stamp(given.created_at),
        stamp(given.updated_at),
        given.turn.decode(),
        given.told,
        given.model,
        shown.text_of(given.metadata),
        fault.code if fault else None,
        fault.message if fault else None,
        given.ticket,
        stamped(given.ticket_until),
        key,
        stamped(given.due_at),
        given.attempt,
        given.retries,
        given.timeout,
        hook.url if hook else None,
        hook.secret if hook else None,
        stamped(given.started_at),
        stamped(given.ended_at),
        given.job,
        stamped(given.scheduled_at),
        given.key,
    )
    made = db.execute(
        f"INSERT OR {known} INTO run (tenant, {NAMES})"  # noqa: S608
        f" VALUES ({', '.join('?' * (1 + len(values)))})",
        (tenant, *values),
    )
    return made.rowcount == 1


class Bound(msgspec.Struct):
    session_key: str | None = None


class Asked(msgspec.Struct):
    """What is to be known of a turn before it runs."""

    envelope: Bound = msgspec.field(default_factory=Bound)


def key_of(turn: bytes) -> str | None:
    return msgspec.json.decode(turn, type=Asked).envelope.session_key if turn else None


def replayed(db: sqlite3.Connection, tenant: Tenant, replay: Replay, replaying: Callable[[str], bool]) -> StepId | None:
    """The run that this key led to, if it is still there."""
    row = db.execute(
        "SELECT replay.fingerprint, replay.step, run.run,"  # noqa: S608
        " EXISTS (SELECT 1 FROM step WHERE step.tenant = replay.tenant AND step.step = replay.step)"
        " FROM replay LEFT JOIN run ON run.tenant = replay.tenant AND run.run = replay.step"
        f" AND {THERE} WHERE replay.tenant = ? AND replay.key = ?",
        (tenant, replay.key),
    ).fetchone()
    if row is None:
        return None
    fingerprint, step, name, said = row
    if step is None and not replaying(replay.key):  # it failed, and could not even be released
        return None
    if step is not None and name is None and not said:  # what it led to is gone
        return None
    if fingerprint != replay.fingerprint:
        raise IdempotencyMismatch
    if step is None:
        raise IdempotencyInProgress(retry_after=1)
    return StepId(name) if name is not None else None


def complete(db: sqlite3.Connection, tenant: Tenant, commit: Commit) -> None:
    """The step that is about to be written is what a run came to, unless that is over, or someone else's by now."""
    step, now = commit.step, stamp(commit.step.stored_at)
    ended = db.execute(
        "UPDATE run SET status = 'completed', turn = '', fault_code = NULL, fault = NULL, updated_at = :now,"  # noqa: S608
        " ended_at = :now, worker = NULL, held_until = NULL"
        f" WHERE tenant = :tenant AND run = :run AND {UNFINISHED} AND {OURS} RETURNING kind, hook_url, hook_secret",
        {"now": now, "tenant": tenant, "run": step.id, "fence": commit.fence},
    ).fetchall()
    if not ended:
        raise SessionMoved("The run is over, or someone else has taken it.")
    journal.drop(db, tenant, step.id)
    shown.answered(db, tenant, commit)
    posted.tell(db, tenant, step.id, ended[0], "completed", finish=step.outcome.choices[0].finish, now=now)


def settle(
    db: sqlite3.Connection,
    tenant: Tenant,
    name: StepId,
    status: RunStatus,
    *,
    fence: int | None,
    fault: Fault | None,
    now: int,
) -> bool:
    if status == "completed":
        raise Bug("A run is completed by its step.")
    over = status in OVER
    ended = db.execute(
        "UPDATE run SET status = :status, fault_code = :code, fault = :fault, updated_at = :now,"  # noqa: S608
        " turn = iif(:over, '', turn), ended_at = iif(:over, :now, NULL),"
        " worker = iif(:over, NULL, worker), held_until = iif(:over, NULL, held_until)"
        f" WHERE tenant = :tenant AND run = :run AND {UNFINISHED} AND {OURS}"
        " AND NOT (status = 'stopping' AND :status IN ('queued', 'running'))"  # that is not taken back
        " RETURNING kind, hook_url, hook_secret",
        {
            "status": status,
            "code": fault.code if fault else None,
            "fault": fault.message if fault else None,
            "now": now,
            "over": over,
            "tenant": tenant,
            "run": name,
            "fence": fence,
        },
    ).fetchall()
    if ended:
        posted.tell(db, tenant, name, ended[0], status, now=now)
    return bool(ended)


# --- what goes ---


def drop(db: sqlite3.Connection, tenant: str, name: str) -> None:
    """A run as if it had never been."""
    db.execute("DELETE FROM run WHERE tenant = ? AND run = ?", (tenant, name))
    journal.drop(db, tenant, name)
    posted.drop_of_run(db, tenant, name)
    db.execute("DELETE FROM view WHERE tenant = ? AND kind = 'response' AND step = ?", (tenant, name))


def drop_without_step(db: sqlite3.Connection, tenant: str, name: str) -> None:
    """A run that came to nothing, or not to anything yet; and the key that led to it."""
    drop(db, tenant, name)
    db.execute("DELETE FROM replay WHERE tenant = ? AND step = ?", (tenant, name))


def drop_unanswered(db: sqlite3.Connection, tenant: str, thread: str) -> None:
    """The runs of a thread that have no step; those that have one go with it."""
    names = db.execute(
        "SELECT run FROM run WHERE tenant = ?1 AND status != 'completed' AND session IN"
        " (SELECT root FROM thread WHERE tenant = ?1 AND thread = ?2 UNION SELECT session.session FROM lineage"
        " CROSS JOIN session ON session.tenant = lineage.tenant AND session.lineage = lineage.lineage"
        " WHERE lineage.tenant = ?1 AND lineage.thread = ?2)",
        (tenant, thread),
    ).fetchall()
    for (name,) in names:
        drop_without_step(db, tenant, name)


def drop_of_key(db: sqlite3.Connection, tenant: str, key: str | None) -> None:
    """The runs under a session key that have no step, wherever they were to go."""
    names = db.execute(
        "SELECT run FROM run WHERE tenant = ? AND session_key = ? AND status != 'completed'", (tenant, key)
    ).fetchall()
    for (name,) in names:
        drop_without_step(db, tenant, name)


def drop_old(db: sqlite3.Connection, before: int, limit: int) -> int:
    """Runs that came to nothing so long ago, but for those of jobs, which are their history; how many."""
    names = db.execute(
        f"SELECT tenant, run FROM run INDEXED BY run_without_step WHERE {WITHOUT_STEP} AND job IS NULL"  # noqa: S608
        " AND updated_at < ? LIMIT ?",
        (before, limit),
    ).fetchall()
    for tenant, name in names:
        drop_without_step(db, tenant, name)
    return len(names)
