"""What was said about the same thing: the newest of it holds, and what came before it did."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.core.ids import LineageId, SessionId, StepId, ThreadId
from everthread.core.memory import Chances, Kin, Kindred, Passage
from everthread.memory import series
from everthread.memory.series import Series

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def passage(seq: int, text: str = "We do.", *, speaker: str = "user", role: str = "user", start: int = 0) -> Passage:
    return Passage(
        no=seq,
        step=StepId(f"s{seq}"),
        session=SessionId("here"),
        thread=ThreadId("t"),
        lineage=LineageId("l"),
        seq=seq,
        message=0,
        start=start,
        role=role,
        speaker=speaker,
        said_at=BEGAN + timedelta(days=seq),
        text=text,
    )


def found(*links: tuple[int, int, float, float]) -> list[Series]:
    """Series of the passages that links name: the earlier, the later, the chances of another and of the same value."""
    numbers = {no for one, other, *_ in links for no in (one, other)}
    kin = tuple(Kin(one, other, Chances(replaces, repeats)) for one, other, replaces, repeats in links)
    return series.series(Kindred(tuple(map(passage, numbers)), kin))


def numbers(one: Series) -> tuple[int, list[int], list[int]]:
    return (
        one.holds.no,
        [passage.no for passage in one.earlier],
        [passage.no for run in one.runs for passage in run[1:]],
    )


def test_the_newest_statement_holds_and_those_before_it_did() -> None:
    (one,) = found((1, 5, 0.9, 0.0), (5, 9, 0.9, 0.0))
    assert numbers(one) == (9, [5, 1], [])


def test_what_is_hardly_about_the_same_stays_by_itself() -> None:
    assert found((1, 5, 0.1, 0.05)) == []


def test_where_it_is_not_clear_neither_is_picked() -> None:
    (one,) = found((1, 5, 0.9, 0.0), (5, 9, 0.25, 0.05), (1, 9, 0.3, 0.0))
    assert (numbers(one), one.sure) == ((9, [5, 1], []), False)


def test_a_doubt_does_not_reverse_what_was_only_said_again() -> None:
    (one,) = found((1, 5, 0.0, 0.96), (5, 9, 0.3, 0.0), (1, 9, 0.3, 0.0))
    assert (one.holds.no, one.sure, one.ended) == (9, False, [])
    assert numbers(one.undoubted) == (1, [], [5])


def test_what_is_about_something_else_raises_no_doubt() -> None:
    both = found((1, 5, 0.9, 0.0), (5, 9, 0.3, 0.0), (9, 11, 0.9, 0.0))
    assert [(numbers(one), one.sure) for one in both] == [((5, [1], []), True), ((11, [9], []), True)]


def test_a_statement_continues_the_series_that_it_fits_best() -> None:
    both = found((1, 2, 0.05, 0.0), (1, 9, 0.6, 0.0), (2, 9, 0.8, 0.1), (1, 11, 0.9, 0.0), (9, 11, 0.1, 0.0))
    assert [numbers(one) for one in both] == [(11, [1], []), (9, [2], [])]


def test_what_speaks_loudest_is_heard_first() -> None:
    """One comparison that leaves no doubt counts for more than several that nearly say nothing."""
    (one, other) = found((1, 9, 0.2, 0.0), (2, 9, 0.3, 0.0), (3, 9, 0.99, 0.0), (1, 3, 0.9, 0.0), (2, 4, 0.9, 0.0))
    assert (numbers(one), numbers(other)) == ((9, [3, 1], []), (4, [2], []))


def test_what_is_said_later_shows_where_an_earlier_one_belongs() -> None:
    both = found(
        (1, 5, 0.7, 0.0), (2, 5, 0.75, 0.0), (1, 2, 0.02, 0.0), (1, 9, 0.98, 0.0), (5, 9, 0.97, 0.0), (2, 9, 0.1, 0.0)
    )
    assert [numbers(one) for one in both] == [(9, [5, 1], [])]


def test_what_only_says_again_what_holds_reverses_nothing_and_holds_since_it_was_said_first() -> None:
    (one,) = found((1, 5, 0.9, 0.0), (5, 9, 0.02, 0.96), (9, 11, 0.0, 0.97))
    assert numbers(one) == (5, [1], [9, 11])


def test_a_return_to_an_earlier_value_is_a_change() -> None:
    (one,) = found((1, 5, 0.9, 0.0), (5, 9, 0.9, 0.05), (1, 9, 0.1, 0.85))
    assert numbers(one) == (9, [5, 1], [])


def test_an_earlier_value_that_was_said_again_held_since_it_was_said_first() -> None:
    (one,) = found((1, 5, 0.0, 0.97), (5, 9, 0.9, 0.0), (1, 9, 0.9, 0.0))
    assert numbers(one) == (9, [1], [5])
    assert [(ended.no, later.no) for ended, later in one.ended] == [(1, 9), (5, 9)]


def test_what_says_again_any_of_what_was_said_of_a_value_reverses_nothing() -> None:
    (one,) = found((1, 5, 0.9, 0.0), (5, 9, 0.02, 0.97), (5, 11, 0.02, 0.97), (9, 11, 0.2, 0.7))
    assert numbers(one) == (5, [1], [9, 11])


def test_of_several_doubts_the_newest_is_told() -> None:
    (one,) = found((1, 5, 0.9, 0.0), (5, 7, 0.25, 0.0), (7, 9, 0.3, 0.0), (5, 9, 0.25, 0.0))
    assert (numbers(one), one.sure) == ((9, [5, 1], []), False)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (passage(1, "We moved to Leeds."), True),
        (passage(1, "We moved to Leeds.", role="assistant"), False),
        (passage(1, "and so on, page two", start=800), False),
        (passage(1, "...!"), False),
        (passage(1, "### Task:\nAnswer.\n<context>We moved to Rome.</context>\nWhere are we?"), False),
    ],
)
def test_what_a_person_said_is_read_together_with_other_such_things(one: Passage, *, expected: bool) -> None:
    assert series.may_tell(one) is expected


def test_another_person_s_own_things_are_not_mine() -> None:
    mine, theirs = passage(1, "I keep my notes in Joplin."), passage(2, "I keep my notes in Obsidian.", speaker="Ann")
    assert not series.one_voice(mine, theirs)
    assert series.one_voice(mine, passage(2, "My notes are in Obsidian."))
    assert series.one_voice(
        passage(1, "The servers are in Oslo."), passage(2, "The servers are in Bergen.", speaker="Ann")
    )


chances = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(lambda pair: (pair[0], pair[1] * (1 - pair[0])))
pairs = st.tuples(st.integers(0, 12), st.integers(0, 12)).filter(lambda pair: pair[0] <= pair[1])


@given(st.dictionaries(pairs, chances, max_size=40))
def test_every_statement_is_in_one_series_at_most_and_each_is_in_order(
    links: dict[tuple[int, int], tuple[float, float]],
) -> None:
    made = found(*((*pair, *chance) for pair, chance in links.items()))
    told = [passage.no for one in made for passage in one.passages]
    assert len(told) == len(set(told))
    for one in made:
        in_time = [passage.no for run in reversed(one.runs) for passage in run]
        assert in_time == sorted(in_time)
        assert len(in_time) > 1
