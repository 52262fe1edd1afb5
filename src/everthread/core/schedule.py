"""When a job fires: by a cron expression, at an interval, or once.

A cron expression speaks of what the clocks of a zone show; a fire is a moment, told in UTC. Where clocks jump:

- A job that leaves out hours of the day (`30 2 * * *`) keeps each appointment once: one that the clock skips is kept
  at the first moment after the jump, one that it shows twice is kept the first time. A day that a zone left out as a
  whole has no appointments.
- A job of every hour (`*/30 * * * *`, `0 * * * *`) goes on in real time: it fires whenever the clock shows its minutes,
  twice where an hour is repeated, and not at all in one that is skipped.

cronsim reads expressions and finds the matching times of a clock that never jumps; jumps are ours
(docs/decisions/012-cron.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import ClassVar, Literal
from zoneinfo import ZoneInfo

import msgspec
from cronsim import CronSim, CronSimError

from everthread.errors import Malformed

SHORTEST = timedelta(seconds=10)
LONGEST = timedelta(days=366)
MOST_CHARACTERS = 200
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # nothing fires before
LAST = datetime(9900, 1, 1, tzinfo=UTC)  # nothing fires after: the calendar ends, and cronsim looks 50 years ahead
ANY = datetime(2000, 1, 1)  # noqa: DTZ001  # where an expression that is only read begins

SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
FORMS = 'Write a cron expression ("0 9 * * 1"), @daily, "every 30m" or a time ("2030-12-24T18:00:00").'
MONTHS = ("January", "February", "March", "April", "May", "June",
          "July", "August", "September", "October", "November", "December")  # fmt: skip
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
NTH = ("first", "second", "third", "fourth", "fifth")


class Cron(msgspec.Struct, frozen=True):
    expr: str
    timezone: str = "UTC"

    kind: ClassVar[Literal["cron"]] = "cron"

    @property
    def display(self) -> str:
        said = in_words(pattern(self.expr)) or f'by the cron expression "{NICKNAMES.get(self.expr, self.expr)}"'
        return f"{said} ({self.timezone})"

    def next(self, after: datetime) -> datetime | None:
        """The first fire strictly after a moment; None when there is none."""
        assert after.tzinfo is not None
        if after >= LAST:
            return None
        since = max(after, EPOCH).replace(microsecond=0)
        zone = zone_named(self.timezone)
        expr = NICKNAMES.get(self.expr, self.expr)
        return recurring(expr, zone, since) if len(pattern(self.expr).hours) == 24 else appointed(expr, zone, since)


class Every(msgspec.Struct, frozen=True):
    """Counted from its anchor in real time, whatever clocks show: the first fire is one step after it."""

    expr: str
    step: timedelta
    anchor: datetime
    timezone: str = "UTC"

    kind: ClassVar[Literal["interval"]] = "interval"

    @property
    def display(self) -> str:
        seconds = int(self.step.total_seconds())
        sizes = (("day", 86400, 10**6), ("hour", 3600, 24), ("minute", 60, 60), ("second", 1, 60))
        counts = [(seconds // size % most, unit) for unit, size, most in sizes if seconds // size % most]
        if len(counts) == 1 and counts[0][0] == 1:
            return f"every {counts[0][1]}"
        return "every " + listed(f"{count} {unit}{'s' * (count > 1)}" for count, unit in counts)

    def next(self, after: datetime) -> datetime | None:
        """The first fire strictly after a moment."""
        if after >= LAST:
            return None
        return self.anchor + self.step * (max((after - self.anchor) // self.step, 0) + 1)


class Once(msgspec.Struct, frozen=True):
    expr: str
    at: datetime  # UTC
    timezone: str = "UTC"

    kind: ClassVar[Literal["once"]] = "once"

    @property
    def display(self) -> str:
        shown = self.at.astimezone(zone_named(self.timezone))
        clock = shown.strftime("%H:%M:%S" if shown.second else "%H:%M")
        return f"once on {shown.day} {MONTHS[shown.month - 1]} {shown.year} at {clock} ({self.timezone})"

    def next(self, after: datetime) -> datetime | None:
        """Its time, while that is still to come."""
        return self.at if self.at > after else None


Schedule = Cron | Every | Once


def parse(text: str, timezone: str, *, now: datetime) -> Schedule:
    """What a client wrote; it fires at least once from now on. An interval is counted from now."""
    schedule = restore(text, timezone, now)
    if schedule.next(now) is not None:
        return schedule
    if isinstance(schedule, Once):
        raise wrong(f"{schedule.expr} is in the past: it is {now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ} now.")
    raise never(schedule.expr)


def restore(expr: str, timezone: str, anchor: datetime) -> Schedule:
    """The schedule that was stored as these three; an interval is counted from the anchor."""
    if len(expr) > MOST_CHARACTERS:
        raise wrong(f"It is longer than {MOST_CHARACTERS} characters. {FORMS}")
    zone = known_zone(timezone)
    text = " ".join(expr.split())
    if text.startswith("@"):
        return Cron(nickname(text.lower()), zone)
    if text.lower().startswith("every"):
        return interval(text.lower(), zone, anchor.astimezone(UTC).replace(microsecond=0))
    if re.match(r"[0-9]{4}-", text):
        return once(text.upper(), zone)
    return Cron(expression(text), zone)


def fires(schedule: Schedule, after: datetime, until: datetime, limit: int) -> tuple[datetime, ...]:
    """The first `limit` fires in (after, until]."""
    found: list[datetime] = []
    coming = schedule.next(after)
    while coming is not None and coming <= until and len(found) < limit:
        found.append(coming)
        coming = schedule.next(coming)
    return tuple(found)


def last(schedule: Schedule, after: datetime, until: datetime) -> datetime | None:
    """The newest fire in (after, until]; found by halving, however many there are."""
    newest = schedule.next(after)
    if newest is None or newest > until:
        return None
    none_since = until
    while none_since - newest > SECOND:
        middle = newest + (none_since - newest) / 2
        coming = schedule.next(middle)
        if coming is not None and coming <= until:
            newest = coming
        else:
            none_since = middle
    return newest


# --- reading ---


def wrong(message: str) -> Malformed:
    return Malformed(message, param="schedule")


def never(expr: str) -> Malformed:
    return wrong(f'"{expr}" never fires: no such day exists. For the last day of a month write L: "0 9 L * *".')


def known_zone(name: str) -> str:
    """A zone's name as IANA writes it."""
    known = zone_names()
    if (exact := known.get(name.lower())) is not None:
        return exact
    near = [known[close] for close in get_close_matches(name[:64].lower(), known, n=1)]
    hint = f'did you mean "{near[0]}"?' if near else 'for example "Europe/Berlin" or "UTC".'
    raise Malformed(f"{name[:64]!r} is no time zone of the IANA database; {hint}", param="timezone")


@cache
def zone_names() -> dict[str, str]:
    names = files("tzdata").joinpath("zones").read_text(encoding="ascii").split()
    return {name.lower(): name for name in names if name != "Factory"}


@cache
def zone_named(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def nickname(text: str) -> str:
    if text in NICKNAMES:
        return text
    raise wrong(f"{text[:40]!r} is none of {', '.join(NICKNAMES)}.")


def interval(text: str, zone: str, anchor: datetime) -> Every:
    amount = re.sub(r"(?<=[wdhms]) | (?=[wdhms])", "", text.removeprefix("every")).strip()
    found = re.fullmatch("".join(f"(?:([0-9]+){unit})?" for unit in SECONDS), amount)
    if not amount or found is None:
        raise wrong(
            f'"{text[:40]}" is no interval: write whole numbers of w, d, h, m and s in that order, as in "every 1h30m".'
        )
    seconds = sum(int(count or 0) * size for count, size in zip(found.groups(), SECONDS.values(), strict=True))
    if not SHORTEST.total_seconds() <= seconds <= LONGEST.total_seconds():
        raise wrong(
            f'"{text[:40]}" is out of range: an interval is at least {SHORTEST.seconds} seconds ("every 10s") '
            f'and at most {LONGEST.days} days ("every 366d").'
        )
    return Every(f"every {amount}", timedelta(seconds=seconds), anchor, zone)


def once(text: str, zone: str) -> Once:
    example = 'write it like "2030-12-24T18:00:00", or with an offset like "2030-12-24T18:00:00+01:00".'
    try:
        given = datetime.fromisoformat(text)
    except ValueError as error:
        why = "" if "isoformat" in str(error) else f" ({error})"
        raise wrong(f'"{text[:40]}" is not a time{why}; {example}') from error
    if "T" not in text and " " not in text:
        raise wrong(f'"{text[:40]}" has no time of day; {example}')
    try:
        at = given.astimezone(UTC) if given.tzinfo else first_moment(given, zone_named(zone))
    except OverflowError as error:
        raise wrong(f'"{text[:40]}" is out of range; {example}') from error
    if at >= LAST:
        raise wrong(f'"{text[:40]}" is too far away; {example}')
    return Once(given.isoformat(), at, zone)


class Field(msgspec.Struct, frozen=True):
    """One of the five parts of a cron expression."""

    name: str
    least: int
    most: int
    example: str
    names: tuple[str, ...] = ()
    unit: str = ""  # of an interval, which is what a step that is too long was meant to be

    def refused(self, text: str) -> str | None:
        """What is wrong with it; None when it can be read."""
        for term in text.split(","):
            span, stepped, step = term.partition("/")
            if stepped and not (step.isascii() and step.isdigit() and int(step)):
                return f'"{term}" has no step: after / comes a whole number, 1 or more'
            if stepped and int(step) > self.most - self.least:
                instead = f'; perhaps you meant "every {step}{self.unit}"' if self.unit else ""
                return f'the step of "{term}" is longer than the range {self.least}-{self.most}{instead}'
            if (reason := self.unread(span)) is not None:
                return reason
        return None

    def unread(self, span: str) -> str | None:
        if span == "?":
            return '"?" is not used here: * stands for any value'
        ends = [self.value(end) for end in re.split(r"[-#]|L$", span) if end]
        for end in ends:
            if isinstance(end, int) and not self.least <= end <= self.most:
                return f"{end} is not between {self.least} and {self.most}"
        if "-" in span and len(ends) == 2 and isinstance(ends[0], int) and isinstance(ends[1], int):
            return f'the range "{span}" runs backwards' if ends[0] > ends[1] else None
        return None

    def value(self, text: str) -> int | str:
        if text in self.names:
            return self.names.index(text) + self.least
        return int(text) if text.isascii() and text.isdigit() else text


FIELDS = (
    Field("minute", 0, 59, "0, */15 or 0,30", unit="m"),
    Field("hour", 0, 23, "9, 9-17 or */2", unit="h"),
    Field("day of month", 1, 31, "1, 1,15 or L (the last)", unit="d"),
    Field("month", 1, 12, "6, JUN or 1-3", names=tuple(month[:3].upper() for month in MONTHS)),
    Field("day of week", 0, 7, "1, MON, MON-FRI, 5L (the last Friday) or 1#2 (the second Monday); Sunday is 0 or 7",
          names=tuple(day[:3].upper() for day in WEEKDAYS)),
)  # fmt: skip


def expression(written: str) -> str:
    """A cron expression that can be read; every part of it is looked at by itself, so that a refusal names the part."""
    text = written.upper()
    parts = text.split()
    if len(parts) == len(FIELDS) + 1:
        raise wrong('It has six fields; there is none for seconds. Write five ("0 9 * * 1"), or "every 30s".')
    if len(parts) != len(FIELDS):
        raise wrong(
            f"{written[:40]!r} is not a schedule. {FORMS} A cron expression has five fields: "
            f"{', '.join(field.name for field in FIELDS)}."
        )
    for number, (field, part) in enumerate(zip(FIELDS, parts, strict=True)):
        reason = field.refused(part)
        if reason is None and not readable(" ".join(part if other == number else "*" for other in range(len(FIELDS)))):
            reason = f'"{part}" is not understood'
        if reason is not None:
            raise wrong(f"{field.name}: {reason}. Right would be {field.example}.")
    if not readable(text):
        raise never(text)
    return text


def readable(text: str) -> bool:
    try:
        CronSim(text, ANY)
    except CronSimError:
        return False
    return True


@lru_cache(maxsize=4096)
def pattern(expr: str) -> CronSim:
    """What an expression matches; only to be looked at."""
    return CronSim(NICKNAMES.get(expr, expr), ANY)


# --- clocks ---


def appointed(expr: str, zone: ZoneInfo, after: datetime) -> datetime | None:
    """The next appointment of a job that keeps each once."""
    for wall in CronSim(expr, after.astimezone(zone).replace(tzinfo=None)):
        if skipped(wall, zone) < DAY and (at := first_moment(wall, zone)) > after:
            return at
    return None


def recurring(expr: str, zone: ZoneInfo, after: datetime) -> datetime | None:
    """When the clock next shows a time that matches."""
    local = after.astimezone(zone)
    at = shown(expr, zone, after, local.replace(tzinfo=None))
    again = local.replace(fold=1).astimezone(UTC)
    if again > after:  # the clock is about to go back, to before what it shows
        back = change(zone, after, again)
        if at is None or at >= back:
            return shown(expr, zone, back - SECOND, back.astimezone(zone).replace(tzinfo=None) - SECOND)
    return at


def shown(expr: str, zone: ZoneInfo, after: datetime, since: datetime) -> datetime | None:
    """The first moment after one at which the clock shows a matching time later than `since`."""
    for wall in CronSim(expr, since):
        for fold in (0, 1):
            at = wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)
            if at > after and at.astimezone(zone).replace(tzinfo=None) == wall:
                return at
    return None


def first_moment(wall: datetime, zone: ZoneInfo) -> datetime:
    """When the clock shows this time for the first time, or has just skipped it."""
    at = wall.replace(tzinfo=zone).astimezone(UTC)
    return change(zone, wall.replace(tzinfo=zone, fold=1).astimezone(UTC), at) if skipped(wall, zone) else at


def skipped(wall: datetime, zone: ZoneInfo) -> timedelta:
    """How far the clock jumps over this time; nothing when it shows it."""
    return wall.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) - wall


def change(zone: ZoneInfo, before: datetime, later: datetime) -> datetime:
    """The first moment in (before, later] with the offset of `later`."""
    offset = later.astimezone(zone).utcoffset()
    low, high = 0, int((later - before) / SECOND)
    while high - low > 1:
        middle = (low + high) // 2
        if (before + middle * SECOND).astimezone(zone).utcoffset() == offset:
            high = middle
        else:
            low = middle
    return before + high * SECOND


# --- words ---


def listed(items: Iterable[str]) -> str:
    *some, one = items
    return f"{', '.join(some)} and {one}" if some else one


def in_words(cron: CronSim) -> str | None:
    """An expression of a common shape, said in words; None for all others."""
    days = dates(cron)
    if days is None:
        return None
    count = len(cron.minutes) * len(cron.hours)
    if count > 3 and (rhythm := rhythmic(cron.minutes, cron.hours)) is not None:
        return rhythm if days == "every day" else f"{rhythm}, {days}"
    if count > 4:
        return None
    times = (f"{hour:02}:{minute:02}" for hour in sorted(cron.hours) for minute in sorted(cron.minutes))
    return f"{days} at {listed(times)}"


def stride(values: Iterable[int], size: int) -> int | None:
    """How far apart values lie that go round evenly from 0; 1 for all of them."""
    ordered = sorted(values)
    step = size // len(ordered)
    return step if ordered == list(range(0, size, step)) and size % step == 0 else None


def run(values: Iterable[int]) -> bool:
    """Whether values follow each other without a hole."""
    return all(later - earlier == 1 for earlier, later in pairwise(sorted(values)))


def rhythmic(minutes: set[int], hours: set[int]) -> str | None:
    """The times of a day when they are told by how often rather than one by one."""
    first, final = min(hours), max(hours)
    step = stride(minutes, 60)
    if len(minutes) > 1 and step is not None:
        often = "every minute" if step == 1 else f"every {step} minutes"
        if len(hours) == 24:
            return often
        return f"{often} from {first:02}:00 to {final:02}:{max(minutes):02}" if run(hours) else None
    if len(minutes) > 4:
        return None
    at = listed(f"{minute}" for minute in sorted(minutes))
    past = "" if minutes == {0} else f" at minute{'s' * (len(minutes) > 1)} {at}"
    if len(hours) == 24:
        return f"every hour{past}"
    if len(hours) >= 4 and (apart := stride(hours, 24)) is not None:
        return f"every {apart} hours{past}"
    if len(hours) > 4 and len(minutes) == 1 and run(hours):
        return f"every hour from {first:02}:{min(minutes):02} to {final:02}:{min(minutes):02}"
    return None


def dates(cron: CronSim) -> str | None:
    """The days of an expression."""
    months = "" if len(cron.months) == 12 else listed(MONTHS[month - 1] for month in sorted(cron.months))
    any_date = cron.days >= set(range(1, 32))
    any_weekday = len({day % 7 for day in cron.weekdays if isinstance(day, int)}) == 7
    if (any_date and any_weekday) or (not cron.day_and and (any_date or any_weekday)):
        return f"every day in {months}" if months else "every day"
    if any_weekday:
        return monthly(cron.days, cron.months, months)
    if any_date:
        return weekly(cron.weekdays, months)
    date, weekday = monthly(cron.days, cron.months, months), weekly(cron.weekdays, months)
    return None if cron.day_and or date is None or weekday is None else f"{date} and also {weekday}"


def monthly(days: set[int], numbers: set[int], months: str) -> str | None:
    plain = sorted(day for day in days if day > 0)
    if len(numbers) == 1 and len(plain) == len(days) <= 4:
        return f"every year on {listed(f'{day}' for day in plain)} {months}"
    special = {CronSim.LAST: "the last day", CronSim.LAST_WEEKDAY: "the last weekday (Monday to Friday)"}
    said = [special[day] for day in sorted(days - set(plain), reverse=True)]
    if len(plain) > 2 and run(plain):
        said.insert(0, f"days {plain[0]} to {plain[-1]}")
    elif 0 < len(plain) <= 4:
        said.insert(0, f"day{'s' * (len(plain) > 1)} {listed(f'{day}' for day in plain)}")
    elif plain:
        return None
    return f"on {listed(said)} of {months or 'every month'}"


def weekly(days: Iterable[int | tuple[int, int]], months: str) -> str | None:
    plain = sorted({day % 7 for day in days if isinstance(day, int)}, key=lambda day: (day - 1) % 7)
    special = [day for day in days if isinstance(day, tuple)]
    if plain and special:
        return None
    if special:
        order = sorted((count if count > 0 else 6, (day - 1) % 7, day % 7) for day, count in special)
        names = (f"the {(*NTH, 'last')[count - 1]} {WEEKDAYS[day]}" for count, _, day in order)
        return f"on {listed(names)} of {months or 'every month'}"
    names = (WEEKDAYS[day] for day in plain)
    said = "every weekday (Monday to Friday)" if plain == [1, 2, 3, 4, 5] else f"every {listed(names)}"
    return f"{said} in {months}" if months else said
