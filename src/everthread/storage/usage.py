"""What turns took, in sums: by day, key, job and model, and the same by session.

The sums by session go with the session; the others have no session's name and stay.
"""

from __future__ import annotations

import sqlite3
from datetime import date, datetime, timedelta
from typing import Any

import msgspec

from everthread.core.ids import KeyId, StepId, Tenant
from everthread.core.turn import Step
from everthread.core.usage import By, Spent, Wanted
from everthread.storage import tally
from everthread.storage.rows import stamp
from everthread.storage.sqlite import SqliteStore, nothing

FIRST_DAY = date(1970, 1, 1)
COLUMNS: dict[By, str] = {"key": "api_key", "session": "session", "job": "job", "day": "day", "model": "model"}
ALL = "prompt + completion + distilling + searching"

OF_KEY = "tenant = :tenant AND day = :day AND api_key = :key"


class SqliteAccounts:
    """The `Accounts` port on an open store's file."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    async def add(self, tenant: Tenant, key: KeyId | None, step: Step) -> None:
        await self._store.adding(
            lambda _, later: tally.count(later, tenant, step, at=stamp(step.stored_at), key=key, session=None, job=None)
        )

    async def hidden(self, tenant: Tenant, of: StepId, *, model: str, tokens: int, at: datetime) -> None:
        await self._store.writing(
            lambda db: tally.count_hidden(db, tenant, of, model=model, tokens=tokens, at=stamp(at)), after=nothing
        )

    async def spent(self, tenant: Tenant, wanted: Wanted) -> tuple[tuple[Spent, ...], bool]:
        await self._store.writing(tally.add_up, after=nothing)
        return await self._store.searching(lambda db: page(db, tenant, wanted))

    async def total(self, tenant: Tenant, wanted: Wanted) -> tuple[Spent, ...]:
        await self._store.writing(tally.add_up, after=nothing)
        return await self._store.searching(lambda db: total(db, tenant, wanted))

    async def tokens(self, tenant: Tenant, key: KeyId, day: date) -> int:
        with self._store.reading() as db:
            row = db.execute(
                f"SELECT sum(tokens) FROM (SELECT {ALL} AS tokens FROM usage WHERE {OF_KEY}"  # noqa: S608
                f" UNION ALL SELECT {ALL} FROM usage_new WHERE {OF_KEY})",
                {"tenant": tenant, "day": number(day), "key": key},
            ).fetchone()
        return int(row[0] or 0)


def page(db: sqlite3.Connection, tenant: Tenant, wanted: Wanted) -> tuple[tuple[Spent, ...], bool]:
    """The names first, then what belongs to them: a name may have several models."""
    of = COLUMNS[wanted.by]
    table, where, values = asked(tenant, wanted)
    if wanted.by == "job":
        where += " AND job != ''"
    if wanted.after is not None:
        where += f" AND {of} > :after"
        values["after"] = number_of(wanted.after) if wanted.by == "day" else wanted.after
    names = db.execute(
        f"SELECT DISTINCT {of} FROM {table} WHERE {where} ORDER BY {of} LIMIT :most",  # noqa: S608
        {**values, "most": wanted.limit + 1},
    ).fetchall()
    if not names:
        return (), False
    last = names[: wanted.limit][-1][0]
    rows = db.execute(
        f"SELECT {of}, model, {tally.SUMS} FROM {table} WHERE {where} AND {of} <= :last"  # noqa: S608
        f" GROUP BY {of}, model ORDER BY {of}, model",
        {**values, "last": last},
    )
    return tuple(spent_of(wanted.by, row) for row in rows), len(names) > wanted.limit


def total(db: sqlite3.Connection, tenant: Tenant, wanted: Wanted) -> tuple[Spent, ...]:
    table, where, values = asked(tenant, msgspec.structs.replace(wanted, by="model"))
    rows = db.execute(f"SELECT model, model, {tally.SUMS} FROM {table} WHERE {where} GROUP BY model", values)  # noqa: S608
    return tuple(spent_of("model", row) for row in rows)


def asked(tenant: Tenant, wanted: Wanted) -> tuple[str, str, dict[str, Any]]:
    """Where to look, and for what."""
    by_session = wanted.by == "session" or wanted.session is not None
    where = "tenant = :tenant AND day >= :since AND day < :until"
    values: dict[str, Any] = {"tenant": tenant, "since": number(wanted.since), "until": number(wanted.until)}
    if wanted.keys is not None:
        where += " AND api_key IN (SELECT value FROM json_each(:keys))"
        values["keys"] = msgspec.json.encode(wanted.keys).decode()
    if wanted.session is not None:
        where += " AND session = :session"
        values["session"] = wanted.session
    if wanted.job is not None:
        where += " AND job = :job"
        values["job"] = wanted.job
    return "usage_of_session" if by_session else "usage", where, values


def spent_of(by: By, row: tuple[Any, ...]) -> Spent:
    name, model, requests, prompt, completion, cached, distilling, searching = row
    return Spent(
        of=(FIRST_DAY + timedelta(days=name)).isoformat() if by == "day" else name,
        model=model,
        requests=requests,
        prompt=prompt,
        completion=completion,
        cached=cached,
        distilling=distilling,
        searching=searching,
    )


def number(day: date) -> int:
    return (day - FIRST_DAY).days


def number_of(text: str) -> int:
    return number(date.fromisoformat(text))
