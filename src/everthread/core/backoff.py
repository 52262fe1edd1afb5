"""When a parcel that did not arrive is sent again: soon, then ever more seldom, for two and a half days."""

from __future__ import annotations

import hashlib
from datetime import timedelta

PAUSES = (
    timedelta(seconds=5),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(hours=1),
    timedelta(hours=3),
    timedelta(hours=8),
    timedelta(hours=24),
    timedelta(hours=24),
)
MOST_ATTEMPTS = len(PAUSES) + 1
SPREAD = 0.2  # a pause is up to this much longer, so that what failed together does not come back together


def pause(attempt: int, parcel: str, *, asked: timedelta | None = None) -> timedelta | None:
    """How long to wait after the given attempt (the first is 1) to send the parcel of that id; None: no more.

    Never shorter than the receiver asked for; the same for the same arguments."""
    if attempt < 1:
        raise ValueError("attempts are counted from 1")
    if attempt >= MOST_ATTEMPTS:
        return None
    digest = hashlib.sha256(f"{parcel}.{attempt}".encode()).digest()
    share = int.from_bytes(digest[:8], "big") / 2**64
    return max(PAUSES[attempt - 1], asked or timedelta()) * (1 + SPREAD * share)
