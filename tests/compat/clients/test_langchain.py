"""LangChain's own integration tests of a chat model, run on `ChatOpenAI` against us: chat and Responses."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests

import shapes
from conftest import Door


class Everthread(ChatModelIntegrationTests):
    """What holds for both.

    Pictures, sounds and PDFs stay off, because those tests fetch their files from the web (we send a picture of our own
    below), and so does the one that measures a recorded stream, because nothing here is recorded."""

    responses: bool

    @pytest.fixture(autouse=True)
    def reached(self, door: Door) -> None:
        self.door = door

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatOpenAI

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {
            "model": "hermes",
            "base_url": self.door.url,
            "api_key": self.door.key,
            "use_responses_api": self.responses,
            "stream_usage": True,  # with an address of one's own it is asked for by hand
            "max_retries": 0,
        }

    @property
    def supports_json_mode(self) -> bool:
        return True

    @property
    def supports_anthropic_inputs(self) -> bool:
        return True

    @property
    def model_override_value(self) -> str:
        return "fake-model"

    @property
    def supported_usage_metadata_details(self) -> Any:
        kinds = ["reasoning_output", "cache_read_input"]
        return {"invoke": kinds, "stream": kinds}

    def invoke_with_reasoning_output(self, *, stream: bool = False) -> AIMessage:
        return self.told({"reasoning_effort": "low"}, [HumanMessage("What is 20 + 22?")], stream=stream)

    def invoke_with_cache_read_input(self, *, stream: bool = False) -> AIMessage:
        history = [HumanMessage("My name is Alex."), AIMessage("Noted."), HumanMessage("What is my name?")]
        return self.told({}, history, stream=stream)

    def told(self, more: dict[str, Any], messages: list[Any], *, stream: bool) -> AIMessage:
        model = ChatOpenAI(**self.chat_model_params, **more)
        if not stream:
            return model.invoke(messages)
        whole: AIMessageChunk | None = None
        for chunk in model.stream(messages):
            whole = chunk if whole is None else whole + chunk
        assert whole is not None
        return whole


class TestChat(Everthread):
    responses = False


class TestResponses(Everthread):
    responses = True


# --- as its users write it ---


@pytest.fixture(params=[False, True], ids=["chat", "responses"])
def model(request: pytest.FixtureRequest, door: Door, session: dict[str, str]) -> ChatOpenAI:
    """Points at us with one header, which is all that a session needs."""
    return ChatOpenAI(
        model="hermes",
        base_url=door.url,
        api_key=door.key,
        default_headers=session,
        use_responses_api=request.param,
        max_retries=0,
    )


def test_the_session_remembers_between_calls(model: ChatOpenAI) -> None:
    model.invoke("My name is Alex.")
    assert model.invoke("What is my name?").text == "Your name is Alex."


async def test_a_stream_of_the_session_remembers_too(model: ChatOpenAI) -> None:
    await model.ainvoke("My name is Alex.")
    assert "".join([chunk.text async for chunk in model.astream("What is my name?")]) == "Your name is Alex."


def test_an_agent_loop_answers_from_the_tools_result(model: ChatOpenAI) -> None:
    @tool
    def get_weather(city: str) -> str:
        """The weather at a place."""
        return f"snow in {city}"

    able = model.bind_tools([get_weather])
    question = HumanMessage("How is the weather in Oslo?")
    asked = able.invoke([question])
    result = get_weather.invoke(asked.tool_calls[0])
    assert able.invoke([question, asked, result]).text == "The tools say: snow in Oslo"


@pytest.mark.parametrize("stored", [True, False])
def test_what_the_model_thought_is_sent_back_with_the_tools_results(door: Door, *, stored: bool) -> None:
    @tool
    def get_weather(city: str) -> str:
        """The weather at a place."""
        return f"snow in {city}"

    model = ChatOpenAI(
        model="hermes",
        base_url=door.url,
        api_key=door.key,
        reasoning={"effort": "low", "summary": "auto"},
        include=None if stored else ["reasoning.encrypted_content"],
        store=stored,
        output_version="responses/v1",
        max_retries=0,
    ).bind_tools([get_weather])
    question = HumanMessage("How is the weather in Oslo?")
    asked = model.invoke([question])
    assert [block["type"] for block in asked.content_blocks] == ["reasoning", "tool_call"]
    result = get_weather.invoke(asked.tool_calls[0])
    assert model.invoke([question, asked, result]).text == "The tools say: snow in Oslo"


def test_a_picture_is_passed_on(model: ChatOpenAI) -> None:
    kind, data = shapes.PIXEL.removeprefix("data:").split(";base64,")
    for picture in (
        {"type": "image", "base64": data, "mime_type": kind},
        {"type": "image_url", "image_url": {"url": shapes.PIXEL}},
    ):
        message = HumanMessage([{"type": "text", "text": "What do you see?"}, picture])
        assert model.invoke([message]).text == "I see an image (image/png)."


def test_responses_are_continued_by_their_id(door: Door) -> None:
    model = ChatOpenAI(
        model="hermes",
        base_url=door.url,
        api_key=door.key,
        use_responses_api=True,
        use_previous_response_id=True,
        max_retries=0,
    )
    told = model.invoke("My name is Alex.")
    assert model.invoke([told, HumanMessage("What is my name?")]).text == "Your name is Alex."
