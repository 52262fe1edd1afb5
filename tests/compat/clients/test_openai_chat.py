"""The official `openai` client: chat completions, with a model that knows only what it is sent."""

from __future__ import annotations

from typing import Any, Literal

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

import shapes
from compat.reader import Reader
from conftest import Door

WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather at a place.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


class Person(BaseModel):
    class Pet(BaseModel):
        name: str
        age: int

    name: str
    town: str
    mood: Literal["glad", "sad"]
    pets: list[Pet]
    nickname: str | None


def user(text: Any) -> Any:
    return [{"role": "user", "content": text}]


def ask(ai: OpenAI, text: str, session: dict[str, str], **more: Any) -> Any:
    return ai.chat.completions.create(model="hermes", messages=user(text), extra_headers=session, **more)


def said(answer: Any) -> str:
    return str(answer.choices[0].message.content)


def test_a_session_remembers_what_only_an_earlier_request_said(ai: OpenAI, session: dict[str, str]) -> None:
    assert said(ask(ai, "What is my name?", session)) == "I do not know your name."
    ask(ai, "My name is Alex.", session)
    assert said(ask(ai, "What is my name?", session)) == "Your name is Alex."


def test_without_the_header_nothing_is_remembered(ai: OpenAI) -> None:
    ask(ai, "My name is Alex.", {})
    assert said(ask(ai, "What is my name?", {})) == "I do not know your name."


def test_a_history_in_the_body_is_enough(ai: OpenAI) -> None:
    history = [*user("My code word is heron."), {"role": "assistant", "content": "Noted."}]
    answer = ai.chat.completions.create(model="hermes", messages=[*history, *user("What is my code word?")])
    assert said(answer) == "Your code word is heron."


def test_numbers_of_several_turns_add_up(ai: OpenAI, session: dict[str, str]) -> None:
    for amount in (12, 30, 7):
        ask(ai, f"Lunch was {amount} francs.", session)
    assert said(ask(ai, "What do they add up to?", session)) == "They add up to 49."


def test_instructions_hold_for_their_turn(ai: OpenAI, session: dict[str, str]) -> None:
    rule: Any = {"role": "developer", "content": "Begin every answer with Ahoy"}
    first = ai.chat.completions.create(
        model="hermes", messages=[rule, *user("My ship is the Heron.")], extra_headers=session
    )
    assert said(first).startswith("Ahoy ")
    assert said(ask(ai, "What is my ship?", session)) == "Your ship is the Heron."


async def test_the_async_client_streams(async_ai: AsyncOpenAI, session: dict[str, str]) -> None:
    for text in ("My name is Alex.", "What is my name?"):
        stream = await async_ai.chat.completions.create(
            model="hermes", messages=user(text), stream=True, extra_headers=session
        )
        told = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert told == "Your name is Alex."


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"tools": [WEATHER]},
        {"reasoning_effort": "low"},
        {"max_completion_tokens": 2},
        {"stop": ["weather"]},
        {"response_format": {"type": "json_object"}},
        {"stream_options": {"include_usage": False}},
    ],
    ids=["words", "tools", "reasoning", "cut", "stop", "json", "usage-declined"],
)
def test_the_plain_loop_never_breaks(ai: OpenAI, session: dict[str, str], more: dict[str, Any]) -> None:
    finish = None
    for chunk in ask(
        ai, "How is the weather in Bern? Reply with the key 'bern' as JSON.", session, stream=True, **more
    ):
        _ = chunk.choices[0].delta.content or ""
        finish = chunk.choices[0].finish_reason or finish
    assert finish == {"tools": "tool_calls", "max_completion_tokens": "length"}.get(next(iter(more), ""), "stop")


def test_the_usage_chunk_comes_when_it_is_asked_for(ai: OpenAI, session: dict[str, str]) -> None:
    chunks = list(ask(ai, "What is 20 + 22?", session, stream=True, stream_options={"include_usage": True}))
    assert [bool(chunk.choices) for chunk in chunks] == [*[True] * (len(chunks) - 1), False]
    assert chunks[-1].usage.total_tokens == chunks[-1].usage.prompt_tokens + chunks[-1].usage.completion_tokens


def test_the_stream_helper_parses_as_it_goes(ai: OpenAI) -> None:
    told = "My name is Alex. My town is Bern. My pets are Rex (3) and Tom (9). I am sad."
    with ai.chat.completions.stream(model="hermes", messages=user(told), response_format=Person) as stream:
        kinds = {event.type for event in stream}
        person = stream.get_final_completion().choices[0].message.parsed
    assert {"content.delta", "content.done"} <= kinds
    assert person == Person(
        name="Alex",
        town="Bern",
        mood="sad",
        pets=[Person.Pet(name="Rex", age=3), Person.Pet(name="Tom", age=9)],
        nickname=None,
    )


def test_a_schema_is_filled_from_earlier_turns(ai: OpenAI, session: dict[str, str]) -> None:
    ask(ai, "My name is Alex. My town is Bern.", session)
    ask(ai, "My pets are Rex (3) and Tom (9).", session)
    answer = ai.chat.completions.parse(
        model="hermes", messages=user("I am glad. Who am I?"), response_format=Person, extra_headers=session
    )
    person = answer.choices[0].message.parsed
    assert person is not None
    assert (person.name, person.town, person.mood, [pet.age for pet in person.pets]) == ("Alex", "Bern", "glad", [3, 9])


def test_tools_are_called_at_once_and_their_results_go_on_with_the_turn(ai: OpenAI, session: dict[str, str]) -> None:
    asked = ask(ai, "How is the weather in Bern and in Oslo?", session, tools=[WEATHER]).choices[0]
    assert asked.finish_reason == "tool_calls"
    calls = asked.message.tool_calls
    assert [call.function.arguments for call in calls] == ['{"city": "Bern"}', '{"city": "Oslo"}']
    results: Any = [
        {"role": "tool", "tool_call_id": call.id, "content": weather}
        for call, weather in zip(calls, ("sun", "snow"), strict=True)
    ]
    answer = ai.chat.completions.create(model="hermes", messages=results, tools=[WEATHER], extra_headers=session)
    assert said(answer) == "The tools say: sun; snow"


def test_tool_calls_stream_in_pieces(ai: OpenAI, session: dict[str, str]) -> None:
    with ai.chat.completions.stream(
        model="hermes", messages=user("How is the weather in Bern?"), tools=[WEATHER], extra_headers=session
    ) as stream:
        pieces = [event for event in stream if event.type == "tool_calls.function.arguments.delta"]
        call = stream.get_final_completion().choices[0].message.tool_calls[0]
    assert len(pieces) > 1
    assert call.function.arguments == '{"city": "Bern"}'


def test_one_tool_call_at_a_time_when_asked_so(ai: OpenAI) -> None:
    answer = ask(ai, "The weather in Bern and in Oslo?", {}, tools=[WEATHER], parallel_tool_calls=False)
    assert len(answer.choices[0].message.tool_calls) == 1


def test_a_picture_is_passed_on(ai: OpenAI) -> None:
    parts = [{"type": "text", "text": "What do you see?"}, {"type": "image_url", "image_url": {"url": shapes.PIXEL}}]
    assert said(ai.chat.completions.create(model="hermes", messages=user(parts))) == "I see an image (image/png)."


def test_an_answer_that_is_cut_says_so(ai: OpenAI) -> None:
    answer = ask(ai, "One two three four five six", {}, max_completion_tokens=3)
    assert (answer.choices[0].finish_reason, said(answer).strip()) == ("length", "You said: One")


def test_the_shapes_are_openais(door: Door) -> None:
    question = "How is the weather in Bern? Say first that you will look."
    for more in ({}, {"tools": [WEATHER]}, {"reasoning_effort": "low"}):
        body = {"model": "hermes", "messages": user(question), **more}
        shapes.completion(shapes.post(door, "/chat/completions", body).json())
        streamed = shapes.chunks(shapes.post(door, "/chat/completions", {**body, "stream": True}))
        assert streamed[0].choices[0].delta.role == "assistant"
        assert streamed[-1].choices[0].finish_reason


# --- stored completions ---


def test_a_stored_completion_is_found_again(ai: OpenAI) -> None:
    made = ask(ai, "My name is Alex.", {}, store=True, metadata={"topic": "stored"})
    found = ai.chat.completions.retrieve(made.id)
    assert said(found) == said(made)
    assert found.metadata == {"topic": "stored"}
    listed = ai.chat.completions.list(metadata={"topic": "stored"})
    assert [each.id for each in listed] == [made.id]
    messages = list(ai.chat.completions.messages.list(made.id))
    assert [message.content for message in messages] == ["My name is Alex."]
    assert ai.chat.completions.update(made.id, metadata={"topic": "moved"}).metadata == {"topic": "moved"}
    assert not list(ai.chat.completions.list(metadata={"topic": "stored"}))
    assert ai.chat.completions.delete(made.id).deleted
    with pytest.raises(openai.NotFoundError):
        ai.chat.completions.retrieve(made.id)


def test_stored_completions_come_in_pages(ai: OpenAI) -> None:
    made = [ask(ai, f"Lunch was {n}.", {}, store=True, metadata={"topic": "pages"}).id for n in range(5)]
    page = ai.chat.completions.list(metadata={"topic": "pages"}, limit=2, order="asc")
    assert [each.id for each in page.data] == made[:2]
    assert page.has_more
    assert [each.id for each in page] == made


def test_a_completion_that_was_not_to_be_stored_is_not_found(ai: OpenAI) -> None:
    made = ask(ai, "hi", {}, store=False)
    with pytest.raises(openai.NotFoundError):
        ai.chat.completions.retrieve(made.id)


def test_a_streamed_completion_is_stored_too(ai: OpenAI, reader: Reader) -> None:
    chunks = list(ask(ai, "What is 20 + 22?", {}, store=True, stream=True))
    assert said(ai.chat.completions.retrieve(chunks[0].id)) == "It is 42."
    assert "metadata" not in reader.requests[-1] or reader.requests[-1]["metadata"] is not None
