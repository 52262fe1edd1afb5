"""Paths of a thread's tree, read from the steps: what an epoch holds, and where a turn can go on."""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterator, Sequence

import msgspec

from everthread.core.claim import Block
from everthread.core.ids import LineageId, SessionId, Tenant
from everthread.core.ports import Past, past_of
from everthread.core.session import Place, Session
from everthread.errors import SessionMoved
from everthread.storage.rows import block_of, moment, said
from everthread.wire.chat import stored_messages

SEEN_AT_LEAST = 4  # steps before a place: an epoch that began just there would show nothing of them
ASKED_AT_ONCE = 200  # hashes looked up in one query


Piece = tuple[str, int, int]  # a lineage, the first and the last of its steps on a path


def segments(db: sqlite3.Connection, tenant: Tenant, session: Session, down_to: int = 1) -> Iterator[Piece]:
    """The pieces of a path, newest first: a lineage with its first and last step, and then the one it left."""
    first = session.fork_seq + 1 if session.fork is not None else 1
    if max(first, down_to) <= session.last_seq:
        yield session.lineage, max(first, down_to), session.last_seq
    if session.fork is not None and session.fork_seq >= down_to:
        yield from upwards(db, tenant, session.fork, min(session.last_seq, session.fork_seq), down_to)


def upwards(db: sqlite3.Connection, tenant: Tenant, lineage: str, last: int, down_to: int = 1) -> Iterator[Piece]:
    """The pieces of the path that ends with this step."""
    while True:
        row = db.execute(
            "SELECT fork_lineage, fork_seq FROM lineage WHERE tenant = ? AND lineage = ? AND tip != ''",
            (tenant, lineage),
        ).fetchone()
        if row is None:  # it was deleted meanwhile, and its steps have another owner now
            raise SessionMoved
        fork, fork_seq = row[0], row[1] or 0
        first = fork_seq + 1 if fork is not None else 1
        if max(first, down_to) <= last:
            yield lineage, max(first, down_to), last
        if fork is None or fork_seq < down_to:
            return
        lineage, last = fork, min(last, fork_seq)


def stretches(
    db: sqlite3.Connection, tenant: Tenant, session: Session, *, down: bool, at: tuple[str, int] | None = None
) -> Iterator[Piece]:
    """The pieces of a path in either order, from one of its steps on."""
    pieces = list(segments(db, tenant, session))
    begun = at is None
    for lineage, first, last in pieces if down else reversed(pieces):
        low, high = first, last
        if at is not None and not begun:
            if at[0] != lineage or not first <= at[1] <= last:
                continue
            begun = True
            low, high = (first, at[1]) if down else (at[1], last)
        yield lineage, low, high


def find(db: sqlite3.Connection, tenant: Tenant, session: Session, step: str) -> tuple[str, int] | None:
    """The lineage and number of a step of this path."""
    row = db.execute("SELECT lineage, seq FROM step WHERE tenant = ? AND step = ?", (tenant, step)).fetchone()
    if row is None or not on_path(list(segments(db, tenant, session)), *row):
        return None
    return row[0], row[1]


def backwards(db: sqlite3.Connection, tenant: Tenant, session: Session) -> Iterator[Past]:
    """The session's epoch from its newest step on. What was imported before step 1 is 0, -1, -2 and so on."""
    for lineage, first, last in segments(db, tenant, session, session.from_seq):
        rows = db.execute(
            "SELECT input, output, tokens, turn, seq, said_at, tail FROM step"
            " WHERE tenant = ? AND lineage = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC",
            (tenant, lineage, first, last),
        )
        for given, output, tokens, turn, seq, said_at, tail in rows:
            block = block_of(tail)
            shown = block.text if block else ""
            past = past_of(said(given, output), tokens, turn, seq, moment(said_at), tail=shown)
            if past.messages or past.instructions:  # else all of it was removed, or only thought
                yield past
    if session.from_seq < 1:
        for number, exchange in enumerate(imported(db, tenant, session.prior)):
            if -number < session.from_seq:
                break
            yield past_of(stored_messages(exchange.messages), exchange.tokens, seq=-number)


class Import(msgspec.Struct, frozen=True):
    """One imported exchange, as it is stored."""

    address: bytes
    messages: str
    tokens: int
    place: int  # 1 for the first of its chain
    rolling: bytes
    said: int  # messages up to its last one


def imported(db: sqlite3.Connection, tenant: Tenant, end: bytes | None) -> Iterator[Import]:
    """A chain of imported exchanges, the newest first."""
    while end is not None:
        address = end
        messages, tokens, place, rolling, said, end = db.execute(
            "SELECT messages, tokens, place, rolling, said, before FROM prior WHERE tenant = ? AND address = ?",
            (tenant, address),
        ).fetchone()
        yield Import(address, messages, tokens, place, rolling or b"", said)


def exchanges(
    db: sqlite3.Connection, tenant: Tenant, end: bytes | None, *, down: bool, since: int = 0, up_to: int | None = None
) -> Iterator[tuple[int, str]]:
    """The exchanges of a chain in either order, from one of its places to another: the place and the messages."""
    chain: list[tuple[int, bytes]] = []
    while end is not None:
        place, address, end = db.execute(
            "SELECT place, address, before FROM prior WHERE tenant = ? AND address = ?", (tenant, end)
        ).fetchone()
        if place < since:
            break
        if up_to is None or place <= up_to:
            chain.append((place, address))
    for place, address in chain if down else reversed(chain):
        (messages,) = db.execute(
            "SELECT messages FROM prior WHERE tenant = ? AND address = ?", (tenant, address)
        ).fetchone()
        yield place, messages


def beginning(db: sqlite3.Connection, tenant: Tenant, session: Session) -> tuple[str | None, Block | None]:
    """The log and the profile that the session began with; a branch that is only planned begins with those of the
    epoch it leaves, unless it leaves before the first step: what was imported is numbered from its own end there."""
    left = session.parent if session.fork_seq else None
    row = db.execute(
        "SELECT log, profile FROM session WHERE tenant = ? AND session IN (?, ?) AND from_seq = ?"
        " ORDER BY session = ? DESC LIMIT 1",
        (tenant, session.id, left, session.from_seq, session.id),
    ).fetchone()
    return (row[0], block_of(row[1])) if row else (None, None)


def after(db: sqlite3.Connection, tenant: Tenant, lineage: str, seq: int) -> Place:
    """The place after a step of a path; 0 is the one before its first."""
    while seq > 0:  # the lineage that owns the step
        fork, shared = db.execute(
            "SELECT fork_lineage, fork_seq FROM lineage WHERE tenant = ? AND lineage = ?", (tenant, lineage)
        ).fetchone()
        if fork is None or seq > shared:
            break
        lineage = fork
    last_seq, prior, tip = db.execute(
        "SELECT last_seq, prior, tip FROM lineage WHERE tenant = ? AND lineage = ?", (tenant, lineage)
    ).fetchone()
    if seq < 1:
        end = next(imported(db, tenant, prior), None)
        return before_first(lineage, tip, end, last=last_seq == 0)
    session, from_seq = db.execute(
        "SELECT session, from_seq FROM session WHERE tenant = ? AND lineage = ? AND from_seq <= ?"
        " ORDER BY from_seq <= ? DESC, CASE WHEN from_seq <= ? THEN -from_seq ELSE from_seq END LIMIT 1",
        (tenant, lineage, seq + 1, seq + 1 - SEEN_AT_LEAST, seq + 1 - SEEN_AT_LEAST),
    ).fetchone() or (tip, None)
    if from_seq is None:  # a step from before its first epoch was inherited from a thread that is gone
        end = next(imported(db, tenant, prior), None)
        from_seq = 1 - end.place if end else 1
    rolling, messages = db.execute(
        "SELECT rolling, place FROM step WHERE tenant = ? AND lineage = ? AND seq = ?", (tenant, lineage, seq)
    ).fetchone()
    return Place(
        lineage=LineageId(lineage),
        seq=seq,
        session=session,
        from_seq=from_seq,
        rolling=rolling,
        messages=messages,
        prior=prior,
        last=seq == last_seq,
    )


def before_first(lineage: str, session: str, end: Import | None, *, last: bool) -> Place:
    """The place before a lineage's first step, after one of the exchanges it was imported with."""
    return Place(
        lineage=LineageId(lineage),
        seq=0,
        session=SessionId(session),
        from_seq=1 - end.place if end else 1,
        rolling=end.rolling if end else b"",
        messages=end.said if end else 0,
        prior=end.address if end else None,
        last=last,
    )


def matching(
    db: sqlite3.Connection, tenant: Tenant, session: Session, hashes: Sequence[bytes]
) -> tuple[int, Place] | None:
    """The first of these hashes that a step of the thread or of the session's path has, or else an exchange it was
    imported with."""
    others = foreign(db, tenant, session)
    for start in range(0, len(hashes), ASKED_AT_ONCE):
        some = hashes[start : start + ASKED_AT_ONCE]
        mine = hashed(db, tenant, session.thread, some, newest=True)
        shared = [
            spot
            for thread, pieces in others.items()
            for spot in hashed(db, tenant, thread, some)
            if on_path(pieces, *spot[1:3])
        ]
        if mine or shared:
            number = min(some.index(spot[0]) for spot in (*mine, *shared))
            mine, shared = ([spot for spot in spots if spot[0] == some[number]] for spots in (mine, shared))
            return start + number, nearest(db, tenant, session, mine, shared)
    known = {digest: number for number, digest in enumerate(hashes)}
    for exchange in imported(db, tenant, session.prior):
        if exchange.rolling in known:
            lone = session.last_seq == 0 and exchange.address == session.prior
            found_at = before_first(session.lineage, session.id, exchange, last=lone)
            return known[exchange.rolling], found_at
    return None


Spot = tuple[bytes, str, int, int]  # a step: its hash, lineage, seq and number in the file


def hashed(
    db: sqlite3.Connection, tenant: Tenant, thread: str, hashes: Sequence[bytes], *, newest: bool = False
) -> list[Spot]:
    """The thread's steps that have one of these hashes, or only the newest of each lineage and hash."""
    columns, grouped = ("max(seq), max(no)", "GROUP BY rolling, lineage") if newest else ("seq, no", "")
    marks = ", ".join("?" * len(hashes))
    return db.execute(
        f"SELECT rolling, lineage, {columns} FROM step WHERE tenant = ? AND thread = ?"  # noqa: S608
        f" AND rolling IN ({marks}) {grouped}",
        (tenant, thread, *hashes),
    ).fetchall()


def nearest(
    db: sqlite3.Connection, tenant: Tenant, session: Session, mine: Sequence[Spot], shared: Sequence[Spot]
) -> Place:
    """Of several places with the same words the newest of the session's own path, or else of its thread."""
    own = own_path(db, tenant, session, mine[0][0], {spot[1] for spot in mine}) if mine else None
    if own is not None:
        return after(db, tenant, *own)
    if shared:
        pieces = list(segments(db, tenant, session))
        theirs = [spot for spot in shared if on_path(pieces, *spot[1:3])] or shared
        return not_last(after(db, tenant, *max(theirs, key=lambda spot: spot[2])[1:3]))
    return after(db, tenant, *max(mine, key=lambda spot: spot[3])[1:3])


def foreign(db: sqlite3.Connection, tenant: Tenant, session: Session) -> dict[str, list[Piece]]:
    """What a fork shares with other threads, on any of its paths, by thread."""
    found: dict[str, list[Piece]] = {}
    for lineage, last in db.execute(
        "SELECT left.lineage, max(own.fork_seq) FROM lineage AS own JOIN lineage AS left"
        " ON left.tenant = own.tenant AND left.lineage = own.fork_lineage"
        " WHERE own.tenant = ? AND own.thread = ? AND left.thread != own.thread GROUP BY left.lineage",
        (tenant, session.thread),
    ).fetchall():
        for piece in upwards(db, tenant, lineage, last):
            (thread,) = db.execute(
                "SELECT thread FROM lineage WHERE tenant = ? AND lineage = ?", (tenant, piece[0])
            ).fetchone()
            found.setdefault(thread, []).append(piece)
    return found


def on_path(pieces: Sequence[Piece], lineage: str, seq: int) -> bool:
    return any(lineage == owner and first <= seq <= last for owner, first, last in pieces)


def not_last(place: Place) -> Place:
    """Another thread's place is never gone on with: what follows there is not ours."""
    return msgspec.structs.replace(place, last=False)


def own_path(
    db: sqlite3.Connection, tenant: Tenant, session: Session, rolling: bytes, lineages: Container[str]
) -> tuple[str, int] | None:
    """The newest step of the session's own path that has this hash, if one of these lineages owns it."""
    for lineage, first, last in segments(db, tenant, session):
        if lineage in lineages:
            (seq,) = db.execute(
                "SELECT max(seq) FROM step WHERE tenant = ? AND thread = ? AND rolling = ? AND lineage = ?"
                " AND seq BETWEEN ? AND ?",
                (tenant, session.thread, rolling, lineage, first, last),
            ).fetchone()
            if seq is not None:
                return lineage, seq
    return None


def following(db: sqlite3.Connection, tenant: Tenant, session: Session, message_id: str) -> Place | None:
    """The place after the newest step that a client's own id led to, and after what others said since."""
    query = "SELECT lineage, seq FROM step WHERE tenant = ? AND thread = ? AND message_id = ? ORDER BY no DESC"
    row = db.execute(f"{query} LIMIT 1", (tenant, session.thread, message_id)).fetchone()
    if row is not None:
        return after(db, tenant, row[0], past_others(db, tenant, *row))
    for thread, pieces in foreign(db, tenant, session).items():
        for lineage, seq in db.execute(query, (tenant, thread, message_id)):
            if on_path(pieces, lineage, seq):
                last = max(last for owner, _, last in pieces if owner == lineage)
                return not_last(after(db, tenant, lineage, min(past_others(db, tenant, lineage, seq), last)))
    return None


def past_others(db: sqlite3.Connection, tenant: Tenant, lineage: str, seq: int) -> int:
    """The last of the steps that follow this one at once and come from other sources than the client."""
    for number, source in db.execute(
        "SELECT seq, source FROM step WHERE tenant = ? AND lineage = ? AND seq > ? ORDER BY seq",
        (tenant, lineage, seq),
    ):
        if source == "api":
            break
        seq = number
    return seq


def opening(db: sqlite3.Connection, tenant: Tenant, session: Session) -> Place | None:
    """The place before the first step that said it has no message before it; that step follows it."""
    query = (
        "SELECT seq, no, lineage FROM step WHERE tenant = ? AND thread = ? AND parent_message_id = '' ORDER BY seq, no"
    )
    first = db.execute(f"{query} LIMIT 1", (tenant, session.thread)).fetchall()
    for thread, pieces in foreign(db, tenant, session).items():
        rows = db.execute(query, (tenant, thread))
        first += [row for row in rows if on_path(pieces, row[2], row[0])]
    if not first:
        return None
    seq, _, lineage = min(first)
    return not_last(after(db, tenant, lineage, seq - 1))


def before(db: sqlite3.Connection, tenant: Tenant, place: Place) -> Place:
    """The place before the step that brought this place's words; those of others since have the same."""
    earlier = place
    while earlier.seq and earlier.rolling == place.rolling:
        (first,) = db.execute(
            "SELECT min(seq) FROM step WHERE tenant = ? AND lineage = ? AND rolling = ?",
            (tenant, earlier.lineage, place.rolling),
        ).fetchone()
        earlier = after(db, tenant, earlier.lineage, first - 1)
    return earlier
