"""Which answers are dates, and when a turn tells one."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from everthread.evals import dated
from everthread.evals.dated import Time

FRIDAY = datetime(2023, 6, 9, 18, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("answer", "since", "until", "loose"),
    [
        ("7 May 2023", (2023, 5, 7), (2023, 5, 8), False),
        ("on May 7th, 2023.", (2023, 5, 7), (2023, 5, 8), False),
        ("14September, 2022", (2022, 9, 14), (2022, 9, 15), False),
        ("In June, 2023", (2023, 6, 1), (2023, 7, 1), False),
        ("December 2023", (2023, 12, 1), (2024, 1, 1), False),
        ("2016", (2016, 1, 1), (2017, 1, 1), False),
        ("summer 2024", (2024, 6, 1), (2024, 9, 1), False),
        ("The Friday before 15 July 2023", (2023, 7, 14), (2023, 7, 15), False),
        ("the Friday before 14 July 2023", (2023, 7, 7), (2023, 7, 8), False),
        ("two days before 9 June 2023", (2023, 6, 7), (2023, 6, 8), False),
        ("The week before 9 June 2023", (2023, 6, 2), (2023, 6, 9), True),
        ("a few days before 9 June 2023", (2023, 6, 2), (2023, 6, 9), True),
        ("two weeks before 9 June 2023", (2023, 5, 23), (2023, 5, 30), True),
        ("the weekend before 9 June 2023", (2023, 6, 3), (2023, 6, 5), True),
        ("the weekend before 12 June 2023", (2023, 6, 10), (2023, 6, 12), True),
        ("the weekend before 11 June 2023", (2023, 6, 3), (2023, 6, 5), True),
        ("the week of 9 June 2023", (2023, 6, 6), (2023, 6, 13), True),
        ("first week of May 2023", (2023, 5, 1), (2023, 5, 8), True),
        ("last week of May 2023", (2023, 5, 25), (2023, 6, 1), True),
        ("early May 2023", (2023, 5, 1), (2023, 5, 11), True),
        ("mid May 2023", (2023, 5, 11), (2023, 5, 21), True),
        ("end of May 2023", (2023, 5, 21), (2023, 6, 1), True),
    ],
)
def test_an_answer_that_is_one_date_is_a_time(
    answer: str, since: tuple[int, int, int], until: tuple[int, int, int], loose: bool
) -> None:
    assert dated.answered(answer) == Time(date(*since), date(*until), loose=loose)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "three months",
        "August",
        "7 May",
        "31 June 2023",
        "Cyberpunk 2077",
        "a 1968 guitar",
        "between 26 March 2023 and 20 April 2023",
        "5-6 May 2023",
        "after the party in May 2023",
        "the year before 2019",
        "the year after 7 May 2023",
        "the long week before 7 May 2023",
    ],
)
def test_any_other_answer_is_not(answer: str) -> None:
    assert dated.answered(answer) is None


@pytest.mark.parametrize(
    ("answer", "text", "grounded", "by_day"),
    [
        ("8 June 2023", "We met yesterday.", True, False),
        ("9 June 2023", "We met yesterday.", False, True),  # it names a time, so the day it was said on is not offered
        ("9 June 2023", "We meet at 8 pm today.", True, True),
        ("9 June 2023", "I am at the beach!", True, True),
        ("June 2023", "I am at the beach!", True, True),
        ("July 2023", "I am at the beach!", False, False),
        ("2022", "I painted it last year.", True, False),
        ("May 2022", "I painted it last year.", False, False),  # a year is not a month
        ("The week before 9 June 2023", "I ran the race last Saturday.", True, False),
        ("The week before 9 June 2023", "I ran a race last month.", False, False),  # it overlaps, but is too long
    ],
)
def test_a_turn_tells_a_date_or_does_not(answer: str, text: str, grounded: bool, by_day: bool) -> None:
    time = dated.answered(answer)
    assert time is not None
    assert dated.grounded(time, [(text, FRIDAY)]) is grounded
    assert dated.by_said_day(time, [(text, FRIDAY)]) is by_day
