"""Counting tokens within a bound."""

from __future__ import annotations

from collections.abc import Callable

COUNTED_EXACTLY = 200_000  # characters; beyond, the rest is taken to be like the beginning


def counted(text: str, exactly: Callable[[str], int]) -> int:
    """What `exactly` counts; of a very long text its beginning, and the rest by it."""
    if len(text) <= COUNTED_EXACTLY:
        return exactly(text)
    return exactly(text[:COUNTED_EXACTLY]) * len(text) // COUNTED_EXACTLY
