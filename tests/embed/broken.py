"""An encoder whose file is broken."""

from __future__ import annotations

from everthread.embed.encoder import Encoder, Unloadable


def load() -> Encoder:
    raise Unloadable("the file is broken")
