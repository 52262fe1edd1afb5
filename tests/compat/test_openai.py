"""The official `openai` client against a real socket, as its users write it."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from front_door import KEY, Everthread
from upstream import Upstream, calls, says, status


@pytest.fixture
def ai(server: Everthread, upstream: Upstream) -> Any:
    with OpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0) as client:
        yield client


def ask(ai: OpenAI, text: str, session: str, **more: Any) -> Any:
    return ai.chat.completions.create(
        model="hermes",
        messages=[{"role": "user", "content": text}],
        extra_headers={"X-Hermes-Session-Id": session},
        **more,
    )


def test_one_header_makes_a_conversation_persistent(ai: OpenAI, name: str) -> None:
    ask(ai, "My name is Alex.", name)
    answer = ask(ai, "Who am I?", name)
    assert "I know Alex" in answer.choices[0].message.content
    assert answer.usage.prompt_tokens_details.cached_tokens == 5
    assert answer.hermes["session_id"] == name


def test_the_effective_session_is_in_the_header_too(ai: OpenAI, name: str) -> None:
    raw = ai.chat.completions.with_raw_response.create(
        model="hermes",
        messages=[{"role": "user", "content": "hi"}],
        extra_headers={"X-Hermes-Session-Id": name, "X-Hermes-Session-Key": "agent:main"},
    )
    assert raw.headers["x-hermes-session-id"] == name
    assert raw.headers["x-hermes-session-key"] == "agent:main"
    assert raw.parse().choices[0].message.content


def test_a_stream_is_read_by_the_plain_loop(ai: OpenAI, name: str) -> None:
    ask(ai, "My name is Alex.", name)
    told = ""
    for chunk in ask(ai, "Who am I?", name, stream=True):
        told += chunk.choices[0].delta.content or ""
    assert "I know Alex" in told
    assert chunk.hermes["session_id"] == name


def test_the_stream_helper_works(ai: OpenAI, name: str) -> None:
    with ai.chat.completions.stream(
        model="hermes",
        messages=[{"role": "user", "content": "hi"}],
        extra_headers={"X-Hermes-Session-Id": name},
        stream_options={"include_usage": True},
    ) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert final.choices[0].finish_reason == "stop"
    assert final.usage is not None
    assert final.usage.total_tokens == 18


def test_a_tool_loop_works(ai: OpenAI, upstream: Upstream, name: str) -> None:
    tools: Any = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
    upstream.plan.append(calls(("c1", "add", '{"a": 1}')))
    message = ask(ai, "1+1?", name, tools=tools).choices[0].message
    assert message.tool_calls[0].function.name == "add"
    upstream.plan.append(says("2"))
    answer = ai.chat.completions.create(
        model="hermes",
        messages=[{"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "2"}],
        tools=tools,
        extra_headers={"X-Hermes-Session-Id": name},
    )
    assert answer.choices[0].message.content == "2"


def test_structured_output_is_parsed(ai: OpenAI, upstream: Upstream) -> None:
    class City(BaseModel):
        name: str
        people: int

    upstream.plan.append(says('{"name": "Bern", "people": 134794}'))
    answer = ai.chat.completions.parse(
        model="hermes", messages=[{"role": "user", "content": "A city?"}], response_format=City
    )
    assert answer.choices[0].message.parsed == City(name="Bern", people=134794)
    assert upstream.requests[-1]["response_format"]["json_schema"]["strict"] is True


def test_failures_are_the_exceptions_one_expects(ai: OpenAI, upstream: Upstream, server: Everthread) -> None:
    with pytest.raises(openai.BadRequestError) as bad:
        ai.chat.completions.create(model="hermes", messages=[])
    assert bad.value.param == "messages"
    upstream.plan.append(status(401))
    with pytest.raises(openai.InternalServerError) as failed:
        ask(ai, "hi", "failures")
    assert failed.value.status_code == 502
    assert failed.value.code == "upstream_unauthorized"
    with OpenAI(base_url=f"{server.url}/v1", api_key="wrong") as stranger, pytest.raises(openai.AuthenticationError):
        ask(stranger, "hi", "s")


def test_models_are_listed(ai: OpenAI) -> None:
    assert [model.id for model in ai.models.list()] == ["hermes", "hermes-agent", "fake-model"]
    assert ai.models.retrieve("hermes").id == "hermes"
    with pytest.raises(openai.NotFoundError):
        ai.models.retrieve("nothing/like-it")


# --- the seeds' examples: isolation, streaming, before and after ---


async def test_sessions_named_after_repositories_are_brains_of_their_own(
    server: Everthread, upstream: Upstream
) -> None:
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key=KEY) as client:

        async def chat(message: str, session_id: str) -> str:
            response = await client.chat.completions.create(
                model="hermes",
                messages=[{"role": "user", "content": message}],
                extra_headers={"X-Hermes-Session-Id": session_id},
            )
            return response.choices[0].message.content or ""

        upstream.answer = lambda request: " / ".join(m["content"] for m in request["messages"] if m["role"] == "user")
        await chat("Commit: dropped the Redis cache after three outages", "repo:acme/backend")
        await chat("Commit: put a Redis cache in front of the catalogue", "repo:widgets/frontend")
        backend = await chat("Which cache decisions were made?", "repo:acme/backend")
        frontend = await chat("Which cache decisions were made?", "repo:widgets/frontend")
    assert "three outages" in backend
    assert "catalogue" not in backend
    assert "catalogue" in frontend
    assert "outages" not in frontend


async def test_a_stream_can_be_passed_on_as_it_comes(server: Everthread, upstream: Upstream, name: str) -> None:
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key=KEY) as client:
        stream = await client.chat.completions.create(
            model="hermes",
            messages=[{"role": "user", "content": "Say two lines."}],
            stream=True,
            extra_headers={"X-Hermes-Session-Id": name},
        )
        deltas = [chunk.choices[0].delta.content async for chunk in stream]
    assert "".join(delta for delta in deltas if delta).startswith("You said 'Say two lines.'")


async def test_only_the_latest_message_needs_to_be_sent(server: Everthread, upstream: Upstream, name: str) -> None:
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key=KEY) as client:
        for message in ("My name is Alex.", "I live in Bern.", "Who am I?"):
            response = await client.chat.completions.create(
                model="hermes",
                messages=[{"role": "user", "content": message}],
                extra_headers={"X-Hermes-Session-Id": name},
            )
    assert "I know Alex" in (response.choices[0].message.content or "")
    assert len(upstream.prompts[-1]) == 5
