"""What each piece of a word begins as, before a model reads it among others."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from everthread.embed.encoder import Unloadable
from everthread.embed.vectors import Floats


class Words:
    """A byte for each number, a scale for each row. It stays in its file, and only what is used of it is read."""

    def __init__(self, codes: NDArray[np.int8], scales: Floats) -> None:
        self._codes = codes
        self._scales = scales

    def rows(self, ids: Sequence[int]) -> Floats:
        found: Floats = self._codes[ids].astype(np.float32) * self._scales[ids]
        return found


def load(model: str) -> Words:
    """Those of one model. Raises Unloadable."""
    data = resources.files(__package__).joinpath("data")
    try:
        with resources.as_file(data.joinpath(f"{model}.words.npy")) as path:
            codes = np.load(path, mmap_mode="r")
        with resources.as_file(data.joinpath(f"{model}.scales.npy")) as path:
            return Words(codes, np.load(path))
    except (OSError, ValueError) as error:
        raise Unloadable(f"data/{model}.words.npy: {error}") from error
