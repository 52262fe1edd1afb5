"""What the C library keeps of memory that was given back to it."""

from __future__ import annotations

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # as glibc's malloc.h numbers them
MOST_KEPT = 16 * 1024 * 1024  # bytes at the end of each heap
LARGE = 128 * 1024  # bytes: what is larger has its own mapping, and goes when it is freed


def keep_little() -> None:
    """Left to itself, glibc raises both with use: it came to keep 60 MB after the vector of one long text."""
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(TRIM_THRESHOLD, MOST_KEPT)
            mallopt(MMAP_THRESHOLD, LARGE)
