"""Parcels as rows: what has happened is told where it is written, in the same transaction."""

from __future__ import annotations

import hashlib
import sqlite3
from typing import Any

from everthread.core.courier import Parcel
from everthread.core.ids import StepId
from everthread.core.queue import Waiting
from everthread.core.signature import Secret
from everthread.core.view import Hook, RunKind, RunStatus
from everthread.storage import keys

NAMES = "tenant, parcel, url, secret, body, kind, run, attempts, fence, api_key"
CUT_SHORT = ("length", "content_filter")  # how an answer that is not whole has ended

Ended = tuple[RunKind, str | None, str | None]  # a run that is over just now: its kind, and its hook


def waiting_of(row: tuple[Any, ...]) -> Waiting:
    """A parcel from NAMES."""
    tenant, name, url, secret, body, kind, run, attempts, fence, key = row
    return Waiting(
        tenant=tenant,
        parcel=Parcel(id=name, url=url, secret=Secret(secret), body=body.encode(), kind=kind),
        run=run,
        attempts=attempts,
        fence=fence,
        key=key,
    )


def kind_of(kind: RunKind, status: RunStatus, finish: str) -> str | None:
    """What a parcel is called that tells how a run ended; None when nobody is told."""
    match status:
        case "queued" | "running" | "stopping" | "missed" | "skipped":
            return None
        case "completed":
            word = "incomplete" if kind == "response" and finish in CUT_SHORT else "completed"
        case "cancelled":
            word = "failed" if kind == "job" else "cancelled"
        case "failed" | "interrupted":
            word = "failed"
    return f"{'job.run' if kind == 'job' else kind}.{word}"


def hook_of(url: str | None, secret: str | None) -> Hook | None:
    return Hook(url, secret) if url is not None and secret is not None else None


def tell(
    db: sqlite3.Connection, tenant: str, run: StepId, ended: Ended, status: RunStatus, *, finish: str = "", now: int
) -> bool:
    """A parcel that tells how a run ended, if somebody wants to hear of it. There is one of each run, and it bears its
    name: one that was there is sent anew."""
    kind, url, secret = ended
    called = kind_of(kind, status, finish)
    if called is None or url is None:
        return False
    db.execute(
        "INSERT INTO parcel (tenant, parcel, run, kind, url, secret, body, state, attempts, due_at, fence, created_at,"
        " updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', 'waiting', 0, ?7, 0, ?7, ?7)"
        " ON CONFLICT (tenant, parcel) DO UPDATE SET state = 'waiting', attempts = 0, due_at = ?7, status = NULL,"
        " fault = NULL, fence = fence + 1, worker = NULL, held_until = NULL, updated_at = ?7",
        (tenant, f"msg_{run}", run, called, url, secret, now),
    )
    return True


def tell_keys(
    db: sqlite3.Connection, tenant: str, session_key: str | None, kind: str, body: bytes, *, about: str, now: int
) -> None:
    """A parcel for each API key that wants to hear of what belongs to this session key. Its name follows from what it
    says: nothing is told twice. Its body has no words that could be forgotten; those are added when it is sent."""
    for key, hook in keys.hearing(db, tenant, session_key, now):
        name = hashlib.sha256(b"\0".join((tenant.encode(), key.encode(), body))).hexdigest()[:32]
        db.execute(
            "INSERT OR IGNORE INTO parcel (tenant, parcel, kind, url, secret, body, state, attempts, due_at, fence,"
            " created_at, updated_at, api_key, about)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'waiting', 0, ?7, 0, ?7, ?7, ?8, ?9)",
            (tenant, f"msg_{name}", kind, hook.url, hook.secret, body.decode(), now, key, about),
        )


def drop_about(db: sqlite3.Connection, tenant: str, name: str) -> None:
    """Those that tell of a claim which is gone."""
    db.execute("DELETE FROM parcel INDEXED BY parcel_about WHERE tenant = ? AND about = ?", (tenant, name))


def drop_rotations(db: sqlite3.Connection, tenant: str, thread: str) -> None:
    """Those that tell of the sessions of a thread which goes."""
    db.execute(
        "DELETE FROM parcel INDEXED BY parcel_about WHERE tenant = ?1 AND about IN"
        " (SELECT session.session FROM lineage JOIN session ON session.tenant = lineage.tenant"
        " AND session.lineage = lineage.lineage WHERE lineage.tenant = ?1 AND lineage.thread = ?2)",
        (tenant, thread),
    )


def drop_of_run(db: sqlite3.Connection, tenant: str, run: str) -> None:
    db.execute("DELETE FROM parcel WHERE tenant = ? AND run = ?", (tenant, run))


def drop_old(db: sqlite3.Connection, before: int, limit: int) -> int:
    """Those that arrived, or were given up, so long ago; how many."""
    gone = db.execute(
        "DELETE FROM parcel WHERE (tenant, parcel) IN (SELECT tenant, parcel FROM parcel INDEXED BY parcel_done"
        " WHERE state != 'waiting' AND updated_at < ? LIMIT ?)",
        (before, limit),
    )
    return gone.rowcount
