"""Our model files, opened with onnxruntime: run in the caller's thread, with as little memory as that takes."""

from __future__ import annotations

from importlib import resources

import onnxruntime

from everthread.embed import heap
from everthread.embed.encoder import Unloadable


def opened(name: str) -> onnxruntime.InferenceSession:
    """Raises Unloadable."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # two were slower than one while something else ran
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # it never gives back what the longest text took, and saves no time
    options.log_severity_level = 3
    try:
        with resources.as_file(resources.files(__package__).joinpath("data", name)) as path:
            session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's failures have no class of their own in common
        raise Unloadable(f"data/{name}: {error}") from error
    heap.give_back()  # what loading took for a moment
    return session
