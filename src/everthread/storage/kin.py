"""Passages that may tell about the same thing: which are to be compared, and what came of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import islice

import msgspec

from everthread.core.ids import ScopeId, StepId
from everthread.core.memory import Chances, Kin, Kindred, Passage, View
from everthread.storage import sight
from everthread.storage.index import PASSAGE, WITH_THREAD, listed, passage_of, passages
from everthread.storage.near import AtHand, Similarities
from everthread.storage.sight import Paths

AHEAD = 4  # times as many are looked at as are wanted: answers are among them, and other people's words
LEAST = 0.1  # cosine: below it two statements have nothing to do with each other
FOLLOWED = 0.13  # chance from which on one statement leads to another
HOPS = 3  # from one statement to the next
MOST = 120  # passages that are reached from those asked for, the likeliest first
JUST = 3  # steps from a message to the one just before it, at most: in a group others speak in between
MOST_LINKS = 1000  # that are followed at once, those read last first

BEFORE = """
    SELECT kin.later, kin.earlier, kin.replaces, kin.repeats FROM json_each(?2) AS asked
        CROSS JOIN kin ON kin.scope = ?1 AND kin.later = asked.value
        WHERE kin.replaces + kin.repeats >= ?3 ORDER BY kin.later DESC LIMIT ?4
"""
AFTER = """
    SELECT kin.later, kin.earlier, kin.replaces, kin.repeats FROM json_each(?2) AS asked
        CROSS JOIN kin INDEXED BY kin_of_earlier ON kin.scope = ?1 AND kin.earlier = asked.value
        WHERE kin.replaces + kin.repeats >= ?3 ORDER BY kin.later DESC LIMIT ?4
"""
AMONG = """
    SELECT kin.later, kin.earlier, kin.replaces, kin.repeats FROM json_each(?2) AS asked
        CROSS JOIN kin ON kin.scope = ?1 AND kin.later = asked.value
        WHERE kin.earlier IN (SELECT value FROM json_each(?2))
"""
PUT_RIGHT = """
    SELECT claim.step FROM json_each(?2) AS asked CROSS JOIN claim INDEXED BY claim_of_step
        ON claim.tenant = ?1 AND claim.step = asked.value
        LEFT JOIN claim AS successor ON successor.tenant = ?1 AND successor.claim = claim.superseded_by
        WHERE claim.state = 'retracted' OR (successor.claim IS NOT NULL AND successor.step IS NULL)
"""
SAID = """
    SELECT chunk.no FROM json_each(?) AS asked CROSS JOIN step ON step.tenant = ? AND step.step = asked.value
        CROSS JOIN chunk INDEXED BY chunk_of_step ON chunk.tenant = step.tenant AND chunk.thread = step.thread
            AND chunk.lineage = step.lineage AND chunk.seq = step.seq AND chunk.role = 'user'
"""
JUST_BEFORE = f"""
    SELECT {PASSAGE} FROM chunk AS own CROSS JOIN chunk INDEXED BY chunk_of_step
        ON chunk.tenant = own.tenant AND chunk.thread = own.thread AND chunk.lineage = own.lineage
            AND chunk.seq BETWEEN own.seq - ?4 AND own.seq AND chunk.no <> own.no
            AND (chunk.seq < own.seq OR coalesce(chunk.message, 0) < coalesce(own.message, 0))
            AND chunk.role = own.role AND chunk.name IS own.name AND coalesce(chunk.start, 0) = 0
        {WITH_THREAD}
        WHERE own.no = ?1 AND own.thread = ?2 AND own.lineage = ?3
        ORDER BY chunk.seq DESC, chunk.message DESC LIMIT 1
"""  # noqa: S608


class Family(msgspec.Struct, frozen=True):
    """What is needed beside the file."""

    paths: Paths
    hand: AtHand
    similarities: Similarities

    def nearest(
        self, db: sqlite3.Connection, passage: Passage, vector: bytes, *, model: str, limit: int
    ) -> list[tuple[float, Passage]]:
        """What people said that is similar to a passage, on the newest paths of its scope; with the cosines."""
        home = db.execute(
            "SELECT scope.tenant, scope.scope, scope.no FROM chunk JOIN scope ON scope.no = chunk.scope"
            " WHERE chunk.no = ?",
            (passage.no,),
        ).fetchone()
        if home is None or not any(vector):
            return []
        tenant, name, scope = home
        seen = sight.whole(db, self.paths, View(tenant, ScopeId(name)), scope)
        block = self.hand.block(db, scope, model, len(vector))
        near = block.nearest(self.similarities, vector, seen.sees, AHEAD * limit)
        apart = [no for no, cosine in near.items() if cosine >= LEAST and no != passage.no]
        found = [one for one in passages(db, tenant, scope, apart, seen) if one.role == passage.role]
        return sorted(((near[one.no], one) for one in found), key=lambda pair: -pair[0])[:limit]

    def kindred(
        self, db: sqlite3.Connection, view: View, numbers: Sequence[int], steps: Sequence[StepId] = ()
    ) -> Kindred:
        """All that these passages lead to and that is seen; without what a person took back, or put right by hand."""
        scope = sight.scope_number(db, view.tenant, view.scope)
        if scope is None:
            return Kindred()
        said = db.execute(SAID, (listed(steps), view.tenant)) if steps else ()
        reached = led_to(db, scope, {*numbers, *(no for (no,) in said)})
        links = kin_of(db.execute(AMONG, (scope, listed(reached))))
        if not links:
            return Kindred()
        seen = sight.whole(db, self.paths, view, scope)
        found = tuple(passages(db, view.tenant, scope, reached, seen))
        steps_of = listed(sorted({one.step for one in found if one.step is not None}))
        aside = {step for (step,) in db.execute(PUT_RIGHT, (view.tenant, steps_of))}
        kept = tuple(one for one in found if one.step not in aside)
        known = {passage.no for passage in kept}
        return Kindred(kept, tuple(kin for kin in links if known.issuperset((kin.earlier, kin.later))))


def just_before(db: sqlite3.Connection, passage: Passage) -> Passage | None:
    """How the message begins that the same person sent just before this one."""
    row = db.execute(JUST_BEFORE, (passage.no, passage.thread, passage.lineage, JUST)).fetchone()
    return None if row is None else passage_of(row)


def led_to(db: sqlite3.Connection, scope: int, asked: set[int]) -> list[int]:
    """These passages, and those that likely go together with them, from one to the next."""
    reached, new = set(asked), asked
    for _ in range(HOPS):
        asked_for = (scope, listed(sorted(new)), FOLLOWED, MOST_LINKS)
        likely = sorted(kin_of((*db.execute(BEFORE, asked_for), *db.execute(AFTER, asked_for))), key=by_chance)
        led = dict.fromkeys(no for kin in likely for no in (kin.later, kin.earlier) if no not in reached)
        new = set(islice(led, MOST + len(asked) - len(reached)))
        if not new:
            break
        reached |= new
    return sorted(reached)


def kin_of(rows: Iterable[tuple[int, int, float, float]]) -> list[Kin]:
    return [Kin(earlier, later, Chances(replaces, repeats)) for later, earlier, replaces, repeats in rows]


def by_chance(kin: Kin) -> tuple[float, int]:
    """The likeliest first; of those what was read last."""
    return (-kin.chances.either, -kin.later)


def keep(db: sqlite3.Connection, found: Sequence[Kin]) -> None:
    """Keeps them, where both passages are there, and in one scope."""
    db.executemany(
        "INSERT OR REPLACE INTO kin SELECT later.scope, later.no, earlier.no, ?, ? FROM chunk AS later"
        " JOIN chunk AS earlier ON earlier.no = ? AND earlier.scope = later.scope WHERE later.no = ?",
        [(one.chances.replaces, one.chances.repeats, one.earlier, one.later) for one in found],
    )
