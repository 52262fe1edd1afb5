"""A model that reads two statements together (data/pairs.onnx): is the later one about what the earlier one is about,
and does it give another value?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnxruntime

from everthread.core.memory import Chances
from everthread.embed import runtime, wordpiece, words
from everthread.embed.wordpiece import WordPiece
from everthread.embed.words import Words
from everthread.errors import Unavailable

MOST_PIECES = 96  # of each statement: as many as it learned from


class Pairs:
    def __init__(self, session: onnxruntime.InferenceSession, pieces: WordPiece, table: Words) -> None:
        self._session = session
        self._pieces = pieces
        self._words = table

    def compare(self, pair: tuple[str, str]) -> Chances:
        """Of an earlier and a later text."""
        earlier, later = map(self._ids, pair)
        ids = [*earlier, *later[1:]]
        side = np.zeros((len(ids), 1), np.float32)
        side[len(earlier) :] = 1.0
        try:
            _, replaces, repeats = self._session.run(None, {"words": self._words.rows(ids), "side": side})[0].tolist()
        except Exception as error:  # onnxruntime's failures have no class of their own in common
            raise Unavailable("The model that compares statements failed.") from error
        return Chances(replaces, repeats)

    def _ids(self, text: str) -> Sequence[int]:
        return cut(self._pieces.ids(text))


def cut(ids: Sequence[int]) -> Sequence[int]:
    """The beginning and the end of what is long: people tell things before or after what they ask for."""
    half = MOST_PIECES // 2
    return ids if len(ids) <= MOST_PIECES else [*ids[:half], *ids[-half:]]


def load() -> Pairs:
    """Some 0.1 s and 20 MB. Raises Unloadable."""
    return Pairs(runtime.opened("pairs.onnx"), wordpiece.load(), words.load("pairs"))
