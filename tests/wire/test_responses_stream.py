"""The stream of a Response: valid, in order, the same each time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import httpx2
import msgspec
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter
from test_responses_reply import finished, view

from everthread.core.turn import (
    ChoiceEnded,
    Folding,
    ModelEvent,
    Opened,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
    unfold,
)
from everthread.core.view import View
from everthread.errors import Failure, RunFailed, UpstreamRateLimited
from everthread.wire.responses import opaque
from everthread.wire.responses.stream import Events, warmed_up
from everthread.wire.responses.stream import whole as shown_whole

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
OPENED = Opened("up")
STOP = ChoiceEnded("stop")
USED = Usage(7, 3)

Told = dict[str, Any]


def folded(events: Sequence[ModelEvent]) -> Folding:
    folding = Folding()
    for event in events:
        folding.add(event)
    return folding


def tell(*events: ModelEvent, asked: View | None = None, **how: Any) -> list[bytes]:
    telling = Events(asked or view(), **how)
    frames = [frame for event in events for frame in telling.tell(event)]
    return [*frames, *telling.last(finished(folded(events).outcome(lambda: USED)))]


def parsed(frames: Sequence[bytes]) -> list[Told]:
    """The events of a stream, after the official types have seen each of them."""
    told = []
    for frame in frames:
        if frame == b"data: [DONE]\n\n":
            continue
        head, data, *rest = frame.split(b"\n")
        assert rest == [b"", b""]
        body = json.loads(data.removeprefix(b"data: "))
        assert head == f"event: {body['type']}".encode()
        EVENT.validate_python(body, strict=True)
        told.append(body)
    return told


def stream(*events: ModelEvent, **how: Any) -> list[Told]:
    told = parsed(tell(*events, **how))
    consistent(told)
    return told


def consistent(told: list[Told]) -> None:
    """What holds for every stream: numbers, places, and deltas that add up to what is said at the end."""
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert told[0]["type"] == "response.created"
    open_items: dict[int, str] = {}
    done: dict[int, Told] = {}
    deltas: dict[tuple[int, int], str] = {}
    for event in told:
        index = event.get("output_index")
        match event["type"].removeprefix("response."):
            case "output_item.added":
                assert index == len(open_items) + len(done)
                open_items[index] = event["item"]["id"]
            case "output_item.done":
                assert open_items.pop(index) == event["item"]["id"]
                done[index] = event["item"]
            case (
                "output_text.delta" | "refusal.delta" | "reasoning_summary_text.delta" | "function_call_arguments.delta"
            ):
                assert open_items[index] == event["item_id"]
                place = (index, event.get("content_index", 0))
                deltas[place] = deltas.get(place, "") + event["delta"]
            case "output_text.done" | "reasoning_summary_text.done":
                assert deltas.get((index, event.get("content_index", 0)), "") == event["text"]
            case "function_call_arguments.done":
                assert deltas.get((index, 0), "") == event["arguments"]
            case "refusal.done":
                assert deltas[index, event["content_index"]] == event["refusal"]
    last = told[-1]["response"]
    if told[-1]["type"] != "response.failed":
        assert not open_items
        assert last["output"] == [done[index] for index in range(len(done))]
    assert len({item["id"] for item in last["output"]}) == len(last["output"])


def kinds(told: list[Told]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in told]


def test_a_text_is_told_in_the_order_of_the_specification() -> None:
    events = [OPENED, TextDelta("Hel"), TextDelta("lo"), STOP, USED]
    frames = tell(*events)
    assert frames[-1] == b"data: [DONE]\n\n"
    told = stream(*events)
    assert kinds(told) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert told[0]["response"]["status"] == told[1]["response"]["status"] == "in_progress"
    assert told[0]["response"]["model"] == "up"
    assert [event["delta"] for event in told[4:6]] == ["Hel", "lo"]
    assert told[4]["logprobs"] == []
    final = told[-1]["response"]
    assert final["hermes"]["session_id"] == "s"
    whole = shown_whole(view(), finished(folded(events).outcome(lambda: USED)))
    assert {name: final[name] for name in whole} == json.loads(msgspec.json.encode(whole))


def test_what_is_written_at_once_is_what_is_told_apart() -> None:
    events = [OPENED, ReasoningDelta("hm"), TextDelta("Hel"), TextDelta("lo"), TextDelta(""), STOP, USED]
    apart, at_once = Events(view()), Events(view())
    for event in events:
        assert at_once.event(event) == b"".join(apart.tell(event))


def test_thoughts_then_words_then_calls() -> None:
    told = stream(
        OPENED,
        ReasoningDelta("h"),
        ReasoningDelta("m"),
        TextDelta("ok"),
        ToolCallDelta(0, "c1", "f", ""),
        ToolCallDelta(0, arguments='{"a"'),
        ToolCallDelta(0, arguments=":1}"),
        ToolCallDelta(1, "c2", "g", "{}"),
        ChoiceEnded("tool_calls"),
    )
    assert kinds(told)[2:] == [
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    output = told[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["reasoning", "message", "function_call", "function_call"]
    assert [item["arguments"] for item in output[2:]] == ['{"a":1}', "{}"]


def test_thoughts_are_sealed_when_they_are_whole() -> None:
    wanted = view(include=["reasoning.encrypted_content"])
    told = stream(OPENED, ReasoningDelta("h"), ReasoningDelta("m"), TextDelta("ok"), STOP, asked=wanted)
    began, *_ = [event["item"] for event in told if event["type"] == "response.output_item.added"]
    ended, *_ = [event["item"] for event in told if event["type"] == "response.output_item.done"]
    assert "encrypted_content" not in began
    assert opaque.unseal(ended["encrypted_content"], "reasoning") == "hm"
    assert told[-1]["response"]["output"][0] == ended


def test_words_after_calls_are_a_message_of_their_own() -> None:
    told = stream(OPENED, TextDelta("a"), ToolCallDelta(0, "c1", "f", "{}"), TextDelta("b"), ReasoningDelta("c"), STOP)
    output = told[-1]["response"]["output"]
    assert [item["id"].split("_")[-1] for item in output if item["type"] == "message"] == ["o", "o2"]
    assert [item["type"] for item in output] == ["message", "function_call", "message", "reasoning"]


def test_calls_may_be_told_in_turns() -> None:
    told = stream(
        OPENED,
        ToolCallDelta(0, "c1", "f", '{"a'),
        ToolCallDelta(1, "c2", "g", '{"b'),
        ToolCallDelta(0, arguments='":1}'),
        ToolCallDelta(1, arguments='":2}'),
        ChoiceEnded("tool_calls"),
    )
    assert [item["arguments"] for item in told[-1]["response"]["output"]] == ['{"a":1}', '{"b":2}']


def test_what_follows_a_whole_call_is_not_told() -> None:
    told = stream(
        OPENED,
        ToolCallDelta(0, "c1", "f", "{}"),
        ToolCallDelta(1, "c2", "g", "[" * 5000),
        ToolCallDelta(0, arguments="\n"),
        TextDelta("a"),
        ChoiceEnded("tool_calls"),
    )
    output = told[-1]["response"]["output"]
    assert [item.get("arguments") for item in output] == ["{}", "[" * 5000, None]


def test_a_refusal_has_events_of_its_own() -> None:
    told = stream(OPENED, TextDelta("well"), RefusalDelta("n"), RefusalDelta("o"), STOP)
    assert "refusal.done" in kinds(told)
    (message,) = told[-1]["response"]["output"]
    assert [part["type"] for part in message["content"]] == ["output_text", "refusal"]
    assert [event["content_index"] for event in told if event["type"] == "response.refusal.delta"] == [1, 1]


def test_log_probabilities_come_with_the_text() -> None:
    logprobs = b'{"content":[{"token":"a","logprob":-0.5,"bytes":[97],"top_logprobs":[]}]}'
    told = stream(OPENED, TextDelta("a", logprobs=logprobs), TextDelta("b"), STOP)
    first, second = (event for event in told if event["type"] == "response.output_text.delta")
    assert [token["token"] for token in first["logprobs"]] == ["a"]
    assert second["logprobs"] == []
    assert told[-1]["response"]["output"][0]["content"][0]["logprobs"] == first["logprobs"]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_answer_that_was_cut_off_ends_incomplete(reason: str) -> None:
    told = stream(OPENED, ReasoningDelta("hm"), TextDelta("a"), ChoiceEnded(reason))
    assert told[-1]["type"] == "response.incomplete"
    assert [item["status"] for item in told[-1]["response"]["output"]] == ["completed", "incomplete"]


def test_an_empty_answer_is_an_empty_message() -> None:
    told = stream(OPENED, TextDelta(""), STOP)
    assert told[-1]["response"]["output"][0]["content"][0]["text"] == ""
    assert "output_text.done" in kinds(told)


def test_only_the_first_choice_is_told() -> None:
    several = [OPENED, TextDelta("a"), TextDelta("b", 1), ReasoningDelta("c", 1), RefusalDelta("d", 1), STOP]
    assert stream(*several, ChoiceEnded("stop", 1)) == stream(OPENED, TextDelta("a"), STOP)


def test_a_background_response_is_queued_first() -> None:
    telling = Events(view(background=True))
    assert not telling.begun
    told = parsed(telling.tell(OPENED))
    assert telling.begun
    assert kinds(told) == ["created", "queued", "in_progress"]
    assert [event["response"]["status"] for event in told] == ["queued", "queued", "in_progress"]


def test_a_compaction_is_told_before_the_answer() -> None:
    told = stream(OPENED, TextDelta("a"), STOP, compacted="before")
    assert kinds(told)[2:5] == ["output_item.added", "compaction.compacting", "output_item.done"]
    assert opaque.unseal(told[4]["item"]["encrypted_content"], "compaction") == "before"
    assert [item["type"] for item in told[-1]["response"]["output"]] == ["compaction", "message"]
    empty = stream(OPENED, STOP, compacted="before")
    assert [item["type"] for item in empty[-1]["response"]["output"]] == ["compaction", "message"]


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        (UpstreamRateLimited(), "failed", "rate_limit_exceeded"),
        (RunFailed("failed", "upstream_timeout", "late"), "failed", "server_error"),
        (RunFailed("cancelled", "cancelled", "It was cancelled."), "cancelled", "server_error"),
    ],
)
def test_a_failure_ends_the_stream_with_what_there_is(failure: Failure, status: str, code: str) -> None:
    telling = Events(view())
    events = [OPENED, ReasoningDelta("hm"), TextDelta("half")]
    frames = [*(frame for event in events for frame in telling.tell(event)), *telling.failed(failure, b"{}")]
    assert frames[-1] == b"data: [DONE]\n\n"
    told = parsed(frames)
    consistent(told)
    assert told[-1]["type"] == "response.failed"
    failed = told[-1]["response"]
    assert failed["status"] == status
    assert failed["error"] == {"code": code, "message": failure.message}
    assert [item["status"] for item in failed["output"]] == ["completed", "incomplete"]
    assert failed["output"][1]["content"][0]["text"] == "half"


def test_a_socket_hears_of_a_failure_and_nothing_after_it() -> None:
    (*_, last) = Events(view(), framed=False).failed(UpstreamRateLimited())
    assert json.loads(last)["type"] == "response.failed"


def test_a_failure_before_the_first_word_is_told_whole() -> None:
    told = parsed(Events(view()).failed(UpstreamRateLimited()))
    assert kinds(told) == ["created", "in_progress", "failed"]


def test_who_comes_late_hears_the_rest() -> None:
    events = [OPENED, TextDelta("a"), TextDelta("b"), STOP]
    all_of_it = tell(*events)
    for number in range(len(all_of_it) - 1):
        assert tell(*events, starting_after=number) == all_of_it[number + 1 :]
    late = Events(view(), starting_after=5)
    early = Events(view())
    for event in events:
        heard = late.event(event)
        assert early.event(event).endswith(heard)


def test_a_socket_hears_bare_objects() -> None:
    events = [OPENED, TextDelta("a"), TextDelta("b"), STOP]
    bare = tell(*events, framed=False)
    assert [json.loads(frame) for frame in bare] == parsed(tell(*events))


def test_a_response_that_is_only_kept_is_told_without_an_answer() -> None:
    told = [json.loads(frame) for frame in warmed_up(view(), "m")]
    for event in told:
        EVENT.validate_python(event, strict=True)
    consistent(told)
    assert kinds(told) == ["created", "in_progress", "completed"]
    assert told[-1]["response"]["output"] == []


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
said = st.lists(
    st.one_of(
        texts.map(TextDelta),
        texts.map(ReasoningDelta),
        texts.map(RefusalDelta),
        st.builds(
            lambda index, arguments: ToolCallDelta(index, f"c{index}", f"f{index}", arguments),
            st.integers(0, 2),
            st.sampled_from(["", "{", "}", '"a":1']),
        ),
    ),
    max_size=12,
)
reasons = st.sampled_from(["stop", "length", "tool_calls"])


@given(said, reasons)
def test_any_order_of_events_is_a_valid_stream(events: list[ModelEvent], reason: str) -> None:
    done: set[int] = set()
    arguments: dict[int, str] = {}
    kept: list[ModelEvent] = [OPENED]
    for event in events:
        if isinstance(event, ToolCallDelta):
            if event.index in done:
                continue
            told = arguments[event.index] = arguments.get(event.index, "") + event.arguments
            with suppress(ValueError):
                if isinstance(json.loads(told), dict):
                    done.add(event.index)
        kept.append(event)
    told_events = stream(*kept, ChoiceEnded(reason))
    again = stream(*kept, ChoiceEnded(reason))
    assert told_events == again


@given(said, reasons)
def test_a_recorded_answer_is_told_as_the_whole_shows_it(events: list[ModelEvent], reason: str) -> None:
    outcome = folded([OPENED, *events, ChoiceEnded(reason)]).outcome(lambda: USED)
    (final,) = [event["response"] for event in stream(*unfold(outcome))[-1:]]
    whole = json.loads(msgspec.json.encode(shown_whole(view(), finished(outcome))))
    for message in (item for response in (final, whole) for item in response["output"] if item["type"] == "message"):
        message["content"].sort(key=lambda part: part["type"])
    assert final["output"] == whole["output"]
    assert final["status"] == whole["status"]


def test_the_official_client_reads_it() -> None:
    frames = tell(
        OPENED,
        ReasoningDelta("hm"),
        TextDelta("Hel"),
        TextDelta("lo"),
        ToolCallDelta(0, "c1", "f", '{"a":'),
        ToolCallDelta(0, arguments="1}"),
        ChoiceEnded("tool_calls"),
    )
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=b"".join(frames))
    )
    client = openai.OpenAI(api_key="k", base_url="http://test/v1", http_client=httpx2.Client(transport=transport))
    with client, client.responses.stream(model="m", input="hi") as events:
        heard = list(events)
        final = events.get_final_response()
    assert "".join(event.delta for event in heard if event.type == "response.output_text.delta") == "Hello"
    assert final.output_text == "Hello"
    assert final.output[-1].type == "function_call"
    assert [event.sequence_number for event in heard] == list(range(len(heard)))
