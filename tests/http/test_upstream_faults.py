"""Whatever the model's server does: the documented error, no half step, and the session goes on."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from front_door import Answer, Client, Everthread
from upstream import (
    HEAD,
    USAGE,
    Behaviour,
    Upstream,
    calls,
    chunk,
    cuts,
    end,
    error_in_stream,
    event,
    falls_silent,
    garbage,
    hangs_up,
    no_finish,
    says,
    sleeps,
    status,
    streams,
    whole,
)

pytestmark = pytest.mark.slow

both = pytest.mark.parametrize("stream", [False, True], ids=["json", "sse"])

SECRET = "upstream-secret"
AT_ONCE = "retry-after: 0\r\n"  # so that a retry does not have to be waited for
QUESTION = "The question that fails?"


# --- more faults ---


def html(code: int) -> Behaviour:
    return status(code, b"<html><body>Bad Gateway</body></html>", AT_ONCE)


async def resets(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    """Drops the connection in the middle of a sentence, without a goodbye."""
    writer.write(HEAD)
    await event(writer, chunk({"role": "assistant", "content": "I was about to"}))
    await asyncio.sleep(0.05)
    writer.transport.abort()


async def never_ends_its_line(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD)
    await event(writer, b"data: ")
    for _ in range(17):
        await event(writer, b"x" * 1024 * 1024)
    await end(writer)


async def starts_an_error_and_stops(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    """The head of an error, and never its body."""
    writer.write(b"HTTP/1.1 500 X\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{")
    await writer.drain()
    await asyncio.sleep(2)
    writer.close()


async def says_nothing_at_all(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    await whole(writer, 200, b"")


BEGUN = chunk({"role": "assistant", "content": "Hm"})
COMPLETION = {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": {"content": "Hi"}}]}


@dataclass(frozen=True)
class Fault:
    name: str
    behaviour: Behaviour
    status: int
    code: str
    tries: int = 1
    begun: bool = False  # it comes after the first word, so a stream has begun by then


FAULTS = [
    Fault("401", status(401), 502, "upstream_unauthorized"),
    Fault("403", status(403), 502, "upstream_unauthorized"),
    Fault("404 with a reason", status(404), 404, "model_not_found"),
    Fault("404 without a word", status(404, b""), 502, "upstream_failed"),
    Fault("404 as HTML", html(404), 502, "upstream_failed"),
    Fault("400", status(400), 400, "upstream_rejected"),
    Fault("400 without a word", status(400, b""), 400, "upstream_rejected"),
    Fault("422", status(422), 400, "upstream_rejected"),
    Fault("429 with a long Retry-After", status(429, headers="retry-after: 120\r\n"), 503, "upstream_rate_limited"),
    Fault("429 without Retry-After", status(429), 503, "upstream_rate_limited", tries=3),
    Fault("500", status(500), 502, "upstream_failed", tries=3),
    Fault("503 as HTML", html(503), 502, "upstream_failed", tries=3),
    Fault("503 with a long Retry-After", status(503, headers="retry-after: 120\r\n"), 502, "upstream_failed"),
    Fault("a redirect to nowhere", status(302, b"", "location: http://127.0.0.1:9/\r\n"), 502, "upstream_failed"),
    Fault("a slow first byte", sleeps(1.0), 504, "upstream_timeout"),
    Fault("silence in the middle of an error", starts_an_error_and_stops, 504, "upstream_timeout"),
    Fault("silence after the first word", falls_silent(1.0), 504, "upstream_timeout", begun=True),
    Fault("a cut in mid-sentence", cuts, 502, "upstream_disconnected", begun=True),
    Fault("a reset in mid-sentence", resets, 502, "upstream_disconnected", begun=True),
    Fault("a hang-up without a word", hangs_up, 502, "upstream_unreachable", tries=3),
    Fault("no finish reason", no_finish, 502, "upstream_incomplete", begun=True),
    Fault("an end without [DONE] or finish reason", streams(BEGUN), 502, "upstream_incomplete", begun=True),
    Fault("[DONE] and nothing else", streams("[DONE]"), 502, "upstream_incomplete"),
    Fault("an empty body", says_nothing_at_all, 502, "upstream_incomplete"),
    Fault("a garbage chunk", garbage, 502, "upstream_malformed", begun=True),
    Fault("a chunk that is a list", streams(BEGUN, "[1, 2]"), 502, "upstream_malformed", begun=True),
    Fault("a chunk of bad UTF-8", streams(b'data: {"model":"\xff"}\n\n'), 502, "upstream_malformed"),
    Fault("a chunk of wrong types", streams('{"choices": "none"}'), 502, "upstream_malformed"),
    Fault("a lone surrogate", streams('{"choices":[{"delta":{"content":"\\ud800"}}]}'), 502, "upstream_malformed"),
    Fault("an error inside the stream", error_in_stream, 502, "upstream_failed", begun=True),
    Fault("an error that is a string", streams(BEGUN, {"error": "oh"}), 502, "upstream_failed", begun=True),  # type: ignore[dict-item]
    Fault("HTML instead of a stream", html(200), 502, "upstream_malformed"),
    Fault("HTML in lines", status(200, b"<!doctype html>\n<p>Hi</p>\n"), 502, "upstream_malformed"),
    Fault("JSON instead of a stream", status(200, COMPLETION), 502, "upstream_malformed"),
    Fault("indented JSON", status(200, json.dumps(COMPLETION, indent=2).encode()), 502, "upstream_malformed"),
    Fault("a line that never ends", never_ends_its_line, 502, "upstream_malformed"),
    Fault("usage of wrong types", streams(BEGUN, {"usage": "lots"}), 502, "upstream_malformed", begun=True),
    Fault(
        "usage beyond all numbers",
        streams(BEGUN, chunk({}, "stop"), {"usage": {"prompt_tokens": 2**70, "completion_tokens": 1}}, "[DONE]"),
        502,
        "upstream_malformed",
        begun=True,
    ),
    Fault(
        "usage in bad UTF-8",
        streams(BEGUN, chunk({}, "stop"), b'data: {"choices":[],"usage":{"x":"\xff"}}\n\n', "[DONE]"),
        502,
        "upstream_malformed",
        begun=True,
    ),
    Fault(
        "logprobs that are a list",
        streams(BEGUN, chunk({"content": " so"}, logprobs=[1]), chunk({}, "stop"), "[DONE]"),
        502,
        "upstream_malformed",
        begun=True,
    ),
    Fault(
        "logprobs in bad UTF-8",
        streams(
            BEGUN,
            b'data: {"choices":[{"index":0,"delta":{"content":"x"},"logprobs":{"content":["\xff"]}}]}\n\n',
            chunk({}, "stop"),
            "[DONE]",
        ),
        502,
        "upstream_malformed",
        begun=True,
    ),
]
each_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@pytest.fixture(scope="module")
def hasty(shared_upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everthread]:
    """A server that waits 0.4 s for the first byte, and as long for each one after it."""
    home = tmp_path_factory.mktemp("hasty")
    everthread = Everthread(home, shared_upstream.url, first_byte_timeout="0.4", silence_timeout="0.4")
    yield everthread
    everthread.stop()


@pytest.fixture
def impatient(hasty: Everthread, upstream: Upstream) -> Client:
    return hasty.client


def error_of(answer: Answer) -> dict[str, Any]:
    """The error object, whether it is the body or the last event of a stream that never says [DONE]."""
    if answer.status == 200:
        assert "[DONE]" not in answer.events
        assert all("error" not in each for each in answer.events[:-1])
        body = answer.events[-1]
    else:
        assert answer.headers["content-type"] == "application/json"
        body = answer.json
    assert set(body) == {"error"}
    assert set(body["error"]) == {"message", "type", "param", "code"}
    assert body["error"]["message"]
    return dict(body["error"])


def fails(client: Client, upstream: Upstream, name: str, fault: Fault, *, stream: bool) -> Answer:
    """A turn, and one that meets the fault and says so; what the first was answered."""
    first = client.say("My name is Alex.", session=name)
    assert first.status == 200
    upstream.plan[:] = [fault.behaviour] * fault.tries
    failed = client.say(QUESTION, session=name, stream=stream)
    assert failed.status == (200 if stream and fault.begun else fault.status), failed.body[:500]
    assert error_of(failed)["code"] == fault.code
    return first


def goes_on(client: Client, upstream: Upstream, name: str, first: Answer, *, stream: bool) -> None:
    """The session, as if the failed turn had not been."""
    assert client.say("And now?", session=name, stream=stream).status == 200
    assert upstream.prompts[-1] == [
        {"role": "user", "content": "My name is Alex."},
        {"role": "assistant", "content": first.text},
        {"role": "user", "content": "And now?"},
    ], "neither the failed question nor half of an answer"


@both
@each_fault
def test_a_fault_upstream_is_the_documented_error_and_the_session_goes_on(
    impatient: Client, upstream: Upstream, name: str, fault: Fault, stream: bool
) -> None:
    first = fails(impatient, upstream, name, fault, stream=stream)
    assert len(upstream.requests) == 1 + fault.tries
    goes_on(impatient, upstream, name, first, stream=stream)


@both
def test_a_session_whose_first_turn_fails_does_not_begin(
    client: Client, upstream: Upstream, name: str, stream: bool
) -> None:
    upstream.plan[:] = [cuts]
    client.say(QUESTION, session=name, stream=stream, key="a key that it was not given")
    assert client.say("Hello?", session=name, stream=stream, key="its own key").status == 200
    assert upstream.prompts[-1] == [{"role": "user", "content": "Hello?"}]


# --- no connection ---


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def test_a_refused_connection_is_a_502_whole_or_streamed(start: Callable[..., Everthread], closed_port: int) -> None:
    client = start(upstream_url=f"http://127.0.0.1:{closed_port}/v1").client
    for stream in (False, True):
        for model in (None, "some-model"):
            answer = client.say("Hello?", stream=stream, model=model)
            assert answer.status == 502
            assert error_of(answer)["code"] == "upstream_unreachable"
    assert client.get("/health").status == 200
    assert client.get("/health/ready").status == 503
    listed = client.get("/v1/models")
    assert (listed.status, error_of(listed)["code"]) == (502, "upstream_unreachable")


# --- what is tried again ---


@both
def test_two_failures_and_then_an_answer_are_an_answer(client: Client, upstream: Upstream, stream: bool) -> None:
    upstream.plan[:] = [status(500), hangs_up, says("Third time lucky.")]
    answer = client.say("Hello?", stream=stream)
    assert (answer.status, answer.text) == (200, "Third time lucky.")
    assert len(upstream.requests) == 3


@both
def test_a_short_retry_after_is_honoured(client: Client, upstream: Upstream, stream: bool) -> None:
    upstream.plan[:] = [status(429, headers="retry-after: 1\r\n")]
    began = time.monotonic()
    answer = client.say("Hello?", stream=stream)
    assert answer.status == 200
    assert 1 <= time.monotonic() - began < 4
    assert len(upstream.requests) == 2


@both
def test_a_long_retry_after_is_passed_on_at_once(client: Client, upstream: Upstream, stream: bool) -> None:
    upstream.plan[:] = [status(429, headers="retry-after: 120\r\n")]
    began = time.monotonic()
    answer = client.say("Hello?", stream=stream)
    assert time.monotonic() - began < 1
    assert (answer.status, answer.headers["retry-after"]) == (503, "120")


@both
@pytest.mark.parametrize("wait", ["inf", "nan", "1e400", "soon", "Fri, 31 Dec 1999 23:59:59 GMT"])
def test_a_strange_retry_after_is_no_fault_of_ours(client: Client, upstream: Upstream, wait: str, stream: bool) -> None:
    upstream.plan[:] = [status(429, headers=f"retry-after: {wait}\r\n")] * 3
    answer = client.say("Hello?", stream=stream)
    assert answer.status == 503
    assert error_of(answer)["code"] == "upstream_rate_limited"


@both
def test_nothing_is_tried_again_once_a_word_was_passed_on(client: Client, upstream: Upstream, stream: bool) -> None:
    upstream.plan[:] = [cuts]
    assert error_of(client.say("Hello?", stream=stream))["code"] == "upstream_disconnected"
    assert len(upstream.requests) == 1


def test_words_passed_on_before_a_cut_are_followed_by_the_error(client: Client, upstream: Upstream) -> None:
    upstream.plan[:] = [cuts]
    answer = client.say("Hello?", stream=True)
    assert answer.text == "I was about to"
    assert error_of(answer)["type"] == "upstream_error"


def test_what_the_upstream_says_of_a_bad_request_reaches_the_client(client: Client, upstream: Upstream) -> None:
    upstream.plan[:] = [status(400, {"error": {"message": "logit_bias is not supported", "type": "x"}})]
    assert "logit_bias is not supported" in error_of(client.say("Hello?"))["message"]


@both
def test_after_the_retries_the_fallback_model_is_asked(
    start: Callable[..., Everthread], upstream: Upstream, stream: bool
) -> None:
    client = start(model="main-model", fallback_models="other-model, last-model").client
    upstream.plan[:] = [status(500, headers=AT_ONCE)] * 3
    assert client.say("Hello?", stream=stream).status == 200
    assert [request["model"] for request in upstream.requests] == ["main-model"] * 3 + ["other-model"]
    upstream.requests.clear()
    upstream.plan[:] = [status(500, headers=AT_ONCE)] * 5
    assert client.say("Hello?", stream=stream).status == 502
    assert [request["model"] for request in upstream.requests][3:] == ["other-model", "last-model"]


def test_a_main_model_that_asks_for_a_long_wait_leaves_the_turn_to_the_fallback(
    start: Callable[..., Everthread], upstream: Upstream
) -> None:
    client = start(model="main-model", fallback_models="other-model").client
    upstream.plan[:] = [status(429, headers="retry-after: 120\r\n")]
    assert client.say("Hello?").status == 200
    assert [request["model"] for request in upstream.requests] == ["main-model", "other-model"]


# --- what must not leak ---


@both
@pytest.mark.parametrize(
    "behaviour",
    [
        *[
            status(code, {"error": {"message": f"you sent Authorization: Bearer {SECRET}"}}, AT_ONCE)
            for code in (400, 404, 500)
        ],
        status(429, {"error": {"message": f"Bearer {SECRET} is over its limit"}}, "retry-after: 120\r\n"),
        status(400, {"error": f"Bearer {SECRET}?"}),
        status(400, {"error": {"message": "x" * 490 + SECRET}}),
        streams(BEGUN, {"error": {"message": f"Bearer {SECRET} fell over"}}),
        streams({"error": {"message": f"Bearer {SECRET} fell over"}}),
        streams({"error": f"Bearer {SECRET}"}),  # type: ignore[dict-item]
    ],
    ids=["400", "404", "500", "429", "a string", "where it is cut", "in the stream", "at once", "a string at once"],
)
def test_the_upstream_key_is_never_in_an_error(
    client: Client, upstream: Upstream, behaviour: Behaviour, stream: bool
) -> None:
    upstream.plan[:] = [behaviour] * 3
    answer = client.say("Hello?", stream=stream)
    assert upstream.headers[0]["authorization"] == f"Bearer {SECRET}"
    error_of(answer)
    assert SECRET[:12].encode() not in answer.body


def test_a_redirect_does_not_carry_the_conversation_elsewhere(client: Client, upstream: Upstream) -> None:
    elsewhere = Upstream()
    try:
        upstream.plan[:] = [status(307, b"", f"location: {elsewhere.url}/chat/completions\r\n")] * 3
        answer = client.say("This is for you alone.")
        assert elsewhere.requests == []
        assert answer.status == 502
    finally:
        elsewhere.close()


# --- odd, but an answer ---


def test_a_tool_call_without_an_id_does_not_spoil_the_session(client: Client, upstream: Upstream, name: str) -> None:
    upstream.plan[:] = [calls(("", "search", '{"q": "x"}'))]
    first = client.say("Search!", session=name)
    assert first.status in {200, 502}
    assert client.say("Never mind.", session=name).status == 200
    if first.status == 200:
        assert first.json["choices"][0]["message"]["tool_calls"][0]["id"], "a call that can be answered"


def test_a_cut_after_the_finish_reason_is_a_whole_answer(client: Client, upstream: Upstream, name: str) -> None:
    async def cuts_late(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        await event(writer, chunk({"role": "assistant", "content": "All of it."}))
        await event(writer, chunk({}, "stop"))
        writer.close()

    upstream.plan[:] = [cuts_late]
    assert client.say("Hello?", session=name).text == "All of it."
    client.say("And?", session=name)
    assert upstream.prompts[-1][1] == {"role": "assistant", "content": "All of it."}


@both
def test_comments_event_names_and_strange_line_ends_are_no_fault(
    client: Client, upstream: Upstream, stream: bool
) -> None:
    upstream.plan[:] = [
        streams(
            b": PROCESSING\n\n",
            b"event: message\nid: 1\nretry: 5\n",
            b"data:" + json.dumps(chunk({"content": "Fine"})).encode() + b"\r\n\r\n",
            b"data: " + json.dumps(chunk({}, "stop")).encode(),
            b"\n\ndata: " + json.dumps(USAGE).encode() + b"\n\ndata: [DONE]",
            b"\n\n",
        )
    ]
    assert client.say("Hello?", stream=stream).text == "Fine"


# --- idempotency ---


@both
@pytest.mark.parametrize(
    "fault", [[status(500, headers=AT_ONCE)] * 3, [cuts], [status(400)]], ids=["500", "cut", "400"]
)
def test_a_key_whose_first_try_failed_upstream_runs_again(
    client: Client, upstream: Upstream, name: str, fault: list[Behaviour], stream: bool
) -> None:
    once = {"Idempotency-Key": name}
    upstream.plan[:] = fault
    error_of(client.say("Hello?", session=name, stream=stream, headers=once))
    asked = len(upstream.requests)
    second = client.say("Hello?", session=name, stream=stream, headers=once)
    assert second.status == 200
    assert "idempotent-replayed" not in second.headers
    assert len(upstream.requests) == asked + 1
    third = client.say("Hello?", session=name, stream=stream, headers=once)
    assert third.headers["idempotent-replayed"] == "true"
    assert third.text == second.text
    assert len(upstream.requests) == asked + 1
