"""The times a text speaks of: "last Friday" as an interval, given the moment it was said.

Of two patterns that match at one place the longer wins. Days are calendar days where the speaker is, written as UTC
midnights; a week begins on Monday; "last Friday" is the nearest one before today, "next Friday" the nearest after it; a
date without its year is the one the sentence's tense points to.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice

import msgspec

from everthread.core.claim import Interval
from everthread.memory.calendar import DAY, one
from everthread.memory.dates import HINT, RULES, Match, Said

MOST, LONGEST = 400, 50_000  # of one kind of date, and characters, that are read of one text
FUZZY = re.compile(r"\b(?:few|couple|several|some|other)\b", re.IGNORECASE)
CLOCK = re.compile(
    r"(?<![\w:.])(?:(?:at|by|around|from|until|till)\s+)?(?:"
    r"(?P<hour>1[0-2]|0?[1-9])(?:[:.](?P<minute>[0-5]\d))?\s?(?P<half>[ap])\.?m\b\.?|"
    r"(?P<hour24>[01]?\d|2[0-3]):(?P<minute24>[0-5]\d)(?!:?\d)|(?P<word>noon|midnight)\b)",
    re.IGNORECASE,
)
BESIDE = re.compile(r"[\s,]*(?:(?:at|by|around|in the (?:morning|afternoon|evening)|on)\s*)?", re.IGNORECASE)
SINCE = re.compile(r"\b(?:since|as of|starting|effective)\s+(?:the\s+)?(?:[a-z-]{1,12}\s+)?\Z", re.IGNORECASE)
FROM = re.compile(r"\b(?:from|between)\s+(?:the\s+)?\Z", re.IGNORECASE)
CHANGED = re.compile(
    r"\b(?:moved|switched|changed|shifted|pushed|postponed|rescheduled|delayed|bumped|brought|"
    r"went)\s+(?:\w+\s+){0,4}(?:from\s+)?\Z",
    re.IGNORECASE,
)
UNTIL = re.compile(r"\s*(?:-|–|to|until|till|through|and)\s*(?:the\s+)?", re.IGNORECASE)
OPENING = re.compile(r"(?:from|between|to|until|till|through|and|since)\s+", re.IGNORECASE)


class Mention(msgspec.Struct, frozen=True):
    """A time that a text speaks of, and where."""

    start: int
    end: int
    interval: Interval
    exact: bool = True  # False: "a few weeks ago", "the other day"


def mentions(text: str, said_at: datetime) -> tuple[Mention, ...]:
    """Every time the text speaks of, in order; none overlap."""
    if HINT.search(text) is None:
        return ()
    text = text[:LONGEST]
    days = apart(matched(text, said_at))
    return tuple(since(text, said_at, ranges(text, clocks(text, said_at, days))))


def interval(first: date, after: date) -> Interval:
    return Interval(midnight(first), midnight(after))


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def matched(text: str, said_at: datetime) -> Iterator[Mention]:
    today = said_at.date()
    for pattern, meaning in RULES:
        for match in islice(pattern.finditer(text), MOST):
            try:
                days = meaning(match, Said(today, text, *match.span()))
            except (ValueError, OverflowError):  # the 31st of June, or the year 0
                continue
            if days is not None and days[0] < days[1]:
                yield Mention(*match.span(), interval(*days), exact=FUZZY.search(match[0]) is None)


def apart(found: Iterable[Mention]) -> list[Mention]:
    """In order, without those that overlap an earlier or longer one."""
    kept: list[Mention] = []
    for mention in sorted(found, key=lambda mention: (mention.start, -mention.end)):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return kept


def clocks(text: str, said_at: datetime, days: list[Mention]) -> list[Mention]:
    """The days with the time of day that stands beside them; a time of day alone is today's."""
    whole = list(days)
    for match in islice(CLOCK.finditer(text), MOST):
        at = bisect_left(days, match.start(), key=lambda mention: mention.start)
        near = days[max(0, at - 1) : at + 1]
        beside = next((mention for mention in near if adjacent(text, mention, match)), None)
        day = beside.interval if beside else interval(*one(said_at.date()))
        if day.until - day.since <= DAY:
            start = min(match.start(), beside.start) if beside else match.start()
            end = max(match.end(), beside.end) if beside else match.end()
            whole.append(Mention(start, end, clock(day.since, match)))
    return apart(whole)


def adjacent(text: str, mention: Mention, match: Match) -> bool:
    gap = text[mention.end : match.start()] if mention.end <= match.start() else text[match.end() : mention.start]
    return BESIDE.fullmatch(gap) is not None


def clock(day: datetime, match: Match) -> Interval:
    """An hour of a day, or a minute of it."""
    if match["word"]:
        hour, minute = (12 if match["word"].casefold() == "noon" else 0), 0
    elif match["hour24"]:
        hour, minute = int(match["hour24"]), int(match["minute24"])
    else:
        hour, minute = int(match["hour"]) % 12, int(match["minute"] or 0)
        hour += 12 if match["half"].casefold() == "p" else 0
    begins = day + timedelta(hours=hour, minutes=minute)
    return Interval(begins, begins + (timedelta(minutes=1) if minute else timedelta(hours=1)))


def ranges(text: str, found: list[Mention]) -> Iterator[Mention]:
    """ "From March to May" as one time."""
    first: Mention | None = None
    for mention in found:
        if first is not None and spans(text, first, mention):
            first = Mention(first.start, mention.end, Interval(first.interval.since, mention.interval.until))
            continue
        if first is not None:
            yield first
        first = mention
    if first is not None:
        yield first


def spans(text: str, first: Mention, last: Mention) -> bool:
    """Do two times stand as the ends of one?"""
    return (
        first.interval.since < last.interval.until
        and CHANGED.search(text[max(0, first.start - 60) : first.start]) is None
        and FROM.search(text[max(0, first.start - 20) : first.start] + opening(text, first)) is not None
        and UNTIL.fullmatch(text[first.end : last.start] + opening(text, last)) is not None
    )


def opening(text: str, mention: Mention) -> str:
    """The preposition a mention begins with, if its pattern took it in."""
    match = OPENING.match(text, mention.start, mention.end)
    return match[0] if match else ""


def since(text: str, said_at: datetime, found: Iterable[Mention]) -> Iterator[Mention]:
    """ "Since last month" lasts until the day it is said."""
    today = midnight(said_at.date()) + DAY
    for mention in found:
        before = text[max(0, mention.start - 30) : mention.start] + opening(text, mention)
        if SINCE.search(before) and mention.interval.since < today:
            yield Mention(mention.start, mention.end, Interval(mention.interval.since, today), mention.exact)
        else:
            yield mention
