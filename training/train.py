"""Trains the model that reads what a message tells, and of what.

python training/train.py --out reader.pt                    of all authors
python training/train.py --out reader.pt --leave-out f      all but one, and measures on that one
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

import torch
from corpus import Example, Slot, examples, slots
from model import MOST, Reader, batch, pretrained
from torch import Tensor, nn
from torch.nn import functional

from everthread.embed import wordpiece

HERE = Path(__file__).parent
PIECES = wordpiece.load()
SEEDS, NEAR = 3, 3  # slots of a batch: so many by chance, each with so many that are like it
RATE, HEAD_RATE, WARM = 8e-5, 4e-4, 0.08
FROZEN = 2  # layers that stay as they are
HEAT = 0.06  # of the softmax over cosines


@cache
def cut(text: str) -> list[int]:
    ids = PIECES.ids(text)
    return ids if len(ids) <= MOST else [*ids[: MOST - 1], ids[-1]]


def vectors(texts: Sequence[str], encoder: Reader) -> Tensor:
    """As the embedder makes them: the mean of the last layer."""
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    rows: dict[int, Tensor] = {}
    with torch.inference_mode():
        for start in range(0, len(order), 32):
            some = order[start : start + 32]
            _, mean = encoder.pooled(*batch([cut(texts[at]) for at in some]))
            rows |= zip(some, functional.normalize(mean, dim=1), strict=True)
    return torch.stack([rows[at] for at in range(len(texts))]).clone()


class Questions:
    """What is asked about each slot, as the embedder knows it."""

    def __init__(self, known: Sequence[Slot]) -> None:
        encoder = pretrained(6).eval()
        texts = [text for slot in known for text in slot.questions]
        found = dict(zip(texts, vectors(texts, encoder), strict=True))
        self.of = {slot: torch.stack([found[text] for text in slot.questions]) for slot in known}
        means = functional.normalize(torch.stack([self.of[slot].mean(0) for slot in known]), dim=1)
        near = means @ means.T
        self.like: dict[Slot, list[Slot]] = {}
        for at, slot in enumerate(known):
            order = near[at].argsort(descending=True).tolist()
            same = [known[other] for other in order if known[other].author == slot.author and other != at]
            self.like[slot] = same[:8]


def batches(known: Sequence[Slot], questions: Questions, chance: Random) -> Iterator[list[Slot]]:
    """Every slot once as a seed, with some that are like it, of the same author."""
    by_author: dict[str, list[Slot]] = {}
    for slot in known:
        by_author.setdefault(slot.author, []).append(slot)
    made = []
    for own in by_author.values():
        order = chance.sample(own, len(own))
        for start in range(0, len(order), SEEDS):
            seeds = order[start : start + SEEDS]
            like = [other for slot in seeds for other in chance.sample(questions.like[slot], NEAR)]
            made.append(list(dict.fromkeys([*seeds, *like])))
    chance.shuffle(made)
    yield from made


def spread(logits: Tensor, right: Tensor) -> Tensor:
    """The mean cross entropy of each right one against all that are not."""
    wrong = logits.masked_fill(right, -1e4).logsumexp(1, keepdim=True)
    own = torch.logaddexp(logits, wrong) - logits
    return (own * right).sum() / right.sum().clamp(min=1)


def loss_of(reader: Reader, chosen: Sequence[Slot], found: Sequence[Example], questions: Questions) -> Tensor:
    order = sorted(range(len(found)), key=lambda at: len(cut(found[at].text)))
    parts = [order[start : start + 24] for start in range(0, len(order), 24)]  # of like length
    made = [reader(*batch([cut(found[at].text) for at in part])) for part in parts]
    found = [found[at] for at in order]
    told, matters, values = (torch.cat(some) for some in zip(*made, strict=True))
    tells = torch.tensor([one.tells for one in found])
    state = functional.binary_cross_entropy_with_logits(told[tells >= 0], tells[tells >= 0].float())
    matter = torch.tensor([one.matter for one in found])
    asked = torch.cat([questions.of[slot] for slot in chosen])
    whose = torch.arange(len(chosen)).repeat_interleave(torch.tensor([len(questions.of[slot]) for slot in chosen]))
    answers = spread(asked @ matters.T / HEAT, whose[:, None] == matter[None, :])
    telling = matter >= 0
    among = (matters[telling] @ matters.T / HEAT).masked_fill(torch.eye(len(found), dtype=torch.bool)[telling], -1e4)
    itself = torch.eye(len(found), dtype=torch.bool)[telling]
    same = spread(among, (matter[telling][:, None] == matter[None, :]) & ~itself)
    pairs = [(a, b) for a in range(len(found)) for b in range(a) if matter[a] >= 0 and matter[a] == matter[b]]
    cosines = torch.stack([values[a] @ values[b] for a, b in pairs]) * reader.scale[0] + reader.scale[1]
    equal = torch.tensor([float(found[a].value == found[b].value) for a, b in pairs])
    value = functional.binary_cross_entropy_with_logits(cosines, equal)
    return answers + 0.7 * same + state + 0.5 * value


def train(known: Sequence[Slot], questions: Questions, args: argparse.Namespace) -> Reader:
    torch.manual_seed(args.seed)
    chance = Random(args.seed)
    reader = pretrained(args.layers)
    if args.begun:
        reader.load_state_dict(torch.load(args.begun)["state"])
    for part in (reader.words, reader.places, reader.sides, reader.norm, *reader.layers[:FROZEN]):
        part.requires_grad_(requires_grad=False)
    new = ("tells", "value", "scale")
    heads = [weight for name, weight in reader.named_parameters() if name.startswith(new)]
    body = [weight for name, weight in reader.named_parameters() if weight.requires_grad and not name.startswith(new)]
    rates = [{"params": body, "lr": RATE * args.rate}, {"params": heads, "lr": HEAD_RATE * args.rate}]
    optimizer = torch.optim.AdamW(rates, weight_decay=0.01)
    plan = [chosen for _ in range(args.epochs) for chosen in batches(known, questions, chance)]
    steps = len(plan)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda at: min(at / (WARM * steps), 0.5 + 0.5 * math.cos(math.pi * min(1.0, at / steps)))
    )
    reader.train()
    began, total = time.monotonic(), 0.0
    for done, chosen in enumerate(plan, start=1):
        loss = loss_of(reader, chosen, examples(chosen, chance), questions)
        loss.backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        rate.step()
        optimizer.zero_grad()
        total += loss.item()
        if done % 25 == 0:
            print(f"step {done}/{steps} loss {total / 25:.3f} {time.monotonic() - began:.0f} s", flush=True)
            total = 0.0
            torch.save({"layers": args.layers, "state": reader.state_dict()}, args.out)
    return reader.eval()


def measured(reader: Reader, known: Sequence[Slot], questions: Questions) -> None:
    """How well it tells an author's messages apart: the chance that a right one stands before a wrong one."""
    chance = Random(1)

    def read(texts: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
        with torch.inference_mode():
            made = [reader(*batch([cut(text)])) for text in texts]
        return tuple(torch.cat(some) for some in zip(*made, strict=True))  # type: ignore[return-value]

    def before(right: Sequence[float], wrong: Sequence[float]) -> float:
        one, other = torch.tensor(right), torch.tensor(wrong)
        return float((one[:, None] > other[None, :]).float().mean())

    tally: dict[str, tuple[list[float], list[float]]] = {}
    made = {}
    for slot in known:
        chosen = chance.sample(slot.telling, 8)
        made[slot] = (
            chosen,
            read([text for _, text in chosen]),
            read(slot.neighbours),
            read([text for _, text in slot.not_now]),
        )
    for slot in known:
        chosen, own, beside, idle = made[slot]
        others = torch.cat([made[other][1][1] for other in questions.like[slot] if other in made])
        asked = questions.of[slot]
        right, wrong = tally.setdefault("tells", ([], []))
        right += own[0].tolist() + beside[0].tolist()
        wrong += [
            float(one) for one, (kind, _) in zip(idle[0], slot.not_now, strict=True) if kind not in {"other", "detail"}
        ]
        for name, theirs in (("neighbours", beside[1]), ("others alike", others), ("not now", idle[1])):
            right, wrong = tally.setdefault(f"question, {name}", ([], []))
            right += (asked @ own[1].T).flatten().tolist()
            wrong += (asked @ theirs.T).flatten().tolist()
            right, wrong = tally.setdefault(f"statements, {name}", ([], []))
            right += (own[1] @ own[1].T)[~torch.eye(len(chosen), dtype=torch.bool)].tolist()
            wrong += (own[1] @ theirs.T).flatten().tolist()
        right, wrong = tally.setdefault("values", ([], []))
        near = own[2] @ own[2].T
        for a in range(len(chosen)):
            for b in range(a):
                (right if chosen[a][0] == chosen[b][0] else wrong).append(float(near[a, b]))
    for name, (right, wrong) in tally.items():
        least = sorted(wrong)[int(0.95 * len(wrong))]
        above = sum(one > least for one in right) / len(right)
        print(f"{name}: {before(right, wrong):.3f}; {above:.3f} above 95 % of the wrong (from {least:.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--leave-out", default="", help="an author's letter")
    parser.add_argument("--begun", type=Path, help="a model to go on from")
    parser.add_argument("--rate", type=float, default=1.0, help="times the usual one")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    known = [slot for path in sorted(args.data.glob("*.jsonl")) for slot in slots(path)]
    kept = [slot for slot in known if not args.leave_out or slot.author not in args.leave_out]
    questions = Questions(known)
    print(f"{len(kept)} slots", flush=True)
    reader = train(kept, questions, args)
    torch.save({"layers": args.layers, "state": reader.state_dict()}, args.out)
    if left := [slot for slot in known if slot not in kept]:
        measured(reader, left, questions)


if __name__ == "__main__":
    main()
