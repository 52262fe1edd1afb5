"""The chat format, both directions."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.core.ids import DEFAULT_TENANT
from everthread.core.turn import Envelope
from everthread.errors import Malformed
from everthread.wire import chat
from everthread.wire.json import fields

ENVELOPE = Envelope(tenant=DEFAULT_TENANT)

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
parts = st.lists(
    st.one_of(
        st.fixed_dictionaries({"type": st.just("text"), "text": text}),
        st.fixed_dictionaries({"type": st.just("image_url"), "image_url": st.fixed_dictionaries({"url": text})}),
        st.fixed_dictionaries({"type": st.just("input_audio"), "input_audio": st.dictionaries(text, text)}),
    ),
    max_size=3,
)
message = st.one_of(
    st.fixed_dictionaries({"role": st.just("user"), "content": text | parts}, optional={"name": text, "unknown": text}),
    st.fixed_dictionaries({"role": st.just("assistant"), "content": text}),
    st.fixed_dictionaries({"role": st.sampled_from(["system", "developer"]), "content": text}),
)


def decode(body: dict[str, Any]) -> chat.Asked:
    return chat.decode(json.dumps(body).encode(), ENVELOPE)


@given(st.lists(message, min_size=1, max_size=6).filter(lambda ms: any(m["role"] in {"user", "assistant"} for m in ms)))
def test_a_message_is_carried_byte_for_byte(messages: list[dict[str, Any]]) -> None:
    turn = decode({"messages": messages}).turn
    carried = {m.raw for m in (*turn.messages, *turn.instructions)}
    assert carried == {json.dumps(m).encode() for m in messages}
    again = chat.stored_messages(b"[" + b",".join(m.raw for m in turn.messages) + b"]")
    assert again == turn.messages, "what is stored reads as what came in"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*chat.KNOWN, "messages", "model", "stream", "zzz"]), json_values, max_size=5))
def test_any_object_is_decoded_or_refused_with_a_reason(body: dict[str, Any]) -> None:
    with suppress(Malformed):
        assert decode(body).turn.messages


@given(st.binary(max_size=60))
def test_any_bytes_are_decoded_or_refused(body: bytes) -> None:
    with pytest.raises(Malformed):
        chat.decode(body, ENVELOPE)


def test_unknown_fields_are_carried_and_nulls_left_out() -> None:
    turn = decode({"messages": [{"role": "user", "content": "x"}], "new_thing": {"a": [1]}, "tools": None}).turn
    assert turn.options == (("new_thing", b'{"a": [1]}'),)


@pytest.mark.parametrize(("depth", "fits"), [(60, True), (64, False), (500, False), (100_000, False)])
def test_json_may_be_so_deep_and_no_deeper(depth: int, fits: bool) -> None:
    body = b'{"messages":[{"role":"user","content":"x"}],"deep":' + b"[" * depth + b"]" * depth + b"}"
    if fits:
        chat.decode(body, ENVELOPE)
    else:
        with pytest.raises(Malformed, match="deeper than 64"):
            chat.decode(body, ENVELOPE)


def test_nul_is_refused_wherever_it_is_and_its_name_is_not() -> None:
    for body in (rb'{"a": "x\u0000"}', rb'{"a\u0000": 1}', rb'{"a": [{"b": "\u0000"}]}'):
        with pytest.raises(Malformed, match="NUL"):
            fields(body)
    assert fields(rb'{"a": "\\u0000"}')


def test_the_param_of_a_failure_is_a_path() -> None:
    with pytest.raises(Malformed) as refused:
        decode({"messages": [{"role": "user", "content": "x"}, {"role": "user", "content": [{"type": 5}]}]})
    assert refused.value.param == "messages[1].content[0].type"
