"""A Response object as clients and the specification want it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from openai.types.responses import CompactedResponse, InputTokenCountResponse, Response, ResponseItemList
from pydantic import BaseModel

from everthread.core.ids import DEFAULT_TENANT, LineageId, ScopeId, SessionId, StepId, ThreadId
from everthread.core.messages import say
from everthread.core.session import Session
from everthread.core.turn import Choice, Context, Envelope, Finished, Keep, Outcome, Started, Step, ToolCall, Usage
from everthread.core.view import Fault, View
from everthread.errors import Malformed, Overloaded
from everthread.wire.responses import opaque, reply, shown, stream
from everthread.wire.responses.asked import Asked, Looking, error_event
from everthread.wire.responses.names import call_hash
from everthread.wire.responses.request import read

STEP = StepId("0abc")
AT = datetime(2026, 1, 2, 3, 4, 5, 600_000, UTC)
ENVELOPE = Envelope(tenant=DEFAULT_TENANT)
SESSION = Session(
    id=SessionId("s"),
    root=SessionId("s"),
    parent=None,
    thread=ThreadId("t"),
    lineage=LineageId("l"),
    scope=ScopeId("c"),
    session_key=None,
    from_seq=1,
    last_seq=1,
)

# What the Open Responses specification requires of every Response.
REQUIRED = {
    "id", "object", "created_at", "completed_at", "status", "incomplete_details", "model", "previous_response_id",
    "instructions", "output", "error", "tools", "tool_choice", "truncation", "parallel_tool_calls", "text", "top_p",
    "presence_penalty", "frequency_penalty", "top_logprobs", "temperature", "reasoning", "usage", "max_output_tokens",
    "max_tool_calls", "store", "background", "service_tier", "metadata", "safety_identifier", "prompt_cache_key",
}  # fmt: skip
NEVER_NULL = {
    "tools", "tool_choice", "truncation", "parallel_tool_calls", "text", "top_p", "presence_penalty",
    "frequency_penalty", "top_logprobs", "temperature", "store", "background", "service_tier", "metadata", "model",
}  # fmt: skip


def keep(**body: Any) -> Keep:
    return read(json.dumps({"input": "hi", **body}).encode()).keep()


def view(**body: Any) -> View:
    return View(id=STEP, keep=keep(**body), created_at=AT)


def outcome(*, usage: Usage | None = None, **choice: Any) -> Outcome:
    return Outcome(
        model="up", choices=(Choice(**{"content": "hello", "finish": "stop", **choice}),), usage=usage or Usage(7, 3)
    )


def finished(whole: Outcome | None = None, **more: Any) -> Finished:
    whole = whole or outcome()
    step = Step(
        id=STEP,
        turn=STEP,
        seq=1,
        source="api",
        input=(say("user", "hi"),),
        outcome=whole,
        answer=whole.choices[0].message(),
        context=Context(7, 100, 1, 1),
        said_at=AT,
        stored_at=AT,
        tokens=10,
        **more,
    )
    return Finished(session=SESSION, asked=None, step=step)


def asked(**body: Any) -> Asked:
    request = read(json.dumps({"input": "hi", **body}).encode())
    return Asked(turn=request.turn(ENVELOPE), keep=request.keep(), stream=request.stream)


def known(body: shown.Shown) -> dict[str, Any]:
    """The object as JSON, after the official types have seen it."""
    told: dict[str, Any] = json.loads(msgspec.json.encode(body))
    strictly(Response, told)
    assert told.keys() >= REQUIRED | (Response.model_fields.keys() - {"user"})
    assert not [name for name in NEVER_NULL if told[name] is None]
    assert isinstance(told["created_at"], int)
    return told


def strictly(kind: type[BaseModel], told: dict[str, Any]) -> None:
    kind.model_validate(told, strict=True)


def test_the_whole_object_has_every_field() -> None:
    told = known(stream.whole(view(), finished()))
    assert told["id"] == "resp_0abc"
    assert told["object"] == "response"
    assert told["status"] == "completed"
    assert told["created_at"] == told["completed_at"] == int(AT.timestamp())
    later = known(stream.whole(view(), finished(took=2.5)))
    assert (later["created_at"], later["completed_at"]) == (int(AT.timestamp()), int(AT.timestamp()) + 3)
    assert told["model"] == "up"
    assert told["output"] == [
        {
            "id": "msg_0abc_o",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "hello", "annotations": [], "logprobs": []}],
        }
    ]
    assert told["usage"] == {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 10,
    }
    assert told["hermes"]["session_id"] == "s"
    assert (told["error"], told["incomplete_details"], told["conversation"]) == (None, None, None)
    assert (told["previous_response_id"], told["prompt"], told["moderation"]) == (None, None, None)
    assert told["metadata"] == {}
    assert "user" not in told


def test_what_was_asked_is_shown_again() -> None:
    tool = {"type": "function", "name": "f", "description": None, "parameters": {"type": "object"}, "strict": None}
    sent = view(model="asked", user="u", metadata={"a": "b"}, instructions="i", tools=[tool], temperature=0.2)
    held = Keep(
        kind="response",
        request=sent.keep.request,
        metadata={"a": "c"},
        previous=StepId("0prev"),
        conversation=SessionId("conv_1"),
        background=True,
    )
    told = known(stream.whole(View(id=STEP, keep=held, created_at=AT), finished()))
    assert told["model"] == "asked"
    assert told["user"] == "u"
    assert told["metadata"] == {"a": "c"}, "as it is kept now"
    assert told["previous_response_id"] == "resp_0prev"
    assert told["conversation"] == {"id": "conv_1"}
    assert told["background"] is True
    assert told["tools"] == [tool]


def test_the_details_of_usage_are_those_of_the_models_server() -> None:
    raw = {
        "prompt_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    told = reply.encode_usage(Usage(7, 3, 4, json.dumps(raw).encode()))
    assert told["input_tokens_details"] == {"cached_tokens": 4, "cache_write_tokens": 1}
    assert told["output_tokens_details"] == {"reasoning_tokens": 2}
    odd = reply.encode_usage(Usage(7, 3, 4, b'{"prompt_tokens_details":null,"completion_tokens_details":{"x":1}}'))
    assert odd["input_tokens_details"] == {"cached_tokens": 4, "cache_write_tokens": 0}
    assert odd["output_tokens_details"] == {"reasoning_tokens": 0}


def test_an_answer_with_everything_in_it() -> None:
    logprobs = {
        "content": [
            {"token": "a", "logprob": -0.5, "bytes": None, "top_logprobs": [{"token": "b", "logprob": -1.5}]},
            {"token": "c", "logprob": -0.25, "bytes": [99], "top_logprobs": []},
        ]
    }
    whole = outcome(
        content="ac",
        reasoning="hm",
        refusal="no",
        tool_calls=(ToolCall("c1", "f", "{}"), ToolCall("c2", "g", "")),
        logprobs=json.dumps(logprobs).encode(),
        finish="tool_calls",
    )
    told = known(stream.whole(view(), finished(whole)))
    assert [item["id"] for item in told["output"]] == [
        "rs_0abc",
        "msg_0abc_o",
        f"fc_0abc_o_{call_hash('c1')}",
        f"fc_0abc_o_{call_hash('c2')}",
    ]
    assert told["output"][0]["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert told["output"][1]["content"] == [
        {
            "type": "output_text",
            "text": "ac",
            "annotations": [],
            "logprobs": [
                {
                    "token": "a",
                    "logprob": -0.5,
                    "bytes": [],
                    "top_logprobs": [{"token": "b", "logprob": -1.5, "bytes": []}],
                },
                {"token": "c", "logprob": -0.25, "bytes": [99], "top_logprobs": []},
            ],
        },
        {"type": "refusal", "refusal": "no"},
    ]
    assert told["output"][2]["call_id"] == "c1"
    assert {item["status"] for item in told["output"]} == {"completed"}


def test_a_thought_is_sealed_for_who_wants_to_send_it_back() -> None:
    wanted = view(include=["reasoning.encrypted_content"])
    told = known(stream.whole(wanted, finished(outcome(reasoning="hm"))))
    (sealed,) = [item["encrypted_content"] for item in told["output"] if item["type"] == "reasoning"]
    assert opaque.unseal(sealed, "reasoning") == "hm"
    with pytest.raises(Malformed, match="not made by this server"):
        opaque.unseal(sealed, "compaction")
    assert "include" not in told
    plain = known(stream.whole(view(), finished(outcome(reasoning="hm"))))
    assert "encrypted_content" not in plain["output"][0]


def test_calls_alone_are_not_an_empty_message() -> None:
    whole = outcome(content=None, tool_calls=(ToolCall("c1", "f", "{}"),), finish="tool_calls")
    assert [item["type"] for item in known(stream.whole(view(), finished(whole)))["output"]] == ["function_call"]


def test_nothing_at_all_is_an_empty_message() -> None:
    told = known(stream.whole(view(), finished(outcome(content=""))))
    assert told["output"][0]["content"][0]["text"] == ""


@pytest.mark.parametrize(("finish", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
def test_an_answer_that_was_cut_off_is_incomplete(finish: str, reason: str) -> None:
    told = known(stream.whole(view(), finished(outcome(reasoning="hm", finish=finish))))
    assert told["status"] == "incomplete"
    assert told["incomplete_details"] == {"reason": reason}
    assert told["completed_at"] is None
    assert [item["status"] for item in told["output"]] == ["completed", "incomplete"]


def test_one_that_is_not_answered_shows_its_state() -> None:
    for status in ("queued", "in_progress", "cancelled"):
        told = known(reply.pending(view(), status, model="m"))  # type: ignore[arg-type]
        assert (told["status"], told["output"], told["usage"], told["model"]) == (status, [], None, "m")


@pytest.mark.parametrize(
    ("code", "known_as"),
    [
        ("upstream_rate_limited", "rate_limit_exceeded"),
        ("context_length_exceeded", "invalid_prompt"),
        ("upstream_timeout", "server_error"),
        ("internal_error", "server_error"),
    ],
)
def test_a_failure_has_a_code_that_clients_know(code: str, known_as: str) -> None:
    told = known(reply.failed(view(), Fault(code, "It broke.")))
    assert told["status"] == "failed"
    assert told["error"] == {"code": known_as, "message": "It broke."}


def test_a_failure_names_the_fields_as_they_are_called_here() -> None:
    told = known(reply.failed(view(), Fault("invalid_value", "messages ends with nothing.")))
    assert told["error"]["message"] == "input ends with nothing."


def test_a_compaction_comes_first_in_the_output() -> None:
    sealed = opaque.seal("before", "compaction")
    told = known(stream.whole(view(), finished(compacted="before")))
    assert told["output"][0] == {"id": "cmp_0abc", "type": "compaction", "encrypted_content": sealed}
    assert told["output"][1]["type"] == "message"


def test_the_kin_of_a_response() -> None:
    items = shown.shown(STEP, 0, say("user", "a")) + shown.shown(STEP, 1, say("user", "b"))
    page = json.loads(reply.item_page(items, more=True))
    strictly(ResponseItemList, page)
    assert (page["first_id"], page["last_id"], page["has_more"]) == ("msg_0abc_0", "msg_0abc_1", True)
    assert json.loads(reply.item_page([], more=False))["first_id"] is None
    assert json.loads(reply.deleted(STEP)) == {"id": "resp_0abc", "object": "response", "deleted": True}
    counted = json.loads(reply.input_tokens(12))
    strictly(InputTokenCountResponse, counted)
    assert counted["input_tokens"] == 12
    compacted = json.loads(reply.compacted(STEP, "before", users=items, created_at=AT, usage=Usage(7, 3)))
    assert [item["type"] for item in compacted["output"]] == ["message", "message", "compaction"]
    strictly(CompactedResponse, {**compacted, "output": compacted["output"][-1:]})


def test_who_asked_hears_the_whole() -> None:
    told = json.loads(asked(model="m").whole(finished()))
    strictly(Response, told)
    assert (told["id"], told["model"], told["hermes"]["run_id"]) == ("resp_0abc", "m", "run_0abc")
    assert asked().to == ENVELOPE
    elsewhere = Envelope(tenant=DEFAULT_TENANT, session_id=SessionId("x"))
    assert asked().within(elsewhere).to == elsewhere


def test_a_failure_before_the_first_event_is_an_event_of_its_own() -> None:
    error = {"error": {"message": "m", "type": "server_error", "param": None, "code": Overloaded.code}}
    raw = json.dumps(error).encode()
    told = asked().failed(raw)
    assert told.startswith(b"event: error\ndata: {")
    body = json.loads(error_event(raw, framed=False))
    assert (body["type"], body["sequence_number"], body["code"]) == ("error", 0, "overloaded")
    assert body["error"] == error["error"]
    looking = Looking(view=view())
    assert looking.failed(raw) == told
    assert looking.to is None
    started = Started(session=SESSION, step=STEP, at=AT)
    assert looking.telling(started).last(finished()) == asked().telling(started).last(finished())
