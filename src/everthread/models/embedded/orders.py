"""What the embedded model's process is told, and what it answers. Apart from it: its library is large."""

from __future__ import annotations

import msgspec


class Order(msgspec.Struct, frozen=True):
    """What to run."""

    weights: str
    name: str
    context: int
    threads: int
    key: str  # whoever asks must know it


class Listening(msgspec.Struct, frozen=True, tag=True):
    """The model is loaded and answers here."""

    url: str


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The model cannot be run."""

    reason: str
