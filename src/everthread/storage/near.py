"""Vectors at hand: those of the scopes searched lately, so that one pass over them compares them all.

One thread reads and changes them. Whoever writes vectors leaves a note of it; notes are read before the next search.
"""

from __future__ import annotations

import sqlite3
from array import array
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from sys import intern

from everthread.core.embedding import Cosines, Shelf
from everthread.storage import terms

MOST_BYTES = 64 * 1024 * 1024
MOST_VECTORS = 40_000  # of one scope: its newest
SPARE = 2_000  # so many more may come before the oldest go
READ_AT_ONCE = 500

BESIDE = 24  # bytes that are needed beside a vector
MOST_COUNTED = 10_000  # scopes

Similarities = Callable[[bytes, Sequence[bytes]], Sequence[float]]  # the cosine of each vector with the first

COLUMNS = "vector.chunk, vector.vector, chunk.lineage, chunk.seq"


class Block:
    """One scope's vectors of one model, and where each belongs."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.vectors = Shelf(size)
        self.chunks = array("q")
        self.lineages: list[str] = []
        self.seqs = array("q")
        self._compared: tuple[bytes, Cosines] | None = None  # the question at hand, and what it came to

    @property
    def weight(self) -> int:
        """Bytes, about."""
        return len(self.chunks) * (self.size + BESIDE)

    def add(self, rows: Iterable[tuple[int, bytes, str, int]]) -> None:
        """Vectors more, or in the place of those that were there."""
        self._compared = None
        new: dict[int, tuple[int, bytes, str, int]] = {}
        for row in rows:
            if len(row[1]) != self.size:
                continue
            at = self._at(row[0])
            if at is None:
                new[row[0]] = row
            else:
                self.vectors[at] = row[1]
        if new and self.chunks and min(new) < self.chunks[-1]:  # read late: the numbers of chunks must go up
            known = zip(self.chunks, self.vectors, self.lineages, self.seqs, strict=True)
            new |= {row[0]: row for row in known}
            self._drop(len(self.chunks))
        ordered = [new[chunk] for chunk in sorted(new)]
        self.vectors.extend(row[1] for row in ordered)
        self.chunks.extend(row[0] for row in ordered)
        self.lineages.extend(intern(row[2]) for row in ordered)
        self.seqs.extend(row[3] for row in ordered)
        over = len(self.chunks) - MOST_VECTORS
        if over > SPARE:
            self._drop(over)

    def _drop(self, count: int) -> None:
        self.vectors.drop(count)
        del self.chunks[:count], self.lineages[:count], self.seqs[:count]

    def _at(self, chunk: int) -> int | None:
        """Where a chunk is, if it is here."""
        at = bisect_left(self.chunks, chunk)
        return at if at < len(self.chunks) and self.chunks[at] == chunk else None

    def place(self, chunk: int) -> tuple[str, int] | None:
        """The lineage and the number there of a chunk that is here."""
        at = self._at(chunk)
        return (self.lineages[at], self.seqs[at]) if at is not None else None

    def cosines(self, similarities: Similarities, vector: bytes) -> Cosines:
        """Of all that are here, in their order."""
        if self._compared is None or self._compared[0] != vector:
            found = similarities(vector, self.vectors)
            self._compared = (vector, found if isinstance(found, Cosines) else Cosines(found))
        return self._compared[1]

    def compared(self, similarities: Similarities, vector: bytes, chunks: Iterable[int]) -> dict[int, float]:
        """The cosines of those of the chunks that are here. It ends a question: its cosines are let go of."""
        cosines = self.cosines(similarities, vector)
        self._compared = None
        return {chunk: cosines[at] for chunk in chunks if (at := self._at(chunk)) is not None}

    def nearest(
        self, similarities: Similarities, vector: bytes, sees: Callable[[str, int], bool], limit: int
    ) -> dict[int, float]:
        """The most similar that are seen, and their cosines."""
        cosines = self.cosines(similarities, vector)
        ahead = 4 * limit
        while True:
            best = cosines.largest(ahead)
            found: dict[int, float] = {}
            for at in best:
                if cosines[at] > 0 and sees(self.lineages[at], self.seqs[at]):
                    found[self.chunks[at]] = cosines[at]
                    if len(found) == limit:
                        return found
            if len(best) < ahead:
                return found
            ahead *= 8


class AtHand:
    """The blocks of some scopes; the one used longest ago goes first."""

    def __init__(self, *, most_bytes: int = MOST_BYTES) -> None:
        self._blocks: OrderedDict[tuple[int, str], Block] = OrderedDict()
        self._most_bytes = most_bytes
        self._known: set[int] = set()  # the scopes that are here, or are being read
        self._counted: dict[int, tuple[int, int]] = {}  # how many passages a scope has, up to which one
        self._notes: deque[tuple[int, tuple[int, ...] | None]] = deque()

    # for those who write, on any thread

    def added(self, scope: int, chunks: Sequence[int]) -> None:
        if scope in self._known:
            self._notes.append((scope, tuple(chunks)))

    def changed(self, scopes: Iterable[int]) -> None:
        """Something was taken away: they are read again."""
        self._notes.extend((scope, None) for scope in scopes if scope in self._known)

    def forget(self) -> None:
        self.changed(tuple(self._known))

    # for the one thread that searches

    def block(self, db: sqlite3.Connection, scope: int, model: str, size: int) -> Block:
        self._read_notes(db)
        name = (scope, model)
        block = self._blocks.get(name)
        if block is None or block.size != size:
            self._known.add(scope)
            block = self._blocks[name] = Block(size)
            block.add(newest(db, scope, model))
            self._shrink(name)
        self._blocks.move_to_end(name)
        return block

    def held(self, db: sqlite3.Connection, scope: int, model: str) -> Block | None:
        """A block, if it is at hand."""
        self._read_notes(db)
        return self._blocks.get((scope, model))

    def passages(self, db: sqlite3.Connection, scope: int) -> int:
        """How many a scope has: what came since the last time is added."""
        self._read_notes(db)
        if scope not in self._counted and len(self._counted) >= MOST_COUNTED:
            self._counted.clear()
        self._known.add(scope)
        number, last = self._counted.get(scope, (0, 0))
        more, last = terms.counted(db, "chunk_fts", scope, last)
        self._counted[scope] = (number + more, last)
        return number + more

    def _read_notes(self, db: sqlite3.Connection) -> None:
        while self._notes:
            scope, chunks = self._notes.popleft()
            names = [name for name in self._blocks if name[0] == scope]
            if chunks is None:
                self._known.discard(scope)
                self._counted.pop(scope, None)
            for name in names:
                if chunks is None:
                    del self._blocks[name]
                else:
                    self._blocks[name].add(some(db, *name, chunks))
                    self._shrink(name)

    @property
    def bytes(self) -> int:
        """What they take, about; any thread may ask."""
        return sum(block.weight for block in tuple(self._blocks.values()))

    def _shrink(self, kept: tuple[int, str]) -> None:
        size = self.bytes
        for name in list(self._blocks):
            if size <= self._most_bytes:
                return
            if name != kept:
                size -= self._blocks.pop(name).weight
                self._known = {*self._counted, *(scope for scope, _ in self._blocks)}


def newest(db: sqlite3.Connection, scope: int, model: str) -> list[tuple[int, bytes, str, int]]:
    """The newest vectors of a scope, the oldest of them first."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM vector CROSS JOIN chunk ON chunk.no = vector.chunk"  # noqa: S608
        " WHERE vector.scope = ? AND vector.model = ? ORDER BY vector.chunk DESC LIMIT ?",
        (scope, model, MOST_VECTORS),
    ).fetchall()
    rows.reverse()
    return rows


def some(db: sqlite3.Connection, scope: int, model: str, chunks: Sequence[int]) -> list[tuple[int, bytes, str, int]]:
    """The vectors of these chunks, in their order, where there are some of this model."""
    found: list[tuple[int, bytes, str, int]] = []
    for start in range(0, len(chunks), READ_AT_ONCE):
        part = chunks[start : start + READ_AT_ONCE]
        found += db.execute(
            f"SELECT {COLUMNS} FROM vector CROSS JOIN chunk ON chunk.no = vector.chunk"  # noqa: S608
            f" WHERE vector.scope = ? AND vector.chunk IN ({', '.join('?' * len(part))}) AND vector.model = ?",
            (scope, *part, model),
        ).fetchall()
    return found
