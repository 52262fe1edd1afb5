"""What a request says in its headers and body, checked."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from everthread.core.ids import SessionId, SessionKey, printable
from everthread.core.key import ApiKey
from everthread.core.turn import Envelope, OnBusy, Replay
from everthread.errors import BodyTooLarge, Malformed, NotFound, UnsupportedMediaType
from everthread.wire import json

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

LARGEST_BODY = 10 * 1024 * 1024
CLOCK_SKEW = timedelta(seconds=60)

NAMES = {
    b"x-hermes-session-id": "X-Hermes-Session-Id",
    b"x-hermes-session-key": "X-Hermes-Session-Key",
    b"x-hermes-message-id": "X-Hermes-Message-Id",
    b"x-hermes-parent-message-id": "X-Hermes-Parent-Message-Id",
    b"x-openwebui-chat-id": "X-OpenWebUI-Chat-Id",
    b"x-openwebui-user-id": "X-OpenWebUI-User-Id",
    b"idempotency-key": "Idempotency-Key",
    b"authorization": "Authorization",
}


RARE = frozenset(
    {
        b"x-hermes-session-key",
        b"x-hermes-task",
        b"x-hermes-on-busy",
        b"x-hermes-message-time",
        b"x-hermes-wait-for-memory",
        b"x-hermes-server-tools",
        b"x-hermes-message-id",
        b"x-hermes-parent-message-id",
        b"x-openwebui-chat-id",
        b"x-openwebui-user-id",
    }
)


class Disconnected(Exception):
    """The client left before its request was complete."""


class Headers:
    """A request's headers by lower-case name; blank ones are absent."""

    def __init__(self, pairs: list[tuple[bytes, bytes]]) -> None:
        self._values = dict(pairs)
        self.plain = RARE.isdisjoint(self._values)  # nothing but what every client sends, and perhaps a session
        if len(self._values) != len(pairs):
            names = [name for name, _ in pairs]
            for name, shown in NAMES.items():
                if names.count(name) > 1:
                    raise Malformed(f"{shown} was sent more than once.", param=shown)

    def get(self, name: bytes) -> str | None:
        value = self._values.get(name)
        return (value.decode("latin-1").strip(" \t") or None) if value else None

    def blank(self, name: bytes) -> bool:
        """Sent, with nothing in it."""
        return name in self._values and self.get(name) is None

    def name(self, header: bytes) -> str | None:
        """A header that names something: printable ASCII, at most 256 characters."""
        value = self.get(header)
        return printable(value, what=NAMES[header]) if value is not None else None


def envelope(headers: Headers, key: ApiKey, *, now: datetime) -> Envelope:
    """Who is asking, in which session, under which memory scope."""
    session_id = headers.name(b"x-hermes-session-id")
    prefix = key.session_key_prefix
    if headers.plain:
        named = SessionId(session_id) if session_id else None
        return Envelope(tenant=key.tenant, session_id=named, key_prefix=prefix, key=key.id)
    session_id = session_id or headers.name(b"x-openwebui-chat-id")
    session_key = headers.name(b"x-hermes-session-key") or headers.name(b"x-openwebui-user-id")
    if prefix is not None and session_key is not None and not session_key.startswith(prefix):
        raise NotFound("There is no such session key.")
    return Envelope(
        tenant=key.tenant,
        session_id=SessionId(session_id) if session_id else None,
        session_key=SessionKey(session_key) if session_key else None,
        auxiliary=headers.get(b"x-hermes-task") is not None,
        on_busy=on_busy(headers.get(b"x-hermes-on-busy")),
        said_at=said_at(headers.get(b"x-hermes-message-time"), now),
        message_id=headers.name(b"x-hermes-message-id"),
        parent_message_id=headers.name(b"x-hermes-parent-message-id")
        or ("" if headers.blank(b"x-hermes-parent-message-id") else None),
        key_prefix=prefix,
        key=key.id,
        wait_for_memory=switch(headers, b"x-hermes-wait-for-memory", "X-Hermes-Wait-For-Memory", default=False),
        server_tools=switch(headers, b"x-hermes-server-tools", "X-Hermes-Server-Tools", default=True),
    )


def switch(headers: Headers, name: bytes, shown: str, *, default: bool) -> bool:
    """A header that turns something on or off."""
    text = headers.get(name)
    if text is None:
        return default
    if text.lower() in {"1", "on", "true"}:
        return True
    if text.lower() in {"0", "off", "false"}:
        return False
    raise Malformed(f"{shown} is 1 or on, 0 or off.", param=shown)


def on_busy(text: str | None) -> OnBusy:
    match text:
        case None | "queue":
            return "queue"
        case "reject" | "interrupt":
            return text
        case _:
            raise Malformed("X-Hermes-On-Busy is one of: queue, reject, interrupt.", param="X-Hermes-On-Busy")


def said_at(text: str | None, now: datetime) -> datetime | None:
    """When the message was really said: ISO 8601 with a zone, not in the future."""
    if text is None:
        return None
    name = "X-Hermes-Message-Time"
    try:
        said = datetime.fromisoformat(text)
    except ValueError as error:
        raise Malformed(f"{name} must be ISO 8601 with a zone, as 2026-03-02T09:00:00Z.", param=name) from error
    if said.tzinfo is None:
        raise Malformed(f"{name} needs a zone, as in 2026-03-02T09:00:00Z.", param=name)
    try:
        said = said.astimezone(UTC)
    except OverflowError as error:
        raise Malformed(f"{name} is out of range.", param=name) from error
    if said > now + CLOCK_SKEW:
        raise Malformed(f"{name} is in the future.", param=name)
    return said


def with_body(envelope: Envelope, headers: Headers, body: bytes) -> Envelope:
    """The envelope of a named session's request, with what tells a retry of it from another request."""
    retries = headers.get(b"x-stainless-retry-count")
    return msgspec.structs.replace(
        envelope,
        body=hashlib.blake2b(body, digest_size=16).digest(),
        again=retries is not None and retries.isdigit() and int(retries) > 0,
    )


def replay(headers: Headers, *, method: str, path: str, body: bytes, envelope: Envelope) -> Replay | None:
    """The request's Idempotency-Key, with a fingerprint of everything that must be the same next time."""
    key = headers.name(b"idempotency-key")
    if key is None:
        return None
    canonical = msgspec.json.encode(json.value(body, json.ANYTHING, "body"), order="sorted")
    digest = hashlib.sha256()
    for part in (method, path, envelope.session_id or "", envelope.session_key or ""):
        digest.update(part.encode() + b"\0")
    digest.update(canonical)
    return Replay(key, digest.digest())


async def read_json(receive: Receive, headers: Headers) -> bytes:
    """The body, if it says it is JSON; counted as it comes, compressed or not."""
    kind = (headers.get(b"content-type") or "application/json").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise UnsupportedMediaType(f'The body is {kind}; it must be JSON: "Content-Type: application/json".')
    encoding = (headers.get(b"content-encoding") or "identity").lower()
    if encoding not in {"identity", "gzip", "deflate"}:
        raise UnsupportedMediaType(f"Content-Encoding {encoding} is not supported; send the body plain or as gzip.")
    announced = headers.get(b"content-length")
    if announced and announced.isdigit() and int(announced) > LARGEST_BODY:
        raise too_large()
    body = await read(receive)
    return body if encoding == "identity" else unpacked(body, encoding)


async def read(receive: Receive) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        piece = message.get("body", b"")
        size += len(piece)
        if size > LARGEST_BODY:
            raise too_large()
        pieces.append(piece)
        if not message.get("more_body"):
            return b"".join(pieces) if len(pieces) > 1 else piece


def unpacked(body: bytes, encoding: str) -> bytes:
    """Never inflates past the limit, whatever the body claims."""
    inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | (16 if encoding == "gzip" else 0))
    try:
        plain = inflate.decompress(body, LARGEST_BODY + 1)
    except zlib.error as error:
        raise Malformed(f"The body is not valid {encoding}.") from error
    if len(plain) > LARGEST_BODY:
        raise too_large()
    if not inflate.eof:
        raise Malformed(f"The {encoding} body is cut short.")
    if inflate.unused_data:
        raise Malformed(f"Something follows the {encoding} body.")
    return plain


def too_large() -> BodyTooLarge:
    return BodyTooLarge(f"The request body is larger than {LARGEST_BODY // 1024 // 1024} MB.")
