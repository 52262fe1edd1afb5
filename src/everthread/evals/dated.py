"""Whether a question's date can be had from the turns that hold its answer.

Counted are questions whose answer is one date of a known year: a day ("7 May 2023"), a month ("June 2023"), a season, a
year, or one of these told relatively ("the week before 9 June 2023"); beside it stand only such words as "around".

The answer's time is the day, the month, the season or the year. "The Friday before" a day is that Friday; "two days
before" it is that day. Loose are: a week (or a few days) before a day: its last seven; some weeks before it: the seven
around that; the weekend before it: the last whole one; the week or weekend of a day: the seven around it; the first or
last week of a month: its first or last seven days; early, mid and late (or the end of) a month: its thirds.

The times that a turn offers are those that `memory.when` resolves in its text, against the moment it was said; if the
text names no time, the day it was said on. An answer is met if one offered time lies within the answer's time; a loose
one if an offered time of at most a week overlaps it. Nothing else counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta

import msgspec

from everthread.memory.when import mentions

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # the month each begins with
NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4}
MONTH = rf"(?P<month>{'|'.join(MONTHS)})[a-z]*\.?"
YEAR = r"(?P<year>(?:19|20)\d\d)"
DATES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<day>\d\d?)(?:st|nd|rd|th)?\s*(?:of\s+)?{MONTH},?\s*{YEAR}",
        rf"{MONTH}\s*(?P<day>\d\d?)(?:st|nd|rd|th)?,?\s+{YEAR}",
        rf"{MONTH},?\s*{YEAR}",
        rf"(?P<season>{'|'.join(SEASONS)}),?\s+(?:of\s+)?{YEAR}",
        YEAR,
    )
)
BEFORE = re.compile(
    rf"(?:(?P<count>{'|'.join(NUMBERS)})\s+)?(?P<unit>few days|days?|weekend|weeks?|{'|'.join(DAYS)})\s+before"
)
OF = re.compile(r"(?:week|weekend) of")
PART = re.compile(r"(?P<part>first week|last week|early|beginning|mid|middle|late|end)(?:\s+of)?")
IDLE = re.compile(r"(?:in|on|by|the|around|about|since|a|at|of|\W)*")
WEEK, ONE_DAY = timedelta(days=7), timedelta(days=1)
NEVER = date.max


class Time(msgspec.Struct, frozen=True):
    since: date
    until: date  # exclusive
    loose: bool = False

    def met(self, offered: Time) -> bool:
        if self.loose:
            short = offered.until - offered.since <= WEEK
            return short and offered.since < self.until and self.since < offered.until
        return self.since <= offered.since and offered.until <= self.until


def answered(answer: str) -> Time | None:
    """The time that an answer is, if it is one."""
    text = answer.casefold().strip(" .")
    match = next((match for pattern in DATES if (match := pattern.search(text))), None)
    if match is None or any(pattern.search(text, match.end()) for pattern in DATES[-1:]):
        return None
    around = f"{text[: match.start()]} {text[match.end() :]}"
    try:
        return told(match, around)
    except ValueError:  # the 31st of June
        return None


def told(match: re.Match[str], around: str) -> Time | None:
    known = match.groupdict()
    year = int(known["year"])
    if known.get("season"):
        first = date(year, SEASONS[known["season"]], 1)
        return Time(first, months_later(first, 3)) if idle(around) else None
    if not known.get("month"):
        return Time(date(year, 1, 1), date(year + 1, 1, 1)) if idle(around) else None
    month = MONTHS.index(known["month"]) + 1
    if not known.get("day"):
        return of_month(date(year, month, 1), around)
    return of_day(date(year, month, int(known["day"])), around)


def of_month(first: date, around: str) -> Time | None:
    after = months_later(first, 1)
    if idle(around):
        return Time(first, after)
    part = PART.search(around)
    if part is None or not idle(around.replace(part[0], " ")):
        return None
    match part["part"]:
        case "first week":
            return Time(first, first + WEEK, loose=True)
        case "last week":
            return Time(after - WEEK, after, loose=True)
        case "early" | "beginning":
            return Time(first, first.replace(day=11), loose=True)
        case "mid" | "middle":
            return Time(first.replace(day=11), first.replace(day=21), loose=True)
        case _:
            return Time(first.replace(day=21), after, loose=True)


def of_day(day: date, around: str) -> Time | None:
    if idle(around):
        return Time(day, day + ONE_DAY)
    before = BEFORE.search(around)
    if before is not None:
        return ahead(day, before) if idle(around.replace(before[0], " ")) else None
    of = OF.search(around)
    if of is not None and idle(around.replace(of[0], " ")):
        return Time(day - 3 * ONE_DAY, day + 4 * ONE_DAY, loose=True)
    return None


def ahead(day: date, before: re.Match[str]) -> Time:
    """The time that lies so long before a day."""
    count, unit = NUMBERS[before["count"] or "a"], before["unit"]
    if unit in DAYS:
        that = day - timedelta(days=(day.weekday() - DAYS.index(unit) - 1) % 7 + 1)
        return Time(that, that + ONE_DAY)
    if unit == "weekend":
        saturday = day - timedelta(days=day.weekday() + 2)  # of the week before: its own is not over
        return Time(saturday, saturday + 2 * ONE_DAY, loose=True)
    if unit in {"day", "days"}:
        return Time(day - count * ONE_DAY, day - (count - 1) * ONE_DAY)
    if unit == "few days" or count == 1:
        return Time(day - WEEK, day, loose=True)
    middle = day - count * WEEK
    return Time(middle - 3 * ONE_DAY, middle + 4 * ONE_DAY, loose=True)


def idle(text: str) -> bool:
    return IDLE.fullmatch(" ".join(text.split())) is not None


def months_later(first: date, count: int) -> date:
    month = first.month - 1 + count
    return date(first.year + month // 12, month % 12 + 1, 1)


# --- what turns offer ---


def offered(text: str, said_at: datetime) -> list[Time]:
    times = [
        Time(mention.interval.since.date(), whole_days(mention.interval.until)) for mention in mentions(text, said_at)
    ]
    return times or [said_on(said_at)]


def said_on(said_at: datetime) -> Time:
    return Time(said_at.date(), said_at.date() + ONE_DAY)


def whole_days(until: datetime) -> date:
    """The first day that lies wholly after an interval."""
    day = until.date()
    return day if until.time() == datetime.min.time() or day == NEVER else day + ONE_DAY


def grounded(answer: Time, turns: Iterable[tuple[str, datetime]]) -> bool:
    """Whether one of these turns, each with the moment it was said, tells the answer."""
    return any(answer.met(time) for text, said_at in turns for time in offered(text, said_at))


def by_said_day(answer: Time, turns: Iterable[tuple[str, datetime]]) -> bool:
    """The same from the dates of the conversation alone."""
    return any(answer.met(said_on(said_at)) for _, said_at in turns)
