"""The official `openai` client: Responses over one WebSocket."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

import shapes
from conftest import Door

WEATHER: Any = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather at a place.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "strict": False,
}
ENDS = {"response.completed", "response.incomplete", "response.failed", "error"}


def turn(connection: Any, text: Any, **more: Any) -> list[Any]:
    """The events of one response, up to its end."""
    connection.response.create(model="hermes", input=text, **more)
    events = []
    for event in connection:
        events.append(event)
        if event.type in ENDS:
            break
    return events


def test_one_connection_carries_a_conversation(ai: OpenAI) -> None:
    with ai.responses.connect() as connection:
        told = turn(connection, "My name is Alex.")[-1].response
        events = turn(connection, "What is my name?", previous_response_id=told.id)
    assert events[-1].response.output_text == "Your name is Alex."
    assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == "Your name is Alex."
    for event in events:
        shapes.EVENT.validate_python(event.model_dump(exclude_unset=True))


async def test_the_async_client_runs_a_tool_loop_over_it(async_ai: AsyncOpenAI) -> None:
    async with async_ai.responses.connect() as connection:

        async def turned(text: Any, **more: Any) -> Any:
            await connection.response.create(model="hermes", input=text, tools=[WEATHER], **more)
            async for event in connection:
                if event.type in ENDS:
                    return event.response
            raise AssertionError("the stream ended early")

        asked = await turned("How is the weather in Oslo?")
        result = {"type": "function_call_output", "call_id": asked.output[0].call_id, "output": "snow"}
        answer = await turned([result], previous_response_id=asked.id)
    assert answer.output_text == "The tools say: snow"


def test_what_was_not_stored_lives_as_long_as_the_connection(ai: OpenAI) -> None:
    with ai.responses.connect() as connection:
        told = turn(connection, "My name is Alex.", store=False)[-1].response
        asked = turn(connection, "What is my name?", store=False, previous_response_id=told.id)[-1].response
    assert asked.output_text == "Your name is Alex."
    with pytest.raises(openai.NotFoundError):
        ai.responses.retrieve(told.id)


def test_a_session_is_named_in_its_headers(ai: OpenAI, session: dict[str, str]) -> None:
    with ai.responses.connect(extra_headers=session) as connection:
        turn(connection, "My name is Alex.")
    asked = ai.responses.create(model="hermes", input="What is my name?", extra_headers=session)
    assert asked.output_text == "Your name is Alex."


def test_a_mistake_is_told_and_the_connection_goes_on(ai: OpenAI) -> None:
    with ai.responses.connect() as connection:
        failed = turn(connection, "hi", previous_response_id="resp_unknown")[-1]
        assert failed.type == "error"
        assert failed.error.code == "previous_response_not_found"
        assert turn(connection, "What is 20 + 22?")[-1].response.output_text == "It is 42."


def test_a_stranger_is_not_let_in(door: Door) -> None:
    with (
        OpenAI(base_url=door.url, api_key="wrong", max_retries=0) as stranger,
        pytest.raises(Exception, match="401"),
        stranger.responses.connect(max_retries=0) as connection,
    ):
        turn(connection, "hi")
