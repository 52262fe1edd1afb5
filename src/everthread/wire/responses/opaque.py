"""A text in an opaque form, which a client keeps and sends back."""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from typing import Literal

from everthread.errors import Malformed

Kind = Literal["compaction", "reasoning"]

FIRST: dict[Kind, bytes] = {"compaction": b"\x01", "reasoning": b"\x02"}  # the byte that tells them apart
CHECK = 8  # bytes
LONGEST = 10_485_760  # characters, sealed; the specification's own limit
MOST_TEXT = 32 * 1024 * 1024  # bytes, opened


def seal(text: str, kind: Kind) -> str:
    """The text in a form that only `unseal` reads; the same text gives the same form."""
    packed = zlib.compress(text.encode(), 9)
    return urlsafe_b64encode(FIRST[kind] + check(packed) + packed).decode().rstrip("=")


def unseal(content: str, kind: Kind, param: str = "encrypted_content") -> str:
    """The text that was sealed; Malformed when it is anything else."""
    if len(content) > LONGEST:
        raise Malformed(f"{param} is {len(content)} characters long; the limit is {LONGEST}.", param=param)
    not_ours = Malformed(
        f"The {kind} item's encrypted_content was not made by this server, or was changed on its way.", param=param
    )
    try:
        sealed = urlsafe_b64decode(content + "=" * (-len(content) % 4))
    except ValueError as error:
        raise not_ours from error
    packed = sealed[1 + CHECK :]
    if sealed[:1] != FIRST[kind] or sealed[1 : 1 + CHECK] != check(packed):
        raise not_ours
    inflating = zlib.decompressobj()
    try:
        text = inflating.decompress(packed, MOST_TEXT).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise not_ours from error
    if not inflating.eof:
        raise Malformed(f"{param} holds more than {MOST_TEXT} bytes of text.", param=param)
    return text


def check(packed: bytes) -> bytes:
    return blake2b(packed, digest_size=CHECK).digest()
