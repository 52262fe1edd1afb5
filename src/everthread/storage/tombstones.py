"""What was forgotten and is not to be brought along again: keyed digests of it, and nothing that could be read."""

from __future__ import annotations

import hmac
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from everthread.core.bare import bare
from everthread.core.messages import Message
from everthread.storage.mask import SIGN, STRUCTURE, canonical, squeezed, strings
from everthread.wire.chat import stored_messages

Kind = Literal["session", "message"]
NOBODY = ""  # the salt belongs to the file, not to a tenant


def salt(db: sqlite3.Connection, now: int | None = None) -> bytes | None:
    """What this file's digests are keyed with; made when there is none and something is to be put down."""
    row = db.execute("SELECT digest FROM tombstone WHERE tenant = ? AND kind = 'salt'", (NOBODY,)).fetchone()
    if row is not None:
        return bytes(row[0])
    if now is None:
        return None
    made = secrets.token_bytes(32)
    db.execute("INSERT INTO tombstone VALUES (?, 'salt', ?, ?)", (NOBODY, made, now))
    return made


def digest(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), "sha256")


def put(db: sqlite3.Connection, tenant: str, kind: Kind, texts: Iterable[str], now: int) -> None:
    key = salt(db, now) or b""
    db.executemany(
        "INSERT OR IGNORE INTO tombstone VALUES (?, ?, ?, ?)",
        [(tenant, kind, digest(key, text), now) for text in dict.fromkeys(texts)],
    )


def said(message: Message) -> set[str]:
    """The words of a message in the forms in which clients send it again."""
    return {squeezed(message.text), squeezed(bare(message))} - {""}


class Known:
    """A tenant's tombstones, asked."""

    def __init__(self, db: sqlite3.Connection, tenant: str) -> None:
        self._db = db
        self._tenant = tenant
        self._key = salt(db) or b""

    def has(self, kind: Kind, text: str) -> bool:
        found = self._db.execute(
            "SELECT 1 FROM tombstone WHERE tenant = ? AND kind = ? AND digest = ?",
            (self._tenant, kind, digest(self._key, text)),
        ).fetchone()
        return found is not None

    def without(self, message: Message) -> Message:
        """A message without what was forgotten of it: its words as a whole, its other texts one by one."""
        words = any(self.has("message", text) for text in said(message))
        body = msgspec.json.decode(message.raw)
        gone = {text for text in strings(body) if self.has("message", canonical(text))}
        if not words and not gone:
            return message
        clean = {
            key: blanked(value) if key in {"content", "refusal"} and words else self._clean(key, value, gone)
            for key, value in body.items()
            if not (key == "name" and value in gone)
        }
        (made,) = stored_messages(b"[%b]" % msgspec.json.encode(clean))
        return made

    def _clean(self, key: str, value: Any, gone: set[str]) -> Any:
        if isinstance(value, str) and key not in STRUCTURE and value in gone:
            return {"arguments": "{}", "name": "forgotten"}.get(key, SIGN)
        if isinstance(value, dict):
            return {name: self._clean(name, one, gone) for name, one in value.items()}
        if isinstance(value, list):
            return [self._clean(key, one, gone) for one in value]
        return value


def blanked(content: Any) -> Any:
    return SIGN if content else content


def importable(db: sqlite3.Connection, tenant: str, session: str, history: Sequence[Message]) -> tuple[Message, ...]:
    """A history that a client brings along, without what is to stay forgotten; nothing if it is that of a forgotten
    session."""
    history = tuple(history)
    if db.execute("SELECT 1 FROM tombstone WHERE tenant = ? LIMIT 1", (tenant,)).fetchone() is None:
        return history
    known = Known(db, tenant)
    if known.has("session", session):
        return ()
    return tuple(known.without(message) for message in history)
