"""What steps took: written down with each of them, and added up many at once, off the reply's path.

A sum that is kept up with every step would cost each turn two index look-ups; a row at the end of a short table costs
next to nothing.
"""

from __future__ import annotations

import sqlite3

from everthread.core.turn import Step
from everthread.storage.writer import Later

DAY = 86_400_000_000  # microseconds
ADD_UP_EVERY = 128  # steps
AMOUNTS = ("requests", "prompt", "completion", "cached", "distilling", "searching")
ADDED = ", ".join(f"{name} = {name} + excluded.{name}" for name in AMOUNTS)
SUMS = ", ".join(f"sum({name})" for name in AMOUNTS)

BY_DAY = f"""
    INSERT INTO usage SELECT tenant, day, api_key, job, model, {SUMS} FROM usage_new WHERE true
        GROUP BY tenant, day, api_key, job, model ON CONFLICT DO UPDATE SET {ADDED}
"""  # noqa: S608
BY_SESSION = f"""
    INSERT INTO usage_of_session SELECT tenant, session, day, api_key, job, model, {SUMS} FROM usage_new
        WHERE session != '' GROUP BY tenant, session, day, api_key, job, model ON CONFLICT DO UPDATE SET {ADDED}
"""  # noqa: S608


def count(
    later: Later, tenant: str, step: Step, *, at: int, key: str | None, session: str | None, job: str | None
) -> None:
    """`session` is the id that the conversation began with, of one that is kept."""
    usage, context = step.outcome.usage, step.context
    later.insert(
        "usage_new",
        (
            tenant,
            session or "",
            at // DAY,
            key or "",
            job or "",
            step.outcome.model,
            1,
            usage.prompt,
            usage.completion,
            usage.cached,
            context.distilled,
            context.searching,
        ),
    )


def count_hidden(db: sqlite3.Connection, tenant: str, step: str, *, model: str, tokens: int, at: int) -> None:
    """A call that nobody asked for, counted where the step is that it was about."""
    known = db.execute(
        "SELECT thread.root, step.api_key, run.job FROM step"
        " JOIN thread ON thread.tenant = step.tenant AND thread.thread = step.thread AND thread.deleted_at IS NULL"
        " LEFT JOIN run ON run.tenant = step.tenant AND run.run = step.step WHERE step.tenant = ? AND step.step = ?",
        (tenant, step),
    ).fetchone()
    session, key, job = known or ("", "", "")
    db.execute(
        "INSERT INTO usage_new VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, 0)",
        (tenant, session, at // DAY, key or "", job or "", model, tokens),
    )


def add_up(db: sqlite3.Connection) -> None:
    db.execute(BY_DAY)
    db.execute(BY_SESSION)
    db.execute("DELETE FROM usage_new")


def drop_of_thread(db: sqlite3.Connection, tenant: str, thread: str) -> None:
    """The sums of a session that is deleted; those by day stay, and name no session."""
    add_up(db)
    db.execute(
        "DELETE FROM usage_of_session WHERE tenant = ?1 AND session ="
        " (SELECT root FROM thread WHERE tenant = ?1 AND thread = ?2)",
        (tenant, thread),
    )
