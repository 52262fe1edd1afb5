"""What memory has yet to read: rows that are written with what they speak of, and stay until they are done."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from everthread.core.ids import ScopeId, Tenant
from everthread.core.memory import Dead, Lag, Work, WorkKind
from everthread.storage.rows import moment
from everthread.storage.writer import Later

WORK = "outbox.no, outbox.tenant, outbox.kind, outbox.name, outbox.attempts, outbox.scope"


def row(tenant: str, scope: int, *, kind: WorkKind, name: str, now: int) -> tuple[Any, ...]:
    return (None, tenant, scope, kind, name, 0, 0, None, 0, now)


def put_off(later: Later, tenant: str, scope: int, *, kind: WorkKind, name: str, now: int) -> None:
    """Adds a row at the end of the transaction."""
    later.insert("outbox", row(tenant, scope, kind=kind, name=name, now=now))


def add(db: sqlite3.Connection, tenant: str, scope: int, *, kind: WorkKind, name: str, now: int) -> None:
    db.execute(
        "INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row(tenant, scope, kind=kind, name=name, now=now)
    )


def waiting(
    db: sqlite3.Connection, *, limit: int, now: int, first: Sequence[tuple[Tenant, ScopeId]]
) -> tuple[Work, ...]:
    """What is due, the oldest first; that of the scopes named before all other."""
    found: dict[int, Work] = {}
    for tenant, scope in first:
        rows = db.execute(
            f"SELECT {WORK} FROM outbox JOIN scope ON scope.no = outbox.scope"  # noqa: S608
            " WHERE scope.tenant = ? AND scope.scope = ? AND dead = 0 AND again_at <= ? ORDER BY outbox.no LIMIT ?",
            (tenant, scope, now, limit),
        )
        found.update((no, Work(no, *rest)) for no, *rest in rows)
    if len(found) < limit:
        rows = db.execute(
            f"SELECT {WORK} FROM outbox WHERE dead = 0 AND again_at <= ? ORDER BY no LIMIT ?",  # noqa: S608
            (now, limit),
        )
        found.update((no, Work(no, *rest)) for no, *rest in rows)
    return tuple(found.values())[:limit]


def done(db: sqlite3.Connection, works: Sequence[Work]) -> None:
    db.executemany("DELETE FROM outbox WHERE no = ? AND tenant = ?", [(work.no, work.tenant) for work in works])


def failed(db: sqlite3.Connection, work: Work, *, failure: str, again: int | None, now: int) -> None:
    db.execute(
        "UPDATE outbox SET attempts = attempts + 1, failure = ?, again_at = ?, dead = ? WHERE no = ? AND tenant = ?",
        (failure, again or 0, now if again is None else 0, work.no, work.tenant),
    )


def dead(db: sqlite3.Connection, tenant: Tenant | None, *, limit: int) -> tuple[Dead, ...]:
    rows = db.execute(
        f"SELECT {WORK}, failure, dead FROM outbox WHERE dead != 0 AND (? IS NULL OR tenant = ?)"  # noqa: S608
        " ORDER BY dead, no LIMIT ?",
        (tenant, tenant, limit),
    )
    return tuple(Dead(Work(*row[:6]), row[6], moment(row[7])) for row in rows)


def lag(db: sqlite3.Connection, tenant: Tenant | None) -> Lag:
    waiting, given_up = db.execute(
        "SELECT (SELECT count(*) FROM outbox WHERE dead = 0 AND (?1 IS NULL OR tenant = ?1)),"
        " (SELECT count(*) FROM outbox WHERE dead != 0 AND (?1 IS NULL OR tenant = ?1))",
        (tenant,),
    ).fetchone()
    oldest = db.execute(
        "SELECT created_at FROM outbox WHERE dead = 0 AND (?1 IS NULL OR tenant = ?1) ORDER BY no LIMIT 1", (tenant,)
    ).fetchone()
    return Lag(waiting, moment(oldest[0]) if oldest else None, given_up)


def behind(db: sqlite3.Connection, tenant: Tenant, scope: ScopeId) -> bool:
    row = db.execute(
        "SELECT 1 FROM scope JOIN outbox ON outbox.scope = scope.no AND outbox.dead = 0"
        " WHERE scope.tenant = ? AND scope.scope = ? LIMIT 1",
        (tenant, scope),
    ).fetchone()
    return row is not None


# --- what goes with the ledger's own rows ---


def drop(db: sqlite3.Connection, tenant: str, kind: WorkKind, name: str) -> None:
    db.execute("DELETE FROM outbox WHERE tenant = ? AND name = ? AND kind = ?", (tenant, name, kind))


def drop_sessions(db: sqlite3.Connection, tenant: str, thread: str) -> None:
    """What a thread's sessions and the thread as a whole left to be read; its steps' rows go with them."""
    drop(db, tenant, "thread", thread)
    db.execute(
        "DELETE FROM outbox WHERE tenant = ?1 AND kind = 'session' AND name IN (SELECT session.session FROM lineage"
        " CROSS JOIN session ON session.tenant = lineage.tenant AND session.lineage = lineage.lineage"
        " WHERE lineage.tenant = ?1 AND lineage.thread = ?2)",
        (tenant, thread),
    )


def move(db: sqlite3.Connection, tenant: str, thread: str, scope: int) -> None:
    """A thread's rows go to another scope with it."""
    for kind, names in (
        ("step", "SELECT step FROM step WHERE tenant = ?1 AND thread = ?2"),
        (
            "session",
            "SELECT session.session FROM lineage CROSS JOIN session ON session.tenant = lineage.tenant"
            " AND session.lineage = lineage.lineage WHERE lineage.tenant = ?1 AND lineage.thread = ?2",
        ),
        ("thread", "SELECT ?2 WHERE ?1 = ?1"),
    ):
        db.execute(
            f"UPDATE outbox SET scope = ?3 WHERE tenant = ?1 AND kind = '{kind}' AND name IN ({names})",  # noqa: S608
            (tenant, thread, scope),
        )
