"""Claims as a view sees them: those of its paths, each as it stands by what else is seen from there."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from everthread.core import reversal
from everthread.core.claim import Claim, ClaimId, Kind, State
from everthread.core.ids import StepId, Tenant
from everthread.core.memory import Near, View
from everthread.storage import sight, terms
from everthread.storage.claims import claim_of
from everthread.storage.index import in_portions
from everthread.storage.near import Similarities
from everthread.storage.sight import Paths

MOST_LINKED = 300
MOST_STANDING = 100  # of each kind
MOST_COMPARED = 5_000  # the newest claims whose vectors are compared
RECENT = 20
HOPS = 20  # of a chain of claims, each replaced by the next

CLAIM = "claim.no, claim.body, step.lineage, step.seq, thread.root"
WITH_STEP = """
    LEFT JOIN step ON step.tenant = claim.tenant AND step.step = claim.step
    LEFT JOIN thread ON thread.tenant = step.tenant AND thread.thread = step.thread
"""
Row = tuple[Any, ...]


class Witness:
    """One view, asked about claims."""

    def __init__(self, db: sqlite3.Connection, paths: Paths, view: View, scope: int) -> None:
        self._db = db
        self._tenant = view.tenant
        self._scope = scope
        self._sight = sight.whole(db, paths, view, scope)
        self._known: dict[ClaimId, Row | None] = {}

    def claims(self, rows: Iterable[Row]) -> Iterator[Claim]:
        """Those of the rows that are seen, as they stand from here."""
        for row in rows:
            if self._seen(row):
                yield self._as_seen(row)

    def _seen(self, row: Row) -> bool:
        claim = row[1]
        return self._sight.sees(row[2], row[3]) if row[2] is not None else claim_of(claim).step is None

    def _as_seen(self, row: Row) -> Claim:
        claim = msgspec.structs.replace(claim_of(row[1]), session=row[4])
        if claim.superseded_by is not None and claim.state in {"reversed", "unresolved"}:
            successor = self._successor(claim)
            if successor is None:
                claim = reversal.restored(claim)
            elif successor != claim.superseded_by:
                claim = msgspec.structs.replace(claim, superseded_by=successor)
        if claim.state == "unresolved" and claim.supersedes is not None and not self._sees(claim.supersedes):
            claim = reversal.freed(claim)
        return claim

    def _successor(self, claim: Claim) -> ClaimId | None:
        """The first claim that took this one's place and is seen."""
        name = claim.superseded_by
        for _ in range(HOPS):
            row = self._row(name) if name is not None else None
            if row is None or self._seen(row):
                return name if row is not None else None
            name = claim_of(row[1]).superseded_by
        return None

    def _sees(self, claim: ClaimId) -> bool:
        row = self._row(claim)
        return row is not None and self._seen(row)

    def _row(self, claim: ClaimId) -> Row | None:
        if claim not in self._known:
            self._known[claim] = self._db.execute(
                f"SELECT {CLAIM} FROM claim {WITH_STEP} WHERE claim.tenant = ? AND claim.claim = ?",  # noqa: S608
                (self._tenant, claim),
            ).fetchone()
        return self._known[claim]

    # --- by links ---

    def about(self, steps: Sequence[StepId]) -> tuple[Claim, ...]:
        """The claims of these steps and all that their links lead to."""
        rows = {
            row[0]: row
            for step in steps
            for row in self._rows("WHERE claim.tenant = ? AND claim.step = ? ORDER BY claim.place", self._tenant, step)
        }
        fresh = list(rows.values())
        while fresh and len(rows) < MOST_LINKED:
            found = {row[0]: row for known in fresh for row in self._linked(known) if row[0] not in rows}
            rows.update(found)
            fresh = list(found.values())
        return tuple(self.claims(list(rows.values())[:MOST_LINKED]))

    def _linked(self, row: Row) -> Iterator[Row]:
        claim = claim_of(row[1])
        for link in (claim.superseded_by, claim.supersedes, claim.cause):
            known = self._row(link) if link is not None else None
            if known is not None:
                yield known
        for column in ("superseded_by", "supersedes", "cause"):
            yield from self._rows(
                f"WHERE claim.tenant = ? AND claim.{column} = ? LIMIT {MOST_LINKED}", self._tenant, claim.id
            )

    def _rows(self, where: str, *given: object) -> list[Row]:
        return self._db.execute(f"SELECT {CLAIM} FROM claim {WITH_STEP} {where}", given).fetchall()  # noqa: S608

    # --- by what they are ---

    def standing(self) -> tuple[Claim, ...]:
        """Wishes, facts, preferences and what is pinned, as far as they hold from here; the newest first."""
        rows: dict[int, Row] = {}
        for kind in ("instruction", "fact", "preference"):
            found = self._db.execute(
                f"SELECT {CLAIM} FROM claim INDEXED BY claim_standing {WITH_STEP} WHERE claim.scope = ?"  # noqa: S608
                " AND claim.kind = ? AND claim.state = 'current' ORDER BY claim.said_at DESC LIMIT ?",
                (self._scope, kind, MOST_STANDING),
            )
            rows.update((row[0], row) for row in found)
        rows.update((row[0], row) for row in self._newest("claim_pinned", "claim.pinned = 1"))
        turned = "claim.state IN ('reversed', 'unresolved')"
        known = "claim.kind IN ('instruction', 'fact', 'preference')"
        rows.update((row[0], row) for row in self._newest("claim_turned", f"{turned} AND {known}"))
        held = [claim for claim in self.claims(rows.values()) if claim.state == "current"]
        return tuple(sorted(held, key=lambda claim: (claim.said_at, claim.seq), reverse=True))

    def _newest(self, index: str, where: str) -> list[Row]:
        return self._db.execute(
            f"SELECT {CLAIM} FROM claim INDEXED BY {index} {WITH_STEP} WHERE claim.scope = ? AND {where}"  # noqa: S608
            " ORDER BY claim.said_at DESC LIMIT ?",
            (self._scope, MOST_STANDING),
        ).fetchall()

    def listed(
        self,
        *,
        kinds: Sequence[Kind],
        states: Sequence[State],
        pinned: bool | None,
        after: ClaimId | None,
        limit: int,
    ) -> tuple[Claim, ...]:
        """In the order in which they were said."""
        where, given = ["claim.scope = ?"], [self._scope]
        if after is not None:
            where.append(
                "(claim.said_at, claim.seq, claim.place, claim.claim) >"
                " (SELECT said_at, seq, place, claim FROM claim AS last WHERE last.tenant = ? AND last.claim = ?)"
            )
            given += [self._tenant, after]  # type: ignore[list-item]
        rows = self._db.execute(
            f"SELECT {CLAIM} FROM claim INDEXED BY claim_of_scope {WITH_STEP} WHERE {' AND '.join(where)}"  # noqa: S608
            " ORDER BY claim.said_at, claim.seq, claim.place, claim.claim",
            given,
        )
        found: list[Claim] = []
        for claim in self.claims(rows):
            if len(found) == limit:
                break
            if (
                (not kinds or claim.kind in kinds)
                and (not states or claim.state in states)
                and (pinned is None or claim.pinned == pinned)
            ):
                found.append(claim)
        return tuple(found)

    # --- by what they say ---

    def near(
        self, similarities: Similarities, *, words: Sequence[str], vector: bytes | None, model: str, limit: int
    ) -> tuple[Near, ...]:
        """Claims with words in common, similar or recent, the nearest first; what was reversed comes with the claims
        that took its place."""
        lexical = dict(terms.best(self._db, "claim_fts", self._scope, words, 4 * limit))
        cosines = self._similar(similarities, vector, model) if vector is not None and any(vector) else {}
        similar = sorted(cosines, key=cosines.__getitem__, reverse=True)[: 2 * limit]
        recent = [row[0] for row in self._newest_open(RECENT)]
        chosen = dict.fromkeys((*similar, *lexical, *recent))
        query = f"SELECT {CLAIM} FROM claim {WITH_STEP} WHERE claim.no IN ({{}})"  # noqa: S608
        rows = {row[0]: row for row in in_portions(self._db, query, chosen)}
        order = sorted(chosen, key=lambda no: (-cosines.get(no, 0.0), -lexical.get(no, 0.0)))
        told = ((no, claim) for no in order for claim in self.claims([rows[no]]) if claim.state != "retracted")
        found = {claim.id: Near(claim, cosines.get(no, 0.0)) for no, claim in islice(told, limit)}
        for one in tuple(found.values()):
            for claim, no in self._after(one.claim):
                found.setdefault(claim.id, Near(claim, cosines.get(no, 0.0)))
        return tuple(found.values())

    def _after(self, claim: Claim) -> Iterator[tuple[Claim, int]]:
        """The claims that took its place, one after the other."""
        for _ in range(HOPS):
            row = self._row(claim.superseded_by) if claim.superseded_by and claim.state == "reversed" else None
            if row is None:
                return
            claim = self._as_seen(row)
            yield claim, row[0]

    def _similar(self, similarities: Similarities, vector: bytes, model: str) -> dict[int, float]:
        rows = self._db.execute(
            "SELECT no, vector FROM claim INDEXED BY claim_of_scope WHERE scope = ? AND model = ?"
            " AND state != 'retracted' ORDER BY said_at DESC, seq DESC, place DESC LIMIT ?",
            (self._scope, model, MOST_COMPARED),
        ).fetchall()
        cosines = similarities(vector, [row[1] for row in rows])
        return {row[0]: cosine for row, cosine in zip(rows, cosines, strict=True)}

    def _newest_open(self, most: int) -> list[Row]:
        return self._db.execute(
            "SELECT no FROM claim INDEXED BY claim_of_scope WHERE scope = ? AND state IN ('current', 'unresolved')"
            " ORDER BY said_at DESC, seq DESC, place DESC LIMIT ?",
            (self._scope, most),
        ).fetchall()


def witness(db: sqlite3.Connection, paths: Paths, view: View) -> Witness | None:
    """None while nothing is known of the scope."""
    scope = sight.scope_number(db, Tenant(view.tenant), view.scope)
    return Witness(db, paths, view, scope) if scope is not None else None
