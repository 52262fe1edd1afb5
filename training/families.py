"""Families: things as one author speaks of them, in patterns with fields, so that values can be put in at will.

Fields: `{v}` the value that is told, or holds; `{old}` one that held before; `{x}` one that never does; `{thing}` what
it is about; `{cause}` why. A field with a capital begins a sentence. Three topics in a row sound alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from corpus import NEITHER, REPEATS, REPLACES, Pair, ended

from everthread.evals.conversation import Conversation, Question, Said
from everthread.memory.weigh import is_mine

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
OURS = re.compile(r"\b(?:we|us|our|ours|ourselves|team|every(?:one|body))\b", re.IGNORECASE)
BARE = 0.35  # of the causes that are told by themselves: nothing but what happened
MIXED = 0.5  # of the messages that have to do with a thing: they say something else as well
GREETED, ENDED = 0.12, 0.06  # of the messages: they begin, and end, with words about nothing
IN_A_GROUP = 0.3  # of the conversations: several people speak
TWO_OWNERS = 0.4  # of what is personal there: two of them have one
OTHER_TALK = (2, 2, 1.5, 3, 3)  # how often each kind of talk stands by itself
BESIDE_TALK = (3, 2, 1.5, 2, 1)  # ... and in one message with a thing
NAMES = (
    "Ada", "Alex", "Amir", "Anna", "Ben", "Bianca", "Carlos", "Chen", "Clara", "Dana", "David", "Elif", "Emma", "Farid",
    "Finn", "Gina", "Hugo", "Ida", "Ines", "Ivan", "Jack", "Jana", "Joe", "Kai", "Kim", "Laura", "Leo", "Lin", "Lukas",
    "Maria", "Mark", "Maya", "Mia", "Mike", "Nadia", "Noah", "Olga", "Pablo", "Paula", "Pedro", "Rita", "Rosa", "Sam",
    "Sara", "Sofia", "Tariq", "Theo", "Tom", "Uma", "Vera", "Will", "Yara", "Yusuf", "Zoe",
)  # fmt: skip


def is_personal(text: str) -> bool:
    """Whether it speaks of one person alone: of "me", and not of "us"."""
    return is_mine(text) and OURS.search(text) is None


@dataclass(frozen=True)
class Talk:
    """What people say that tells nothing of theirs."""

    kinds: tuple[Sequence[str], ...]  # requests, short to long; remarks; what names a value and is nobody's
    openers: Sequence[str]
    turns: Sequence[str]  # from one matter to another in the same message
    closers: Sequence[str]

    def some(self, chance: Random) -> Talk:
        """Of one conversation: people repeat themselves."""

        def few(of: Sequence[str], most: int) -> list[str]:
            return chance.sample(of, min(len(of), most))

        kinds = tuple(few(kind, 25) for kind in self.kinds)
        return Talk(kinds, few(self.openers, 8), few(self.turns, 12), few(self.closers, 6))

    def other(self, chance: Random) -> str:
        """A message that has to do with nothing."""
        text = chance.choice(chance.choices(self.kinds, OTHER_TALK)[0])
        if chance.random() < MIXED / 2:
            text = self._joined(text, chance.choice(chance.choice(self.kinds)), chance)
        return self._framed(text, chance)

    def beside(self, text: str, chance: Random) -> str:
        """Often with something else in the same message, before or after it."""
        if chance.random() < MIXED:
            other = chance.choice(chance.choices(self.kinds, BESIDE_TALK)[0])
            text = self._joined(*((text, other) if chance.random() < 0.5 else (other, text)), chance)
        return self._framed(text, chance)

    def _joined(self, one: str, other: str, chance: Random) -> str:
        turn = chance.choice(self.turns) if chance.random() < 0.7 else ""
        return f"{ended(one)} {turn.strip()} {other}" if turn else f"{ended(one)} {other}"

    def _framed(self, text: str, chance: Random) -> str:
        text = f"{chance.choice(self.openers)} {text}" if chance.random() < GREETED else text
        return f"{ended(text)} {chance.choice(self.closers)}" if chance.random() < ENDED else text


@cache
def all_talk(folder: Path) -> Talk:
    """Of all who wrote some."""
    given = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]

    def of(name: str) -> list[str]:
        return [text for one in given for text in one[name]]

    kinds = ("requests_short", "requests_medium", "requests_long", "passing", "with_values")
    return Talk(tuple(map(of, kinds)), of("openers"), of("turns"), of("closers"))


@dataclass(frozen=True)
class Family:
    name: str
    topics: tuple[Topic, ...]
    phrases: Mapping[str, Any]
    talk: Talk


@dataclass(frozen=True)
class Topic:
    """A thing, and what its author has people say of it."""

    at: int
    own: Mapping[str, Any]
    shared: Mapping[str, Any]  # the family's phrases
    talk: Talk

    @property
    def personal(self) -> bool:
        """Whether each has one of their own: "the car I drive", but not "the vet of our farm"."""
        return is_personal(self.own["thing"])

    def owners(self, people: Sequence[str], chance: Random) -> list[str]:
        """Of a group: those who have one each, or "" for what they share and anybody may speak of."""
        ways = [*self.own["first"], *self.own["change"]]
        alone = self.personal or sum(map(is_personal, ways)) > len(ways) / 2
        two = self.personal and len(people) > 1 and chance.random() < TWO_OWNERS
        return chance.sample(people, 2 if two else 1) if alone else [""]

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
        return self.talk.beside(text, chance)

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
        return self.talk.beside(text, chance), kind in TELLING and "{v}" in way.casefold()

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


def family(path: Path) -> Family:
    given = json.loads(path.read_text())
    phrases = given["phrases"]
    topics, talk = given["topics"], all_talk(path.parent / "talk")
    made = tuple(Topic(at, shared_values(topics, at), phrases, talk) for at in range(len(topics)))
    return Family(path.stem, made, phrases, talk)


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
        yield value(), all_of.talk.other(chance), NEITHER, "chat"


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
    speaker: str = "user"


def talk(of: Family, chance: Random, *, hard: bool = False) -> tuple[list[Topic], list[Line]]:
    """What a conversation is about, and what is said in it. A hard one is about things that sound alike, and has more
    idle talk."""
    heard = of.talk.some(chance)
    chosen = [replace(topic, talk=heard) for topic in chance.sample(of.topics, chance.randint(FEWEST, MOST))]
    beside = [replace(one, talk=heard) for one in of.topics if one.at // ALIKE == chosen[0].at // ALIKE]
    beside = [one for one in beside if one not in chosen]
    if beside and (hard or chance.random() < 0.6):
        chosen[-1:] = beside if hard else beside[:1]
    people = chance.sample(NAMES, chance.randint(2, 4)) if chance.random() < IN_A_GROUP else ["user"]
    told = [(topic, owner) for topic in chosen for owner in topic.owners(people, chance)]
    lines = [
        Line(at, text, number if value else -1, value, again, owner or chance.choice(people))
        for number, (topic, owner) in enumerate(told)
        for at, text, value, again in story(topic, chance, idle=6 if hard else 4)
    ]
    if people[0] != "user":
        lines = put_right_by_themselves(lines)
    lines += [
        Line(chance.random(), heard.other(chance), speaker=chance.choice(people))
        for _ in range(min(40, 2 + len(lines) // 2))
    ]
    own = chance.sample(of.phrases["chatter"], min(len(of.phrases["chatter"]), 3 + len(lines) // 8))
    lines += [Line(chance.random(), text, speaker=chance.choice(people)) for text in own]
    return [topic for topic, _ in told], sorted(lines, key=lambda line: line.at)


def put_right_by_themselves(lines: Sequence[Line]) -> list[Line]:
    """Whoever made a slip corrects it."""
    made: list[Line] = []
    for line in lines:
        slip = next((one for one in made if 0 < line.at - one.at <= AT_ONCE and line.thing == one.thing >= 0), None)
        made.append(replace(line, speaker=slip.speaker) if slip else line)
    return made


def conversation(of: Family, name: str, chance: Random) -> Conversation:
    chosen, lines = talk(of, chance)
    at = datetime(2025, 2, 3, 8, tzinfo=UTC)
    turns: list[Said] = []
    values: dict[int, list[tuple[str, int]]] = {}
    asks: dict[int, str] = {}
    for line in lines:
        at += timedelta(hours=chance.randrange(1, 120))
        if line.value and not line.again:
            values.setdefault(line.thing, []).append((line.value, len(turns)))
            asks.setdefault(line.thing, line.speaker)
        turns += [
            Said(at, line.speaker, "user", line.text),
            Said(at + timedelta(seconds=9), "assistant", "assistant", "Okay."),
        ]
    questions = []
    for number, topic in enumerate(chosen):
        *stale, (current, turn) = values[number]
        asked = chance.choice(topic.own["questions"])
        when = at + timedelta(days=2)
        subject = f"{topic.own['key']} of {asks[number]}" if topic.personal else topic.own["key"]
        questions.append(Question(asked, when, subject, current, turn, tuple(stale), None, None, asks[number]))
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
