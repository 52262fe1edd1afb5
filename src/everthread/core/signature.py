"""Signatures by which a webhook's receiver knows that it was us, as Standard Webhooks 1.0 has them: symmetric, v1."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable
from typing import NewType

from everthread.errors import Malformed

Secret = NewType("Secret", str)  # whsec_<base64 of the key>, or the key itself

PREFIX = "whsec_"
SHORTEST, LONGEST = 24, 64  # bytes of a key
SHORTEST_PLAIN, LONGEST_PLAIN = 8, 256  # of one that is not encoded


def secret(text: str, *, param: str = "deliver.secret") -> Secret:
    """The secret, if it is one; else Malformed, which does not repeat it.

    It is read as receivers' libraries do: as base64, with or without `whsec_` in front of it. Of what is no base64 the
    characters themselves are the key, for receivers that check by hand."""
    key_of(text, param=param)
    return Secret(text)


def key_of(text: str, *, param: str = "deliver.secret") -> bytes:
    encoded = text.removeprefix(PREFIX)
    key = decoded(encoded)
    if key is not None and SHORTEST <= len(key) <= LONGEST:
        return key
    if encoded == text and not text.lower().startswith("whs"):
        return plain(text, param)
    if key is None:
        raise Malformed(f"What follows {PREFIX} must be base64, padded, in the standard alphabet.", param=param)
    raise Malformed(f"A webhook's secret is {SHORTEST} to {LONGEST} bytes, not {len(key)}.", param=param)


def decoded(text: str) -> bytes | None:
    """What the base64 stands for; None when it could be read in two ways."""
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if base64.b64encode(key).decode() == text else None


def plain(text: str, param: str) -> bytes:
    """A secret of the receiver's own making: its characters are the key, as they are."""
    key = text.encode()
    if not SHORTEST_PLAIN <= len(key) <= LONGEST_PLAIN:
        raise Malformed(
            f"A webhook's secret is {PREFIX} and base64, or {SHORTEST_PLAIN} to {LONGEST_PLAIN} bytes of plain text.",
            param=param,
        )
    return key


def new_secret(chance: bytes) -> Secret:
    """A secret made of 24 to 64 random bytes."""
    return secret(PREFIX + base64.b64encode(chance).decode())


def sign(secret: Secret, id: str, timestamp: int, body: bytes) -> str:  # noqa: A002 - the standard's word
    """`v1,<base64>`: the HMAC-SHA256 of id, timestamp (seconds) and body. Neither of the former has a full stop."""
    digest = hmac.digest(key_of(secret), f"{id}.{timestamp}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(digest).decode()}"


def headers(secrets: Iterable[Secret], id: str, timestamp: int, body: bytes) -> dict[str, str]:  # noqa: A002
    """What is sent along with the body: signed with each of the secrets, so that they can be changed without a gap."""
    return {
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(sign(each, id, timestamp, body) for each in secrets),
    }
