"""What a prompt's lines are taken for."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from everthread.evals import judged
from everthread.evals.conversation import Question
from everthread.evals.judged import Shown, Verdict
from everthread.memory.render import PROFILE, TAIL

# The conversation: turn 0 says MySQL, turn 4 PostgreSQL, turn 10 SQLite because of the bill, which turn 8 told.
QUESTION = Question(
    text="Which database do we use?",
    at=datetime(2026, 3, 1, tzinfo=UTC),
    subject="the database",
    current="SQLite",
    current_turn=10,
    stale=(("MySQL", 0), ("PostgreSQL", 4)),
    cause="the bill was too high",
    cause_turn=8,
    asked_by="user",
)
CURRENT = 'CURRENT since 2026-02-01 (turn 6 of s1): "We moved from PostgreSQL to SQLite"'
BOTH = f"""{CURRENT} - because: "the bill was too high" (turn 5 of s1)
  REVERSED: "we use PostgreSQL (15)" (2026-01-03 to 2026-02-01, turn 3 of s1)
  REVERSED: "we use MySQL" (2026-01-01 to 2026-01-03, turn 1 of s1)
"""


def verdict(lines: str, *, profile: str = "") -> Verdict:
    known = f"{PROFILE}Known:\n{profile}\n\n" if profile else ""
    legend = '(s1 is session "trip (turn 1)")\n'
    return judged.verdict(QUESTION, judged.lines(f'{known}{TAIL}{lines}{legend}\n(turn 1): "MySQL"?'))


def test_a_line_is_its_label_its_turn_and_its_quote() -> None:
    lines = judged.lines(
        f"{TAIL}{BOTH}"
        'UNRESOLVED 2026-01-01 (turn 7): "it is Monday"\n'
        '  or 2026-01-02 (turn 8) Ann: "it is "Tuesday" (turn 3)"\n'
        'PAST until 2026-01-02 (turn 9): "we were away"\n'
        '2026-01-04 (turn 10, since reversed in turn 12) Bob: "hello - because: I can"\n'
        '  (turn 11 of s2) Bob: "hi"\n'
    )
    assert [(line.label, line.turn, line.quote) for line in lines] == [
        ("current", 6, "We moved from PostgreSQL to SQLite"),
        ("reversed", 3, "we use PostgreSQL (15)"),
        ("reversed", 1, "we use MySQL"),
        ("unresolved", 7, "it is Monday"),
        ("unresolved", 8, 'it is "Tuesday" (turn 3)'),
        ("past", 9, "we were away"),
        ("reversed", 10, "hello - because: I can"),
        ("plain", 11, "hi"),
    ]


def test_both_sides_and_the_cause_in_their_places_is_what_is_wanted() -> None:
    assert verdict(BOTH) == Verdict(
        current_in_prompt=True,
        current_reversed=False,
        current_labelled=True,
        both_sides=True,
        turns_labelled=True,
        unresolved=False,
        stale_as_current=False,
        stale_unlabelled=False,
        cause_shown=True,
        cause_linked=True,
    )


def test_every_older_value_must_be_there() -> None:
    found = verdict(f'{CURRENT}\n  REVERSED: "we use MySQL" (2026-01-01 to 2026-02-01, turn 1 of s1)\n')
    assert (found.current_labelled, found.both_sides, found.cause_shown) == (True, False, False)


def test_an_older_value_on_a_current_line_is_stale() -> None:
    found = verdict(f'{CURRENT}\nCURRENT since 2026-01-01 (turn 1 of s1): "we use MySQL"\n')
    assert (found.stale_as_current, found.stale_unlabelled) == (True, False)


def test_a_plain_older_value_is_stale_unless_its_successor_is_there() -> None:
    alone = verdict('2026-01-03 (turn 3 of s1): "we use PostgreSQL (15)"\n')
    assert (alone.current_in_prompt, alone.stale_as_current, alone.stale_unlabelled) == (False, True, True)
    beside = verdict(f'{CURRENT}\n2026-01-03 (turn 3 of s1): "we use PostgreSQL (15)"\n')
    assert (beside.stale_as_current, beside.stale_unlabelled, beside.both_sides) == (False, True, False)
    skipping = verdict(f'{CURRENT}\n2026-01-01 (turn 1 of s1): "we use MySQL"\n')  # what came next is not there
    assert skipping.stale_as_current


def test_an_older_value_in_the_profile_is_stale() -> None:
    assert verdict(BOTH, profile='2026-01-01 (turn 1): "we use MySQL"').stale_as_current


def test_what_holds_may_be_taken_for_what_does_not() -> None:
    found = verdict(
        'CURRENT since 2026-02-02 (turn 7 of s1): "Nothing else is new"\n'
        '  REVERSED: "We moved to SQLite" (2026-02-01 to 2026-02-02, turn 6 of s1)\n'
    )
    assert (found.current_in_prompt, found.current_reversed, found.current_labelled) == (True, True, False)


def test_a_line_of_the_right_turn_must_have_the_value() -> None:
    found = verdict('CURRENT since 2026-02-01 (turn 6 of s1): "The weather is fine"\n')
    assert (found.current_in_prompt, found.current_labelled) == (False, False)
    found = verdict(BOTH.replace("We moved from PostgreSQL to SQLite", "The weather is fine"))
    assert (found.both_sides, found.turns_labelled) == (False, True)


def test_a_conflict_is_no_answer_but_is_told() -> None:
    found = verdict('UNRESOLVED 2026-02-01 (turn 6): "SQLite it is"\n  or 2026-01-03 (turn 3): "PostgreSQL it is"\n')
    assert (found.unresolved, found.current_labelled, found.stale_as_current) == (True, False, False)


def test_what_never_changed_needs_no_label() -> None:
    question = Question(
        **{name: getattr(QUESTION, name) for name in ("text", "at", "subject", "current", "current_turn", "asked_by")},
        stale=(),
        cause=None,
        cause_turn=None,
    )
    found = judged.verdict(question, [Shown("plain", 6, "It is SQLite", "")])
    known = {name: value for name, value in msgspec.structs.asdict(found).items() if value is not None}
    assert known == {"current_in_prompt": True, "current_reversed": False}


def test_a_prompt_without_memory_has_no_lines() -> None:
    assert judged.lines('What about (turn 3) "this"?') == []
