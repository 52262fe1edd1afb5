"""The model of the compat tests knows what its prompt says, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compat.reader import Reply, events, reply


def ask(*said: str, **more: Any) -> Reply:
    roles = ("user", "assistant")
    messages = [{"role": roles[index % 2], "content": text} for index, text in enumerate(said)]
    return reply({"model": "m", "messages": messages, **more})


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (["My name is Alex.", "Noted.", "What is my name?"], "Your name is Alex."),
        (["Hello.", "Your name is Alex.", "What is my name?"], "I do not know your name."),
        (["My name is Alex.", "ok", "My name is Kim.", "ok", "What is my name?"], "Your name is Kim."),
        (["Lunch was 12.", "ok", "Dinner was 30.", "ok", "What do they add up to?"], "They add up to 42."),
        (["What is 6 x 7?"], "It is 42."),
        (["Good day"], "You said: Good day"),
    ],
)
def test_it_answers_from_what_it_was_told(said: list[str], answer: str) -> None:
    assert ask(*said).text == answer


def test_what_was_recalled_for_a_question_is_known_but_is_not_the_question() -> None:
    assert ask("[memory: earlier]\nMy name is Alex.\n\nWhat is my name?").text == "Your name is Alex."


def test_it_fills_a_schema_with_references_enums_lists_and_nulls() -> None:
    schema = {
        "$defs": {"Pet": {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}},
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "mood": {"enum": ["glad", "sad"]},
            "pets": {"type": "array", "items": {"$ref": "#/$defs/Pet"}},
            "nickname": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "sum": {"type": ["number", "null"]},
        },
    }
    form = {"type": "json_schema", "json_schema": {"name": "p", "schema": schema}}
    answer = ask("My name is Alex. My pets are Rex (3) and Tom (9). I am sad.", response_format=form)
    assert json.loads(answer.text) == {
        "name": "Alex",
        "mood": "sad",
        "pets": [{"name": "Rex", "age": 3}, {"name": "Tom", "age": 9}],
        "nickname": None,
        "sum": None,
    }


def test_it_calls_the_tools_that_a_question_asks_for() -> None:
    def tool(name: str) -> dict[str, Any]:
        parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
        return {"type": "function", "function": {"name": name, "parameters": parameters}}

    tools = [tool("get_weather"), tool("get_population")]
    bern, oslo = ("get_weather", {"city": "Bern"}), ("get_weather", {"city": "Oslo"})
    assert ask("The weather in Bern and in Oslo?", tools=tools).calls == [bern, oslo]
    assert ask("The weather in Bern and in Oslo?", tools=tools, parallel_tool_calls=False).calls == [bern]
    assert ask("Was it nice in Bern?", tools=tools).calls == []
    assert ask("Was it nice in Bern?", tools=tools, tool_choice="required").calls == [bern]
    named = {"type": "function", "function": {"name": "get_population"}}
    assert ask("Was it nice in Bern?", tools=tools, tool_choice=named).calls == [("get_population", {"city": "Bern"})]
    assert ask("The weather in Bern?", tools=tools, tool_choice="none").calls == []


def test_it_stops_where_it_is_told_to() -> None:
    assert (ask("one two three", max_tokens=3).text, ask("one two three", max_tokens=3).finish) == (
        "You said: one ",
        "length",
    )
    assert ask("one two three", stop=["two"]).text == "You said: one "


def test_its_stream_comes_in_pieces_and_ends_properly() -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "Hello you"}], "reasoning_effort": "low"}
    *chunks, usage, done = events(request, reply(request))
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert "".join(delta.get("content") or "" for delta in deltas) == "You said: Hello you"
    assert any("reasoning_content" in delta for delta in deltas)
    assert (chunks[-1]["choices"][0]["finish_reason"], usage["choices"], done) == ("stop", [], "[DONE]")
