"""Imported history without some words. Exchanges are shared by whoever brought the same history along; so what changes
is put beside the old one, under an address of its own, and the old one goes when nobody stands on it any more."""

from __future__ import annotations

import hmac
import sqlite3
from collections.abc import Iterator

import msgspec

from everthread.core.ids import Tenant
from everthread.storage import ledger, paths, scrub, tombstones
from everthread.storage.mask import SIGN, WEIGHT, Words
from everthread.storage.paths import Import
from everthread.wire.chat import RAWS, stored_messages


class Touched(msgspec.Struct, frozen=True):
    """An exchange in which the words stand."""

    address: bytes
    place: int
    messages: int
    shown: list[scrub.Shown]
    made: str
    originals: set[str]


def touched(db: sqlite3.Connection, tenant: Tenant, end: bytes | None, words: Words) -> Iterator[Touched]:
    """Those of a chain, the newest first."""
    for exchange in paths.imported(db, tenant, end):
        if (one := touch(exchange, words)) is not None:
            yield one


def touch(exchange: Import, words: Words) -> Touched | None:
    if not words.may_stand_in(exchange.messages):
        return None
    made: list[str] = []
    shown: list[scrub.Shown] = []
    originals: set[str] = set()
    changed = 0
    for raw in RAWS.decode(exchange.messages):
        text, found, sent = scrub.clean(bytes(raw).decode(), words)
        made.append(text)
        if found:
            (message,) = stored_messages(f"[{bytes(raw).decode()}]")
            changed += 1
            shown += [(message.role, where, span) for where, spans in found for span in spans]
            originals |= sent
    if not changed:
        return None
    return Touched(exchange.address, exchange.place, changed, shown, f"[{','.join(made)}]", originals)


def end_of(db: sqlite3.Connection, tenant: Tenant, thread: str) -> bytes | None:
    """The newest exchange that a thread was imported with."""
    row = db.execute("SELECT prior FROM thread WHERE tenant = ? AND thread = ?", (tenant, thread)).fetchone()
    return row[0] if row else None


def whereabouts(db: sqlite3.Connection, tenant: Tenant, thread: str, place: int) -> tuple[str | None, int]:
    """The lineage where a thread's paths begin, and the number of an exchange there."""
    row = db.execute(
        "SELECT lineage.lineage, prior.place FROM lineage JOIN prior ON prior.tenant = lineage.tenant"
        " AND prior.address = lineage.prior WHERE lineage.tenant = ? AND lineage.thread = ?"
        " AND lineage.fork_lineage IS NULL ORDER BY lineage.lineage LIMIT 1",
        (tenant, thread),
    ).fetchone()
    return (row[0], place - row[1]) if row else (None, 0)


def recast(db: sqlite3.Connection, tenant: Tenant, thread: str, words: Words, now: int) -> None:
    """A thread stands on its history without the words."""
    old_end = end_of(db, tenant, thread)
    chain = list(paths.imported(db, tenant, old_end))
    changes = {exchange.address: one for exchange in chain if (one := touch(exchange, words)) is not None}
    if old_end is None or not changes:
        return
    key = tombstones.salt(db, now) or b""
    renamed: dict[bytes, bytes] = {}
    fresh: list[tuple[bytes, bytes | None, Import, str]] = []
    before: bytes | None = None
    for exchange in reversed(chain):
        change = changes.get(exchange.address)
        if change is None and not fresh:
            before = exchange.address
            continue
        messages = change.made if change else exchange.messages
        address = hmac.digest(key, (before or b"") + messages.encode(), "sha256")
        fresh.append((address, before, exchange, messages))
        renamed[exchange.address] = before = address
        if change is not None:
            tombstones.put(db, tenant, "message", change.originals, now)
    hold(db, tenant, fresh)
    db.execute("UPDATE thread SET prior = ? WHERE tenant = ? AND thread = ?", (renamed[old_end], tenant, thread))
    for lineage, prior in db.execute(
        "SELECT lineage, prior FROM lineage WHERE tenant = ? AND thread = ? AND prior IS NOT NULL", (tenant, thread)
    ).fetchall():
        if prior in renamed:
            db.execute(
                "UPDATE lineage SET prior = ? WHERE tenant = ? AND lineage = ?", (renamed[prior], tenant, lineage)
            )
    ledger.drop_imported(db, tenant, old_end)
    reindex(db, tenant, thread, {renamed[address] for address in changes}, now)


def hold(db: sqlite3.Connection, tenant: Tenant, fresh: list[tuple[bytes, bytes | None, Import, str]]) -> None:
    """Stores the new end of a chain for one thread more; what is there already is held once more."""
    again = "UPDATE prior SET held = held + 1 WHERE tenant = ? AND address = ?"
    for address, before, exchange, messages in reversed(fresh):
        if db.execute(again, (tenant, address)).rowcount:
            return
        signs = max(0, messages.count(SIGN) - exchange.messages.count(SIGN))
        db.execute(
            "INSERT INTO prior VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?)",
            (
                tenant,
                address,
                before,
                exchange.place,
                messages,
                exchange.tokens + WEIGHT * signs,
                exchange.rolling or None,
                exchange.said,
            ),
        )
    if fresh[0][1] is not None:
        db.execute(again, (tenant, fresh[0][1]))


def reindex(db: sqlite3.Connection, tenant: Tenant, thread: str, changed: set[bytes], now: int) -> None:
    """The passages of what changed."""
    for lineage, prior, began in db.execute(
        "SELECT lineage.lineage, lineage.prior, thread.created_at FROM lineage JOIN thread"
        " ON thread.tenant = lineage.tenant AND thread.thread = lineage.thread"
        " WHERE lineage.tenant = ? AND lineage.thread = ? AND lineage.fork_lineage IS NULL",
        (tenant, thread),
    ).fetchall():
        for number, exchange in enumerate(paths.imported(db, tenant, prior)):
            if exchange.address in changed:
                said = db.execute(
                    "SELECT said_at FROM chunk WHERE tenant = ? AND thread = ? AND lineage = ? AND seq = ? LIMIT 1",
                    (tenant, thread, lineage, -number),
                ).fetchone()
                messages = stored_messages(exchange.messages)
                where = (thread, lineage, -number)
                scrub.rechunk(db, tenant, where, messages, step=None, said_at=said[0] if said else began, now=now)
