"""all-MiniLM-L6-v2 in whole numbers of a byte (data/minilm.onnx), run by onnxruntime in the caller's thread."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

import numpy as np
import onnxruntime

from everthread.embed import heap, vectors, wordpiece
from everthread.embed.encoder import Unloadable
from everthread.embed.vectors import Floats
from everthread.embed.wordpiece import WordPiece
from everthread.errors import Unavailable

DIMENSIONS = 384


class MiniLM:
    def __init__(self, session: onnxruntime.InferenceSession, pieces: WordPiece) -> None:
        self._session = session
        self._pieces = pieces

    def encode(self, text: str) -> bytes:
        ids = self._pieces.ids(text)
        if len(ids) == 2:  # nothing between start and end
            return vectors.zero(DIMENSIONS)
        return vectors.packed(self.pooled(ids))

    def pooled(self, ids: Sequence[int]) -> Floats:
        """The mean of what the model makes of each piece."""
        try:
            mean: Floats = self._session.run(None, {"input_ids": np.array([ids], np.int64)})[0]
        except Exception as error:  # onnxruntime's failures have no class of their own in common
            raise Unavailable("The embedding model failed.") from error
        return mean


def load() -> MiniLM:
    """Some 0.1 s and 40 MB. Raises Unloadable."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # two were slower than one while something else ran
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # it never gives back what the longest text took, and saves no time
    options.log_severity_level = 3
    try:
        with resources.as_file(resources.files(__package__).joinpath("data", "minilm.onnx")) as path:
            session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # as above
        raise Unloadable(f"data/minilm.onnx: {error}") from error
    heap.give_back()  # what loading took for a moment
    return MiniLM(session, wordpiece.load())
