"""A connection's writes, gathered: what is written in one pass of the event loop goes out in one system call.

Each write stays whole and in order; a write alone in its pass goes out alone. The order of events on the wire is the
same as without, at a fraction of the cost when many arrive together."""

from __future__ import annotations

import asyncio
from typing import Any

MOST = 32 * 1024  # bytes that are held back at most


class Corked:
    """A transport that gathers; everything but writing and closing is the real one's."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(data)
        self._size += len(data)
        if self._size > MOST:
            self._flush()

    def _flush(self) -> None:
        if self._pieces:
            data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._pieces.clear()
            self._size = 0
            self._transport.write(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
