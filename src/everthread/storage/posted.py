"""Parcels as rows: that something is over is told where it is written, in the same transaction."""

from __future__ import annotations

import sqlite3
from typing import Any

from everthread.core.courier import Parcel
from everthread.core.ids import StepId
from everthread.core.queue import Waiting
from everthread.core.signature import Secret
from everthread.core.view import Hook, RunKind, RunStatus

NAMES = "tenant, parcel, url, secret, body, kind, run, attempts, fence"
CUT_SHORT = ("length", "content_filter")  # how an answer that is not whole has ended

Ended = tuple[RunKind, str | None, str | None]  # a run that is over just now: its kind, and its hook


def waiting_of(row: tuple[Any, ...]) -> Waiting:
    """A parcel from NAMES."""
    tenant, name, url, secret, body, kind, run, attempts, fence = row
    return Waiting(
        tenant=tenant,
        parcel=Parcel(id=name, url=url, secret=Secret(secret), body=body.encode(), kind=kind),
        run=run,
        attempts=attempts,
        fence=fence,
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
        "INSERT INTO parcel VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', 'waiting', 0, ?7, NULL, NULL, 0, NULL, NULL, ?7, ?7)"
        " ON CONFLICT (tenant, parcel) DO UPDATE SET state = 'waiting', attempts = 0, due_at = ?7, status = NULL,"
        " fault = NULL, fence = fence + 1, worker = NULL, held_until = NULL, updated_at = ?7",
        (tenant, f"msg_{run}", run, called, url, secret, now),
    )
    return True


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
