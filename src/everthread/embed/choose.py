"""The best embedder that this installation allows."""

from __future__ import annotations

from everthread.core.embedding import Embedder
from everthread.embed.threaded import Kind, Threaded

MINILM = Kind("minilm-l6-int8", 384, "everthread.embed.minilm", ("numpy", "onnxruntime"))
STATIC = Kind("static-minilm-96", 96, "everthread.embed.static", ("numpy",))
NONE = Kind("none", 0, "everthread.embed.none")


def best(*kinds: Kind) -> Embedder:
    """Of these kinds, the best first (by default of all), the first whose packages are installed and can be loaded."""
    return Threaded(*(kind for kind in kinds or (MINILM, STATIC) if kind.installed()), NONE)
