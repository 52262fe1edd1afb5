"""What makes one vector of one text, in whatever thread it is called."""

from __future__ import annotations

from typing import Protocol


class Encoder(Protocol):
    """Safe to call from several threads at once."""

    def encode(self, text: str) -> bytes: ...


class Unloadable(Exception):
    """This encoder cannot work here; another one may."""
