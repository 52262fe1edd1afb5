"""Words are taken out of any text, and nothing else is moved."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from everthread.core.claim import Block
from everthread.storage.mask import SIGN, Masking, Words, folded, growing, squeezed

LETTERS = st.text(st.sampled_from("aAbß ẞsSſİiIıǰ\u0307ŉΐ\n\t *_[forgtn]#~=+\U0001f600é"), max_size=30)


@given(LETTERS | st.text(max_size=40), LETTERS.filter(str.strip) | st.text(min_size=1, max_size=10).filter(str.strip))
@example("xxß STRASSE", "straße")
@example("İstanbul i̇stanbul", "İSTANBUL")
@example("aaaa", "aa")
@example("**aa", "*a")
@example("a [forgotten] b", "[forgotten]")
@example("one  two\nthree four", "two three")
@example("#~=+_*", "*_#~=+")
def test_a_mask_keeps_the_length_and_removes_every_occurrence(text: str, sought: str) -> None:
    words = Words(sought)
    for plain in (False, True):
        masked = words.masked(text, plain=plain)
        assert len(masked) == len(text)
        assert squeezed(folded(sought)) not in squeezed(folded(masked))
        assert words.masked(masked, plain=plain) == masked
        kept = words.spans(text)
        assert all(
            masked[at] == text[at] for at in range(len(text)) if not any(start <= at < end for start, end in kept)
        )


@given(st.text(max_size=20), LETTERS.filter(lambda text: len(text.strip()) > 0), st.text(max_size=20))
def test_it_is_found_in_upper_and_in_lower_case(before: str, sought: str, after: str) -> None:
    for form in (sought, sought.upper(), sought.lower(), sought.casefold()):
        assert Words(sought).spans(before + form + after)


def test_the_sign_stands_where_there_is_room() -> None:
    assert Words("my old address").masked("at my old\naddress, yes") == "at [forgotten]   , yes"
    assert Words("Bob").masked("bob and Bob") == "*** and ***"
    assert Words("   ").masked("   ") == "   "


STRATEGY = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | LETTERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LETTERS, inner, max_size=3),
    max_leaves=8,
)


@given(STRATEGY, LETTERS.filter(lambda text: len(text.strip()) > 2), LETTERS)
def test_arguments_stay_json_without_the_words(tree: object, sought: str, content: str) -> None:
    arguments = json.dumps({"a": tree, "b": f"x{sought}y"})
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": arguments}}
    body = {"role": "assistant", "content": content, "tool_calls": [call]}
    words = Words(sought)
    masking = Masking(words)
    made = masking.message(body)
    clean = made["tool_calls"][0]["function"]["arguments"]
    assert masking.found
    assert not words.spans(clean)
    assert not any(words.spans(text) for text in texts(json.loads(clean)))
    assert len(made["content"]) == len(content) or "\\" in content
    assert (made["role"], made["tool_calls"][0]["id"], made["tool_calls"][0]["type"]) == ("assistant", "c1", "function")


def texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in texts(one)]
    return [text for one in value for text in texts(one)] if isinstance(value, list) else []


@pytest.mark.parametrize(
    ("sought", "body", "made"),
    [
        ("user", {"role": "user", "content": "the user"}, {"role": "user", "content": "the ****"}),
        ("1234", {"role": "user", "content": "hi", "pin": 12345}, {"role": "user", "content": "hi", "pin": "****5"}),
        ("Ada", {"role": "user", "name": "ada-1", "content": "x"}, {"role": "user", "name": "___-1", "content": "x"}),
        (
            "one two",
            {"role": "user", "content": [{"type": "text", "text": "a one"}, {"type": "text", "text": "two b"}]},
            {"role": "user", "content": [{"type": "text", "text": "a ***"}, {"type": "text", "text": "*** b"}]},
        ),
        (
            "abc",
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,abc"}}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,abc"}}]},
        ),
        (
            "abc",
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/abc.png"}}]},
            {"role": "user", "content": [{"type": "text", "text": ""}]},
        ),
        (
            "Straße",
            {"role": "tool", "tool_call_id": "Straße", "content": '{"at": "Stra\\u00dfe 1"}'},
            {"role": "tool", "tool_call_id": "Straße", "content": '{"at":"****** 1"}'},
        ),
        (
            '"b": 1',
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"b": 1}'}}]},
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
        ),
        (
            "half",
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"b": "half'}}]},
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"b": "****'}}]},
        ),
    ],
)
def test_a_message_stays_one(sought: str, body: dict[str, object], made: dict[str, object]) -> None:
    assert Masking(Words(sought)).message(body) == made


def test_what_was_drawn_loses_each_sentence() -> None:
    words = Words("I live in Sesame Street 12. The door is green!")
    drawn = words.drawn('2026 (turn 3) user: "I live in Sesame Street 12." … "The door is green!" "Tea."')
    assert drawn == f'2026 (turn 3) user: "{SIGN.ljust(27)}" … "{SIGN.ljust(18)}" "Tea."'
    assert words.block(Block("tea", 3)) == Block("tea", 3)


def test_a_log_loses_what_a_model_wrote_about_a_turn() -> None:
    def block(author: str, *lines: str) -> dict[str, object]:
        return {"lines": list(lines), "author": author, "tokens": 5}

    log = json.dumps([block("rules", "(turn 3) tea", "(turn 4) Rome"), block("model", "(turn 3) tea", "(turn 5) milk")])
    made = json.loads(Words("Rome").log(log, frozenset({3})))
    assert [one["lines"] for one in made] == [["(turn 3) tea", "(turn 4) ****"], ["(turn 5) milk"]]
    assert Words("Paris").log(log) == log
    assert Words("Rome").log("Rome was told") == "**** was told"


def test_every_character_that_grows_is_known() -> None:
    grows = {one for one in map(chr, range(sys.maxunicode + 1)) if len(folded(one)) > 1}
    assert {one for one in grows if not growing().fullmatch(one)} == set()
