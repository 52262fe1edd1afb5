"""Spans of days counted from a day: its first, and the first that no longer belongs to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Literal

DAY = timedelta(days=1)
WEEK = timedelta(days=7)
MONTHS = tuple("jan feb mar apr may jun jul aug sep oct nov dec".split())  # noqa: SIM905
WEEKDAYS = tuple("mon tue wed thu fri sat sun".split())  # noqa: SIM905

Direction = Literal["past", "future"]
Days = tuple[date, date]


def month_of(name: str) -> int:
    return MONTHS.index(name.casefold()[:3]) + 1


def weekday_of(name: str) -> int:
    return WEEKDAYS.index(name.casefold()[:3])


def one(day: date, ahead: int = 0) -> Days:
    return day + DAY * ahead, day + DAY * (ahead + 1)


def week(day: date, ahead: int = 0) -> Days:
    monday = day - DAY * day.weekday() + WEEK * ahead
    return monday, monday + WEEK


def fortnight(day: date, ahead: int = 0) -> Days:
    return week(day, ahead * 2)[0], week(day, ahead * 2 + 1)[1]


def weekend(day: date, ahead: int = 0) -> Days:
    monday, after = week(day, ahead)
    return monday + DAY * 5, after


def months(day: date, ahead: int) -> date:
    """The first day of the month that is so many after this day's."""
    index = day.year * 12 + day.month - 1 + ahead
    return date(index // 12, index % 12 + 1, 1)


def month(day: date, ahead: int = 0, *, length: int = 1) -> Days:
    return months(day, ahead), months(day, ahead + length)


def quarter(day: date, ahead: int = 0) -> Days:
    return month(date(day.year, (day.month - 1) // 3 * 3 + 1, 1), ahead * 3, length=3)


def year(day: date, ahead: int = 0) -> Days:
    return date(day.year + ahead, 1, 1), date(day.year + ahead + 1, 1, 1)


def decade(day: date, ahead: int = 0) -> Days:
    first = day.year // 10 * 10 + ahead * 10
    return date(first, 1, 1), date(first + 10, 1, 1)


def moment(day: date, ahead: int = 0) -> Days:
    """Hours and minutes: they are within the day."""
    return one(day)


UNITS: dict[str, Callable[[date, int], Days]] = {
    "minute": moment, "hour": moment, "day": one, "night": one, "week": week, "fortnight": fortnight,
    "weekend": weekend, "month": month, "quarter": quarter, "year": year, "decade": decade,
}  # fmt: skip


def unit(name: str, day: date, ahead: int) -> Days:
    """The week, month, ... that lies so many after this day's."""
    return UNITS[name.casefold()](day, ahead)


def before(today: date, weekday: int) -> date:
    return today - DAY * ((today.weekday() - weekday - 1) % 7 + 1)


def after(today: date, weekday: int) -> date:
    return today + DAY * ((weekday - today.weekday() - 1) % 7 + 1)


def third(side: str | None, days: Days) -> Days:
    """The early, middle or late part, if one is meant."""
    first, after = days
    length = (after - first) / 3
    match (side or "").casefold().split():
        case ["early" | "beginning" | "start", *_]:
            return first, first + length
        case ["mid" | "middle", *_]:
            return first + length, after - length
        case [_, *_]:
            return after - length, after
        case _:
            return days


def toward(direction: Direction, today: date, days: Callable[[int], Days]) -> Days:
    """Of last year's, this year's and next year's: the nearest on the side that a sentence looks to."""
    near = [days(today.year + ahead) for ahead in (-1, 0, 1)]
    if direction == "future":
        return next(days for days in near if days[1] > today)
    return next(days for days in reversed(near) if days[0] <= today)


def easter(year: int) -> date:
    """Gregorian Easter Sunday, by the anonymous algorithm."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return date(year, f // 31, f % 31 + 1)


def thanksgiving(year: int) -> date:
    return after(date(year, 11, 21), 3)
