"""One item out of a conversation, for good: its words, what was drawn from them, what others were told of them.

What was derived goes first and the step itself last, as when something is forgotten: when it is cut short, the item is
still there, and removing it again does the rest.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from functools import partial
from typing import NamedTuple

from everthread.core.claim import ClaimId
from everthread.core.ids import Tenant
from everthread.core.session import Session
from everthread.errors import Malformed
from everthread.storage import claims, forgetting, items, outbox, paths, scrub
from everthread.storage.items import Item, Less, Weigh
from everthread.storage.mask import CITED, Words, encoded, parsed
from everthread.storage.scrub import Recalled
from everthread.storage.sqlite import SqliteStore

ROWS_AT_ONCE = 40


class Removed(Recalled):
    """An item that is gone, and by which numbers each path's log cites its step."""

    def __init__(self, step: str, claims: Collection[ClaimId], words: Words, cited: Mapping[str, frozenset[int]]):
        super().__init__({step}, claims, ())
        self._words = words
        self._cited = cited

    def log(self, stored: str, lineage: str) -> str:
        """Without the lines about that step. Which of its messages a line tells of can not be known."""
        numbers = self._cited.get(lineage)
        blocks = parsed(stored) if numbers else None
        if not numbers or not isinstance(blocks, list):
            return self._words.drawn(stored) if numbers else stored
        changed = False
        for block in blocks:
            lines = [line for line in map(self._line, block["lines"]) if not cites(line, numbers)]
            changed = changed or lines != block["lines"]
            block["lines"] = lines
        return encoded(blocks) if changed else stored

    def _line(self, line: str) -> str:
        return line if CITED.search(line) else self._words.drawn(line)


def cites(line: str, numbers: frozenset[int]) -> bool:
    return (at := CITED.search(line)) is not None and int(at[1]) in numbers


class Removal:
    """Takes items out on behalf of `Views.remove`."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    async def remove(self, tenant: Tenant, session: Session, what: Item, *, weigh: Weigh, now: int) -> bool:
        if items.place_of(what.step) is not None:
            raise Malformed(
                "This item was imported with its conversation and cannot be deleted by itself;"
                " POST /api/memory/forget takes words out of imported history.",
                param="item_id",
            )
        with self._store.reading() as db:
            at = paths.find(db, tenant, session, what.step)
            row = step(db, tenant, what) if at is not None else None
            drawn = ids(db, tenant, what) if row is not None else ()
        made = row.without(what) if row is not None else None
        if at is None or made is None:
            return False
        spots = {at[0]: {at[1]}}
        ground = await self._store.searching(lambda db: forgetting.ground_of(db, tenant, session.scope))
        if ground is not None:
            lineages = await self._store.searching(lambda db: forgetting.lineages_of(db, ground))
            cited = await self._store.searching(lambda db: forgetting.cited(db, self._store, ground, lineages, spots))
            removed = Removed(what.step, drawn, Words(made.text), cited)
            self._store.scrubs.add(tenant, session.scope, session.session_key, removed)
            for lineage in lineages:
                await self._rewrite(tenant, lineage, removed)
        gone = await self._store.writing(lambda db: self._take(db, tenant, what, weigh, now), after=self._let_go)
        await self._store.cleared()
        return gone

    async def _rewrite(self, tenant: Tenant, lineage: str, removed: Removed) -> None:
        """A path's logs, profiles, and what its steps were told from memory, without it."""
        store = self._store
        told = await store.searching(lambda db: removed.steps_of(db, tenant, lineage))
        for start in range(0, len(told), ROWS_AT_ONCE):
            some = told[start : start + ROWS_AT_ONCE]
            await store.writing(partial(removed.drop_tails, steps=some))
        await store.writing(lambda db: removed.drop_profiles(db, tenant, lineage))
        for name in await store.searching(lambda db: quoting(db, tenant, lineage, removed)):
            await store.writing(partial(unquote, tenant=tenant, session=name, removed=removed))

    def _let_go(self) -> None:
        self._store.let_go()
        self._store.standing.clear()

    def _take(self, db: sqlite3.Connection, tenant: Tenant, what: Item, weigh: Weigh, now: int) -> bool:
        row = step(db, tenant, what)
        made = row.without(what) if row is not None else None
        if row is None or made is None:
            return False
        db.execute(
            "UPDATE step SET input = ?, output = ?, reply = ?, numbers = ?, tokens = ?, tail = ? WHERE no = ?",
            (
                made.input,
                made.output,
                made.reply,
                made.numbers,
                weigh(made.messages) if made.messages else 0,
                row.tail if made.messages else None,
                row.no,
            ),
        )
        self._store.scrubs.changed.add((tenant, what.step))
        self._store.scrubs.erased.update((tenant, claim) for claim in ids(db, tenant, what))
        claims.drop_of_steps(db, tenant, [what.step])
        where = (row.thread, row.lineage, row.seq)
        scrub.rechunk(db, tenant, where, made.messages, step=what.step, said_at=row.said_at, now=now)
        outbox.drop(db, tenant, "step", what.step)
        if made.messages:  # its claims are drawn anew from what is left
            (scope,) = db.execute(
                "SELECT scope FROM thread WHERE tenant = ? AND thread = ?", (tenant, row.thread)
            ).fetchone()
            outbox.add(db, tenant, scope, kind="step", name=what.step, now=now)
        return True


class Row(NamedTuple):
    no: int
    thread: str
    lineage: str
    seq: int
    said_at: int
    input: str
    output: str
    reply: str
    numbers: str | None
    tail: str | None

    def without(self, what: Item) -> Less | None:
        return items.less(self.input, self.output, self.reply, self.numbers, what)


def step(db: sqlite3.Connection, tenant: Tenant, what: Item) -> Row | None:
    query = f"SELECT {', '.join(Row._fields)} FROM step WHERE tenant = ? AND step = ?"  # noqa: S608
    row = db.execute(query, (tenant, what.step)).fetchone()
    return Row._make(row) if row is not None else None


def ids(db: sqlite3.Connection, tenant: Tenant, what: Item) -> tuple[ClaimId, ...]:
    """The claims that were drawn from the item's step."""
    rows = db.execute("SELECT claim FROM claim WHERE tenant = ? AND step = ?", (tenant, what.step))
    return tuple(ClaimId(claim) for (claim,) in rows)


def quoting(db: sqlite3.Connection, tenant: Tenant, lineage: str, removed: Removed) -> list[str]:
    """The sessions of a path whose log tells of it."""
    rows = db.execute(
        "SELECT session, log FROM session WHERE tenant = ? AND lineage = ? AND log IS NOT NULL", (tenant, lineage)
    )
    return [name for name, stored in rows if removed.log(stored, lineage) != stored]


def unquote(db: sqlite3.Connection, *, tenant: Tenant, session: str, removed: Removed) -> None:
    row = db.execute("SELECT lineage, log FROM session WHERE tenant = ? AND session = ?", (tenant, session)).fetchone()
    if row is not None and row[1] is not None:
        db.execute(
            "UPDATE session SET log = ? WHERE tenant = ? AND session = ?",
            (removed.log(row[1], row[0]), tenant, session),
        )
