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
ASKED_AT_ONCE = 500
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


def known(db: sqlite3.Connection, tenant: str, kind: Kind, texts: Iterable[str]) -> set[str]:
    """Those of the texts that were forgotten."""
    key = salt(db) or b""
    digests = {digest(key, text): text for text in texts}
    names = list(digests)
    found: set[str] = set()
    for start in range(0, len(names), ASKED_AT_ONCE):
        some = names[start : start + ASKED_AT_ONCE]
        rows = db.execute(
            "SELECT digest FROM tombstone WHERE tenant = ? AND kind = ?"  # noqa: S608
            f" AND digest IN ({', '.join('?' * len(some))})",
            (tenant, kind, *some),
        )
        found.update(digests[row[0]] for row in rows)
    return found


def importable(db: sqlite3.Connection, tenant: str, session: str, history: Sequence[Message]) -> tuple[Message, ...]:
    """A history that a client brings along, without what is to stay forgotten; nothing if it is that of a forgotten
    session."""
    history = tuple(history)
    if db.execute("SELECT 1 FROM tombstone WHERE tenant = ? LIMIT 1", (tenant,)).fetchone() is None:
        return history
    if known(db, tenant, "session", [session]):
        return ()
    others = [tuple(strings(msgspec.json.decode(message.raw))) for message in history]
    asked = {text for message in history for text in said(message)}
    asked |= {canonical(text) for texts in others for text in texts}
    gone = known(db, tenant, "message", asked)
    if not gone:
        return history
    return tuple(without(message, texts, gone) for message, texts in zip(history, others, strict=True))


def without(message: Message, others: Sequence[str], gone: set[str]) -> Message:
    """A message without what was forgotten of it: its words as a whole, its other texts one by one."""
    words = bool(said(message) & gone)
    lost = {text for text in others if canonical(text) in gone}
    if not words and not lost:
        return message
    clean = {
        key: blanked(value) if key in {"content", "refusal"} and words else cleaned(key, value, lost)
        for key, value in msgspec.json.decode(message.raw).items()
        if not (key == "name" and value in lost)
    }
    (made,) = stored_messages(b"[%b]" % msgspec.json.encode(clean))
    return made


def cleaned(key: str, value: Any, lost: set[str]) -> Any:
    if isinstance(value, str) and key not in STRUCTURE and value in lost:
        return {"arguments": "{}", "name": "forgotten"}.get(key, SIGN)
    if isinstance(value, dict):
        return {name: cleaned(name, one, lost) for name, one in value.items()}
    if isinstance(value, list):
        return [cleaned(key, one, lost) for one in value]
    return value


def blanked(content: Any) -> Any:
    return SIGN if content else content
