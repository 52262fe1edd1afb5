"""How a text is cut into the pieces that the index covers."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from everthread.storage.rows import PIECE, pieces

WORDS = st.sampled_from(["a", "heron", "flew.", "over!", "\n", "\n\n", "  ", "x" * 300, "\u4e16" * 500, "\u3002", "."])
TEXTS = st.one_of(st.text(), st.lists(WORDS, max_size=60).map(" ".join), st.lists(WORDS, max_size=60).map("".join))


@given(TEXTS)
def test_no_character_is_lost_and_each_piece_says_where_it_stands(text: str) -> None:
    found = list(pieces(text))
    end = 0
    for start, piece in found:
        assert text[start : start + len(piece)] == piece
        assert 0 < len(piece) <= PIECE
        assert not piece.isspace()
        assert not text[end:start].strip(), "only white space may lie between"
        end = start + len(piece)
    assert not text[end:].strip()


def test_a_piece_ends_with_a_sentence_or_a_line_where_one_ends() -> None:
    text = "The heron flew over the lake. " * 60
    found = [piece for _, piece in pieces(text)]
    assert len(found) > 2
    assert all(piece.endswith("lake. ") for piece in found)
    lines = "\n".join(f"- item number {n}" for n in range(200))
    assert all(piece.endswith("\n") for _, piece in list(pieces(lines))[:-1])


def test_else_it_ends_between_words_and_long_ones_are_cut() -> None:
    found = [piece for _, piece in pieces("heron " * 300)]
    assert all(piece.endswith(" ") for piece in found)
    assert [len(piece) for _, piece in pieces("x" * 2000)] == [PIECE, PIECE, 400]


def test_a_text_that_is_not_long_is_one_piece_and_a_blank_one_is_none() -> None:
    assert list(pieces("hello")) == [(0, "hello")]
    assert list(pieces(" \n ")) == []
    assert list(pieces("")) == []


def test_cutting_takes_time_in_proportion_to_the_text() -> None:
    began = time.thread_time()
    assert sum(len(piece) for _, piece in pieces("x" * 2_000_000)) == 2_000_000
    assert time.thread_time() - began < 2
