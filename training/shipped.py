"""The model as it ships, as weights to go on from: `export.py` the other way round."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from network import LAYERS, WIDTH, Pairs, pretrained
from onnx import numpy_helper
from torch import Tensor

DATA = Path(__file__).parent.parent / "src/everthread/embed/data"


def pairs() -> Pairs:
    """What a byte has rounded stays rounded; the head for the kind of talk is not there, and begins anew."""
    graph = onnx.load(DATA / "pairs.onnx").graph
    arrays = {one.name: torch.tensor(numpy_helper.to_array(one)) for one in graph.initializer}

    def matrix(name: str) -> Tensor:
        return arrays[f"{name}.codes"].float() * arrays[f"{name}.scales"]

    model = pretrained()
    state = model.state_dict()
    codes, scales = np.load(DATA / "pairs.words.npy"), np.load(DATA / "pairs.scales.npy")
    state["body.words.weight"] = torch.tensor(codes.astype(np.float32) * scales)
    state["body.sides.weight"] = torch.stack([torch.zeros(WIDTH), arrays["later"][0]])
    state["body.places.weight"][: len(arrays["places"])] = arrays["places"]
    state["body.norm.weight"], state["body.norm.bias"] = arrays["norm.w"], arrays["norm.b"]
    for number in range(LAYERS):
        own, layer = f"body.layers.{number}", f"layer{number}"
        whole, bias = matrix(f"{layer}.all"), arrays[f"{layer}.all.bias"]
        for at, part in enumerate(("query", "key", "value")):
            state[f"{own}.{part}.weight"] = whole[:, at * WIDTH : (at + 1) * WIDTH].T
            state[f"{own}.{part}.bias"] = bias[at * WIDTH : (at + 1) * WIDTH]
        for part, name in (("out", "attended"), ("wide", "wide.product"), ("narrow", "narrow.product")):
            state[f"{own}.{part}.weight"] = matrix(f"{layer}.{name}").T
            state[f"{own}.{part}.bias"] = arrays[f"{layer}.{name.removesuffix('.product')}.bias"]
        for part, name in (("norm", f"{layer}.middle"), ("last", f"state{number + 1}")):
            state[f"{own}.{part}.weight"], state[f"{own}.{part}.bias"] = arrays[f"{name}.w"], arrays[f"{name}.b"]
    for at, name in ((1, "hidden"), (3, "logits")):
        state[f"head.{at}.weight"], state[f"head.{at}.bias"] = arrays[f"{name}.weight"].T, arrays[f"{name}.bias"]
    model.load_state_dict(state)
    return model
