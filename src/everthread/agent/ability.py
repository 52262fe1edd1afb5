"""What models were found not to take."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from everthread.core.ports import Clock

MOST_REMEMBERED = 256
REMEMBERED = timedelta(minutes=10)  # a server may be started anew with other abilities; asking once more is cheap

What = Literal["tools", "thoughts"]


class Ability:
    """Remembers for a while which models take no tools, or not their own thoughts back. One for all turns."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lacking: dict[tuple[str, What], datetime] = {}  # until when

    def lacks(self, model: str, what: What) -> bool:
        until = self._lacking.get((model, what))
        return until is not None and self._clock.now() < until

    def without(self, model: str, what: What) -> None:
        """It refused a request with that, and took the same one without."""
        self._lacking.pop((model, what), None)
        while len(self._lacking) >= MOST_REMEMBERED:
            del self._lacking[next(iter(self._lacking))]
        self._lacking[model, what] = self._clock.now() + REMEMBERED
