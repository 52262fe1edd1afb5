"""Sentences are spans of a text; marks are what a retelling may not lose."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.core.marks import marks
from everthread.core.sentences import LONGEST, sentences, squeezed


def split(text: str) -> list[str]:
    return [sentence.text for sentence in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("We run v2.3.1 of app.py. See https://a.org/b.c?d=1. Ok.",
         ["We run v2.3.1 of app.py.", "See https://a.org/b.c?d=1.", "Ok."]),
        ("- one\n- two\n1. three\n2) four", ["one", "two", "three", "four"]),
        ("# Title\nText here", ["Title", "Text here"]),
        ("我们用它。很好！对吗？", ["我们用它。", "很好！", "对吗？"]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("Wait... what happened?! Nothing.", ["Wait... what happened?!", "Nothing."]),
        ("Das ist z.B. so. Gut.", ["Das ist z.B. so.", "Gut."]),
        ("Before:\n```py\nx = 1.\ny = 2\n```\nAfter.", ["Before:", "x = 1.", "y = 2", "After."]),
        ("```\nnever closed", ["never closed"]),
        ("A line that was wrapped by an editor at some column\nand goes on. Next.",
         ["A line that was wrapped by an editor at some column and goes on.", "Next."]),
        ("short line\nand another", ["short line", "and another"]),
        ("", []),
        ("...", []),
    ],
)  # fmt: skip
def test_a_text_is_split_where_its_sentences_end(text: str, expected: list[str]) -> None:
    assert split(text) == expected


def test_an_abbreviation_an_initial_or_a_decimal_ends_nothing() -> None:
    assert split("Dr. Weber pays 3.5 EUR, e.g. to J. Smith. Done.") == [
        "Dr. Weber pays 3.5 EUR, e.g. to J. Smith.",
        "Done.",
    ]


def test_a_long_one_is_cut_between_words_and_never_inside_a_character() -> None:
    for text in ("word " * 500, "clause, " * 300, "x" + "e\u0301" * 1000, "\U0001f469\u200d\U0001f467" * 500):
        parts = split(text)
        assert all(len(part) <= LONGEST for part in parts)
        assert not any(unicodedata.combining(part[0]) or part[0] == "\u200d" for part in parts)
    assert set(" ".join(split("word " * 500)).split()) == {"word"}


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("ab1 .\n-`!?。\"'(é中\u0301"), max_size=300))
def test_sentences_are_spans_in_order_and_lose_no_word(text: str) -> None:
    found = list(sentences(text))
    assert all(squeezed(text[each.start : each.end]) == each.text for each in found)
    assert all(one.end <= two.start for one, two in pairwise(found))


@pytest.mark.parametrize(
    ("text", "numbers", "identifiers", "names"),
    [
        ("It costs $1,200 or 7% of 3.5k", {"1200", "7", "3.5"}, set(), set()),
        ("at 14:30 on 2026-03-02, five times", {"14:30", "2026-03-02", "5"}, set(), set()),
        ("a 15-inch one, 2nd floor", {"15", "2"}, set(), set()),
        (
            "see src/a.py, /etc/hosts and docs.example.com.",
            set(),
            {"src/a.py", "/etc/hosts", "docs.example.com"},
            set(),
        ),
        ("ABC-123, #42, @bob, --dry-run, $HOME", set(), {"ABC-123", "#42", "@bob", "--dry-run", "$HOME"}, set()),
        ("load_config, PostgreSQL, v2.1, C++", set(), {"load_config", "PostgreSQL", "v2.1", "C++"}, set()),
        ("ask x@y.org or https://a.org/b?c=1.", set(), {"x@y.org", "https://a.org/b?c=1"}, set()),
        ("run `make it so` now", set(), {"make it so"}, set()),
        ("Then Anna's friend met Dr. Weber of IBM", set(), set(), {"Anna", "Weber", "IBM"}),
        ("The end: Maybe", set(), set(), set()),
        ("wir sind in Berlin und der Hund ist bei Anna Schmidt", set(), set(), {"Berlin", "Anna", "Schmidt"}),
        ("我们用PostgreSQL15和3台服务器", {"3"}, {"PostgreSQL15"}, set()),
        ("either and/or, well--no, e.g. this", set(), set(), set()),
        ("x" * 500 + " ... (turn 12) turns 3-4", set(), set(), set()),
    ],
)
def test_numbers_identifiers_and_names_are_told_from_words(
    text: str, numbers: set[str], identifiers: set[str], names: set[str]
) -> None:
    found = marks(text)
    assert (found.numbers, found.identifiers, found.names) == (numbers, identifiers, names)
