"""No vectors: recall is lexical only."""

from __future__ import annotations


class Nothing:
    def encode(self, text: str) -> bytes:
        return b""


def load() -> Nothing:
    return Nothing()
