"""API keys: who is asking."""

from __future__ import annotations

from datetime import datetime

import msgspec

from everthread.core.ids import KeyId, Tenant


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a key; the key itself is kept only as its SHA-256 digest."""

    id: KeyId
    tenant: Tenant
    name: str
    digest: bytes
    created_at: datetime
    rights: tuple[str, ...] = ("chat", "read")
    session_key_prefix: str | None = None  # it may touch only session keys that begin so
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def valid(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def id_in(secret: str) -> KeyId | None:
    """The id inside an `et_<id>_<secret>` key, or None when it is not of that form."""
    prefix, _, rest = secret.partition("_")
    name, _, random = rest.partition("_")
    return KeyId(name) if prefix == "et" and name and random else None
