"""The patterns of dates, and the days that each of them means."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

import msgspec

from everthread.memory.calendar import (
    DAY,
    WEEK,
    Days,
    Direction,
    after,
    before,
    easter,
    month,
    month_of,
    months,
    one,
    thanksgiving,
    third,
    toward,
    unit,
    week,
    weekday_of,
    weekend,
    year,
)

AHEAD = re.compile(
    r"(?P<future>\b(?:(?:moved|pushed|postponed|rescheduled|delayed|bumped|shifted|extended) (?:back |"
    r"forward )?(?:to|from|until|till|for|by)|"
    r"will|going to|gonna|plan(?:s|ned|ning)?|next|upcoming|soon|schedul\w{1,4}|booked|hop(?:e|ing)|"
    r"forward|can't wait|want(?:s|ed)? to|need(?:s|ed)? to|due|until|deadline|let's|remind|flying|leaving|coming|"
    r"starts?|begins?|by|intend\w{0,3}|expect\w{0,3}|should|must|shall|is|are|am|gotta|see you|getting|meets?)\b|"
    r"['’](?:ll|re|m)\b)|"
    r"\b(?:was|were|had|did|went|got|came|took|made|met|saw|bought|held|left|began|gave|said|told|found|ran|wrote|"
    r"read|won|lost|spent|since|ago|last|back|been|built|set|hit|flew|drove|ate|felt|born|done|\w{2,20}ed)\b",
    re.IGNORECASE,
)
BREAK = re.compile(r"[.!?;\n]")
LOOKED_BACK, LOOKED_ON = 100, 60  # characters around a date that may say which way its sentence looks


class Said(msgspec.Struct, frozen=True):
    """A date in a text, and the day the text was said."""

    today: date
    text: str
    start: int
    end: int

    @property
    def direction(self) -> Direction:
        """Which way the words around it look: the nearest cue before it decides, else the nearest after it."""
        cues = list(AHEAD.finditer(BREAK.split(self.text[max(0, self.start - LOOKED_BACK) : self.start])[-1]))
        cue = cues[-1] if cues else AHEAD.search(BREAK.split(self.text[self.end : self.end + LOOKED_ON])[0])
        return "future" if cue is not None and cue["future"] else "past"


Match = re.Match[str]
Meaning = Callable[[Match, Said], Days | None]

SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
ONE_TO_TEN = "one|two|three|four|five|six|seven|eight|nine|ten"
NUMBERS = {word: (number, number) for number, word in enumerate(ONE_TO_TEN.split("|"), start=1)} | {
    "a": (1, 1), "an": (1, 1), "eleven": (11, 11), "twelve": (12, 12), "fifteen": (15, 15), "twenty": (20, 20),
    "thirty": (30, 30), "couple": (2, 3), "few": (2, 5), "several": (3, 8), "some": (2, 8),
}  # fmt: skip
HOLIDAYS = {
    "new year's day": (1, 1), "valentine's day": (2, 14), "halloween": (10, 31), "christmas eve": (12, 24),
    "christmas day": (12, 25), "christmas": (12, 25), "boxing day": (12, 26), "new year's eve": (12, 31),
}  # fmt: skip


def count(words: str) -> tuple[int, int]:
    words = words.casefold().removeprefix("a ").removesuffix(" of")
    return (int(words), int(words)) if words.isdigit() else NUMBERS[words]


def shift(which: str) -> int:
    which = which.casefold()
    return -1 if which.endswith(("last", "past", "previous")) else 0 if which.endswith(("this", "current")) else 1


# --- written dates ---


def numeric(match: Match, said: Said) -> Days:
    return one(date(int(match["year"]), int(match["month"]), int(match["day"])))


def numeric_month(match: Match, said: Said) -> Days:
    return month(date(int(match["year"]), int(match["month"]), 1))


def slashed(match: Match, said: Said) -> Days | None:
    """Day and month, if only one order can be meant."""
    a, b = int(match["a"]), int(match["b"])
    if a > 12 or a == b:
        return one(date(int(match["year"]), b, a))
    return one(date(int(match["year"]), a, b)) if b > 12 else None


def dated(match: Match, said: Said) -> Days | None:
    """A month and its day, or days, with or without the year."""
    if match["month"] in {"may", "mar", "march"} and not match["year"]:
        return None  # verbs
    number, first, last = month_of(match["month"]), int(match["day"]), int(match["last"] or match["day"])

    def days(year: int) -> Days:
        return date(year, number, first), date(year, number, last) + DAY

    return days(int(match["year"])) if match["year"] else toward(said.direction, said.today, days)


def month_and_year(match: Match, said: Said) -> Days:
    return third(match["side"], month(date(int(match["year"]), month_of(match["month"]), 1)))


def month_of_year(match: Match, said: Said) -> Days:
    return month(date(said.today.year + shift(match["which"]), month_of(match["month"]), 1))


def month_alone(match: Match, said: Said) -> Days:
    def days(year: int) -> Days:
        return month(date(year, month_of(match["month"]), 1))

    which = match["which"]
    if not which:
        return third(match["side"], toward(said.direction, said.today, days))
    if shift(which) == 0:
        return third(match["side"], days(said.today.year))
    if shift(which) < 0:
        return third(match["side"], toward("past", months(said.today, 0) - DAY, days))
    return third(match["side"], toward("future", months(said.today, 1), days))


def year_alone(match: Match, said: Said) -> Days:
    return third(match["side"], year(date(int(match["year"]), 1, 1)))


def decade_named(match: Match, said: Said) -> Days:
    digits = match["decade"]
    first = int(digits) if len(digits) == 4 else int(digits) + (2000 if int(digits) < 30 else 1900)
    return third(match["side"], (date(first, 1, 1), date(first + 10, 1, 1)))


def quarter_named(match: Match, said: Said) -> Days:
    named = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": 4}
    number = named[match["nth"].casefold()] if match["nth"] else int(match["q"] or match["h"])
    length = 6 if match["h"] else 3

    def days(year: int) -> Days:
        return month(date(year, (number - 1) * length + 1, 1), length=length)

    given = match["year"] or match["year_before"]
    if given:
        return days(int(given))
    if match["which"]:
        return days(said.today.year + shift(match["which"]))
    return toward(said.direction, said.today, days)


def season(match: Match, said: Said) -> Days:
    def days(year: int) -> Days:
        return month(date(year, SEASONS[match["season"].casefold()], 1), length=3)

    if match["year"]:
        return days(int(match["year"]))
    if not match["which"]:
        return toward(said.direction, said.today, days)
    near = [days(said.today.year + ahead) for ahead in (-2, -1, 0, 1)]
    if shift(match["which"]) < 0:
        return next(days for days in reversed(near) if days[1] <= said.today)
    if shift(match["which"]) > 0:
        return next(days for days in near if days[0] > said.today)
    now = [days for days in near if days[0] <= said.today < days[1]]
    return now[0] if now else toward(said.direction, said.today, days)


def holiday(match: Match, said: Said) -> Days:
    name = match["holiday"].casefold().replace("’", "'")

    def days(year: int) -> Days:
        if name == "easter":
            return one(easter(year))
        return one(thanksgiving(year) if name == "thanksgiving" else date(year, *HOLIDAYS[name]))

    if match["year"]:
        return days(int(match["year"]))
    which = (match["which"] or "").casefold()
    past = which == "last" or (not which and said.direction == "past")
    return toward("past" if past else "future", said.today, days)


def day_of_month(match: Match, said: Said) -> Days | None:
    near = [months(said.today, ahead) + DAY * (int(match["day"]) - 1) for ahead in (-2, -1, 0, 1, 2)]
    near = [day for day in near if day.day == int(match["day"])]  # not every month has a 31st
    if said.direction == "future":
        return next((one(day) for day in near if day >= said.today), None)
    return next((one(day) for day in reversed(near) if day <= said.today), None)


# --- counted from today ---


def fixed(ahead: int) -> Meaning:
    return lambda match, said: one(said.today, ahead)


def other_day(match: Match, said: Said) -> Days:
    return said.today - WEEK, said.today


def ago(match: Match, said: Said) -> Days:
    return counted(match, said, -1)


def ahead(match: Match, said: Said) -> Days:
    return counted(match, said, 1)


def counted(match: Match, said: Said, sign: int) -> Days:
    low, high = count(match["count"])
    name = match["unit"].casefold()
    if match["half"] or match["half_after"]:
        finer = {"year": ("month", 12), "month": ("week", 4), "week": ("day", 7)}.get(name, ("hour", 1))
        return unit(finer[0], said.today, sign * (low * finer[1] + finer[1] // 2))
    if name == "year" and low == high == 1:
        return month(said.today, sign * 12 - 1, length=3)  # that season, not all of last year
    near, far = unit(name, said.today, sign * low), unit(name, said.today, sign * high)
    return min(near[0], far[0]), max(near[1], far[1])


def half_year(match: Match, said: Said) -> Days:
    return month(said.today, -6)


def weekdays_ago(match: Match, said: Said) -> Days:
    return one(before(said.today, weekday_of(match["weekday"])) - WEEK * (count(match["count"])[0] - 1))


def lasting(match: Match, said: Said) -> Days:
    """For, or over, the last so many units: until now."""
    return unit(match["unit"], said.today, -count(match["count"])[1])[0], said.today + DAY


def which_unit(match: Match, said: Said) -> Days:
    name, which = match["unit"].casefold(), match["which"]
    if name != "weekend":
        return third(match["side"], unit(name, said.today, shift(which)))
    in_it = said.today.weekday() >= 5
    if shift(which) == 0:
        return weekend(said.today, -1 if said.direction == "past" and not in_it else 0)
    return weekend(said.today, -1 if shift(which) < 0 else 1 if in_it else 0)


def the_weekend(match: Match, said: Said) -> Days:
    return weekend(said.today, -1 if said.direction == "past" and said.today.weekday() < 5 else 0)


def part_of_this(match: Match, said: Said) -> Days:
    return third(match["side"], unit(match["unit"], said.today, 0))


def within_this(match: Match, said: Said) -> Days:
    first, after = unit(match["unit"], said.today, 0)
    return (said.today, after) if match["order"].casefold() == "later" else (first, max(said.today, first + DAY))


def which_weekday(match: Match, said: Said) -> Days:
    """Last, this or next Friday; or Friday alone."""
    weekday = weekday_of(match["weekday"])
    forward = shift(match["which"]) if match["which"] else 1 if said.direction == "future" else -1
    if forward == 0:
        day = week(said.today)[0] + DAY * weekday
        return one(day if day >= said.today or said.direction == "past" else day + WEEK)
    return one((after if forward > 0 else before)(said.today, weekday))


def weekday_of_week(match: Match, said: Said) -> Days:
    return one(week(said.today, shift(match["which"]))[0] + DAY * weekday_of(match["weekday"]))


def twice_removed(match: Match, said: Said) -> Days:
    """The week before last, the Friday after next."""
    sign = -1 if match["order"].casefold().startswith("before") else 1
    if not match["weekday"]:
        return unit(match["unit"], said.today, 2 * sign)
    return one((before if sign < 0 else after)(said.today, weekday_of(match["weekday"])) + WEEK * sign)


# --- the patterns ---

MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
WEEKDAY = r"(?P<weekday>mon|tues|wednes|thurs|fri|satur|sun)day\b"
YEAR = r"(?P<year>(?:19|20)\d\d)(?![\d,.]\d|[-–:/%]|\d)"
DATE = r"(?P<day>[12]?\d|3[01])(?:st|nd|rd|th)?(?: ?(?:-|–|to|until) ?(?P<last>[12]?\d|3[01])(?:st|nd|rd|th)?)?"
NUMBER = rf"\d{{1,4}}|(?:a )?(?:couple|few)(?: of)?|several|some|an?|{ONE_TO_TEN}|eleven|twelve|fifteen|twenty|thirty"
COUNT = rf"(?P<count>{NUMBER})(?P<half> and a half)?"
UNIT = r"(?P<unit>minute|hour|day|night|week|fortnight|weekend|month|quarter|year|decade)s?"
SPELL = r"(?P<unit>day|week|weekend|month|quarter|year|decade)s?"
WHOLE = r"(?P<unit>week|month|quarter|year)"
ABOUT = r"(?:(?:about|around|almost|nearly|over|more than|less than|only|just|exactly|roughly|at least|like) )?"
PART = r"(?: (?:morning|afternoon|evening|night))?"
WHICH = r"(?P<which>last|this past|past|previous|this|the current|current|next|this coming|coming|upcoming|following)"
IN = r"in|since|until|till|by|during|before|after|from|to|of|around|through|for"
PLACE = r"early|mid|late|beginning of|start of|middle of|end of"
SIDE = rf"(?:(?:the )?(?P<side>{PLACE})[ -](?:in )?(?:the )?)?"
SEASON = rf"(?P<season>{'|'.join(SEASONS)})(?:,? (?:of )?{YEAR})?"
A_FALL = r"(?! (?:in love|down|apart|off|asleep|behind|back))"
HOLIDAY = (
    r"(?P<holiday>new year['’]s (?:eve|day)|valentine['’]s day|halloween|christmas(?: eve| day)?|boxing day|easter|"
    rf"thanksgiving)(?: (?:of )?{YEAR})?"
)
HABIT = r"(?<!every )(?<!each )(?<!most )(?<!other )"
WORDS = r"(?:[\w'’-]{1,20} ){0,8}?"


def rule(pattern: str, meaning: Meaning) -> tuple[re.Pattern[str], Meaning]:
    return re.compile(rf"(?<![\w/.-])(?:{pattern})(?!\w)", re.IGNORECASE), meaning


RULES = (
    rule(r"(?P<year>(?:19|20)\d\d)([-/])(?P<month>\d\d?)\2(?P<day>\d\d?)(?:T[\d:.]{4,15}Z?)?", numeric),
    rule(r"(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![-\d])", numeric_month),
    rule(r"(?P<day>[0-3]?\d)\.(?P<month>[01]?\d)\.(?P<year>(?:19|20)\d\d)(?!\.\d)", numeric),
    rule(r"(?P<a>[0-3]?\d)/(?P<b>[0-3]?\d)/(?P<year>(?:19|20)\d\d)", slashed),
    rule(rf"(?:the )?{DATE}(?: of)? {MONTH}(?:,? {YEAR})?", dated),
    rule(rf"{MONTH} (?:the )?{DATE}(?![\d:%]| ?[ap]\.?m\b)(?:,? {YEAR})?", dated),
    rule(rf"{SIDE}{MONTH},? (?:of )?{YEAR}", month_and_year),
    rule(rf"(?:{IN}|between|and|{WHICH}) {SIDE}{MONTH}(?! \d)", month_alone),
    rule(rf"(?P<which>)(?P<side>{PLACE})[ -]{MONTH}(?! \d)", month_alone),
    rule(rf"{MONTH} (?:of )?(?P<which>last|this|next) year", month_of_year),
    rule(rf"(?:{IN}|and|year) (?P<side>)(?:the year )?{YEAR}", year_alone),
    rule(rf"(?P<side>{PLACE})[ -]{YEAR}", year_alone),
    rule(
        r"(?:in |during |since )?the (?:(?P<side>early|mid|late)[ -])?['’]?(?P<decade>(?:19|20)?\d0)['’]?s",
        decade_named,
    ),
    rule(
        r"(?:(?P<year_before>(?:19|20)\d\d)[ -]?)?"
        r"(?:q(?P<q>[1-4])|h(?P<h>[12])|the (?P<nth>first|second|third|fourth|last) quarter)"
        rf"(?:,? (?:of )?(?:{YEAR}|(?P<which>last|this|next) year))?",
        quarter_named,
    ),
    rule(rf"(?:{WHICH} |(?:in|over|during|since|by|until|for) (?:the )?){SEASON}{A_FALL}", season),
    rule(rf"(?P<which>)(?:the )?(?={'|'.join(SEASONS)})(?=\w+,? (?:of )?[12]){SEASON}", season),
    rule(rf"(?:(?P<which>last|this|next) |(?:{IN}|on|at|over) (?:the )?)?{HOLIDAY}", holiday),
    rule(
        r"on the (?P<day>[12]?\d|3[01])(?:st|nd|rd|th)(?! (?:of|floor|street|avenue|century|birthday|time|day))",
        day_of_month,
    ),
    rule(rf"{ABOUT}{COUNT} {UNIT}(?P<half_after> and a half)? (?:ago|back)", ago),
    rule(rf"{ABOUT}half a year ago", half_year),
    rule(rf"(?P<count>{NUMBER}) (?P<weekday>mon|tues|wednes|thurs|fri|satur|sun)days ago", weekdays_ago),
    rule(rf"(?:in|within) {ABOUT}{COUNT} {UNIT}(?P<half_after> and a half)?(?:['’]? time)?(?! of\b)", ahead),
    rule(rf"{COUNT} {UNIT}(?P<half_after> and a half)? from (?:now|today)", ahead),
    rule(rf"(?:(?:for|in|over|during|within) )?the (?:last|past) (?P<count>{NUMBER}) {SPELL}", lasting),
    rule(rf"(?<=\bbeen ){WORDS}for {ABOUT}(?P<count>{NUMBER}) {SPELL}", lasting),
    rule(rf"(?<=['’]ve )(?!been){WORDS}for {ABOUT}(?P<count>{NUMBER}) {SPELL}", lasting),
    rule(rf"{ABOUT}(?P<count>{NUMBER}) {SPELL} now", lasting),
    rule(rf"{SIDE}{WHICH} {UNIT}(?! (?:of|ago)\b)", which_unit),
    rule(
        rf"the (?:(?P<unit>week|weekend|month|quarter|year)|{WEEKDAY}) (?P<order>before last|after next)", twice_removed
    ),
    rule(
        rf"(?:the )?(?P<side>early|mid|late|beginning|start|middle|end)[ -](?:in |of )?(?:the|this) {WHOLE}",
        part_of_this,
    ),
    rule(rf"(?P<order>earlier|later) this {WHOLE}", within_this),
    rule(rf"(?:on )?{WHICH} {WEEKDAY}{PART}", which_weekday),
    rule(rf"(?:on )?{WHICH} (?P<weekday>mon|tues?|wed|thur?s?|fri|sat|sun)\b\.?{PART}", which_weekday),
    rule(rf"{HABIT}(?:(?:on|by|until|since|before|after) )?(?P<which>){WEEKDAY}{PART}", which_weekday),
    rule(rf"(?:on )?{WEEKDAY},?(?: of)? {WHICH} week", weekday_of_week),
    rule(rf"{WHICH} week,? (?:on )?{WEEKDAY}", weekday_of_week),
    rule(r"(?:at|on|over|for|during) the weekend", the_weekend),
    rule(r"(?:the )?day before yesterday", fixed(-2)),
    rule(rf"yesterday{PART}|last (?:night|evening)", fixed(-1)),
    rule(r"(?:(?:earlier|later) )?today|tonight|this (?:morning|afternoon|evening)|just now", fixed(0)),
    rule(rf"tomorrow{PART}", fixed(1)),
    rule(r"(?:the )?day after tomorrow", fixed(2)),
    rule(r"the other (?:day|night|evening)", other_day),
)
HINT = re.compile(
    r"\d|day|night|week|month|year|ago|quarter|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|fall|"
    r"autumn|winter|now|today|morrow|morning|noon|evening|hallow|easter|christmas|thanks|decade|mon|tue|wed|thu|fri|"
    r"sat|sun",
    re.IGNORECASE,
)
