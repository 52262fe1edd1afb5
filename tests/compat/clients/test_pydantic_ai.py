"""`pydantic-ai` agents on our chat completions and our Responses."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, ModelSettings, NativeOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

from compat.reader import Reader


class Person(BaseModel):
    name: str
    age: int
    mood: Literal["glad", "sad"]


@pytest.fixture(params=[OpenAIChatModel, OpenAIResponsesModel], ids=["chat", "responses"])
def model(request: pytest.FixtureRequest, async_ai: AsyncOpenAI) -> Any:
    return request.param("hermes", provider=OpenAIProvider(openai_client=async_ai))


@pytest.fixture
def named(session: dict[str, str]) -> ModelSettings:
    return ModelSettings(extra_headers=session)


async def test_the_session_remembers_between_runs(model: Any, named: ModelSettings) -> None:
    agent = Agent(model, model_settings=named)
    await agent.run("My name is Alex.")
    assert (await agent.run("What is my name?")).output == "Your name is Alex."


async def test_its_own_history_works_without_a_session(model: Any) -> None:
    agent = Agent(model)
    told = await agent.run("My name is Alex.")
    asked = await agent.run("What is my name?", message_history=told.all_messages())
    assert asked.output == "Your name is Alex."


async def test_history_and_session_together_say_everything_once(
    model: Any, named: ModelSettings, reader: Reader
) -> None:
    agent = Agent(model, model_settings=named)
    told = await agent.run("Lunch was 12 francs.")
    more = await agent.run("Dinner was 30 francs.", message_history=told.all_messages())
    asked = await agent.run("What do they add up to?", message_history=more.all_messages())
    assert asked.output == "They add up to 42."


async def test_its_instructions_are_followed(model: Any) -> None:
    agent = Agent(model, instructions="Begin every answer with Ahoy")
    assert (await agent.run("What is 20 + 22?")).output == "Ahoy It is 42."


async def test_a_stream_gives_the_same_answer(model: Any, named: ModelSettings) -> None:
    agent = Agent(model, model_settings=named)
    await agent.run("My name is Alex.")
    async with agent.run_stream("What is my name?") as streamed:
        pieces = [piece async for piece in streamed.stream_text(delta=True, debounce_by=None)]
    assert len(pieces) > 1
    assert "".join(pieces) == "Your name is Alex."


async def test_its_tools_are_called_one_after_the_other(model: Any) -> None:
    agent = Agent(model, model_settings=ModelSettings(parallel_tool_calls=False))

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """The weather at a place."""
        return f"snow in {city}"

    @agent.tool_plain
    def get_population(city: str) -> int:
        """How many live there."""
        return len(city) * 1000

    answer = await agent.run("Give me the weather and the population in Oslo.")
    assert answer.output == "The tools say: snow in Oslo; 4000"


@pytest.mark.parametrize("form", [NativeOutput, ToolOutput])
async def test_its_output_types_are_filled(model: Any, named: ModelSettings, form: Any) -> None:
    agent = Agent(model, model_settings=named)
    await agent.run("My name is Alex. My age is 34.")
    answer = await agent.run("I am glad. Who am I?", output_type=form(Person))
    assert answer.output == Person(name="Alex", age=34, mood="glad")


async def test_an_output_type_is_filled_after_a_tool(model: Any) -> None:
    agent = Agent(model, output_type=ToolOutput(Person, name="final_person"))

    @agent.tool_plain
    def get_mood() -> str:
        """How they feel."""
        return "The mood is sad"

    answer = await agent.run("My name is Alex. My age is 34. Ask for the mood first.")
    assert answer.output == Person(name="Alex", age=34, mood="sad")


async def test_what_the_model_thinks_is_told(model: Any) -> None:
    settings = OpenAIResponsesModelSettings(openai_reasoning_effort="low", openai_reasoning_summary="auto")
    answer = await Agent(model).run("What is 20 + 22?", model_settings=settings)
    assert answer.output == "It is 42."
    assert answer.usage.details.get("reasoning_tokens", 0) > 0


async def test_what_the_model_thought_is_sent_back_with_the_tools_results(async_ai: AsyncOpenAI) -> None:
    settings = OpenAIResponsesModelSettings(openai_reasoning_effort="low", openai_reasoning_summary="auto")
    model = OpenAIResponsesModel("hermes", provider=OpenAIProvider(openai_client=async_ai), settings=settings)
    agent = Agent(model)

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """The weather at a place."""
        return f"snow in {city}"

    answer = await agent.run("How is the weather in Oslo?")
    assert answer.output == "The tools say: snow in Oslo"
    assert any(part.part_kind == "thinking" for message in answer.all_messages() for part in message.parts)
    again = await agent.run("What is 20 + 22?", message_history=answer.all_messages())
    assert again.output == "It is 42."


async def test_responses_are_continued_by_their_id(async_ai: AsyncOpenAI, reader: Reader) -> None:
    model = OpenAIResponsesModel("hermes", provider=OpenAIProvider(openai_client=async_ai))
    agent = Agent(model, model_settings=OpenAIResponsesModelSettings(openai_previous_response_id="auto"))
    told = await agent.run("My name is Alex.")
    asked = await agent.run("What is my name?", message_history=told.all_messages())
    assert asked.output == "Your name is Alex."
    assert len(reader.requests[-1]["messages"]) == 3


async def test_a_conversation_is_continued_by_its_id(async_ai: AsyncOpenAI) -> None:
    conversation = await async_ai.conversations.create()
    model = OpenAIResponsesModel("hermes", provider=OpenAIProvider(openai_client=async_ai))
    agent = Agent(model, model_settings=OpenAIResponsesModelSettings(openai_conversation_id=conversation.id))
    await agent.run("My name is Alex.")
    assert (await agent.run("What is my name?")).output == "Your name is Alex."
