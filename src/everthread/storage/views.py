"""Steps seen through other doors, beside the ledger in its file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

from everthread.core.ids import StepId, Tenant, ThreadId
from everthread.core.messages import Message
from everthread.core.ports import Ids
from everthread.core.session import Session
from everthread.core.transcript import Order
from everthread.core.turn import ViewKind
from everthread.core.view import Items, Sort, Spot, Stored, View
from everthread.errors import SessionMoved
from everthread.storage import items, ledger, paths, runs, shown
from everthread.storage.removal import Removal
from everthread.storage.rows import STEP_COLUMNS, TIP, moment, session_of, stamp, step_of
from everthread.storage.sqlite import SqliteStore, nothing


class SqliteViews:
    """The `Views` port on an open store's file."""

    def __init__(self, store: SqliteStore, ids: Ids) -> None:
        self._store = store
        self._ids = ids
        self._removal = Removal(store)

    async def spot(self, tenant: Tenant, step: StepId) -> Spot | None:
        with self._store.reading() as db:
            row = db.execute(
                f"SELECT lineage, session, {STEP_COLUMNS} FROM step WHERE tenant = ? AND step = ?",  # noqa: S608
                (tenant, step),
            ).fetchone()
            tip = db.execute(TIP, (tenant, row[0])).fetchone() if row is not None else None
            if tip is None:  # there is none, or its thread is being erased
                return None
            found = step_of(row[2:])
            parent = db.execute(
                "SELECT parent FROM session WHERE tenant = ? AND session = ?", (tenant, row[1])
            ).fetchone()
            return Spot(
                step=found,
                session=session_of(tip),
                said_in=row[1],
                parent=parent[0] if parent else None,
                place=paths.after(db, tenant, row[0], found.seq),
            )

    # --- responses and stored completions -----------------------------------------------------------------------

    async def view(self, tenant: Tenant, step: StepId, kind: ViewKind) -> View | None:
        with self._store.reading() as db:
            return shown.view(db, tenant, step, kind)

    async def views(
        self, tenant: Tenant, kind: ViewKind, *, sort: Sort, after: StepId | None, limit: int, order: Order
    ) -> tuple[tuple[View, ...], bool]:
        def job(db: sqlite3.Connection) -> tuple[tuple[View, ...], bool]:
            return shown.views(db, tenant, kind, sort=sort, after=after, limit=limit, order=order)

        if (
            sort.model is not None or sort.metadata or sort.key_prefix is not None
        ):  # those that do not match are looked at too
            return await self._store.searching(job)
        with self._store.reading() as db:
            return job(db)

    async def label(self, tenant: Tenant, step: StepId, kind: ViewKind, metadata: Mapping[str, str]) -> bool:
        return await self._store.writing(lambda db: shown.label(db, tenant, step, kind, metadata), after=nothing)

    async def drop(self, tenant: Tenant, step: StepId, kind: ViewKind, *, now: datetime) -> bool:
        def job(db: sqlite3.Connection) -> tuple[bool, str | None]:
            found, thread = shown.drop(db, tenant, step, kind)
            if found and kind == "response":
                runs.drop(db, tenant, step)
            if thread is not None:
                ledger.condemn(db, tenant, thread, stamp(now))
            return found, thread

        found, thread = await self._store.writing(job)
        if thread is not None:
            await self._store.erase(tenant, ThreadId(thread), now=now)
        if found:
            await self._store.cleared(at_once=thread is not None)
        return found

    # --- items of a conversation --------------------------------------------------------------------------------

    async def append(
        self, tenant: Tenant, session: Session, messages: Sequence[Message], *, tokens: Sequence[int], now: datetime
    ) -> tuple[StepId, ...]:
        if not messages:
            return ()
        try:
            steps = await self._store.writing(
                partial(
                    items.append,
                    tenant=tenant,
                    session=session,
                    messages=messages,
                    tokens=tokens,
                    now=stamp(now),
                    new=self._ids.new,
                ),
                after=nothing,
            )
        except SessionMoved:
            self._store.stale(tenant, session)
            raise
        for _ in messages:
            session = session.advanced(session.rolling, 1)
        self._store.stale(tenant, session, head=True)
        return steps

    async def items(self, tenant: Tenant, session: Session, *, after: StepId | None, limit: int, order: Order) -> Items:
        with self._store.reading() as db:
            return items.items(db, tenant, session, after=after, limit=limit, order=order)

    async def stored(self, tenant: Tenant, session: Session, step: StepId) -> Stored | None:
        with self._store.reading() as db:
            return items.stored(db, tenant, session, step)

    async def remove(
        self,
        tenant: Tenant,
        session: Session,
        step: StepId,
        number: int | None,
        call: str | None,
        *,
        weigh: Callable[[tuple[Message, ...]], int],
        now: datetime,
    ) -> bool:
        what = items.Item(step, number, call)
        return await self._removal.remove(tenant, session, what, weigh=weigh, now=stamp(now))

    async def about(self, tenant: Tenant, session: Session) -> tuple[datetime, Mapping[str, str]]:
        with self._store.reading() as db:
            row = db.execute(
                "SELECT created_at, metadata FROM thread WHERE tenant = ? AND thread = ? AND deleted_at IS NULL",
                (tenant, session.thread),
            ).fetchone()
        if row is None:
            raise SessionMoved
        return moment(row[0]), shown.metadata_of(row[1])

    async def describe(self, tenant: Tenant, session: Session, metadata: Mapping[str, str]) -> None:
        def job(db: sqlite3.Connection) -> bool:
            done = db.execute(
                "UPDATE thread SET metadata = ? WHERE tenant = ? AND thread = ? AND deleted_at IS NULL",
                (shown.text_of(metadata) if metadata else None, tenant, session.thread),
            )
            return done.rowcount == 1

        if not await self._store.writing(job, after=nothing):
            raise SessionMoved
