"""What kind of statement a clause makes: a fact, a preference, a decision, an event, the end of something; or none."""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import datetime
from typing import Any

import msgspec

from everthread.core.claim import Draft, Kind, Span, Voice
from everthread.memory import cues, refuse, turnings
from everthread.memory.clause import ADVERBS, DETERMINERS, LEADS, PRONOUNS, Clause
from everthread.memory.parts import Part, trimmed
from everthread.memory.verbs import CHOICES, HAPPENINGS, LIKINGS, OTHERS, STATES, TURNS
from everthread.memory.when import Mention
from everthread.memory.wording import kinds, shape

LONGEST_VALUE = 12  # words
SURE, LIKELY, LOOSE, SECOND_HAND = 1.0, 0.8, 0.6, 0.4

NAMED = re.compile(
    r"\b(?i:my name is|my name['’]s|i['’]m called|i go by|call me)\s+(?P<name>[A-Z][\w'’-]+(?: [A-Z][\w'’-]+){0,2})"
)
VAGUE = re.compile(
    r"(?:it|that|this|these|those|them|him|her|you|your|how|what|when|where|why|if|to (?:hear|see|know)|me|us|so|"
    r"myself|yourself|himself|herself|ourselves|each other|one another|something|anything|everything|"
    r"the (?:idea|way|fact)|(?:my|our) mind|there|here)\b",
    re.IGNORECASE,
)
PERSONAL = re.compile(
    r"(?:allergic|intolerant|vegan|vegetarian|pescatarian|diabetic|asthmatic|celiac|coeliac|pregnant|married|single|"
    r"divorced|"
    r"engaged|widowed|retired|self-employed|unemployed|left-handed|right-handed|colou?r-?blind|deaf|blind|dyslexic|"
    r"bilingual|"
    r"lactose|jewish|muslim|christian|hindu|buddhist|an only child|afraid of|scared of|responsible for|in charge of|"
    r"originally from|from [A-Z]|based|(?:\d{1,3}|[a-z]+-?[a-z]*) years old|\d{1,3}\b|"
    r"an? (?!(?:bit|little|lot|huge|big|great|good|fan|mess|joke|shame|pity|disaster|nightmare|must|no-brainer|long|"
    r"bad|tough|"
    r"hard|real|total|few|while)\b)\w+)"
)
A_THING = re.compile(r"an? (?!(?:bit|little|lot|must|mess|joke)\b)\w+(?: \w+)?(?: now| instead)?[.!]?\Z", re.IGNORECASE)
HABIT = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|(?:once|twice) a|on (?:mon|tues|wednes|thurs|fri|satur|"
    r"sun)days)\b",
    re.IGNORECASE,
)
PLACED = re.compile(r"(?:on|at|in|with|from|off)\s+(?:the )?[A-Z`]")
FAN = re.compile(r"(?:an? (?:huge |big |great )?(?:fan|lover) of|into|fond of|keen on)\s+", re.IGNORECASE)
NOBODY = frozenset({"you", "it", "this", "that", "there", "he", "she", "they", "your"})
NOT_A_SUBJECT = re.compile(
    r"(?:(?:the|my|our|this|that|these|those|a|an|all|both)\s+)?(?:\w+\s+){0,2}?(?:problem|issue|thing|point|"
    r"question|idea|"
    r"reason|truth|fact|answer|best|worst|only|first|next|last|hope|trick|catch|rest|others?|guess|mistake|bad|"
    r"fault|way|"
    r"difference|key|result|example|error|bug)s?(?=\Z|\s+(?:is|are|was|were|with|of|here|that|for|in|now)\b)",
    re.IGNORECASE,
)
PREPOSITION = re.compile(r"(?:back into|back to|in|at|on|to|for|with|as|from|by|into)\b", re.IGNORECASE)
TRAILING = re.compile(
    r"[\s,]+(?:now|anymore|any more|any longer|instead|these days|nowadays|currently|at the moment|too|as well|"
    r"again|though|"
    r"actually|already|for now|right now|really|a lot|very much|so much|since|until|till|by|on|in|from|at|for)\Z",
    re.IGNORECASE,
)
CUT = re.compile(
    r",\s+(?:which|who|where|and|but|so|or|since|as)\b|\s+(?:which|who|that|when|while|because|so that|instead of|"
    r"rather than|but)\s|"
    r"\s+in favou?r of\s|\(|\s[-–—]\s",
    re.IGNORECASE,
)
USING = frozenset({"use", "choose", "pick", "adopt", "go", "prefer", "select", "introduce"})
PURPOSE = re.compile(
    r"\sfor (?:the |our |all |an? )?(?P<purpose>[^\W\d][\w-]+(?: [\w-]+)?)"
    r"(?=\s*(?:[,;.!?]|\Z|\s(?:now|since|because|and|on|in)\b))"
)
MATTER = re.compile(r"\bfor (?:the |our |my |all )?(?P<purpose>[\w-]+(?: [\w-]+)?),?\s+\Z", re.IGNORECASE)
WHEREBY = re.compile(r"\s+(?:on|for|with|in|at|as|across|through|via|over|to|than|inside|behind)\s+", re.IGNORECASE)
TO = re.compile(r"\b(?:to|for|from|until|by|is)\s+(?:the\s+)?\Z|^\s*\Z", re.IGNORECASE)
UNTIL = re.compile(r"\b(?:until|till)\s+(?:the\s+)?\Z|^(?:until|till)\b", re.IGNORECASE)
STARTING = re.compile(
    r"\b(?:since|from|as of|starting|effective|after)\s+(?:the\s+)?\Z|^(?:since|from|as of)\b", re.IGNORECASE
)
COUNTED = re.compile(r"(?:an?|no|\d+|one|two|three|four|five|six|seven|eight|nine|ten|type)\b", re.IGNORECASE)
GOING = re.compile(r"\s*(?:with\s+\S|for\s+(?!an?\b)\S)", re.IGNORECASE)
DAILY = frozenset(
    {
        "accept",
        "try",
        "leave",
        "return",
        "drop",
        "push",
        "change",
        "pick",
        "sign",
        "move",
        "stop",
        "roll",
        "shift",
        "trade",
    }
)  # what people also do without deciding anything
EMPTY_WITH = frozenset(
    {"have", "take", "keep", "know", "start", "follow", "call", "run", "become", "stand", "sit", "play"}
)


LASTING = frozenset(
    {
        "live",
        "work",
        "use",
        "own",
        "weigh",
        "cost",
        "study",
        "speak",
        "smoke",
        "drive",
        "rent",
        "belong",
        "manage",
        "lead",
    }
)  # what was so for a time, rather than happened
OURS = ("my ", "our ", "the ", "his ", "her ", "their ", "all ")
NAME = re.compile(r"\s[A-Z]")
NO_NAMES = DETERMINERS | PRONOUNS | ADVERBS | LEADS


class Passage(msgspec.Struct, frozen=True):
    """A person's, or the model's, own words in one message."""

    message: int
    offset: int  # where in the message they begin
    text: str
    speaker: str
    voice: Voice
    said_at: datetime
    times: tuple[Mention, ...]


Fields = dict[str, Any]  # of a Draft, by name
Made = tuple[Kind, Fields]


def classified(passage: Passage, part: Part, clause: Clause, start: int) -> Draft | None:
    """The statement that a clause makes, if a rule knows it; its quote begins at `start`."""
    if not speaks_of(passage, clause):
        return None
    made = (
        turned(passage, part, clause)
        or liked(passage, clause)
        or decided(passage, clause)
        or was(passage, clause)
        or held(passage, clause)
        or happened(passage, part, clause)
        or loosely(passage, clause)
    )
    if made is None or (passage.voice == "assistant" and made[0] == "preference"):
        return None
    if clause.subject.casefold().startswith("let") and made[0] != "decision":
        return None
    kind, fields = made
    fields = {**dated(passage, kind, clause, times_of(passage, part, clause, fields)), **fields}
    if "turning" not in fields:
        fields["turning"] = cues.turning(passage.text[part.start : part.end])
    if name := NAMED.search(passage.text, part.start, part.end):
        fields |= {"subject": "I", "attribute": "name", "value": name["name"]}
    return drafted(passage, kind, *trimmed(passage.text, start, part.end), **fields)


def drafted(passage: Passage, kind: Kind, start: int, end: int, **fields: Any) -> Draft:
    draft = Draft(
        kind=kind,
        quote=passage.text[start:end],
        span=Span(passage.message, passage.offset + start, passage.offset + end),
        speaker=passage.speaker,
        voice=passage.voice,
        valid_from=passage.said_at,
    )
    draft = msgspec.structs.replace(draft, **fields)
    if passage.voice == "assistant":
        return msgspec.structs.replace(draft, confidence=min(draft.confidence, SECOND_HAND))
    return draft


def speaks_of(passage: Passage, clause: Clause) -> bool:
    """Is the subject somebody or something that a statement can be about?"""
    subject = clause.subject.casefold()
    if passage.voice == "assistant":
        return subject == "we" or subject.startswith("our ")
    if subject in NOBODY or subject in refuse.EMPTY or subject.startswith(("your ", "a ", "an ", "its ")):
        return False
    return NOT_A_SUBJECT.match(clause.subject) is None


# --- the kinds ---


def turned(passage: Passage, part: Part, clause: Clause) -> Made | None:
    """Something is over, or became something else, and the clause says so itself."""
    if clause.tense == "modal" or clause.used_to:
        return None
    turn = turnings.turning(passage.text, clause, part.end)
    if turn is None:
        return None
    kind: Kind = "decision" if clause.verb in TURNS | CHOICES | {"go", "get", "give"} else "fact"
    return "preference" if clause.verb in LIKINGS else kind, {
        "subject": None if turn.old == clause.subject else turn.about or clause.subject,
        "attribute": attribute(passage, clause),
        "value": turn.new,
        "replaces": turn.old,
        "negated": turn.new is None and turn.old is not None,
        "turning": "hard",
        "confidence": LIKELY,
    }


def liked(passage: Passage, clause: Clause) -> Made | None:
    """Somebody likes, prefers or cannot stand something."""
    start, end = clause.rest
    verb, negated = clause.verb, clause.negated
    fan = FAN.match(passage.text, trimmed(passage.text, start, end)[0], end) if verb == "be" else None
    if clause.tense == "modal" and verb in {"prefer", "rather"} and not negated:
        verb = "prefer"
    elif clause.tense == "modal" and verb == "stand" and negated:
        verb = "like"
    elif fan is not None and clause.tense == "present":
        verb, start = "like", fan.end()
    elif verb not in LIKINGS or clause.passive or not (clause.tense == "present" or clause.used_to):
        return None
    value = value_at(passage, start, end)
    value = thing(value) if verb == "prefer" else value
    if value is None or VAGUE.match(value):
        return None
    if verb in {"hate", "dislike", "loathe"}:
        negated = not negated
    verb = verb if verb == "prefer" else "like"
    return "preference", said_of(clause, verb, value, LIKELY) | {"negated": negated}


def decided(passage: Passage, clause: Clause) -> Made | None:
    rest = passage.text[slice(*clause.rest)]
    subject, verb = clause.subject.casefold(), clause.verb
    proposed = subject.startswith("let") and verb in {"use", "stick", "stay"}
    if not (verb in CHOICES | TURNS or proposed or (verb == "go" and GOING.match(rest))):
        return None
    if clause.tense == "modal" or clause.negated or (verb in DAILY and subject == "i"):
        return None
    if verb == "agree" and not re.match(r"\s*(?:to|on|that)\b", rest):
        return None
    value = value_at(passage, *clause.rest)
    value = thing(value) if verb in USING else value
    if value is None or VAGUE.match(value):
        return None
    return "decision", said_of(clause, attribute(passage, clause), value, LIKELY)


def was(passage: Passage, clause: Clause) -> Made | None:
    """Somebody or something is something."""
    value = value_at(passage, *clause.rest) if clause.verb == "be" and not clause.passive else None
    if value is None or VAGUE.match(value) or refuse.is_opinion(value) or clause.tense == "modal":
        return None
    subject = clause.subject.casefold().replace("’", "'")
    kind, _ = shape(value)
    raw = passage.text[slice(*clause.rest)].lstrip()
    exact = kind in {"time", "amount", "choice", "name"}
    person = (
        subject in {"i", "we"} or subject.startswith(("my ", "our ")) or "'s " in subject or is_name(clause.subject)
    )
    if clause.tense == "future":
        fits = exact and subject not in {"i", "we"}
    elif subject in {"i", "we"}:
        fits = bool(PERSONAL.match(raw) or PLACED.match(raw))
    elif subject.startswith(("my ", "our ")) or "'s " in subject:
        fits = kind != "words" or bool(PERSONAL.match(raw)) or len(value.split()) <= 6
    else:
        fits = (
            exact
            or (is_name(clause.subject) and bool(PERSONAL.match(raw)))
            or (clause.tense == "present" and not clause.perfect and A_THING.match(raw) is not None)
        )
    if not fits:
        return None
    told = attribute(passage, clause) if kind in {"name", "choice"} else "is"
    return "fact", said_of(clause, told, value, SURE if exact else LIKELY if person else LOOSE)


def held(passage: Passage, clause: Clause) -> Made | None:
    """A state of affairs: somebody lives, works, uses, has; something costs, starts, runs."""
    verb = clause.verb
    states = (verb in STATES and verb != "be") or (clause.passive and verb in {"write", "make"})
    if verb in HAPPENINGS and clause.tense == "present" and HABIT.search(passage.text, *clause.rest):
        states = True
    value = value_at(passage, *clause.rest) if states and clause.tense not in {"modal", "future"} else None
    value = thing(value) if verb in USING else value
    if value is None or VAGUE.match(value):
        return None
    past = clause.tense == "past" and not clause.used_to
    if past and verb not in LASTING and (shape(value)[0] != "amount" or clause.subject.casefold() in {"i", "we"}):
        return None  # an event, if it has its date
    if verb in {"start", "begin", "manage"} and attribute(passage, clause).endswith(" to"):
        return None
    if (verb == "have" and not COUNTED.match(value)) or (verb in EMPTY_WITH and refuse.is_idle(value)):
        return None
    subject = clause.subject.casefold()
    exact = shape(value)[0] in {"time", "amount", "choice", "name"}
    mine = subject in {"i", "we"} or subject.startswith(("my ", "our "))
    if not exact and not mine and not is_name(clause.subject):
        return None
    return "fact", said_of(clause, attribute(passage, clause), value, SURE if exact else LIKELY)


def happened(passage: Passage, part: Part, clause: Clause) -> Made | None:
    """Something that has its date."""
    if clause.tense == "modal" or clause.negated or clause.verb in OTHERS or clause.used_to:
        return None
    subject = clause.subject.casefold()
    known = is_name(clause.subject) or subject.startswith(("my ", "our ", "the ")) or subject in {"i", "we"}
    if not known or not within(passage, part):
        return None
    if clause.verb == "be" and not PLACED.match(passage.text[slice(*clause.rest)].lstrip()):
        return None
    if clause.tense == "present" and not clause.perfect and clause.verb not in HAPPENINGS | STATES | TURNS:
        return None
    return "event", said_of(clause, attribute(passage, clause), value_at(passage, *clause.rest), LIKELY)


def loosely(passage: Passage, clause: Clause) -> Made | None:
    """Whatever else is said of somebody or something, in case it matters."""
    value = value_at(passage, *clause.rest)
    if passage.voice == "assistant" or value is None or VAGUE.match(value) or refuse.is_opinion(value):
        return None
    exact = bool(kinds(passage.text[slice(*clause.rest)]))
    if clause.verb in OTHERS and not exact:
        return None
    if (clause.tense == "modal" and not exact) or clause.subject.casefold().startswith("let"):
        return None
    if clause.verb in EMPTY_WITH and refuse.is_idle(value):
        return None
    subject = clause.subject.casefold()
    ours = subject in {"i", "we"} or subject.startswith(OURS) or "'s " in subject.replace("’", "'")
    if not (ours or exact or is_name(clause.subject) or NAME.search(passage.text, *clause.rest)):
        return None
    passing = clause.tense == "past" and not clause.used_to and clause.verb != "be"
    return "event" if passing else "fact", said_of(clause, attribute(passage, clause), value, LOOSE)


def is_name(subject: str) -> bool:
    """Anna, Max Weber, Anna's brother; a sentence's first word alone may be anything."""
    words = subject.replace("’", "'").split()
    return (
        words[0][:1].isupper()
        and words[0].casefold() not in NO_NAMES
        and (len(words) == 1 or words[-1][:1].isupper() or "'s" in words[0])
    )


# --- their fields ---


def said_of(clause: Clause, told: str, value: str | None, confidence: float) -> Fields:
    return {
        "subject": clause.subject,
        "attribute": told,
        "value": value,
        "negated": clause.negated,
        "confidence": confidence,
    }


def attribute(passage: Passage, clause: Clause) -> str:
    """The verb with the preposition that follows it, and what a thing is used for."""
    rest = passage.text[clause.rest[0] : clause.rest[0] + 40].lstrip()
    preposition = PREPOSITION.match(rest)
    verb = "is" if clause.verb == "be" else clause.verb
    told = f"{verb} {preposition[0].casefold()}" if preposition else verb
    uses = verb in USING and (verb != "go" or told == "go with")
    purpose = PURPOSE.search(passage.text, *clause.rest) if uses else None
    if uses and purpose is None and clause.start:
        purpose = MATTER.search(passage.text[max(0, clause.start - 60) : clause.start])
    return f"{told} for {purpose['purpose'].casefold()}" if purpose else told


def thing(value: str | None) -> str | None:
    """The thing itself, of what is used somewhere for something."""
    return WHEREBY.split(value, maxsplit=1)[0] if value else None


def value_at(passage: Passage, start: int, end: int) -> str | None:
    """What is said about the subject, without the date and the small words after it; None if it is too long."""
    text = passage.text
    cut = CUT.search(text, start, end)
    start, end = trimmed(text, start, cut.start() if cut else end)
    preposition = PREPOSITION.match(text, start, end)
    if preposition and preposition.end() < end:
        start = trimmed(text, preposition.end(), end)[0]
    whole = end
    for mention in reversed(passage.times[: bisect_left(passage.times, end, key=lambda mention: mention.start)]):
        if mention.end < end or mention.start <= start:
            break
        end = trimmed(text, start, mention.start)[1]
    for _ in range(3):
        trailing = TRAILING.search(text[start:end])
        end = start + trailing.start() if trailing else end
    value = text[start : end if end > start else whole].strip(' \n\t"“”')
    return value if len(value.split()) <= LONGEST_VALUE and any(map(str.isalnum, value)) else None


def is_value(passage: Passage, clause: Clause, mention: Mention) -> bool:
    """Is the date what is decided ("moved to 5 May"), not when that was?"""
    return clause.rest[0] <= mention.start and TO.search(passage.text[clause.rest[0] : mention.start]) is not None


def times_of(passage: Passage, part: Part, clause: Clause, fields: Fields) -> tuple[Mention, ...]:
    """The times a clause speaks of; of a change of dates only the new one."""
    times = within(passage, part)
    if fields.get("replaces") is None or len(times) == 0 or not (new := fields["value"]):
        return times
    return tuple(mention for mention in times if new in passage.text[mention.start : mention.end]) or tuple(
        mention for mention in times if str(fields["replaces"]) not in passage.text[mention.start : mention.end]
    )


def within(passage: Passage, part: Part) -> tuple[Mention, ...]:
    first = bisect_left(passage.times, part.start, key=lambda mention: mention.start)
    last = bisect_left(passage.times, part.end, key=lambda mention: mention.start)
    return passage.times[first:last]


def dated(passage: Passage, kind: Kind, clause: Clause, times: tuple[Mention, ...]) -> Fields:
    """When it is said to be so, or to have happened."""
    said_at = passage.said_at
    over = clause.used_to or (kind in {"fact", "preference"} and clause.tense == "past")
    best = next((mention for mention in times if mention.exact), times[0] if times else None)
    if best is None:
        return {"valid_from": None, "valid_to": said_at} if over else {}
    before, itself = passage.text[max(0, best.start - 20) : best.start], passage.text[best.start : best.end]
    when = best.interval
    if UNTIL.search(before) or UNTIL.search(itself):
        return {"when": when, "valid_from": None if over else said_at, "valid_to": when.until}
    if over:
        return {"when": when, "valid_from": when.since, "valid_to": min(when.until, said_at)}
    if kind == "event" or STARTING.search(before) or STARTING.match(itself):
        return {"when": when, "valid_from": when.since}
    if kind == "decision" and not is_value(passage, clause, best):
        return {"when": when, "valid_from": when.since}
    return {"when": when}
