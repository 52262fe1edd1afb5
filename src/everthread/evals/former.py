"""Made-up conversations in which facts change, with exact answers, written apart from the memory they report on."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random

from everthread.evals import former_phrases as phrases
from everthread.evals.conversation import Conversation, Question, Said
from everthread.evals.former_topics import TOPICS, Topic

MOST_EXCHANGES = 60
MOST_TOLD = 48  # of them
REQUEST = re.compile(r"\?|\b(help me|needs? an?|list, please)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Beat:
    """What a person says in one turn, and the answer: a value, a cause of a value, both, or something else."""

    speaker: str
    text: str
    reply: str
    value: str | None = None
    cause: str | None = None
    number: int = 0  # of the value among its thing's


Step = list[Beat]  # beats that follow each other


def conversations(count: int, seed: int) -> Iterator[Conversation]:
    rng = Random(seed)  # noqa: S311
    for number in range(count):
        yield conversation(rng, f"former-{seed}-{number:04d}", seed)


def conversation(rng: Random, name: str, seed: int) -> Conversation:
    speakers = tuple(rng.sample(phrases.NAMES, rng.randint(3, 4))) if rng.random() < 0.25 else ("user",)
    topics = chosen(rng, group=len(speakers) > 1)
    small = SmallTalk(rng, speakers, [value for topic in topics for value in topic.values])
    things = [Thing(rng, topic, speakers, small) for topic in topics]
    stories = [thing.story() for thing in things]
    while (told := sum(len(step) for story in stories for step in story)) > MOST_TOLD:
        stories.pop()
    things = things[: len(stories)]
    exchanges = min(MOST_EXCHANGES, max(15, round(told * rng.uniform(1.25, 2.6))))
    row = woven(rng, stories, [small.beat() for _ in range(exchanges - told)])
    turns = tuple(timed(rng, row))
    spoke = [name for name in speakers if any(turn.speaker == name for turn in turns)]
    asked, questions = turns[-1].at, []
    for number, thing in enumerate(things):
        asked += timedelta(minutes=rng.randint(1, 900))
        told_of = [(2 * place, beat) for place, (of, beat) in enumerate(row) if of == number]
        questions.append(thing.question(asked, told_of, thing.owner or rng.choice(spoke)))
    return Conversation(name, seed, turns, tuple(questions))


def chosen(rng: Random, *, group: bool) -> list[Topic]:
    """3 to 6 topics that have no words in common with each other's values."""
    taste = rng.choice(("team", "any") if group else ("team", "private", "private", "any"))
    likely = [topic for topic in TOPICS if not (group and topic.whose == "home")]
    order = sorted(likely, key=lambda topic: rng.random() * (1 if fits(topic, taste) else 0.6), reverse=True)
    wanted = rng.randint(3, 6)
    topics: list[Topic] = []
    for topic in order:
        if len(topics) < wanted and all(apart(topic, other) for other in topics):
            topics.append(topic)
    return topics


def fits(topic: Topic, taste: str) -> bool:
    return taste == "any" or (topic.whose == "team") == (taste == "team")


def apart(one: Topic, other: Topic) -> bool:
    return all(
        free(text, values)
        for values, topic in ((one.values, other), (other.values, one))
        for text in (*topic.sentences, *topic.values)
    )


def free(text: str, values: Sequence[str]) -> bool:
    return not any(value.casefold() in text.casefold() for value in values)


class SmallTalk:
    """Other matters, each raised once in a conversation."""

    def __init__(self, rng: Random, speakers: Sequence[str], values: Sequence[str]) -> None:
        self.rng = rng
        self.speakers = speakers
        self.office = self.shuffled(phrases.office(), values)
        self.everyday = self.shuffled(phrases.everyday(), values)
        self.chat = self.shuffled(phrases.CHAT, values)

    def shuffled(self, exchanges: Iterable[phrases.Exchange], values: Sequence[str]) -> list[phrases.Exchange]:
        usable = [one for one in exchanges if free(" ".join(one), values)]
        return self.rng.sample(usable, len(usable))

    def beat(self) -> Beat:
        chats = bool(self.chat) and self.rng.random() < 0.3
        text, reply = self.chat.pop() if chats else self.request(at_work=self.rng.random() < 0.5)
        return Beat(self.rng.choice(self.speakers), text, reply)

    def request(self, *, at_work: bool) -> phrases.Exchange:
        return (self.office if (at_work and self.office) or not self.everyday else self.everyday).pop()

    def around(self, told: str, reply: str, *, at_work: bool) -> tuple[str, str]:
        """A message that says something among other things, or nothing else."""
        kind = self.rng.choices(("alone", "greeted", "then", "last", "amid"), (42, 8, 20, 20, 10))[0]
        greeting = f"{self.rng.choice(phrases.REMARKS)} " if kind in {"greeted", "amid"} else ""
        if kind in {"alone", "greeted"} or "?" in told:
            return f"{greeting}{told}", reply
        request, answer = self.request(at_work=at_work)
        answer = f"{reply} {answer}" if self.rng.random() < 0.4 else answer
        if kind == "last":
            return f"{request} {self.rng.choice(phrases.BRIDGES)}{told}", answer
        return f"{greeting}{ended(told)} {self.rng.choice(phrases.TURNS_TO)}{request}", answer


class Thing:
    """A topic in one conversation: its values in order of time, and how they are told."""

    def __init__(self, rng: Random, topic: Topic, speakers: Sequence[str], small: SmallTalk) -> None:
        self.rng = rng
        self.topic = topic
        self.owner = rng.choice(speakers) if topic.whose == "person" else None
        self.speakers = speakers
        self.small = small
        self.causes = rng.sample(topic.cause, len(topic.cause))
        self.sentences: list[str] = []
        self.values = self.held(rng.choices(range(5), (20, 35, 25, 13, 7))[0])
        self.unheld = [value for value in topic.values if value not in self.values]
        rng.shuffle(self.unheld)

    def held(self, changes: int) -> list[str]:
        fresh = self.rng.sample(self.topic.values, len(self.topic.values))
        values = [fresh.pop()]
        for _ in range(changes):
            earlier = [value for value in values if value != values[-1]]
            returns = bool(earlier and self.topic.back) and self.rng.random() < 0.2
            values.append(self.rng.choice(earlier) if returns else fresh.pop())
        return values

    def story(self) -> list[Step]:
        steps = [[self.said(filled(self.unused(self.topic.first), v=self.values[0]), value=self.values[0])]]
        steps.extend(self.change(number) for number in range(1, len(self.values)))
        for tag, text in self.asides():
            self.put_aside(steps, tag, text)
        return steps

    def unused(self, sentences: Sequence[str], others: Sequence[str] = ()) -> str:
        """One of the sentences, or of the others when all of them have been said."""
        left = [sentence for sentence in sentences if sentence not in self.sentences]
        sentence = self.rng.choice(left or [other for other in others if other not in self.sentences])
        self.sentences.append(sentence)
        return sentence

    def change(self, number: int) -> Step:
        old, value = self.values[number - 1 : number + 1]
        if value in self.values[:number] and self.rng.random() < 0.6:
            sentences = self.topic.back
        else:
            sentences = self.topic.open if self.rng.random() < 0.35 else self.topic.plain
        sentence = self.unused(sentences, self.topic.open + self.topic.plain)
        openly = sentence not in self.topic.plain
        text = filled(sentence, v=value, old=old)
        when = self.rng.choices(("with", "before", "after", "never"), (35, 15, 15, 35))[0]
        if when == "never" or not self.causes:
            return [self.said(text, value=value, number=number)]
        if when == "with":
            frames = phrases.WITH_OPEN if openly else phrases.WITH_PLAIN
            framed, cause = self.framed(self.rng.choice(frames), self.causes.pop(), text)
            return [self.said(framed, value=value, cause=cause, number=number)]
        frames = phrases.BEFORE if when == "before" else phrases.AFTER
        framed, cause = self.framed(self.rng.choice(frames), self.causes.pop())
        change = self.said(text, value=value, number=number)
        reason = replace(self.said(framed, cause=cause, number=number), speaker=change.speaker)
        between = [self.small.beat()] if self.rng.random() < 0.3 else []
        return [reason, *between, change] if when == "before" else [change, *between, reason]

    def framed(self, frame: str, cause: str, change: str = "") -> tuple[str, str]:
        """The sentences, and the cause as it stands in them."""
        upper = cause[0].upper() + cause[1:]
        text = frame.format(cause=cause, Cause=upper, change=ended(change), subject=self.topic.subject)
        return text, upper if "{Cause}" in frame else cause

    def said(
        self,
        told: str,
        *,
        value: str | None = None,
        cause: str | None = None,
        number: int = 0,
        answers: Sequence[str] = phrases.SORRY,
    ) -> Beat:
        if value is not None:
            answers = phrases.ECHOED if self.rng.random() < 0.2 else phrases.NOTED
            answers = phrases.WILLING if asks(told) else answers
        reply = self.rng.choice(answers).format(v=value)
        text, reply = self.small.around(told, reply, at_work=self.topic.whose == "team")
        return Beat(self.owner or self.rng.choice(self.speakers), text, reply, value, cause, number)

    def asides(self) -> list[tuple[str, str]]:
        """What is said of values that do not hold."""
        number = self.rng.choices(range(3), (10, 50, 40))[0]
        told = self.rng.sample(self.topic.asides, number)
        if self.owner is not None and len(self.speakers) > 1 and self.rng.random() < 0.4:
            told = [*told[:1], ("rival", self.unused(self.topic.first))]
        return told

    def put_aside(self, steps: list[Step], tag: str, sentence: str) -> None:
        at = self.rng.randint(1, len(steps))
        held = [beat.value for step in steps[:at] for beat in step if beat.value is not None]
        ended_values = [value for value in held if value != held[-1]]
        if tag == "then":
            if not ended_values:
                return
            text = filled(sentence, old=self.rng.choice(ended_values))
        else:
            again = tag in {"other", "sibling"} and ended_values and self.rng.random() < 0.25
            if not again and not self.unheld:
                return
            value = self.rng.choice(ended_values) if again else self.unheld.pop()
            text = filled(sentence, x=value, v=value)
        beat = self.said(text, answers=phrases.UNSURE if tag == "question" else phrases.HEARD)
        if tag == "rival":
            beat = replace(beat, speaker=self.rng.choice([name for name in self.speakers if name != self.owner]))
        steps.insert(at, [beat])

    def question(self, at: datetime, told: Sequence[tuple[int, Beat]], asked_by: str) -> Question:
        """Of its beats, each with its turn."""
        *stale, (current, current_turn) = [(beat.value, turn) for turn, beat in told if beat.value is not None]
        last = len(self.values) - 1
        causes = [(beat.cause, turn) for turn, beat in told if beat.cause is not None and beat.number == last]
        cause, cause_turn = causes[0] if causes else (None, None)
        return Question(
            text=self.rng.choice(self.topic.ask),
            at=at,
            subject=self.topic.subject,
            current=current,
            current_turn=current_turn,
            stale=tuple(stale),
            cause=cause,
            cause_turn=cause_turn,
            asked_by=asked_by,
        )


def filled(sentence: str, **values: str) -> str:
    """The sentence with its values, and the article that goes with them."""
    for name, value in values.items():
        article = "an" if value[0].casefold() in "aeiou" else "a"
        sentence = sentence.replace(f" a {{{name}}}", f" {article} {value}").replace(f"{{{name}}}", value)
    return sentence


def asks(text: str) -> bool:
    return not text.startswith("Who ") and REQUEST.search(text) is not None


def ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", '"')) or not text else f"{text}."


def woven(rng: Random, stories: Sequence[list[Step]], small: Sequence[Beat]) -> list[tuple[int | None, Beat]]:
    """One row of beats, each with the number of its thing: every story in its own order."""
    order = [number for number, story in enumerate(stories) for _ in story] + [None] * len(small)
    rng.shuffle(order)
    steps = [iter(story) for story in stories]
    talk = iter(small)
    row: list[tuple[int | None, Beat]] = []
    for number in order:
        row.extend((number, beat) for beat in (next(steps[number]) if number is not None else [next(talk)]))
    return row


def timed(rng: Random, row: Sequence[tuple[int | None, Beat]]) -> Iterator[Said]:
    """The turns, with days between a thing's value and the next one."""
    at = datetime(2026, 1, 5, tzinfo=UTC) + timedelta(days=rng.randint(0, 80), minutes=rng.randint(420, 1200))
    told: dict[int, tuple[int, datetime]] = {}
    for thing, beat in row:
        if thing is not None and thing in told and beat.number > told[thing][0]:
            at = max(at, told[thing][1] + timedelta(days=rng.randint(2, 12), minutes=rng.randint(0, 50)))
        if thing is not None and (beat.value is not None or beat.cause is not None):
            told[thing] = (beat.number, at)
        yield Said(at, beat.speaker, "user", beat.text)
        yield Said(at + timedelta(seconds=rng.randint(4, 50)), "assistant", "assistant", beat.reply)
        at = later(rng, at)


def later(rng: Random, at: datetime) -> datetime:
    """Some minutes, some hours, or some days, and never in the night."""
    kind = rng.choices(("minutes", "hours", "days"), (45, 18, 37))[0]
    if kind == "minutes":
        at += timedelta(seconds=rng.randint(70, 2400))
    if kind == "hours":
        at += timedelta(minutes=rng.randint(90, 500))
    if kind == "days" or not 6 <= at.hour < 23:
        days = rng.randint(1, 6) if kind == "days" else 1
        morning = at.replace(hour=0, minute=0) + timedelta(days=days)
        at = morning + timedelta(minutes=rng.randint(400, 1290))
    return at
