"""Sentence vectors: what the engine asks of whatever makes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Texts as vectors. The vectors are opaque bytes, all of one length, to be stored as they are.

    What cannot be embedded (no words in it, or there is no model) is a zero vector, similar to nothing."""

    @property
    def name(self) -> str:
        """Which one is active. Vectors of another name are of another space: store it beside them.

        It may step down once, with the first text, if what looked installed cannot be loaded."""
        ...

    @property
    def dimensions(self) -> int:
        """0: there are no vectors, recall is lexical only."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """For indexing: one text after the other, behind all other work. Raises Unavailable."""
        ...

    async def query(self, text: str) -> bytes:
        """For a reply that waits: at once, beside what is being indexed. Raises Unavailable."""
        ...

    def similarities(self, query: bytes, vectors: Sequence[bytes]) -> list[float]:
        """The cosine of each vector with the query; 0 for one of another space. Some 0.3 µs per vector."""
        ...

    async def close(self) -> None: ...
