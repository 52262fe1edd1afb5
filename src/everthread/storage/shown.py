"""Responses and stored completions as rows: which step each shows, and what its client asked for."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from everthread.core.ids import StepId, Tenant
from everthread.core.ports import Commit
from everthread.core.transcript import Order
from everthread.core.turn import Keep, ViewKind
from everthread.core.view import Sort, View
from everthread.errors import Malformed
from everthread.storage.rows import moment

INSERT = "INSERT INTO view VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
COLUMNS = (
    "view.step, view.kind, view.request, view.metadata, view.previous, view.conversation, view.background,"
    " view.created_at"
)
THERE = """
    (view.thread IS NULL OR EXISTS (SELECT 1 FROM thread
        WHERE thread.tenant = view.tenant AND thread.thread = view.thread AND thread.deleted_at IS NULL))
"""  # what shows a thread that is being erased is gone


def named(commit: Commit) -> Commit:
    """What a view shows has a name, if only by that."""
    if commit.keep is None or commit.session.named:
        return commit
    return msgspec.structs.replace(commit, session=msgspec.structs.replace(commit.session, named=True))


def row(tenant: str, step: str, keep: Keep, *, thread: str | None, model: str | None, now: int) -> tuple[Any, ...]:
    return (
        tenant,
        keep.kind,
        step,
        thread,
        keep.request.decode(),
        text_of(keep.metadata),
        model,
        keep.previous,
        keep.conversation,
        keep.background,
        now,
    )


def view_of(row: tuple[Any, ...]) -> View:
    """A view from COLUMNS."""
    step, kind, request, metadata, previous, conversation, background, created_at = row
    return View(
        id=step,
        keep=Keep(
            kind=kind,
            request=request.encode(),
            metadata=metadata_of(metadata),
            previous=previous,
            conversation=conversation,
            background=bool(background),
        ),
        created_at=moment(created_at),
    )


def text_of(metadata: Mapping[str, str]) -> str:
    return msgspec.json.encode(metadata).decode()


def metadata_of(text: str | None) -> dict[str, str]:
    return msgspec.json.decode(text, type=dict[str, str]) if text else {}


def view(db: sqlite3.Connection, tenant: Tenant, step: StepId, kind: ViewKind) -> View | None:
    found = db.execute(
        f"SELECT {COLUMNS} FROM view WHERE tenant = ? AND kind = ? AND step = ? AND {THERE}",  # noqa: S608
        (tenant, kind, step),
    ).fetchone()
    return view_of(found) if found else None


def views(
    db: sqlite3.Connection,
    tenant: Tenant,
    kind: ViewKind,
    *,
    sort: Sort,
    after: StepId | None,
    limit: int,
    order: Order,
) -> tuple[tuple[View, ...], bool]:
    down = order == "desc"
    wanted = ["view.tenant = ?", "view.kind = ?", "view.thread IS NOT NULL", THERE]
    given: list[object] = [tenant, kind]
    if after is not None:
        wanted.append(f"(view.created_at, view.step) {'<' if down else '>'} (?, ?)")
        given += [age(db, tenant, kind, after), after]
    if sort.model is not None:
        wanted.append("(view.model = ? OR json_extract(view.request, '$.model') = ?)")
        given += [sort.model, sort.model]
    for name, value in sort.metadata.items():
        wanted.append("EXISTS (SELECT 1 FROM json_each(view.metadata) AS said WHERE said.key = ? AND said.value = ?)")
        given += [name, value]
    if sort.key_prefix is not None:
        wanted.append(
            "EXISTS (SELECT 1 FROM thread JOIN scope ON scope.no = thread.scope WHERE thread.tenant = view.tenant"
            " AND thread.thread = view.thread AND substr(scope.session_key, 1, length(?)) = ?)"
        )
        given += [sort.key_prefix, sort.key_prefix]
    direction = "DESC" if down else "ASC"
    rows = db.execute(
        f"SELECT {COLUMNS} FROM view INDEXED BY view_by_age WHERE {' AND '.join(wanted)}"  # noqa: S608
        f" ORDER BY view.created_at {direction}, view.step {direction} LIMIT ?",
        (*given, limit + 1),
    ).fetchall()
    return tuple(map(view_of, rows[:limit])), len(rows) > limit


def age(db: sqlite3.Connection, tenant: Tenant, kind: ViewKind, step: StepId) -> int:
    found = db.execute(
        f"SELECT created_at FROM view WHERE tenant = ? AND kind = ? AND step = ? AND thread IS NOT NULL AND {THERE}",  # noqa: S608
        (tenant, kind, step),
    ).fetchone()
    if found is None:
        raise Malformed(f"after: there is no {kind} {step[:100]!r}.", param="after")
    return int(found[0])


def label(db: sqlite3.Connection, tenant: Tenant, step: StepId, kind: ViewKind, metadata: Mapping[str, str]) -> bool:
    done = db.execute(
        f"UPDATE view SET metadata = ? WHERE tenant = ? AND kind = ? AND step = ? AND {THERE}",  # noqa: S608
        (text_of(metadata), tenant, kind, step),
    )
    return done.rowcount == 1


def answered(db: sqlite3.Connection, tenant: Tenant, commit: Commit) -> None:
    """The run of the step's name has come to something: its view, if there is one, shows it."""
    db.execute(
        "UPDATE view SET thread = ?, model = ? WHERE tenant = ? AND kind = 'response' AND step = ?",
        (commit.session.thread, commit.step.outcome.model, tenant, commit.step.id),
    )


def inherit(db: sqlite3.Connection, tenant: str, span: tuple[str, str, int, int], thread: str) -> None:
    """The views and runs of steps that a fork takes over show its thread from now on."""
    steps = "SELECT step FROM step WHERE tenant = ? AND lineage = ? AND seq BETWEEN ? AND ?"
    db.execute(
        "UPDATE view SET thread = ? WHERE tenant = ? AND kind IN ('response', 'completion')"  # noqa: S608
        f" AND step IN ({steps})",
        (thread, tenant, *span),
    )
    db.execute(
        "UPDATE run SET session = (SELECT root FROM thread WHERE tenant = ? AND thread = ?)"  # noqa: S608
        f" WHERE tenant = ? AND run IN ({steps})",
        (tenant, thread, tenant, *span),
    )


def drop(db: sqlite3.Connection, tenant: Tenant, step: StepId, kind: ViewKind) -> tuple[bool, str | None]:
    """Whether it was there; and the thread that nobody named and of which no view is left."""
    found = db.execute(
        f"DELETE FROM view WHERE tenant = ? AND kind = ? AND step = ? AND {THERE} RETURNING thread",  # noqa: S608
        (tenant, kind, step),
    ).fetchone()
    if found is None:
        return False, None
    (thread,) = found
    if thread is None:
        return True, None
    bare = db.execute(
        "SELECT 1 FROM thread WHERE tenant = ?1 AND thread = ?2 AND asked = 0"
        " AND NOT EXISTS (SELECT 1 FROM view WHERE view.tenant = ?1 AND view.thread = ?2)"
        " AND NOT EXISTS (SELECT 1 FROM run WHERE run.tenant = ?1 AND run.session = thread.root"
        "     AND run.status IN ('queued', 'running', 'stopping'))",
        (tenant, thread),
    ).fetchone()
    return True, thread if bare else None
