"""Tools as a union of reply or call: what is asked, and what is made of the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.core.messages import Message, say
from everthread.core.turn import ChoiceEnded, ModelEvent, Prompt, TextDelta, ToolCallDelta
from everthread.errors import RejectedUpstream, UpstreamMalformed
from everthread.models.embedded import schema
from everthread.models.embedded.answer import Reading
from everthread.models.embedded.union import Union, prompt_for, union

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "function": {"name": "weather", "description": "Now.", "parameters": CITY}}
CLOCK = {"type": "function", "function": {"name": "clock"}}


def options(**fields: object) -> tuple[tuple[str, bytes], ...]:
    return tuple((name, json.dumps(value).encode()) for name, value in fields.items())


def allowed(**fields: object) -> Union:
    found = union(options(tools=[WEATHER, CLOCK], **fields))
    assert found is not None
    return found


def asked(*messages: Message, **fields: object) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    prompt = Prompt(model="m", messages=messages, options=options(**fields))
    sent = prompt_for(prompt, union(prompt.options))
    return [json.loads(each.raw) for each in sent.messages], {name: json.loads(raw) for name, raw in sent.options}


def read(pieces: list[str], *, reason: str = "stop", **fields: object) -> list[ModelEvent]:
    reading = Reading(allowed(**fields), call_id="call_1")
    events = [event for piece in pieces for event in reading.feed(piece)]
    return [*events, *reading.end(reason)]


def said(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


# --- what is asked ----------------------------------------------------------------------------------------


def test_without_tools_the_prompt_stays_as_it_is():
    messages, sent = asked(say("user", "hi"), temperature=0, response_format={"type": "json_object"})
    assert messages == [{"role": "user", "content": "hi"}]
    assert sent == {"temperature": 0, "response_format": {"type": "json_object"}}


@pytest.mark.parametrize("fields", [{"tools": []}, {"tools": None}, {"tools": [CLOCK], "tool_choice": "none"}])
def test_nothing_to_call_is_no_union(fields):
    messages, sent = asked(say("user", "hi"), **fields)
    assert len(messages) == 1
    assert sent == {}


def test_tools_become_a_schema_and_an_instruction():
    messages, sent = asked(say("user", "hi"), tools=[WEATHER], parallel_tool_calls=True, temperature=0)
    assert messages[0]["role"] == "system"
    assert "weather: Now." in messages[0]["content"]
    assert sent.keys() == {"temperature", "response_format"}
    reply, call = sent["response_format"]["json_schema"]["schema"]["anyOf"]
    assert list(reply["properties"]) == ["reply"]
    assert list(call["properties"]) == ["call", "arguments"]
    assert call["properties"]["call"] == {"const": "weather"}


def test_the_instruction_joins_the_system_message():
    messages, _ = asked(say("system", "Be brief."), say("developer", "Be kind."), say("user", "hi"), tools=[CLOCK])
    assert [each["role"] for each in messages] == ["system", "user"]
    assert messages[0]["content"].startswith("Be brief.\n\nBe kind.\n\nTools:")


def test_required_leaves_no_reply():
    assert allowed(tool_choice="required").reply is None
    assert len(allowed(tool_choice="required").schema()["anyOf"]) == 2  # type: ignore[arg-type]


def test_a_named_function_is_the_only_one():
    chosen = allowed(tool_choice={"type": "function", "function": {"name": "clock"}})
    assert [each.name for each in chosen.functions] == ["clock"]
    assert chosen.reply is None


@pytest.mark.parametrize("choice", ["sometimes", {"type": "function", "function": {"name": "unknown"}}])
def test_a_choice_that_is_none_is_refused(choice):
    with pytest.raises(RejectedUpstream) as failure:
        allowed(tool_choice=choice)
    assert failure.value.param == "tool_choice"


def test_tools_that_cannot_be_read_are_refused_with_their_path():
    with pytest.raises(RejectedUpstream, match=r"tools\[0\]"):
        union(options(tools=[{"type": "function"}]))


def test_references_move_along_with_their_tool():
    parameters = {
        "type": "object",
        "properties": {"item": {"$ref": "#/$defs/Item"}, "self": {"$ref": "#"}, "any": True},
        "$defs": {"Item": {"enum": [1]}},
    }
    tool = {"type": "function", "function": {"name": "take", "parameters": parameters}}
    found = union(options(tools=[CLOCK, tool]))
    assert found is not None
    definitions: Any = found.schema()["$defs"]
    assert definitions["tool1"]["properties"] == {
        "item": {"$ref": "#/$defs/tool1/$defs/Item"},
        "self": {"$ref": "#/$defs/tool1"},
        "any": {},
    }


def test_earlier_calls_and_results_are_retold():
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Paris"}'}}
    spoken = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "18 C"}
    messages, _ = asked(
        say("user", "?"),
        Message("assistant", json.dumps(spoken).encode(), calls=("c1",)),
        Message("tool", json.dumps(result).encode(), text="18 C", answers="c1"),
    )
    assert messages[1]["role"] == "assistant"
    assert json.loads(messages[1]["content"]) == {"call": "weather", "arguments": {"city": "Paris"}}
    assert messages[2] == {"role": "user", "content": "[result of weather (c1)]: 18 C"}


# --- what comes back --------------------------------------------------------------------------------------


def test_words_arrive_as_they_are_generated():
    reading = Reading(allowed(), call_id="call_1")
    assert [said(list(reading.feed(piece))) for piece in ['{ "re', 'ply": "He', "llo", '"', "}"]] == [
        *("", "He", "llo", "", "")
    ]


@given(st.text(), st.integers(1, 7), st.booleans())
def test_a_reply_cut_anywhere_is_the_same_reply(text, step, ascii_only):
    whole = json.dumps({"reply": text.encode("utf-8", "replace").decode()}, ensure_ascii=ascii_only)
    events = read([whole[at : at + step] for at in range(0, len(whole), step)])
    assert said(events) == text.encode("utf-8", "replace").decode()
    assert events[-1] == ChoiceEnded("stop")


def test_half_a_surrogate_pair_becomes_a_replacement_character():
    assert said(read([*'{"reply":"a\\ud83db\\ude00c"}'])) == "a\ufffdb\ufffdc"


def test_a_call_is_a_call():
    events = read(['{"call": "weather",\n "argu', 'ments": {"city" : "Łódź"}}'])
    assert events == [ToolCallDelta(0, "call_1", "weather", '{"city":"Łódź"}'), ChoiceEnded("tool_calls")]


def test_a_cut_call_is_never_a_call_and_never_words():
    assert read(['{"call": "weather", "arguments": {"city": "Par'], reason="length") == [ChoiceEnded("length")]


def test_a_cut_reply_in_a_form_of_its_own_is_that_form_cut():
    form = {"type": "json_object"}
    events = read(['{"reply": {"city": "Par'], reason="length", response_format=form)
    assert events == [TextDelta('{"city": "Par'), ChoiceEnded("length")]


def test_what_a_schema_refers_to_moves_along_with_it_also_at_its_root():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    tool = {
        "type": "function",
        "function": {"name": "a", "parameters": {"$defs": {"Node": node}, "$ref": "#/$defs/Node"}},
    }
    found = union(options(tools=[tool], tool_choice="required"))
    assert found is not None
    place = "#/$defs/tool0/$defs/Node"
    moved = {"type": "object", "properties": {"next": {"$ref": place}}}
    assert found.schema()["$defs"] == {"tool0": {"$defs": {"Node": moved}, "$ref": place}}


def test_a_cut_reply_keeps_its_words():
    events = read(['{"reply": "Once upon\\'], reason="length")
    assert said(events) == "Once upon"
    assert events[-1] == ChoiceEnded("length")


@pytest.mark.parametrize(
    "answer",
    [
        '{"call":"weather","arguments":{"city":7}}',
        '{"call":"weather","arguments":{}}',
        '{"call":"rm","arguments":{}}',
    ],
)
def test_a_call_that_does_not_fit_is_a_failure(answer):
    with pytest.raises(UpstreamMalformed):
        read([answer])


def test_a_reply_may_have_the_clients_own_form():
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": CITY}}
    events = read(['{"reply": {"city": "Oslo"}}'], response_format=form)
    assert json.loads(said(events)) == {"city": "Oslo"}
    assert events[-1] == ChoiceEnded("stop")


def test_what_is_not_the_union_is_given_as_it_is():
    assert said(read(["no JSON at all"])) == "no JSON at all"


# --- schemas ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "form", "fits"),
    [
        (1, {"type": "integer"}, True),
        (True, {"type": "integer"}, False),
        (1.0, {"type": "integer"}, True),
        (1.5, {"type": ["integer", "null"]}, False),
        (None, {"type": ["integer", "null"]}, True),
        ("a", {"enum": ["a", "b"]}, True),
        ("c", {"enum": ["a", "b"]}, False),
        ("c", {"const": "d"}, False),
        (5, {"minimum": 1, "maximum": 4}, False),
        ("abc", {"maxLength": 2}, False),
        ([1, "x"], {"items": {"type": "integer"}}, False),
        ([], {"minItems": 1}, False),
        ({"a": 1}, {"properties": {}, "additionalProperties": False}, False),
        ({"a": 1}, {"additionalProperties": {"type": "string"}}, False),
        ({}, {"required": ["a"]}, False),
        (1, {"anyOf": [{"type": "string"}, {"type": "integer"}]}, True),
        (1, {"anyOf": [{"type": "string"}, {"type": "null"}]}, False),
        (1, {"allOf": [{"type": "integer"}, {"maximum": 0}]}, False),
        ({"next": {"next": 1}}, {"properties": {"next": {"$ref": "#"}}, "type": "object"}, False),
        ({"x": 2}, {"properties": {"x": {"$ref": "#/$defs/one"}}, "$defs": {"one": {"const": 1}}}, False),
        (1, {"$ref": "#"}, False),
        (1, True, True),
        (1, {"type": "float"}, True),
    ],
)
def test_a_value_fits_its_schema_or_not(value, form, fits):
    assert (schema.problem(value, form) is None) == fits


def test_a_problem_says_where_it_is():
    form = {"properties": {"days": {"items": {"type": "integer"}}}}
    assert schema.problem({"days": [1, "two"]}, form) == "days[1] must be of type integer"
