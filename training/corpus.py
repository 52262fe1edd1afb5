"""Slots as their authors wrote them, and the pairs of statements that are drawn from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

NEITHER, REPLACES, REPEATS = range(3)  # what a later statement does to an earlier one
SHORT = 28  # words of a message that other talk is put beside now and then
CHAT = (
    "Thanks, that helps.", "Good morning!", "What a day.", "Sorry for the typos, I'm on my phone.", "Anyway.",
    "The weather is awful here.", "I slept badly.", "Can you help me with something?", "Quick one before lunch.",
    "Just so you know.", "Long week.", "That recipe from yesterday worked, by the way.", "Ok, different topic.",
    "I'm waiting for the bus.", "Let me know what you think.", "How are you?", "Hope that makes sense.",
    "Coffee first.", "No rush.", "Ha, you were right about the film.", "Before I forget:", "So, news.",
    "Write me a short poem about autumn.", "What's the capital of Mongolia?", "Could you fix the commas in my letter?",
    "I need three ideas for a birthday present.", "Explain how tides work, please.", "Perfect, thank you!",
)  # fmt: skip

Pair = tuple[str, str, int]  # an earlier statement, a later one, and what it does


@dataclass(frozen=True)
class Slot:
    """One thing that has one value at a time."""

    author: str
    name: str
    questions: tuple[str, ...]
    states: tuple[tuple[str, str], ...]  # value, message
    changes: tuple[tuple[str, str, str], ...]  # old value, new value, message
    refers: tuple[tuple[str, str, str], ...]  # the same, but the message does not name the thing
    again: tuple[tuple[str, str], ...]
    not_now: tuple[tuple[str, str], ...]  # kind, message
    neighbours: tuple[str, ...]

    @property
    def telling(self) -> list[tuple[str, str]]:
        """Every message that tells a value and what it is of."""
        return [*self.states, *((new, text) for _, new, text in self.changes), *self.again]


def slots(path: Path) -> list[Slot]:
    return [slot(path.stem, json.loads(line)) for line in path.read_text().splitlines() if line.strip()]


def slot(author: str, raw: dict[str, Any]) -> Slot:
    return Slot(
        author,
        raw["slot"],
        tuple(raw["questions"]),
        tuple((value, text) for value, texts in raw["states"] for text in texts),
        tuple((old, new, text) for old, new, texts in raw["changes"] for text in texts),
        tuple((old, new, text) for old, new, texts in raw["refers"] for text in texts),
        tuple((value, text) for value, texts in raw["again"] for text in texts),
        tuple((kind, text) for kind, text in raw["not_now"]),
        tuple(raw["neighbours"]),
    )


def pairs(own: Slot, like: Sequence[Slot], beside: Sequence[Slot], chance: Random) -> list[Pair]:
    """Some pairs of one slot, others each time; `like` are those of its author that sound like it, `beside` all."""
    made = [*together(own, chance), *apart(own, like, chance)]
    return [(around(one, beside, chance), around(other, beside, chance), what) for one, other, what in made]


def together(own: Slot, chance: Random) -> Iterator[Pair]:
    """Two that tell a value of it."""
    telling = own.telling
    for _ in range(4):
        kind = chance.random()
        if kind < 0.62:
            old, new, text = chance.choice(own.changes)
            held = [said for value, said in telling if value == old]
            if not held or chance.random() < 0.3:
                held = [said for value, said in telling if value != new]
            yield chance.choice(held), text, REPLACES
        elif kind < 0.74:
            old, _, text = chance.choice(own.refers)
            if held := [said for value, said in telling if value == old]:
                yield chance.choice(held), text, REPLACES
        else:
            new, text = chance.choice(telling)
            yield chance.choice([said for value, said in telling if value != new]), text, REPLACES
    value, text = chance.choice(own.again) if chance.random() < 0.6 else chance.choice(telling)
    if same := [said for other, said in telling if other == value and said != text]:
        yield chance.choice(same), text, REPEATS


def apart(own: Slot, like: Sequence[Slot], chance: Random) -> Iterator[Pair]:
    """A value of it and talk that tells none; a value of it and one of something else; and neither."""

    def told(slot: Slot = own) -> str:
        return chance.choice(slot.telling)[1]

    def idle(slot: Slot = own) -> str:
        return chance.choice(slot.not_now)[1]

    for number in range(7):
        yield (told(), idle(), NEITHER) if number < 4 else (idle(), told(), NEITHER)
    for text in chance.sample(own.neighbours, 3):
        yield (told(), text, NEITHER) if chance.random() < 0.6 else (text, told(), NEITHER)
    for other in chance.sample(like, min(2, len(like))):
        yield (told(), told(other), NEITHER) if chance.random() < 0.5 else (told(other), told(), NEITHER)
    one, other_one = chance.sample(own.neighbours, 2)
    (_, idle_one), (_, other_idle) = chance.sample(own.not_now, 2)
    rarely = [
        (0.5, (one, other_one)),
        (0.6, (idle_one, other_idle)),
        (0.4, (told(), idle(chance.choice(like)))),
        (0.25, (told(), chance.choice(CHAT))),
        (0.25, (told(), chance.choice(own.questions))),
    ]
    yield from ((*texts, NEITHER) for often, texts in rarely if chance.random() < often)


def around(text: str, beside: Sequence[Slot], chance: Random) -> str:
    """Now and then with other talk in the same message."""
    if len(text.split()) > SHORT or chance.random() > 0.18:
        return text
    other = chance.choice((chance.choice(CHAT), chance.choice(CHAT), chance.choice(chance.choice(beside).not_now)[1]))
    return f"{other} {text}" if chance.random() < 0.5 else f"{ended(text)} {other}"


def ended(text: str) -> str:
    return text if text[-1:] in ".!?" else f"{text}."
