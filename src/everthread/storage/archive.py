"""Threads as their owner looks at them, in SQL: lists, transcripts, trees; and what changes a thread as a whole."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from everthread.core.claim import Block
from everthread.core.ids import LineageId, ScopeId, SessionId, SessionKey, Tenant
from everthread.core.session import Place, Session
from everthread.core.transcript import Branch, Card, Entry, Order, Page
from everthread.errors import Malformed, SessionExists, SessionMoved
from everthread.storage import ledger, paths
from everthread.storage.rows import NO_ANSWER, moment
from everthread.wire.chat import stored_messages

MOST_BYTES = 4 * 1024 * 1024  # of one page's messages, one step more or less
MERGED_AT_ONCE = 200  # pages of the lexical index: some milliseconds
PAUSE = 0.01  # seconds between two portions, so that turns can be written
IMPORT = "import"

# --- cards ---

CARD = """
    session.session, thread.root, session.parent, lineage.lineage, scope.session_key, thread.title, thread.source,
    thread.created_at, thread.updated_at, session.created_at, session.end_reason, session.ended_at,
    lineage.tip, head.tip, lineage.messages, lineage.prompt_tokens, lineage.completion_tokens, lineage.cached_tokens,
    session.began, session.prompt_tokens, session.completion_tokens, session.cached_tokens, session.distilled,
    later.began, later.prompt_tokens, later.completion_tokens, later.cached_tokens,
    EXISTS (SELECT 1 FROM lineage AS origin WHERE origin.tenant = lineage.tenant
        AND origin.lineage = lineage.fork_lineage AND origin.thread = lineage.thread),
    (SELECT json_array(json_extract(step.reply, '$.model'), step.stored_at) FROM step
        WHERE step.tenant = lineage.tenant AND step.lineage = lineage.lineage
        AND step.seq < coalesce(later.from_seq, lineage.last_seq + 1) AND step.source != 'import'
        ORDER BY step.seq DESC LIMIT 1)
"""
BEGAN = 18  # where in CARD the counts of the beginning are
WITH_ALL = """
    JOIN thread ON thread.tenant = session.tenant AND thread.thread = session.thread
    JOIN lineage ON lineage.tenant = session.tenant AND lineage.lineage = session.lineage
    JOIN scope ON scope.no = thread.scope
    JOIN lineage AS head ON head.tenant = thread.tenant AND head.lineage = thread.head
    LEFT JOIN session AS later ON later.tenant = session.tenant AND later.session = (
        SELECT next.session FROM session AS next WHERE next.tenant = session.tenant
            AND next.lineage = session.lineage AND next.from_seq >= session.from_seq
            AND (next.from_seq, next.created_at) > (session.from_seq, session.created_at)
        ORDER BY next.from_seq, next.created_at LIMIT 1)
"""
NEWEST = "thread.updated_at DESC, thread.thread DESC, session.created_at DESC, session.from_seq DESC"
HEADS = """
    CROSS JOIN lineage ON lineage.tenant = thread.tenant AND lineage.lineage = thread.head
    CROSS JOIN session ON session.tenant = lineage.tenant AND session.session = lineage.tip
"""
ALL = """
    CROSS JOIN lineage ON lineage.tenant = thread.tenant AND lineage.thread = thread.thread
    CROSS JOIN session INDEXED BY session_of_lineage
        ON session.tenant = lineage.tenant AND session.lineage = lineage.lineage
"""


def card_of(row: tuple[Any, ...]) -> Card:
    """A card from CARD. A lineage's tip stands for all of it; any other session for its own part."""
    (name, root, parent, lineage, key, title, source) = row[:7]
    (thread_began, thread_moved, created, reason, ended, tip, head_tip) = row[7:14]
    whole, began, distilled, later, branch, newest = row[14:18], row[BEGAN:22], row[22], row[23:27], row[27], row[28]
    model, answered = msgspec.json.decode(newest) if newest else (None, None)
    stands_for_all = name == tip
    if stands_for_all:
        counts, created = whole, thread_began
        updated = thread_moved if tip == head_tip else answered or created
    else:
        counts = tuple(end - start for start, end in zip(began, later if later[0] is not None else whole, strict=True))
        updated = ended or thread_moved
    return Card(
        id=name,
        root=root,
        tip=head_tip if name == root else tip,
        parent=parent,
        lineage=lineage,
        branch=bool(branch),
        session_key=key,
        title=title,
        source=source,
        model=model,
        created_at=moment(created),
        updated_at=moment(updated),
        end_reason=reason,
        ended_at=moment(ended) if ended else None,
        messages=counts[0],
        prompt_tokens=counts[1],
        completion_tokens=counts[2],
        cached_tokens=counts[3],
        distilled_tokens=distilled,
    )


def cards(
    db: sqlite3.Connection,
    tenant: Tenant,
    *,
    session_key: SessionKey | None,
    key_prefix: str | None,
    source: str | None,
    include_children: bool,
    limit: int,
    offset: int,
) -> tuple[Card, ...]:
    wanted = ["thread.tenant = ?", "thread.deleted_at IS NULL"]
    given: list[str | int] = [tenant]
    if session_key is not None:
        wanted.append("thread.scope = (SELECT no FROM scope WHERE tenant = ? AND session_key = ?)")
        given += [tenant, session_key]
    if key_prefix is not None:
        wanted.append("substr((SELECT session_key FROM scope WHERE no = thread.scope), 1, ?) = ?")
        given += [len(key_prefix), key_prefix]
    if source is not None:
        wanted.append("thread.source = ?")
        given.append(source)
    rows = db.execute(
        f"SELECT {CARD} FROM (SELECT session.tenant, session.session FROM thread {ALL if include_children else HEADS}"  # noqa: S608
        f" WHERE {' AND '.join(wanted)} ORDER BY {NEWEST} LIMIT ? OFFSET ?) AS page CROSS JOIN session"
        f" ON session.tenant = page.tenant AND session.session = page.session {WITH_ALL} ORDER BY {NEWEST}",
        (*given, limit, offset),
    )
    return tuple(map(card_of, rows))


def card(db: sqlite3.Connection, tenant: Tenant, session_id: SessionId) -> Card | None:
    row = db.execute(
        f"SELECT {CARD} FROM session {WITH_ALL} WHERE session.tenant = ? AND session.session = ?",  # noqa: S608
        (tenant, session_id),
    ).fetchone()
    return card_of(row) if row else None


def tree(db: sqlite3.Connection, tenant: Tenant, session: Session) -> tuple[Branch, ...]:
    branches: list[Branch] = []
    lineages = db.execute(
        "SELECT lineage.lineage, fork_lineage, lineage.lineage = thread.head FROM lineage JOIN thread"
        " ON thread.tenant = lineage.tenant AND thread.thread = lineage.thread"
        " WHERE lineage.tenant = ? AND lineage.thread = ? ORDER BY lineage.lineage",
        (tenant, session.thread),
    ).fetchall()
    for lineage, fork, head in lineages:
        rows = db.execute(
            f"SELECT {CARD} FROM session INDEXED BY session_of_lineage {WITH_ALL}"  # noqa: S608
            " WHERE session.tenant = ? AND session.lineage = ? ORDER BY session.from_seq, session.created_at",
            (tenant, lineage),
        ).fetchall()
        branches.append(
            Branch(
                lineage=LineageId(lineage),
                fork=fork,
                fork_messages=rows[0][BEGAN] if fork is not None else 0,
                head=bool(head),
                sessions=tuple(card_of(row) for row in rows),
            )
        )
    return tuple(branches)


# --- transcripts ---


class Spot(msgspec.Struct, frozen=True):
    """Where in a transcript a message is: in a step or an imported exchange, and which of its messages it is."""

    imported: bool
    at: str  # the step, or the place of the exchange
    number: int


def spot_of(entry: str) -> Spot | None:
    """What a message's id says, if it is one."""
    head, _, number = entry.rpartition("_")
    kind, _, at = head.partition("_")
    if kind != "msg" or not at or not number.isdecimal() or len(number) > 6:
        return None
    outside, _, place = at.partition("_")
    if outside == IMPORT and place.isdecimal() and len(place) <= 9:
        return Spot(imported=True, at=place, number=int(number))
    return Spot(imported=False, at=at, number=int(number))


class Unknown(Exception):
    """No message of this path has that id."""


class Reel:
    """A session's path as pieces in either order: imported exchanges, then steps, from any message on."""

    def __init__(self, db: sqlite3.Connection, tenant: Tenant, session: Session, order: Order) -> None:
        self._db = db
        self._tenant = tenant
        self._session = session
        self._down = order == "desc"

    def entries(self, after: str | None) -> Iterator[list[Entry]]:
        """One list for each exchange or step."""
        if after is None:
            yield from self._all()
            return
        spot = spot_of(after)
        if spot is None:
            raise Unknown
        if spot.imported:
            place = int(spot.at)
            exchanges = self._imported(up_to=place) if self._down else self._imported(since=place)
            yield from rest(exchanges, after)
            if not self._down:
                yield from self._steps()
            return
        yield from rest(self._steps(self.find(spot)), after)
        if self._down:
            yield from self._imported()

    def find(self, spot: Spot) -> tuple[str, int]:
        """The lineage and number of a step of this path."""
        found = paths.find(self._db, self._tenant, self._session, spot.at)
        if found is None:
            raise Unknown
        return found

    def _all(self) -> Iterator[list[Entry]]:
        if self._down:
            yield from self._steps()
            yield from self._imported()
        else:
            yield from self._imported()
            yield from self._steps()

    def _steps(self, at: tuple[str, int] | None = None) -> Iterator[list[Entry]]:
        for lineage, first, last in paths.stretches(self._db, self._tenant, self._session, down=self._down, at=at):
            rows = self._db.execute(
                "SELECT step, turn, session, source, input, output, reply, said_at, completion_tokens FROM step"  # noqa: S608
                " WHERE tenant = ? AND lineage = ? AND seq BETWEEN ? AND ?"
                f" ORDER BY seq {'DESC' if self._down else 'ASC'}",
                (self._tenant, lineage, first, last),
            )
            for row in rows:
                yield self._ordered(entries_of(row))

    def _imported(self, *, since: int = 0, up_to: int | None = None) -> Iterator[list[Entry]]:
        end = self._session.prior
        chain = paths.exchanges(self._db, self._tenant, end, down=self._down, since=since, up_to=up_to)
        for place, messages in chain:
            yield self._ordered(
                [
                    Entry(id=f"msg_{IMPORT}_{place}_{number}", session=None, message=message, turn=None, said_at=None)
                    for number, message in enumerate(stored_messages(messages))
                ]
            )

    def _ordered(self, entries: list[Entry]) -> list[Entry]:
        return entries[::-1] if self._down else entries


def rest(pieces: Iterator[list[Entry]], after: str) -> Iterator[list[Entry]]:
    """The pieces, the first of them without what was seen of it."""
    first = next(pieces, [])
    seen = next((number for number, entry in enumerate(first, start=1) if entry.id == after), None)
    if seen is None:
        raise Unknown
    yield first[seen:]
    yield from pieces


class Told(msgspec.Struct):
    """What an entry shows of a step's reply."""

    model: str
    finish: str
    reasoning: str = ""


def entries_of(row: tuple[Any, ...]) -> list[Entry]:
    step, turn, session, source, given, output, reply, said_at, completion = row
    told = msgspec.json.decode(reply, type=Told)
    inputs = stored_messages(given)
    entries = [
        Entry(
            id=f"msg_{step}_{number}",
            session=session,
            message=message,
            turn=turn,
            said_at=moment(said_at),
            source=source,
        )
        for number, message in enumerate(inputs)
    ]
    if output == NO_ANSWER:
        return entries
    (answer,) = stored_messages(f"[{output}]")
    entries.append(
        Entry(
            id=f"msg_{step}_{len(inputs)}",
            session=session,
            message=answer,
            turn=turn,
            said_at=moment(said_at),
            finish=told.finish,
            reasoning=told.reasoning or None,
            tokens=completion,
            model=told.model,
            source=source,
        )
    )
    return entries


def transcript(
    db: sqlite3.Connection, tenant: Tenant, session: Session, *, after: str | None, limit: int, order: Order
) -> Page:
    still_there(db, tenant, session)
    page: list[Entry] = []
    size = 0
    try:
        for some in Reel(db, tenant, session, order).entries(after):
            for entry in some:
                if len(page) == limit or (page and size > MOST_BYTES):
                    return Page(tuple(page), more=True)
                page.append(entry)
                size += len(entry.message.raw)
    except Unknown as error:
        raise missing(after or "", "after") from error
    return Page(tuple(page), more=False)


def place(db: sqlite3.Connection, tenant: Tenant, session: Session, entry: str | None) -> Place:
    """The place after the step that a message belongs to, or after the newest."""
    still_there(db, tenant, session)
    if entry is None:
        return paths.after(db, tenant, session.lineage, session.last_seq)
    spot = spot_of(entry)
    if spot is not None and spot.imported:
        for exchange in paths.imported(db, tenant, session.prior):
            if exchange.place == int(spot.at):
                return paths.before_first(session.lineage, session.id, exchange, last=False)
    elif spot is not None:
        with suppress(Unknown):
            return paths.after(db, tenant, *Reel(db, tenant, session, "asc").find(spot))
    raise missing(entry, "at")


def missing(entry: str, param: str) -> Malformed:
    return Malformed(f"{param}: there is no message {entry[:100]!r} in this session.", param=param)


def still_there(db: sqlite3.Connection, tenant: Tenant, session: Session) -> None:
    """A session that was found may be deleted since; what is left of it is not an empty one."""
    if db.execute("SELECT 1 FROM session WHERE tenant = ? AND session = ?", (tenant, session.id)).fetchone() is None:
        raise SessionMoved


# --- whole threads ---


def begin(
    db: sqlite3.Connection, tenant: Tenant, session: Session, *, now: int, title: str | None, current: bool
) -> Session:
    """A thread in which nothing was said yet, or which shares another one's steps up to a fork."""
    log, profile = left_behind(db, tenant, session)
    try:
        scope = ledger.begin(db, tenant, session, now=now, source="api", title=title, log=log, profile=profile)
    except SessionMoved as moved:
        raise SessionExists from moved
    if current:
        db.execute("UPDATE scope SET current_thread = ? WHERE no = ?", (session.thread, scope))
    name, key = db.execute("SELECT scope, session_key FROM scope WHERE no = ?", (scope,)).fetchone()
    return msgspec.structs.replace(session, scope=ScopeId(name), session_key=key)


def left_behind(db: sqlite3.Connection, tenant: Tenant, session: Session) -> tuple[str | None, Block | None]:
    """The log and the profile of the epoch that a fork leaves, which must still be there."""
    if session.fork is None:
        return None, None
    left = db.execute(
        "SELECT 1 FROM session WHERE tenant = ? AND session = ? AND lineage = ?", (tenant, session.parent, session.fork)
    ).fetchone()
    if left is None:
        raise SessionMoved
    return paths.beginning(db, tenant, session)


def current(db: sqlite3.Connection, tenant: Tenant, key: SessionKey) -> SessionId | None:
    """The id of the thread that @current means."""
    row = db.execute(
        "SELECT thread.root FROM scope JOIN thread ON thread.tenant = scope.tenant"
        " AND thread.thread = scope.current_thread WHERE scope.tenant = ? AND scope.session_key = ?"
        " AND thread.deleted_at IS NULL",
        (tenant, key),
    ).fetchone()
    return SessionId(row[0]) if row else None


def amend(
    db: sqlite3.Connection, tenant: Tenant, session: Session, *, now: int, title: str | None, end: str | None
) -> None:
    if title is not None:
        db.execute(
            "UPDATE thread SET title = ? WHERE tenant = ? AND thread = ?", (title or None, tenant, session.thread)
        )
    if end is not None:
        ended = db.execute(
            "UPDATE session SET end_reason = ?, ended_at = ? WHERE tenant = ? AND session = ? AND lineage = ?"
            " AND end_reason IS NOT 'compression'",
            (end, now, tenant, session.id, session.lineage),
        )
        if ended.rowcount != 1:
            raise SessionMoved


def sweep(db: sqlite3.Connection, *, anew: bool = False) -> bool:
    """Takes what was deleted out of the file itself; tells whether all of it could be. On a connection of its own,
    outside of any transaction.

    A deleted row's bytes are overwritten at once (secure_delete), but the words of the lexical index stay in its older
    segments until these are merged, and all of it in the write-ahead log until that is taken over. A row that was once
    moved to another page may have left a copy in the unused part of the old one, which nothing overwrites: only a file
    that is written `anew` has none. That takes as long as the file is large, and writers wait for it."""
    for index in ("chunk_fts", "claim_fts"):
        pages = -MERGED_AT_ONCE  # negative: begin to merge everything into one
        while True:
            before = db.total_changes
            db.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)", (pages,))  # noqa: S608
            if db.total_changes - before < 2:  # nothing is left to merge
                break
            pages = MERGED_AT_ONCE
            time.sleep(PAUSE)
    if anew:
        db.execute("VACUUM")
    busy: int = db.execute("PRAGMA wal_checkpoint (TRUNCATE)").fetchone()[0]
    return not busy
