"""A turn's events and what they fold to."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from everthread.core.turn import (
    Choice,
    ChoiceEnded,
    Folding,
    Opened,
    Outcome,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
    unfold,
)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
some = text.filter(bool)
calls = st.lists(st.builds(ToolCall, id=some, name=some, arguments=text), max_size=3).map(tuple)
choices = st.one_of(
    st.builds(Choice, content=text, finish=some, reasoning=text),
    st.builds(Choice, content=st.none(), finish=some, tool_calls=calls.filter(bool), reasoning=text),
    st.builds(Choice, content=st.none(), finish=some, refusal=some),
    st.builds(Choice, content=some, finish=some, logprobs=st.just(b'{"content":[1]}')),
)
outcomes = st.builds(
    Outcome,
    model=text,
    choices=st.lists(choices, min_size=1, max_size=3).map(tuple),
    usage=st.builds(Usage, st.integers(0, 9), st.integers(0, 9)),
    fingerprint=st.none() | text,
)


@given(outcomes)
def test_what_is_unfolded_folds_to_the_same_outcome(outcome: Outcome) -> None:
    folding = Folding()
    for event in unfold(outcome):
        folding.add(event)
    assert folding.complete
    assert folding.outcome(lambda: Usage(0, 0)) == outcome


@given(st.lists(text.filter(bool), min_size=1, max_size=10))
def test_the_pieces_of_a_text_make_the_text(pieces: list[str]) -> None:
    folding = Folding()
    for piece in pieces:
        folding.add(TextDelta(piece))
    assert not folding.complete, "there is no finish reason yet"
    folding.add(ChoiceEnded("stop"))
    assert folding.complete
    assert folding.outcome(lambda: Usage(1, 2)).choices[0].content == "".join(pieces) == folding.text


def test_a_tool_call_in_pieces_is_put_together() -> None:
    folding = Folding()
    folding.add(Opened("m"))
    folding.add(ToolCallDelta(0, "c1", "add", ""))
    folding.add(ToolCallDelta(1, "c2", "sub", "{}"))
    folding.add(ToolCallDelta(0, arguments='{"a"'))
    folding.add(ToolCallDelta(0, arguments=":1}"))
    folding.add(ChoiceEnded("tool_calls"))
    choice = folding.outcome(lambda: Usage(0, 0)).choices[0]
    assert choice.tool_calls == (ToolCall("c1", "add", '{"a":1}'), ToolCall("c2", "sub", "{}"))
    message = choice.message()
    assert message.calls == ("c1", "c2")
    assert json.loads(message.raw)["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a":1}'}


def test_logprobs_of_many_chunks_become_one_list() -> None:
    folding = Folding()
    folding.add(TextDelta("a", 0, b'{"content":[{"token":"a"}],"refusal":null}'))
    folding.add(TextDelta("b", 0, b'{"content":[{"token":"b"}],"refusal":null}'))
    folding.add(ChoiceEnded("stop"))
    logprobs = folding.outcome(lambda: Usage(0, 0)).choices[0].logprobs
    assert json.loads(logprobs or b"") == {"content": [{"token": "a"}, {"token": "b"}], "refusal": None}
