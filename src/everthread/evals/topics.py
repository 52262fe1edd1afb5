"""The topics: things that have one value at a time, with all that is said about them.

A topic's heading is ``== key | me or us | setting | field | name``; topics of one field never meet in a conversation.
Its lines are tagged, go on after two blanks, and may end in ``>> reply``:

V values, F first telling, C change said openly, S change told as a plain state, R return to an earlier value,
Q question, N question about somebody named, B cause, W cause told later, P cause told before, D distractor.

Fields: {v} value, {V} the same at a sentence's start, {old} the value before, {c} and {C} cause, {o} a value that does
not hold, {past} a value that held once, {name} the owner.
"""

from dataclasses import dataclass, field
from functools import cache

from everthread.evals.topics_club import CLUB
from everthread.evals.topics_home import HOME
from everthread.evals.topics_self import SELF
from everthread.evals.topics_work import WORK


@dataclass(frozen=True, slots=True)
class Line:
    """What a user writes, and the assistant's answer if it needs one of its own."""

    text: str
    reply: str = ""


@dataclass(slots=True)
class Topic:
    """One kind of serial fact and its wording."""

    key: str
    personal: bool
    setting: str
    area: str
    name: str
    values: list[str] = field(default_factory=list)
    lines: dict[str, list[Line]] = field(default_factory=dict)

    def of(self, tag: str) -> list[Line]:
        """The lines with a tag."""
        return self.lines.get(tag, [])

    def text(self) -> str:
        """All the wording in lower case, to be searched for values of other topics."""
        return "\n".join(f"{line.text} {line.reply}" for lines in self.lines.values() for line in lines).casefold()


def split_line(text: str) -> Line:
    """Separate a message from its reply."""
    said, _, reply = text.partition(">>")
    return Line(said.strip(), reply.strip())


def blocks(text: str) -> list[str]:
    """The logical lines of a text block: those that begin with blanks go on with the one before."""
    joined: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith("  "):
            joined[-1] += " " + line.strip()
        elif line.strip():
            joined.append(line.strip())
    return joined


def parse(text: str) -> list[Topic]:
    """Read the topics of one text block."""
    topics: list[Topic] = []
    for line in blocks(text):
        if line.startswith("== "):
            key, owner, setting, area, name = (part.strip() for part in line[3:].split("|"))
            topics.append(Topic(key, owner == "me", setting, area, name))
            continue
        tag, _, rest = line.partition(" ")
        if tag == "V":
            topics[-1].values = [value.strip() for value in rest.split(";")]
        else:
            topics[-1].lines.setdefault(tag, []).append(split_line(rest))
    return topics


TOPICS: dict[str, Topic] = {topic.key: topic for part in (WORK, HOME, SELF, CLUB) for topic in parse(part)}


def names_one_of(values: list[str], text: str) -> bool:
    """Whether a text (in lower case) contains any of the values."""
    return any(value.casefold() in text for value in values)


@cache
def apart(one: str, other: str) -> bool:
    """Whether two topics can be in one conversation: other fields, and no value of one in the texts of the other."""
    a, b = TOPICS[one], TOPICS[other]
    return (
        a.area != b.area
        and not names_one_of(a.values, b.text() + "\n".join(b.values).casefold())
        and not names_one_of(b.values, a.text() + "\n".join(a.values).casefold())
    )
