"""Families: things as one author speaks of them, in patterns with fields, so that values can be put in at will.

Fields: `{v}` the value that is told, or holds; `{old}` one that held before; `{x}` one that never does; `{thing}` what
it is about; `{cause}` why. A field with a capital begins a sentence. Three topics in a row sound alike."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from corpus import NEITHER, REPEATS, REPLACES, Pair, ended

from everthread.evals.conversation import Conversation, Question, Said

ALIKE = 3  # topics in a row that sound alike
NATURAL = 41  # from that family on people speak as they do to an assistant every day; those before are harder to read
TELLING = frozenset(("trouble", "reason", "praise", "asks", "same", "detail", "lookback", "mistaken"))  # if it names
# the present value, such talk tells it: "Draft a mail to our doctor, Dr. Lund."
GENERAL = 0.35  # of what is said, in words that fit any topic
REFERRED = 0.3  # of these, by another name of the thing
CHANGES = (1, 4, 3, 2, 1)  # how often a thing changes: weights of none, one, two ...
FEWEST, MOST = 3, 8  # topics of a conversation
PUT_RIGHT = 0.05  # of the changes, at once and in a few words
AT_ONCE = 1e-5
CORRECTIONS = (
    "Sorry, {v}.", "Sorry, I mean {v}.", "{v}, sorry.", "No, {v}.", "No wait, {v}.", "Wait, no: {v}.", "I meant {v}.",
    "{v}, I meant.", "{v} of course, not {old}.", "*{v}", "Correction: {v}.", "Oops, {v}.",
    "Oops, that should be {v}.", "Scratch that, {v}.", "{v} it should say.", "Not {old}, {v}.",
    "Not {old}, silly me. {v}.", "Erm, {v}.", "Typo, {v}.", "My mistake, it's {v}.", "I misspoke, {v} is right.",
    "Read {v} for {old}.", "Actually {v}.", "Actually, make it {v}.", "Ah no, it's {v}.",
    "I keep mixing them up: {v}.", "{v}! Not {old}.", "Autocorrect. {v}.", "that was wrong, {v}",
    "I take that back: {v}.", "Hm, let me correct myself, {v}.", "Please read that as {v}.", "nope, {v}",
    "{v} rather.", "What am I saying, {v}.", "Just checked, it's {v}.", "I was thinking of something else. {v}.",
    "should be {v} above",
)  # fmt: skip
BARE = 0.35  # of the causes that are told by themselves: nothing but what happened
MIXED = 0.3  # of the messages that have to do with a thing: they say something else as well
TURNS = (  # from one matter to another in the same message
    "", "", "", "Also, ", "Oh, and ", "By the way, ", "btw ", "PS: ", "Unrelated: ", "Another thing: ",
    "And something else. ",
    "Different topic: ", "Before I forget: ", "Besides, ", "One more thing. ", "Apart from that, ", "While I'm here: ",
    "Now my question: ", "Anyway, ", "Ok. ", "That aside, ", "Next: ", "What I wanted to ask: ", "Just so you know, ",
)  # fmt: skip


@dataclass(frozen=True)
class Family:
    name: str
    topics: tuple[Topic, ...]
    phrases: Mapping[str, Any]


@dataclass(frozen=True)
class Topic:
    """A thing, and what its author has people say of it."""

    at: int
    own: Mapping[str, Any]
    shared: Mapping[str, Any]  # the family's phrases

    def values(self, chance: Random, count: int) -> list[str]:
        return chance.sample(self.own["values"], count)

    def told(self, how: str, value: str, old: str, chance: Random) -> str:
        """A value is told: for the first time, as a change, again, or as one that held before."""
        text = self._said(chance.choice(self._ways(how, chance)), chance, v=value, old=old)
        if how in ("change", "back") and chance.random() < 0.2:
            way = chance.choice(self.shared["with_cause"])
            text = self._said(
                way, chance, change=ended(text), cause=chance.choice(self.own["causes"]), v=value, old=old
            )
        return self._beside(text, chance)

    def put_right(self, value: str, old: str, chance: Random) -> str:
        return self._said(chance.choice(CORRECTIONS), chance, v=value, old=old)

    def idle(self, kind: str, value: str, old: str, never: str, chance: Random) -> tuple[str, bool]:
        """Talk of it that is not meant to tell anything; and whether it tells the present value all the same."""
        if kind in ("before", "after"):
            way = "{Cause}." if chance.random() < BARE else chance.choice(self.shared[kind])
            text = self._said(way, chance, cause=chance.choice(self.own["causes"]))
        else:
            way = chance.choice((self.shared["idle"] if chance.random() < GENERAL else self.own["idle"])[kind])
            text = self._said(way, chance, v=value, old=old, x=never)
        return self._beside(text, chance), kind in TELLING and "{v}" in way.casefold()

    def never(self, chance: Random) -> str:
        return chance.choice(self.own["never"])

    def kinds(self) -> list[str]:
        """Of idle talk; those with more ways to say them more often."""
        return [*(kind for kind, ways in self.own["idle"].items() for _ in ways), *["before", "after"] * 3]

    def _ways(self, how: str, chance: Random) -> Sequence[str]:
        return (self.shared if chance.random() < GENERAL else self.own)[how]

    def _said(self, way: str, chance: Random, **fields: str) -> str:
        thing = chance.choice(self.own["also"]) if chance.random() < REFERRED else self.own["thing"]
        fields = {"thing": thing, **fields}
        capital = {name.capitalize(): text[:1].upper() + text[1:] for name, text in fields.items()}
        return way.format(**fields, **capital)

    def _beside(self, text: str, chance: Random) -> str:
        """Now and then with a word before or after it, or with something else in the same message."""
        if chance.random() < 0.08:
            text = f"{chance.choice(self.shared['openers'])} {text}"
        if chance.random() < MIXED:
            other, turn = chance.choice(self.shared["chatter"]), chance.choice(TURNS)
            one, two = (text, other) if chance.random() < 0.5 else (other, text)
            return f"{ended(one)} {turn}{two}"
        return f"{ended(text)} {chance.choice(self.shared['closers'])}" if chance.random() < 0.06 else text


def family(path: Path) -> Family:
    given = json.loads(path.read_text())
    phrases = given["phrases"]
    topics = given["topics"]
    return Family(path.stem, tuple(Topic(at, shared_values(topics, at), phrases) for at in range(len(topics))), phrases)


def shared_values(topics: Sequence[Mapping[str, Any]], at: int) -> Mapping[str, Any]:
    """A topic, also with the values of those beside it that share one with it: what could be the value of each tells
    nothing about which of them is meant."""
    own = topics[at]
    first = at - at % ALIKE
    beside = [one["values"] for one in topics[first : first + ALIKE] if set(one["values"]) & set(own["values"])]
    theirs = [value for some in beside for value in some if value not in own["never"]]
    return {**own, "values": list(dict.fromkeys([*own["values"], *theirs]))}


def pairs(own: Topic, all_of: Family, chance: Random) -> list[Pair]:
    """Some pairs of one topic, others each time."""
    like = [one for one in all_of.topics if one.at // ALIKE == own.at // ALIKE and one is not own]
    return [*together(own, chance), *apart(own, like, all_of, chance)]


def together(own: Topic, chance: Random) -> Iterator[Pair]:
    for _ in range(5):
        before, old, new = own.values(chance, 3)
        earlier = own.told(chance.choice(("first", "change", "change", "again")), old, before, chance)
        how = chance.choices(("change", "first", "back"), (8, 1, 1.5))[0]
        held = old if chance.random() < 0.8 else before
        yield earlier, own.told(how, new, held, chance), REPLACES, "change"
    old, value = own.values(chance, 2)
    if chance.random() < PUT_RIGHT * 4:
        yield own.told("first", old, value, chance), own.put_right(value, old, chance), REPLACES, "change"
    how = chance.choice(("again", "again", "change", "first"))
    earlier = own.told(chance.choice(("first", "change")), value, old, chance)
    yield earlier, own.told(how, value, old, chance), REPEATS, "again"


def apart(own: Topic, like: Sequence[Topic], all_of: Family, chance: Random) -> Iterator[Pair]:
    def value(topic: Topic = own) -> str:
        before, old = topic.values(chance, 2)
        return topic.told(chance.choice(("first", "change", "change", "back")), old, before, chance)

    def idle(kind: str, topic: Topic = own) -> tuple[str, bool]:
        holds, old, other = topic.values(chance, 3)
        return topic.idle(kind, holds, old, topic.never(chance) if chance.random() < 0.75 else other, chance)

    for kind in chance.sample(own.kinds(), 7):
        holds, old, other = own.values(chance, 3)
        told = own.told(chance.choice(("first", "change", "change", "again")), holds, old, chance)
        never = own.never(chance) if chance.random() < 0.75 else other
        text, tells = own.idle(kind, holds, old, never, chance)
        yield (told, text, REPEATS, "again") if tells else (told, text, NEITHER, kind)
    for kind in chance.sample(own.kinds(), 3):
        text, tells = idle(kind)
        if not tells:
            yield text, value(), NEITHER, "state"
    one, other = chance.sample(own.kinds(), 2)
    (text, tells), (second, too) = idle(one), idle(other)
    if not (tells and too):
        yield text, second, NEITHER, other
    for topic in (*like, *like, *chance.sample(all_of.topics, 3)):
        if topic is not own:
            yield value(), value(topic), NEITHER, "neighbour"
    kind = chance.choice(own.kinds())
    if chance.random() < 0.5:
        yield value(), idle(kind, chance.choice(like))[0], NEITHER, kind
    if chance.random() < 0.3:
        yield value(), chance.choice(all_of.phrases["chatter"]), NEITHER, "chat"


def conversations(of: Family, count: int, seed: int) -> Iterator[Conversation]:
    """Made up, with what is true; the same for the same seed."""
    for number in range(count):
        yield conversation(of, f"{of.name}-{seed}-{number}", Random(f"{seed}.{number}"))


@dataclass(frozen=True)
class Line:
    """What somebody says, in order of time: the thing whose value it tells, by its number, and that value."""

    at: float
    text: str
    thing: int = -1
    value: str = ""
    again: bool = False  # it was told before, and has not changed since


def talk(of: Family, chance: Random, *, hard: bool = False) -> tuple[list[Topic], list[Line]]:
    """What a conversation is about, and what is said in it. A hard one is about things that sound alike, and has more
    idle talk."""
    chosen = chance.sample(of.topics, chance.randint(FEWEST, MOST))
    beside = [one for one in of.topics if one.at // ALIKE == chosen[0].at // ALIKE and one not in chosen]
    if beside and (hard or chance.random() < 0.6):
        chosen[-1:] = beside if hard else beside[:1]
    lines = [
        Line(at, text, number if value else -1, value, again)
        for number, topic in enumerate(chosen)
        for at, text, value, again in story(topic, chance, idle=6 if hard else 4)
    ]
    chatter = chance.sample(of.phrases["chatter"], min(len(of.phrases["chatter"]), 40, 2 + len(lines) // 2))
    lines += [Line(chance.random(), text) for text in chatter]
    return chosen, sorted(lines, key=lambda line: line.at)


def conversation(of: Family, name: str, chance: Random) -> Conversation:
    chosen, lines = talk(of, chance)
    at = datetime(2025, 2, 3, 8, tzinfo=UTC)
    turns: list[Said] = []
    values: dict[int, list[tuple[str, int]]] = {}
    for line in lines:
        at += timedelta(hours=chance.randrange(1, 120))
        if line.value and not line.again:
            values.setdefault(line.thing, []).append((line.value, len(turns)))
        turns += [
            Said(at, "user", "user", line.text),
            Said(at + timedelta(seconds=9), "assistant", "assistant", "Okay."),
        ]
    questions = []
    for number, topic in enumerate(chosen):
        *stale, (current, turn) = values[number]
        asked = chance.choice(topic.own["questions"])
        when = at + timedelta(days=2)
        questions.append(Question(asked, when, topic.own["key"], current, turn, tuple(stale), None, None, "user"))
    return Conversation(name, 0, tuple(turns), tuple(questions))


def story(topic: Topic, chance: Random, *, idle: int) -> Iterator[tuple[float, str, str, bool]]:
    """What is said of one thing: between the beginning (0) and the end (1), what, the value if it tells one, and
    whether it had told it before."""
    changes = chance.choices(range(len(CHANGES)), CHANGES)[0]
    values = topic.values(chance, changes + 1)
    if changes > 1 and chance.random() < 0.25:
        values[-1] = values[-3]
    times = sorted(chance.random() for _ in values)
    put_right = {at for at in range(1, len(values)) if values[at] not in values[:at] and chance.random() < PUT_RIGHT}
    for number in sorted(put_right):
        times[number] = times[number - 1] + AT_ONCE
    for number, (at, value) in enumerate(zip(times, values, strict=True)):
        old = values[number - 1]
        how = "first" if not number else "back" if value in values[:number] else "change"
        if number in put_right:
            yield at, topic.put_right(value, old, chance), value, False
            continue
        yield at, topic.told(how, value, old, chance), value, False
        if chance.random() < 0.12:
            until = times[number + 1] if number + 1 < len(times) else 1.0
            yield at + (until - at) * chance.random(), topic.told("again", value, old, chance), value, True
        if number and chance.random() < 0.25:
            yield at - 0.01, topic.idle("before", old, old, "", chance)[0], "", False
        if number and chance.random() < 0.25:
            yield at + 0.01, topic.idle("after", value, old, "", chance)[0], "", False
    for kind in chance.sample(topic.kinds(), chance.randint(1, idle)):
        at = times[0] + (1 - times[0]) * chance.random()
        held = [value for when, value in zip(times, values, strict=True) if when <= at]
        if kind != "lookback" or len(set(held)) > 1:
            old = next((one for one in reversed(held) if one != held[-1]), held[-1])
            text, tells = topic.idle(kind, held[-1], old, topic.never(chance), chance)
            yield at, text, held[-1] if tells else "", tells
