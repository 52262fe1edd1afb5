"""One file, one writer, group commit."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from everthread.core.claim import Block
from everthread.core.ids import KeyId, LineageId, ScopeId, SessionId, SessionKey, StepId, Tenant, ThreadId
from everthread.core.key import ApiKey
from everthread.core.messages import Message
from everthread.core.ports import Commit, Epoch, Hit, Hold, Looking, Past, Problem, Recorded, Reserved, past_of
from everthread.core.session import Place, Session
from everthread.core.transcript import Branch, Card, Order, Page
from everthread.core.turn import OnBusy, Replay, Step
from everthread.errors import (
    IdempotencyInProgress,
    IdempotencyMismatch,
    SessionMoved,
    StoreUnavailable,
)
from everthread.storage import (
    appointed,
    archive,
    check,
    keys,
    ledger,
    opening,
    paths,
    posted,
    runs,
    shown,
    tally,
    terms,
    tombstones,
)
from everthread.storage.aside import Aside
from everthread.storage.line import LONGEST_LINE, Claim, Lines
from everthread.storage.near import AtHand
from everthread.storage.recent import Epochs, Sessions
from everthread.storage.rows import (
    FIND,
    STEP_COLUMNS,
    TIP,
    moment,
    session_of,
    stamp,
    step_of,
)
from everthread.storage.scrub import Scrubs
from everthread.storage.seen import Standing
from everthread.storage.sight import Paths
from everthread.storage.watch import Watch
from everthread.storage.writer import Later, Writer

log = logging.getLogger("everthread.storage")

T = TypeVar("T")

MOST_HITS = 10_000  # looked at by one search
ERASED_AT_ONCE = 20  # steps of a thread: a short while for those who wait
SWEEPS = 3  # tries
TRIED_OUT = 256 * 1024  # bytes
FORGETTING = StepId("forgetting")  # who holds threads while something in them is erased


class SqliteStore:
    """The `Store` port on one SQLite file (WAL, synchronous=FULL).

    `serving` takes the file's lock: there is one server process per file. Command-line tools open it without."""

    def __init__(self, path: Path, *, serving: bool = True, longest_wait: float = 60.0) -> None:
        self._path = path
        self._serving = serving
        self._lines = Lines(longest_wait=longest_wait)
        self._lock: int | None = None
        self._reader: sqlite3.Connection | None = None
        self._reading = threading.Lock()
        self._writer: Writer | None = None
        self._replaying: set[tuple[Tenant, str]] = set()  # the replay keys whose turns this process is running
        self._sessions = Sessions()
        self._epochs = Epochs()
        self._watch = Watch(path)
        self._aside = Aside(self._connect, self._watch)
        self.paths = Paths()
        self.vectors = AtHand()
        self.standing = Standing()
        self.scrubs = Scrubs()
        self._sweeping = asyncio.Lock()
        self._unswept = False
        self._uncounted = 0  # steps whose tokens are not added up
        self._counting: asyncio.Task[None] | None = None
        self.news: Callable[[], None] = nothing  # is called when there may be something to tell an API key

    # --- life ---------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._serving:
                self._lock = opening.take_lock(opening.lock_of(self._path))
            opening.prepare(self._path, alone=self._serving)
            self._reader = self._connect()
            self._reader.execute("PRAGMA query_only = ON")
            self._writer = Writer(self._connect(), self._watch)
            if self._serving:
                await self._write(ledger.forget_interrupted)
                await self._write(tally.add_up)  # what an earlier process left
                self._watch.begin()
        except (sqlite3.Error, OSError) as error:
            await self.close()
            raise opening.refusal(self._path, error) from error
        except StoreUnavailable as failure:
            await self.close()
            if isinstance(failure.__cause__, sqlite3.Error):
                raise opening.refusal(self._path, failure.__cause__) from failure
            raise

    async def close(self) -> None:
        if self._counting is not None:
            await asyncio.wait([self._counting])
        if self._writer is not None:
            await self._writer.stop()
            self._writer = None
        await self._aside.close()
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._watch.end()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        self._forget(())  # from here on others may write
        self.vectors.forget()
        self.standing.clear()

    def _connect(self) -> sqlite3.Connection:
        return opening.connect(self._path)

    async def ping(self) -> None:
        if self._watch.damage is not None:
            raise self._watch.damage
        with self._read() as db:
            db.execute("SELECT 1 FROM migration LIMIT 1").fetchone()
        if self._watch.trouble:
            await self._open_writer().run(try_out)
            self._watch.trouble = False
        else:
            await self._open_writer().run(lambda db: db.execute("SELECT 1 FROM migration LIMIT 1").fetchone())

    async def writing(self, job: Callable[[sqlite3.Connection], T], *, after: Callable[[], None] | None = None) -> T:
        """Runs what else is kept in this file through its one writer.

        `after` lets go of what is at hand and may have changed; unless it is given, all standing claims are."""
        return await self._open_writer().run(job, after=after or self.standing.clear)

    async def adding(self, job: Callable[[sqlite3.Connection, Later], T]) -> T:
        """Runs what only adds, and looks at nothing, through the one writer."""
        done = await self._open_writer().put(job)
        self._counted()
        return done

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """Lends the reading connection for something short."""
        self._doubt()
        return self._read()

    async def searching(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Runs something long beside the event loop."""
        if self._reader is None:
            raise StoreUnavailable("The store is closed.")
        self._doubt()
        return await self._aside.run(job)

    def _doubt(self) -> None:
        """Beside a server, what is at hand may not be so any more."""
        if not self._serving:
            self.paths.clear()
            self.vectors.forget()
            self.standing.clear()

    async def _write(self, job: Callable[[sqlite3.Connection], Any]) -> Any:
        return await self.writing(job)

    def _open_writer(self) -> Writer:
        if self._writer is None:
            raise StoreUnavailable("The store is closed.")
        return self._writer

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        """The reading connection. Reads are short and bounded, so they run where they are called."""
        if self._reader is None:
            raise StoreUnavailable("The store is closed.")
        try:
            with self._reading:
                yield self._reader
        except sqlite3.Error as error:
            raise self._watch.unavailable(error) from error

    # --- keys ---------------------------------------------------------------------------------------------------

    async def add_key(self, key: ApiKey) -> None:
        await self._write(lambda db: keys.add(db, key))

    async def key(self, id: KeyId) -> ApiKey | None:  # noqa: A002
        with self._read() as db:
            return keys.find(db, id)

    async def keys(self, tenant: Tenant | None = None) -> tuple[ApiKey, ...]:
        with self._read() as db:
            return keys.many(db, tenant)

    async def revoke_key(self, id: KeyId, now: datetime) -> bool:  # noqa: A002
        return bool(await self._write(lambda db: keys.revoke(db, id, stamp(now))))

    async def ended_keys(self, some: Collection[KeyId], now: datetime) -> tuple[KeyId, ...]:
        with self._read() as db:
            return keys.ended(db, some, stamp(now))

    async def unhook_key(self, id: KeyId, url: str) -> None:  # noqa: A002
        await self._write(lambda db: keys.unhook(db, id, url))

    # --- sessions -----------------------------------------------------------------------------------------------

    async def find(self, tenant: Tenant, session_id: SessionId) -> Session | None:
        return self._find(tenant, session_id)

    def _find(self, tenant: Tenant, session_id: SessionId) -> Session | None:
        if self._serving and (known := self._sessions.get(tenant, session_id)) is not None and self._reader:
            return known
        with self._read() as db:
            row = db.execute(FIND, (tenant, session_id)).fetchone()
        if row is None:
            return None
        session = session_of(row)
        self._sessions.put(tenant, session_id, session)
        return session

    async def tip(self, tenant: Tenant, lineage: LineageId) -> Session:
        with self._read() as db:
            row = db.execute(TIP, (tenant, lineage)).fetchone()
        if row is None:
            raise SessionMoved
        return session_of(row)

    def claim(
        self, tenant: Tenant, session_id: SessionId, *, by: StepId, on_busy: OnBusy = "queue", patient: bool = False
    ) -> AbstractAsyncContextManager[Hold]:
        return Claim(self._lines, self._find, (tenant, session_id), by=by, on_busy=on_busy, patient=patient)

    @property
    def at_hand(self) -> int:
        """Bytes, about, of what need not be read again: windows of sessions that are spoken in, vectors of scopes that
        are searched. Both have their bounds."""
        return self._epochs.bytes + self.vectors.bytes

    async def held(self, tenant: Tenant, session_id: SessionId) -> bool:
        session = self._find(tenant, session_id)
        return self._lines.held((tenant, session.root if session else session_id))

    async def epoch(self, tenant: Tenant, session: Session, *, tokens: int) -> Epoch:
        if session.last_seq == 0 and session.prior is None:
            return Epoch(None, ())
        known = self._epochs.get((tenant, session.lineage), session, tokens)
        if known is not None:
            return known
        newest: list[Past] = []
        room = tokens
        with self._read() as db:
            log, profile = paths.beginning(db, tenant, session)
            for past in paths.backwards(db, tenant, session):
                room -= past.tokens
                if room < 0 and newest:
                    break
                newest.append(past)
        epoch = Epoch(log, tuple(reversed(newest)), profile)
        self._epochs.put((tenant, session.lineage), session, tokens, epoch)
        return epoch

    async def matching(self, tenant: Tenant, session: Session, hashes: Sequence[bytes]) -> tuple[int, Place] | None:
        with self._read() as db:
            return paths.matching(db, tenant, session, hashes)

    async def following(self, tenant: Tenant, session: Session, message_id: str) -> Place | None:
        with self._read() as db:
            return paths.following(db, tenant, session, message_id)

    async def before(self, tenant: Tenant, place: Place) -> Place:
        with self._read() as db:
            return paths.before(db, tenant, place)

    async def opening(self, tenant: Tenant, session: Session) -> Place | None:
        with self._read() as db:
            return paths.opening(db, tenant, session)

    async def repeated(
        self, tenant: Tenant, session: Session, body: bytes, *, after: int, since: datetime | None
    ) -> Step | None:
        with self._read() as db:
            newest = db.execute(
                "SELECT seq, stored_at, body FROM step WHERE tenant = ? AND lineage = ? ORDER BY seq DESC LIMIT ?",
                (tenant, session.lineage, LONGEST_LINE),
            ).fetchall()
            for seq, stored_at, kept in newest:
                if kept == body and (seq > after or (since is not None and moment(stored_at) >= since)):
                    row = db.execute(
                        f"SELECT {STEP_COLUMNS} FROM step WHERE tenant = ? AND lineage = ? AND seq = ?",  # noqa: S608
                        (tenant, session.lineage, seq),
                    ).fetchone()
                    return step_of(row)
        return None

    async def said(self, tenant: Tenant, session: Session, message_id: str, *, since: datetime) -> Step | None:
        with self._read() as db:
            row = db.execute(
                f"SELECT {STEP_COLUMNS} FROM step WHERE tenant = ? AND thread = ? AND message_id = ?"  # noqa: S608
                " AND stored_at >= ? ORDER BY no DESC LIMIT 1",
                (tenant, session.thread, message_id, stamp(since)),
            ).fetchone()
        return step_of(row) if row else None

    async def importable(
        self, tenant: Tenant, session_id: SessionId, history: Sequence[Message]
    ) -> tuple[Message, ...]:
        with self._read() as db:
            return tombstones.importable(db, tenant, session_id, history)

    async def commit(self, tenant: Tenant, commit: Commit) -> Session:
        commit = self.scrubs.commit(tenant, shown.named(commit))
        touched: list[int] = []

        def job(db: sqlite3.Connection, later: Later) -> Session:
            history = tuple(message for exchange in commit.imported for message in exchange.messages)
            if history and tombstones.importable(db, tenant, commit.session.root, history) != history:
                raise SessionMoved  # some of it was forgotten while the turn ran
            if commit.fence is not None:
                runs.complete(db, tenant, commit)
            scope = self._place(db, tenant, commit)
            touched.append(scope)
            session = commit.session.advanced(commit.step.rolling, len(commit.step.input) + 1)
            if commit.begins or commit.bind is not None:
                name, key = db.execute("SELECT scope, session_key FROM scope WHERE no = ?", (scope,)).fetchone()
                session = session.bound(key, ScopeId(name))
            if commit.replay is not None:
                db.execute(
                    "UPDATE replay SET step = ? WHERE tenant = ? AND key = ?",
                    (commit.step.id, tenant, commit.replay.key),
                )
            ledger.record(later, tenant, commit, scope)
            return session

        try:
            binds = commit.bind is not None
            after = self.standing.clear if binds else None
            session = await self._open_writer().put(job, sees_all=binds, after=after)
        except SessionMoved:
            self._sessions.drop(tenant, commit.session)
            raise
        step = commit.step
        self._counted()
        if commit.replay is not None:
            self._replaying.discard((tenant, commit.replay.key))
        if commit.bind is not None:
            self._sessions.forget(tenant, session.thread)
            self.vectors.changed(touched)
        if commit.profile is not None:
            self._epochs.drop((tenant, session.lineage))
        self._sessions.answered(tenant, session)
        tail = step.tail.text if step.tail else ""
        past = past_of(step.messages(), step.tokens, step.turn, step.seq, step.said_at, tail=tail)
        self._epochs.append((tenant, session.lineage), step.seq, past)
        return session

    def _counted(self) -> None:
        """What steps took is added up now and then, and nobody waits for it."""
        self._uncounted += 1
        if self._uncounted >= tally.ADD_UP_EVERY and self._counting is None:
            self._uncounted = 0
            self._counting = asyncio.create_task(self._add_up())

    async def _add_up(self) -> None:
        try:
            await self.writing(tally.add_up, after=nothing)
        except StoreUnavailable as failure:
            log.info("what turns took is added up later: %s", failure.code)
        finally:
            self._counting = None

    @staticmethod
    def _place(db: sqlite3.Connection, tenant: Tenant, commit: Commit) -> int:
        """Makes room for the step on its path, new or known. Returns the number of its scope."""
        if commit.branches:
            return ledger.branch(db, tenant, commit)
        if not commit.begins:
            return ledger.advance(db, tenant, commit)
        step = commit.step
        return ledger.begin(
            db,
            tenant,
            commit.session,
            now=stamp(step.stored_at),
            source=step.source,
            imported=commit.imported,
            profile=commit.profile,
            first=step,
            asked=commit.asked,
        )

    async def rotate(
        self, tenant: Tenant, parent: Session, child: Session, *, log: str, now: datetime, profile: Block | None = None
    ) -> Session:
        log, profile = self.scrubs.rotation(tenant, parent, log, profile)
        try:
            session: Session = await self._write(
                lambda db: ledger.rotate(db, tenant, parent, child, log=log, profile=profile, now=stamp(now))
            )
        except SessionMoved:
            self._sessions.drop(tenant, parent)
            raise
        self._sessions.moved(tenant, session)
        self._epochs.rotated((tenant, session.lineage), session, log, profile)
        self.news()
        return session

    async def tidy(
        self,
        *,
        unnamed_before: datetime,
        replays_before: datetime,
        runs_before: datetime | None = None,
        parcels_before: datetime | None = None,
        limit: int,
    ) -> int:
        touched: set[int] = set()

        def job(db: sqlite3.Connection) -> tuple[int, int, int, int]:
            """How many threads are condemned, and how many rows went: of threads, without words, with words."""
            threads = db.execute(
                "SELECT tenant, thread FROM thread WHERE named = 0 AND updated_at < ? LIMIT ?",
                (stamp(unnamed_before), limit),
            ).fetchall()
            for tenant, thread in threads:
                touched.update(ledger.condemn(db, tenant, thread, stamp(unnamed_before)))
            doomed = db.execute(
                "SELECT tenant, thread FROM thread WHERE deleted_at IS NOT NULL LIMIT ?", (limit,)
            ).fetchall()
            for tenant, thread in doomed:
                ledger.erase(db, tenant, thread, ERASED_AT_ONCE)
            replays = db.execute(
                "DELETE FROM replay WHERE (tenant, key) IN"
                " (SELECT tenant, key FROM replay WHERE created_at < ? AND step IS NOT NULL LIMIT ?)",
                (stamp(replays_before), limit),
            )
            over = appointed.erase_some(db, limit)
            over += runs.drop_old(db, stamp(runs_before), limit) if runs_before is not None else 0
            parcels = posted.drop_old(db, stamp(parcels_before), limit) if parcels_before is not None else 0
            return len(threads), len(doomed), replays.rowcount + parcels, over

        condemned, erased, wordless, over = await self._write(job)
        if condemned:
            self._forget(touched)
        self._unswept = self._unswept or erased + over > 0
        if self._unswept and erased < limit:  # as good as done: now their words leave the file
            self._unswept = False
            await self._swept()
        return int(erased + wordless + over)

    async def search(self, tenant: Tenant, scope: ScopeId, query: str, *, limit: int) -> tuple[Hit, ...]:
        words = re.findall(r"\w+", query)[:64]
        if not words:
            return ()
        with self._read() as db:
            found = db.execute("SELECT no FROM scope WHERE tenant = ? AND scope = ?", (tenant, scope)).fetchone()
            if found is None:
                return ()
            scores = dict(terms.best(db, "chunk_fts", found[0], words, MOST_HITS))
            rows = db.execute(
                "SELECT thread.root, chunk.seq, chunk.role, chunk.text, chunk.said_at, chunk.no"
                " FROM json_each(?) AS best JOIN chunk ON chunk.no = best.value"
                " JOIN thread ON thread.tenant = chunk.tenant AND thread.thread = chunk.thread"
                " AND thread.deleted_at IS NULL WHERE chunk.tenant = ? ORDER BY best.key LIMIT ?",
                (msgspec.json.encode(list(scores)).decode(), tenant, limit),
            ).fetchall()
        return tuple(Hit(SessionId(r[0]), r[1], r[2], r[3], moment(r[4]), scores[r[5]]) for r in rows)

    # --- the archive --------------------------------------------------------------------------------------------

    async def cards(
        self,
        tenant: Tenant,
        *,
        session_key: SessionKey | None = None,
        key_prefix: str | None = None,
        source: str | None = None,
        include_children: bool = False,
        limit: int,
        offset: int = 0,
    ) -> tuple[Card, ...]:
        with self._read() as db:
            return archive.cards(
                db,
                tenant,
                session_key=session_key,
                key_prefix=key_prefix,
                source=source,
                include_children=include_children,
                limit=limit,
                offset=offset,
            )

    async def card(self, tenant: Tenant, session_id: SessionId) -> Card | None:
        with self._read() as db:
            return archive.card(db, tenant, session_id)

    async def transcript(
        self, tenant: Tenant, session: Session, *, after: str | None = None, limit: int, order: Order = "asc"
    ) -> Page:
        with self._read() as db:
            return archive.transcript(db, tenant, session, after=after, limit=limit, order=order)

    async def place(self, tenant: Tenant, session: Session, entry: str | None = None) -> Place:
        with self._read() as db:
            return archive.place(db, tenant, session, entry)

    async def tree(self, tenant: Tenant, session: Session) -> tuple[Branch, ...]:
        with self._read() as db:
            return archive.tree(db, tenant, session)

    async def begin(
        self, tenant: Tenant, session: Session, *, now: datetime, title: str | None = None, current: bool = False
    ) -> Session:
        begun: Session = await self._write(
            lambda db: archive.begin(db, tenant, session, now=stamp(now), title=title or None, current=current)
        )
        return begun

    async def current(self, tenant: Tenant, key: SessionKey) -> Session | None:
        with self._read() as db:
            root = archive.current(db, tenant, key)
        return self._find(tenant, root) if root is not None else None

    async def amend(
        self, tenant: Tenant, session: Session, *, now: datetime, title: str | None = None, end: str | None = None
    ) -> None:
        await self._write(lambda db: archive.amend(db, tenant, session, now=stamp(now), title=title, end=end))
        self._sessions.drop(tenant, session)

    async def delete(self, tenant: Tenant, session: Session, *, now: datetime) -> None:
        await self.erase(tenant, session.thread, now=now)
        await self.cleared()

    async def erase(self, tenant: Tenant, thread: ThreadId, *, now: datetime) -> None:
        """A whole thread, but for what a sweep takes out of the file."""
        self._forget(())
        touched: set[int] = await self._write(lambda db: ledger.condemn(db, tenant, thread, stamp(now)))
        self._forget(touched)
        while not await self._write(lambda db: ledger.erase(db, tenant, thread, ERASED_AT_ONCE)):
            pass
        self.vectors.changed(touched)

    def replaying(self, tenant: Tenant, key: str) -> bool:
        """Whether this process is running a turn that has this replay key."""
        return (tenant, key) in self._replaying

    @asynccontextmanager
    async def holding(self, tenant: Tenant, roots: Sequence[SessionId]) -> AsyncIterator[None]:
        """Threads that are ours until released, by the ids they are known by: the turns that run in them end first."""
        taken: list[SessionId] = []
        try:
            for root in roots:
                await self._lines.take((tenant, root), FORGETTING, "queue")
                taken.append(root)
            yield
        finally:
            for root in taken:
                self._lines.release((tenant, root))

    def stale(self, tenant: Tenant, session: Session, *, head: bool = False) -> None:
        """What is at hand of this path is not so any more; `head`: this is what its root's id means now."""
        self._epochs.drop((tenant, session.lineage))
        if head:
            self._sessions.answered(tenant, session)
        else:
            self._sessions.drop(tenant, session)

    def let_go(self) -> None:
        """Nothing of what is at hand may be so any more."""
        self._forget(())
        self.vectors.forget()

    async def cleared(self, *, at_once: bool = True) -> None:
        """The words of rows that were deleted leave the file too: now, or with the next tidying."""
        if not at_once or not await self._swept():
            self._unswept = True

    async def swept(self) -> None:
        """What was erased is in no file any more; StoreUnavailable while that cannot be said."""
        for _ in range(SWEEPS):
            if await self._swept(anew=True):
                return
        self._unswept = True  # the next tidying tries again
        raise StoreUnavailable("What was forgotten is erased, but still stands in the file; forget it once more.")

    async def _swept(self, *, anew: bool = False) -> bool:
        async with self._sweeping:
            return await asyncio.to_thread(self._sweep, anew=anew)

    def _forget(self, scopes: Iterable[int]) -> None:
        """Lets go of what is at hand: sessions that are gone, forks that took over their steps, vectors of scopes."""
        self._sessions.clear()
        self._epochs.clear()
        self.paths.clear()
        self.vectors.changed(scopes)

    def _sweep(self, *, anew: bool) -> bool:
        try:
            with closing(self._connect()) as db:
                db.execute("PRAGMA busy_timeout = 30000")
                return archive.sweep(db, anew=anew)
        except sqlite3.Error:  # what was deleted is deleted; its words leave the file with the next sweep
            log.warning("the words of a deleted session could not be swept from the file yet", exc_info=True)
            return False

    # --- replays ------------------------------------------------------------------------------------------------

    async def reserve(self, tenant: Tenant, replay: Replay, *, now: datetime) -> Reserved | Recorded:
        def job(db: sqlite3.Connection) -> str | None:
            """The step it led to before; None when the key is ours."""
            row = db.execute(
                "SELECT replay.fingerprint, step.step, replay.step IS NOT NULL AND thread.thread IS NULL, run.run"
                " FROM replay LEFT JOIN step ON step.tenant = replay.tenant AND step.step = replay.step"
                " LEFT JOIN thread ON thread.tenant = step.tenant AND thread.thread = step.thread"
                " AND thread.deleted_at IS NULL"
                " LEFT JOIN run ON run.tenant = replay.tenant AND run.run = replay.step"
                " WHERE replay.tenant = ? AND replay.key = ?",
                (tenant, replay.key),
            ).fetchone()
            if row is not None and row[2] and (row[3] is None or row[1] is not None):  # what it led to is being erased
                db.execute("DELETE FROM replay WHERE tenant = ? AND key = ?", (tenant, replay.key))
                row = None
            if row is None:
                db.execute(
                    "INSERT INTO replay VALUES (?, ?, ?, NULL, ?)",
                    (tenant, replay.key, replay.fingerprint, stamp(now)),
                )
                return None
            left_behind = row[1] is None and row[3] is None and not self.replaying(tenant, replay.key)
            if left_behind:  # it failed, and could not even be released
                db.execute(
                    "UPDATE replay SET fingerprint = ? WHERE tenant = ? AND key = ?",
                    (replay.fingerprint, tenant, replay.key),
                )
                return None
            if row[0] != replay.fingerprint:
                raise IdempotencyMismatch
            if row[1] is None:
                raise IdempotencyInProgress(retry_after=1)
            return str(row[1])

        step = await self._taken((tenant, replay.key), job)
        if step is None:
            return Reserved()
        with self._read() as db:
            row = db.execute(
                f"SELECT session, {STEP_COLUMNS} FROM step WHERE tenant = ? AND step = ?",  # noqa: S608
                (tenant, step),
            ).fetchone()
        session = self._find(tenant, SessionId(row[0])) if row else None
        if session is None:  # deleted in this very moment: it may run again
            return await self.reserve(tenant, replay, now=now)
        return Recorded(session, step_of(row[1:]))

    async def _taken(self, key: tuple[Tenant, str], job: Callable[[sqlite3.Connection], str | None]) -> str | None:
        """Runs a job that may find a key to be ours (None). It is not, if its caller has left by then."""
        ours = left = False

        def taking(db: sqlite3.Connection) -> str | None:
            nonlocal ours
            step = None if left else job(db)
            if step is None and not left:
                ours = True
                self._replaying.add(key)
            return step

        try:
            return await self._open_writer().run(taking)
        except BaseException:  # nobody is there to use the key, or to release it
            left = True
            if ours:
                self._replaying.discard(key)
            raise

    async def release(self, tenant: Tenant, replay: Replay) -> None:
        self._replaying.discard((tenant, replay.key))
        await self._open_writer().run(
            lambda db: (
                db.execute(
                    "DELETE FROM replay WHERE tenant = ? AND key = ? AND step IS NULL", (tenant, replay.key)
                ).rowcount
            )
        )

    # --- check --------------------------------------------------------------------------------------------------

    async def check(self, *, repair: bool, looking: Looking | None = None) -> tuple[Problem, ...]:
        mended: list[Problem] = []
        for mending in check.MENDINGS if repair else ():  # one by one: a server may write between them
            mended += await self._write(mending)
        if mended:
            self.vectors.forget()
        return (*mended, *await asyncio.to_thread(self._problems, looking))

    def _problems(self, looking: Looking | None) -> tuple[Problem, ...]:
        """Reads everything on a connection of its own, so that nobody waits."""
        try:
            with closing(self._connect()) as db:
                db.execute("BEGIN")
                return tuple(check.problems(db, looking))
        except sqlite3.Error as error:
            raise self._watch.unavailable(error) from error


# --- small things ---


def try_out(db: sqlite3.Connection) -> None:
    """Writes as much as a long turn does, and takes it back: on a full disk, only a real write tells."""
    db.execute("CREATE TABLE tried_out (room BLOB NOT NULL) STRICT")
    db.execute("INSERT INTO tried_out VALUES (zeroblob(?))", (TRIED_OUT,))
    db.execute("DROP TABLE tried_out")


def nothing() -> None:
    """What is left to do after a write that changes neither claims nor steps."""
