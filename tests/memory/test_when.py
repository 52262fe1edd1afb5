"""Dates in words, resolved against the day they were said."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.core.sentences import vocabulary
from everthread.memory.calendar import easter, thanksgiving
from everthread.memory.when import mentions

WEDNESDAY = datetime(2026, 3, 4, 10, 30, tzinfo=UTC)
SATURDAY = datetime(2026, 3, 7, 10, 30, tzinfo=UTC)


def days(text: str, said_at: datetime = WEDNESDAY) -> list[tuple[str, str]]:
    """First and last day of each time that a text speaks of."""
    return [
        (f"{m.interval.since:%Y-%m-%d}", f"{m.interval.until - timedelta(microseconds=1):%Y-%m-%d}")
        for m in mentions(text, said_at)
    ]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("We shipped it on 2026-03-02.", "2026-03-02", "2026-03-02"),
        ("The log says 2026-03-02T10:00:00Z.", "2026-03-02", "2026-03-02"),
        ("Signed in 2025-11.", "2025-11-01", "2025-11-30"),
        ("Seit 3.4.2025 so.", "2025-04-03", "2025-04-03"),
        ("It was 25/12/2025 there.", "2025-12-25", "2025-12-25"),
        ("It was 12/25/2025 there.", "2025-12-25", "2025-12-25"),
        ("We met on 3 March 2025.", "2025-03-03", "2025-03-03"),
        ("We met on the 3rd of March, 2025.", "2025-03-03", "2025-03-03"),
        ("March 3rd, 2025 was the day.", "2025-03-03", "2025-03-03"),
        ("We met on 20 February.", "2026-02-20", "2026-02-20"),
        ("We will meet on 20 February.", "2027-02-20", "2027-02-20"),
        ("The fair was on 20-22 February.", "2026-02-20", "2026-02-22"),
        ("She is born in June 2025.", "2025-06-01", "2025-06-30"),
        ("We met in June.", "2025-06-01", "2025-06-30"),
        ("We will meet in June.", "2026-06-01", "2026-06-30"),
        ("We met last March.", "2025-03-01", "2025-03-31"),
        ("I go there next March.", "2027-03-01", "2027-03-31"),
        ("It happens this June.", "2026-06-01", "2026-06-30"),
        ("We met in late June 2025.", "2025-06-21", "2025-06-30"),
        ("It was in early June.", "2025-06-01", "2025-06-10"),
        ("We met mid-June.", "2025-06-11", "2025-06-20"),
        ("It started August last year.", "2025-08-01", "2025-08-31"),
        ("We met in 2019.", "2019-01-01", "2019-12-31"),
        ("It broke in late 2019.", "2019-09-02", "2019-12-31"),
        ("I grew up in the 90s.", "1990-01-01", "1999-12-31"),
        ("I grew up in the 1980s.", "1980-01-01", "1989-12-31"),
        ("We tried it in Q1.", "2026-01-01", "2026-03-31"),
        ("We tried it in Q4.", "2025-10-01", "2025-12-31"),
        ("We tried it in Q2 2024.", "2024-04-01", "2024-06-30"),
        ("We tried it in the third quarter of last year.", "2025-07-01", "2025-09-30"),
        ("It was good in H1 2025.", "2025-01-01", "2025-06-30"),
        ("We went there last summer.", "2025-06-01", "2025-08-31"),
        ("We go there next summer.", "2026-06-01", "2026-08-31"),
        ("This winter was cold.", "2025-12-01", "2026-02-28"),
        ("We went there in the summer of 2023.", "2023-06-01", "2023-08-31"),
        ("Winter 2023 was cold.", "2023-12-01", "2024-02-29"),
        ("We met over the summer.", "2025-06-01", "2025-08-31"),
        ("I saw him today.", "2026-03-04", "2026-03-04"),
        ("I saw him this morning.", "2026-03-04", "2026-03-04"),
        ("I saw him yesterday evening.", "2026-03-03", "2026-03-03"),
        ("I saw him last night.", "2026-03-03", "2026-03-03"),
        ("I saw him the day before yesterday.", "2026-03-02", "2026-03-02"),
        ("I see him tomorrow.", "2026-03-05", "2026-03-05"),
        ("I see him the day after tomorrow.", "2026-03-06", "2026-03-06"),
        ("I saw him the other day.", "2026-02-25", "2026-03-03"),
        ("I saw him two days ago.", "2026-03-02", "2026-03-02"),
        ("I saw him a few days ago.", "2026-02-27", "2026-03-02"),
        ("I saw him two weeks ago.", "2026-02-16", "2026-02-22"),
        ("I saw him a couple of weeks ago.", "2026-02-09", "2026-02-22"),
        ("I saw him a month ago.", "2026-02-01", "2026-02-28"),
        ("I saw him three years ago.", "2023-01-01", "2023-12-31"),
        ("I saw him a year ago.", "2025-02-01", "2025-04-30"),
        ("I saw him a year and a half ago.", "2024-09-01", "2024-09-30"),
        ("I saw him half a year ago.", "2025-09-01", "2025-09-30"),
        ("I saw him two Fridays ago.", "2026-02-20", "2026-02-20"),
        ("I saw him two hours ago.", "2026-03-04", "2026-03-04"),
        ("I leave in two weeks.", "2026-03-16", "2026-03-22"),
        ("I leave in a fortnight.", "2026-03-16", "2026-03-29"),
        ("It was common in the last decade.", "2010-01-01", "2019-12-31"),
        ("I leave three days from now.", "2026-03-07", "2026-03-07"),
        ("It rained for the past three weeks.", "2026-02-09", "2026-03-04"),
        ("I've been painting for seven years.", "2019-01-01", "2026-03-04"),
        ("Seven years now.", "2019-01-01", "2026-03-04"),
        ("I saw him last week.", "2026-02-23", "2026-03-01"),
        ("I leave next week.", "2026-03-09", "2026-03-15"),
        ("I leave this month.", "2026-03-01", "2026-03-31"),
        ("We grew last quarter.", "2025-10-01", "2025-12-31"),
        ("We will grow next year.", "2027-01-01", "2027-12-31"),
        ("It was early last year.", "2025-01-01", "2025-05-01"),
        ("I saw him the week before last.", "2026-02-16", "2026-02-22"),
        ("I leave the Friday after next.", "2026-03-13", "2026-03-13"),
        ("It is due at the end of the month.", "2026-03-22", "2026-03-31"),
        ("I saw him earlier this month.", "2026-03-01", "2026-03-03"),
        ("I see him later this week.", "2026-03-04", "2026-03-08"),
        ("I saw him last Friday.", "2026-02-27", "2026-02-27"),
        ("I saw him last Fri.", "2026-02-27", "2026-02-27"),
        ("I see him next Tuesday.", "2026-03-10", "2026-03-10"),
        ("I see him this Friday.", "2026-03-06", "2026-03-06"),
        ("I saw him this Monday.", "2026-03-02", "2026-03-02"),
        ("I'm meeting him this Monday.", "2026-03-09", "2026-03-09"),
        ("I saw him on Monday.", "2026-03-02", "2026-03-02"),
        ("I will see him on Monday.", "2026-03-09", "2026-03-09"),
        ("I saw him on Friday last week.", "2026-02-27", "2026-02-27"),
        ("I see him next week on Friday.", "2026-03-13", "2026-03-13"),
        ("I saw him last weekend.", "2026-02-28", "2026-03-01"),
        ("I saw him over the weekend.", "2026-02-28", "2026-03-01"),
        ("I will see him at the weekend.", "2026-03-07", "2026-03-08"),
        ("I will see him this weekend.", "2026-03-07", "2026-03-08"),
        ("I see him next weekend.", "2026-03-07", "2026-03-08"),
        ("I saw him at Christmas.", "2025-12-25", "2025-12-25"),
        ("I will see him at Easter.", "2026-04-05", "2026-04-05"),
        ("I saw him on Thanksgiving.", "2025-11-27", "2025-11-27"),
        ("I saw him on Halloween 2023.", "2023-10-31", "2023-10-31"),
        ("I saw him on the 2nd.", "2026-03-02", "2026-03-02"),
        ("I will see him on the 2nd.", "2026-04-02", "2026-04-02"),
        ("I will see him on the 31st.", "2026-03-31", "2026-03-31"),
        ("I saw him on the 31st.", "2026-01-31", "2026-01-31"),
        ("I have been away since last month.", "2026-02-01", "2026-03-04"),
        ("We have used it since 2019.", "2019-01-01", "2026-03-04"),
        ("I was away from Monday to yesterday.", "2026-03-02", "2026-03-03"),
        ("It ran from March 2024 until May 2025.", "2024-03-01", "2025-05-31"),
        ("The launch was moved to 5 May.", "2026-05-05", "2026-05-05"),
    ],
)
def test_a_date_in_words_is_found_and_resolved(text: str, first: str, last: str) -> None:
    assert days(text) == [(first, last)]


def test_a_weekend_said_on_a_saturday_is_this_one_and_the_next_one_is_next() -> None:
    assert days("I am away this weekend.", SATURDAY) == [("2026-03-07", "2026-03-08")]
    assert days("I am away at the weekend.", SATURDAY) == [("2026-03-07", "2026-03-08")]
    assert days("I go next weekend.", SATURDAY) == [("2026-03-14", "2026-03-15")]


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("Call me at 5pm.", "2026-03-04 17:00", "2026-03-04 18:00"),
        ("Call me tomorrow at 5:30 pm.", "2026-03-05 17:30", "2026-03-05 17:31"),
        ("Call me at 17:00 tomorrow.", "2026-03-05 17:00", "2026-03-05 18:00"),
        ("Lunch is at noon.", "2026-03-04 12:00", "2026-03-04 13:00"),
        ("It starts on 3 March 2027 at midnight.", "2027-03-03 00:00", "2027-03-03 01:00"),
        ("At 12am.", "2026-03-04 00:00", "2026-03-04 01:00"),
    ],
)
def test_a_time_of_day_belongs_to_the_day_beside_it_else_to_today(text: str, since: str, until: str) -> None:
    (mention,) = mentions(text, WEDNESDAY)
    assert f"{mention.interval.since:%Y-%m-%d %H:%M}" == since
    assert f"{mention.interval.until:%Y-%m-%d %H:%M}" == until


@pytest.mark.parametrize(
    "text",
    [
        "",
        "We use Redis.",
        "You may 5 times retry, and the sun is out.",
        "They march 10 abreast.",
        "It was 03/04/2025, who knows which.",  # two readings
        "We meet every Friday.",
        "We meet on Fridays.",
        "Chapter 2019 of the book has 1,999.5 lines.",
        "There is no 2025-13-40 and no 29/02/2025.",
        "That was 9999 years ago.",
        "version 1.2.2024.7 and port 8080",
        "I fall in love and spring into action.",
        "It has 12 quarters and 3.5 days of work.",
    ],
)
def test_what_is_no_date_is_left_alone(text: str) -> None:
    assert days(text) == []


def test_a_rough_time_is_said_to_be_rough() -> None:
    (rough,) = mentions("I saw him a few weeks ago.", WEDNESDAY)
    (exact,) = mentions("I saw him two weeks ago.", WEDNESDAY)
    assert not rough.exact
    assert exact.exact


def test_two_dates_are_two_and_none_overlap() -> None:
    found = mentions("Tried in Q1 2025, reverted in Q2 2025, and again last Friday.", WEDNESDAY)
    assert len(found) == 3
    assert all(a.end <= b.start for a, b in pairwise(found))


def test_a_month_that_a_change_goes_to_is_not_a_span() -> None:
    assert days("The launch moved from 3 May to 9 May.") == [("2026-05-03", "2026-05-03"), ("2026-05-09", "2026-05-09")]


def test_the_day_is_the_speakers_own() -> None:
    late = datetime(2026, 3, 4, 23, 30, tzinfo=timezone(timedelta(hours=-8)))
    assert days("I saw him today.", late) == [("2026-03-04", "2026-03-04")]


def test_a_season_said_within_it() -> None:
    july = datetime(2026, 7, 15, tzinfo=UTC)
    assert days("This summer is hot.", july) == [("2026-06-01", "2026-08-31")]
    assert days("Last summer was hot.", july) == [("2025-06-01", "2025-08-31")]


def test_easter_and_thanksgiving_move() -> None:
    assert [easter(year) for year in (2000, 2024, 2038)] == [date(2000, 4, 23), date(2024, 3, 31), date(2038, 4, 25)]
    assert [thanksgiving(year).day for year in (2024, 2025, 2029)] == [28, 27, 22]


WORDS = st.sampled_from(
    sorted(
        vocabulary(
            "last next this Friday weekend 3 March 2025 ago two few weeks days in on since from to until the of Q1",
            "summer",
            "at 5pm 31 years 9999 year month mid late early Christmas been for 've half and a past 0 12/31/1999 , .",
            "29 1",
            "February",
        )
    )
)


@given(st.lists(WORDS, max_size=30).map(" ".join) | st.text(max_size=200), st.datetimes(timezones=st.just(UTC)))
def test_any_text_on_any_day_gives_intervals_at_their_places(text: str, said_at: datetime) -> None:
    found = mentions(text, said_at)
    assert found == mentions(text, said_at)
    end = 0
    for mention in found:
        assert end <= mention.start < mention.end <= len(text)
        assert mention.interval.since < mention.interval.until
        end = mention.end


@pytest.mark.parametrize(
    "unit", ["on 3 March 2025 at 5pm, ", "Friday ", "from March to May ", "10 years ", "been a b ", "1.1."]
)
def test_a_text_made_to_hurt_is_read_in_time(unit: str) -> None:
    text = (unit * (200_000 // len(unit) + 1))[:200_000]
    began = thread_time()
    mentions(text, WEDNESDAY)
    assert thread_time() - began < 2
