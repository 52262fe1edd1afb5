"""How those who work by themselves sleep: until something is due, or until somebody wakes them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime

LONGEST_SLEEP = 5.0  # seconds: the clock may be set, and others may write to the same store


class Alarm:
    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """There is something to look at now."""
        self._rung.set()

    def reset(self) -> None:
        """What rang until now is about to be looked at."""
        self._rung.clear()

    async def sleep(self, seconds: float) -> None:
        """Until it rings, and no longer than that."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._rung.wait()


def until(due: datetime | None, now: datetime) -> float:
    """How long to sleep before something is due, in seconds."""
    return LONGEST_SLEEP if due is None else max(0.0, min(LONGEST_SLEEP, (due - now).total_seconds()))
