"""How much is under way at once: so many in all, and few of them to the same host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Lane:
    def __init__(self, width: int) -> None:
        self.free = asyncio.Semaphore(width)
        self.users = 0  # in it, or waiting to be


class Lanes:
    """A slow host keeps only those waiting that go to it."""

    def __init__(self, most: int, each: int) -> None:
        self._all = asyncio.Semaphore(most)
        self._each = each
        self._lanes: dict[str, Lane] = {}

    @asynccontextmanager
    async def to(self, host: str) -> AsyncIterator[None]:
        lane = self._lanes.setdefault(host, Lane(self._each))
        lane.users += 1
        try:
            async with lane.free, self._all:
                yield
        finally:
            lane.users -= 1
            if not lane.users:
                del self._lanes[host]
