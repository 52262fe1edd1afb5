"""Claims as rows: written, moved, and taken away with what they were drawn from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import msgspec

from everthread.core import reversal
from everthread.core.claim import Claim
from everthread.storage import posted
from everthread.storage.rows import stamp
from everthread.wire import parcels

PLACES = 1 << 32  # more characters than a message has

UPSERT = """
    INSERT INTO claim (tenant, scope, claim, step, kind, state, pinned, said_at, seq, place, recorded_at,
        superseded_by, supersedes, cause, quote, body, model, vector)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant, claim) DO UPDATE SET
        scope = excluded.scope, step = excluded.step, kind = excluded.kind, state = excluded.state,
        pinned = excluded.pinned, said_at = excluded.said_at, seq = excluded.seq, place = excluded.place,
        recorded_at = excluded.recorded_at, superseded_by = excluded.superseded_by, supersedes = excluded.supersedes,
        cause = excluded.cause, quote = excluded.quote, body = excluded.body,
        model = coalesce(excluded.model, model), vector = coalesce(excluded.vector, vector)
"""
UPDATE = """
    UPDATE claim SET state = ?, pinned = ?, superseded_by = ?, supersedes = ?, cause = ?, body = ?
    WHERE tenant = ? AND claim = ?
"""
LINKED = """
    SELECT body FROM claim INDEXED BY claim_by_successor WHERE tenant = ?1 AND superseded_by = ?2
    UNION SELECT body FROM claim INDEXED BY claim_by_predecessor WHERE tenant = ?1 AND supersedes = ?2
    UNION SELECT body FROM claim INDEXED BY claim_by_cause WHERE tenant = ?1 AND cause = ?2
"""


def claim_of(body: str) -> Claim:
    return msgspec.json.decode(body, type=Claim)


def body_of(claim: Claim) -> str:
    return msgspec.json.encode(msgspec.structs.replace(claim, session=None)).decode()


def put(
    db: sqlite3.Connection, tenant: str, scope: int, claim: Claim, *, vector: bytes | None = None, model: str = ""
) -> None:
    """Writes a claim, new or changed; a vector that it has stays unless another is given."""
    db.execute(
        UPSERT,
        (
            tenant,
            scope,
            claim.id,
            claim.step,
            claim.kind,
            claim.state,
            claim.pinned,
            stamp(claim.said_at),
            claim.seq,
            claim.span.message * PLACES + claim.span.start,
            stamp(claim.recorded_at),
            claim.superseded_by,
            claim.supersedes,
            claim.cause,
            claim.quote,
            body_of(claim),
            model if vector is not None else None,
            vector,
        ),
    )


def remember(
    db: sqlite3.Connection,
    tenant: str,
    scope: str,
    claims: Sequence[Claim],
    *,
    vectors: Sequence[bytes],
    model: str,
) -> None:
    """Writes claims where their steps are now; one whose step was deleted meanwhile is left out."""
    given = db.execute("SELECT no FROM scope WHERE tenant = ? AND scope = ?", (tenant, scope)).fetchone()
    for number, claim in enumerate(claims):
        home = given
        if claim.step is not None:
            home = db.execute(
                "SELECT thread.scope FROM step JOIN thread ON thread.tenant = step.tenant"
                " AND thread.thread = step.thread AND thread.deleted_at IS NULL"
                " WHERE step.tenant = ? AND step.step = ?",
                (tenant, claim.step),
            ).fetchone()
        if home is not None:
            vector = vectors[number] if number < len(vectors) else None
            turned = is_turning(db, tenant, claim)
            put(db, tenant, home[0], claim, vector=vector, model=model)
            if turned:
                tell(db, tenant, home[0], claim)


def is_turning(db: sqlite3.Connection, tenant: str, claim: Claim) -> bool:
    """Whether it has held until now, or was contested, and does not hold any more because of another."""
    if claim.state != "reversed" or claim.superseded_by is None:
        return False
    row = db.execute("SELECT state FROM claim WHERE tenant = ? AND claim = ?", (tenant, claim.id)).fetchone()
    return row is not None and row[0] in {"current", "unresolved"}


def tell(db: sqlite3.Connection, tenant: str, scope: int, old: Claim) -> None:
    """That a claim is reversed, to those API keys that want to hear of it."""
    if old.superseded_by is None:
        return
    at = old.closed_at or old.recorded_at
    (key,) = db.execute("SELECT session_key FROM scope WHERE no = ?", (scope,)).fetchone()
    told = parcels.reversal(old.superseded_by, old.id, key, at)
    posted.tell_keys(db, tenant, key, parcels.REVERSED, told, about=old.superseded_by, now=stamp(at))


def move(db: sqlite3.Connection, tenant: str, thread: str, scope: int) -> None:
    """The claims drawn from a thread's steps go to another scope with it."""
    db.execute(
        "UPDATE claim SET scope = ?3 WHERE tenant = ?1 AND step IN"
        " (SELECT step FROM step WHERE tenant = ?1 AND thread = ?2)",
        (tenant, thread, scope),
    )


# --- taking away ---


def drop_of_steps(db: sqlite3.Connection, tenant: str, steps: Iterable[str]) -> None:
    """The claims drawn from these steps. What they had replaced holds again."""
    for step in steps:
        bodies = db.execute("SELECT body FROM claim WHERE tenant = ? AND step = ?", (tenant, step)).fetchall()
        drop(db, tenant, [claim_of(body) for (body,) in bodies])


def drop_of_scope(db: sqlite3.Connection, scope: int) -> None:
    """Whatever is left of a scope that is gone: what people added by hand."""
    db.execute("DELETE FROM claim WHERE scope = ?", (scope,))


def drop(db: sqlite3.Connection, tenant: str, claims: Sequence[Claim]) -> None:
    """Deletes claims and every link to them. What one of them had replaced holds again, or gives way to what had
    replaced that one in its turn."""
    for gone in claims:
        db.execute("DELETE FROM claim WHERE tenant = ? AND claim = ?", (tenant, gone.id))
        posted.drop_about(db, tenant, gone.id)
    for gone in claims:
        heir = None
        if gone.state == "reversed" and gone.superseded_by is not None:
            heir = find(db, tenant, gone.superseded_by)
        for (body,) in db.execute(LINKED, (tenant, gone.id)).fetchall():
            rewrite(db, tenant, reversal.without(claim_of(body), gone, heir))


def find(db: sqlite3.Connection, tenant: str, claim: str) -> Claim | None:
    row = db.execute("SELECT body FROM claim WHERE tenant = ? AND claim = ?", (tenant, claim)).fetchone()
    return claim_of(row[0]) if row else None


def rewrite(db: sqlite3.Connection, tenant: str, claim: Claim) -> None:
    """A known claim with other links; its words stay."""
    db.execute(
        UPDATE,
        (
            claim.state,
            claim.pinned,
            claim.superseded_by,
            claim.supersedes,
            claim.cause,
            body_of(claim),
            tenant,
            claim.id,
        ),
    )
