"""A WebSocket that is sent nonsense says so, as an error event or a close code, and the next one works."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from malformed import WRONG_BODIES, malformed
from target import Target
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from bad_request import LARGEST, is_error_object
from front_door import KEY, Answer
from operations import OPERATIONS

PATH = "/v1/responses"
(RESPONSES,) = (operation for operation in OPERATIONS if operation.name == "responses")
UNIMPORTANT = ("background", "stream", "generate")  # of which a socket has its own idea


@contextmanager
def opened(target: Target, **more: Any) -> Iterator[ClientConnection]:
    url = target.url.replace("http", "ws", 1) + PATH
    with connect(url, additional_headers={"Authorization": f"Bearer {KEY}"}, proxy=None, **more) as connection:
        yield connection


def told(connection: ClientConnection, message: str | bytes) -> dict[str, Any]:
    connection.send(message)
    return dict(json.loads(connection.recv(timeout=10)))


def is_refusal(event: dict[str, Any]) -> bool:
    error = event.get("error", {})
    return event["type"] == "error" and {"message", "type", "param", "code"} <= error.keys() and event["status"] < 500


def works(connection: ClientConnection) -> None:
    connection.send(json.dumps({"type": "response.create", "input": "Hello."}))
    while (event := json.loads(connection.recv(timeout=10)))["type"] != "response.completed":
        assert event["type"] != "error", event


def test_bodies_that_http_refuses_are_refused_here_too_and_the_connection_goes_on(target: Target) -> None:
    sent = 0
    with opened(target) as connection:
        for case in malformed(RESPONSES, target.has):
            if case.method != "POST" or case.body is None or "?" in case.path or len(case.headers) > 1:
                continue
            try:
                body = json.loads(case.body)
            except (ValueError, RecursionError):
                continue
            if not isinstance(body, dict) or body.keys() & set(UNIMPORTANT) or body == {"input": "Hello."}:
                continue
            event = told(connection, json.dumps({"type": "response.create", **body}))
            assert is_refusal(event), (case.name, event)
            sent += 1
        works(connection)
    assert sent > 100


@pytest.mark.parametrize("what", WRONG_BODIES)
def test_a_message_that_is_no_request_is_refused(target: Target, what: str) -> None:
    with opened(target) as connection:
        for message in (WRONG_BODIES[what],):
            event = told(connection, message)
            assert is_refusal(event), event
        works(connection)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "{}",
        '{"type": 5}',
        '{"type": "response.cancel"}',
        '{"type": "response.create"}',
        '{"type": ["response.create"], "input": "x"}',
        '{"type": "response.create", "type": "session.update", "input": "x"}',
        '{"type": "' + "x" * 100_000 + '"}',
    ],
    ids=lambda message: message[:60] or "nothing",
)
def test_a_message_of_another_type_is_refused(target: Target, message: str) -> None:
    with opened(target) as connection:
        assert is_refusal(told(connection, message))
        works(connection)


def frame(head: int, data: bytes = b"", *, masked: bool = True, length: int | None = None) -> bytes:
    size = len(data) if length is None else length
    told = bytes([size]) if size < 126 else bytes([126]) + struct.pack(">H", size) if size < 65536 else None
    told = told if told is not None else bytes([127]) + struct.pack(">Q", size)
    if not masked:
        return bytes([head]) + told + data
    mask = os.urandom(4)
    return bytes([head, told[0] | 0x80]) + told[1:] + mask + bytes(b ^ mask[n % 4] for n, b in enumerate(data))


FRAMES = {
    "a frame that is not masked": (frame(0x81, b"{}", masked=False), {1002}),
    "a reserved bit": (frame(0xC1, b"{}"), {1002}),
    "an unknown opcode": (frame(0x83, b"{}"), {1002}),
    "a continuation of nothing": (frame(0x80, b"{}"), {1002}),
    "a ping of 126 bytes": (frame(0x89, b"x" * 126), {1002}),
    "a ping in two pieces": (frame(0x09, b"x"), {1002}),
    "a close of one byte": (frame(0x88, b"x"), {1002}),
    "a close code nobody has": (frame(0x88, struct.pack(">H", 999)), {1002}),
    "text that is not UTF-8": (frame(0x81, b'{"type": "\xff"}'), {1007}),
    "a new message within a message": (frame(0x01, b"{") + frame(0x81, b"}"), {1002}),
    "a frame of more than 10 MB": (frame(0x81, b"x", length=LARGEST + 1), {1009}),
    "a frame of 2 to the 63 bytes": (frame(0x81, b"x", length=2**63 - 1), {1002, 1009}),
}


@contextmanager
def shaken(target: Target) -> Iterator[socket.socket]:
    address = urlsplit(target.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(handshake())
        received = b""
        while not received.endswith(b"\r\n\r\n"):
            received += connection.recv(1)
        assert received.startswith(b"HTTP/1.1 101 ")
        yield connection


OFFER = {
    "Host": "127.0.0.1",
    "Authorization": f"Bearer {KEY}",
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


def handshake(**changed: str) -> bytes:
    headers = {**OFFER, **{name.replace("_", "-"): value for name, value in changed.items()}}
    lines = [f"GET {PATH} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items() if value)]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


@pytest.mark.parametrize("what", FRAMES)
def test_a_broken_frame_closes_the_connection_with_the_code_that_says_why(target: Target, what: str) -> None:
    sent, codes = FRAMES[what]
    with shaken(target) as connection:
        connection.sendall(sent)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received[0] == 0x88, received
    assert struct.unpack(">H", received[2:4])[0] in codes
    with opened(target) as another:
        works(another)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"Sec_WebSocket_Version": "12"}, {400, 426}),
        ({"Sec_WebSocket_Version": "x"}, {400, 426}),
        ({"Sec_WebSocket_Key": "short"}, {400}),
        ({"Sec_WebSocket_Key": ""}, {400}),
        ({"Authorization": ""}, {401}),
        ({"Authorization": "Bearer caf\xe9"}, {401}),
        ({"Host": "evil.example"}, {421}),
        ({"Origin": "https://evil.example"}, {403}),
        ({"X_Request_Id": "r" * 257}, {400}),
    ],
    ids=str,
)
def test_a_broken_handshake_is_refused_with_the_error_object(
    target: Target, changed: dict[str, str], status: set[int]
) -> None:
    address = urlsplit(target.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(handshake(**changed))
        connection.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    answer = Answer(int(head.split(b" ")[1]), {}, body)
    assert answer.status in status
    assert is_error_object(answer)


def test_a_message_of_more_than_10_mb_in_pieces_is_too_much(target: Target) -> None:
    with opened(target, max_size=None) as connection:
        with pytest.raises(ConnectionClosed) as closed:
            flood(connection)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


def flood(connection: ClientConnection) -> None:
    connection.send("x" * 1_000_000 for _ in range(11))
    while True:
        connection.recv(timeout=10)
