"""Graphs of the runtime's own fused operators, for one text at a time: no padding, no mask. Weights are signed bytes,
and what they are multiplied with is quantised as it comes. Needs onnx and numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

HEADS, EPSILON, WIDTH = 12, 1e-12, 384
FUSED = "com.microsoft"  # the domain of the runtime's own operators

Array = NDArray[np.generic]
Matrix = tuple[Array, Array]  # bytes, a row for each input; and the scale of each column


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

    def by_row(self, given: str, matrix: Matrix, output: str) -> str:
        """Bytes times bytes, where some rows are much larger than others: what goes in has one scale for all of them,
        so each is brought to the same size before, and to its own again after."""
        self.node("Abs", [given], f"{output}.absolute")
        self.node("ReduceMax", [f"{output}.absolute"], f"{output}.largest", axes=[-1], keepdims=1)
        self.node("Div", [given, f"{output}.largest"], f"{output}.even")
        self.dense(f"{output}.even", matrix, f"{output}.product")
        return self.node("Mul", [f"{output}.product", f"{output}.largest"], output)

    def dense(self, given: str, matrix: Matrix, output: str, *, bias: Array | None = None) -> str:
        """Bytes times bytes."""
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

    def plain(self, given: str, weight: Array, bias: Array, output: str) -> str:
        """Numbers times numbers: for what is small."""
        self.node("MatMul", [given, self.array(f"{output}.weight", weight)], f"{output}.product")
        return self.node("Add", [f"{output}.product", self.array(f"{output}.bias", bias)], output)

    def joined(self, branch: str, trunk: str, bias: Array, norm: tuple[Array, Array], output: str) -> str:
        """Adds a layer's outcome to what went in, and levels it."""
        inputs = [branch, trunk]
        inputs += [self.array(f"{output}.{part}", values) for part, values in zip(("w", "b"), norm, strict=True)]
        inputs.append(self.array(f"{branch}.bias", bias))
        return self.node("SkipLayerNormalization", inputs, output, domain=FUSED, epsilon=EPSILON)

    def begun(self, places: Array, norm: tuple[Array, Array], *beside: str) -> str:
        """The pieces as they are given (`words`), each in its place, and levelled."""
        first = self.array("first", np.array([0], np.int64))
        self.node("Shape", ["words"], "count", start=0, end=1)
        self.node("Slice", [self.array("places", places.astype(np.float32)), first, "count"], "places_in")
        self.node("Sum", ["words", "places_in", *beside], "sum")
        self.node("Unsqueeze", ["sum", first], "embedded")
        parts = [self.array(f"norm.{part}", values) for part, values in zip(("w", "b"), norm, strict=True)]
        return self.node("LayerNormalization", ["embedded", *parts], "state0", axis=-1, epsilon=EPSILON)

    def layer(
        self,
        number: int,
        state: str,
        matrices: Mapping[str, Matrix],
        rest: Mapping[str, Array],
        *,
        uneven: bool = False,
    ) -> str:
        """One layer: `matrices` query, key, value, out, wide, narrow; the rest their biases and both norms."""
        feed = self.by_row if uneven else self.dense
        own = f"layer{number}"
        three = [matrices[part] for part in ("query", "key", "value")]
        codes, scales = (np.concatenate(parts, axis=-1) for parts in zip(*three, strict=True))
        biases = np.concatenate([rest[f"{part}.bias"] for part in ("query", "key", "value")])
        self.dense(state, (codes, scales), f"{own}.all", bias=biases)
        self.node("Split", [f"{own}.all"], f"{own}.q {own}.k {own}.v", axis=-1)
        split = [f"{own}.q", f"{own}.k", f"{own}.v"]
        self.node("MultiHeadAttention", split, f"{own}.heads", domain=FUSED, num_heads=HEADS)
        self.dense(f"{own}.heads", matrices["out"], f"{own}.attended")
        norm = (rest["norm.weight"], rest["norm.bias"])
        middle = self.joined(f"{own}.attended", state, rest["out.bias"], norm, f"{own}.middle")
        feed(middle, matrices["wide"], f"{own}.wide")
        bias = self.array(f"{own}.wide.bias", rest["wide.bias"])
        self.node("BiasGelu", [f"{own}.wide", bias], f"{own}.gelu", domain=FUSED)
        feed(f"{own}.gelu", matrices["narrow"], f"{own}.narrow")
        last = (rest["last.weight"], rest["last.bias"])
        return self.joined(f"{own}.narrow", middle, rest["narrow.bias"], last, f"state{number + 1}")

    def model(self, name: str, inputs: Mapping[str, int], output: str, size: int) -> onnx.ModelProto:
        """The whole; the inputs have a row for each piece."""
        given = [
            helper.make_tensor_value_info(one, TensorProto.FLOAT, ["pieces", wide]) for one, wide in inputs.items()
        ]
        made = helper.make_tensor_value_info(output, TensorProto.FLOAT, [size])
        whole = helper.make_graph(self.nodes, name, given, [made], self.arrays)
        imports = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(whole, opset_imports=imports, ir_version=8)
