"""Who is being answered now, and with which key: a key that ends takes all that is open for it with it."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from everthread.core.ids import KeyId
from everthread.core.ports import Clock, Store
from everthread.errors import Failure, Unauthenticated
from everthread.http.reply import LAST_WORDS

log = logging.getLogger("everthread.http")

LOOK = 0.5  # seconds between two looks for keys that another process revoked, or that have expired


class Guest(Protocol):
    """A request that is being answered, or an open WebSocket."""

    async def dismiss(self, why: Failure) -> None:
        """Tells why, and nothing more after that."""
        ...


class Guests:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._inside: dict[KeyId, set[Guest]] = {}

    def enter(self, key: KeyId, guest: Guest) -> None:
        inside = self._inside.get(key)
        if inside is None:
            inside = self._inside[key] = set()
        inside.add(guest)

    def leave(self, key: KeyId, guest: Guest) -> None:
        inside = self._inside[key]
        inside.discard(guest)
        if not inside:
            del self._inside[key]

    async def dismiss(self, key: KeyId, *, but: Guest | None = None) -> None:
        """Sends away all that came with this key; returns when each was told, or does not listen."""
        why = Unauthenticated("This API key is not valid any more.")
        leaving = [asyncio.ensure_future(each.dismiss(why)) for each in self._inside.get(key, ()) if each is not but]
        if leaving:
            _, late = await asyncio.wait(leaving, timeout=2 * LAST_WORDS)
            for each in late:
                each.cancel()

    async def watch(self) -> None:
        """Looks again and again, for as long as the server runs: keys end by themselves, and by other processes."""
        while True:
            await asyncio.sleep(LOOK)
            if not self._inside:
                continue
            try:
                ended = await self._store.ended_keys(list(self._inside), self._clock.now())
            except Failure as failure:
                log.debug("API keys could not be looked at: %s", failure.code)  # whoever asks is told
                continue
            await asyncio.gather(*(self.dismiss(key) for key in ended))
