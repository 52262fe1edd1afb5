"""What answers a question: the newest statement holds, the older ones did, and what states nothing is neither."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from everthread.core.claim import Claim, ClaimId, Span
from everthread.core.ids import LineageId, SessionId, StepId, ThreadId
from everthread.core.memory import Passage
from everthread.memory import series
from everthread.memory.rank import Question, Ranked
from everthread.memory.series import Series
from everthread.memory.stance import stance

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
QUESTION = "Where do I keep my notes?"


def passage(seq: int, text: str, *, speaker: str = "user", after: timedelta | None = None) -> Passage:
    return Passage(
        no=seq,
        step=StepId(f"s{seq}"),
        session=SessionId("here"),
        thread=ThreadId("t"),
        lineage=LineageId("l"),
        seq=seq,
        message=0,
        start=0,
        role="user",
        speaker=speaker,
        said_at=BEGAN + (after if after is not None else timedelta(days=seq)),
        text=text,
    )


def claim(seq: int, *, by: int | None = None) -> Claim:
    return Claim(
        id=ClaimId(f"c{seq}"),
        kind="fact",
        quote="notes",
        step=StepId(f"s{seq}"),
        seq=seq,
        span=Span(0, 0, 5),
        speaker="user",
        said_at=BEGAN + timedelta(days=seq),
        recorded_at=BEGAN,
        state="current" if by is None else "reversed",
        superseded_by=ClaimId(f"c{by}") if by is not None else None,
    )


def answers(*said: tuple[Passage, float], question: str = QUESTION, claims: tuple[Claim, ...] = ()) -> Series:
    """Of turns that are as similar to each other as each is to the question."""
    ranked = [Ranked(one, similar, similar) for one, similar in said]
    asked = Question(text=question, at=BEGAN + timedelta(days=99))
    turns = series.turns(ranked, asked, claims)
    return series.series(turns, asked, {one.no: similar for one, similar in said}, claims)


OLD, NEW = passage(3, "I keep my notes in Joplin."), passage(9, "My notes live in Obsidian.")


def test_the_newest_statement_holds_though_nobody_said_that_anything_changed() -> None:
    assert answers((OLD, 0.7), (NEW, 0.65)) == Series(NEW, (OLD,))


def test_a_statement_alone_holds() -> None:
    assert answers((OLD, 0.7), (passage(5, "The cat is asleep."), 0.02)).current == OLD


@pytest.mark.parametrize(
    "text",
    [
        "Should I keep my notes in Obsidian?",
        "Suppose my notes were in Obsidian, I would be faster.",
        "My sister keeps her notes in Obsidian.",
        "Write a text about notes in Obsidian.",
    ],
)
def test_what_says_nothing_of_its_speaker_does_not_reverse_what_holds(text: str) -> None:
    found = answers((OLD, 0.7), (passage(9, text), 0.68))
    assert found.current == OLD
    assert not found.earlier


def test_few_words_are_about_what_was_asked_just_before_them() -> None:
    asked = passage(8, "What do you know about my notes?", after=timedelta(days=8))
    said = passage(9, "That's outdated. Obsidian now.", after=timedelta(days=8, minutes=2))
    assert answers((OLD, 0.7), (asked, 0.6), (said, 0.2)).current == said


def test_few_words_an_hour_later_are_about_anything() -> None:
    asked = passage(8, "What do you know about my notes?", after=timedelta(days=8))
    said = passage(9, "That's outdated. Obsidian now.", after=timedelta(days=8, hours=1))
    assert answers((OLD, 0.7), (asked, 0.6), (said, 0.2)).current != said


def test_a_turn_that_was_known_to_be_replaced_leads_to_the_one_that_replaced_it() -> None:
    newer = passage(9, "We imported everything into Obsidian.")
    assert answers((OLD, 0.7), (newer, 0.2), claims=(claim(3, by=9), claim(9))).current == newer


def test_another_person_s_own_things_are_not_mine() -> None:
    theirs = passage(9, "I keep my notes in Obsidian.", speaker="Ann")
    assert answers((OLD, 0.7), (theirs, 0.69)).current == OLD


def test_what_a_person_put_right_by_hand_answers_nothing() -> None:
    hand = by_hand()
    assert answers((OLD, 0.7), claims=(claim(3, by=50), hand)) == Series()


def by_hand() -> Claim:
    return Claim(
        id=ClaimId("c50"),
        kind="fact",
        quote="The notes are in Obsidian",
        step=None,
        seq=0,
        span=Span(0, 0, 5),
        speaker="user",
        said_at=BEGAN,
        recorded_at=BEGAN,
        author="person",
    )


def test_where_two_are_as_likely_neither_is_picked() -> None:
    one, other = passage(3, "Notes: Joplin, mostly."), passage(9, "Some of it is in Obsidian.")
    found = answers((one, 0.3), (other, 0.21))
    assert found == Series(unresolved=(other, one))


def test_a_question_about_the_past_has_no_current_answer() -> None:
    asked = Question(text="Where did I keep my notes?", at=BEGAN)
    assert series.turns([Ranked(OLD, 0.7, 0.7)], asked) == []


def test_without_vectors_nothing_is_known_to_answer() -> None:
    assert series.turns([Ranked(OLD, 0.7), Ranked(NEW, 0.7)], Question(text=QUESTION, at=BEGAN)) == []


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("We deploy on Fridays.", "states"),
        ("If anyone asks, the answer is React.", "states"),
        ("Do we deploy on Fridays?", "asks"),
        ("What if we deployed on Fridays.", "asks"),
        ("Suppose we deploy on Fridays.", "supposes"),
        ("We are thinking of deploying on Fridays.", "plans"),
        ("We decided against Fridays.", "keeps"),
        ("She told me they deploy on Fridays.", "reports"),
        ("Write a poem about Fridays.", "orders"),
    ],
)
def test_what_a_sentence_does(sentence: str, expected: str) -> None:
    assert stance(sentence) == expected
