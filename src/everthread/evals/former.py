"""Reversal conversations with exact answers, deterministic by seed.

A conversation follows several things over weeks or months. Each thing has a first value and then changes 0 to 4 times.
Around that lie causes (before, with or after the change, or never told), distractors and small talk. What is true is
known by construction, and kept unambiguous:

- a value belongs to one thing, or one distractor, of the conversation and to nothing else (only a return repeats one);
- a change names its thing or the value it ends, and holds from the turn it is told in;
- a distractor says itself that it changes nothing: another owner, an idea, a question, a refusal, a mistake, the past.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from everthread.evals import former_phrases as phrases
from everthread.evals.conversation import Conversation, Question, Said
from everthread.evals.former_topics import EXCLUDES, TOPICS, Topic

_EARLIEST = datetime(2025, 1, 6, 7, 0, tzinfo=UTC)
_GROUP_SHARE = 0.3
_REQUESTS = ("Give me", "Tell me", "I need")
_FEWEST_FACTS = 3
_POINTS_BACK = ("Hence", "so something had", "I complained of", "I mentioned", "that's why", "settled it")
_RETURN_SHARE = 0.25


@dataclass(slots=True)
class _Event:
    """A user turn to come: where it lies between start (0) and end (1), and what is said."""

    at: float
    text: str
    reply: str | None = None
    speaker: str | None = None
    turn: int = -1


@dataclass(slots=True)
class _Fact:
    """A thing with the values it took, each with the event that told it."""

    topic: Topic
    label: str
    told: list[tuple[str, _Event]] = field(default_factory=list)
    cause: tuple[str, _Event] | None = None
    events: list[_Event] = field(default_factory=list)
    question: str = ""


def conversations(count: int, seed: int) -> Iterator[Conversation]:
    """Yields that many conversations; the same seed gives the same ones."""
    for number in range(count):
        own = seed * 1_000_003 + number
        yield _Builder(own).build(f"former-{seed}-{number:04d}")


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _mentions(text: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def _fill(template: str, **fields: str) -> str:
    """Fills a template; each field is also there with a capital."""
    return template.format(**fields, **{_upper(name): _upper(value) for name, value in fields.items()})


def _exclusive(one: str, other: str) -> bool:
    return other in EXCLUDES.get(one, ()) or one in EXCLUDES.get(other, ())


def _spelled(value: str, text: str) -> str:
    """The value the way the text spells it."""
    return value if value in text else _upper(value)


class _Builder:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self._taken: list[str] = []
        self._wordings: set[str] = set()
        self._filler: list[str] = []
        self._main = self._random.choice(phrases.MAIN_NAMES)
        grouped = self._random.random() < _GROUP_SHARE
        self._peer = self._random.choice(phrases.PEER_NAMES) if grouped else None
        self._project, self._other = self._random.sample(phrases.PROJECTS, 2)

    def build(self, name: str) -> Conversation:
        wanted = self._random.randint(15, 60)
        facts = self._facts(wanted)
        events = [event for fact in facts for event in fact.events]
        events += self._chatter(wanted - len(events))
        events.sort(key=lambda event: event.at)
        turns = self._say(events)
        asked = turns[-1].at + timedelta(days=self._random.randint(1, 9), minutes=self._random.randint(0, 300))
        questions = tuple(self._ask(fact, asked) for fact in facts)
        conversation = Conversation(name, self._seed, turns, questions)
        self._check(conversation, facts)
        return conversation

    def _facts(self, wanted: int) -> list[_Fact]:
        facts: list[_Fact] = []
        room = max(12, int(wanted * 0.8))
        for topic in self._random.sample(TOPICS, len(TOPICS)):
            if len(facts) >= 8 or (len(facts) >= _FEWEST_FACTS and room < 4):
                break
            if any(_exclusive(topic.key, fact.topic.key) for fact in facts):
                continue
            fact = self._fact(topic, max(1, room - 3 * max(0, _FEWEST_FACTS - 1 - len(facts))))
            if fact is not None:
                facts.append(fact)
                room -= len(fact.events)
        return facts

    def _fact(self, topic: Topic, room: int) -> _Fact | None:
        changes = min(self._random.choices((0, 1, 2, 3, 4), (15, 35, 25, 15, 10))[0], (room - 1) // 2)
        values = self._values(topic, changes)
        if values is None:
            return None
        fact = _Fact(topic, self._fill(topic.label))
        times = self._times(changes + 1)
        self._tell(fact, times[0], values[0], self._fill(self._pick(topic.states), v=values[0]))
        for index in range(1, len(values)):
            left = room - len(fact.events) - (len(values) - 1 - index)
            self._change(fact, values[: index + 1], times[index - 1 : index + 2], roomy=left > 1)
        for _ in range(min(self._random.choice((0, 1, 1, 2)), (room - len(fact.events)) // 2)):
            self._distract(fact, [*times, 1.0])
        fact.question = self._fill(self._random.choice(topic.questions))
        return fact

    def _values(self, topic: Topic, changes: int) -> list[str] | None:
        """The first value and one for each change, or nothing when too few are left unused."""
        values: list[str] = []
        for index in range(changes + 1):
            if index >= 2 and self._random.random() < _RETURN_SHARE:
                values.append(values[index - 2])
                continue
            value = self._unused(topic)
            if value is None:
                return None
            values.append(value)
        return values

    def _unused(self, topic: Topic) -> str | None:
        for value in self._random.sample(topic.values, len(topic.values)):
            if not any(_mentions(taken, value) or _mentions(value, taken) for taken in self._taken):
                self._taken.append(value)
                return value
        return None

    def _times(self, count: int) -> list[float]:
        """Rising moments, the first one early, none too close to the next."""
        first = self._random.uniform(0.0, 0.3)
        steps = [self._random.uniform(0.4, 1.0) for _ in range(count)]
        scale = (0.97 - first) / sum(steps)
        times = [first]
        for step in steps[:-1]:
            times.append(times[-1] + step * scale)
        return times

    def _tell(self, fact: _Fact, at: float, value: str, text: str) -> None:
        event = _Event(at, text)
        fact.events.append(event)
        fact.told.append((value, event))

    def _change(self, fact: _Fact, values: list[str], times: list[float], *, roomy: bool) -> None:
        value, old, at = values[-1], values[-2], times[1]
        text = self._fill(self._pick(self._templates(fact, values)), v=value, old=old, label=fact.label)
        where = self._random.choices(("never", "same", "before", "after"), (30, 25, 25, 20))[0]
        told = {
            cause for cause in fact.topic.causes if any(cause.lower() in event.text.lower() for event in fact.events)
        }
        causes = [cause for cause in fact.topic.causes if cause not in told]
        if where == "never" or not causes or (where != "same" and not roomy):
            fact.cause = None
            self._tell(fact, at, value, text)
            return
        cause = self._random.choice(causes)
        before = min(0.02, (at - times[0]) / 4)
        after = min(0.02, ((times[2] if len(times) > 2 else 1.0) - at) / 4)
        if where == "same":
            self._tell(fact, at, value, self._fill(self._pick(phrases.CAUSE_SAME), change=text, cause=cause))
            event = fact.events[-1]
        elif where == "before":
            event = _Event(at - before, self._fill(self._pick(phrases.CAUSE_BEFORE), label=fact.label, cause=cause))
            fact.events.append(event)
            self._tell(fact, at, value, self._random.choice(phrases.BEFORE_LINKS) + text)
        else:
            self._tell(fact, at, value, text)
            event = _Event(at + after, self._fill(self._pick(phrases.CAUSE_AFTER), label=fact.label, cause=cause))
            fact.events.append(event)
        fact.cause = (cause, event)

    def _templates(self, fact: _Fact, values: list[str]) -> tuple[str, ...]:
        kind = fact.topic.kind
        if values[-1] in values[:-1]:
            return phrases.RETURNS + (phrases.RETURNS_TOOL if kind == "tool" else ())
        return self._random.choice(
            (phrases.CHANGES_ANY, phrases.CHANGES_BY_KIND[kind] or phrases.CHANGES_ANY, fact.topic.changes)
        )

    def _distract(self, fact: _Fact, times: list[float]) -> None:
        """Adds a turn or two that sound like the thing but leave it as it is."""
        if len(fact.told) > 1 and self._random.random() < 0.15:
            gone = [value for value, _ in fact.told if value != fact.told[-1][0]]
            text = self._fill(self._pick(phrases.REMINISCENCES), label=fact.label, old=self._random.choice(gone))
            fact.events.append(_Event(self._random.uniform(times[-2] + 0.021, 1.0), text))
            return
        kinds: list[Callable[[_Fact, float, float], None]] = [self._aside, self._aside, self._others, self._others]
        kinds.append(self._plan)
        if fact.topic.personal and self._peer is not None:
            kinds += [self._peers, self._peers]
        gap = self._random.randrange(len(times) - 1)
        self._random.choice(kinds)(fact, times[gap], times[gap + 1])

    def _between(self, start: float, end: float) -> float:
        return self._random.uniform(start + (end - start) * 0.3, start + (end - start) * 0.7)

    def _aside(self, fact: _Fact, start: float, end: float) -> None:
        value = self._unused(fact.topic)
        if value is None:
            return
        groups = [phrases.HYPOTHETICALS, phrases.ASIDES, phrases.REJECTED, phrases.MISTAKEN]
        if fact.topic.kind != "plan":
            groups.append(phrases.PAST)
        text = self._fill(self._pick(self._random.choice(groups)), label=fact.label, x=value)
        fact.events.append(_Event(self._between(start, end), text, reply=self._random.choice(("I see.", "Hm, okay."))))

    def _others(self, fact: _Fact, start: float, end: float) -> None:
        first, second = self._unused(fact.topic), self._unused(fact.topic)
        if first is None or second is None:
            return
        text = self._fill(self._pick(fact.topic.others), x=first, y=second)
        fact.events.append(_Event(self._between(start, end), text))

    def _plan(self, fact: _Fact, start: float, end: float) -> None:
        value = self._unused(fact.topic)
        if value is None:
            return
        idea, end_of_it = self._random.choice(phrases.PLANS)
        first = self._between(start, end)
        second = first + (end - first) * 0.3
        fact.events.append(_Event(first, self._fill(idea, label=fact.label, x=value)))
        fact.events.append(_Event(second, self._fill(end_of_it, label=fact.label, x=value)))

    def _peers(self, fact: _Fact, start: float, end: float) -> None:
        value = self._unused(fact.topic)
        if value is None or self._peer is None:
            return
        said = self._fill(self._random.choice(fact.topic.states), v=value)
        text = self._fill(self._random.choice(phrases.PEER_INTROS), name=self._peer, main=self._main, said=said)
        fact.events.append(_Event(self._between(start, end), text, speaker=self._peer))

    def _chatter(self, count: int) -> list[_Event]:
        lines = self._random.sample(phrases.CHATTER, len(phrases.CHATTER))
        fitting = [line for line in lines if not any(_mentions(" ".join(line), value) for value in self._taken)]
        count = max(count, 0)
        self._filler = [text for text, _ in fitting[count:] if "?" not in text and not text.startswith(_REQUESTS)]
        return [_Event(self._random.random(), text, reply=reply) for text, reply in fitting[:count]]

    def _say(self, events: list[_Event]) -> tuple[Said, ...]:
        begin = _EARLIEST + timedelta(days=self._random.randint(0, 300))
        length = timedelta(days=self._random.randint(20 + len(events), 270))
        turns: list[Said] = []
        previous = begin
        for event in events:
            at = max(begin + length * event.at, previous + timedelta(minutes=self._random.randint(2, 50)))
            at = at.replace(microsecond=0)
            event.turn = len(turns)
            turns.append(Said(at, event.speaker or self._main, "user", self._dress(event)))
            previous = at + timedelta(seconds=self._random.randint(2, 20))
            turns.append(Said(previous, "assistant", "assistant", event.reply or self._random.choice(phrases.ACKS)))
        return tuple(turns)

    def _dress(self, event: _Event) -> str:
        if event.reply is not None or event.speaker is not None:
            return event.text
        chance = self._random.random()
        if chance < 0.15:
            return f"{self._random.choice(phrases.OPENERS)} {event.text}"
        if chance < 0.25:
            return f"{event.text} {self._random.choice(phrases.CLOSERS)}"
        if chance < 0.40 and self._filler:
            filler = self._filler.pop()
            ahead = chance < 0.33 and not any(link in event.text for link in _POINTS_BACK)  # or it would seem the cause
            return f"{filler} {event.text}" if ahead else f"{event.text} {filler}"
        return event.text

    def _ask(self, fact: _Fact, asked: datetime) -> Question:
        told = [(_spelled(value, event.text), event.turn) for value, event in fact.told]
        current, current_turn = told[-1]
        cause = None if fact.cause is None else _spelled(fact.cause[0], fact.cause[1].text)
        return Question(
            text=fact.question,
            at=asked,
            subject=fact.label,
            current=current,
            current_turn=current_turn,
            stale=tuple(told[:-1]),
            cause=cause,
            cause_turn=None if fact.cause is None else fact.cause[1].turn,
            asked_by=self._main,
        )

    def _fill(self, template: str, **fields: str) -> str:
        return _fill(template, p=self._project, q=self._other, **fields)

    def _pick(self, templates: tuple[str, ...]) -> str:
        """A wording not used in this conversation so far, as long as there is one."""
        fresh = [template for template in templates if template not in self._wordings] or list(templates)
        choice = self._random.choice(fresh)
        self._wordings.add(choice)
        return choice

    def _check(self, conversation: Conversation, facts: list[_Fact]) -> None:
        """What makes the answers exact."""
        turns = conversation.turns
        assert 30 <= len(turns) <= 120, len(turns)
        assert len(facts) >= _FEWEST_FACTS
        assert all(turn.role == ("user", "assistant")[index % 2] for index, turn in enumerate(turns))
        assert all(before.at < after.at for before, after in pairwise(turns))
        for fact, question in zip(facts, conversation.questions, strict=True):
            own = {event.turn for event in fact.events}
            for value, turn in (*question.stale, (question.current, question.current_turn)):
                assert value in turns[turn].text, (value, turns[turn].text)
                assert not _mentions(question.text, value), question.text
                assert all(index in own for index, said in enumerate(turns) if _mentions(said.text, value)), value
            assert [turn for _, turn in question.stale] == sorted(turn for _, turn in question.stale)
            assert all(turn < question.current_turn for _, turn in question.stale)
            later = [turns[turn].text for turn in own if turn > question.current_turn]
            assert not any(_mentions(text, question.current) for text in later), (question.current, later)
            if question.cause is not None and question.cause_turn is not None:
                assert question.cause in turns[question.cause_turn].text
