"""What was said about the same thing: the newest of it holds, and what came before it did."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.core.ids import LineageId, SessionId, StepId, ThreadId
from everthread.core.memory import Chances, Kin, Kindred, Passage
from everthread.memory import series
from everthread.memory.series import Series
from everthread.storage.kin import FOLLOWED

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
    assert found((1, 5, 0.08, 0.02)) == []


def test_where_it_is_not_clear_neither_is_picked() -> None:
    (one,) = found((1, 5, 0.9, 0.0), (5, 9, 0.25, 0.15), (1, 9, 0.4, 0.0))
    assert (numbers(one), one.rival) == ((5, [1], []), passage(9))


def test_what_may_take_the_place_of_what_holds_is_its_rival_until_that_is_said_again() -> None:
    doubt = ((1, 5, 0.9, 0.0), (1, 9, 0.4, 0.0), (5, 9, 0.4, 0.0))
    (one,) = found(*doubt)
    assert (numbers(one), one.rival) == ((5, [1], []), passage(9))
    (one,) = found(*doubt, (5, 11, 0.0, 0.97), (1, 11, 0.9, 0.0), (9, 11, 0.4, 0.0))
    assert (numbers(one), one.rival) == ((5, [1], [11]), None)


def test_what_is_tied_to_a_look_back_alone_changes_nothing() -> None:
    (one,) = found((1, 5, 0.97, 0.0), (1, 9, 0.0, 0.98), (5, 9, 0.2, 0.0), (9, 10, 0.99, 0.0))
    assert (numbers(one), one.rival) == ((5, [1], []), None)


def test_what_may_say_either_value_again_says_the_present_one() -> None:
    (one,) = found((1, 5, 0.9, 0.0), (1, 9, 0.0, 0.96), (5, 9, 0.0, 0.96))
    assert numbers(one) == (5, [1], [9])


def test_a_rival_of_another_series_is_its_newest_value_unless_that_was_compared_and_refused() -> None:
    apart = [(one, other, 0.02, 0.0) for one in (1, 2) for other in (5, 6)]
    again = (
        (1, 2, 0.97, 0.0),
        (5, 6, 0.97, 0.0),
        (6, 8, 0.0, 0.98),
        (5, 8, 0.97, 0.0),
        (1, 8, 0.8, 0.0),
        (2, 8, 0.7, 0.0),
    )
    one, other = found(*again, *apart)
    assert (numbers(one), one.rival, numbers(other)) == ((2, [1], []), None, (6, [5], [8]))
    one, _ = found(*again, *(link for link in apart if link[1] == 5))
    assert one.rival == passage(6)


def test_what_goes_with_one_thing_and_with_another_too_is_the_other_one_s_rival() -> None:
    links = (
        (1, 2, 0.97, 0.0),
        (5, 6, 0.97, 0.0),
        (1, 6, 0.8, 0.0),
        (2, 6, 0.6, 0.0),
        (1, 5, 0.1, 0.0),
        (2, 5, 0.1, 0.0),
    )
    (one, other) = found(*links)
    assert (numbers(one), one.rival) == ((2, [1], []), passage(6))
    assert (numbers(other), other.rival) == ((6, [5], []), None)


def test_a_doubt_does_not_reverse_what_was_only_said_again() -> None:
    (one,) = found((1, 5, 0.0, 0.96), (5, 9, 0.4, 0.0), (1, 9, 0.4, 0.0))
    assert (numbers(one), one.rival, one.ended) == ((1, [], [5]), passage(9), [])


def test_what_is_about_something_else_raises_no_doubt() -> None:
    both = found((1, 5, 0.9, 0.0), (5, 9, 0.3, 0.0), (9, 11, 0.9, 0.0))
    assert [(numbers(one), one.rival) for one in both] == [((5, [1], []), None), ((11, [9], []), None)]


def test_a_statement_continues_the_series_that_it_fits_best() -> None:
    both = found((1, 2, 0.05, 0.0), (1, 9, 0.6, 0.0), (2, 9, 0.8, 0.1), (1, 11, 0.9, 0.0), (9, 11, 0.1, 0.0))
    assert [numbers(one) for one in both] == [(11, [1], []), (9, [2], [])]


def test_what_goes_with_an_earlier_value_and_not_with_the_present_one_looks_back() -> None:
    (one,) = found((1, 5, 0.97, 0.0), (1, 9, 0.0, 0.98), (5, 9, 0.2, 0.0))
    assert numbers(one) == (5, [1], [])
    (one,) = found((1, 5, 0.97, 0.0), (1, 9, 0.0, 0.98), (5, 9, 0.7, 0.0))
    assert numbers(one) == (9, [5, 1], [])


def test_what_speaks_loudest_is_heard_first() -> None:
    """One comparison that leaves no doubt counts for more than several that nearly say nothing."""
    (one, other) = found((1, 9, 0.2, 0.0), (2, 9, 0.3, 0.0), (3, 9, 0.99, 0.0), (1, 3, 0.9, 0.0), (2, 4, 0.9, 0.0))
    assert (numbers(one), numbers(other)) == ((9, [3, 1], []), (4, [2], []))


def test_it_takes_more_to_unite_two_series_than_to_continue_one() -> None:
    apart = found((1, 2, 0.95, 0.0), (8, 9, 0.95, 0.0), (1, 8, 0.6, 0.0), (2, 9, 0.6, 0.0))
    assert [numbers(one) for one in apart] == [(2, [1], []), (9, [8], [])]
    (one,) = found((1, 2, 0.95, 0.0), (1, 8, 0.6, 0.0), (2, 8, 0.6, 0.0))
    assert numbers(one) == (8, [2, 1], [])
    (one,) = found((1, 2, 0.95, 0.0), (8, 9, 0.95, 0.0), (1, 8, 0.9, 0.0), (2, 9, 0.9, 0.0))
    assert numbers(one) == (9, [8, 2, 1], [])


def test_a_statement_that_could_be_about_either_of_two_things_does_not_make_them_one() -> None:
    """Three of each are sure; the one in doubt fits both, and goes where it fits better."""
    sure = [(one, other, 0.97, 0.0) for one, other in ((1, 2), (1, 3), (2, 3), (4, 5), (4, 6), (5, 6))]
    unlike = [(one, other, 0.02, 0.0) for one in (1, 2, 3) for other in (4, 5, 6)]
    fits = [(one, 9, 0.85, 0.0) for one in (1, 2, 3)] + [(one, 9, 0.95, 0.0) for one in (4, 5, 6)]
    both = found(*sure, *unlike, *fits)
    assert [numbers(one) for one in both] == [(3, [2, 1], []), (9, [6, 5, 4], [])]


def test_several_comparisons_are_worth_more_than_one() -> None:
    links = [(1, 2, 0.02, 0.0), (1, 3, 0.02, 0.0), (1, 9, 0.8, 0.0)]
    both = found(*links, (2, 3, 0.97, 0.0), (2, 9, 0.8, 0.0), (3, 9, 0.8, 0.0))
    assert [numbers(one) for one in both] == [(9, [3, 2], [])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sorry, Thursday.", True),
        ("Wait, it is Mehmet.", True),
        ("Toast, I meant to write.", True),
        ("Not the parish hall, the school.", True),
        ("Choir is on Thursday.", False),
        ("Sorry, I should have told you that choir has been on Thursdays since May.", False),
        ("Sorry" + "y" * 60, False),
    ],
)
def test_what_puts_a_slip_right_is_brief_and_says_so(text: str, *, expected: bool) -> None:
    assert series.may_put_right(passage(1, text)) is expected


def test_what_puts_a_slip_right_is_about_that_alone() -> None:
    likely, hardly = Chances(0.9, 0.0), Chances(0.08, 0.0)
    kin = [Kin(1, 9, likely), Kin(5, 9, hardly), Kin(9, 12, likely), Kin(9, 10, hardly), Kin(2, 12, likely)]
    assert series.put_right(kin, {9: 5, 10: 9}) == [
        Kin(5, 9, series.PUT_RIGHT),
        Kin(9, 10, series.PUT_RIGHT),
        Kin(2, 12, likely),
    ]


def test_what_is_not_about_what_was_said_just_before_stays_as_it_was_found() -> None:
    kin = [Kin(1, 9, Chances(0.9, 0.0)), Kin(5, 9, Chances(0.02, 0.0))]
    assert series.put_right(kin, {9: 5}) == kin


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


def test_what_rather_says_again_than_anything_else_reverses_nothing_however_unsure_it_is() -> None:
    (one,) = found((1, 5, 0.9, 0.0), (5, 9, 0.05, 0.4), (1, 9, 0.5, 0.0))
    assert numbers(one) == (5, [1], [9])


def test_an_earlier_value_that_was_said_again_held_since_it_was_said_first() -> None:
    (one,) = found((1, 5, 0.0, 0.97), (5, 9, 0.9, 0.0), (1, 9, 0.9, 0.0))
    assert numbers(one) == (9, [1], [5])
    assert [(ended.no, later.no) for ended, later in one.ended] == [(1, 9), (5, 9)]


def test_what_says_again_any_of_what_was_said_of_a_value_reverses_nothing() -> None:
    (one,) = found((1, 5, 0.9, 0.0), (5, 9, 0.02, 0.97), (5, 11, 0.02, 0.97), (9, 11, 0.2, 0.7))
    assert numbers(one) == (5, [1], [9, 11])


def test_whatever_may_go_together_is_looked_for() -> None:
    """The store follows each link that could join a series, or make it doubtful."""
    assert math.log(FOLLOWED / (1 - FOLLOWED)) <= min(series.JOINS, series.DOUBTS)


def test_of_several_doubts_the_newest_is_told() -> None:
    doubts = [(one, other, 0.4, 0.0) for one in (1, 5) for other in (7, 9)]
    (one,) = found((1, 5, 0.9, 0.0), *doubts, (7, 9, 0.4, 0.0))
    assert (numbers(one), one.rival) == ((5, [1], []), passage(9))


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


def test_what_several_people_say_is_read_with_their_names() -> None:
    mine, theirs = passage(1, "I keep my notes in Joplin."), passage(2, "I keep mine in Obsidian.", speaker="Ann")
    assert series.read_as(mine, theirs) == ("I keep my notes in Joplin.", "Ann: I keep mine in Obsidian.")
    long = passage(4, "So do I.", speaker="An address that is much too long@example.org")
    assert series.read_as(mine, long)[1] == "An address that is much too long@example: So do I."
    ben = passage(3, "Mine are on paper.", speaker="Ben")
    assert series.read_as(theirs, ben) == ("Ann: I keep mine in Obsidian.", "Ben: Mine are on paper.")


@pytest.mark.parametrize("speaker", ["user", "Ann"])
def test_what_one_person_says_is_read_as_it_is(speaker: str) -> None:
    one, other = passage(1, "We moved to Leeds.", speaker=speaker), passage(2, "York it is.", speaker=speaker)
    assert series.read_as(one, other) == (one.text, other.text)


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
