"""An embedder beside the event loop: a thread for those who wait, another, of low priority, for the index.

Both use one encoder, which is loaded with the first text: what it needs is large and slow to import. A query thus never
stands behind a batch; on one core the system's scheduler lets it pass."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from everthread.embed.encoder import Encoder, Unloadable
from everthread.errors import Overloaded, Stopping

log = logging.getLogger("everthread.embed")

MOST_QUERIES = 128  # waiting: over a second's worth
MOST_BATCHES = 32

A = TypeVar("A")
B = TypeVar("B")


class Kind(msgspec.Struct, frozen=True):
    """An encoder by name: the module whose `load` makes one, and the packages it needs."""

    name: str
    dimensions: int
    module: str
    needs: tuple[str, ...] = ()

    def installed(self) -> bool:
        """Whether its packages are there; none of them is imported."""
        return installed(self.needs)

    def load(self) -> Encoder:
        try:
            encoder: Encoder = importlib.import_module(self.module).load()
        except ImportError as error:
            raise Unloadable(str(error)) from error
        return encoder


def installed(packages: Sequence[str]) -> bool:
    return all(importlib.util.find_spec(package) is not None for package in packages)


class Threaded:
    """The first of some kinds that can be loaded."""

    def __init__(self, first: Kind, *others: Kind, most_queries: int = MOST_QUERIES) -> None:
        self._kind = first
        self._others = list(others)
        self._encoder: Encoder | None = None
        self._loading = threading.Lock()
        self._queries = Lane("embed-query", most=most_queries)
        self._batches = Lane("embed-batch", most=MOST_BATCHES, begin=stand_back)

    @property
    def name(self) -> str:
        return self._kind.name

    @property
    def dimensions(self) -> int:
        return self._kind.dimensions

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [await self._batches.run(self._encode, text) for text in texts]

    async def query(self, text: str) -> bytes:
        return await self._queries.run(self._encode, text)

    def similarities(self, query: bytes, vectors: Sequence[bytes]) -> Sequence[float]:
        if not any(query):
            return [0.0] * len(vectors)
        scan: Callable[[bytes, Sequence[bytes]], Sequence[float]]
        scan = importlib.import_module("everthread.embed.vectors").similarities  # imports numpy: 15 MB
        return scan(query, vectors)

    async def close(self) -> None:
        await self._queries.close()
        await self._batches.close()
        self._encoder = None

    def _encode(self, text: str) -> bytes:
        return (self._encoder or self._load()).encode(text)

    def _load(self) -> Encoder:
        with self._loading:
            while self._encoder is None:
                try:
                    self._encoder = self._kind.load()
                except Unloadable as failure:
                    if not self._others:
                        raise
                    log.warning("%s cannot be loaded, %s instead: %s", self.name, self._others[0].name, failure)
                    self._kind = self._others.pop(0)
            return self._encoder


class Lane:
    """One thread, and a bounded line before it."""

    def __init__(self, name: str, *, most: int, begin: Callable[[], None] | None = None) -> None:
        self._thread = ThreadPoolExecutor(1, name, initializer=begin)
        self._most = most
        self._waiting = 0
        self._closed = False

    async def run(self, work: Callable[[A], B], given: A) -> B:
        if self._closed:
            raise Stopping
        if self._waiting >= self._most:
            raise Overloaded
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._unless_closed, work, given)
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """Waits for what is at hand; what is behind it is told that we stop."""
        self._closed = True
        await asyncio.to_thread(self._thread.shutdown)

    def _unless_closed(self, work: Callable[[A], B], given: A) -> B:
        if self._closed:
            raise Stopping
        return work(given)


def stand_back() -> None:
    """Gives this thread a low priority; only Linux has one per thread."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
