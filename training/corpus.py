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

Pair = tuple[str, str, int, str]  # an earlier statement, a later one, what it does, and the kind of talk it is

KINDS = {
    "state": 0, "first": 0, "change": 1, "back": 1, "again": 2,
    "idea": 3, "hypothetical": 3, "musing": 3, "plan": 4, "undecided": 4, "question": 5, "asks": 5, "refused": 6,
    "other": 7, "others": 7, "past": 8, "longago": 8, "lookback": 8, "rumour": 9, "mistake": 9, "mistaken": 9,
    "complaint": 10, "trouble": 10, "before": 10, "praise": 10, "reason": 11, "after": 11, "detail": 12, "same": 13,
    "neighbour": 14, "chat": 15,
}  # fmt: skip
UNKNOWN = -100  # as torch leaves it out


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
    return [(around(one, beside, chance), around(other, beside, chance), what, kind) for one, other, what, kind in made]


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
            yield chance.choice(held), text, REPLACES, "change"
        elif kind < 0.74:
            old, _, text = chance.choice(own.refers)
            if held := [said for value, said in telling if value == old]:
                yield chance.choice(held), text, REPLACES, "change"
        else:
            new, text = chance.choice(telling)
            yield chance.choice([said for value, said in telling if value != new]), text, REPLACES, "change"
    value, text = chance.choice(own.again) if chance.random() < 0.6 else chance.choice(telling)
    if same := [said for other, said in telling if other == value and said != text]:
        yield chance.choice(same), text, REPEATS, "again"


def apart(own: Slot, like: Sequence[Slot], chance: Random) -> Iterator[Pair]:
    """A value of it and talk that tells none; a value of it and one of something else; and neither."""

    def told(slot: Slot = own) -> str:
        return chance.choice(slot.telling)[1]

    for number, (kind, text) in enumerate(chance.choices(own.not_now, k=7)):
        yield (told(), text, NEITHER, kind) if number < 4 else (text, told(), NEITHER, "state")
    for text in chance.sample(own.neighbours, 3):
        one, other = (told(), text) if chance.random() < 0.6 else (text, told())
        yield one, other, NEITHER, "neighbour"
    for slot in chance.sample(like, min(2, len(like))):
        one, other = (told(), told(slot)) if chance.random() < 0.5 else (told(slot), told())
        yield one, other, NEITHER, "neighbour"
    (_, idle_one), (kind, other_idle) = chance.sample(own.not_now, 2)
    strange, talk = chance.choice(chance.choice(like).not_now)
    rarely: list[tuple[float, tuple[str, str, str]]] = [
        (0.5, (*chance.sample(own.neighbours, 2), "neighbour")),
        (0.6, (idle_one, other_idle, kind)),
        (0.4, (told(), talk, strange)),
        (0.25, (told(), chance.choice(CHAT), "chat")),
        (0.25, (told(), chance.choice(own.questions), "question")),
    ]
    yield from ((one, other, NEITHER, kind) for often, (one, other, kind) in rarely if chance.random() < often)


def around(text: str, beside: Sequence[Slot], chance: Random) -> str:
    """Now and then with other talk in the same message."""
    if len(text.split()) > SHORT or chance.random() > 0.18:
        return text
    other = chance.choice((chance.choice(CHAT), chance.choice(CHAT), chance.choice(chance.choice(beside).not_now)[1]))
    return f"{other} {text}" if chance.random() < 0.5 else f"{ended(text)} {other}"


def ended(text: str) -> str:
    return text if text[-1:] in ".!?" else f"{text}."
