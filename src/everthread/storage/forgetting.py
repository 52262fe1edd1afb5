"""Forgetting: words and all that was derived from them leave the file, for good.

First everything is looked through, without a lock, for where the words stand. Then what was derived goes (logs,
profiles, claims), then imported history, and the steps themselves come last: when it is cut short, the words are still
where they are looked for, and forgetting them again does the rest. Each portion is a transaction of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Concatenate, ParamSpec, TypeVar

import msgspec

from everthread.core.claim import Claim, ClaimId
from everthread.core.ids import ScopeId, SessionId, SessionKey, StepId, Tenant, ThreadId
from everthread.core.memory import Forget, Forgotten, Place
from everthread.core.messages import Message
from everthread.errors import SessionMoved
from everthread.storage import claims as claim_rows
from everthread.storage import imports, ledger, paths, runs, scrub, tombstones, unseen
from everthread.storage.mask import Words
from everthread.storage.rows import said, stamp
from everthread.storage.scrub import STEP, Change, Recalled, Scrub
from everthread.storage.sqlite import SqliteStore
from everthread.wire.chat import stored_messages

READ_AT_ONCE = 200  # rows looked through before others get their turn
STEPS_AT_ONCE = 4  # changed in one transaction, with their passages: a short while for those who wait
LOGS_AT_ONCE = 8
ROWS_AT_ONCE = 40  # that are smaller
LOOKS = 3
MOST_PLACES = 100
TELLING = 16  # characters of a message that is kept from coming back with another session's history
AROUND = 40  # characters shown on both sides of a place
EVER = 1 << 62

T = TypeVar("T")
P = ParamSpec("P")


class Ground(msgspec.Struct, frozen=True):
    """Where something is to be forgotten."""

    tenant: Tenant
    scope: ScopeId
    no: int
    key: SessionKey | None


class Thread(msgspec.Struct, frozen=True):
    thread: ThreadId
    root: SessionId
    title: str | None
    prior: bytes | None


class Stretch(msgspec.Struct, frozen=True):
    """Steps of a lineage that a path of the scope has."""

    lineage: str
    first: int
    last: int


class Found(msgspec.Struct):
    """Where the words stand."""

    steps: list[int] = []  # their numbers in the file
    spots: dict[str, set[int]] = {}  # messages that change: lineage -> number there
    claims: dict[ClaimId, Claim] = {}
    places: list[Place] = []
    messages: int = 0
    exchanges: set[bytes] = set()  # imported ones
    gone: set[str] = set()  # steps that go as a whole

    def add(self, root: SessionId, change: Change) -> None:
        self.steps.append(change.no)
        if change.messages:
            self.spots.setdefault(change.lineage, set()).add(change.seq)
        self.count(root, StepId(change.step), change.seq, change)

    def count(self, root: SessionId, step: StepId | None, seq: int, change: Change | imports.Touched) -> None:
        self.messages += change.messages
        for role, text, (start, end) in change.shown:
            if len(self.places) == MOST_PLACES:
                break
            excerpt = text[max(0, start - AROUND) : end + AROUND]
            self.places.append(Place(root, step, seq, role, excerpt))

    def told(self) -> Forgotten:
        claims = sorted(
            self.claims.values(), key=lambda claim: (claim.said_at, claim.seq, claim.span.message, claim.id)
        )
        return Forgotten(claims=tuple(claims), places=tuple(self.places), messages=self.messages)


class Forgetting:
    """Erases on behalf of `Memory.forget`, and keeps those who read meanwhile from writing it down again."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._changed = store.scrubs.changed
        self._erased = store.scrubs.erased

    async def forget(self, tenant: Tenant, scope: ScopeId, what: Forget, *, now: datetime, dry_run: bool) -> Forgotten:
        ground = await self._read(ground_of, tenant, scope)
        if ground is None:
            return Forgotten()
        if what.text is not None:
            return await self._words(ground, Words(what.text), None, now=now, dry_run=dry_run)
        if what.claim is not None:
            name = what.claim
            claim = await self._read(claim_in, ground, name)
            if claim is None:
                return Forgotten()
            return await self._words(ground, Words(claim.quote), claim, now=now, dry_run=dry_run)
        threads = await self._read(threads_of, ground)
        if what.session is not None:
            session = await self._store.find(tenant, what.session)
            threads = [one for one in threads if session is not None and one.thread == session.thread]
            if not threads:
                return Forgotten()
        return await self._threads(ground, threads, what, now=now, dry_run=dry_run)

    def refuse_stale(self, db: sqlite3.Connection, tenant: Tenant, claims: Iterable[Claim]) -> None:
        """Claims that were drawn from what a step said before something in it was forgotten: SessionMoved."""
        for claim in claims:
            if (tenant, claim.id) in self._erased:
                raise SessionMoved("Something was forgotten meanwhile.")
            if claim.step is not None and (tenant, claim.step) in self._changed and not stands(db, tenant, claim):
                raise SessionMoved("Something was forgotten meanwhile.")

    async def _read(
        self, look: Callable[Concatenate[sqlite3.Connection, P], T], *given: P.args, **named: P.kwargs
    ) -> T:
        def at_once(db: sqlite3.Connection) -> T:
            db.execute("BEGIN")  # one view of the file, whatever others erase meanwhile
            try:
                return look(db, *given, **named)
            finally:
                db.execute("ROLLBACK")

        return await self._store.searching(at_once)

    async def _write(
        self, change: Callable[Concatenate[sqlite3.Connection, P], T], *given: P.args, **named: P.kwargs
    ) -> T:
        return await self._store.writing(lambda db: change(db, *given, **named))

    # --- words --------------------------------------------------------------------------------------------------

    async def _words(
        self, ground: Ground, words: Words, claim: Claim | None, *, now: datetime, dry_run: bool
    ) -> Forgotten:
        if dry_run:
            return (await self._look(ground, words, claim)).told()
        threads = await self._read(threads_of, ground)
        async with self._store.holding(ground.tenant, [one.root for one in threads]):
            scrubbing = Scrub(words)
            self._store.scrubs.add(ground.tenant, ground.scope, ground.key, scrubbing)
            await self._store.writing(lambda _: None)  # what was handed in before is on disk now, and is seen
            await self._finish_deletions(ground, now)
            found = await self._look(ground, words, claim)
            await self._erase_derived(ground, scrubbing, found)
            await self._erase_words(ground, words, found, now=stamp(now))
            self._store.let_go()
        await self._store.swept()
        return found.told()

    async def _finish_deletions(self, ground: Ground, now: datetime) -> None:
        """Threads that were deleted and whose rows are still there, since the server was stopped in the middle."""
        for thread in await self._read(condemned, ground):
            await self._store.erase(ground.tenant, thread, now=now)

    async def _look(self, ground: Ground, words: Words, claim: Claim | None) -> Found:
        """Looks through all that was said in the scope, and all that was drawn from it."""
        found = Found()
        if claim is not None:
            found.claims[claim.id] = claim
        for thread in await self._read(threads_of, ground):
            if thread.prior is not None:
                await self._read(look_at_import, ground, thread, words, found)
        for stretch in await self._read(stretches_of, self._store, ground):
            rest: Stretch | None = stretch
            while rest is not None:
                rest = await self._read(look_at_steps, ground, rest, words, found)
        for one in await self._read(claims_with, ground, words):
            found.claims.setdefault(one.id, one)
        return found

    async def _erase_derived(self, ground: Ground, scrubbing: Scrub, found: Found) -> None:
        tenant, claims = ground.tenant, list(found.claims.values())
        for _ in range(LOOKS):  # a fork that begins in this very moment takes a log along
            lineages = await self._read(lineages_of, ground)
            scrubbing.cited.update(await self._read(cited, self._store, ground, lineages, found.spots))
            sessions = await self._read(scrub.sessions, tenant, lineages, scrubbing)
            if not sessions:
                break
            await self._in_portions(
                sessions, lambda db, some: scrub.rewrite_sessions(db, tenant, some, scrubbing), LOGS_AT_ONCE
            )
        await self._write(scrub.rewrite_others, ground.no, tenant, scrubbing.words)
        await self._hush(ground, scrubbing.words)
        self._erased |= {(tenant, claim.id) for claim in claims}
        await self._in_portions(claims, lambda db, some: claim_rows.drop(db, tenant, some))

    async def _hush(self, ground: Ground, words: Words) -> None:
        """What stands beside the steps that are seen as responses, what runs say that have none yet, what jobs are to
        say."""
        tenant = ground.tenant
        for thread in await self._read(threads_of, ground):
            after: unseen.Name | None = ("", "")
            while after is not None:
                views, after = await self._read(unseen.views, tenant, thread.thread, after, words, limit=READ_AT_ONCE)
                await self._in_portions(views, lambda db, some: unseen.rewrite_views(db, tenant, some, words))
        hushed = await self._read(unseen.hushed, tenant, ground.no, ground.key, words)
        await self._in_portions(hushed, lambda db, some: unseen.rewrite_runs(db, tenant, some, words), LOGS_AT_ONCE)
        jobs = await self._read(unseen.jobs, tenant, ground.no, ground.key)
        await self._in_portions(jobs, lambda db, some: unseen.rewrite_jobs(db, tenant, some, words))

    async def _erase_words(self, ground: Ground, words: Words, found: Found, *, now: int) -> None:
        tenant = ground.tenant
        if found.exchanges:
            for thread in await self._read(threads_of, ground):
                await self._write(imports.recast, tenant, thread.thread, words, now)

        def job(db: sqlite3.Connection, steps: Sequence[int]) -> None:
            for change in scrub.rewrite_steps(db, tenant, steps, words, now):
                self._changed.add((tenant, change.step))
                doomed = scrub.doomed(db, tenant, change, words)  # those that were drawn meanwhile too
                self._erased |= {(tenant, claim.id) for claim in doomed}
                claim_rows.drop(db, tenant, doomed)

        await self._in_portions(found.steps, job, STEPS_AT_ONCE)

    async def _in_portions(
        self,
        all_of: Sequence[T],
        job: Callable[[sqlite3.Connection, Sequence[T]], None],
        portion: int = ROWS_AT_ONCE,
    ) -> None:
        for start in range(0, len(all_of), portion):
            await self._write(job, all_of[start : start + portion])

    # --- whole threads ------------------------------------------------------------------------------------------

    async def _threads(
        self, ground: Ground, threads: Sequence[Thread], what: Forget, *, now: datetime, dry_run: bool
    ) -> Forgotten:
        tenant, everything = ground.tenant, what.everything
        found = Found()
        names = frozenset(thread.thread for thread in threads)
        for thread in threads:
            kept = await self._read(kept_by_forks, self._store, tenant, thread.thread, names)
            await self._read(look_at_thread, tenant, thread, kept, found)
        if everything:
            for claim in await self._read(claims_with, ground, None):
                found.claims.setdefault(claim.id, claim)
        told = msgspec.structs.replace(found.told(), sessions=len(threads))
        if dry_run:
            return told
        recalled = Recalled(found.gone, found.claims, [thread.root for thread in threads])
        self._erased |= {(tenant, claim) for claim in found.claims}
        self._store.scrubs.add(tenant, ground.scope, ground.key, recalled)
        await self._store.writing(lambda _: None)  # what was handed in before is on disk now, and is seen
        await self._finish_deletions(ground, now)
        if everything:
            await self._in_portions(list(found.claims.values()), lambda db, some: claim_rows.drop(db, tenant, some))
        else:
            await self._forget_elsewhere(ground, recalled)
        for thread in threads:  # last: while it is there, it can be forgotten again
            if what.for_good:
                await self._write(bury, tenant, thread, stamp(now))
                await self._bury_words(tenant, thread, stamp(now))
            await self._store.erase(tenant, thread.thread, now=now)
        if everything:
            await self._write(forget_scope, ground)
        self._store.let_go()
        await self._store.swept()
        return told

    async def _bury_words(self, tenant: Tenant, thread: Thread, now: int) -> None:
        after: int | None = 0
        while after is not None:
            after = await self._write(bury_words, tenant, thread.thread, after, now)
        await self._write(bury_import, tenant, thread, now)

    async def _forget_elsewhere(self, ground: Ground, recalled: Recalled) -> None:
        """What other conversations of the scope were told from memory of these."""
        for lineage in await self._read(lineages_of, ground):
            told = await self._read(recalled.steps_of, ground.tenant, lineage)
            await self._in_portions(told, recalled.drop_tails)
            await self._write(recalled.drop_profiles, ground.tenant, lineage)


# --- looking ---


def ground_of(db: sqlite3.Connection, tenant: Tenant, scope: ScopeId) -> Ground | None:
    row = db.execute("SELECT no, session_key FROM scope WHERE tenant = ? AND scope = ?", (tenant, scope)).fetchone()
    return Ground(tenant, scope, *row) if row else None


def threads_of(db: sqlite3.Connection, ground: Ground) -> list[Thread]:
    rows = db.execute(
        "SELECT thread, root, title, prior FROM thread WHERE tenant = ? AND scope = ? AND deleted_at IS NULL"
        " ORDER BY root",  # the order in which they are held: the same for everybody
        (ground.tenant, ground.no),
    )
    return [Thread(*row) for row in rows]


def condemned(db: sqlite3.Connection, ground: Ground) -> list[ThreadId]:
    rows = db.execute(
        "SELECT thread FROM thread WHERE tenant = ? AND scope = ? AND deleted_at IS NOT NULL",
        (ground.tenant, ground.no),
    )
    return [ThreadId(row[0]) for row in rows]


def lineages_of(db: sqlite3.Connection, ground: Ground) -> list[str]:
    rows = db.execute(
        "SELECT lineage.lineage FROM thread JOIN lineage ON lineage.tenant = thread.tenant"
        " AND lineage.thread = thread.thread WHERE thread.tenant = ? AND thread.scope = ? AND deleted_at IS NULL",
        (ground.tenant, ground.no),
    )
    return [row[0] for row in rows]


def stretches_of(db: sqlite3.Connection, store: SqliteStore, ground: Ground) -> list[Stretch]:
    """The scope's own lineages, and what its paths have of lineages of other scopes: a fork stays with its key."""
    own = lineages_of(db, ground)
    mine = set(own)
    others: dict[str, int] = {}
    for lineage in own:
        for stretch in store.paths.of(db, ground.tenant, lineage):
            if stretch.lineage not in mine and stretch.last > 0:
                others[stretch.lineage] = max(stretch.last, others.get(stretch.lineage, 0))
    return [
        *(Stretch(lineage, -EVER, EVER) for lineage in own),
        *(Stretch(lineage, 1, last) for lineage, last in others.items()),
    ]


def look_at_steps(
    db: sqlite3.Connection, ground: Ground, stretch: Stretch, words: Words, found: Found
) -> Stretch | None:
    """A portion of a stretch; the rest of it."""
    rows = db.execute(
        f"SELECT thread.root, {STEP} FROM step JOIN thread ON thread.tenant = step.tenant"  # noqa: S608
        " AND thread.thread = step.thread WHERE step.tenant = ? AND step.lineage = ? AND step.seq >= ?"
        " AND step.seq <= ? ORDER BY step.seq LIMIT ?",
        (ground.tenant, stretch.lineage, stretch.first, stretch.last, READ_AT_ONCE),
    ).fetchall()
    for root, *row in rows:
        change = scrub.change_of(tuple(row), words)
        if change is not None:
            found.add(root, change)
            for claim in scrub.doomed(db, ground.tenant, change, words):
                found.claims[claim.id] = msgspec.structs.replace(claim, session=root)
    return Stretch(stretch.lineage, rows[-1][5] + 1, stretch.last) if len(rows) == READ_AT_ONCE else None


def look_at_import(db: sqlite3.Connection, ground: Ground, thread: Thread, words: Words, found: Found) -> None:
    for touched in imports.touched(db, ground.tenant, imports.end_of(db, ground.tenant, thread.thread), words):
        lineage, seq = imports.whereabouts(db, ground.tenant, thread.thread, touched.place)
        if lineage is not None:
            found.spots.setdefault(lineage, set()).add(seq)
        if touched.address not in found.exchanges:  # several threads may stand on it
            found.exchanges.add(touched.address)
            found.count(thread.root, None, seq, touched)


def kept_by_forks(
    db: sqlite3.Connection, store: SqliteStore, tenant: Tenant, thread: ThreadId, doomed: frozenset[ThreadId]
) -> dict[str, int]:
    """Up to which step forks that stay will go on with a thread's lineages."""
    kept: dict[str, int] = {}
    for fork, owner in db.execute(
        "SELECT fork.lineage, fork.thread FROM lineage JOIN lineage AS fork ON fork.tenant = lineage.tenant"
        " AND fork.fork_lineage = lineage.lineage WHERE lineage.tenant = ? AND lineage.thread = ?",
        (tenant, thread),
    ).fetchall():
        if owner not in doomed:
            for stretch in store.paths.of(db, tenant, fork):
                kept[stretch.lineage] = max(stretch.last, kept.get(stretch.lineage, 0))
    return kept


def look_at_thread(db: sqlite3.Connection, tenant: Tenant, thread: Thread, kept: dict[str, int], found: Found) -> None:
    """Everything that would go with a thread."""
    rows = db.execute(
        "SELECT step.step, step.lineage, step.seq, step.input, step.output FROM lineage JOIN step"
        " ON step.tenant = lineage.tenant AND step.lineage = lineage.lineage"
        " WHERE lineage.tenant = ? AND lineage.thread = ? ORDER BY step.no",
        (tenant, thread.thread),
    ).fetchall()
    for step, lineage, seq, given, output in rows:
        if seq <= kept.get(lineage, 0):
            continue
        found.gone.add(step)
        messages = said(given, output)
        found.messages += len(messages)
        for message in messages[: MOST_PLACES - len(found.places)]:
            found.places.append(Place(thread.root, step, seq, message.role, message.text[: 2 * AROUND]))
        for (body,) in db.execute("SELECT body FROM claim WHERE tenant = ? AND step = ?", (tenant, step)):
            claim = msgspec.structs.replace(claim_rows.claim_of(body), session=thread.root)
            found.claims[claim.id] = claim
    if thread.prior is not None:
        row = db.execute("SELECT said FROM prior WHERE tenant = ? AND address = ?", (tenant, thread.prior)).fetchone()
        found.messages += row[0] if row else 0


ROOTED = """
    SELECT claim.body, thread.root FROM claim
    LEFT JOIN step ON step.tenant = claim.tenant AND step.step = claim.step
    LEFT JOIN thread ON thread.tenant = step.tenant AND thread.thread = step.thread
"""


def claims_with(db: sqlite3.Connection, ground: Ground, words: Words | None) -> list[Claim]:
    """The claims of the scope that say something in these words; without any, all of them."""
    found: list[Claim] = []
    for body, root in db.execute(f"{ROOTED} WHERE claim.scope = ?", (ground.no,)):
        if words is None or words.may_stand_in(body):
            claim = claim_rows.claim_of(body)
            if words is None or words.stand_in(claim):
                found.append(msgspec.structs.replace(claim, session=root))
    return found


def claim_in(db: sqlite3.Connection, ground: Ground, claim: ClaimId) -> Claim | None:
    row = db.execute(
        f"{ROOTED} WHERE claim.tenant = ? AND claim.claim = ? AND claim.scope = ?", (ground.tenant, claim, ground.no)
    ).fetchone()
    return msgspec.structs.replace(claim_rows.claim_of(row[0]), session=row[1]) if row else None


def cited(
    db: sqlite3.Connection, store: SqliteStore, ground: Ground, lineages: Sequence[str], spots: dict[str, set[int]]
) -> dict[str, frozenset[int]]:
    """By which numbers each path's log would cite the steps that change."""
    found: dict[str, frozenset[int]] = {}
    for lineage in lineages:
        numbers = frozenset(
            seq - stretch.shift
            for stretch in store.paths.of(db, ground.tenant, lineage)
            for seq in spots.get(stretch.lineage, ())
            if stretch.first <= seq <= stretch.last
        )
        if numbers:
            found[lineage] = numbers
    return found


def stands(db: sqlite3.Connection, tenant: Tenant, claim: Claim) -> bool:
    """Whether a claim's words are literally in its step, as it reads now."""
    row = db.execute("SELECT input, output FROM step WHERE tenant = ? AND step = ?", (tenant, claim.step)).fetchone()
    if row is None:
        return True  # it is left out anyway
    messages = said(*row)
    if claim.span.message >= len(messages):
        return False
    text = messages[claim.span.message].text
    return text[claim.span.start : claim.span.end] == claim.quote and (claim.because or "") in text


# --- whole threads ---


def bury(db: sqlite3.Connection, tenant: Tenant, thread: Thread, now: int) -> None:
    """None of the thread's ids brings a history along again."""
    rows = db.execute(
        "SELECT session.session FROM lineage JOIN session ON session.tenant = lineage.tenant"
        " AND session.lineage = lineage.lineage WHERE lineage.tenant = ? AND lineage.thread = ?",
        (tenant, thread.thread),
    ).fetchall()
    tombstones.put(db, tenant, "session", [thread.root, *(row[0] for row in rows)], now)


def bury_words(db: sqlite3.Connection, tenant: Tenant, thread: ThreadId, after: int, now: int) -> int | None:
    """A portion of what was said in a thread, so that no other session brings it along; where the rest begins."""
    rows = db.execute(
        "SELECT step.no, step.input, step.output FROM lineage JOIN step ON step.tenant = lineage.tenant"
        " AND step.lineage = lineage.lineage WHERE lineage.tenant = ? AND lineage.thread = ? AND step.no > ?"
        " ORDER BY step.no LIMIT ?",
        (tenant, thread, after, ROWS_AT_ONCE),
    ).fetchall()
    for _, given, output in rows:
        bury_messages(db, tenant, said(given, output), now)
    return rows[-1][0] if len(rows) == ROWS_AT_ONCE else None


def bury_import(db: sqlite3.Connection, tenant: Tenant, thread: Thread, now: int) -> None:
    for exchange in paths.imported(db, tenant, thread.prior):
        bury_messages(db, tenant, stored_messages(exchange.messages), now)


def bury_messages(db: sqlite3.Connection, tenant: Tenant, messages: Sequence[Message], now: int) -> None:
    """What anybody might say ("thanks") is not kept from being said by others."""
    texts = {text for message in messages for text in tombstones.said(message) if len(text) >= TELLING}
    tombstones.put(db, tenant, "message", texts, now)


def forget_scope(db: sqlite3.Connection, ground: Ground) -> None:
    """What is left of a scope without its threads: what people added by hand, what has yet to run; and itself, if it
    has no key."""
    db.execute("DELETE FROM claim WHERE scope = ? AND step IS NULL", (ground.no,))
    runs.drop_of_key(db, ground.tenant, ground.key)
    ledger.drop_unused(db, ground.no)
