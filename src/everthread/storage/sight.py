"""What is seen from a place: the session's own path, and the newest path of every other thread of its scope.

A path is a few pieces of lineages. What was imported belongs to the lineage where a path begins, numbered 0, -1, -2 ...
from its own end; a path that left it before its first step may begin at an earlier exchange, and counts from there:
`shift` is the difference.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import msgspec

from everthread.core.ids import Tenant
from everthread.core.memory import View
from everthread.core.session import Session

EVER = 1 << 62
MOST_PATHS = 20_000
MOST_SPEAKERS = 64


class Stretch(msgspec.Struct, frozen=True, gc=False):
    """The steps, or the imported exchanges, that a path has of one lineage."""

    lineage: str
    first: int
    last: int
    shift: int = 0  # its number there, less the number on the path


Path = tuple[Stretch, ...]


class Paths:
    """The path that ends with each lineage, at hand. A path changes only when what it left is deleted."""

    def __init__(self) -> None:
        self._known: dict[tuple[Tenant, str], Path] = {}

    def of(self, db: sqlite3.Connection, tenant: Tenant, lineage: str) -> Path:
        known = self._known  # when it is cleared meanwhile, what is read now is not kept
        path = known.get((tenant, lineage))
        if path is None:
            if len(known) >= MOST_PATHS:
                known.clear()
            path = known[(tenant, lineage)] = tuple(walk(db, tenant, lineage))
        return path

    def clear(self) -> None:
        self._known = {}


def walk(db: sqlite3.Connection, tenant: Tenant, lineage: str) -> Iterator[Stretch]:
    """The pieces of a path, the newest first; nothing of one that was deleted."""
    last = EVER
    begins: bytes | None = None  # the exchange that the path's first step follows
    at: str | None = lineage
    while at is not None:
        row = db.execute(
            "SELECT fork_lineage, fork_seq, prior FROM lineage WHERE tenant = ? AND lineage = ? AND tip != ''",
            (tenant, at),
        ).fetchone()
        if row is None:
            return
        fork, fork_seq, prior = row
        if at == lineage:
            begins = prior
        first = (fork_seq or 0) + 1
        if first <= last:
            yield Stretch(at, first, last)
        if fork is None and begins is not None:
            shift = place(db, tenant, begins) - place(db, tenant, prior)
            yield Stretch(at, -EVER, shift, shift)
        at, last = fork, min(last, fork_seq or 0)


def place(db: sqlite3.Connection, tenant: Tenant, address: bytes | None) -> int:
    """How many exchanges there are up to this one."""
    row = db.execute("SELECT place FROM prior WHERE tenant = ? AND address = ?", (tenant, address)).fetchone()
    return row[0] if row else 0


def own(db: sqlite3.Connection, paths: Paths, tenant: Tenant, session: Session) -> Path:
    """The path of a session, also of a branch that is only planned."""
    if session.fork is None:
        return paths.of(db, tenant, session.lineage)
    left = paths.of(db, tenant, session.fork)
    end = session.fork_seq
    imported = [stretch for stretch in left if stretch.last <= 0]
    if imported and session.prior is not None and end == 0:
        root = imported[0]
        whole = place(db, tenant, session.prior) - place(db, tenant, prior_of(db, tenant, root.lineage))
        imported = [Stretch(root.lineage, root.first, whole, whole)]
    elif session.prior is None:
        imported = []
    return (
        Stretch(session.lineage, end + 1, EVER),
        *(
            Stretch(stretch.lineage, stretch.first, min(stretch.last, end))
            for stretch in left
            if 0 < stretch.first <= end
        ),
        *imported,
    )


def evicted(db: sqlite3.Connection, paths: Paths, tenant: Tenant, session: str) -> Iterator[Stretch]:
    """What was in the window of a session's parent and is not in its own, the newest first."""
    row = db.execute(
        "SELECT session.lineage, session.from_seq, parent.from_seq FROM session LEFT JOIN session AS parent"
        " ON parent.tenant = session.tenant AND parent.session = session.parent"
        " WHERE session.tenant = ? AND session.session = ?",
        (tenant, session),
    ).fetchone()
    if row is None:
        return
    lineage, edge, began = row
    for stretch in paths.of(db, tenant, lineage):
        first = stretch.first if began is None else max(stretch.first, began + stretch.shift)
        last = min(stretch.last, edge - 1 + stretch.shift)
        if first <= last:
            yield Stretch(stretch.lineage, first, last, stretch.shift)


def prior_of(db: sqlite3.Connection, tenant: Tenant, lineage: str) -> bytes | None:
    row = db.execute("SELECT prior FROM lineage WHERE tenant = ? AND lineage = ?", (tenant, lineage)).fetchone()
    return row[0] if row else None


class Sight:
    """What a view sees, by lineage."""

    def __init__(self, mine: Path, others: Iterator[Path], edge: int) -> None:
        self._mine = by_lineage([mine])
        self._others = by_lineage(others)
        self._edge = edge  # the first step, by its number on the own path, that is not seen

    def __eq__(self, other: object) -> bool:
        """Whether as much is seen, and nothing else."""
        if not isinstance(other, Sight):
            return NotImplemented
        return (self._edge, self._mine, self._others) == (other._edge, other._mine, other._others)

    __hash__ = None  # type: ignore[assignment]

    def sees(self, lineage: str, seq: int) -> bool:
        return self.number(lineage, seq) is not None

    def number(self, lineage: str, seq: int) -> int | None:
        """What a step that is seen is called on its path; None: it is not."""
        for stretch in self._mine.get(lineage, ()):
            if stretch.first <= seq <= stretch.last:
                return seq - stretch.shift if seq - stretch.shift < self._edge else None
        for stretch in self._others.get(lineage, ()):
            if stretch.first <= seq <= stretch.last:
                return seq - stretch.shift
        return None


def by_lineage(paths: Iterator[Path] | list[Path]) -> dict[str, list[Stretch]]:
    found: dict[str, list[Stretch]] = {}
    for path in paths:
        for stretch in path:
            found.setdefault(stretch.lineage, []).append(stretch)
    return found


def outside(db: sqlite3.Connection, paths: Paths, view: View, scope: int) -> Sight:
    """What is seen beside the session's window."""
    return sight(db, paths, view, scope, view.session.from_seq if view.session else EVER)


def whole(db: sqlite3.Connection, paths: Paths, view: View, scope: int) -> Sight:
    """What is seen, the session's window too."""
    return sight(db, paths, view, scope, EVER)


def sight(db: sqlite3.Connection, paths: Paths, view: View, scope: int, edge: int) -> Sight:
    session, tenant = view.session, view.tenant
    mine = own(db, paths, tenant, session) if session is not None else ()
    heads = db.execute(
        "SELECT head FROM thread INDEXED BY thread_of_scope WHERE tenant = ? AND scope = ? AND deleted_at IS NULL"
        " AND thread != ?",
        (tenant, scope, session.thread if session is not None else ""),
    ).fetchall()
    return Sight(mine, (paths.of(db, tenant, head) for (head,) in heads), edge)


def scope_number(db: sqlite3.Connection, tenant: Tenant, scope: str) -> int | None:
    row = db.execute("SELECT no FROM scope WHERE tenant = ? AND scope = ?", (tenant, scope)).fetchone()
    return int(row[0]) if row else None


def elsewhere(db: sqlite3.Connection, view: View) -> bool:
    """Whether there is anything outside the session's window: before it, in another thread, or by a person's hand."""
    session = view.session
    if session is not None:
        if session.from_seq > 1:
            return True
        if session.prior is not None and 1 - place(db, view.tenant, session.prior) < session.from_seq:
            return True
    row = db.execute(
        "SELECT EXISTS (SELECT 1 FROM thread INDEXED BY thread_of_scope JOIN lineage"
        " ON lineage.tenant = thread.tenant AND lineage.lineage = thread.head AND lineage.last_seq > 0"
        " WHERE thread.tenant = scope.tenant AND thread.scope = scope.no AND thread.thread != ?"
        " AND thread.deleted_at IS NULL)"
        " OR EXISTS (SELECT 1 FROM claim WHERE claim.scope = scope.no AND claim.step IS NULL)"
        " FROM scope WHERE scope.tenant = ? AND scope.scope = ?",
        (session.thread if session is not None else "", view.tenant, view.scope),
    ).fetchone()
    return row is not None and bool(row[0])


def speakers(db: sqlite3.Connection, view: View) -> tuple[str, ...]:
    """Who speaks in the scope: one step in the index for each name, however much they said."""
    scope = scope_number(db, view.tenant, view.scope)
    rows = db.execute(
        "WITH RECURSIVE heard (name) AS (SELECT min(name) FROM chunk WHERE scope = ?1 AND name IS NOT NULL UNION ALL"
        " SELECT (SELECT min(name) FROM chunk WHERE scope = ?1 AND chunk.name > heard.name) FROM heard"
        " WHERE heard.name IS NOT NULL LIMIT ?2) SELECT name FROM heard WHERE name IS NOT NULL",
        (scope, MOST_SPEAKERS),
    )
    return tuple(name for (name,) in rows)
