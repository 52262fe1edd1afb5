"""Two statements read together: what the engine asks of whatever does that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from everthread.core.memory import Chances


class Pairing(Protocol):
    """Tells whether a later statement is about the same thing as an earlier one, and gives it another value.

    It takes some milliseconds for each pair, so it is never asked while somebody waits."""

    @property
    def name(self) -> str:
        """Which one is active; "none": nothing can be told."""
        ...

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[Chances]:
        """An earlier and a later text each. Raises Unavailable."""
        ...

    async def close(self) -> None: ...
