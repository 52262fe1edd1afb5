"""API keys as JSON: what makes one, and what is shown of it. Its secret is shown once; its digest never."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec

from everthread.core.ids import printable
from everthread.core.key import ApiKey, Limits, Right
from everthread.core.key import rights as checked
from everthread.core.view import Hook
from everthread.errors import Malformed
from everthread.wire import hooks, json
from everthread.wire.jobs import moment

LARGEST = 10**12

Most = Annotated[int, msgspec.Meta(ge=1, le=LARGEST)] | None


class LimitsIn(msgspec.Struct, forbid_unknown_fields=True):
    requests_per_minute: Most = None
    tokens_per_day: Most = None
    concurrent: Most = None


TYPES: dict[str, Any] = {
    "name": Annotated[str, msgspec.Meta(max_length=200)] | None,
    "rights": list[str] | None,
    "expires_at": str | None,
    "session_key_prefix": str | None,
    "limits": LimitsIn | None,
}
DECODERS = {name: msgspec.json.Decoder(kind) for name, kind in TYPES.items()}


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What a client says of a key that it wants."""

    name: str
    rights: tuple[Right, ...]
    expires_at: datetime | None
    session_key_prefix: str | None
    limits: Limits
    hook: Hook | None  # its secret is "" when it was left to us


def decode(body: bytes, now: datetime) -> Given:
    """Unknown fields are refused, so that a slip of the pen does not make a key without its limits."""
    given = json.fields(body)
    webhook = given.pop("webhook", None)
    found: dict[str, Any] = {}
    for name, raw in given.items():
        if name not in DECODERS:
            known = ", ".join(sorted({*TYPES, "webhook"}))
            raise Malformed(f"A key has no field {name[:100]!r}; it has {known}.", param=name[:100])
        found[name] = json.value(raw, DECODERS[name], name)
    most = found.get("limits") or LimitsIn()
    prefix = found.get("session_key_prefix")
    if not (found.get("name") or "").isprintable():  # it is shown on terminals
        raise Malformed("name may only contain printable characters.", param="name")
    rights = found.get("rights")
    return Given(
        name=found.get("name") or "",
        rights=checked(rights) if rights is not None else ("chat", "read"),
        expires_at=future(found.get("expires_at"), "expires_at", now),
        session_key_prefix=printable(prefix, what="session_key_prefix") if prefix else None,
        limits=Limits(
            requests_per_minute=most.requests_per_minute,
            tokens_per_day=most.tokens_per_day,
            concurrent=most.concurrent,
        ),
        hook=hooks.decode(webhook, "webhook") if webhook is not None else None,
    )


def future(text: str | None, param: str, now: datetime) -> datetime | None:
    """A date, or a moment; in UTC if it does not say where."""
    at = moment(text, param, "UTC")
    if at is not None and at <= now:
        raise Malformed(f"{param} is in the past; the key would never be valid.", param=param)
    return at


# --- what is shown ---


def encode(key: ApiKey, now: datetime, *, secret: str | None = None) -> bytes:
    return msgspec.json.encode(shown(key, now, secret))


def many(keys: Sequence[ApiKey], now: datetime, *, more: bool) -> bytes:
    return msgspec.json.encode({"object": "list", "data": [shown(key, now) for key in keys], "has_more": more})


def shown(key: ApiKey, now: datetime, secret: str | None = None) -> dict[str, Any]:
    most = key.limits or Limits()
    body: dict[str, Any] = {
        "object": "hermes.key",
        "id": key.id,
        "name": key.name,
        "tenant": key.tenant,
        "rights": key.rights,
        "state": key.state(now),
        "session_key_prefix": key.session_key_prefix,
        "limits": {
            "requests_per_minute": most.requests_per_minute,
            "tokens_per_day": most.tokens_per_day,
            "concurrent": most.concurrent,
        },
        "webhook": hooks.encode(key.hook, secret=secret is not None),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
    }
    return {**body, "key": secret} if secret is not None else body
