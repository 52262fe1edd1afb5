"""A line of requests before something that serves one at a time: people first, each in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from everthread.errors import Overloaded


class Line:
    def __init__(self, *, longest: int = 64) -> None:
        self._longest = longest
        self._people: deque[asyncio.Future[None]] = deque()
        self._rest: deque[asyncio.Future[None]] = deque()
        self._taken = False

    @property
    def waiting(self) -> int:
        return len(self._people) + len(self._rest)

    @asynccontextmanager
    async def place(self, *, auxiliary: bool) -> AsyncIterator[None]:
        """Ours alone, when it is our turn; Overloaded if too many wait already."""
        if self._taken:
            await self._wait(self._rest if auxiliary else self._people)
        self._taken = True
        try:
            yield
        finally:
            self._leave()

    async def _wait(self, line: deque[asyncio.Future[None]]) -> None:
        if self.waiting >= self._longest:
            self._make_room(line)
        mine = asyncio.get_running_loop().create_future()
        line.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine in line:
                line.remove(mine)
            elif not mine.cancelled():
                self._leave()  # it had just become our turn
            raise

    def _make_room(self, line: deque[asyncio.Future[None]]) -> None:
        """A person takes the place of the last auxiliary request."""
        if line is self._rest or not self._rest:
            raise Overloaded(retry_after=5)
        self._rest.pop().set_exception(Overloaded(retry_after=5))

    def _leave(self) -> None:
        line = self._people or self._rest
        if line:
            line.popleft().set_result(None)  # still taken, by the next
        else:
            self._taken = False
