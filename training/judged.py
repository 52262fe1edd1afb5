"""Conversations made of one author's slots, of a family or of stories, replayed through the parts that serve, as
`everthread eval` does.

python training/judged.py f --count 40
python training/judged.py 9 --count 40
python training/judged.py stories/f --count 40
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import families
import msgspec
import stories
from corpus import CHAT, Slot, slots

from everthread.evals.conversation import Conversation, Question, Said
from everthread.evals.reversals import evaluated

HERE = Path(__file__).parent
SLOTS = 5  # that one conversation is about


def told(slot: Slot, chance: Random, again: float) -> Iterator[tuple[str, str]]:
    """A value, and those that follow it: what is said, and the value if it is another one."""
    value, text = chance.choice(slot.states)
    yield text, value
    for _ in range(chance.choices([0, 1, 2, 3], [1, 4, 3, 1])[0]):
        if chance.random() < again and (same := [said for other, said in slot.again if other == value]):
            yield chance.choice(same), ""
        ways = slot.refers if chance.random() < 0.15 else slot.changes
        found = [(new, said) for old, new, said in ways if old == value]
        if not found or chance.random() < 0.2:
            found = [(other, said) for other, said in slot.states if other != value]
        value, text = chance.choice(found)
        yield text, value


def conversation(known: Sequence[Slot], name: str, chance: Random, *, again: float = 0.15) -> Conversation:
    """`again`: how often what holds is said once more."""
    chosen = chance.sample(known, SLOTS)
    lines = []
    for slot in chosen:
        own = [(slot, *beat) for beat in told(slot, chance, again)]
        for text in (*(said for _, said in chance.sample(slot.not_now, 3)), chance.choice(slot.neighbours)):
            own.insert(chance.randint(0, len(own)), (slot, text, ""))
        lines.append(own)
    lines.append([(chosen[0], text, "") for text in chance.sample(CHAT, 8)])
    turns: list[Said] = []
    values: dict[str, list[tuple[str, int]]] = {}
    at = datetime(2026, 1, 5, 9, tzinfo=UTC)
    while any(lines):
        slot, text, value = chance.choice([line for line in lines if line]).pop(0)
        if value:
            values.setdefault(slot.name, []).append((value, len(turns)))
        at += timedelta(hours=chance.randrange(1, 60))
        turns += [Said(at, "user", "user", text), Said(at + timedelta(seconds=9), "assistant", "assistant", "Okay.")]
    questions = []
    for slot in chosen:
        *stale, (current, turn) = values[slot.name]
        asked = chance.choice(slot.questions)
        when = at + timedelta(days=1)
        questions.append(Question(asked, when, slot.name, current, turn, tuple(stale), None, None, "user"))
    return Conversation(name, 0, tuple(turns), tuple(questions))


def conversations(data: Path, name: str, count: int, seed: int) -> list[Conversation]:
    if name.startswith("stories/"):
        return [one.conversation for one in stories.read(data / f"{name}.jsonl")[:count]]
    path = data / f"{name}.json"
    if path.exists():
        return list(families.conversations(families.family(path), count, seed))
    known = slots(path.with_suffix(".jsonl"))
    return [conversation(known, f"written-{number}", Random(f"{seed}.{number}")) for number in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="an author, a family or stories")
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    made = conversations(args.data, args.name, args.count, args.seed)
    with tempfile.TemporaryDirectory() as folder:
        home = args.keep or Path(folder)
        home.mkdir(exist_ok=True)
        report = asyncio.run(evaluated(made, name=args.name, seed=args.seed, home=home))
    print(msgspec.json.encode(report).decode())


if __name__ == "__main__":
    main()
