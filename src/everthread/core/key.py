"""API keys: who is asking."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, get_args

import msgspec

from everthread.core.ids import KeyId, Tenant
from everthread.core.view import Hook
from everthread.errors import Malformed

Right = Literal["chat", "read", "admin"]

RIGHTS: tuple[Right, ...] = get_args(Right)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a key may use at most; None: as much as it likes."""

    requests_per_minute: int | None = None
    tokens_per_day: int | None = None
    concurrent: int | None = None  # requests at once, streams included


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a key; the key itself is kept only as its SHA-256 digest."""

    id: KeyId
    tenant: Tenant
    name: str
    digest: bytes
    created_at: datetime
    rights: tuple[Right, ...] = ("chat", "read")
    session_key_prefix: str | None = None  # it may touch only session keys that begin so
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    hook: Hook | None = None  # is told when a session of its tenant rotates, or a claim is reversed
    limits: Limits | None = None  # None: none at all

    def valid(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def allows(self, session_key: str | None) -> bool:
        """Whether it may touch what belongs to this session key."""
        return self.session_key_prefix is None or (session_key or "").startswith(self.session_key_prefix)

    @property
    def at_once(self) -> int | None:
        """How many requests it may have at once, and how many runs; None: as many as there is room for."""
        return self.limits.concurrent if self.limits is not None else None

    @property
    def is_admin(self) -> bool:
        return "admin" in self.rights

    def may(self, needed: tuple[Right, ...]) -> bool:
        """Whether it has one of these rights; an admin has all."""
        for right in needed:
            if right in self.rights:
                return True
        return self.is_admin

    def governs(self, other: ApiKey) -> bool:
        """Whether an admin of this key sees another one: of the same tenant, and bound no less than this one."""
        return self.tenant == other.tenant and (
            self.session_key_prefix is None or self.allows(other.session_key_prefix)
        )

    def state(self, now: datetime) -> Literal["valid", "expired", "revoked"]:
        if self.revoked_at is not None:
            return "revoked"
        return "valid" if self.valid(now) else "expired"


def rights(given: Iterable[str], *, param: str = "rights") -> tuple[Right, ...]:
    """These rights in their usual order; Malformed when one is unknown, or when there are none."""
    wanted = {each.strip() for each in given if each.strip()}
    if not wanted or wanted - set(RIGHTS):
        raise Malformed(f"{param} are some of: {', '.join(RIGHTS)}.", param=param)
    return tuple(right for right in RIGHTS if right in wanted)


def id_in(secret: str) -> KeyId | None:
    """The id inside an `et_<id>_<secret>` key, or None when it is not of that form."""
    prefix, _, rest = secret.partition("_")
    name, _, random = rest.partition("_")
    return KeyId(name) if prefix == "et" and name and random else None
