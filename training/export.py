"""A trained model as it ships, and its table of words: `python training/export.py pairs.pt FOLDER`."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from graphs import FUSED, WIDTH, Array, Graph, Matrix
from network import LAYERS, NAMES

PLACES = 192  # as many as two statements have pieces at most


def quantised(weight: Array) -> Matrix:
    """A byte for each number, a scale for each column."""
    scales = np.abs(weight).max(axis=0) / 127
    scales[scales == 0] = 1.0
    return np.round(weight / scales).astype(np.int8), scales.astype(np.float32)


def made(state: dict[str, Array]) -> onnx.ModelProto:
    graph, sides = Graph(), state["body.sides.weight"]
    graph.node("MatMul", ["side", graph.array("later", sides[1:] - sides[:1])], "side_in")
    norm = (state["body.norm.weight"], state["body.norm.bias"])
    at = graph.begun((state["body.places.weight"] + sides[0])[:PLACES], norm, "side_in")
    for number in range(LAYERS):
        own = f"body.layers.{number}."
        matrices = {part: quantised(state[f"{own}{part}.weight"].T) for part in list(NAMES)[:6]}
        rest = {name.removeprefix(own): values for name, values in state.items() if name.startswith(own)}
        at = graph.layer(number, at, matrices, rest, uneven=True)
    graph.node("ReduceMean", [at], "mean", axes=[1], keepdims=1)
    graph.node("Gather", [at, graph.array("start", np.array([0], np.int64))], "beginning", axis=1)
    graph.node("Concat", ["beginning", "mean"], "both", axis=2)
    graph.plain("both", state["head.1.weight"].T, state["head.1.bias"], "hidden")
    graph.node("Gelu", ["hidden"], "active", domain=FUSED)
    graph.plain("active", state["head.3.weight"].T, state["head.3.bias"], "logits")
    graph.node("Softmax", ["logits"], "softmax", axis=-1)
    graph.node("Squeeze", ["softmax"], "chances")
    return graph.model("pairs", {"words": WIDTH, "side": 1}, "chances", 3)


def main() -> None:
    given, folder = map(Path, sys.argv[1:])
    state = {name: values.float().numpy() for name, values in torch.load(given).items()}
    codes, scales = quantised(state["body.words.weight"].T)
    np.save(folder / "pairs.words.npy", np.ascontiguousarray(codes.T))
    np.save(folder / "pairs.scales.npy", scales.reshape(-1, 1))
    path = folder / "pairs.onnx"
    onnx.save(made(state), path)
    print(path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())


if __name__ == "__main__":
    main()
