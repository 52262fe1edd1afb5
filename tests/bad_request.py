"""A bad request, how it is sent byte for byte, and what every one of them is held to."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from front_door import KEY, Answer

CHAT = "/v1/chat/completions"
SESSION = "the corpus of bad requests"
LARGEST = 10 * 1024 * 1024
HELLO = [{"role": "user", "content": "hello"}]
GOOD = json.dumps({"messages": HELLO}).encode()

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Case:
    """One bad request: what is sent, and how it must be refused."""

    name: str
    body: bytes | None = GOOD
    status: int = 400
    code: str | None = None  # None: any
    method: str = "POST"
    path: str = CHAT
    headers: Pairs = ()
    param: str | None = None  # None: any
    auth: str | None = f"Bearer {KEY}"
    host: str | None = "127.0.0.1"
    raw: bytes | None = None  # sent as it is, instead of all the above
    chunked: bool = False
    answered_with: Pairs = field(default=())  # headers the refusal must have

    def sent(self) -> bytes:
        if self.raw is not None:
            return self.raw
        lines = [f"{self.method} {self.path} HTTP/1.1"]
        names = {name.lower() for name, _ in self.headers}
        if self.host is not None:
            lines.append(f"Host: {self.host}")
        if self.auth is not None:
            lines.append(f"Authorization: {self.auth}")
        if "x-hermes-session-id" not in names:
            lines.append(f"X-Hermes-Session-Id: {SESSION}")
        if self.body is not None and "content-type" not in names:
            lines.append("Content-Type: application/json")
        if self.chunked:
            lines.append("Transfer-Encoding: chunked")
        elif self.body is not None:
            lines.append(f"Content-Length: {len(self.body)}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + b"".join(self.pieces())

    def pieces(self) -> Iterator[bytes]:
        body = self.body or b""
        if not self.chunked:
            yield body
            return
        for start in range(0, len(body), 65536):
            piece = body[start : start + 65536]
            yield b"%x\r\n%s\r\n" % (len(piece), piece)
        yield b"0\r\n\r\n"


def exchange(url: str, sent: bytes, method: str = "POST") -> Answer:
    """Sends bytes as they are and reads one response; what does not come within five seconds is a hang."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=5) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):  # refused before all of it was sent
            connection.sendall(sent)
        with closing(http.client.HTTPResponse(connection, method=method)) as reply:
            reply.begin()
            return Answer(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())


def is_error_object(answer: Answer) -> bool:
    error = answer.json["error"]
    return (
        set(error) == {"message", "type", "param", "code"}
        and isinstance(error["message"], str)
        and bool(error["message"])
        and isinstance(error["type"], str)
        and isinstance(error["code"], str)
        and (error["param"] is None or isinstance(error["param"], str))
    )


def refused(case: Case, answer: Answer) -> None:
    """The promise that every bad request is held to."""
    assert answer.status == case.status, answer.body[:500]
    if case.method != "HEAD":
        assert answer.headers["content-type"] == "application/json"
        assert is_error_object(answer), answer.body[:500]
        error = answer.json["error"]
        assert case.code is None or error["code"] == case.code, error
        assert case.param is None or error["param"] == case.param, error
    for name, value in case.answered_with:
        assert answer.headers.get(name) == value
    if case.status == 405:
        assert answer.headers["allow"]


def nested(depth: int, inner: bytes = b"1") -> bytes:
    """A body whose objects and arrays are this many levels deep, the body itself included."""
    return (
        b'{"messages":[{"role":"user","content":"x"}],"more":' + b"[" * (depth - 1) + inner + b"]" * (depth - 1) + b"}"
    )
