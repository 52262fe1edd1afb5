"""How many turns there is room for: one more is refused at the door, before anything is done for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from everthread.core.ids import KeyId
from everthread.errors import Overloaded

FOR_OTHERS = 8  # one place in so many is never for the key that has all the others


def share(most: int) -> int:
    """What one key may have of so many places."""
    return most - most // FOR_OTHERS


class Room:
    """The places for turns, those included that wait for their session."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.each = share(most)  # that one key may have
        self.taken = 0
        self.refused = 0  # since the start
        self._by_key: dict[KeyId, int] = {}

    def of(self, key: KeyId) -> int:
        """The places that a key has."""
        return self._by_key.get(key, 0)

    def enter(self, key: KeyId) -> None:
        """One turn more, until it leaves; Overloaded when there is no place for it."""
        of_key = self.of(key)
        if self.taken >= self.most or of_key >= self.each:
            self.refused += 1
            raise Overloaded(retry_after=1)
        self.taken += 1
        self._by_key[key] = of_key + 1

    def leave(self, key: KeyId) -> None:
        self.taken -= 1
        of_key = self._by_key[key] - 1
        if of_key:
            self._by_key[key] = of_key
        else:
            del self._by_key[key]

    @contextmanager
    def place(self, key: KeyId) -> Iterator[None]:
        self.enter(key)
        try:
            yield
        finally:
            self.leave(key)
