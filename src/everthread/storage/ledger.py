"""What a commit writes and an erasure removes, in SQL, each function inside the writer's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from everthread.core.ids import Tenant
from everthread.core.ports import Commit, Exchange
from everthread.core.session import Session
from everthread.errors import SessionMoved
from everthread.storage.rows import input_text, pieces, reply_text, stamp
from everthread.storage.writer import Later


def begin(db: sqlite3.Connection, tenant: Tenant, commit: Commit) -> int:
    """A new thread with its first lineage and session. Returns its scope's number."""
    session, now = commit.session, stamp(commit.step.stored_at)
    try:
        db.execute(
            "INSERT INTO session VALUES (?, ?, ?, ?, NULL, 1, NULL, NULL, NULL, ?)",
            (tenant, session.id, session.thread, session.lineage, now),
        )
    except sqlite3.IntegrityError as error:  # someone else has begun it meanwhile
        raise SessionMoved from error
    scope = scope_number(db, tenant, session, now)
    db.execute(
        "INSERT INTO thread VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?, ?)",
        (
            tenant,
            session.thread,
            scope,
            session.root,
            session.lineage,
            session.named,
            hold_imported(db, tenant, commit.imported),
            now,
            now,
        ),
    )
    db.execute(
        "INSERT INTO lineage VALUES (?, ?, ?, NULL, NULL, ?, ?, ?)",
        (tenant, session.lineage, session.thread, session.id, commit.step.seq, commit.step.rolling),
    )
    return scope


def scope_number(db: sqlite3.Connection, tenant: Tenant, session: Session, now: int) -> int:
    """The scope of the session's key, made when it is new; or one of the thread's own."""
    if session.session_key is not None:
        found = db.execute(
            "SELECT no FROM scope WHERE tenant = ? AND session_key = ?", (tenant, session.session_key)
        ).fetchone()
        if found:
            return int(found[0])
    row = db.execute(
        "INSERT INTO scope (tenant, scope, session_key, created_at) VALUES (?, ?, ?, ?) RETURNING no",
        (tenant, session.scope, session.session_key, now),
    ).fetchone()
    return int(row[0])


def hold_imported(db: sqlite3.Connection, tenant: Tenant, exchanges: Sequence[Exchange]) -> bytes | None:
    """Stores a chain of exchanges, each once per tenant, and holds its end for one thread more."""
    if not exchanges:
        return None
    for place in range(len(exchanges), 0, -1):
        exchange = exchanges[place - 1]
        known = db.execute(
            "UPDATE prior SET held = held + 1 WHERE tenant = ? AND address = ?", (tenant, exchange.address)
        )
        if known.rowcount:
            break
        db.execute(
            "INSERT INTO prior VALUES (?, ?, ?, ?, ?, ?, 1)",
            (
                tenant,
                exchange.address,
                exchanges[place - 2].address if place > 1 else None,
                place,
                input_text(exchange.messages),
                exchange.tokens,
            ),
        )
    return exchanges[-1].address


def drop_imported(db: sqlite3.Connection, tenant: str, end: bytes | None) -> None:
    """Lets go of a chain; exchanges that nothing stands on any more are deleted."""
    while end is not None:
        held, before = db.execute(
            "UPDATE prior SET held = held - 1 WHERE tenant = ? AND address = ? RETURNING held, before",
            (tenant, end),
        ).fetchone()
        if held:
            return
        db.execute("DELETE FROM prior WHERE tenant = ? AND address = ?", (tenant, end))
        end = before


def advance(db: sqlite3.Connection, tenant: Tenant, commit: Commit) -> int:
    """One step further on a known lineage, if it is still where the turn found it. Returns its scope's number."""
    session, step = commit.session, commit.step
    moved = db.execute(
        "UPDATE lineage SET last_seq = ?, rolling = ?"
        " WHERE tenant = ? AND lineage = ? AND thread = ? AND last_seq = ? AND tip = ?",
        (step.seq, step.rolling, tenant, session.lineage, session.thread, session.last_seq, session.id),
    )
    if moved.rowcount != 1:
        raise SessionMoved
    scope: int = db.execute(
        "UPDATE thread SET updated_at = ?, named = ?, head = ? WHERE tenant = ? AND thread = ? RETURNING scope",
        (stamp(step.stored_at), session.named, session.lineage, tenant, session.thread),
    ).fetchone()[0]
    return bind(db, tenant, commit, scope) if commit.bind is not None else scope


def bind(db: sqlite3.Connection, tenant: Tenant, commit: Commit, scope: int) -> int:
    """An unkeyed thread joins a session key, with all that was said in it before."""
    known = db.execute("SELECT no FROM scope WHERE tenant = ? AND session_key = ?", (tenant, commit.bind)).fetchone()
    if known is None:
        db.execute("UPDATE scope SET session_key = ? WHERE no = ?", (commit.bind, scope))
        return scope
    joined = int(known[0])
    thread = commit.session.thread
    db.execute("UPDATE chunk SET scope = ? WHERE tenant = ? AND thread = ?", (joined, tenant, thread))
    db.execute("UPDATE thread SET scope = ? WHERE tenant = ? AND thread = ?", (joined, tenant, thread))
    db.execute("DELETE FROM scope WHERE no = ?", (scope,))
    return joined


def record(later: Later, tenant: Tenant, commit: Commit, scope: int) -> None:
    """The step itself, and its words in the lexical index."""
    session, step = commit.session, commit.step
    said_at, usage = stamp(step.said_at), step.outcome.usage
    later.insert(
        "step",
        (
            None,
            tenant,
            session.lineage,
            step.seq,
            session.thread,
            session.id,
            step.id,
            step.turn,
            step.source,
            input_text(step.input),
            step.answer.raw.decode(),
            reply_text(step),
            said_at,
            stamp(step.stored_at),
            step.message_id,
            step.parent_message_id,
            step.rolling,
            step.tokens,
            usage.prompt,
            usage.completion,
            usage.cached,
            None,
        ),
    )
    for message in step.messages():
        for text in pieces(message.text):
            later.insert(
                "chunk",
                (None, tenant, scope, session.thread, session.lineage, step.seq, message.role, said_at, text),
            )


def erase(db: sqlite3.Connection, tenant: str, thread: str) -> None:
    """A thread and everything derived from it."""
    where = (tenant, thread)
    scope, prior = db.execute("SELECT scope, prior FROM thread WHERE tenant = ? AND thread = ?", where).fetchone()
    db.execute("DELETE FROM chunk WHERE tenant = ? AND thread = ?", where)
    db.execute(
        "DELETE FROM replay WHERE tenant = ? AND step IN"
        " (SELECT step.step FROM lineage JOIN step ON step.tenant = lineage.tenant AND step.lineage = lineage.lineage"
        "  WHERE lineage.tenant = ? AND lineage.thread = ?)",
        (tenant, *where),
    )
    db.execute(
        "DELETE FROM step WHERE tenant = ? AND lineage IN"
        " (SELECT lineage FROM lineage WHERE tenant = ? AND thread = ?)",
        (tenant, *where),
    )
    db.execute(
        "DELETE FROM session WHERE tenant = ? AND lineage IN"
        " (SELECT lineage FROM lineage WHERE tenant = ? AND thread = ?)",
        (tenant, *where),
    )
    db.execute("DELETE FROM lineage WHERE tenant = ? AND thread = ?", where)
    db.execute("DELETE FROM thread WHERE tenant = ? AND thread = ?", where)
    drop_imported(db, tenant, prior)
    db.execute("DELETE FROM scope WHERE no = ? AND session_key IS NULL", (scope,))


def forget_interrupted(db: sqlite3.Connection) -> None:
    """Requests that a previous process left unfinished: no one is running them, so a retry may."""
    db.execute("DELETE FROM replay WHERE step IS NULL")
