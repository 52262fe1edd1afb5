"""`openai-agents`: its sessions, its streams, its tools and handoffs, on our chat completions and our Responses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIConversationsSession,
    OpenAIProvider,
    OpenAIResponsesCompactionSession,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from openai.types.shared import Reasoning
from pydantic import BaseModel

from compat.reader import Reader
from conftest import Door

set_tracing_disabled(True)

MODELS = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}


class Person(BaseModel):
    name: str
    age: int


@function_tool
def get_weather(city: str) -> str:
    """The weather at a place."""
    return f"snow in {city}"


@function_tool
def get_population(city: str) -> int:
    """How many live there."""
    return len(city) * 1000


@pytest.fixture(params=["chat", "responses"])
def model(request: pytest.FixtureRequest, async_ai: AsyncOpenAI) -> Any:
    return MODELS[request.param]("hermes", openai_client=async_ai)


@pytest.fixture
def responses(async_ai: AsyncOpenAI) -> OpenAIResponsesModel:
    return OpenAIResponsesModel("hermes", openai_client=async_ai)


@pytest.fixture
async def notebook(tmp_path: Path) -> AsyncIterator[SQLiteSession]:
    session = SQLiteSession("alex", tmp_path / "agents.db")
    yield session
    session.close()


async def say(agent: Agent, text: str, **more: Any) -> Any:
    return (await Runner.run(agent, text, **more)).final_output


async def streamed(agent: Agent, text: str, **more: Any) -> tuple[Any, list[Any]]:
    result = Runner.run_streamed(agent, text, **more)
    events = [event async for event in result.stream_events()]
    return result.final_output, events


# --- whose history it is ---


async def test_our_session_remembers_between_runs(model: Any, session: dict[str, str]) -> None:
    agent = Agent("a", model=model, model_settings=ModelSettings(extra_headers=session))
    await say(agent, "My name is Alex.")
    assert await say(agent, "What is my name?") == "Your name is Alex."


async def test_its_sqlite_session_works(model: Any, notebook: SQLiteSession) -> None:
    agent = Agent("a", model=model)
    await say(agent, "My name is Alex.", session=notebook)
    assert await say(agent, "What is my name?", session=notebook) == "Your name is Alex."
    assert len(await notebook.get_items()) == 4


async def test_its_sqlite_session_and_ours_together_say_everything_once(
    model: Any, notebook: SQLiteSession, session: dict[str, str]
) -> None:
    agent = Agent("a", model=model, model_settings=ModelSettings(extra_headers=session))
    for text in ("Lunch was 12 francs.", "Dinner was 30 francs."):
        await say(agent, text, session=notebook)
    assert await say(agent, "What do they add up to?", session=notebook) == "They add up to 42."


async def test_a_conversation_is_its_session(responses: Any, async_ai: AsyncOpenAI) -> None:
    agent, session = Agent("a", model=responses), OpenAIConversationsSession(openai_client=async_ai)
    await say(agent, "My name is Alex.", session=session)
    answer, _ = await streamed(agent, "What is my name?", session=session)
    assert answer == "Your name is Alex."
    kept = await session.get_items()
    assert [item["role"] for item in kept] == ["user", "assistant"] * 2
    assert [item["role"] for item in await session.get_items(limit=1)] == ["assistant"]
    popped = await session.pop_item()
    assert popped == kept[-1]
    assert await session.get_items() == kept[:-1]
    await session.clear_session()
    assert await say(agent, "What is my name?", session=session) == "I do not know your name."


async def test_a_conversation_keeps_tool_calls_with_their_results(responses: Any, async_ai: AsyncOpenAI) -> None:
    agent = Agent("a", model=responses, tools=[get_weather])
    session = OpenAIConversationsSession(openai_client=async_ai)
    assert await say(agent, "How is the weather in Oslo?", session=session) == "The tools say: snow in Oslo"
    kinds = [item.get("type") for item in await session.get_items()]
    assert kinds == ["message", "function_call", "function_call_output", "message"]
    assert await say(agent, "What is 20 + 22?", session=session) == "It is 42."


async def test_a_conversation_is_continued_by_its_id(responses: Any, async_ai: AsyncOpenAI, reader: Reader) -> None:
    conversation = (await async_ai.conversations.create()).id
    agent = Agent("a", model=responses, tools=[get_weather])
    await say(agent, "My name is Alex.", conversation_id=conversation)
    await say(agent, "How is the weather in Oslo?", conversation_id=conversation)
    assert await say(agent, "What is my name?", conversation_id=conversation) == "Your name is Alex."
    assert [message["role"] for message in reader.requests[-1]["messages"] if message["role"] == "tool"] == ["tool"]


async def test_a_response_is_continued_by_its_id_and_can_be_branched(responses: Any) -> None:
    agent = Agent("a", model=responses)
    told = await Runner.run(agent, "My name is Alex.")
    renamed = await Runner.run(agent, "My name is Robin.", previous_response_id=told.last_response_id)
    for before, name in ((told, "Alex"), (renamed, "Robin")):
        answer = await say(agent, "What is my name?", previous_response_id=before.last_response_id)
        assert answer == f"Your name is {name}."


async def test_responses_are_chained_by_themselves(responses: Any, reader: Reader) -> None:
    agent = Agent("a", model=responses, tools=[get_weather])
    answer = await say(agent, "How is the weather in Oslo?", auto_previous_response_id=True)
    assert answer == "The tools say: snow in Oslo"
    assert len(reader.requests[-1]["messages"]) == 3


@pytest.mark.parametrize("mode", ["previous_response_id", "input"])
async def test_a_compaction_session_keeps_what_matters(
    responses: Any, async_ai: AsyncOpenAI, notebook: SQLiteSession, mode: Any
) -> None:
    session = OpenAIResponsesCompactionSession(
        "alex",
        notebook,
        client=async_ai,
        compaction_mode=mode,
        should_trigger_compaction=lambda context: len(context["compaction_candidate_items"]) >= 3,
    )
    agent = Agent("a", model=responses)
    await say(agent, "My name is Alex.", session=session)
    for n in range(4):
        await say(agent, f"What is {n} + {n}?", session=session)
    kinds = [item.get("type") for item in await session.get_items()]
    assert "compaction" in kinds
    assert await say(agent, "What is my name?", session=session) == "Your name is Alex."


# --- what an agent does ---


async def test_a_stream_gives_the_same_answer(model: Any, session: dict[str, str]) -> None:
    agent = Agent("a", model=model, model_settings=ModelSettings(extra_headers=session))
    await streamed(agent, "My name is Alex.")
    answer, events = await streamed(agent, "What is my name?")
    deltas = [
        event.data.delta
        for event in events
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
    ]
    assert answer == "".join(deltas) == "Your name is Alex."
    assert len(deltas) > 1


@pytest.mark.parametrize("run", [say, streamed])
async def test_tools_are_called_at_once(model: Any, run: Any) -> None:
    agent = Agent("a", model=model, tools=[get_weather, get_population])
    answer = await run(agent, "Tell me the weather and the population in Oslo.")
    assert (answer if run is say else answer[0]) == "The tools say: snow in Oslo; 4000"


async def test_tools_are_called_one_after_the_other(model: Any, session: dict[str, str]) -> None:
    settings = ModelSettings(parallel_tool_calls=False, extra_headers=session)
    agent = Agent("a", model=model, tools=[get_weather, get_population], model_settings=settings)
    result = await Runner.run(agent, "Tell me the weather and the population in Oslo.")
    assert result.final_output == "The tools say: snow in Oslo; 4000"
    assert len(result.raw_responses) == 3


async def test_what_the_model_thought_is_sent_back_with_the_tools_results(
    responses: Any, notebook: SQLiteSession, async_ai: AsyncOpenAI
) -> None:
    thinks = ModelSettings(reasoning=Reasoning(effort="low", summary="auto"))
    agent = Agent("a", model=responses, tools=[get_weather], model_settings=thinks)
    for session in (notebook, OpenAIConversationsSession(openai_client=async_ai)):
        answer, events = await streamed(agent, "How is the weather in Oslo?", session=session)
        assert answer == "The tools say: snow in Oslo"
        assert "reasoning_item" in {event.item.type for event in events if event.type == "run_item_stream_event"}
        kinds = [item.get("type", "message") for item in await session.get_items()]
        assert kinds == ["message", "reasoning", "function_call", "function_call_output", "reasoning", "message"]
        assert await say(agent, "What is 20 + 22?", session=session) == "It is 42."


async def test_nothing_needs_to_be_stored(responses: Any, notebook: SQLiteSession) -> None:
    settings = ModelSettings(
        store=False, reasoning=Reasoning(effort="low"), response_include=["reasoning.encrypted_content"]
    )
    agent = Agent("a", model=responses, tools=[get_weather], model_settings=settings)
    await say(agent, "My name is Alex.", session=notebook)
    assert await say(agent, "How is the weather in Oslo?", session=notebook) == "The tools say: snow in Oslo"
    assert await say(agent, "What is my name?", session=notebook) == "Your name is Alex."


async def test_its_output_type_is_filled(model: Any, session: dict[str, str]) -> None:
    settings = ModelSettings(extra_headers=session)
    await say(Agent("a", model=model, model_settings=settings), "My name is Alex. My age is 34.")
    agent = Agent("b", model=model, model_settings=settings, output_type=Person)
    assert await say(agent, "Who am I?") == Person(name="Alex", age=34)


async def test_a_handoff_takes_the_conversation_along(model: Any) -> None:
    french = Agent("French", model=model, instructions="Begin every answer with Voila")
    agent = Agent("a", model=model, handoffs=[french])
    result = await Runner.run(agent, "I want to talk in french with someone. What is 20 + 22?")
    assert result.last_agent is french
    assert result.final_output.startswith("Voila")


async def test_instructions_are_not_carried_over(responses: Any) -> None:
    rude = Agent("rude", model=responses, instructions="Begin every answer with Bah")
    told = await Runner.run(rude, "My name is Alex.")
    assert told.final_output.startswith("Bah")
    kind = Agent("kind", model=responses)
    answer = await say(kind, "What is my name?", previous_response_id=told.last_response_id)
    assert answer == "Your name is Alex."


async def test_usage_is_counted(model: Any) -> None:
    result = await Runner.run(Agent("a", model=model), "What is 20 + 22?")
    usage = result.context_wrapper.usage
    assert usage.requests == 1
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens > 0


async def test_it_can_talk_over_a_websocket(door: Door) -> None:
    provider = OpenAIProvider(api_key=door.key, base_url=door.url, use_responses=True, use_responses_websocket=True)
    try:
        config = RunConfig(model_provider=provider)
        agent = Agent("a", model="hermes", tools=[get_weather])
        told = await Runner.run(agent, "My name is Alex.", run_config=config)
        more = {"run_config": config, "previous_response_id": told.last_response_id}
        answer, _ = await streamed(agent, "What is my name?", **more)
        assert answer == "Your name is Alex."
        assert await say(agent, "How is the weather in Oslo?", **more) == "The tools say: snow in Oslo"
    finally:
        await provider.aclose()
