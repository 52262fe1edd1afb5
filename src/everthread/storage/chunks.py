"""The pieces of text that the index covers, as rows: those of a step, and those of what a thread was imported with."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from everthread.core.ids import Tenant
from everthread.core.messages import Message
from everthread.storage import outbox, paths, terms
from everthread.storage.rows import pieces
from everthread.storage.writer import Later
from everthread.wire.chat import stored_messages

INSERT = "INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INDEXED = "chunk_fts (rowid, terms)"

Row = tuple[Any, ...]
Home = tuple[str, int, str, str]  # tenant, the scope's number, thread, lineage


def rows(home: Home, seq: int, step: str | None, said_at: int, messages: Sequence[Message]) -> Iterator[Row]:
    """A row of `chunk`, without its number, for each piece of these messages."""
    for number, message in enumerate(messages):
        for start, text in pieces(message.text):
            yield (*home, seq, message.role, said_at, text, step, message.name, number, start)


def add(db: sqlite3.Connection, new: Iterable[Row]) -> None:
    """The pieces, and their words in the index."""
    (last,) = db.execute("SELECT coalesce(max(no), 0) FROM chunk").fetchone()
    numbered = list(enumerate(new, start=last + 1))
    db.executemany(INSERT, [(no, *row) for no, row in numbered])
    db.executemany(
        f"INSERT INTO {INDEXED} VALUES (?, ?)",  # noqa: S608
        [(no, terms_of(row)) for no, row in numbered],
    )


def put_off(later: Later, new: Iterable[Row]) -> None:
    """The same at the end of the transaction."""
    for row in new:
        later.insert_numbered("chunk", row, index=INDEXED, entry=(terms_of(row),))


def terms_of(row: Row) -> str:
    return terms.scoped(row[1], row[7])


def add_imported(db: sqlite3.Connection, home: Home, prior: bytes | None, now: int) -> None:
    """What a path without an origin was imported with, the newest exchange as 0, those before it as -1, -2 ..."""
    if prior is None:
        return
    tenant, scope, thread, _ = home
    for number, exchange in enumerate(paths.imported(db, Tenant(tenant), prior)):
        add(db, rows(home, -number, None, now, stored_messages(exchange.messages)))
    keyed = db.execute("SELECT 1 FROM scope WHERE no = ? AND session_key IS NOT NULL", (scope,)).fetchone()
    if keyed:
        outbox.add(db, tenant, scope, kind="thread", name=thread, now=now)


def drop(db: sqlite3.Connection, tenant: str, thread: str, lineage: str, seq: int) -> None:
    """The pieces of one step, and their vectors with them."""
    db.execute(
        "DELETE FROM chunk WHERE tenant = ? AND thread = ? AND lineage = ? AND seq = ?", (tenant, thread, lineage, seq)
    )


def drop_some(db: sqlite3.Connection, tenant: str, thread: str, most: int) -> bool:
    """At most so many of a thread's pieces; tells whether none is left."""
    gone = db.execute(
        "DELETE FROM chunk WHERE no IN (SELECT no FROM chunk WHERE tenant = ? AND thread = ? LIMIT ?)",
        (tenant, thread, most),
    )
    return gone.rowcount < most


def part(db: sqlite3.Connection, tenant: str, thread: str, left: int) -> None:
    """What a thread says went to another scope without what it leaves behind: those are not kin any more. Links went
    along with their later passages."""
    db.execute(
        "DELETE FROM kin WHERE (scope, later, earlier) IN (SELECT kin.scope, kin.later, kin.earlier FROM chunk"
        " CROSS JOIN kin ON kin.scope = chunk.scope AND kin.later = chunk.no JOIN chunk AS other"
        " ON other.no = kin.earlier WHERE chunk.tenant = ? AND chunk.thread = ? AND other.scope != chunk.scope)",
        (tenant, thread),
    )
    db.execute(
        "DELETE FROM kin WHERE (scope, later, earlier) IN (SELECT kin.scope, kin.later, kin.earlier FROM chunk"
        " CROSS JOIN kin INDEXED BY kin_of_earlier ON kin.scope = ?3 AND kin.earlier = chunk.no"
        " WHERE chunk.tenant = ?1 AND chunk.thread = ?2 AND chunk.scope != ?3)",
        (tenant, thread, left),
    )
