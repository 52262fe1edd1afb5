"""The request of the Responses API: what is read, refused, passed on and shown again."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseIncludable

from everthread.core.ids import DEFAULT_TENANT, SessionId, StepId
from everthread.core.messages import say
from everthread.core.turn import Envelope, Turn
from everthread.errors import Malformed
from everthread.wire.responses import opaque
from everthread.wire.responses.fields import KNOWN, Includable
from everthread.wire.responses.request import Purpose, Request, read

ENVELOPE = Envelope(tenant=DEFAULT_TENANT)
WEATHER = {"type": "function", "name": "weather", "description": "d", "parameters": {"type": "object"}, "strict": True}
TIME = {"type": "function", "name": "time"}


def ask(purpose: Purpose = "create", **body: Any) -> Request:
    return read(json.dumps({"input": "hi", **body}).encode(), purpose)


def options(request: Request) -> dict[str, Any]:
    return {name: json.loads(raw) for name, raw in request.options}


def said(turn: Turn) -> list[dict[str, Any]]:
    return [json.loads(message.raw) for message in turn.messages]


def refused(purpose: Purpose = "create", **body: Any) -> Malformed:
    with pytest.raises(Malformed) as caught:
        ask(purpose, **body)
    return caught.value


def test_a_text_is_a_message_of_the_user() -> None:
    request = ask()
    turn = request.turn(ENVELOPE)
    assert said(turn) == [{"role": "user", "content": "hi"}]
    assert turn.instructions == turn.carried == ()
    assert (request.stream, request.store, request.background, request.model) == (False, True, False, None)
    assert turn.store
    assert turn.searches is None


def test_instructions_come_first_and_are_not_carried_but_system_items_are() -> None:
    turn = ask(
        instructions="Be brief.",
        input=[{"role": "developer", "content": "Be kind."}, {"role": "user", "content": "hi"}],
    ).turn(ENVELOPE)
    assert [message.text for message in turn.instructions] == ["Be brief.", "Be kind."]
    assert [message.text for message in turn.carried] == ["Be kind."]
    assert [message.text for message in turn.messages] == ["hi"]


def test_what_the_chat_form_calls_otherwise_is_renamed() -> None:
    request = ask(
        tools=[WEATHER, TIME],
        tool_choice={"type": "function", "name": "time"},
        text={"format": {"type": "json_schema", "name": "n", "schema": {"a": 1}, "strict": True}, "verbosity": "low"},
        reasoning={"effort": "high", "summary": "auto"},
        max_output_tokens=50,
        include=["message.output_text.logprobs"],
        top_logprobs=3,
        temperature=0.5,
        parallel_tool_calls=False,
        metadata={"a": "b"},
        truncation="auto",
        stream_options={"include_obfuscation": False},
        max_tool_calls=2,
        min_p=0.1,
        store=False,
    )
    assert options(request) == {
        "temperature": 0.5,
        "min_p": 0.1,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "d",
                    "parameters": {"type": "object"},
                    "strict": True,
                },
            },
            {"type": "function", "function": {"name": "time"}},
        ],
        "tool_choice": {"type": "function", "function": {"name": "time"}},
        "parallel_tool_calls": False,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"a": 1}, "strict": True}},
        "verbosity": "low",
        "reasoning_effort": "high",
        "max_completion_tokens": 50,
        "logprobs": True,
        "top_logprobs": 3,
    }
    assert request.metadata == {"a": "b"}
    turn = request.turn(ENVELOPE)
    assert turn.searches == 2
    assert not turn.store


def test_a_plain_request_passes_nothing_on() -> None:
    assert ask(model="m", text={"format": {"type": "text"}}, tools=[], tool_choice="auto", user=None).options == ()


def test_a_json_object_is_asked_for_as_in_chat() -> None:
    assert options(ask(text={"format": {"type": "json_object"}})) == {"response_format": {"type": "json_object"}}


def test_only_the_allowed_tools_are_offered() -> None:
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "time"}]}
    request = ask(tools=[WEATHER, TIME], tool_choice=allowed)
    assert options(request) == {
        "tools": [{"type": "function", "function": {"name": "time"}}],
        "tool_choice": "required",
    }
    echo = json.loads(request.echo)
    assert echo["tool_choice"] == allowed
    assert [tool["name"] for tool in echo["tools"]] == ["weather", "time"]


def test_who_wants_no_tool_gets_none_of_the_servers_own_either() -> None:
    assert not ask(tool_choice="none").turn(ENVELOPE).envelope.server_tools
    assert ask(tool_choice="auto").turn(ENVELOPE).envelope.server_tools


def test_all_that_is_shown_again_has_a_default() -> None:
    assert json.loads(ask().echo) == {
        "instructions": None,
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "temperature": 1,
        "top_p": 1,
        "presence_penalty": 0,
        "frequency_penalty": 0,
        "top_logprobs": 0,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "reasoning": {"effort": None, "summary": None},
        "truncation": "disabled",
        "store": True,
        "background": False,
        "service_tier": "default",
        "safety_identifier": None,
        "prompt": None,
        "prompt_cache_key": None,
        "prompt_cache_retention": None,
    }


def test_what_was_sent_is_shown_again() -> None:
    sent: dict[str, Any] = {
        "instructions": "i",
        "model": "m",
        "user": "u",
        "temperature": 0,
        "top_p": 0.5,
        "presence_penalty": -1,
        "service_tier": "flex",
        "prompt_cache_key": "k",
        "safety_identifier": "s",
        "background": True,
        "tools": [WEATHER],
        "tool_choice": {"type": "function", "name": "weather"},
    }
    echo = json.loads(ask(**sent).echo)
    assert {name: echo[name] for name in sent} == sent
    assert json.loads(ask(service_tier="fast").echo)["service_tier"] == "priority"
    schema = {"type": "json_schema", "name": "n", "schema": {}}
    shown = json.loads(ask(text={"format": schema}).echo)["text"]["format"]
    assert shown == {**schema, "description": None, "strict": False}


def test_what_it_goes_on_from_is_as_it_was_sent() -> None:
    assert ask(previous_response_id="resp_1").previous == "resp_1"
    assert ask(conversation="conv_1").conversation == "conv_1"
    assert ask(conversation={"id": "conv_1"}).conversation == "conv_1"
    assert ask(conversation="", previous_response_id="").conversation is None
    keep = ask(metadata={"a": "b"}, background=True).keep(StepId("p"), SessionId("c"))
    assert (keep.kind, keep.previous, keep.conversation, keep.background) == ("response", "p", "c", True)
    assert keep.metadata == {"a": "b"}


def test_compaction_can_be_asked_for() -> None:
    request = ask(context_management=[{"type": "compaction", "compact_threshold": 2000}])
    assert (request.compacts, request.compact_threshold) == (True, 2000)
    request = ask(context_management=[{"type": "compaction"}])
    assert (request.compacts, request.compact_threshold) == (True, None)
    assert not ask().compacts


def test_what_a_compaction_holds_replaces_what_came_before_it() -> None:
    sealed = opaque.seal("They spoke of cats.", "compaction")
    request = ask(
        input=[
            {"role": "system", "content": "old"},
            {"type": "item_reference", "id": "msg_old"},
            {"role": "user", "content": "old"},
            {"type": "compaction", "id": "cmp_1", "encrypted_content": sealed},
            {"role": "user", "content": "new"},
        ]
    )
    assert request.references == ()
    turn = request.turn(ENVELOPE)
    assert [message.text for message in turn.messages] == ["new"]
    assert [message.text for message in turn.carried] == ["They spoke of cats."]


def test_reasoning_is_accepted_and_not_sent_to_a_model() -> None:
    sealed = opaque.seal("hm", "reasoning")
    thoughts = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": content} for content in (sealed, "?")
    ]
    turn = ask(input=[*thoughts, {"role": "user", "content": "hi"}]).turn(ENVELOPE)
    assert [message.text for message in turn.messages] == ["hi"]
    assert refused(input=[{"type": "compaction", "encrypted_content": sealed}]).param == "input[0].encrypted_content"


def test_references_are_looked_up_by_the_caller() -> None:
    request = ask(input=[{"type": "item_reference", "id": "msg_a_0"}, {"id": "msg_a_o"}, {"id": "msg_a_0"}])
    assert request.references == ("msg_a_0", "msg_a_o")
    turn = request.turn(ENVELOPE, {"msg_a_0": [say("user", "q")], "msg_a_o": [say("assistant", "a")]})
    assert [message.text for message in turn.messages] == ["q", "a", "q"]
    with pytest.raises(Malformed) as caught:
        request.turn(ENVELOPE, {"msg_a_0": []})
    assert caught.value.param == "input[1].id"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": None, "previous_response_id": "resp_1"}, "input"),
        ({"input": 5}, "input"),
        ({"input": [5]}, "input[0]"),
        ({"input": [{"role": "king", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user"}]}, "input[0]"),
        ({"input": [{"role": "user", "content": []}]}, "input[0].content"),
        ({"input": [{"role": "assistant", "content": []}]}, "input[0].content"),
        ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "input[0].content[0].text"),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": 1}]}]}, "input[0].content[0].text"),
        ({"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "input[0].content[0].type"),
        ({"input": [{"role": "user", "content": [{"type": "refusal"}]}]}, "input[0].content[0].type"),
        ({"input": [{"role": "assistant", "content": [{"type": "input_image"}]}]}, "input[0].content[0].type"),
        ({"input": [{"role": "assistant", "content": [{"type": "refusal"}]}]}, "input[0].content[0].refusal"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]},
            "input[0].content[0].file_id",
        ),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input[0].content[0].image_url"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "u"}]}]},
            "input[0].content[0].file_url",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]},
            "input[0].content[0].file_id",
        ),
        ({"input": [{"role": "user", "content": [{"type": "input_file"}]}]}, "input[0].content[0].file_data"),
        ({"input": ["x", {"type": "web_search_call"}]}, "input[0]"),
        ({"input": [{"type": "web_search_call", "id": "ws_1"}]}, "input[0].type"),
        ({"input": [{"type": "compaction", "encrypted_content": "x"}]}, "input[0].encrypted_content"),
        ({"input": [{"type": "function_call_output", "output": "x"}]}, "input[0]"),
        ({"input": [{"type": "function_call_output", "call_id": "c", "output": {}}]}, "input[0].output"),
        ({"input": [{"role": "user", "content": "x"}] * 5001}, "input"),
        ({"previous_response_id": "resp_1", "conversation": "conv_1"}, "previous_response_id"),
        ({"background": True, "store": False}, "background"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"moderation": {"model": "m"}}, "moderation"),
        ({"context_management": [{"type": "truncation"}]}, "context_management[0].type"),
        ({"conversation": {"id": ""}}, "conversation.id"),
        ({"metadata": {"k" * 65: "v"}}, "metadata"),
        ({"metadata": {"k": "v" * 513}}, "metadata.k"),
        ({"metadata": {str(n): "v" for n in range(17)}}, "metadata"),
        ({"metadata": {"k": 1}}, "metadata[...]"),
        ({"include": ["reasoning.encrypted_content", "reasoning"]}, "include[1]"),
        ({"include": "reasoning.encrypted_content"}, "include"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"top_logprobs": 21}, "top_logprobs"),
        ({"truncation": "sometimes"}, "truncation"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools[0].name"),
        ({"tools": [{"type": "function", "name": "f" * 257}]}, "tools[0].name"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": "sometimes"}, "tool_choice"),
        ({"tool_choice": {"type": "file_search"}}, "tool_choice.type"),
        ({"tool_choice": {"type": "function"}}, "tool_choice.name"),
        ({"tool_choice": {"type": "function", "name": "f"}}, "tool_choice.name"),
        ({"tool_choice": {"type": "allowed_tools", "mode": "auto"}}, "tool_choice.tools"),
        (
            {"tools": [TIME], "tool_choice": {"type": "allowed_tools", "tools": [WEATHER]}},
            "tool_choice.tools[0].name",
        ),
        (
            {"tools": [TIME], "tool_choice": {"type": "allowed_tools", "tools": [{"type": "mcp"}]}},
            "tool_choice.tools[0].type",
        ),
        ({"text": {"format": {"type": "json_schema", "schema": {}}}}, "text.format.name"),
        ({"text": {"format": {"type": "json_schema", "name": "n"}}}, "text.format.schema"),
        ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
        ({"messages": []}, "messages"),
        ({"response_format": {"type": "text"}}, "response_format"),
        ({"max_tokens": 5}, "max_tokens"),
        ({"n": 2}, "n"),
    ],
)
def test_what_cannot_be_is_refused_by_the_name_of_the_field(body: dict[str, Any], param: str) -> None:
    assert refused(**body).param == param


def test_a_tool_that_cannot_be_run_is_named() -> None:
    assert "web_search; only function tools" in refused(tools=[{"type": "web_search"}]).message


def test_what_can_be_included_is_what_the_official_client_knows() -> None:
    assert set(get_args(Includable)) == set(get_args(ResponseIncludable))
    message = refused(include=["everything"]).message
    for name in get_args(ResponseIncludable):
        assert name in message
        assert json.loads(ask(include=[name]).echo)["include"] == [name]


def test_instructions_alone_are_not_a_turn() -> None:
    with pytest.raises(Malformed) as caught:
        ask(input=[{"role": "system", "content": "x"}]).turn(ENVELOPE)
    assert caught.value.param == "input"


def test_a_socket_sends_the_same_under_its_own_type() -> None:
    request = ask("socket", type="response.create", stream_id="s", temperature=1)
    assert request.stream
    assert request.generate
    assert options(request) == {"temperature": 1}
    warm = read(b'{"type":"response.create","generate":false}', "socket")
    assert not warm.generate
    assert warm.turn(ENVELOPE).messages == ()
    assert refused("socket", background=True).param == "background"
    assert options(ask(generate=False)) == {}


def test_counting_and_compacting_may_be_about_what_was_said_before() -> None:
    for purpose in ("count", "compact"):
        assert read(b'{"previous_response_id":"resp_1"}', purpose).turn(ENVELOPE).messages == ()  # type: ignore[arg-type]
        assert read(b'{"model":"m","input":"hi"}', purpose).turn(ENVELOPE).messages  # type: ignore[arg-type]
        with pytest.raises(Malformed):
            read(b"{}", purpose)  # type: ignore[arg-type]


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            text | st.sampled_from(["type", "role", "content", "id", "name", "call_id", "output"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*KNOWN, "input", "metadata", "zzz"]), values, max_size=5))
def test_any_object_is_read_or_refused_with_a_reason(body: dict[str, Any]) -> None:
    with suppress(Malformed):
        request = read(json.dumps(body).encode())
        assert request.items
        assert json.loads(request.echo)["tool_choice"]
