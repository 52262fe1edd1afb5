"""One fixed vector per word piece, drawn from MiniLM (see derive.py): no model to run, a shadow of its judgement."""

from __future__ import annotations

from importlib import resources

import numpy as np
from numpy.typing import NDArray

from everthread.embed import vectors, wordpiece
from everthread.embed.encoder import Unloadable
from everthread.embed.vectors import Floats
from everthread.embed.wordpiece import WordPiece

DIMENSIONS = 96


class Static:
    def __init__(self, codes: NDArray[np.uint8], scales: NDArray[np.float16], pieces: WordPiece) -> None:
        self._codes = codes  # two dimensions per byte, each from 1 to 15: -7 to 7
        self._scales = scales  # per piece; frequent pieces count for little
        self._pieces = pieces

    def encode(self, text: str) -> bytes:
        ids = self._pieces.ids(text)[1:-1]
        codes = self._codes[ids]
        rows = np.concatenate([codes >> 4, codes & 15], axis=1).astype(np.float32) - 8.0
        total: Floats = self._scales[ids].astype(np.float32) @ rows
        return vectors.packed(total)


def load() -> Static:
    """Some 10 ms and 5 MB. Raises Unloadable."""
    try:
        with resources.files(__package__).joinpath("data", "static.npz").open("rb") as file, np.load(file) as table:
            return Static(table["codes"], table["scales"], wordpiece.load())
    except (OSError, KeyError, ValueError) as error:
        raise Unloadable(str(error)) from error


def quantised(rows: Floats) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
    """Four bits per dimension and a scale per row: what `Static` adds up again."""
    scales = np.abs(rows).max(axis=1, initial=1e-6) * np.float32(0.8 / 7)  # the few outermost values are cut
    codes = (np.clip(np.rint(rows / scales[:, None]), -7, 7) + 8).astype(np.uint8)
    half = rows.shape[1] // 2
    return codes[:, :half] << 4 | codes[:, half:], scales.astype(np.float16)
