"""What was found, in one order: by words and meaning, then by who said it, when, and beside what.

To what a passage fits by itself, part of its neighbours' fit is added, for an answer seldom repeats the words of its
question, and part of its day's; then what the question hints at (a speaker, a time, whose words) are factors. All
numbers are round ones from the middle of a plateau.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

import msgspec

from everthread.core.claim import Interval
from everthread.core.memory import Found, Passage, own_fits
from everthread.core.sentences import vocabulary
from everthread.memory.calendar import DAY
from everthread.memory.when import mentions

MOST_WORDS = 24  # searched for at once
FOLLOWING = 2  # words of its own, at most, that a question has which leans on what was said before it
BEFORE_WORDS, BEFORE_TEXT = 8, 300  # words, and characters, of what was said before that then help

PREVIOUS, NEXT = 0.3, 0.15  # how much of its neighbours' fit a passage is given
SAME_DAY, PER_DAY = 0.2, 3  # how much of what its day's best three have on average
APART = timedelta(hours=6)  # those are not neighbours

NAMED = 1.8  # said by one whom the question names
ASKING = 0.8  # it is a question itself
TIMED = 1.25  # a time is asked for, and it speaks of one
LOOKED_AT = 500  # characters that are looked at for that
WITHIN = 1.4  # said within, or soon after, a time that the question names
SOON = timedelta(days=7)
OTHERS, NOT_MINE, THEIRS = 0.9, 0.75, 1.2  # not a person's words: mostly, if my own are asked for, if theirs are

BEST = 10  # passages of which one must fit
COVERED = 0.25  # what all words of the question in one passage count for, beside its cosine
FITS, FITS_US = 0.4, 0.22  # how well that one must fit; and if the question points to what its speakers share
BLIND, BLIND_US = COVERED / 2, COVERED / 5  # and where there are no vectors: half of the words, or one of five
WEAK = 0.15  # of the best score: what has less is left out

WORD = re.compile(r"[^\W_]+")
STOP = vocabulary(
    "a about above after again all also am an and any are as at be because been before being below between both but by",
    "can cannot could d did do does doing don down during each ever few for from further had has have having he her",
    "here hers herself him himself his how i if in into is it its itself just kind let likely ll m many may me might",
    "more most much my myself no nor not of off on once only or other our ours ourselves out over own please re s said",
    "same say shall she should so some such t tell than that the their theirs them themselves then there these they",
    "this those through to told too type under until up ve very was we were what when where which while who whom whose",
    "why will with would you your yours yourself yourselves",
    "aren couldn didn doesn hadn hasn haven isn shouldn wasn weren won wouldn",
)
IDLE = vocabulary(  # said to keep a conversation going; what has nothing else in it asks for nothing
    "afternoon alright amazing awesome bye care continue cool course day evening exactly fine funny go going good",
    "goodbye got great haha hello hey hi hm hmm interesting keep know lol lot love maybe mind morning much never next",
    "nice night now ok okay oh perfect repeat right see sorry sounds sure thank thanks thx understood welcome well wow",
    "wonderful ya yeah yep yes yup",
)
ROLES = frozenset({"user", "assistant", "system", "developer", "tool"})

LEANING = re.compile(
    r"\b(?:that|this|those|these|it|its|he|him|his|she|her|they|them|their|there|then|else|ones?)\b|"
    r"^\W*(?:and|but|so|or)\b|^\W*(?:who|what|when|where|which|why|how)(?:\s+\w+)?\s*\??\W*$",
    re.IGNORECASE,
)
WHEN = re.compile(
    r"\b(?:when|(?:what|which)\s+(?:date|day|week|month|year|time)|how\s+(?:long|recently)|"
    r"how\s+many\s+(?:days|weeks|months|years)|since\s+when)\b",
    re.IGNORECASE,
)
MINE = re.compile(r"\b(?:i|my|mine|me|myself)\b", re.IGNORECASE)
YOURS = re.compile(
    r"\bdid\s+you\b|\byour\s+(?:last\s+|earlier\s+|previous\s+)?(?:advice|answer|suggestion|recommendation|list|reply)|"
    r"\byou\s+(?:\w+\s+)?(?:said|suggested|recommended|told|gave|mentioned|proposed|wrote|explained|listed|provided|"
    r"described|advised|answered)\b",
    re.IGNORECASE,
)
SHARED = re.compile(
    r"(?<!how do )(?<!how can )(?<!how should )\bi\b|\b(?:my|mine|myself|we|our|ours|us|remember|remind|recall|earlier|"
    r"previous(?:ly)?|last\s+time|again|already|(?:you|they|he|she)\s+(?:said|told|mentioned|suggested|recommended))\b",
    re.IGNORECASE,
)
TIMES = vocabulary(
    "yesterday today tonight tomorrow ago last next since week weeks weekend month months year years days morning",
    "night monday tuesday wednesday thursday friday saturday sunday january february march april june july august",
    "september october november december summer winter spring autumn recently",
    *(f"{day}{'th' if 10 < day < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}" for day in range(1, 32)),
    *map(str, range(1950, 2050)),
)
SIGNS = str.maketrans(dict.fromkeys(".,;:!?()'\"", " "))


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of the memory."""

    text: str
    previous: str = ""  # what was said just before it
    at: datetime


class Sought(msgspec.Struct, frozen=True):
    """What a question is searched by; nothing, if it asks for nothing."""

    words: tuple[str, ...] = ()
    text: str = ""  # whose vector is compared
    context: str = ""  # the question, after what it leans on


class Ranked(msgspec.Struct, frozen=True, gc=False):
    passage: Passage
    score: float
    similar: float = 0.0  # its cosine with the question


# --- before the search ---


def words(text: str, *, names: Collection[str] = ()) -> tuple[str, ...]:
    """What is searched for lexically: the first words that mean something, each once, letters and digits only.

    Speakers' names are left out: those who are addressed by name are found by them, not those who speak."""
    left_out = STOP.union(*map(parts, names))
    found = dict.fromkeys(word for word in map(str.lower, WORD.findall(text)) if word not in left_out)
    return tuple(found)[:MOST_WORDS]


def sought(question: Question, *, names: Collection[str] = ()) -> Sought:
    """What to search for. A short question that leans on what was said before it is searched together with that."""
    own = words(question.text, names=names)
    if not own and named(question.text, names):
        names = ()  # nothing but a name is asked for
        own = words(question.text)
    if IDLE.issuperset(own) and not ("?" in question.text and SHARED.search(question.text)):
        own = ()
    previous = question.previous[-BEFORE_TEXT:]
    before = words(previous, names=names)
    if len(own) <= FOLLOWING and not IDLE.issuperset(before) and LEANING.search(question.text):
        context = f"{previous}\n{question.text}"
        return Sought(tuple(dict.fromkeys((*own, *before[:BEFORE_WORDS]))), without(context, names), context)
    return Sought(own, without(question.text, names), question.text) if own else Sought()


def without(text: str, names: Collection[str]) -> str:
    """A text without speakers' names: they would draw its vector towards whatever names somebody."""
    spoken = frozenset().union(*map(parts, names))
    if not spoken:
        return text
    kept = re.sub(r"([^\W_]+)(?:['’]s\b)?", lambda word: "" if word[1].lower() in spoken else word[0], text)
    return " ".join(kept.split())


def parts(name: str) -> frozenset[str]:
    """The words of a speaker's name; a role is not a name."""
    return frozenset() if name in ROLES else frozenset(map(str.lower, WORD.findall(name))) - STOP


# --- after it ---


def rank(found: Sequence[Found], question: Question, *, names: Collection[str] = ()) -> tuple[Ranked, ...]:
    """The passages that matter, best first; none if none fits. Of equals the newest is first.

    `names` are the scope's speakers, as `sought` was given them; those of the passages are known."""
    names = {*names, *(each.passage.speaker for each in found)}
    wanted = sought(question, names=names)
    if not found or not wanted.text:
        return ()
    told = hints(question, wanted, names)
    fits = beside(found, own_fits([(each.lexical, each.similar) for each in found]))
    factors = told.factors(each.passage for each in found)
    numbered = ((fit * factor, each.passage.no, each) for fit, factor, each in zip(fits, factors, found, strict=True))
    order = sorted(numbered, reverse=True)
    if not fitting([each for *_, each in order[:BEST]], question, wanted, shared=bool(told.named)):
        return ()
    weakest = WEAK * order[0][0]
    strong = [(score, each) for score, _, each in order if score >= weakest]
    return tuple(Ranked(each.passage, score, each.similar) for score, each in sorted(strong, key=standing))


def standing(scored: tuple[float, Found]) -> tuple[float, float, int, int]:
    score, found = scored
    return (-score, -found.passage.said_at.timestamp(), -found.passage.seq, found.passage.no)


def beside(found: Sequence[Found], fits: Sequence[float]) -> list[float]:
    """Each passage's fit, with part of what stands just before and after it, and of the best of its day."""
    scores = list(fits)
    places = sorted((*place(each.passage), at) for at, each in enumerate(found))
    for (lineage, seq, *_, before), (same, following, *_, after) in pairwise(places):
        if following - seq <= 1 and lineage == same and adjacent(found[before].passage, found[after].passage):
            scores[after] += PREVIOUS * fits[before]
            scores[before] += NEXT * fits[after]
    days: dict[tuple[str, int], list[float]] = {}
    keys = [(each.passage.thread, each.passage.said_at.toordinal()) for each in found]
    for key, fit in zip(keys, fits, strict=True):
        days.setdefault(key, []).append(fit)
    shares = {key: SAME_DAY * sum(sorted(day)[-PER_DAY:]) / PER_DAY for key, day in days.items()}
    return [score + shares[key] for score, key in zip(scores, keys, strict=True)]


def place(passage: Passage) -> tuple[str, int, int, int, int]:
    return (passage.lineage, passage.seq, passage.message, passage.start, passage.no)


def adjacent(before: Passage, after: Passage) -> bool:
    """Does one follow the other, with no step or message between them, in one sitting?"""
    return (
        before.lineage == after.lineage
        and after.seq - before.seq <= 1
        and (before.seq != after.seq or after.message - before.message <= 1)
        and after.said_at - before.said_at < APART
    )


class Hints(msgspec.Struct, frozen=True):
    """What a question tells of its answer: by whom, when, in whose words."""

    named: frozenset[str]  # speakers
    around: tuple[tuple[datetime, datetime], ...]
    timed: bool  # a time is asked for
    others: float  # what words count that are not a person's

    def factors(self, passages: Iterable[Passage]) -> Iterator[float]:
        """What the fit of each passage is multiplied with."""
        for passage in passages:
            factor = NAMED if passage.speaker in self.named else 1.0
            if passage.role != "user":
                factor *= self.others
            if passage.text.endswith("?"):
                factor *= ASKING
            if self.timed and speaks_of_time(passage.text):
                factor *= TIMED
            if self.around and any(since <= passage.said_at < until for since, until in self.around):
                factor *= WITHIN
            yield factor


def hints(question: Question, wanted: Sought, names: Collection[str]) -> Hints:
    text = question.text
    return Hints(
        named=named(wanted.context, names),
        around=tuple(around(question)),
        timed=WHEN.search(text) is not None,
        others=THEIRS if YOURS.search(text) else NOT_MINE if MINE.search(text) else OTHERS,
    )


def named(text: str, names: Collection[str]) -> frozenset[str]:
    """The speakers whom a text names."""
    said = set(map(str.lower, WORD.findall(text)))
    return frozenset(name for name in names if not parts(name).isdisjoint(said))


def around(question: Question) -> Iterator[tuple[datetime, datetime]]:
    """When something was probably said about the times that a question names: mostly then or soon after."""
    for mention in mentions(question.text, question.at):
        interval: Interval = mention.interval
        try:
            yield interval.since - DAY, interval.until + max(SOON, interval.until - interval.since)
        except OverflowError:  # at the end of the calendar
            continue


def speaks_of_time(text: str) -> bool:
    """Roughly: to find out which one would take too long."""
    return not TIMES.isdisjoint(text[:LOOKED_AT].lower().translate(SIGNS).split())


# --- the margin ---


def fitting(best: Sequence[Found], question: Question, wanted: Sought, *, shared: bool) -> bool:
    """Does one of the best fit by itself? Its words count too: a rare name may mean nothing to a vector.

    More is asked of a question that may as well be one about the world."""
    shared = shared or wanted.context != question.text or SHARED.search(question.text) is not None
    plain, ours = (FITS, FITS_US) if any(each.similar for each in best) else (BLIND, BLIND_US)
    least = ours if shared else plain
    return any(each.similar + COVERED * covered(wanted.words, each.passage.text) >= least for each in best)


def covered(wanted: Sequence[str], text: str) -> float:
    """Which share of these words (there is one) the text has, in whatever form."""
    known = set(map(stem, WORD.findall(text.lower())))
    return sum(stem(word) in known for word in wanted) / len(wanted)


def stem(word: str) -> str:
    return word[: max(3, min(5, len(word) - 1))]
