"""Makes data/static.npz from MiniLM, as it was made: `python -m everthread.embed.derive FILE` (two minutes)."""

from __future__ import annotations

import sys

import numpy as np

from everthread.embed import minilm, static
from everthread.embed.vectors import Floats
from everthread.embed.wordpiece import END, START, VOCABULARY

_UNUSED = 104  # [PAD], [unused...], [UNK], [CLS], [SEP], [MASK]
_RARE = 999  # pieces from here on are words: before them are unused and special ones and single letters
_COMMON = 1e-4  # a piece of this frequency counts half as much as a rare one


def derived(rows: Floats) -> Floats:
    """The main directions among the pieces' vectors, each piece weighed by how rare it is (they are in order)."""
    centred = rows - rows[_RARE:].mean(axis=0)
    _, directions = np.linalg.eigh(centred[_RARE:].T @ centred[_RARE:])
    frequency = 1.0 / np.arange(1, len(rows) + 1)
    weight = _COMMON / (_COMMON + frequency / frequency.sum())
    found: Floats = (centred @ directions[:, ::-1][:, : static.DIMENSIONS] * weight[:, None]).astype(np.float32)
    found[:_UNUSED] = 0.0
    return found


def main() -> None:
    model = minilm.load()
    rows = np.array([model.pooled([START, id_, END]) for id_ in range(VOCABULARY)])
    codes, scales = static.quantised(derived(rows))
    np.savez_compressed(sys.argv[1], codes=codes, scales=scales)


if __name__ == "__main__":
    main()
