"""A model's server for many at once: it repeats the question's mark, word by word, and counts whom it is talking to."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import Any

from crowd import mark_of

from upstream import HEAD, USAGE, Behaviour, Upstream, chunk, end, event, own_text

LONG = "long"  # how marks begin of questions with a long answer
PIECES, PIECE = 96, 16 * 1024  # of that


def pieces() -> list[str]:
    return [f"{number}".ljust(PIECE, "x") for number in range(PIECES)]


@cache
def long_answer() -> list[bytes]:
    """The events of a long answer after its mark, made once: many ask for it at the same time."""
    events = [b"data: %s\n\n" % json.dumps(chunk({"content": f" {piece}"})).encode() for piece in pieces()]
    return [b"%x\r\n%s\r\n" % (len(event), event) for event in events]


class Trickle(Upstream):
    """Answers "[mark] w0 w1 ..."; `holding` stops all answers after their first word until `release`."""

    def __init__(self) -> None:
        self.words = 4
        self.pause = 0.0  # seconds before each word
        self.talking = 0
        self.most_talking = 0
        self._going = asyncio.Event()
        self._going.set()
        super().__init__()

    def hold(self) -> None:
        self._loop.call_soon_threadsafe(self._going.clear)

    def release(self) -> None:
        self._loop.call_soon_threadsafe(self._going.set)

    def behaviour(self, request: dict[str, Any]) -> Behaviour:
        return self._speaks

    def said(self, mark: str) -> str:
        """The whole answer to a question with this mark."""
        if mark.startswith(LONG):
            return " ".join([f"[{mark}]", *pieces()])
        return " ".join([f"[{mark}]", *(f"{number}" for number in range(self.words))])

    async def _speaks(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        first, *words = self.said(mark_of(own_text(request["messages"][-1]))).split(" ")
        self.talking += 1
        self.most_talking = max(self.most_talking, self.talking)
        try:
            writer.write(HEAD)
            await event(writer, chunk({"role": "assistant", "content": first}))
            await self._going.wait()
            if len(words) == PIECES:
                for some in long_answer():
                    writer.write(some)
                    await writer.drain()
                words = []
            for word in words:
                if self.pause:
                    await asyncio.sleep(self.pause)
                await event(writer, chunk({"content": f" {word}"}))
        finally:
            self.talking -= 1
        await event(writer, chunk({}, "stop"))
        await event(writer, USAGE)
        await event(writer, "[DONE]")
        await end(writer)
