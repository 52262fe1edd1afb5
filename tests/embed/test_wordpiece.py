"""The ids were made by the `tokenizers` library from the model's own tokenizer file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.embed import wordpiece
from everthread.embed.wordpiece import END, LONGEST_WORD, MOST_PIECES, START, UNKNOWN, VOCABULARY

PIECES = wordpiece.load()

TABLE: dict[str, list[int]] = {
    "": [],
    "   \t\n": [],
    "We moved to PostgreSQL 15!": [2057, 2333, 2000, 2695, 17603, 2015, 4160, 2140, 2321, 999],
    "naïve Café, ÅNGSTRÖM": [15743, 7668, 1010, 17076, 15687],
    "don't stop: 3.14%": [2123, 1005, 1056, 2644, 1024, 1017, 1012, 2403, 1003],
    "ΣΑΣ ΟΔΟΣ": [1173, 14608, 29733, 1169, 29722, 29730, 29733],
    "İstanbul straße": [9960, 2358, 27807],
    "東京タワーへ行く": [1879, 1755, 1709, 30262, 30265, 30201, 1945, 1653],
    "한국어": [1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008],
    "Привет, мир": [1194, 16856, 10325, 25529, 15290, 22919, 1010, 1191, 10325, 16856],
    "नमस्ते": [1327, 29867, 29874, 29859],
    "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd": [1266, 29799, 29792, 29800],
    "👍🏽 ok 🎉": [UNKNOWN, 7929, UNKNOWN],
    "a\x00b\ufffdc\u200bd\xade": [5925, 3207],
    "one\xa0two\u2028three\u3000four": [2028, 2048, 2093, 2176],
    "unaffable electroencephalographically": [14477, 20961, 3468, 16175, 10127, 21890, 21197, 20721, 3973],
    "[SEP] is a word here [MASK]": [1031, 19802, 1033, 2003, 1037, 2773, 2182, 1031, 7308, 1033],
    "e\u0301 = é": [1041, 1027, 1041],
    "“quoted” — dash…": [1523, 9339, 1524, 1517, 11454, 1529],
    "foo_bar http://a.b/c?d": [29379, 1035, 3347, 8299, 1024, 1013, 1013, 1037, 1012, 1038, 1013, 1039, 1029, 1040],
}


@pytest.mark.parametrize("text", TABLE)
def test_the_pieces_are_those_of_the_models_own_tokenizer(text: str) -> None:
    assert PIECES.ids(text) == [START, *TABLE[text], END]


def test_a_word_beyond_a_hundred_characters_is_unknown() -> None:
    assert PIECES.ids("x" * LONGEST_WORD)[1] != UNKNOWN
    assert PIECES.ids("x" * (LONGEST_WORD + 1) + " y") == [START, UNKNOWN, 1061, END]


@pytest.mark.parametrize("text", ["word " * 1000, "!" * 5000, "é" * 99 + " " + "a b" * 10_000_000], ids=len)
def test_a_long_text_is_cut(text: str) -> None:
    ids = PIECES.ids(text)
    assert len(ids) == MOST_PIECES
    assert (ids[0], ids[-1]) == (START, END)


@given(st.text(alphabet=st.characters(), max_size=400))
def test_any_text_has_pieces(text: str) -> None:
    ids = PIECES.ids(text)
    assert (ids[0], ids[-1]) == (START, END)
    assert all(0 <= id_ < VOCABULARY and id_ not in (START, END) for id_ in ids[1:-1])
    assert len(ids) <= MOST_PIECES
