"""Statements read together beside the event loop, in a thread of low priority: nobody waits for it."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Sequence
from typing import Protocol

from everthread.core.memory import UNRELATED, Chances
from everthread.core.pairing import Pairing
from everthread.embed import heap
from everthread.embed.encoder import Unloadable
from everthread.embed.threaded import Lane, installed, stand_back

log = logging.getLogger("everthread.embed")

MOST = 32  # that wait for the thread
NEEDS = ("numpy", "onnxruntime")
IDLE = 60.0  # seconds after which the model is put away: it takes some 35 MB, and is back in 0.1 s


class Reader(Protocol):
    def compare(self, pair: tuple[str, str]) -> Chances: ...


class Together:
    """The model is loaded with the first pair and put away when none came for a while: what it needs is large. Where
    it cannot be loaded, nothing goes together."""

    def __init__(self, *, idle: float = IDLE) -> None:
        self._lane = Lane("read-together", most=MOST, begin=stand_back)
        self._reader: Reader | None = None
        self._able = True
        self._idle = idle
        self._resting: asyncio.TimerHandle | None = None

    @property
    def name(self) -> str:
        return "pairs-l12-int8" if self._able else "none"

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[Chances]:
        if not self._able or not pairs:
            return [UNRELATED] * len(pairs)
        try:
            return [await self._lane.run(self._compare, pair) for pair in pairs]
        finally:
            self._rest()

    async def close(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
        await self._lane.close()
        self._reader = None

    def _rest(self) -> None:
        """Begins to wait for the next pair anew."""
        if self._resting is not None:
            self._resting.cancel()
        self._resting = asyncio.get_running_loop().call_later(self._idle, self._put_away)

    def _put_away(self) -> None:
        self._reader = None  # one that is at work ends first: it is held by who uses it
        heap.give_back()

    def _compare(self, pair: tuple[str, str]) -> Chances:
        reader = self._reader or (self._loaded() if self._able else None)
        self._reader = reader
        return reader.compare(pair) if reader is not None else UNRELATED

    def _loaded(self) -> Reader | None:
        try:
            reader: Reader = importlib.import_module("everthread.embed.pairs").load()
        except (ImportError, Unloadable) as failure:
            log.warning("statements cannot be read together, changes are known by their words alone: %s", failure)
            self._able = False
            return None
        return reader


def best() -> Pairing | None:
    """What reads statements together, if its packages are installed."""
    return Together() if installed(NEEDS) else None
