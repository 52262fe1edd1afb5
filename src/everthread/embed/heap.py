"""What the C library keeps of memory that was given back to it. Only glibc does; elsewhere there is nothing to do."""

from __future__ import annotations

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # as glibc's malloc.h numbers them
MOST_KEPT = 16 * 1024 * 1024  # bytes at the end of each heap
LARGE = 128 * 1024  # bytes: what is larger has its own mapping, and goes when it is freed


def keep_little() -> None:
    """Left to itself, it raises both with use: it came to keep 60 MB after the vector of one long text."""
    _tell("mallopt", TRIM_THRESHOLD, MOST_KEPT)
    _tell("mallopt", MMAP_THRESHOLD, LARGE)


def give_back() -> None:
    """Returns to the system what was freed, wherever it lies."""
    _tell("malloc_trim", 0)


def _tell(function: str, *numbers: int) -> None:
    told = getattr(ctypes.CDLL(None), function, None) if sys.platform == "linux" else None
    if told is not None:
        told(*numbers)
