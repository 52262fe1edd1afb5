"""A model's server that is no model's server, or never comes to a point: beyond `tests/http/test_upstream_faults.py`.

There are the faults of a server that speaks HTTP and ends what it begins; here are those of one that does not."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.http.test_upstream_faults import BEGUN, Fault, both, error_of, fails, goes_on

from front_door import Answer, Client, Everthread
from upstream import HEAD, USAGE, Behaviour, Upstream, calls, chunk, event

pytestmark = pytest.mark.slow

WHOLE = [BEGUN, chunk({"content": " it is."}), chunk({}, "stop"), USAGE, "[DONE]"]
TEXT = "".join(f"data: {each if isinstance(each, str) else json.dumps(each)}\n\n" for each in WHOLE).encode()


# --- faults ---


def sends(*pieces: bytes, every: float = 0.0, hangs_up: bool = True) -> Behaviour:
    """These bytes and no others."""

    async def behave(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(every)
        if hangs_up:
            writer.close()
        else:
            await asyncio.sleep(5)

    return behave


def for_ever(begins: bytes, goes_on: bytes, every: float = 0.02) -> Behaviour:
    """Until whoever asked has had enough."""

    async def behave(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(begins)
        while not writer.is_closing():
            writer.write(goes_on)
            await writer.drain()
            await asyncio.sleep(every)

    return behave


async def word_and_comments(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD)
    await event(writer, BEGUN)
    while not writer.is_closing():
        await event(writer, b": still here\n\n")
        await asyncio.sleep(0.02)


def length(number: int, body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n%s" % (number, body)


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


PLAIN = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
PACKED = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n"
HALF = TEXT.index(b"stop")  # in the middle of the chunk that has the finish reason
BAD_SIZE = chunked(TEXT[:HALF]) + b"zz\r\n"
OK = b"HTTP/1.1 200 OK\r\n"
COMMENT = b"%x\r\n: thinking\n\n\r\n" % len(b": thinking\n\n")

FAULTS = [
    Fault("an SSH server", sends(b"SSH-2.0-OpenSSH_9.6\r\n"), 502, "upstream_malformed"),
    Fault("binary noise", sends(bytes(range(256)) * 8), 502, "upstream_malformed"),
    Fault("a status that is none", sends(b"HTTP/1.1 abc OK\r\n\r\n"), 502, "upstream_malformed"),
    Fault("100 Continue, for ever", for_ever(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), 504, "upstream_timeout"),
    Fault("headers that drip", for_ever(OK, b"x-more: 1\r\n"), 504, "upstream_timeout"),
    Fault("headers that pour", for_ever(OK, b"x: " + b"y" * 65536 + b"\r\n", 0), 502, "upstream_malformed"),
    Fault("one header that pours", for_ever(OK + b"x: ", b"y" * 65536, 0), 502, "upstream_malformed"),
    Fault("headers and a hang-up", sends(HEAD[:-2]), 502, "upstream_unreachable", tries=3),
    Fault("a content-length too long", sends(length(9999, TEXT[:HALF])), 502, "upstream_disconnected", begun=True),
    Fault("a content-length too short", sends(length(HALF, TEXT)), 502, "upstream_incomplete", begun=True),
    Fault("a content-length that is none", sends(length(-5, TEXT)), 502, "upstream_malformed"),
    Fault("no length, and cut", sends(PLAIN + TEXT[:HALF]), 502, "upstream_incomplete", begun=True),
    Fault("a chunk size that is none", sends(HEAD + BAD_SIZE), 502, "upstream_malformed", begun=True),
    Fault("a body that is packed", sends(PACKED + b"\r\n" + gzip.compress(TEXT)), 502, "upstream_incomplete"),
    Fault("comments, for ever", for_ever(HEAD, COMMENT), 504, "upstream_timeout"),
    Fault("a word, and comments for ever", word_and_comments, 504, "upstream_timeout", begun=True),
]
each_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@pytest.fixture(scope="module")
def hasty(shared_upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everthread]:
    """A server that waits 0.3 s for an answer to begin, and 0.06 s for each byte after it."""
    home = tmp_path_factory.mktemp("hastier")
    everthread = Everthread(home, shared_upstream.url, first_byte_timeout="0.3", silence_timeout="0.06")
    yield everthread
    everthread.stop()


@pytest.fixture
def impatient(hasty: Everthread, upstream: Upstream) -> Client:
    return hasty.client


@both
@each_fault
def test_a_server_that_is_none_is_the_documented_error_and_the_session_goes_on(
    impatient: Client, upstream: Upstream, name: str, fault: Fault, stream: bool
) -> None:
    first = fails(impatient, upstream, name, fault, stream=stream)
    goes_on(impatient, upstream, name, first, stream=stream)


# --- no way there ---


@both
def test_a_name_that_nobody_knows_is_a_502(start: Callable[..., Everthread], stream: bool) -> None:
    client = start(upstream_url="http://nowhere.invalid/v1").client
    answer = client.say("Hello?", stream=stream, model="some-model")
    assert (answer.status, error_of(answer)["code"]) == (502, "upstream_unreachable")


@both
def test_tls_to_a_plain_port_is_a_502(start: Callable[..., Everthread], upstream: Upstream, stream: bool) -> None:
    client = start(upstream_url=f"https://127.0.0.1:{upstream.port}/v1", connect_timeout="0.3").client
    answer = client.say("Hello?", stream=stream, model="some-model")
    assert (answer.status, error_of(answer)["code"]) == (502, "upstream_unreachable")
    assert upstream.requests == [], "nothing was said in the open"


@pytest.fixture
def tls_port(tmp_path: Path) -> Iterator[int]:
    """A port where TLS is spoken, with a certificate that nobody knows."""
    made = f"req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout {tmp_path}/key -out {tmp_path}/certificate"
    subprocess.run(["openssl", *made.split()], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                raw, _ = listening.accept()
            except OSError:  # it is closed: the test is over
                return
            with raw, suppress(OSError), context.wrap_socket(raw, server_side=True) as heard:  # not all speak TLS
                heard.recv(1)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield int(listening.getsockname()[1])
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join(5)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_plain_call_to_a_tls_port_and_an_unknown_certificate_are_a_502(
    start: Callable[..., Everthread], tls_port: int, scheme: str
) -> None:
    client = start(upstream_url=f"{scheme}://127.0.0.1:{tls_port}/v1").client
    for stream in (False, True):
        answer = client.say("Hello?", stream=stream, model="some-model")
        assert answer.status == 502
        assert error_of(answer)["code"] in {"upstream_unreachable", "upstream_malformed"}


@both
def test_a_port_that_takes_connections_and_never_reads_is_a_504(start: Callable[..., Everthread], stream: bool) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=8) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        client = start(upstream_url=url, first_byte_timeout="0.3").client
        answer = client.say("Hello?", stream=stream, model="some-model")
        assert (answer.status, error_of(answer)["code"]) == (504, "upstream_timeout")


# --- odd, but an answer ---


def arguments(answer: Answer) -> str:
    """Of the one tool that was called, whichever way they came."""
    if answer.headers["content-type"] == "application/json":
        return str(answer.json["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])
    deltas = [each["choices"][0]["delta"] for each in answer.events if each != "[DONE]" and each.get("choices")]
    return "".join(call["function"].get("arguments", "") for delta in deltas for call in delta.get("tool_calls", ()))


@both
def test_arguments_that_are_no_json_are_passed_on_as_they_are_and_the_session_goes_on(
    client: Client, upstream: Upstream, name: str, stream: bool
) -> None:
    tools = [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}]
    upstream.plan[:] = [calls(("call_1", "search", '{"q": "half of it'))]
    asked = client.say("Search!", session=name, stream=stream, tools=tools)
    assert asked.status == 200
    assert arguments(asked) == '{"q": "half of it'
    result = [{"role": "tool", "tool_call_id": "call_1", "content": "That was no JSON."}]
    assert client.say(result, session=name, stream=stream, tools=tools).status == 200
    called = upstream.prompts[-1][1]["tool_calls"][0]["function"]
    assert called == {"name": "search", "arguments": '{"q": "half of it'}
