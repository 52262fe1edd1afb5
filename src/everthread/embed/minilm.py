"""all-MiniLM-L6-v2 in whole numbers of a byte (data/minilm.onnx), run by onnxruntime in the caller's thread."""

from __future__ import annotations

from collections.abc import Sequence

import onnxruntime

from everthread.embed import runtime, vectors, wordpiece, words
from everthread.embed.vectors import Floats
from everthread.embed.wordpiece import WordPiece
from everthread.embed.words import Words
from everthread.errors import Unavailable

DIMENSIONS = 384


class MiniLM:
    def __init__(self, session: onnxruntime.InferenceSession, pieces: WordPiece, table: Words) -> None:
        self._session = session
        self._pieces = pieces
        self._words = table

    def encode(self, text: str) -> bytes:
        ids = self._pieces.ids(text)
        if len(ids) == 2:  # nothing between start and end
            return vectors.zero(DIMENSIONS)
        return vectors.packed(self.pooled(ids))

    def pooled(self, ids: Sequence[int]) -> Floats:
        """The mean of what the model makes of each piece."""
        try:
            mean: Floats = self._session.run(None, {"words": self._words.rows(ids)})[0]
        except Exception as error:  # onnxruntime's failures have no class of their own in common
            raise Unavailable("The embedding model failed.") from error
        return mean


def load() -> MiniLM:
    """Some 0.1 s and 30 MB. Raises Unloadable."""
    return MiniLM(runtime.opened("minilm.onnx"), wordpiece.load(), words.load("minilm"))
