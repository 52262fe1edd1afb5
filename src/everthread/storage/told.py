"""Steps as memory reads them, and where what is remembered comes from."""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from everthread.core.claim import Block, Claim, ClaimId
from everthread.core.ids import ScopeId, SessionId, StepId, Tenant
from everthread.core.memory import Given, Kept, Source, Told, View, Work
from everthread.core.session import Session
from everthread.storage import sight
from everthread.storage.claims import claim_of
from everthread.storage.rows import FIND, TIP, block_of, moment, said, session_of
from everthread.storage.sight import Path, Paths

COLUMNS = "step.step, step.seq, step.input, step.output, step.said_at"


def told(db: sqlite3.Connection, tenant: Tenant, step: StepId) -> Told | None:
    """A step with the tip of its path; None when it is gone, or going."""
    row = db.execute(
        f"SELECT lineage, {COLUMNS} FROM step WHERE tenant = ? AND step = ?",  # noqa: S608
        (tenant, step),
    ).fetchone()
    session = tip(db, tenant, row[0]) if row is not None else None
    return told_of(row[1:], session) if session is not None else None


def evicted(db: sqlite3.Connection, paths: Paths, work: Work) -> tuple[Told, ...]:
    """The steps that a session's beginning pushed out of its window, the oldest first; with the tip of its path."""
    found = db.execute(
        "SELECT lineage FROM session WHERE tenant = ? AND session = ?", (work.tenant, work.name)
    ).fetchone()
    session = tip(db, work.tenant, found[0]) if found is not None and work.kind == "session" else None
    if session is None:
        return ()
    rows = [
        row
        for stretch in sight.evicted(db, paths, work.tenant, work.name)
        for row in db.execute(
            f"SELECT {COLUMNS} FROM step WHERE tenant = ? AND lineage = ? AND seq BETWEEN ? AND ?"  # noqa: S608
            " ORDER BY seq DESC",
            (work.tenant, stretch.lineage, stretch.first, stretch.last),
        )
    ]
    return tuple(one for row in reversed(rows) if (one := told_of(row, session)).messages)


def tip(db: sqlite3.Connection, tenant: Tenant, lineage: str) -> Session | None:
    row = db.execute(TIP, (tenant, lineage)).fetchone()
    return session_of(row) if row else None


def told_of(row: tuple[Any, ...], session: Session) -> Told:
    step, seq, given, output, said_at = row
    return Told(
        step=step,
        seq=seq,
        session=session,
        scope=session.scope,
        session_key=session.session_key,
        messages=said(given, output),
        said_at=moment(said_at),
    )


def opened(db: sqlite3.Connection, paths: Paths, view: View, seq: int, session: SessionId | None) -> Told | None:
    """The step with this number on the view's own path, or on the newest path of another thread of its scope."""
    path = path_named(db, paths, view, session)
    for stretch in path:
        if stretch.first <= seq <= stretch.last and seq > 0:
            row = db.execute(
                "SELECT step FROM step WHERE tenant = ? AND lineage = ? AND seq = ?",
                (view.tenant, stretch.lineage, seq),
            ).fetchone()
            return told(db, view.tenant, StepId(row[0])) if row else None
    return None


def path_named(db: sqlite3.Connection, paths: Paths, view: View, session: SessionId | None) -> Path:
    own = sight.own(db, paths, view.tenant, view.session) if view.session is not None else ()
    if session is None:
        return own
    row = db.execute(FIND, (view.tenant, session)).fetchone()
    if row is None:
        return ()
    named = session_of(row)
    if view.session is not None and named.thread == view.session.thread:
        return own
    if named.scope != view.scope:
        return ()
    (head,) = db.execute(
        "SELECT head FROM thread WHERE tenant = ? AND thread = ?", (view.tenant, named.thread)
    ).fetchone()
    return paths.of(db, view.tenant, head)


def kept(db: sqlite3.Connection, tenant: Tenant, claim: ClaimId) -> Kept | None:
    row = db.execute(
        "SELECT claim.body, thread.root, scope.scope, scope.session_key FROM claim"
        " JOIN scope ON scope.no = claim.scope"
        " LEFT JOIN step ON step.tenant = claim.tenant AND step.step = claim.step"
        " LEFT JOIN thread ON thread.tenant = step.tenant AND thread.thread = step.thread"
        " WHERE claim.tenant = ? AND claim.claim = ?",
        (tenant, claim),
    ).fetchone()
    if row is None:
        return None
    body, root, scope, key = row
    return Kept(msgspec.structs.replace(claim_of(body), session=root), ScopeId(scope), key)


def source(db: sqlite3.Connection, tenant: Tenant, claim: Claim) -> Source | None:
    """The message that a claim quotes; None when a person added it by hand, or its step is gone."""
    row = db.execute(
        "SELECT thread.root, step.session, step.step, step.turn, step.seq, step.place, step.input, step.output,"
        " step.said_at FROM step JOIN thread ON thread.tenant = step.tenant AND thread.thread = step.thread"
        " AND thread.deleted_at IS NULL WHERE step.tenant = ? AND step.step = ?",
        (tenant, claim.step),
    ).fetchone()
    if row is None:
        return None
    root, session, step, turn, seq, place, given, output, said_at = row
    messages = said(given, output)
    if claim.span.message >= len(messages):
        return None
    message = messages[claim.span.message]
    return Source(
        root=root,
        session=session,
        step=step,
        turn=turn,
        seq=seq,
        place=place - len(messages) + 1 + claim.span.message,
        role=message.role,
        text=message.text,
        said_at=moment(said_at),
    )


def given(db: sqlite3.Connection, tenant: Tenant, step: StepId) -> Given | None:
    """What a step's reply was given from memory."""
    row = db.execute(
        "SELECT thread.root, step.session, scope.session_key, step.seq, step.said_at, step.tail, session.profile"
        " FROM step JOIN thread ON thread.tenant = step.tenant AND thread.thread = step.thread"
        " AND thread.deleted_at IS NULL JOIN scope ON scope.no = thread.scope"
        " LEFT JOIN session ON session.tenant = step.tenant AND session.session = step.session"
        " WHERE step.tenant = ? AND step.step = ?",
        (tenant, step),
    ).fetchone()
    if row is None:
        return None
    root, session, key, seq, said_at, tail, profile = row
    return Given(
        root=root,
        session=session,
        session_key=key,
        step=step,
        seq=seq,
        said_at=moment(said_at),
        tail=block_of(tail) or Block(),
        profile=block_of(profile) or Block(),
    )
