"""The embedded model's own process: `python -m everthread.models.embedded.child`.

It is told what to run by one line on stdin, says where it listens by one line on stdout, and ends when stdin
does: a parent that is gone, however it went, leaves no child behind."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from typing import BinaryIO

import msgspec
import xllamacpp

from everthread.models.embedded.orders import Failed, Listening, Order

PR_SET_PDEATHSIG = 1
CACHE = 512  # MiB of memory for the beginnings of prompts; llama.cpp would take 8192
BATCH = 512  # tokens of a prompt between two looks whether anybody still listens


def main() -> int:
    end_with_parent()
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever llama.cpp prints belongs to the log
    threading.Thread(target=end_with_stdin, daemon=True).start()
    try:
        server = xllamacpp.Server(parameters(order))
    except (RuntimeError, ValueError, OSError) as error:
        say(answer, Failed(str(error)))
        return 1
    say(answer, Listening(f"{server.listening_address}/v1"))
    threading.Event().wait()
    return 0


def say(answer: BinaryIO, word: Listening | Failed) -> None:
    with answer:
        answer.write(msgspec.json.encode(word) + b"\n")


def parameters(order: Order) -> xllamacpp.CommonParams:
    wanted = xllamacpp.CommonParams()
    wanted.model.path = order.weights
    wanted.model_alias = {order.name}  # else the path is shown as the name
    wanted.n_ctx = order.context
    wanted.n_parallel = 1
    wanted.n_batch = wanted.n_ubatch = BATCH
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = order.threads
    wanted.n_threads_http = 2
    wanted.cache_ram_mib = CACHE
    wanted.hostnames = ["127.0.0.1"]
    wanted.port = 0
    wanted.api_keys = [order.key]
    wanted.use_jinja = True
    wanted.warmup = False
    wanted.offline = True
    wanted.endpoint_slots = False
    wanted.ui = False
    wanted.verbosity = 1
    return wanted


def end_with_parent() -> None:
    """On Linux the kernel ends us with our parent, even while the weights are loading."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def end_with_stdin() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    raise SystemExit(main())
