"""API keys as rows, and which of them are told of something."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from typing import Any

from everthread.core.ids import KeyId, Tenant
from everthread.core.key import ApiKey, Limits
from everthread.core.view import Hook
from everthread.storage.rows import moment, moment_of, stamp

NAMES = (
    "id, tenant, name, digest, rights, session_key_prefix, created_at, expires_at, revoked_at, hook_url, hook_secret,"
    " requests_per_minute, tokens_per_day, concurrent"
)


def key_of(row: tuple[Any, ...]) -> ApiKey:
    """A key from NAMES."""
    name, tenant, title, digest, rights, prefix, created, expires, revoked, url, secret = row[:11]
    requests, tokens, at_once = row[11:]
    unlimited = requests is None and tokens is None and at_once is None
    return ApiKey(
        id=KeyId(name),
        tenant=Tenant(tenant),
        name=title,
        digest=digest,
        rights=tuple(rights.split(",")),
        session_key_prefix=prefix,
        created_at=moment(created),
        expires_at=moment_of(expires),
        revoked_at=moment_of(revoked),
        hook=Hook(url, secret) if url is not None else None,
        limits=None if unlimited else Limits(requests_per_minute=requests, tokens_per_day=tokens, concurrent=at_once),
    )


def add(db: sqlite3.Connection, key: ApiKey) -> None:
    created = stamp(key.created_at)
    db.execute("INSERT OR IGNORE INTO tenant VALUES (?, ?)", (key.tenant, created))
    db.execute(
        f"INSERT INTO api_key ({NAMES}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        (
            key.id,
            key.tenant,
            key.name,
            key.digest,
            ",".join(key.rights),
            key.session_key_prefix,
            created,
            stamp(key.expires_at) if key.expires_at else None,
            stamp(key.revoked_at) if key.revoked_at else None,
            key.hook.url if key.hook else None,
            key.hook.secret if key.hook else None,
            key.limits.requests_per_minute if key.limits else None,
            key.limits.tokens_per_day if key.limits else None,
            key.limits.concurrent if key.limits else None,
        ),
    )


def find(db: sqlite3.Connection, name: KeyId) -> ApiKey | None:
    row = db.execute(f"SELECT {NAMES} FROM api_key WHERE id = ?", (name,)).fetchone()  # noqa: S608
    return key_of(row) if row else None


def many(db: sqlite3.Connection, tenant: Tenant | None) -> tuple[ApiKey, ...]:
    rows = db.execute(
        f"SELECT {NAMES} FROM api_key WHERE ?1 IS NULL OR tenant = ?1 ORDER BY tenant, created_at",  # noqa: S608
        (tenant,),
    )
    return tuple(key_of(row) for row in rows)


def revoke(db: sqlite3.Connection, name: KeyId, now: int) -> bool:
    """It is not valid any more, and what has yet to be told to its webhook is not told."""
    found = db.execute("UPDATE api_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (now, name))
    drop_waiting(db, name)
    return found.rowcount == 1


def ended(db: sqlite3.Connection, some: Collection[KeyId], now: int) -> tuple[KeyId, ...]:
    rows = db.execute(
        "SELECT id FROM api_key WHERE id IN (SELECT value FROM json_each(?))"
        " AND (revoked_at IS NOT NULL OR expires_at <= ?)",
        (json.dumps(list(some)), now),
    )
    return tuple(KeyId(name) for (name,) in rows)


def unhook(db: sqlite3.Connection, name: KeyId, url: str) -> None:
    found = db.execute(
        "UPDATE api_key SET hook_url = NULL, hook_secret = NULL WHERE id = ? AND hook_url = ?", (name, url)
    )
    if found.rowcount:
        drop_waiting(db, name)


def drop_waiting(db: sqlite3.Connection, name: KeyId) -> None:
    db.execute("DELETE FROM parcel INDEXED BY parcel_of_key WHERE api_key = ? AND state = 'waiting'", (name,))


def hearing(db: sqlite3.Connection, tenant: str, session_key: str | None, now: int) -> list[tuple[KeyId, Hook]]:
    """The tenant's keys that have a webhook, and may touch what belongs to this session key."""
    rows = db.execute(
        f"SELECT {NAMES} FROM api_key INDEXED BY api_key_hooked"  # noqa: S608
        " WHERE tenant = ? AND hook_url IS NOT NULL AND revoked_at IS NULL",
        (tenant,),
    ).fetchall()
    keys = [key_of(row) for row in rows]
    return [(key.id, key.hook) for key in keys if key.hook and key.valid(moment(now)) and key.allows(session_key)]
