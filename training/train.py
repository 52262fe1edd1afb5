"""Trains the model that reads two statements together.

python training/train.py --out pairs.pt                    of all authors
python training/train.py --out pairs.pt --leave-out f      all but one, and measures on that one after each round
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import torch
from corpus import NEITHER, REPLACES, Pair, Slot, pairs, slots
from network import Pairs, batch, length, pretrained
from torch import Tensor, nn
from torch.nn import functional

from everthread.evals import former, working
from everthread.evals.conversation import Conversation
from everthread.evals.working_topics import WORKING
from everthread.memory.weigh import is_mine

HERE = Path(__file__).parent
SIZE, AT_ONCE = 64, 32  # pairs of a step; that are computed together, of like length
RATE, HEAD_RATE, WARM = 8e-5, 4e-4, 0.06
SMOOTH = 0.03
LIKE = 8  # slots of the same author that sound like one
MADE_UP = 130  # conversations of each family that is open to those who write rules
NEAR = 12  # earlier statements that one is read together with, as the server does
HARD, FAR = 2.2, 0.33  # pairs that do not go together for each that does: near ones, others


class Vectors:
    """Sentence vectors, as the server makes them."""

    def __init__(self) -> None:
        from everthread.embed import minilm, vectors  # noqa: PLC0415  # only where it is trained

        self._encode, self._unpacked = minilm.load().encode, vectors.unpacked

    def __call__(self, texts: Sequence[str]) -> Tensor:
        return torch.stack([torch.tensor(self._unpacked(self._encode(text))) for text in texts])


def alike(known: Sequence[Slot], vectors: Vectors) -> dict[Slot, list[Slot]]:
    """For each slot those of its author that sound most like it."""
    texts = [(*slot.questions, slot.states[0][1], slot.states[-1][1]) for slot in known]
    means = functional.normalize(torch.stack([vectors(some).mean(0) for some in texts]), dim=1)
    near = means @ means.T
    found = {}
    for at, own in enumerate(known):
        order = near[at].argsort(descending=True).tolist()
        found[own] = [known[other] for other in order if known[other].author == own.author and other != at][:LIKE]
    return found


def made_up(told: Conversation, vectors: Vectors, chance: Random) -> list[Pair]:
    """Pairs of a conversation whose truth is known."""
    said = told.turns[::2]
    values = {
        turn // 2: (fact, value)
        for fact, asked in enumerate(told.questions)
        for value, turn in (*asked.stale, (asked.current, asked.current_turn))
    }
    made = vectors([turn.text for turn in said])
    near = made @ made.T
    right: list[Pair] = []
    wrong: list[tuple[float, Pair]] = []
    for later in range(1, len(said)):
        for earlier in near[later, :later].argsort(descending=True).tolist()[:NEAR]:
            one, other = said[earlier], said[later]
            if one.speaker != other.speaker and (is_mine(one.text) or is_mine(other.text)):
                continue
            fact, value = values.get(earlier, (-1, ""))
            following, new = values.get(later, (-2, ""))
            if fact != following:
                wrong.append((float(near[later, earlier]), (one.text, other.text, NEITHER)))
            elif value != new:
                right.append((one.text, other.text, REPLACES))
    wrong.sort(key=lambda pair: -pair[0])
    hard, far = wrong[: 3 * len(right)], wrong[3 * len(right) :]
    chosen = chance.sample(hard, min(len(hard), int(HARD * len(right))))
    chosen += chance.sample(far, min(len(far), int(FAR * len(right))))
    return [*right, *(pair for _, pair in chosen)]


def steps(drawn: Sequence[Pair]) -> Iterator[list[list[Pair]]]:
    for start in range(0, len(drawn) - SIZE + 1, SIZE):
        some = sorted(drawn[start : start + SIZE], key=length)
        yield [some[at : at + AT_ONCE] for at in range(0, SIZE, AT_ONCE)]


def logits(model: Pairs, some: Sequence[Pair]) -> Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found: Tensor = model(*batch(some))
    return found


def measured(model: Pairs, tested: Sequence[Pair]) -> str:
    """How well it tells what goes together from what does not."""
    model.eval()
    ordered = sorted(tested, key=length)
    with torch.inference_mode():
        parts = [logits(model, ordered[start : start + SIZE]).softmax(1) for start in range(0, len(ordered), SIZE)]
    chances = torch.cat(parts)
    what = torch.tensor([pair[2] for pair in ordered])
    linked = 1 - chances[:, NEITHER]
    right, wrong = linked[what != NEITHER], linked[what == NEITHER]
    first = (right[:, None] > wrong[None, :]).float().mean()
    least = wrong.sort(descending=True).values[len(wrong) // 50]
    exact = (chances.argmax(1) == what).float().mean()
    return (
        f"exact {exact:.3f}, a right one before a wrong one {first:.4f}, "
        f"found with 2 % of the wrong {(right > least).float().mean():.3f}"
    )


def train(model: Pairs, drawn: list[list[Pair]], tested: Sequence[Pair], out: Path) -> None:
    heads = list(model.head.parameters())
    body = [weight for weight in model.body.parameters() if weight.requires_grad]
    rates = [{"params": body, "lr": RATE}, {"params": heads, "lr": HEAD_RATE}]
    optimizer = torch.optim.AdamW(rates, weight_decay=0.02)
    whole = sum(len(some) // SIZE for some in drawn)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda at: min((at + 1) / (WARM * whole), max(0.02, 0.5 + 0.5 * math.cos(math.pi * at / whole)))
    )
    began = time.monotonic()
    for number, some in enumerate(drawn, start=1):
        model.train()
        total = 0.0
        for step in steps(some):
            for part in step:
                wanted = torch.tensor([pair[2] for pair in part])
                loss = functional.cross_entropy(logits(model, part), wanted, label_smoothing=SMOOTH) / len(step)
                loss.backward()
                total += loss.item()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            rate.step()
            optimizer.zero_grad()
        torch.save(model.state_dict(), out)
        figures = measured(model, tested) if tested else ""
        print(
            f"round {number}: loss {total * SIZE / len(some):.3f}, {time.monotonic() - began:.0f} s {figures}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--leave-out", default="", help="an author's letter")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    chance, vectors = Random(0), Vectors()
    known = [slot for path in sorted(args.data.glob("*.jsonl")) for slot in slots(path)]
    like = alike(known, vectors)
    by_author: dict[str, list[Slot]] = {}
    for slot in known:
        by_author.setdefault(slot.author, []).append(slot)
    told = [*former.conversations(MADE_UP, 501), *working.conversations(WORKING, MADE_UP, 502)]
    beside = [pair for one in told for pair in made_up(one, vectors, chance)]

    def drawn(authors: Sequence[str]) -> list[Pair]:
        own = [slot for author in authors for slot in by_author[author]]
        return [pair for slot in own for pair in pairs(slot, like[slot], by_author[slot.author], chance)]

    kept = [author for author in by_author if author not in args.leave_out]
    rounds = []
    for _ in range(args.rounds):
        some = drawn(kept)
        some += chance.sample(beside, min(len(beside), len(some) // 4))
        chance.shuffle(some)
        rounds.append(some)
    print(f"{sum(len(by_author[author]) for author in kept)} slots, {len(rounds[0])} pairs a round", flush=True)
    train(pretrained(), rounds, drawn([author for author in by_author if author not in kept]), args.out)


if __name__ == "__main__":
    main()
