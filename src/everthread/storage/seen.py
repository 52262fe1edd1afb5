"""Claims as a view sees them: those of its paths, each as it stands by what else is seen from there."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from everthread.core import reversal
from everthread.core.claim import Claim, ClaimId, Kind, State
from everthread.core.ids import LineageId, StepId, Tenant
from everthread.core.memory import Near, View
from everthread.storage import sight, terms
from everthread.storage.claims import claim_of
from everthread.storage.index import in_portions, listed
from everthread.storage.near import Similarities
from everthread.storage.sight import Paths, Sight

MOST_LINKED = 300
MOST_STANDING = 500  # of each kind
MOST_COMPARED = 5_000  # the newest claims whose vectors are compared
RECENT = 20
HOPS = 20  # of a chain of claims, each replaced by the next
MOST_HELD = 32  # views whose standing claims are at hand

CLAIM = (
    "claim.no, claim.body, step.lineage, step.seq, thread.root, claim.claim, claim.step,"
    " claim.superseded_by, claim.supersedes, claim.cause"
)
WITH_STEP = """
    LEFT JOIN step ON step.tenant = claim.tenant AND step.step = claim.step
    LEFT JOIN thread ON thread.tenant = step.tenant AND thread.thread = step.thread
"""
BY_STEP = f"""
    SELECT {CLAIM} FROM json_each(?) AS asked CROSS JOIN claim ON claim.tenant = ? AND claim.step = asked.value
    {WITH_STEP} ORDER BY asked.key, claim.place
"""  # noqa: S608
BY_NAME = f"""
    SELECT {CLAIM} FROM claim {WITH_STEP}
    WHERE claim.tenant = ? AND claim.claim IN (SELECT value FROM json_each(?))
"""  # noqa: S608
# How claims name each other, and the index that finds those who name one.
LINKS = {"superseded_by": "claim_by_successor", "supersedes": "claim_by_predecessor", "cause": "claim_by_cause"}
NAMED = " ".join(
    f"UNION SELECT one.{link} FROM reached JOIN claim AS one ON one.tenant = ?1 AND one.claim = reached.name"  # noqa: S608
    f" WHERE one.{link} IS NOT NULL"
    for link in LINKS
)
NAMING = " ".join(  # each in a list of its own, which is bounded: a limit of the whole counts only what is taken up
    "UNION SELECT one.value FROM reached JOIN json_each((SELECT json_group_array(claim) FROM ("  # noqa: S608
    f"SELECT claim FROM claim INDEXED BY {index} WHERE tenant = ?1 AND {link} = reached.name"
    f" LIMIT {MOST_LINKED}))) AS one"
    for link, index in LINKS.items()
)
REACHED = f"""
    WITH RECURSIVE reached (name) AS (SELECT value FROM json_each(?2) {NAMED} {NAMING} LIMIT {MOST_LINKED})
    SELECT {CLAIM} FROM reached CROSS JOIN claim ON claim.tenant = ?1 AND claim.claim = reached.name {WITH_STEP}
"""  # noqa: S608


class Row(NamedTuple):
    no: int
    body: str
    lineage: str | None
    seq: int | None
    root: str | None
    claim: ClaimId
    step: StepId | None
    superseded_by: ClaimId | None
    supersedes: ClaimId | None
    cause: ClaimId | None


class Witness:
    """One view, asked about claims."""

    def __init__(self, db: sqlite3.Connection, paths: Paths, view: View, scope: int) -> None:
        self._db = db
        self._tenant = view.tenant
        self.scope = scope
        self.place = view.session.lineage if view.session is not None else None
        self.sight = sight.whole(db, paths, view, scope)
        self._known: dict[ClaimId, Row | None] = {}

    def claims(self, rows: Iterable[Row]) -> Iterator[Claim]:
        """Those of the rows that are seen, as they stand from here."""
        for row in rows:
            if self._seen(row):
                yield self._as_seen(row)

    def _seen(self, row: Row) -> bool:
        if row.lineage is None or row.seq is None:
            return row.step is None
        return self.sight.sees(row.lineage, row.seq)

    def _as_seen(self, row: Row) -> Claim:
        claim = msgspec.structs.replace(claim_of(row.body), session=row.root)
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
            name = row.superseded_by
        return None

    def _sees(self, claim: ClaimId) -> bool:
        row = self._row(claim)
        return row is not None and self._seen(row)

    def _row(self, claim: ClaimId) -> Row | None:
        if claim not in self._known:
            self._know([claim])
        return self._known[claim]

    def _know(self, claims: Iterable[ClaimId]) -> None:
        """Reads those that were not read yet, at once."""
        unknown = [claim for claim in claims if claim not in self._known]
        if unknown:
            self._known.update(dict.fromkeys(unknown))
            self._known.update((row.claim, row) for row in self._rows(BY_NAME, self._tenant, listed(unknown)))

    def _rows(self, query: str, *given: object) -> list[Row]:
        return list(map(Row._make, self._db.execute(query, given)))

    # --- by links ---

    def about(self, steps: Sequence[StepId]) -> tuple[Claim, ...]:
        """The claims of these steps and all that their links lead to, both ways: the nearest first."""
        rows = self._rows(BY_STEP, listed(steps), self._tenant)[:MOST_LINKED]
        if not rows:
            return ()
        rows = self._rows(REACHED, self._tenant, listed([row.claim for row in rows]))
        self._known.update((row.claim, row) for row in rows)
        self._know(dict.fromkeys(name for row in rows for name in named(row)))  # what is gone, or went too far
        return tuple(self.claims(rows))

    # --- by what they are ---

    def standing(self) -> tuple[Claim, ...]:
        """Wishes, facts, preferences and what is pinned, as far as they hold from here; the newest first."""
        rows: dict[int, Row] = {}
        for kind in ("instruction", "fact", "preference"):
            found = self._rows(
                f"SELECT {CLAIM} FROM claim INDEXED BY claim_standing {WITH_STEP} WHERE claim.scope = ?"  # noqa: S608
                " AND claim.kind = ? AND claim.state = 'current' ORDER BY claim.said_at DESC LIMIT ?",
                self.scope,
                kind,
                MOST_STANDING,
            )
            rows.update((row.no, row) for row in found)
        rows.update((row.no, row) for row in self._newest("claim_pinned", "claim.pinned = 1"))
        turned = "claim.state IN ('reversed', 'unresolved')"
        known = "claim.kind IN ('instruction', 'fact', 'preference')"
        replaced = self._newest("claim_turned", f"{turned} AND {known}")
        rows.update((row.no, row) for row in replaced)
        self._known.update((row.claim, row) for row in rows.values())
        self._know(dict.fromkeys(name for row in replaced for name in named(row)))
        held = [claim for claim in self.claims(rows.values()) if claim.state == "current"]
        return tuple(sorted(held, key=lambda claim: (claim.said_at, claim.seq), reverse=True))

    def added(self, limit: int) -> tuple[Claim, ...]:
        """What people added by hand and still holds, the newest first."""
        rows = self._rows(
            f"SELECT {CLAIM} FROM claim INDEXED BY claim_by_hand {WITH_STEP} WHERE claim.scope = ?"  # noqa: S608
            " AND claim.step IS NULL AND claim.state = 'current' ORDER BY claim.recorded_at DESC LIMIT ?",
            self.scope,
            limit,
        )
        return tuple(self.claims(rows))

    def _newest(self, index: str, where: str) -> list[Row]:
        return self._rows(
            f"SELECT {CLAIM} FROM claim INDEXED BY {index} {WITH_STEP} WHERE claim.scope = ? AND {where}"  # noqa: S608
            " ORDER BY claim.said_at DESC LIMIT ?",
            self.scope,
            MOST_STANDING,
        )

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
        where, given = ["claim.scope = ?"], [self.scope]
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
        for claim in self.claims(map(Row._make, rows)):
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
        lexical = dict(terms.best(self._db, "claim_fts", self.scope, words, 4 * limit))
        cosines = self._similar(similarities, vector, model) if vector is not None and any(vector) else {}
        similar = sorted(cosines, key=cosines.__getitem__, reverse=True)[: 2 * limit]
        recent = self._newest_open(RECENT)
        chosen = dict.fromkeys((*similar, *lexical, *recent))
        query = f"SELECT {CLAIM} FROM claim {WITH_STEP} WHERE claim.no IN ({{}})"  # noqa: S608
        rows = {row.no: row for row in map(Row._make, in_portions(self._db, query, chosen))}
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
            yield claim, row.no

    def _similar(self, similarities: Similarities, vector: bytes, model: str) -> dict[int, float]:
        rows = self._db.execute(
            "SELECT no, vector FROM claim INDEXED BY claim_of_scope WHERE scope = ? AND model = ?"
            " AND state != 'retracted' ORDER BY said_at DESC, seq DESC, place DESC LIMIT ?",
            (self.scope, model, MOST_COMPARED),
        ).fetchall()
        cosines = similarities(vector, [row[1] for row in rows])
        return {row[0]: cosine for row, cosine in zip(rows, cosines, strict=True)}

    def _newest_open(self, most: int) -> list[int]:
        rows = self._db.execute(
            "SELECT no FROM claim INDEXED BY claim_of_scope WHERE scope = ? AND state IN ('current', 'unresolved')"
            " ORDER BY said_at DESC, seq DESC, place DESC LIMIT ?",
            (self.scope, most),
        )
        return [no for (no,) in rows]


def named(row: Row) -> list[ClaimId]:
    """The claims that a claim names."""
    return [name for name in (row.superseded_by, row.supersedes, row.cause) if name is not None]


def homes(db: sqlite3.Connection, tenant: Tenant, claims: Sequence[Claim]) -> set[int]:
    """The scopes that these claims are in."""
    query = "SELECT DISTINCT scope FROM claim WHERE tenant = ? AND claim IN (SELECT value FROM json_each(?))"
    return {scope for (scope,) in db.execute(query, (tenant, listed([claim.id for claim in claims])))}


class Standing:
    """What holds from some views, at hand until a claim is written that may change it.

    One thread asks. Whoever writes claims says so, on any thread, when they are in the file."""

    def __init__(self) -> None:
        self._known: dict[int, dict[LineageId | None, tuple[Sight, tuple[Claim, ...]]]] = {}

    def of(self, witness: Witness) -> tuple[Claim, ...]:
        known = self._known.setdefault(witness.scope, {})  # when it is dropped meanwhile, what is read now is not kept
        before = known.get(witness.place)
        if before is not None and before[0] == witness.sight:
            return before[1]
        held = witness.standing()
        if sum(map(len, tuple(self._known.values()))) >= MOST_HELD:
            self.clear()
        known[witness.place] = (witness.sight, held)
        return held

    def drop(self, scopes: Iterable[int]) -> None:
        for scope in scopes:
            self._known.pop(scope, None)

    def clear(self) -> None:
        self._known = {}


def witness(db: sqlite3.Connection, paths: Paths, view: View) -> Witness | None:
    """None while nothing is known of the scope."""
    scope = sight.scope_number(db, Tenant(view.tenant), view.scope)
    return Witness(db, paths, view, scope) if scope is not None else None
