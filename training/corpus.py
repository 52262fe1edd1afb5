"""Slots as their authors wrote them, and the examples that are drawn from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

UNCLEAR = {"other", "detail"}  # they tell a state, though not the slot's: nothing is learned of them by themselves
CHAT = (
    "Thanks, that helps.", "Good morning!", "What a day.", "Sorry for the typos, I'm on my phone.", "Anyway.",
    "The weather is awful here.", "I slept badly.", "Can you help me with something?", "Quick one before lunch.",
    "Just so you know.", "Long week.", "That recipe from yesterday worked, by the way.", "Ok, different topic.",
    "I'm waiting for the bus.", "Let me know what you think.", "How are you?", "Hope that makes sense.",
    "Coffee first.", "No rush.", "Ha, you were right about the film.", "Before I forget:", "So, news.",
    "Write me a short poem about autumn.", "What's the capital of Mongolia?", "Could you fix the commas in my letter?",
    "I need three ideas for a birthday present.", "Explain how tides work, please.", "Perfect, thank you!",
)  # fmt: skip


@dataclass(frozen=True)
class Slot:
    """One thing that has one value at a time."""

    author: str
    name: str
    questions: tuple[str, ...]
    states: tuple[tuple[str, str], ...]  # value, message
    changes: tuple[tuple[str, str, str], ...]  # old value, new value, message
    refers: tuple[tuple[str, str, str], ...]
    again: tuple[tuple[str, str], ...]
    not_now: tuple[tuple[str, str], ...]  # kind, message
    neighbours: tuple[str, ...]

    @property
    def telling(self) -> list[tuple[str, str]]:
        """Every message that tells a value."""
        changed = [(new, text) for _, new, text in (*self.changes, *self.refers)]
        return [*self.states, *changed, *self.again]

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.telling]


@dataclass(frozen=True)
class Example:
    """A message: what it is about, if it tells a value of it; which one; and whether it tells how things are."""

    text: str
    matter: int = -1  # number of the slot in its batch; -1: none of them
    value: str = ""
    tells: int = -1  # -1: nothing is learned of that


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


def examples(chosen: Sequence[Slot], chance: Random) -> list[Example]:
    """Some messages of each of an author's slots, others each time; and what belongs to none."""
    found: list[Example] = []
    for number, slot in enumerate(chosen):
        changed = [(new, text) for _, new, text in slot.changes]
        plain = chance.sample(slot.states, 2)
        for value, text in (*plain, *chance.sample(changed, 2), *chance.sample(slot.again, chance.randint(0, 1))):
            found.append(Example(around(text, slot, chosen, chance), number, value, 1))
        found.append(Example(chance.choice(slot.neighbours), tells=1))
        for kind, text in chance.sample(slot.not_now, 2):
            found.append(Example(text, tells=-1 if kind in UNCLEAR else 0))
        if chance.random() < 0.3:
            found.append(Example(chance.choice(slot.refers)[2], tells=1))
    asked = [Example(chance.choice(chance.choice(chosen).questions), tells=0) for _ in range(2)]
    return [*found, *asked, *(Example(text, tells=0) for text in chance.sample(CHAT, 2))]


def around(text: str, own: Slot, chosen: Sequence[Slot], chance: Random) -> str:
    """Now and then with other talk in the same message."""
    if len(text.split()) > 25 or chance.random() > 0.15:
        return text
    other = chance.choice([slot for slot in chosen if slot is not own])
    beside = chance.choice((chance.choice(CHAT), chance.choice(CHAT), chance.choice(other.not_now)[1]))
    return f"{beside} {text}" if chance.random() < 0.5 else f"{ended(text)} {beside}"


def ended(text: str) -> str:
    return text if text[-1:] in ".!?" else f"{text}."
