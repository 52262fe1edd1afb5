"""The official `openai` client: Responses, with a model that knows only what it is sent."""

from __future__ import annotations

import time
from typing import Any, Literal

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import CompactedResponse, InputTokenCountResponse, ResponseItemList
from pydantic import BaseModel

import shapes
from compat.reader import Reader
from conftest import Door
from upstream import cuts, sleeps, status

WEATHER: Any = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather at a place.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}
TEXT = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]
CALL = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.output_item.done",
    "response.completed",
]


class Person(BaseModel):
    class Pet(BaseModel):
        name: str
        age: int

    name: str
    mood: Literal["glad", "sad"]
    pets: list[Pet]
    nickname: str | None


def say(ai: OpenAI, text: Any, **more: Any) -> Any:
    return ai.responses.create(model="hermes", input=text, **more)


def kinds(events: list[Any]) -> list[str]:
    """The events' types in their order, neighbours of one kind as one."""
    types = [event.type for event in events]
    return [each for index, each in enumerate(types) if index == 0 or types[index - 1] != each]


# --- what is remembered ---


def test_a_response_goes_on_from_the_one_it_names(ai: OpenAI) -> None:
    told = say(ai, "My name is Alex.")
    asked = say(ai, "What is my name?", previous_response_id=told.id)
    assert asked.output_text == "Your name is Alex."
    assert asked.previous_response_id == told.id
    assert say(ai, "What is my name?").output_text == "I do not know your name."


def test_any_response_can_be_branched_from(ai: OpenAI) -> None:
    root = say(ai, "My name is Alex.")
    say(ai, "My name is Robin.", previous_response_id=root.id)
    say(ai, "My name is Kim.", previous_response_id=root.id)
    assert say(ai, "What is my name?", previous_response_id=root.id).output_text == "Your name is Alex."


def test_the_session_header_names_the_conversation(ai: OpenAI, session: dict[str, str]) -> None:
    say(ai, "My name is Alex.", extra_headers=session)
    asked = say(ai, "What is my name?", extra_headers=session)
    assert asked.output_text == "Your name is Alex."
    chat = ai.chat.completions.create(
        model="hermes", messages=[{"role": "user", "content": "What is my name?"}], extra_headers=session
    )
    assert chat.choices[0].message.content == "Your name is Alex.", "one session, whichever way it is reached"


def test_the_effective_session_is_told(ai: OpenAI, session: dict[str, str]) -> None:
    raw = ai.responses.with_raw_response.create(model="hermes", input="hi", extra_headers=session)
    assert raw.headers["x-hermes-session-id"] == session["X-Hermes-Session-Id"]
    assert raw.parse().hermes["session_id"] == session["X-Hermes-Session-Id"]


def test_items_of_a_history_are_enough(ai: OpenAI) -> None:
    first = say(ai, "My name is Alex.")
    items = [
        {"role": "user", "content": "My name is Alex."},
        *[item.model_dump() for item in first.output],
        {"role": "user", "content": [{"type": "input_text", "text": "What is my name?"}]},
    ]
    assert say(ai, items, store=False).output_text == "Your name is Alex."


def test_instructions_are_not_carried_over(ai: OpenAI) -> None:
    told = say(ai, "My name is Alex.", instructions="Begin every answer with Ahoy")
    assert told.output_text.startswith("Ahoy ")
    assert told.instructions == "Begin every answer with Ahoy"
    asked = say(ai, "What is my name?", previous_response_id=told.id)
    assert (asked.output_text, asked.instructions) == ("Your name is Alex.", None)


def test_what_is_not_stored_leaves_nothing_to_go_on_from(ai: OpenAI) -> None:
    told = say(ai, "My name is Alex.", store=False)
    with pytest.raises(openai.NotFoundError):
        ai.responses.retrieve(told.id)
    with pytest.raises(openai.APIStatusError) as refused:
        say(ai, "What is my name?", previous_response_id=told.id)
    assert refused.value.code == "previous_response_not_found"


# --- streams ---


async def test_the_async_client_streams(async_ai: AsyncOpenAI) -> None:
    told = await async_ai.responses.create(model="hermes", input="My name is Alex.")
    stream = await async_ai.responses.create(
        model="hermes", input="What is my name?", previous_response_id=told.id, stream=True
    )
    deltas = [event.delta async for event in stream if event.type == "response.output_text.delta"]
    assert "".join(deltas) == "Your name is Alex."
    assert len(deltas) > 1


def test_the_stream_helper_puts_it_together(ai: OpenAI) -> None:
    with ai.responses.stream(model="hermes", input="What is 20 + 22?") as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert final.output_text == "It is 42."
    assert kinds(events) == TEXT
    snapshots = [event.snapshot for event in events if event.type == "response.output_text.delta"]
    assert snapshots[-1] == "It is 42."


def test_the_stream_helper_parses_as_it_goes(ai: OpenAI) -> None:
    told = say(ai, "My name is Alex. My pets are Rex (3) and Tom (9).")
    with ai.responses.stream(
        model="hermes", input="I am sad.", previous_response_id=told.id, text_format=Person
    ) as stream:
        for _ in stream:
            pass
        person = stream.get_final_response().output_parsed
    pets = [Person.Pet(name="Rex", age=3), Person.Pet(name="Tom", age=9)]
    assert person == Person(name="Alex", mood="sad", pets=pets, nickname=None)


def test_the_stream_helper_shows_tool_calls(ai: OpenAI) -> None:
    with ai.responses.stream(model="hermes", input="How is the weather in Bern?", tools=[WEATHER]) as stream:
        events = list(stream)
        call = stream.get_final_response().output[0]
    assert kinds(events) == CALL
    assert call.type == "function_call"
    assert call.arguments == '{"city": "Bern"}'


def test_a_stream_is_read_again_from_anywhere(ai: OpenAI) -> None:
    first = list(say(ai, "What is 20 + 22?", background=True, stream=True))
    made = first[0].response.id
    again = list(ai.responses.retrieve(made, stream=True))
    assert [event.model_dump() for event in again] == [event.model_dump() for event in first]
    rest = list(ai.responses.retrieve(made, stream=True, starting_after=3))
    assert [event.sequence_number for event in rest] == [event.sequence_number for event in first[4:]]
    with ai.responses.stream(response_id=made, starting_after=3) as stream:
        assert [event.sequence_number for event in stream] == [event.sequence_number for event in first[4:]]


# --- tools and forms ---


def test_tool_results_go_on_with_the_turn(ai: OpenAI) -> None:
    asked = say(ai, "How is the weather in Bern and in Oslo?", tools=[WEATHER])
    calls = [item for item in asked.output if item.type == "function_call"]
    assert [call.arguments for call in calls] == ['{"city": "Bern"}', '{"city": "Oslo"}']
    results: Any = [
        {"type": "function_call_output", "call_id": call.call_id, "output": weather}
        for call, weather in zip(calls, ("sun", "snow"), strict=True)
    ]
    answer = say(ai, results, tools=[WEATHER], previous_response_id=asked.id)
    assert answer.output_text == "The tools say: sun; snow"


def test_a_forced_tool_is_called(ai: OpenAI) -> None:
    answer = say(ai, "I was in Bern.", tools=[WEATHER], tool_choice={"type": "function", "name": "get_weather"})
    assert [(item.type, item.arguments) for item in answer.output] == [("function_call", '{"city": "Bern"}')]


def test_a_schema_is_filled_from_earlier_turns(ai: OpenAI) -> None:
    told = say(ai, "My name is Alex. My pets are Rex (3).")
    answer = ai.responses.parse(model="hermes", input="I am glad.", previous_response_id=told.id, text_format=Person)
    expected = Person(name="Alex", mood="glad", pets=[Person.Pet(name="Rex", age=3)], nickname=None)
    assert answer.output_parsed == expected


async def test_a_tool_of_a_type_is_parsed(async_ai: AsyncOpenAI) -> None:
    class GetWeather(BaseModel):
        city: str

    answer = await async_ai.responses.parse(
        model="hermes",
        input="How is the weather in Oslo?",
        tools=[openai.pydantic_function_tool(GetWeather, name="get_weather")["function"] | {"type": "function"}],
    )
    call = answer.output[0]
    assert call.type == "function_call"
    assert call.arguments == '{"city": "Oslo"}'


def test_a_picture_is_passed_on(ai: OpenAI) -> None:
    parts = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": shapes.PIXEL}]
    assert say(ai, [{"role": "user", "content": parts}]).output_text == "I see an image (image/png)."


def test_what_the_model_thinks_is_an_item_of_its_own(ai: OpenAI) -> None:
    answer = say(ai, "What is 20 + 22?", reasoning={"effort": "low", "summary": "auto"})
    assert [item.type for item in answer.output] == ["reasoning", "message"]
    assert "20 + 22" in answer.output[0].summary[0].text
    assert answer.usage.output_tokens_details.reasoning_tokens > 0


def test_what_the_model_thinks_can_be_sent_back_where_nothing_is_stored(ai: OpenAI) -> None:
    more: Any = {"store": False, "reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]}
    first = say(ai, "My name is Alex.", **more)
    assert first.output[0].encrypted_content
    items = [{"role": "user", "content": "My name is Alex."}, *[item.model_dump() for item in first.output]]
    answer = say(ai, [*items, {"role": "user", "content": "What is my name?"}], **more)
    assert answer.output_text == "Your name is Alex."


def test_an_answer_that_is_cut_is_incomplete(ai: OpenAI) -> None:
    answer = say(ai, "One two three four five six", max_output_tokens=16)
    assert answer.status == "completed"
    cut = say(ai, " ".join(["word"] * 40), max_output_tokens=16)
    assert (cut.status, cut.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    *_, last = say(ai, " ".join(["word"] * 40), max_output_tokens=16, stream=True)
    assert last.type == "response.incomplete"


# --- the resource ---


def test_a_response_is_kept_until_it_is_deleted(ai: OpenAI) -> None:
    made = say(ai, "My name is Alex.", metadata={"topic": "kept"})
    found = ai.responses.retrieve(made.id)
    assert found.output_text == made.output_text
    assert found.metadata == {"topic": "kept"}
    ai.responses.delete(made.id)
    with pytest.raises(openai.NotFoundError):
        ai.responses.retrieve(made.id)


def test_its_input_items_come_in_pages(ai: OpenAI) -> None:
    texts = [f"Lunch was {n}." for n in range(5)]
    made = say(ai, [{"role": "user", "content": text} for text in texts])
    page = ai.responses.input_items.list(made.id, order="asc", limit=2)
    assert [item.content[0].text for item in page.data] == texts[:2]
    assert [item.content[0].text for item in page] == texts
    newest = ai.responses.input_items.list(made.id, limit=1)
    assert newest.data[0].content[0].text == texts[-1]


def test_input_tokens_are_counted_without_asking_the_model(ai: OpenAI, reader: Reader) -> None:
    counted = ai.responses.input_tokens.count(model="hermes", input="My name is Alex.")
    assert counted.object == "response.input_tokens"
    assert 0 < counted.input_tokens < ai.responses.input_tokens.count(model="hermes", input="word " * 100).input_tokens
    assert not reader.requests


def test_a_background_response_is_fetched_when_it_is_done(ai: OpenAI) -> None:
    made = say(ai, "What is 20 + 22?", background=True)
    assert made.status in {"queued", "in_progress", "completed"}
    deadline = time.monotonic() + 10
    while made.status != "completed" and time.monotonic() < deadline:
        made = ai.responses.retrieve(made.id)
        time.sleep(0.02)
    assert made.output_text == "It is 42."
    assert made.background is True
    assert ai.responses.cancel(made.id).status == "completed", "what is done stays done"


def test_a_background_response_is_cancelled(ai: OpenAI, reader: Reader) -> None:
    reader.plan.append(sleeps(30))
    made = say(ai, "What is 20 + 22?", background=True)
    assert ai.responses.cancel(made.id).status == "cancelled"
    assert ai.responses.retrieve(made.id).status == "cancelled"


def test_a_stream_that_broke_off_is_taken_up_again(ai: OpenAI) -> None:
    told = say(ai, "My name is Alex.")
    seen = []
    with say(ai, "What is my name?", previous_response_id=told.id, background=True, stream=True) as stream:
        for event in stream:
            seen.append(event)
            if len(seen) == 6:
                break
    rest = list(ai.responses.retrieve(seen[0].response.id, stream=True, starting_after=seen[-1].sequence_number))
    deltas = [event.delta for event in [*seen, *rest] if event.type == "response.output_text.delta"]
    assert "".join(deltas) == rest[-1].response.output_text == "Your name is Alex."


def test_a_request_that_is_tried_again_is_answered_once(ai: OpenAI, reader: Reader, session: dict[str, str]) -> None:
    reader.plan += [status(500)] * 4
    patient = ai.with_options(max_retries=4)
    say(patient, "Lunch was 12 francs.", extra_headers=session)
    say(patient, "Dinner was 30 francs.", extra_headers=session)
    assert say(ai, "What do they add up to?", extra_headers=session).output_text == "They add up to 42."


def test_a_conversation_is_compacted_and_goes_on(ai: OpenAI) -> None:
    items: Any = [{"role": "user", "content": "My name is Alex."}]
    for n in range(6):
        items += [{"role": "assistant", "content": "Noted."}, {"role": "user", "content": f"Lunch was {n} francs."}]
    compacted = ai.responses.compact(model="hermes", input=items)
    assert compacted.object == "response.compaction"
    assert compacted.output[-1].type == "compaction"
    rest = [item.model_dump(exclude_none=True, warnings=False) for item in compacted.output]
    answer = say(ai, [*rest, {"role": "user", "content": "What is my name?"}])
    assert answer.output_text == "Your name is Alex."


@pytest.mark.parametrize("stored", [True, False])
def test_what_was_compacted_on_the_way_stands_for_all_before_it(ai: OpenAI, *, stored: bool) -> None:
    items: Any = [{"role": "user", "content": "My name is Alex."}]
    for n in range(8):
        items += [
            {"role": "assistant", "content": "Noted."},
            {"role": "user", "content": f"Lunch {n}: {'good ' * 200}"},
        ]
    rule: Any = [{"type": "compaction", "compact_threshold": 1000}]
    with ai.responses.stream(model="hermes", input=items, store=stored, context_management=rule) as stream:
        seen = kinds(list(stream))
        final = stream.get_final_response()
    assert "response.compaction.compacting" in seen
    assert [item.type for item in final.output] == ["compaction", "message"]
    rest = [item.model_dump(exclude_none=True) for item in final.output]
    answer = say(ai, [*rest, {"role": "user", "content": "What is my name?"}], store=stored)
    assert answer.output_text == "Your name is Alex."


# --- the shapes ---


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"tools": [WEATHER]},
        {"tools": [WEATHER], "input": "How is the weather in Bern? Say first that you will look."},
        {"reasoning": {"effort": "low", "summary": "auto"}},
        {"tools": [WEATHER], "reasoning": {"effort": "low"}},
        {"max_output_tokens": 16, "input": " ".join(["word"] * 40)},
        {"text": {"format": {"type": "json_schema", "name": "person", "schema": Person.model_json_schema()}}},
        {"store": False, "metadata": {"a": "b"}, "temperature": 0.5, "instructions": "Be brief.", "truncation": "auto"},
    ],
    ids=["words", "tools", "words-and-tools", "reasoning", "reasoning-and-tools", "cut", "schema", "options"],
)
def test_the_shapes_are_openais(door: Door, more: dict[str, Any]) -> None:
    body = {"model": "hermes", "input": "How is the weather in Bern?", **more}
    whole = shapes.response(shapes.post(door, "/responses", body).json())
    streamed = shapes.events(shapes.post(door, "/responses", {**body, "stream": True}))
    assert all(shapes.known(event) for event in streamed)
    assert kinds(streamed)[:2] == ["response.created", "response.in_progress"]
    final = streamed[-1].response
    assert final.status == whole.status
    assert [item.type for item in final.output] == [item.type for item in whole.output]
    assert final.usage == whole.usage


def test_the_shapes_of_the_other_replies_are_openais(door: Door) -> None:
    items = [{"role": "user", "content": "My name is Alex."}, {"role": "assistant", "content": "Noted."}]
    made = shapes.post(door, "/responses", {"model": "hermes", "input": [*items, *items[:1]]}).json()
    shapes.response(shapes.get(door, f"/responses/{made['id']}").json())
    listed = shapes.get(door, f"/responses/{made['id']}/input_items?order=asc").json()
    assert [item.role for item in ResponseItemList.model_validate(listed).data] == ["user", "assistant", "user"]
    counted = shapes.post(door, "/responses/input_tokens", {"model": "hermes", "input": items}).json()
    InputTokenCountResponse.model_validate(counted)
    compacted = shapes.post(door, "/responses/compact", {"model": "hermes", "input": items}).json()
    # its type has no place for the user's messages, which its description promises
    items = [shapes.ITEM.validate_python(item) for item in compacted["output"]]
    assert [item.type for item in items] == ["message", "compaction"]
    CompactedResponse.model_validate({**compacted, "output": []})


# --- failures ---


def test_failures_are_the_exceptions_one_expects(ai: OpenAI, reader: Reader) -> None:
    with pytest.raises(openai.NotFoundError):
        ai.responses.retrieve("resp_unknown")
    with pytest.raises(openai.NotFoundError):
        say(ai, "hi", conversation="conv_unknown")
    with pytest.raises(openai.BadRequestError) as bad:
        say(ai, "hi", temperature="hot")
    assert bad.value.param == "temperature"
    with pytest.raises(openai.BadRequestError) as bad:
        say(ai, [{"type": "function_call_output", "call_id": "call_unknown", "output": "?"}])
    assert bad.value.param == "input"
    with pytest.raises(openai.BadRequestError, match=r"reasoning\.encrypted_content") as bad:
        say(ai, "hi", include=["everything"])
    assert bad.value.param == "include[0]"
    reader.plan.append(status(401))
    with pytest.raises(openai.InternalServerError) as failed:
        say(ai, "hi")
    assert failed.value.status_code == 502


def test_a_model_that_falls_over_fails_the_response(door: Door, reader: Reader) -> None:
    reader.plan.append(cuts)
    events = shapes.events(shapes.post(door, "/responses", {"model": "hermes", "input": "hi", "stream": True}))
    assert (events[0].type, events[-1].type) == ("response.created", "response.failed")
    assert events[-1].response.error.code == "server_error"
