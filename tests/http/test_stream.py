"""Streams: their order, their shape, and that a naive reader survives them."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from everthread.http import reply
from front_door import Client, Everthread
from upstream import USAGE, Upstream, chunk, falls_silent, sleeps, streams


def test_a_stream_is_role_words_finish_done(client: Client, name: str) -> None:
    events = client.say("hi", session=name, stream=True).events
    assert events[0]["choices"][0]["delta"]["role"] == "assistant"
    assert events[-1] == "[DONE]"
    assert events[-2]["choices"][0]["finish_reason"] == "stop"
    assert "hermes" in events[-2]
    middle = events[1:-2]
    assert len(middle) > 3
    assert all(e["choices"][0]["finish_reason"] is None for e in middle)
    assert all(e["object"] == "chat.completion.chunk" and e["id"] == events[0]["id"] for e in events[:-1])


def test_a_naive_loop_never_breaks_unless_it_asked_for_usage(client: Client) -> None:
    plain = client.say("hi", stream=True).events[:-1]
    assert all(e["choices"] for e in plain), "chunk.choices[0] always works"
    asked = client.say("hi", stream=True, stream_options={"include_usage": True}).events[:-1]
    assert asked[-1]["choices"] == []
    assert asked[-1]["usage"]["total_tokens"] == 18
    assert [bool(e["choices"]) for e in asked[:-1]] == [True] * (len(asked) - 1)


def test_each_event_is_one_write(client: Client) -> None:
    raw = client.raw_stream("hi")
    chunks = [piece for piece in raw if piece.startswith(b"data: ")]
    assert len(chunks) > 5
    assert all(piece.endswith(b"\n\n") and piece.count(b"\n\n") == 1 for piece in chunks)


def test_reasoning_is_streamed_told_and_not_sent_back(client: Client, upstream: Upstream, name: str) -> None:
    thought = (chunk({"reasoning_content": "Let me "}), chunk({"reasoning": "think."}), chunk({"content": "4"}))
    upstream.plan += [streams(*thought, chunk({}, "stop"), USAGE, "[DONE]")] * 2
    events = client.say("2+2?", session=name, stream=True).events
    assert "".join(e["choices"][0]["delta"].get("reasoning_content", "") for e in events[:-1]) == "Let me think."
    message = client.say("2+2?").json["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("4", "Let me think.")
    client.say("and?", session=name)
    assert upstream.prompts[-1][1] == {"role": "assistant", "content": "4"}


def test_a_refusal_is_passed_on_and_kept(client: Client, upstream: Upstream, name: str) -> None:
    upstream.plan.append(streams(chunk({"refusal": "I can't."}), chunk({}, "stop"), "[DONE]"))
    message = client.say("do evil", session=name).json["choices"][0]["message"]
    assert (message["content"], message["refusal"]) == (None, "I can't.")
    client.say("ok", session=name)
    assert upstream.prompts[-1][1]["refusal"] == "I can't."


def test_logprobs_are_passed_on_in_both_forms(client: Client, upstream: Upstream) -> None:
    def pieces() -> object:
        words = [chunk({"content": w}, logprobs={"content": [{"token": w, "logprob": -0.1}]}) for w in ("a", "b")]
        return streams(*words, chunk({}, "stop"), "[DONE]")

    upstream.plan += [pieces(), pieces()]  # type: ignore[list-item]
    whole = client.say("hi", logprobs=True).json["choices"][0]["logprobs"]
    assert [entry["token"] for entry in whole["content"]] == ["a", "b"]
    events = client.say("hi", logprobs=True, stream=True).events
    told = [e["choices"][0]["logprobs"] for e in events[:-1]]
    assert [t["content"][0]["token"] for t in told if t] == ["a", "b"]


def test_of_several_choices_the_first_is_kept(client: Client, upstream: Upstream, name: str) -> None:
    def other(delta: dict[str, str], finish: str | None = None) -> dict[str, object]:
        piece = chunk(delta, finish)
        piece["choices"][0]["index"] = 1
        return piece

    def two() -> object:
        return streams(
            chunk({"content": "one"}), other({"content": "two"}), chunk({}, "stop"), other({}, "length"), "[DONE]"
        )

    upstream.plan += [two(), two()]  # type: ignore[list-item]
    choices = client.say("hi", session=name, n=2).json["choices"]
    assert [(c["message"]["content"], c["finish_reason"]) for c in choices] == [("one", "stop"), ("two", "length")]
    streamed = client.say("hi", n=2, stream=True)
    assert sum("hermes" in e for e in streamed.events[:-1]) == 1
    client.say("next", session=name)
    assert upstream.prompts[-1][1]["content"] == "one"


def test_a_model_that_does_not_say_who_answers_is_called_what_it_was_asked_as(
    start: Callable[..., Everthread], upstream: Upstream
) -> None:
    unnamed = {**chunk({"content": "Hello."}), "model": None}
    upstream.plan += [streams(unnamed, chunk({}, "stop"), "[DONE]")] * 2
    client = start(model="the-model").client
    assert client.say("hi").json["model"] == "the-model"
    assert {event["model"] for event in client.say("hi", stream=True).events[:-1]} == {"the-model"}


def test_usage_is_estimated_when_the_model_tells_none(client: Client, upstream: Upstream) -> None:
    upstream.plan.append(streams(chunk({"content": "one two three"}), chunk({}, "stop"), "[DONE]"))
    usage = client.say("hi").json["usage"]
    assert usage["completion_tokens"] == 3
    assert usage["total_tokens"] == usage["prompt_tokens"] + 3


@pytest.mark.slow
def test_a_slow_first_word_gets_a_status_after_a_while_and_comments_flow(
    start: Callable[..., Everthread], upstream: Upstream
) -> None:
    server = start()
    upstream.plan.append(sleeps(reply.FIRST_EVENT + 1))
    began = time.monotonic()
    answer = server.client.say("hi", session="slow", stream=True)
    assert time.monotonic() - began > reply.FIRST_EVENT
    assert answer.status == 200
    assert answer.body.startswith(b": keep-alive\n\n")
    assert answer.text == "too late"
    assert answer.headers["x-hermes-session-id"] == "slow"


@pytest.mark.slow
def test_a_failure_after_the_status_is_an_error_event(start: Callable[..., Everthread], upstream: Upstream) -> None:
    server = start(first_byte_timeout=str(reply.FIRST_EVENT + 1))
    upstream.plan.append(sleeps(30))
    answer = server.client.say("hi", session="slow", stream=True)
    assert answer.status == 200
    assert answer.events[-1]["error"]["code"] == "upstream_timeout"
    assert "[DONE]" not in answer.events


@pytest.mark.slow
def test_a_silent_model_does_not_make_a_silent_stream(start: Callable[..., Everthread], upstream: Upstream) -> None:
    server = start()
    upstream.plan.append(falls_silent(reply.KEEP_ALIVE + 2))
    answer = server.client.say("hi", session="slow", stream=True)
    assert b"Well" in answer.body.split(b": keep-alive\n\n")[0]
    assert answer.text == "Well, too late"
