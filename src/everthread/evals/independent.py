"""Made-up conversations with exact answers: a few things change their values among a lot of other talk."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from everthread.evals import phrases
from everthread.evals.conversation import Conversation, Question, Said
from everthread.evals.topics import TOPICS, Line, Topic, apart, blocks, names_one_of, split_line

EXCHANGES = [split_line(text) for text in blocks(phrases.EXCHANGES)]
ACKS, ECHOES, NEUTRAL = blocks(phrases.ACKS), blocks(phrases.ECHOES), blocks(phrases.NEUTRAL)
OPENERS, PRELUDES = blocks(phrases.OPENERS), blocks(phrases.PRELUDES)
CLOSERS, LINKS = blocks(phrases.CLOSERS), blocks(phrases.LINKS)
NAMES = ["Nora", "Felix", "Amara", "Jonas", "Lucia", "Samir", "Greta", "Owen", "Mei", "Viktor", "Hanna", "Diego"]

# Which topics fit together: those that are shared (by setting), and the personal ones.
JOBS = {"team": {"team", "job"}, "shop": {"shop"}, "study": {"study"}}
GROUPS = {
    "home": {"any", "job", "home"},
    "team": {"any", "job", "team"},
    "club": {"any", "club"},
    "shop": {"any", "shop"},
}
MOST_OF_A_CLUB = 2
FEWEST, MOST = 15, 60  # user messages of a conversation
# Things whose values need an article or a preposition after "is".
NO_IS = {"car", "phone", "instrument", "spare_key", "stage", "hall", "commute", "race", "medicine"}

# Marks around values and causes, by which they are found in the finished text: number of the thing (and of the
# change), then the words.
VALUE, CAUSE = re.compile("\x01(\\d+)\x1f(.*?)\x02"), re.compile("\x03(\\d+)-(\\d+)\x1f(.*?)\x04")
MARKED = re.compile("(\x01.*?\x02|\x03.*?\x04)")
# First words that lose their capital in the middle of a sentence.
SMALL_WORDS = frozenset(
    "The A My Our We For In On At No New You This When Where What How Can Could Is Would Do Why Who As".split()  # noqa: SIM905
)


@dataclass(slots=True)
class Thing:
    """A serial fact of one conversation."""

    number: int
    topic: Topic
    owner: str | None
    values: list[str]
    told: int = -1
    used: set[str] = field(default_factory=set)
    causes: list[str] = field(default_factory=list)

    def called(self) -> str:
        """The thing as its owner calls it."""
        return f"{'my' if self.owner else 'our'} {self.topic.name}"

    def mark_value(self, value: str) -> str:
        """A value to be found again."""
        return f"\x01{self.number}\x1f{value}\x02"

    def mark_cause(self, cause: str, step: int) -> str:
        """The cause of a change, to be found again."""
        return f"\x03{self.number}-{step}\x1f{cause}\x04"

    def pick(self, rng: Random, tag: str, *, past: bool = True, calm: bool = False) -> Line | None:
        """A line not used yet: if not ``past``, without a past value, and if ``calm``, one that asks for nothing."""
        fits = [
            line for line in self.topic.of(tag) if line.text not in self.used and (past or "{past}" not in line.text)
        ]
        if not fits:
            return None
        line = rng.choice([line for line in fits if not line.reply] or fits) if calm else rng.choice(fits)
        self.used.add(line.text)
        return line


@dataclass(slots=True)
class Event:
    """What one message is about: a value, a cause in its own message, other talk about the thing, or small talk."""

    kind: str
    thing: Thing | None = None
    step: int = 0
    cause: str = ""
    how: str = ""
    speaker: str = "user"
    adjacent: bool = False


@dataclass(slots=True)
class Draft:
    """A message with its reply, still with marks; ``asks`` if the reply is an answer to something in it."""

    speaker: str
    text: str
    reply: str
    asks: bool = False
    mergeable: bool = False
    tells: set[int] = field(default_factory=set)
    follows: bool = False


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def lowered(text: str) -> str:
    """The text as it goes on within a sentence."""
    first = re.split(r"[ ']", text, maxsplit=1)[0]
    return text[:1].lower() + text[1:] if first in SMALL_WORDS else text


def goes_on(text: str) -> bool:
    """Whether the text can follow "so"."""
    return lowered(text) != text or text.startswith(("I ", "I'"))


def ended(text: str) -> str:
    """The text with an end mark."""
    return text if text[-1] in ".?!)" else text + "."


class Style:
    """How a speaker types."""

    def __init__(self, rng: Random) -> None:
        self.lower = rng.random() < 0.2
        self.short = rng.random() < 0.1
        self.typos = rng.choice((0.0, 0.0, 0.004, 0.01, 0.02))
        self.no_end = rng.choice((0.03, 0.1, 0.5))

    def apply(self, rng: Random, text: str) -> str:
        """Retype a text; values and causes keep their letters, though not always their capitals."""
        parts = MARKED.split(text)
        for n in range(0, len(parts), 2):
            parts[n] = self.retype(rng, parts[n])
        typed = "".join(parts)
        if self.lower:
            typed = typed.lower()
        if typed.endswith(".") and not typed.endswith("..") and rng.random() < self.no_end:
            typed = typed[:-1]
        return typed

    def retype(self, rng: Random, text: str) -> str:
        """Short forms and typos."""
        if self.short:
            for long, brief in ((" because ", " bc "), (" you ", " u "), ("please", "pls"), (" though", " tho")):
                text = text.replace(long, brief)
        if not self.typos:
            return text
        words = text.split(" ")
        for n, word in enumerate(words):
            if len(word) > 3 and word.isalpha() and rng.random() < self.typos * 2:
                at = rng.randrange(1, len(word) - 1)
                swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
                words[n] = rng.choice((swapped, word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]))
            elif "'" in word and rng.random() < self.typos * 6:
                words[n] = word.replace("'", "")
        return " ".join(words)


def choose_topics(rng: Random, allowed: set[str], count: int, needed: set[str]) -> list[Topic]:
    """Topics that are apart from each other, some of the needed settings among them."""
    keys = sorted(key for key, topic in TOPICS.items() if topic.setting in allowed)
    rng.shuffle(keys)
    if needed:
        first = [key for key in keys if TOPICS[key].setting in needed][: rng.randint(1, 3)]
        keys = first + [key for key in keys if key not in first]
    chosen: list[str] = []
    for key in keys:
        clubs = sum(TOPICS[other].setting == "club" for other in chosen)
        if TOPICS[key].setting == "club" and clubs >= MOST_OF_A_CLUB:
            continue
        if len(chosen) < count and all(apart(min(key, other), max(key, other)) for other in chosen):
            chosen.append(key)
    rng.shuffle(chosen)
    return [TOPICS[key] for key in chosen]


def value_chain(rng: Random, values: list[str]) -> list[str]:
    """The values one after another, now and then an earlier one again."""
    changes = rng.choices(range(5), (14, 30, 28, 18, 10))[0]
    fresh = rng.sample(values, changes + 1)
    chain = [fresh.pop()]
    for _ in range(changes):
        earlier = [value for value in chain if value != chain[-1]]
        chain.append(rng.choice(earlier) if earlier and rng.random() < 0.3 else fresh.pop())
    return chain


class Builder:
    """Builds one conversation."""

    def __init__(self, seed: int, number: int) -> None:
        self.rng = Random(f"independent/{seed}/{number}")  # noqa: S311
        self.id, self.seed = f"independent-{seed}-{number:04d}", seed
        rng = self.rng
        group = rng.random() < 0.25
        self.speakers = rng.sample(NAMES, rng.randint(2, 4)) if group else ["user"]
        if group:
            kind = rng.choice(sorted(GROUPS))
            topics = choose_topics(rng, GROUPS[kind], rng.randint(3, 6), {kind})
        else:
            allowed = {"any", "home", "club"} | JOBS[rng.choice(sorted(JOBS))]
            topics = choose_topics(rng, allowed, rng.randint(3, 6), set())
        self.group = group
        self.styles = {speaker: Style(rng) for speaker in self.speakers}
        self.things = [
            Thing(n, topic, rng.choice(self.speakers) if topic.personal else None, value_chain(rng, topic.values))
            for n, topic in enumerate(topics)
        ]
        values = [value for topic in topics for value in topic.values]
        self.small_talk = [e for e in EXCHANGES if not names_one_of(values, f"{e.text} {e.reply}".casefold())]
        rng.shuffle(self.small_talk)
        self.preludes = rng.sample(PRELUDES, len(PRELUDES))

    # --- what happens, and in which order ---

    def speaker_for(self, thing: Thing | None) -> str:
        """Who speaks: the owner of a personal thing, otherwise anybody."""
        return thing.owner if thing and thing.owner else self.rng.choice(self.speakers)

    def value_events(self) -> list[Event]:
        """All tellings of values, in their order."""
        rng, placed = self.rng, []
        for thing in self.things:
            causes = [line.text for line in thing.topic.of("B")]
            rng.shuffle(causes)
            start = rng.uniform(0, 0.35)
            changes = len(thing.values) - 1
            gap = 0.4 * (1 - start) / (changes + 1)
            free = sorted(rng.uniform(0, 1 - start - gap * (changes + 1)) for _ in range(changes))
            for step in range(changes + 1):
                at = start if step == 0 else start + gap * step + free[step - 1]
                event = Event("value", thing, step, speaker=self.speaker_for(thing))
                if step and causes and rng.random() < 0.42:
                    event.cause = causes.pop()
                    event.how = rng.choices(("within", "after", "before"), (45, 30, 25))[0]
                placed.append((at, thing.number, event))
        return [event for *_, event in sorted(placed, key=lambda item: item[:2])]

    def events(self) -> list[Event]:
        """Everything that is said, in its order."""
        rng, events = self.rng, self.value_events()
        base = len(events) + sum(event.how in ("after", "before") for event in events)
        fill = max(4, rng.randint(FEWEST, rng.choice((30, 45, MOST))) - base)
        fill = min(fill, MOST - base)
        fill = max(fill, FEWEST + len(events) // 4 - base)
        talk = [Event("talk", thing) for thing in self.things for _ in range(rng.randint(2, 6))]
        rng.shuffle(talk)
        talk = talk[: round(fill * rng.uniform(0.45, 0.8))]
        other = [Event("own", thing) for thing in self.things if self.group and thing.owner and rng.random() < 0.5]
        talk = (other + talk)[:fill]
        talk += [Event("small") for _ in range(fill - len(talk))]
        for event in talk:
            event.speaker = self.speaker_for(event.thing)
            if event.kind == "own" and event.thing:
                event.speaker = rng.choice([name for name in self.speakers if name != event.thing.owner])
            events.insert(rng.randint(0, len(events)), event)
        for event in [event for event in events if event.how in ("after", "before")]:
            self.place_cause(events, event)
        return events

    def place_cause(self, events: list[Event], change: Event) -> None:
        """Put a cause of its own message near its change, with nothing else of this thing told between."""
        cause = Event(change.how, change.thing, change.step, change.cause, speaker=change.speaker)
        at, room, far = events.index(change), 0, self.rng.choice((0, 0, 1, 2, 4))
        step = 1 if change.how == "after" else -1
        while room < far and 0 <= at + step * (room + 1) < len(events):
            if events[at + step * (room + 1)].thing is change.thing:
                break
            room += 1
        if change.how == "after":
            events.insert(at + 1 + room, cause)
        else:
            change.adjacent = room == 0
            events.insert(at - room, cause)

    # --- the words ---

    def fill_in(self, line: Line, thing: Thing, step: int, cause: str = "") -> tuple[str, str]:
        """The message and the reply of a line with its fields filled."""
        value = thing.values[step]
        words = {
            "v": thing.mark_value(value),
            "V": thing.mark_value(capital(value)),
            "old": thing.values[step - 1] if step else "",
            "c": thing.mark_cause(cause, step),
            "C": thing.mark_cause(capital(cause), step),
            "name": thing.owner or "",
        }
        bare = words | {"v": value, "V": capital(value)}
        return line.text.format_map(words), line.reply.format_map(bare)

    def tell_value(self, event: Event, thing: Thing) -> Draft:
        """A value is told: for the first time, openly as a change, as a plain state, or as a return."""
        rng, step = self.rng, event.step
        thing.told = step
        returns = thing.values[step] in thing.values[:step]
        if step == 0:
            tags = ["S", "F"] if rng.random() < 0.15 else ["F"]
        elif returns:
            tags = ["R", "S"] if rng.random() < 0.65 else ["S", "R"]
        else:
            tags = ["S", "C"] if rng.random() < 0.52 else ["C", "S"]
        tag = next(tag for tag in tags if any(line.text not in thing.used for line in thing.topic.of(tag)))
        line = thing.pick(rng, tag, calm=event.how == "within") or Line("")
        text, reply = self.fill_in(line, thing, step)
        if event.how == "within":
            text = self.with_cause(tag, line, text, thing, event.cause)
            reply = "" if tag == "S" else reply
        elif event.adjacent and goes_on(text) and rng.random() < 0.4:
            text = rng.choice(("So: ", "And so: ", "Which leads to this: ")) + lowered(text)
        if reply:
            return Draft(event.speaker, text, reply, asks=True)
        value = thing.values[step]
        reply = rng.choice(ECHOES).format(v=value, V=capital(value)) if rng.random() < 0.3 else rng.choice(ACKS)
        return Draft(event.speaker, text, reply, mergeable=True)

    def with_cause(self, tag: str, line: Line, text: str, thing: Thing, cause: str) -> str:
        """A change and its cause in one message."""
        c, big = thing.mark_cause(cause, thing.told), thing.mark_cause(capital(cause), thing.told)
        if tag == "S":
            name, value = thing.called(), thing.mark_value(thing.values[thing.told])
            forms = [f"{big}, so {name} is {value}.", f"{capital(name)} is {value}, since {c}."]
            forms = [*forms, f"{capital(name)}: {value}, because {c}.", f"{big}, hence {name}: {value}."]
            return self.rng.choice(forms[2:] if thing.topic.key in NO_IS else forms)
        forms = [f"{big}. {text}"]
        if goes_on(text) and not line.reply:
            forms.append(f"{big}, so {lowered(text)}")
        if not line.reply:
            forms.append(f"{ended(text)} Reason for the change: {c}.")
            forms.append(f"{ended(text)} And why the change? {big}.")
            if re.search(r"( now|\{v\}|\{old\}|again)\.$", line.text) and not re.search(r"[.!?:] ", line.text):
                forms = [f"{text[:-1]} because {c}.", f"{text[:-1]}, since {c}.", f"{ended(text)} {big}.", *forms[:2]]
        return self.rng.choice(forms)

    def tell_cause(self, event: Event, thing: Thing) -> Draft:
        """A cause in a message of its own."""
        rng = self.rng
        name = thing.called()
        if event.kind == "after":
            general = [
                f"About {name}, the reason for the change was this: {{c}}.",
                f"I never said why {name} changed. {{C}}.",
            ]
            replies = ["Thanks for the explanation.", "That explains it.", "Ah, I see.", "That makes sense."]
        else:
            general = [f"There's something about {name}. {{C}}.", f"Some news around {name}: {{c}}."]
            replies = ["I see. And what will you do?", "Hm, I see.", "That sounds like a matter to deal with.", "Oh."]
        own = thing.pick(rng, "W" if event.kind == "after" else "P")
        line = own if own and rng.random() < 0.7 else Line(rng.choice(general))
        text, _ = self.fill_in(line, thing, event.step, event.cause)
        return Draft(event.speaker, text, rng.choice(replies), mergeable=False)

    def not_the_value(self, thing: Thing) -> str:
        """A value that does not hold and did not hold so far; now and then one that will."""
        so_far, later = thing.values[: thing.told + 1], thing.values[thing.told + 1 :]
        coming = [value for value in later if value not in so_far]
        if coming and self.rng.random() < 0.2:
            return self.rng.choice(coming)
        return self.rng.choice([value for value in thing.topic.values if value not in thing.values])

    def tell_other(self, event: Event, thing: Thing) -> Draft:
        """Talk about the thing that tells no value of it, or the like of somebody else."""
        rng = self.rng
        if event.kind == "own":
            line = thing.pick(rng, "F")
            if line:
                other = self.not_the_value(thing)
                text = line.text.format(v=other, V=capital(other))
                reply = line.reply.format(v=other, V=capital(other)) or f"Noted, {event.speaker}."
                return Draft(event.speaker, text, reply, asks=bool(line.reply))
        held = thing.values[: thing.told + 1]
        past = [value for value in held if value != held[-1]]
        line = thing.pick(rng, "D", past=bool(past))
        if not line or event.kind == "own":
            return self.chat(event.speaker)
        words = {"o": self.not_the_value(thing), "past": rng.choice(past) if past else ""}
        text, reply = line.text.format_map(words), line.reply.format_map(words)
        return Draft(event.speaker, text, reply or rng.choice(NEUTRAL), asks=bool(reply))

    def chat(self, speaker: str) -> Draft:
        """An exchange about nothing in particular."""
        line = self.small_talk.pop()
        return Draft(speaker, line.text, line.reply, asks=True)

    def drafts(self) -> list[Draft]:
        """All messages; sometimes two in one, or one with an unrelated request."""
        rng, drafts = self.rng, list[Draft]()
        for event in self.events():
            thing = event.thing
            if thing is None:
                draft = self.chat(event.speaker)
            elif event.kind == "value":
                draft = self.tell_value(event, thing)
            elif event.kind in ("after", "before"):
                draft = self.tell_cause(event, thing)
            else:
                draft = self.tell_other(event, thing)
            number = thing.number if thing else -1
            before = drafts[-1] if drafts else None
            if event.kind == "value":
                draft.tells.add(number)
            draft.follows = event.adjacent or (event.kind == "after" and rng.random() < 0.5)
            mergeable = before and before.mergeable and draft.mergeable and before.speaker == draft.speaker
            if before and mergeable and number not in before.tells and not event.adjacent and rng.random() < 0.25:
                link = rng.choice(("Also:", "And another thing.", "Second thing:"))
                before.text = f"{ended(before.text)} {link} {draft.text}"
                before.reply, before.mergeable = rng.choice(ACKS), False
                before.tells |= draft.tells
                continue
            if draft.mergeable and len(self.small_talk) > 10 and rng.random() < 0.14:
                self.add_request(draft)
            drafts.append(draft)
        while len(drafts) < FEWEST:
            drafts.append(self.chat(rng.choice(self.speakers)))
        return drafts

    def add_request(self, draft: Draft) -> None:
        """Let an unrelated request follow in the same message."""
        at = next((n for n, line in enumerate(self.small_talk) if line.text.endswith("?")), None)
        if at is None:
            return
        request, link = self.small_talk.pop(at), self.rng.choice(LINKS)
        text = capital(request.text) if link.endswith(".") else lowered(request.text)
        draft.text = f"{ended(draft.text)} {link} {text}"
        draft.reply = f"{self.rng.choice(ACKS)} {request.reply}"
        draft.asks, draft.mergeable = True, False

    # --- the conversation ---

    def start_times(self, drafts: list[Draft]) -> list[tuple[datetime, int]]:
        """When each message is sent, and for the first one of a sitting how many days after the last sitting.

        A thing gets no second value in one sitting, nor on one day.
        """
        rng, sittings, room = self.rng, list[list[Draft]](), 0
        for draft in drafts:
            if sittings and (room or draft.follows) and not any(draft.tells & other.tells for other in sittings[-1]):
                sittings[-1].append(draft)
                room = max(0, room - 1)
            else:
                sittings.append([draft])
                room = rng.choice((1, 1, 2, 2, 3, 4, 6)) - 1
        span = rng.randint(21, 120)
        days = sorted(rng.randint(0, span) for _ in sittings)
        first = datetime(rng.choice((2023, 2024, 2025)), 1, 3, tzinfo=UTC) + timedelta(days=rng.randint(0, 50))
        times: list[tuple[datetime, int]] = []
        shift, previous, now = 0, 0, first
        told_on: set[int] = set()
        for day, sitting in zip(days, sittings, strict=True):
            tells = set[int]().union(*(draft.tells for draft in sitting))
            if day + shift == previous and told_on & tells:
                shift += 1
            today = day + shift
            told_on = told_on | tells if today == previous else tells
            at = first + timedelta(days=today, hours=rng.randint(7, 20), minutes=rng.randint(0, 59))
            now = max(at, now + timedelta(minutes=rng.randint(25, 90)))
            for n in range(len(sitting)):
                times.append((now, today - previous if n == 0 else -1))
                now += timedelta(minutes=rng.randint(1, 14), seconds=rng.randint(0, 59))
            previous = today
        return times

    def dress(self, draft: Draft, at: datetime, pause: int) -> str:
        """The message as it is typed, with a greeting, something before it, or something after."""
        rng, text = self.rng, draft.text
        hours = {"Good morning.": range(5, 11), "Evening!": range(18, 24), "Back from lunch.": range(12, 15)}
        late = "It's late and I should really be asleep, but one more thing."
        if pause >= 0 and rng.random() < 0.3:
            openers = [o for o in OPENERS if at.hour in hours.get(o, range(24)) and (pause > 3 or "silence" not in o)]
            text = f"{rng.choice(openers)} {text}"
        elif rng.random() < 0.06 and self.preludes:
            prelude = self.preludes.pop()
            text = f"{prelude} {text}" if prelude != late or at.hour >= 21 else text
        if not draft.asks and rng.random() < 0.12:
            text = f"{ended(text)} {rng.choice(CLOSERS)}"
        return self.styles[draft.speaker].apply(rng, text)

    def build(self) -> Conversation:
        """The finished conversation with its questions."""
        rng, drafts = self.rng, self.drafts()
        turns: list[Said] = []
        told: list[list[tuple[str, int]]] = [[] for _ in self.things]
        causes: list[dict[int, tuple[str, int]]] = [{} for _ in self.things]
        for draft, (at, pause) in zip(drafts, self.start_times(drafts), strict=True):
            marked = self.dress(draft, at, pause)
            for number, value in VALUE.findall(marked):
                if (value, len(turns)) not in told[int(number)]:
                    told[int(number)].append((value, len(turns)))
            for number, step, cause in CAUSE.findall(marked):
                causes[int(number)][int(step)] = cause, len(turns)
            text = CAUSE.sub(r"\3", VALUE.sub(r"\2", marked))
            turns.append(Said(at, draft.speaker, "user", text))
            turns.append(Said(at + timedelta(seconds=rng.randint(3, 40)), "assistant", "assistant", draft.reply))
        questions = self.questions(turns, told, causes)
        return Conversation(self.id, self.seed, tuple(turns), tuple(questions))

    def questions(
        self, turns: list[Said], told: list[list[tuple[str, int]]], causes: list[dict[int, tuple[str, int]]]
    ) -> Iterator[Question]:
        """One question about each thing, in any order."""
        rng, at = self.rng, turns[-1].at + timedelta(hours=rng_hours(self.rng))
        present = sorted({turn.speaker for turn in turns if turn.role == "user"})
        for thing in rng.sample(self.things, len(self.things)):
            owner, name = thing.owner, thing.topic.name
            asker = owner if owner and rng.random() < 0.5 else rng.choice(present)
            line = rng.choice(thing.topic.of("Q" if asker == owner or not owner else "N"))
            at += timedelta(minutes=rng.randint(1, 9))
            *stale, (current, turn) = told[thing.number]
            cause, cause_turn = causes[thing.number].get(len(stale), (None, None)) if stale else (None, None)
            yield Question(
                text=line.text.format(name=owner),
                at=at,
                subject=f"{owner}'s {name}" if self.group and owner else name,
                current=current,
                current_turn=turn,
                stale=tuple(stale),
                cause=cause,
                cause_turn=cause_turn,
                asked_by=asker,
            )


def rng_hours(rng: Random) -> int:
    """How long after the last turn the questions begin."""
    return rng.choice((1, 3, 20, 48, 120))


def conversations(count: int, seed: int) -> Iterator[Conversation]:
    """The first ``count`` conversations of a seed; each depends on the seed and its own number only."""
    for number in range(count):
        yield Builder(seed, number).build()
