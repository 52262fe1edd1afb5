"""Who may come in: API keys, the Host header, cross-origin pages."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

from everthread.core import key as keys
from everthread.core.ids import DEFAULT_TENANT, KeyId, Tenant, printable
from everthread.core.key import ApiKey, Limits, Right
from everthread.core.ports import Clock, Store
from everthread.core.view import Hook
from everthread.errors import Forbidden, HostRefused, OriginRefused, Unauthenticated
from everthread.http.request import Headers

Pairs = list[tuple[bytes, bytes]]

METHODS = b"GET, POST, PATCH, DELETE, OPTIONS"
ALLOWED = (
    "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Hermes-Session-Id, X-Hermes-Session-Key,"
    " X-Hermes-Task, X-Hermes-Message-Id, X-Hermes-Parent-Message-Id, X-Hermes-Message-Time,"
    " X-Hermes-Wait-For-Memory, X-Hermes-Server-Tools, X-Hermes-On-Busy, X-OpenWebUI-Chat-Id, X-OpenWebUI-User-Id,"
    " X-Request-Id, X-Stainless-Arch, X-Stainless-Async, X-Stainless-Lang, X-Stainless-OS,"
    " X-Stainless-Package-Version, X-Stainless-Retry-Count, X-Stainless-Runtime, X-Stainless-Runtime-Version,"
    " X-Stainless-Timeout, OpenAI-Organization, OpenAI-Project"
)
EXPOSED = (
    "X-Hermes-Session-Id, X-Hermes-Session-Key, X-Hermes-Run-Id, X-Request-Id, Idempotent-Replayed, Retry-After,"
    " X-Should-Retry, X-RateLimit-Limit-Requests, X-RateLimit-Remaining-Requests, X-RateLimit-Reset-Requests,"
    " X-RateLimit-Limit-Tokens, X-RateLimit-Remaining-Tokens, X-RateLimit-Reset-Tokens"
)


TALKING: tuple[Right, ...] = ("chat",)


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """The rules at the door."""

    given_key: bytes | None = None  # SHA-256 of EVERTHREAD_API_KEY
    hosts: frozenset[str] | None = None  # None: any; else the names a loopback server answers to
    origins: frozenset[str] = frozenset()  # pages that may call us from a browser; "*" for all


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def new_key(
    now: datetime,
    *,
    tenant: Tenant = DEFAULT_TENANT,
    name: str = "",
    rights: tuple[Right, ...] = ("chat", "read"),
    session_key_prefix: str | None = None,
    expires_at: datetime | None = None,
    limits: Limits | None = None,
    hook: Hook | None = None,
) -> tuple[str, ApiKey]:
    """A key to be shown once, and what is kept of it."""
    id_ = KeyId(secrets.token_hex(6))
    secret = f"et_{id_}_{secrets.token_urlsafe(32).replace('_', '-')}"
    return secret, ApiKey(
        id=id_,
        tenant=tenant,
        name=name,
        digest=digest(secret),
        created_at=now,
        rights=rights,
        session_key_prefix=session_key_prefix,
        expires_at=expires_at,
        limits=limits if limits != Limits() else None,
        hook=hook,
    )


async def caller(headers: Headers, *, gate: Gate, store: Store, clock: Clock) -> ApiKey:
    """The key that this request was sent with; Unauthenticated when there is none that is valid."""
    scheme, _, secret = (headers.get(b"authorization") or "").partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer" or not secret:
        raise Unauthenticated
    seen = digest(secret)
    if gate.given_key is not None and hmac.compare_digest(seen, gate.given_key):
        return GIVEN
    name = keys.id_in(secret)
    known = await store.key(name) if name else None
    if known is None or not hmac.compare_digest(seen, known.digest) or not known.valid(clock.now()):
        raise Unauthenticated("This API key is not valid.")
    return known


async def known(name: KeyId, *, gate: Gate, store: Store) -> ApiKey | None:
    """The key of this id, valid or not; that of EVERTHREAD_API_KEY is one of them."""
    if name == GIVEN.id:
        return GIVEN if gate.given_key is not None else None
    return await store.key(name)


GIVEN = ApiKey(
    id=KeyId("env"),
    tenant=DEFAULT_TENANT,
    name="EVERTHREAD_API_KEY",
    digest=b"",
    rights=("chat", "read", "admin"),
    created_at=datetime(1970, 1, 1, tzinfo=UTC),
)


def check_right(key: ApiKey, needed: tuple[Right, ...]) -> None:
    """Forbidden when the key has none of these rights."""
    if not key.may(needed):
        has = " and ".join(key.rights)
        raise Forbidden(f"This needs an API key with the right to {' or '.join(needed)}; this one has {has}.")


def check_operator(key: ApiKey) -> None:
    """Forbidden to all but the operator's own keys: what concerns the whole server tells of other tenants, too."""
    if not operates(key):
        raise Forbidden(
            "This is about the whole server: it needs an API key of the tenant 'default' with the right to read,"
            " bound to no session keys."
        )


def operates(key: ApiKey) -> bool:
    return key.tenant == DEFAULT_TENANT and key.session_key_prefix is None and key.may(("read",))


def enter(headers: Headers, answered: Pairs, gate: Gate) -> Pairs:
    """Puts on the answer what every answer has, its request id being the first; returns what is for a page."""
    crossing = cross_origin(headers, gate)
    answered.extend(crossing)
    if (sent := headers.get(b"x-request-id")) is not None:
        answered[0] = (b"x-request-id", printable(sent, what="X-Request-Id").encode())
    check_host(headers, gate)
    return crossing


def check_host(headers: Headers, gate: Gate) -> None:
    """Refuses names that a page on another site may have pointed at us (DNS rebinding)."""
    if gate.hosts is None:
        return
    host = host_name(headers.get(b"host") or "")
    if host not in gate.hosts and not is_loopback(host):
        raise HostRefused


def host_name(header: str) -> str:
    """A Host header without its port."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.rpartition(":")[0].lower() if ":" in header else header.lower()


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def cross_origin(headers: Headers, gate: Gate) -> Pairs:
    """The headers that let a configured page read our answer; none for any other."""
    origin = headers.get(b"origin") if gate.origins else None
    if origin is None or not ({"*", origin} & gate.origins):
        return []
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", EXPOSED.encode()),
        (b"vary", b"Origin"),
    ]


def check_origin(headers: Headers, gate: Gate) -> None:
    """Refuses pages of other sites: a browser asks nobody before it opens a WebSocket."""
    origin = headers.get(b"origin")
    if origin is None or {"*", origin} & gate.origins:
        return
    if origin.partition("://")[2].lower() != (headers.get(b"host") or "").lower():
        raise OriginRefused


def preflight(headers: Headers) -> Pairs:
    """What a browser asks before it sends the request itself."""
    asked = headers.get(b"access-control-request-headers")
    allowed = f"{ALLOWED}, {asked}" if asked else ALLOWED
    return [
        (b"access-control-allow-methods", METHODS),
        (b"access-control-allow-headers", allowed.encode("latin-1")),
        (b"access-control-max-age", b"600"),
    ]
