"""Trains the model that reads two statements together.

python training/train.py --out pairs.pt                       of all authors and families
python training/train.py --out pairs.pt --leave-out f,7       without an author and a family, which it measures on
python training/train.py --out more.pt --begin pairs.pt       goes on
python training/train.py --out more.pt --begin shipped        goes on from what ships
"""

from __future__ import annotations

import argparse
import copy
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

import corpus
import families
import judged
import shipped
import stories
import torch
from corpus import KINDS, NEITHER, REPEATS, REPLACES, UNKNOWN, Pair, Slot, slots
from network import Pairs, batch, length, pretrained
from torch import Tensor, nn
from torch.nn import functional

from everthread.evals import working
from everthread.evals.conversation import Conversation
from everthread.evals.working_topics import WORKING
from everthread.memory.series import voiced

HERE = Path(__file__).parent
SIZE, AT_ONCE = 64, 16  # pairs of a step; that are computed together, of like length
RATE, HEAD_RATE, WARM = 6e-5, 2e-4, 0.04
KEPT = 4  # lowest layers that stay as they are where one goes on: it takes a fifth less time
SMOOTH = 0.03
KIND = 0.25  # how much the kind of talk counts beside what it does
STEADY = 0.998  # of the mean of the weights, from one step to the next: the mean is what is kept
LIKE = 8  # slots of the same author that sound like one
MADE_UP = 130  # conversations of the working family
NEAR = 12  # earlier statements that one is read together with, as the server does
FROM_STORIES = 0.8  # of the conversations
MEASURED = 40  # conversations of stories that are left out
FROM_FAMILIES, FEW = 0.8, 8  # of the others; slots of an author that are too few for one
EVERYDAY = 0.7  # of these at least of families in everyday words
HARD = 0.6  # of the conversations of families, about things that sound alike
CLOSE = 6  # of them that are most like it
IDLE, APART, FAR = 1.2, 2.0, 0.4  # pairs that do not go together for each that does


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


Told = dict[int, tuple[int, str]]  # by the number of the statement: a thing, and the value it has from then on


def of_conversation(told: Conversation) -> tuple[list[tuple[str, str]], Told]:
    """Speakers and what they say, and what is true of it."""
    values = {
        turn // 2: (fact, value)
        for fact, asked in enumerate(told.questions)
        for value, turn in (*asked.stale, (asked.current, asked.current_turn))
    }
    return [(turn.speaker, turn.text) for turn in told.turns[::2]], values


def of_talk(lines: Sequence[families.Line]) -> tuple[list[tuple[str, str]], Told]:
    values = {at: (line.thing, line.value) for at, line in enumerate(lines) if line.value}
    return [(line.speaker, line.text) for line in lines], values


def of_story(story: stories.Story) -> tuple[list[tuple[str, str]], Told]:
    things = {thing: at for at, thing in enumerate(sorted({one.thing for one in story.said if one.thing}))}
    values = {at: (things[one.thing], one.value) for at, one in enumerate(story.said) if one.thing}
    return [(one.speaker, one.text) for one in story.said], values


def made_up(said: Sequence[tuple[str, str]], told: Told, vectors: Vectors, chance: Random) -> list[Pair]:
    """Pairs of a conversation whose truth is known, as the server would compare them."""
    made = vectors([text for _, text in said])
    near = made @ made.T
    right: list[Pair] = []
    idle: list[Pair] = []  # one of them tells nothing
    apart: list[Pair] = []  # they tell of different things
    far: list[Pair] = []
    for later in range(1, len(said)):
        for rank, earlier in enumerate(near[later, :later].argsort(descending=True).tolist()[:NEAR]):
            one, other = voiced(said[earlier], said[later])
            fact, value = told.get(earlier, (-1, ""))
            following, new = told.get(later, (-2, ""))
            if fact != following:
                some = far if rank >= CLOSE else apart if fact >= 0 and following >= 0 else idle
                some.append((one, other, NEITHER, ""))
            elif value != new:
                right.append((one, other, REPLACES, "change"))
            elif all(told[at] == told[later] for at in range(earlier, later) if told.get(at, (-1, ""))[0] == fact):
                right.append((one, other, REPEATS, "again"))
    count = len(right)
    for some, often in ((idle, IDLE), (apart, APART), (far, FAR)):
        right += chance.sample(some, min(len(some), int(often * count)))
    return right


def steps(drawn: Sequence[Pair]) -> Iterator[list[list[Pair]]]:
    for start in range(0, len(drawn) - SIZE + 1, SIZE):
        some = sorted(drawn[start : start + SIZE], key=length)
        yield [some[at : at + AT_ONCE] for at in range(0, SIZE, AT_ONCE)]


def loss_of(model: Pairs, some: Sequence[Pair]) -> Tensor:
    does, kinds = model(*batch(some))
    wanted = torch.tensor([what for _, _, what, _ in some])
    loss = functional.cross_entropy(does, wanted, label_smoothing=SMOOTH)
    known = torch.tensor([KINDS.get(kind, UNKNOWN) for *_, kind in some])
    return loss + KIND * functional.cross_entropy(kinds, known) if (known != UNKNOWN).any() else loss


def measured(model: Pairs, tested: Sequence[Pair]) -> str:
    """How well it tells what goes together from what does not."""
    model = copy.deepcopy(model).bfloat16().eval()
    ordered = sorted(tested, key=length)
    with torch.inference_mode():
        parts = [model(*batch(ordered[start : start + SIZE]))[0].softmax(1) for start in range(0, len(ordered), SIZE)]
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


class Light:
    """A model in 16 bits, which is what is computed with, because it is faster. Steps are added to the one in 32."""

    def __init__(self, model: Pairs) -> None:
        self.model = copy.deepcopy(model).bfloat16().train()
        both = zip(self.model.parameters(), model.parameters(), strict=True)
        self._both = [(own, whole) for own, whole in both if whole.requires_grad]

    @torch.no_grad()
    def hand_over(self) -> None:
        """What was learned, to the other."""
        for own, whole in self._both:
            whole.grad, own.grad = None if own.grad is None else own.grad.float(), None

    @torch.no_grad()
    def take_over(self) -> None:
        for own, whole in self._both:
            own.copy_(whole)


class Mean:
    """Of a model's weights over its latest steps."""

    def __init__(self, model: Pairs) -> None:
        self.model = copy.deepcopy(model)
        self._steps = 0

    @torch.no_grad()
    def add(self, model: Pairs) -> None:
        self._steps += 1
        part = 1 - min(STEADY, self._steps / (self._steps + 10))
        for mean, weight in zip(self.model.parameters(), model.parameters(), strict=True):
            if weight.requires_grad:
                mean.lerp_(weight, part)


def keep(model: Pairs) -> None:
    """Leaves what is below the upper layers as it is."""
    body = model.body
    for part in (*body.layers[:KEPT], body.norm, body.places, body.sides):
        part.requires_grad_(requires_grad=False)


def train(model: Pairs, rounds: Iterable[list[Pair]], whole: int, tested: Mapping[str, list[Pair]], out: Path) -> None:
    heads = [*model.head.parameters(), *model.kind.parameters()]
    body = [weight for weight in model.body.parameters() if weight.requires_grad]
    rates = [{"params": body, "lr": RATE}, {"params": heads, "lr": HEAD_RATE}]
    optimizer = torch.optim.AdamW(rates, weight_decay=0.02)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda at: min((at + 1) / (WARM * whole), max(0.02, 0.5 + 0.5 * math.cos(math.pi * at / whole)))
    )
    mean, light, began = Mean(model), Light(model), time.monotonic()
    for number, some in enumerate(rounds, start=1):
        total = 0.0
        for step in steps(some):
            for part in step:
                loss = loss_of(light.model, part) / len(step)
                loss.backward()
                total += loss.item()
            light.hand_over()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            rate.step()
            light.take_over()
            mean.add(model)
        torch.save(mean.model.state_dict(), out)
        print(f"round {number}: loss {total * SIZE / len(some):.3f}, {time.monotonic() - began:.0f} s", flush=True)
        for name, test in tested.items():
            print(f"  {name}: {measured(mean.model, test)}", flush=True)


class Corpus:
    """All that there is to learn from: authors' slots, families, stories, and conversations made up for the rules."""

    def __init__(self, data: Path, left_out: Sequence[str]) -> None:
        self._chance, vectors = Random(0), Vectors()
        known = [slot for path in sorted(data.glob("*.jsonl")) for slot in slots(path)]
        self._like = alike(known, vectors)
        self._slots: dict[str, list[Slot]] = {}
        for slot in known:
            self._slots.setdefault(slot.author, []).append(slot)
        self._data = data
        self._vectors = vectors
        told = working.conversations(WORKING, MADE_UP, 502)
        self._made_up = [pair for one in told for pair in made_up(*of_conversation(one), vectors, self._chance)]
        self._left_out = left_out
        print(f"{len(known)} slots, {len(self._families())} families", flush=True)

    def _families(self) -> dict[str, families.Family]:
        """As they are now: some may be added while others are learned."""
        return {path.stem: families.family(path) for path in sorted(self._data.glob("*.json"))}

    def round(self, size: int) -> list[Pair]:
        """Others each time: from the family for the rules, from stories and other conversations, topics and slots."""
        chance = self._chance
        authors = [some for author, some in self._slots.items() if author not in self._left_out]
        own = [slot for some in authors for slot in some]
        kept = [one for name, one in self._families().items() if name not in self._left_out]
        natural = [one for one in kept if int(one.name) >= families.NATURAL]
        topics = [(topic, one) for one in (*kept, *natural, *natural, *natural) for topic in one.topics]
        drawn = chance.sample(self._made_up, size // 32)
        told = [one for name, some in stories.known(self._data).items() if name not in self._left_out for one in some]
        while len(drawn) < size * 13 // 16:
            if told and chance.random() < FROM_STORIES:
                said = of_story(chance.choice(told))
            elif chance.random() < FROM_FAMILIES:
                some = natural if natural and chance.random() < EVERYDAY else kept
                said = of_talk(families.talk(chance.choice(some), chance, hard=chance.random() < HARD)[1])
            else:
                own_slots = chance.choice([some for some in authors if len(some) > FEW])
                said = of_conversation(judged.conversation(own_slots, "", chance, again=0))
            drawn += made_up(*said, self._vectors, chance)
        while len(drawn) < size * 15 // 16:
            topic, one = chance.choice(topics)
            drawn += families.pairs(topic, one, chance)
        while len(drawn) < size:
            slot = chance.choice(own)
            drawn += corpus.pairs(slot, self._like[slot], self._slots[slot.author], chance)
        chance.shuffle(drawn)
        return drawn[:size]

    def tested(self) -> dict[str, list[Pair]]:
        """Pairs of what is left out."""
        chance, found, known, told = Random(1), {}, self._families(), stories.known(self._data)
        for name in self._left_out:
            if name in self._slots:
                own = self._slots[name]
                found[name] = [pair for slot in own for pair in corpus.pairs(slot, self._like[slot], own, chance)]
            elif name in known:
                one = known[name]
                found[name] = [pair for topic in one.topics for pair in families.pairs(topic, one, chance)]
            elif name in told:
                pairs = [made_up(*of_story(story), self._vectors, chance) for story in told[name][:MEASURED]]
                found[name] = [pair for some in pairs for pair in some]
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--begin", help="what was trained before, or `shipped`; without it, e5-small")
    parser.add_argument("--leave-out", default="", help="authors, families and stories (f,44,stories/f)")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--pairs", type=int, default=26_000, help="of a round")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    known = Corpus(args.data, args.leave_out.split(",") if args.leave_out else ())
    rounds = (known.round(args.pairs) for _ in range(args.rounds))
    model = pretrained()
    if args.begin == "shipped":
        model = shipped.pairs()
    elif args.begin:
        model.load_state_dict(torch.load(args.begin), strict=False)
    if args.begin:
        keep(model)
    train(model, rounds, args.rounds * (args.pairs // SIZE), known.tested(), args.out)


if __name__ == "__main__":
    main()
