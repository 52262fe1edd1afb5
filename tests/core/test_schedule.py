"""A schedule fires when its words say, in every zone, on the days when clocks jump too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.core.schedule import (
    LAST,
    LONGEST,
    NICKNAMES,
    SHORTEST,
    Cron,
    Every,
    Once,
    Schedule,
    fires,
    last,
    parse,
    restore,
)
from everthread.errors import Malformed

NOW = datetime(2026, 11, 5, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def told(moments: tuple[datetime, ...]) -> list[str]:
    return [f"{moment:%Y-%m-%d %H:%M}" for moment in moments]


def refusal(text: str, timezone: str = "UTC") -> Malformed:
    with pytest.raises(Malformed) as caught:
        parse(text, timezone, now=NOW)
    return caught.value


BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"

FIRES: list[tuple[str, str, str, str, list[str]]] = [
    # why; expression; zone; after (UTC); what follows (UTC)
    ("the hour is kept when summer begins, so the moment moves", "0 9 * * *", BERLIN, "2026-03-28 00:00",
     ["2026-03-28 08:00", "2026-03-29 07:00", "2026-03-30 07:00"]),
    ("the hour is kept when summer ends", "0 9 * * *", BERLIN, "2026-10-24 00:00",
     ["2026-10-24 07:00", "2026-10-25 08:00", "2026-10-26 08:00"]),
    ("a skipped time is kept at the first moment after the gap", "30 2 * * *", BERLIN, "2026-03-28 00:00",
     ["2026-03-28 01:30", "2026-03-29 01:00", "2026-03-30 00:30"]),
    ("two skipped times are made up for once", "0,30 2 * * *", BERLIN, "2026-03-28 12:00",
     ["2026-03-29 01:00", "2026-03-30 00:00", "2026-03-30 00:30"]),
    ("a skipped time and the first one after the gap are one", "0 2,3 * * *", BERLIN, "2026-03-28 12:00",
     ["2026-03-29 01:00", "2026-03-30 00:00", "2026-03-30 01:00"]),
    ("every ten minutes of a skipped hour is made up for once", "*/10 2 * * *", BERLIN, "2026-03-28 12:00",
     ["2026-03-29 01:00", "2026-03-30 00:00", "2026-03-30 00:10"]),
    ("every second hour does not lose the skipped one", "0 */2 * * *", BERLIN, "2026-03-28 22:30",
     ["2026-03-28 23:00", "2026-03-29 01:00", "2026-03-29 02:00", "2026-03-29 04:00"]),
    ("a repeated time is kept the first time only", "30 2 * * *", BERLIN, "2026-10-24 00:00",
     ["2026-10-24 00:30", "2026-10-25 00:30", "2026-10-26 01:30"]),
    ("asked in the repeated hour, the answer is not in the past", "30 2 * * *", BERLIN, "2026-10-25 01:10",
     ["2026-10-26 01:30"]),
    ("every ten minutes of a repeated hour is kept the first time only", "*/20 2 * * *", BERLIN, "2026-10-24 12:00",
     ["2026-10-25 00:00", "2026-10-25 00:20", "2026-10-25 00:40", "2026-10-26 01:00"]),
    ("half hours go on in real time when summer begins", "*/30 * * * *", BERLIN, "2026-03-29 00:00",
     ["2026-03-29 00:30", "2026-03-29 01:00", "2026-03-29 01:30", "2026-03-29 02:00"]),
    ("half hours go on in real time when summer ends", "*/30 * * * *", BERLIN, "2026-10-24 23:45",
     ["2026-10-25 00:00", "2026-10-25 00:30", "2026-10-25 01:00", "2026-10-25 01:30", "2026-10-25 02:00"]),
    ("hours go on in real time when summer begins, without one to make up for", "7 * * * *", BERLIN, "2026-03-29 00:00",
     ["2026-03-29 00:07", "2026-03-29 01:07", "2026-03-29 02:07"]),
    ("hours go on in real time when summer ends", "0 * * * *", BERLIN, "2026-10-24 23:30",
     ["2026-10-25 00:00", "2026-10-25 01:00", "2026-10-25 02:00"]),
    ("every hour is every hour, however it is written", "0 0-23 * * *", BERLIN, "2026-10-24 23:30",
     ["2026-10-25 00:00", "2026-10-25 01:00", "2026-10-25 02:00"]),
    ("New York skips 02:30", "30 2 * * *", NEW_YORK, "2026-03-07 12:00",
     ["2026-03-08 07:00", "2026-03-09 06:30"]),
    ("New York shows 01:30 twice", "30 1 * * *", NEW_YORK, "2026-10-31 12:00",
     ["2026-11-01 05:30", "2026-11-02 06:30"]),
    ("New York's 02:00 follows its second 01:59", "0 2 * * *", NEW_YORK, "2026-10-31 12:00",
     ["2026-11-01 07:00", "2026-11-02 07:00"]),
    ("Lord Howe skips half an hour", "15 2 * * *", LORD_HOWE, "2026-10-02 12:00",
     ["2026-10-02 15:45", "2026-10-03 15:30", "2026-10-04 15:15"]),
    ("Lord Howe shows half an hour twice", "45 1 * * *", LORD_HOWE, "2026-04-03 12:00",
     ["2026-04-03 14:45", "2026-04-04 14:45", "2026-04-05 15:15"]),
    ("Lord Howe's half hours go on in real time when summer begins", "*/30 * * * *", LORD_HOWE, "2026-10-03 14:45",
     ["2026-10-03 15:00", "2026-10-03 15:30", "2026-10-03 16:00"]),
    ("Lord Howe's half hours go on in real time when summer ends", "*/30 * * * *", LORD_HOWE, "2026-04-04 14:15",
     ["2026-04-04 14:30", "2026-04-04 15:00", "2026-04-04 15:30"]),
    ("Lord Howe's full hours are what its clock shows: half an hour more once a year", "0 * * * *", LORD_HOWE,
     "2026-04-04 13:30", ["2026-04-04 14:00", "2026-04-04 15:30", "2026-04-04 16:30"]),
    ("Lord Howe's 02:00 and 02:15 come after the repeated half hour", "*/15 2 * * *", LORD_HOWE, "2026-04-04 12:00",
     ["2026-04-04 15:30", "2026-04-04 15:45", "2026-04-04 16:00", "2026-04-04 16:15", "2026-04-05 15:30"]),
    ("Cairo skips midnight", "0 0 * * *", "Africa/Cairo", "2026-04-22 23:00",
     ["2026-04-23 22:00", "2026-04-24 21:00"]),
    ("Cairo's day without midnight has its half hours from 01:00 on", "*/30 * 24 4 *", "Africa/Cairo",
     "2026-04-20 00:00", ["2026-04-23 22:00", "2026-04-23 22:30", "2026-04-23 23:00"]),
    ("Asuncion shows the last hour of a Saturday twice", "*/30 * * * 6", "America/Asuncion", "2023-03-26 01:45",
     ["2023-03-26 02:00", "2023-03-26 02:30", "2023-03-26 03:00", "2023-03-26 03:30", "2023-04-01 04:00"]),
    ("Nuuk skips the last hour of a day: it is kept at midnight", "30 23 * * *", "America/Nuuk", "2026-03-28 02:00",
     ["2026-03-29 01:00", "2026-03-30 00:30"]),
    ("Troll skips two hours", "30 1,2 * * *", "Antarctica/Troll", "2026-03-28 12:00",
     ["2026-03-29 01:00", "2026-03-29 23:30", "2026-03-30 00:30"]),
    ("Apia had no 30 December 2011", "0 9 * * *", "Pacific/Apia", "2011-12-28 20:00",
     ["2011-12-29 19:00", "2011-12-30 19:00", "2011-12-31 19:00"]),
    ("Apia's clock went on at once", "*/30 * * * *", "Pacific/Apia", "2011-12-30 09:15",
     ["2011-12-30 09:30", "2011-12-30 10:00", "2011-12-30 10:30"]),
    ("Apia's yearly 30 December did not happen in 2011", "0 9 30 12 *", "Pacific/Apia", "2010-12-31 00:00",
     ["2012-12-29 19:00"]),
    ("Kwajalein had no 21 August 1993", "0 0 * * *", "Pacific/Kwajalein", "1993-08-19 13:00",
     ["1993-08-20 12:00", "1993-08-21 12:00"]),
    ("Tokyo's clocks never jump", "30 2 * * *", "Asia/Tokyo", "2026-03-28 00:00",
     ["2026-03-28 17:30", "2026-03-29 17:30", "2026-03-30 17:30"]),
    ("Kathmandu is 5:45 ahead", "0 9 * * *", "Asia/Kathmandu", "2026-03-28 00:00", ["2026-03-28 03:15"]),
    ("Sao Paulo has had no summer time since 2019, by law", "0 9 15 1 *", "America/Sao_Paulo", "2018-06-01 00:00",
     ["2019-01-15 11:00", "2020-01-15 12:00"]),
    ("Istanbul stayed on summer time in 2016, by law", "0 9 15 1 *", "Europe/Istanbul", "2015-06-01 00:00",
     ["2016-01-15 07:00", "2017-01-15 06:00"]),
    ("Pyongyang put its clocks half an hour forward in 2018, by law", "45 23 * * *", "Asia/Pyongyang",
     "2018-05-03 00:00", ["2018-05-03 15:15", "2018-05-04 15:00", "2018-05-05 14:45"]),
    ("a month without a 31st is left out", "0 0 31 * *", "UTC", "2026-01-01 00:00",
     ["2026-01-31 00:00", "2026-03-31 00:00", "2026-05-31 00:00", "2026-07-31 00:00"]),
    ("L is the last day of any month", "0 0 L * *", "UTC", "2028-01-01 00:00",
     ["2028-01-31 00:00", "2028-02-29 00:00", "2028-03-31 00:00", "2028-04-30 00:00"]),
    ("LW is the last weekday of a month", "0 0 LW 2,5 *", "UTC", "2026-01-01 00:00",
     ["2026-02-27 00:00", "2026-05-29 00:00"]),
    ("29 February comes in leap years", "0 0 29 2 *", "UTC", "2026-01-01 00:00",
     ["2028-02-29 00:00", "2032-02-29 00:00"]),
    ("2100 is no leap year", "0 0 29 2 *", "UTC", "2096-02-29 00:00", ["2104-02-29 00:00"]),
    ("the fifth Monday of February waits for years", "0 0 * 2 MON#5", "UTC", "2026-01-01 00:00",
     ["2044-02-29 00:00", "2072-02-29 00:00", "2112-02-29 00:00"]),
    ("the 13th OR a Friday, when both are restricted", "0 0 13 * 5", "UTC", "2026-11-01 00:00",
     ["2026-11-06 00:00", "2026-11-13 00:00", "2026-11-20 00:00", "2026-11-27 00:00", "2026-12-04 00:00",
      "2026-12-11 00:00", "2026-12-13 00:00"]),
    ("an odd day AND a Friday, because one of them begins with a star", "0 0 */2 * 5", "UTC", "2026-11-01 00:00",
     ["2026-11-13 00:00", "2026-11-27 00:00", "2026-12-11 00:00"]),
    ("Sunday is 0 and 7", "0 0 * * 7", "UTC", "2026-11-05 00:00", ["2026-11-08 00:00", "2026-11-15 00:00"]),
    ("names are read in any case", "0 9 * jan Mon-wed", "UTC", "2026-12-30 00:00",
     ["2027-01-04 09:00", "2027-01-05 09:00", "2027-01-06 09:00", "2027-01-11 09:00"]),
    ("the last Friday of a month", "0 0 * * 5L", "UTC", "2026-11-01 00:00", ["2026-11-27 00:00", "2026-12-25 00:00"]),
    ("the last minute of a year, where it ends first", "59 23 31 12 *", "Pacific/Kiritimati", "2026-12-31 00:00",
     ["2026-12-31 09:59", "2027-12-31 09:59"]),
    ("every hour goes over the end of a year", "@hourly", "UTC", "2026-12-31 22:30",
     ["2026-12-31 23:00", "2027-01-01 00:00"]),
    ("@daily is midnight in the zone", "@daily", NEW_YORK, "2026-07-01 00:00",
     ["2026-07-01 04:00", "2026-07-02 04:00"]),
    ("@weekly is Sunday", "@weekly", "UTC", "2026-11-05 00:00", ["2026-11-08 00:00"]),
    ("@monthly is the first", "@monthly", "UTC", "2026-11-05 00:00", ["2026-12-01 00:00"]),
    ("@yearly is New Year", "@yearly", "UTC", "2026-11-05 00:00", ["2027-01-01 00:00", "2028-01-01 00:00"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expr", "zone", "after", "expected"), [row[1:] for row in FIRES], ids=[row[0] for row in FIRES]
)
def test_a_cron_expression_fires_exactly_then(expr: str, zone: str, after: str, expected: list[str]) -> None:
    schedule = restore(expr, zone, NOW)
    assert told(fires(schedule, utc(after), utc("2400-01-01 00:00"), len(expected))) == expected


# --- intervals and single times ---


def test_an_interval_is_counted_from_its_anchor_and_does_not_drift() -> None:
    schedule = parse("every 30m", "UTC", now=utc("2026-11-05 12:07:31"))
    assert schedule.next(utc("2026-11-05 12:07:31")) == utc("2026-11-05 12:37:31")
    assert schedule.next(utc("2026-11-05 12:37:30")) == utc("2026-11-05 12:37:31")
    assert schedule.next(utc("2026-11-05 12:37:31")) == utc("2026-11-05 13:07:31")
    assert schedule.next(utc("2027-11-05 12:09:00")) == utc("2027-11-05 12:37:31")


def test_an_interval_does_not_fire_before_its_first_step_is_over() -> None:
    assert parse("every 2h", "UTC", now=NOW).next(NOW - timedelta(days=30)) == NOW + timedelta(hours=2)


def test_a_day_as_an_interval_is_24_hours_whatever_clocks_do() -> None:
    schedule = parse("every 1d", BERLIN, now=utc("2026-03-28 08:00"))
    assert told(fires(schedule, utc("2026-03-28 08:00"), utc("2026-03-31 00:00"), 9)) == [
        "2026-03-29 08:00", "2026-03-30 08:00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expr", "step"),
    [
        ("every 30m", "every 30m", timedelta(minutes=30)),
        ("every 2h", "every 2h", timedelta(hours=2)),
        ("every 90s", "every 90s", timedelta(seconds=90)),
        ("every 1d", "every 1d", timedelta(days=1)),
        ("every 2w", "every 2w", timedelta(days=14)),
        ("every 30 m", "every 30m", timedelta(minutes=30)),
        ("  Every  1H 30M ", "every 1h30m", timedelta(minutes=90)),
        ("every 10s", "every 10s", SHORTEST),
        ("every 366d", "every 366d", LONGEST),
    ],
)
def test_an_interval_is_read(text: str, expr: str, step: timedelta) -> None:
    schedule = parse(text, "UTC", now=NOW)
    assert isinstance(schedule, Every)
    assert (schedule.expr, schedule.step, schedule.kind) == (expr, step, "interval")


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2026-12-24T18:00:00", "UTC", "2026-12-24 18:00"),
        ("2026-12-24T18:00:00", BERLIN, "2026-12-24 17:00"),
        ("2026-12-24T18:00", NEW_YORK, "2026-12-24 23:00"),
        ("2026-12-24T18:00:00+05:30", BERLIN, "2026-12-24 12:30"),
        ("2026-12-24t18:00:00z", BERLIN, "2026-12-24 18:00"),
        ("2026-12-24 18:00:00", "UTC", "2026-12-24 18:00"),
        ("2027-03-28T02:30:00", BERLIN, "2027-03-28 01:00"),  # skipped: the first moment after
        ("2027-10-31T02:30:00", BERLIN, "2027-10-31 00:30"),  # shown twice: the first
    ],
)
def test_a_single_time_is_in_the_job_s_zone_unless_it_says_its_offset(text: str, zone: str, expected: str) -> None:
    schedule = parse(text, zone, now=NOW)
    assert isinstance(schedule, Once)
    assert schedule.kind == "once"
    assert schedule.next(NOW) == schedule.at == utc(expected)
    assert schedule.next(schedule.at) is None


def test_a_single_time_on_a_day_that_was_left_out_is_the_moment_after_it() -> None:
    assert restore("2011-12-30T09:00:00", "Pacific/Apia", NOW).next(utc("2011-01-01")) == utc("2011-12-30 10:00")


# --- refusals ---


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("60 9 * * *", ["minute: 60 is not between 0 and 59", "*/15"]),
        ("0 25 * * *", ["hour: 25 is not between 0 and 23", "9-17"]),
        ("0 9 0 * *", ["day of month: 0 is not between 1 and 31"]),
        ("0 9 * 13 *", ["month: 13 is not between 1 and 12", "JUN"]),
        ("0 9 * * 8", ["day of week: 8 is not between 0 and 7", "Sunday is 0 or 7"]),
        ("0 9 * * 8L", ["day of week: 8 is not between 0 and 7"]),
        ("0 9 * * FUN", ['day of week: "FUN" is not understood', "MON-FRI"]),
        ("0 9 * * FRI-SUN", ['day of week: the range "FRI-SUN" runs backwards']),
        ("0 17-9 * * *", ['hour: the range "17-9" runs backwards']),
        ("0 9 ? * 1", ['day of month: "?" is not used here: * stands for any value']),
        ("0 9 15W * 1", ['day of month: "15W" is not understood']),
        ("*/0 * * * *", ['minute: "*/0" has no step']),
        ("*/x * * * *", ["minute:", "whole number"]),
        ("*/90 * * * *", ["minute: the step", "longer than the range 0-59", '"every 90m"']),
        ("0 0 * */12 *", ["month: the step"]),
        ("0,,30 * * * *", ['minute: "0,,30" is not understood']),
        ("0 9 * * 1#6", ['day of week: "1#6" is not understood']),
        ("* * * * L", ['day of week: "L" is not understood']),
        ("¹ * * * *", ['minute: "¹" is not understood']),
        ("0 0 31 2 *", ['"0 0 31 2 *" never fires', "L"]),
        ("0 0 */20 * 1L", ["never fires"]),
        ("* * */20 * 1L", ["never fires"]),
        ("0 30 9 * * 1", ["six fields", "seconds", '"every 30s"']),
        ("0 9 * *", ["'0 9 * *' is not a schedule", "minute, hour, day of month, month, day of week"]),
        ("tomorrow", ["'tomorrow' is not a schedule", '"0 9 * * 1"', "every 30m"]),
        ("", ["is not a schedule"]),
        ("* " * 200, ["longer than 200 characters"]),
        ("@reboot", ["'@reboot' is none of @hourly, @daily"]),
        ("every", ["is no interval", "every 1h30m"]),
        ("every day", ["is no interval"]),
        ("every 30m1h", ["is no interval", "in that order"]),
        ("every 1.5h", ["is no interval"]),
        ("every -5m", ["is no interval"]),
        ("every 1 5m", ["is no interval"]),
        ("every 9s", ["at least 10 seconds"]),
        ("every 0m", ["at least 10 seconds"]),
        ("every 367d", ["at most 366 days"]),
        ("every 999999999w", ["at most 366 days"]),
        ("2026-12-24", ["has no time of day", "2030-12-24T18:00:00"]),
        ("2026-13-24T18:00:00", ["is not a time (month must be in 1..12"]),
        ("2026-12-24T25:00:00", ["is not a time (hour must be in 0..23"]),
        ("2026-12-24Tnoon", ["is not a time;"]),
        ("2026-11-05T11:59:59", ["2026-11-05T11:59:59 is in the past: it is 2026-11-05T12:00:00Z now."]),
        ("2026-11-05T12:00:00", ["is in the past"]),
        ("9999-12-31T23:59:59", ["too far away"]),
        ("9999-12-31T23:59:59-12:00", ["out of range"]),
        ("0001-01-01T00:00:00+12:00", ["out of range"]),
    ],
)  # fmt: skip
def test_a_schedule_that_cannot_be_is_refused_with_its_part_and_a_right_one(text: str, parts: list[str]) -> None:
    refused = refusal(text)
    assert refused.param == "schedule"
    assert [part for part in parts if part not in refused.message] == [], refused.message


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Europe/Berln", 'did you mean "Europe/Berlin"?'),
        ("Europe", '"Europe/'),
        ("right/UTC", "IANA"),
        ("localtime", "IANA"),
        ("Factory", "IANA"),
        ("../../etc/passwd", '"UTC"'),
        ("", '"UTC"'),
        ("\0", '"UTC"'),
        ("x" * 5000, '"UTC"'),
    ],
)
def test_a_zone_that_nobody_knows_is_refused(name: str, hint: str) -> None:
    refused = refusal("@daily", name)
    assert refused.param == "timezone"
    assert "IANA" in refused.message
    assert hint in refused.message or 'did you mean "' in refused.message


def test_a_zone_is_written_as_iana_writes_it() -> None:
    assert parse("@daily", "europe/BERLIN", now=NOW).timezone == "Europe/Berlin"


@given(st.text(alphabet="0123456789*/-,#LWMONJAN@every smhd:TZ.+?¹²", max_size=40))
@settings(deadline=None)
def test_whatever_is_written_is_a_schedule_or_refused(text: str) -> None:
    try:
        schedule = parse(text, "UTC", now=NOW)
    except Malformed:
        return
    assert schedule.display
    assert (schedule.next(NOW) or NOW) > NOW


# --- words ---


@pytest.mark.parametrize(
    ("text", "zone", "words"),
    [
        ("0 9 * * 1", BERLIN, "every Monday at 09:00 (Europe/Berlin)"),
        ("0 9 * * *", "UTC", "every day at 09:00 (UTC)"),
        ("@daily", "UTC", "every day at 00:00 (UTC)"),
        ("@hourly", "UTC", "every hour (UTC)"),
        ("@weekly", "UTC", "every Sunday at 00:00 (UTC)"),
        ("@monthly", "UTC", "on day 1 of every month at 00:00 (UTC)"),
        ("@yearly", "UTC", "every year on 1 January at 00:00 (UTC)"),
        ("* * * * *", "UTC", "every minute (UTC)"),
        ("*/30 * * * *", "UTC", "every 30 minutes (UTC)"),
        ("15 * * * *", "UTC", "every hour at minute 15 (UTC)"),
        ("5,20 * * * *", "UTC", "every hour at minutes 5 and 20 (UTC)"),
        ("0 */2 * * *", "UTC", "every 2 hours (UTC)"),
        ("30 */6 * * *", "UTC", "every 6 hours at minute 30 (UTC)"),
        ("0 9-17 * * MON-FRI", "UTC", "every hour from 09:00 to 17:00, every weekday (Monday to Friday) (UTC)"),
        ("*/15 9-17 * * *", "UTC", "every 15 minutes from 09:00 to 17:45 (UTC)"),
        ("0,30 9 * * *", "UTC", "every day at 09:00 and 09:30 (UTC)"),
        ("30 8,12,18 * * 6,0", "UTC", "every Saturday and Sunday at 08:30, 12:30 and 18:30 (UTC)"),
        ("0 9 1,15 * *", "UTC", "on days 1 and 15 of every month at 09:00 (UTC)"),
        ("0 9 1-7 * *", "UTC", "on days 1 to 7 of every month at 09:00 (UTC)"),
        ("0 9 L * *", "UTC", "on the last day of every month at 09:00 (UTC)"),
        ("0 9 15,LW 3,6 *", "UTC",
         "on day 15 and the last weekday (Monday to Friday) of March and June at 09:00 (UTC)"),
        ("0 18 24 12 *", "UTC", "every year on 24 December at 18:00 (UTC)"),
        ("0 9 1 1,4,7,10 *", "UTC", "on day 1 of January, April, July and October at 09:00 (UTC)"),
        ("0 9 * 6 *", "UTC", "every day in June at 09:00 (UTC)"),
        ("0 9 * 6 1", "UTC", "every Monday in June at 09:00 (UTC)"),
        ("0 9 * * 1#1,5L", "UTC", "on the first Monday and the last Friday of every month at 09:00 (UTC)"),
        ("0 9 13 * 5", "UTC", "on day 13 of every month and also every Friday at 09:00 (UTC)"),
        ("0 9 1-31 * 5", "UTC", "every day at 09:00 (UTC)"),
        ("0 9 */2 * 5", "UTC", 'by the cron expression "0 9 */2 * 5" (UTC)'),
        ("0 9 */3 * *", "UTC", 'by the cron expression "0 9 */3 * *" (UTC)'),
        ("0 9 * * 1,5L", "UTC", 'by the cron expression "0 9 * * 1,5L" (UTC)'),
        ("*/7 * * * *", "UTC", 'by the cron expression "*/7 * * * *" (UTC)'),
        ("*/15 1,9,17 * * *", "UTC", 'by the cron expression "*/15 1,9,17 * * *" (UTC)'),
        ("5 1,2,3,7,9 * * *", "UTC", 'by the cron expression "5 1,2,3,7,9 * * *" (UTC)'),
        ("every 30m", "UTC", "every 30 minutes"),
        ("every 1h", "UTC", "every hour"),
        ("every 60m", "UTC", "every hour"),
        ("every 1h30m", "UTC", "every 1 hour and 30 minutes"),
        ("every 1d1h1m1s", "UTC", "every 1 day, 1 hour, 1 minute and 1 second"),
        ("2026-12-24T18:00:00", "UTC", "once on 24 December 2026 at 18:00 (UTC)"),
        ("2026-12-24T18:00:05Z", BERLIN, "once on 24 December 2026 at 19:00:05 (Europe/Berlin)"),
    ],
)  # fmt: skip
def test_a_schedule_is_said_in_words(text: str, zone: str, words: str) -> None:
    assert parse(text, zone, now=NOW).display == words


# --- properties ---

JUMPS = [
    ("UTC", "2026-03-29 01:00"),
    (BERLIN, "2026-03-29 01:00"),
    (BERLIN, "2026-10-25 01:00"),
    (NEW_YORK, "2026-03-08 07:00"),
    (NEW_YORK, "2026-11-01 06:00"),
    (LORD_HOWE, "2026-10-03 15:30"),
    (LORD_HOWE, "2026-04-04 15:00"),
    ("Africa/Cairo", "2026-04-23 22:00"),
    ("Africa/Cairo", "2026-10-29 21:00"),
    ("America/Asuncion", "2023-03-26 03:00"),
    ("America/Nuuk", "2026-03-29 01:00"),
    ("America/Nuuk", "2026-10-25 01:00"),
    ("Antarctica/Troll", "2026-03-29 01:00"),
    ("Antarctica/Troll", "2026-10-25 01:00"),
    ("Antarctica/Casey", "2020-10-03 16:01"),
    ("Pacific/Apia", "2011-12-30 10:00"),
    ("Pacific/Kwajalein", "1993-08-21 12:00"),
    ("Asia/Pyongyang", "2018-05-04 15:00"),
    ("America/Caracas", "2016-05-01 07:00"),
]
jumps = st.sampled_from([(zone, utc(at)) for zone, at in JUMPS])
minutes = st.sets(st.integers(0, 59), min_size=1, max_size=4)
hours = st.one_of(st.just(set(range(24))), st.sets(st.integers(0, 5) | st.integers(21, 23), min_size=1))
weekdays = st.one_of(st.just(set(range(7))), st.sets(st.integers(0, 6), min_size=1))


@cache
def clock(zone: str, around: datetime) -> list[tuple[datetime, datetime]]:
    """Every minute of five days, and what the clock shows."""
    info = ZoneInfo(zone)
    at = [around + MINUTE * number for number in range(-2 * 1440, 3 * 1440)]
    return [(moment, moment.astimezone(info).replace(tzinfo=None)) for moment in at]


def counted(zone: str, around: datetime, times: tuple[set[int], set[int], set[int]]) -> list[datetime]:
    """The fires of two days around a jump, by looking at every minute."""
    at_minutes, at_hours, on_weekdays = times

    def matches(wall: datetime) -> bool:
        return wall.minute in at_minutes and wall.hour in at_hours and wall.isoweekday() % 7 in on_weekdays

    shown = clock(zone, around)
    if len(at_hours) == 24:
        found = {moment for moment, wall in shown if matches(wall)}
    else:
        first = {wall: moment for moment, wall in reversed(shown)}
        dates = {wall.date() for wall in first}
        found = set()
        wall, final = min(first), max(first)
        while wall <= final:
            if matches(wall) and wall.date() in dates:
                found.add(first.get(wall) or next(moment for moment, later in shown if later > wall))
            wall += MINUTE
    return sorted(moment for moment in found if around - timedelta(days=1) < moment <= around + timedelta(days=1))


@given(jumps, minutes, hours, weekdays)
@settings(deadline=None, max_examples=300)
def test_fires_around_a_jump_are_those_that_looking_at_every_minute_finds(
    jump: tuple[str, datetime], at: set[int], of: set[int], on: set[int]
) -> None:
    zone, around = jump
    listed = [",".join(str(value) for value in sorted(values)) for values in (at, of, on)]
    schedule = restore(f"{listed[0]} {listed[1]} * * {listed[2]}", zone, NOW)
    day = timedelta(days=1)
    assert list(fires(schedule, around - day, around + day, 10_000)) == counted(zone, around, (at, of, on))


EXPRESSIONS = [
    "* * * * *", "*/30 * * * *", "0 * * * *", "7 * * * *", "30 2 * * *", "0,30 1-3 * * *", "*/10 2 * * *", "0 9 * * 1",
    "0 0 * * *", "59 23 * * *", "0 0 13 * 5", "0 9 L * *", "0 0 29 2 *", "*/5 * * * 0", "0 */2 * * *", "@yearly",
    "every 10s", "every 17m", "every 1d", "2026-03-29T02:30:00",
]  # fmt: skip
near = st.builds(
    lambda jump, seconds: (jump[0], jump[1] + timedelta(seconds=seconds)),
    jumps,
    st.floats(-90_000, 90_000, allow_nan=False),
)


@given(st.sampled_from(EXPRESSIONS), near, st.floats(0, 1))
@settings(deadline=None, max_examples=300)
def test_the_next_fire_is_later_in_utc_and_the_same_for_every_moment_before_it(
    expr: str, place: tuple[str, datetime], part: float
) -> None:
    zone, moment = place
    schedule = restore(expr, zone, utc("2000-01-01 00:00:07"))
    coming = schedule.next(moment)
    if coming is None:
        assert isinstance(schedule, Once)
        return
    assert coming > moment
    assert coming.tzinfo is UTC
    between = moment + (coming - moment) * part
    if between < coming:
        assert schedule.next(between) == coming
    following = schedule.next(coming)
    assert following is None or following > coming


@given(st.sampled_from(EXPRESSIONS), near, st.integers(0, 3 * 86_400))
@settings(deadline=None, max_examples=100)
def test_the_last_fire_of_a_span_is_the_last_of_its_fires(expr: str, place: tuple[str, datetime], span: int) -> None:
    zone, after = place
    schedule = restore(expr, zone, utc("2000-01-01 00:00:07"))
    until = after + timedelta(seconds=span)
    told = fires(schedule, after, until, 30_000)
    assert last(schedule, after, until) == (told[-1] if told else None)
    assert all(after < at <= until for at in told)
    assert all(earlier < later for earlier, later in pairwise(told))


@pytest.mark.parametrize("expr", [*EXPRESSIONS[:-1], *NICKNAMES, "2026-12-24T18:00:00", "2026-12-24T18:00:00+01:00"])
def test_a_schedule_is_the_same_when_it_was_stored_as_text(expr: str) -> None:
    made: Schedule = parse(f"  {expr.lower()} ", "europe/berlin", now=NOW + timedelta(microseconds=250))
    assert restore(made.expr, made.timezone, NOW + timedelta(microseconds=250)) == made


def test_a_limit_keeps_the_first_ones() -> None:
    schedule = Cron("* * * * *")
    assert told(fires(schedule, NOW, NOW + timedelta(days=1), 2)) == ["2026-11-05 12:01", "2026-11-05 12:02"]
    assert fires(schedule, NOW, NOW, 5) == ()
    assert fires(schedule, NOW, NOW + MINUTE, 0) == ()
    assert last(schedule, NOW, NOW) is None


@pytest.mark.parametrize(
    "schedule", [Cron("@daily"), Cron("30 2 * * *", BERLIN), Every("every 30m", 180 * MINUTE, NOW)]
)
def test_at_the_end_of_the_calendar_nothing_fires_any_more_and_at_its_beginning_nothing_breaks(
    schedule: Schedule,
) -> None:
    assert schedule.next(LAST) is None
    assert schedule.next(datetime.max.replace(tzinfo=UTC)) is None
    assert (schedule.next(datetime.min.replace(tzinfo=UTC)) or LAST) < LAST
    assert (schedule.next(LAST - timedelta(seconds=1)) or LAST) > LAST - timedelta(seconds=1)
