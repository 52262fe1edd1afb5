"""The index, asked: passages by their words and by their vectors, of what a view sees and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice
from typing import Any

import msgspec

from everthread.core.ids import SessionId, Tenant
from everthread.core.memory import Found, Passage, View, Worded, Work, own_fits
from everthread.storage import sight, terms
from everthread.storage.near import AtHand, Block, Similarities, some
from everthread.storage.rows import moment
from everthread.storage.sight import Paths, Sight

AHEAD = 400  # best fits looked at first, so that most of the similar ones have a score too
READ_AT_ONCE = 500

COLUMNS = (
    "chunk.no, chunk.step, chunk.thread, chunk.lineage, chunk.seq, chunk.message, chunk.start, chunk.role, chunk.name,"
    " chunk.said_at, chunk.text"
)
PASSAGE = f"thread.root, {COLUMNS}"
WITH_THREAD = (
    "JOIN thread ON thread.tenant = chunk.tenant AND thread.thread = chunk.thread AND thread.deleted_at IS NULL"
)
CHOSEN = f"""
    SELECT {COLUMNS} FROM json_each(?) AS asked CROSS JOIN chunk ON chunk.no = asked.value AND chunk.scope = ?
"""  # noqa: S608
ROOTS = """
    SELECT thread, root FROM thread
    WHERE tenant = ? AND thread IN (SELECT value FROM json_each(?)) AND deleted_at IS NULL
"""
WITHOUT_VECTOR = """
    NOT EXISTS (SELECT 1 FROM vector
        WHERE vector.scope = chunk.scope AND vector.chunk = chunk.no AND vector.model = ?)
"""


def passage_of(row: tuple[Any, ...]) -> Passage:
    (root, no, step, thread, lineage, seq, message, start, role, name, said_at, text) = row
    return Passage(
        no=no,
        step=step,
        session=SessionId(root),
        thread=thread,
        lineage=lineage,
        seq=seq,
        message=message or 0,
        start=start or 0,
        role=role,
        speaker=name or role,
        said_at=moment(said_at),
        text=text,
    )


def lexical(
    db: sqlite3.Connection,
    scope: int,
    words: Sequence[str],
    seen: Sight,
    limit: int,
    *,
    rows: int | None = None,
    block: Block | None = None,
) -> tuple[list[int], dict[int, float]]:
    """The passages with these words that are seen, at most `limit`; and the scores of all that were looked at."""
    most = max(AHEAD, 4 * limit)
    while True:
        scores = dict(terms.best(db, "chunk_fts", scope, words, most, rows=rows))
        places = places_of(db, list(scores), block)
        found = list(islice((no for no, place in places if seen.sees(*place)), limit))
        if len(found) == limit or len(scores) < most:
            return found, scores
        most *= 8


def places_of(
    db: sqlite3.Connection, chunks: Sequence[int], block: Block | None
) -> Iterator[tuple[int, tuple[str, int]]]:
    """The lineage of each chunk and its number there, in their order; read where they are not at hand."""
    for start in range(0, len(chunks), READ_AT_ONCE):
        part = chunks[start : start + READ_AT_ONCE]
        places = {no: block.place(no) if block is not None else None for no in part}
        missing = [no for no, place in places.items() if place is None]
        for no, lineage, seq in in_portions(db, "SELECT no, lineage, seq FROM chunk WHERE no IN ({})", missing):
            places[no] = (lineage, seq)
        yield from ((no, place) for no, place in places.items() if place is not None)


def in_portions(db: sqlite3.Connection, query: str, names: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    names = list(names)
    for start in range(0, len(names), READ_AT_ONCE):
        part = names[start : start + READ_AT_ONCE]
        yield from db.execute(query.format(", ".join("?" * len(part))), part).fetchall()


def listed(names: Sequence[str] | Sequence[int]) -> str:
    """Names, as `json_each` takes them."""
    return msgspec.json.encode(names).decode()


class Search(msgspec.Struct, frozen=True):
    """What is looked for."""

    words: Sequence[str]
    vector: bytes | None
    model: str
    limit: int


class Index(msgspec.Struct, frozen=True):
    """What a search needs beside the file."""

    paths: Paths
    hand: AtHand
    similarities: Similarities

    def worded(self, db: sqlite3.Connection, view: View, words: Sequence[str], *, model: str, limit: int) -> Worded:
        """The first half of a search, for which its vector is not needed."""
        scope = sight.scope_number(db, view.tenant, view.scope)
        if scope is None or limit < 1:
            return Worded()
        seen = sight.outside(db, self.paths, view, scope)
        rows, block = self.hand.passages(db, scope), self.hand.held(db, scope, model)
        return Worded(*lexical(db, scope, words, seen, limit, rows=rows, block=block))

    def search(
        self, db: sqlite3.Connection, view: View, what: Search, worded: Worded | None = None
    ) -> tuple[Found, ...]:
        """What has the words and what is similar. What was `worded` a moment ago is looked at again: it may be gone."""
        worded = worded or self.worded(db, view, what.words, model=what.model, limit=what.limit)
        scope = sight.scope_number(db, view.tenant, view.scope)
        if scope is None or what.limit < 1:
            return ()
        seen = sight.outside(db, self.paths, view, scope)
        cosines: dict[int, float] = {}
        if what.vector is not None and any(what.vector):
            near = self.similar(db, scope, what.vector, what, seen)
            cosines = near | self.compared(db, scope, what, [no for no in worded.found if no not in near])
        scores = {no: (worded.scores.get(no, 0.0), cosines.get(no, 0.0)) for no in {*worded.found, *cosines}}
        best = nlargest(what.limit, zip(own_fits([*scores.values()]), scores, strict=True))
        chosen = passages(db, view.tenant, scope, [no for _, no in best], seen)
        return tuple(Found(passage, *scores[passage.no]) for passage in chosen)

    def similar(self, db: sqlite3.Connection, scope: int, vector: bytes, what: Search, seen: Sight) -> dict[int, float]:
        """The cosines of the most similar passages that are seen."""
        block = self.hand.block(db, scope, what.model, len(vector))
        return block.nearest(self.similarities, vector, seen.sees, what.limit)

    def compared(self, db: sqlite3.Connection, scope: int, what: Search, chunks: Sequence[int]) -> dict[int, float]:
        """The cosines of these passages."""
        vector = what.vector or b""
        known = self.hand.block(db, scope, what.model, len(vector)).compared(self.similarities, vector, chunks)
        rows = some(db, scope, what.model, [no for no in chunks if no not in known])
        cosines = self.similarities(vector, [row[1] for row in rows])
        return known | {row[0]: cosine for row, cosine in zip(rows, cosines, strict=True)}


def passages(
    db: sqlite3.Connection, tenant: Tenant, scope: int, chunks: Collection[int], seen: Sight
) -> Iterator[Passage]:
    """Those of a scope's passages that are seen, each with the number that its path has for it."""
    rows = db.execute(CHOSEN, (listed(sorted(chunks)), scope)).fetchall()
    roots = dict(db.execute(ROOTS, (tenant, listed(list({row[2] for row in rows})))).fetchall())
    for row in rows:
        root, number = roots.get(row[2]), seen.number(row[3], row[4])
        if root is not None and number is not None:
            yield passage_of((root, *row[:4], number, *row[5:]))


# --- what has no vector yet ---


def unembedded(db: sqlite3.Connection, paths: Paths, work: Work, *, model: str, limit: int) -> tuple[Passage, ...]:
    """The passages that a piece of work covers and that have no vector of this model."""
    spans: list[tuple[str, tuple[Any, ...]]]
    match work.kind:
        case "step":
            spans = step_span(db, work)
        case "session":
            spans = list(left_spans(db, paths, work))
        case "thread":
            spans = [("chunk.tenant = ? AND chunk.thread = ?", (work.tenant, work.name))]
    found: list[Passage] = []
    for where, given in spans:
        rows = db.execute(
            f"SELECT {PASSAGE} FROM chunk INDEXED BY chunk_of_step {WITH_THREAD}"  # noqa: S608
            f" WHERE {where} AND {WITHOUT_VECTOR} ORDER BY chunk.seq DESC, chunk.no LIMIT ?",
            (*given, model, limit - len(found)),
        )
        found += map(passage_of, rows)
    return tuple(found)


def step_span(db: sqlite3.Connection, work: Work) -> list[tuple[str, tuple[Any, ...]]]:
    """A step's passages, if its scope has a key: what is in its only session's window is not searched."""
    row = db.execute(
        "SELECT step.thread, step.lineage, step.seq FROM step"
        " JOIN thread ON thread.tenant = step.tenant AND thread.thread = step.thread"
        " JOIN scope ON scope.no = thread.scope AND scope.session_key IS NOT NULL"
        " WHERE step.tenant = ? AND step.step = ?",
        (work.tenant, work.name),
    ).fetchone()
    if row is None:
        return []
    return [("chunk.tenant = ? AND chunk.thread = ? AND chunk.lineage = ? AND chunk.seq = ?", (work.tenant, *row))]


def left_spans(db: sqlite3.Connection, paths: Paths, work: Work) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """What left the window when a session began."""
    for stretch in sight.evicted(db, paths, work.tenant, work.name):
        owner = db.execute(
            "SELECT thread FROM lineage WHERE tenant = ? AND lineage = ?", (work.tenant, stretch.lineage)
        ).fetchone()
        if owner is not None:
            yield (
                "chunk.tenant = ? AND chunk.thread = ? AND chunk.lineage = ? AND chunk.seq BETWEEN ? AND ?",
                (work.tenant, owner[0], stretch.lineage, stretch.first, stretch.last),
            )


def embed(db: sqlite3.Connection, vectors: Sequence[tuple[int, bytes]], model: str) -> dict[int, list[int]]:
    """Keeps vectors beside their passages; the passages by scope."""
    kept: dict[int, list[int]] = {}
    for no, vector in vectors:
        row = db.execute(
            "INSERT OR REPLACE INTO vector SELECT scope, no, ?, ? FROM chunk WHERE no = ? RETURNING scope",
            (model, vector, no),
        ).fetchone()
        if row is not None:
            kept.setdefault(row[0], []).append(no)
    return kept
