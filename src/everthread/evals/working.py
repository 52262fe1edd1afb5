"""Conversations to write the memory's rules by: facts that change one to four times among other talk.

`conversations(count, seed)` makes them of what `working_topics` and `working_phrases` hold; the held-out half
(`working_heldout`) has other topics and other phrases, and rules are not written by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Literal

from everthread.evals.conversation import Conversation, Question, Role, Said

Sort = Literal["time", "thing", "person", "place", "amount"]
Voice = Literal["plain", "terse", "chatty", "formal"]


@dataclass(frozen=True, slots=True)
class Topic:
    """Something that has one value at a time: "{np} {be} {value}" is a sentence."""

    sort: Sort
    np: str
    be: str
    values: tuple[str, ...]
    question: str
    firsts: tuple[str, ...]  # with {v}
    changes: tuple[str, ...]  # with {new}, perhaps {old}
    causes: tuple[str, ...]
    near: tuple[str, ...]  # true beside it, whatever it is


@dataclass(frozen=True, slots=True)
class Phrases:
    """Ways to say things of any topic."""

    firsts: tuple[str, ...]
    changes: tuple[tuple[str, str], ...]  # for which sorts ("" is all, "back" for a return), and how
    corrections: tuple[str, ...]  # said right after what they correct
    asides: tuple[str, ...]  # with {np}, {be}, {v}: none of them says that something is so
    chat: tuple[str, ...]
    replies: tuple[str, ...]
    openings: tuple[str, ...]
    closings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Family:
    topics: tuple[Topic, ...]
    phrases: Phrases


@dataclass(slots=True)
class Beat:
    """Something that is said, and what it changes."""

    text: str
    speaker: str
    fact: int = -1
    value: str = ""
    cause: str | None = None
    cause_before: bool = False
    glued: bool = False


def topic(
    sort: Sort, np: str, be: str, values: str, question: str, *, firsts: str, changes: str, causes: str, near: str
) -> Topic:
    return Topic(
        sort,
        np,
        be,
        tuple(values.split("|")),
        question,
        tuple(firsts.split("|")),
        tuple(changes.split("|")),
        tuple(causes.split("|")),
        tuple(near.split("|")),
    )


def conversations(family: Family, count: int, seed: int) -> Iterator[Conversation]:
    for number in range(count):
        yield Maker(family, Random(f"{seed}.{number}"), f"working-{seed}-{number}", seed).conversation()  # noqa: S311


class Maker:
    """Makes one conversation."""

    def __init__(self, family: Family, chance: Random, name: str, seed: int) -> None:
        self.family, self.chance, self.name, self.seed = family, chance, name, seed
        self.voice: Voice = chance.choice(["plain", "plain", "terse", "chatty", "formal"])

    def conversation(self) -> Conversation:
        chance = self.chance
        group = chance.random() < 0.2
        speakers = ["user", "user"] if not group else ["Mira", "Jonas"]
        topics = chance.sample(self.family.topics, chance.randint(3, 5))
        owners = [chance.choice(speakers) for _ in topics]
        if group and (mine := [topic for topic in topics if topic.np.startswith("my ")]):
            topics.append(mine[0])  # the other one has such a thing as well
            owners.append("Jonas" if owners[topics.index(mine[0])] == "Mira" else "Mira")
        told = [list(self.told(number, topic, owners[number])) for number, topic in enumerate(topics)]
        beats = self.merged(told)
        turns, places = self.spoken(beats, topics, speakers)
        return Conversation(
            self.name, self.seed, tuple(turns), tuple(self.questions(topics, owners, beats, places, turns))
        )

    def told(self, number: int, topic: Topic, speaker: str) -> Iterator[Beat]:
        """A fact and its changes."""
        chance, phrases = self.chance, self.family.phrases
        times = chance.choices([1, 2, 3, 4], [4, 3, 2, 1])[0]
        value = chance.choice(topic.values)
        first = chance.choice(topic.firsts if chance.random() < 0.5 else phrases.firsts)
        yield Beat(self.styled(self.filled(first, topic, v=value)), speaker, number, value)
        seen = [value]
        for _ in range(times):
            back = [other for other in seen[:-1] if other != seen[-1]]
            if back and chance.random() < 0.3:
                new = chance.choice(back)
                ways = [way for sorts, way in phrases.changes if "back" in sorts]
            else:
                new = chance.choice([other for other in topic.values if other not in seen] or [seen[0]])
                ways = [way for sorts, way in phrases.changes if not sorts or topic.sort in sorts]
                ways = list(topic.changes) if chance.random() < 0.5 else ways
            glued = chance.random() < 0.12
            way = chance.choice(phrases.corrections) if glued else chance.choice(ways)
            text = self.filled(way, topic, old=seen[-1], new=new)
            cause, before = None, False
            if not glued and chance.random() < 0.35:
                cause = chance.choice(topic.causes)
                text, before = self.caused(text, cause)
            yield Beat(text if glued else self.styled(text), speaker, number, new, cause, before, glued)
            seen.append(new)

    def caused(self, text: str, cause: str) -> tuple[str, bool]:
        bare = text.rstrip(".!")
        going_on = bare if bare.startswith("I ") else bare[0].lower() + bare[1:]
        upper = cause[0].upper() + cause[1:]
        match self.chance.randrange(5):
            case 0:
                return f"{bare} because {cause}.", False
            case 1:
                return f"{upper}, so {going_on}.", False
            case 2:
                return f"{bare}. The reason: {cause}.", False
            case 3:
                return f"{upper}. That's why {going_on}.", False
            case _:
                return text, True

    def merged(self, told: list[list[Beat]]) -> list[Beat]:
        """All facts' beats in one order, each fact's own kept; a correction follows what it corrects."""
        beats: list[Beat] = []
        waiting = [list(beats) for beats in told]
        while any(waiting):
            line = self.chance.choice([line for line in waiting if line])
            beats.append(line.pop(0))
            while line and line[0].glued:
                beats.append(line.pop(0))
        return beats

    def spoken(
        self, beats: list[Beat], topics: list[Topic], speakers: list[str]
    ) -> tuple[list[Said], dict[int, tuple[int, int | None]]]:
        """The turns, and for each beat its turn and that of its cause."""
        chance, phrases = self.chance, self.family.phrases
        turns: list[Said] = []
        places: dict[int, tuple[int, int | None]] = {}
        at = datetime(2025, 1, 6, 9, tzinfo=UTC) + timedelta(days=chance.randrange(300))
        last = ""

        def add(speaker: str, text: str, *, echo: str = "") -> int:
            nonlocal at
            at += timedelta(minutes=chance.randrange(1, 30))
            role: Role = "user"
            turns.append(Said(at, speaker, role, text))
            at += timedelta(seconds=20)
            reply = chance.choice(phrases.replies)
            turns.append(
                Said(
                    at, "assistant", "assistant", reply.format(said=echo) if echo else reply.format(said=last or "that")
                )
            )
            return len(turns) - 2

        for number, beat in enumerate(beats):
            if not beat.glued:
                for _ in range(chance.randrange(0, 5)):
                    at += timedelta(days=chance.randrange(0, 6))
                    other = chance.choice(topics)
                    kind = chance.random()
                    if kind < 0.45:
                        add(chance.choice(speakers), chance.choice(phrases.chat))
                    elif kind < 0.75:
                        text = self.filled(chance.choice(phrases.asides), other, v=chance.choice(other.values))
                        add(chance.choice(speakers), text)
                    else:
                        add(chance.choice(speakers), chance.choice(other.near))
                at += timedelta(days=chance.randrange(0, 12))
            why = None
            if beat.cause and beat.cause_before:
                why = add(beat.speaker, f"{beat.cause[0].upper()}{beat.cause[1:]}.")
            last = beat.text.rstrip(".!")
            place = add(beat.speaker, beat.text, echo=last if chance.random() < 0.5 else "")
            places[number] = (place, why if beat.cause_before else place)
        while len(turns) < 30:
            add(chance.choice(speakers), chance.choice(phrases.chat))
        return turns, places

    def questions(
        self,
        topics: list[Topic],
        owners: list[str],
        beats: list[Beat],
        places: dict[int, tuple[int, int | None]],
        turns: list[Said],
    ) -> Iterator[Question]:
        for number, topic in enumerate(topics):
            mine = [(places[at], beat) for at, beat in enumerate(beats) if beat.fact == number]
            (turn, why), latest = mine[-1]
            yield Question(
                topic.question,
                turns[-1].at + timedelta(days=1),
                topic.np,
                latest.value,
                turn,
                tuple((beat.value, place) for (place, _), beat in mine[:-1]),
                latest.cause,
                why if latest.cause else None,
                owners[number],
            )

    def filled(self, way: str, topic: Topic, **values: str) -> str:
        np = topic.np
        who = "I" if np.startswith("my ") else "we"
        text = way.format(
            np=np, Np=np[0].upper() + np[1:], be=topic.be, who=who, Who=who[0].upper() + who[1:], **values
        )
        return text[0].upper() + text[1:] if text[1:2].islower() or text[1:2] == " " else text

    def styled(self, text: str) -> str:
        chance, phrases = self.chance, self.family.phrases
        if self.voice == "terse" and chance.random() < 0.6:
            text = text.rstrip(".")
            return text[0].lower() + text[1:] if text[:2] != "I " and text[1:2].islower() else text
        if self.voice in {"chatty", "plain"} and chance.random() < (0.5 if self.voice == "chatty" else 0.2):
            opening = chance.choice(phrases.openings)
            text = f"{opening} {text}"
        if self.voice != "terse" and chance.random() < 0.3:
            text = f"{text.rstrip('.')}. {chance.choice(phrases.closings)}" if text[-1:] not in "!?" else text
        return text
