"""What breaks HTTP itself, on routes of every kind: refused with the error object or hung up on, never taken for two
requests, and never a header of the client's making in an answer."""

from __future__ import annotations

import http.client
import socket
import time
from contextlib import closing, suppress
from urllib.parse import urlsplit

import pytest
from target import Target

from bad_request import LARGEST, exchange, is_error_object
from front_door import KEY, Answer

ROUTES = {
    "/v1/chat/completions": b'{"messages":[{"role":"user","content":"Hello."}]}',
    "/v1/responses": b'{"input":"Hello."}',
    "/v1/runs": b'{"input":"Hello."}',
    "/v1/conversations": b"{}",
    "/api/sessions": b"{}",
    "/api/memory?session_key=k": b'{"text":"Nobody likes liquorice."}',
    "/api/jobs/preview": b'{"schedule":"@daily"}',
}
ALLOWED = (b"Host: 127.0.0.1", b"Authorization: Bearer " + KEY.encode(), b"Content-Type: application/json")
SMUGGLED = b"GET /version HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Request-Id: smuggled\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked"
END = b"0\r\n\r\n"
each_route = pytest.mark.parametrize("path", ROUTES)

BROKEN_HEADS: dict[str, tuple[bytes, ...]] = {
    "a NUL in a header": (b"X-Hermes-Session-Id: a\0b",),
    "a carriage return in a header": (b"X-Hermes-Session-Id: a\rX-Injected: 1",),
    "a header that goes on on the next line": (b"X-Hermes-Session-Id: a", b" b"),
    "a header that goes on after a tab": (b"X-Hermes-Session-Id: a", b"\tb"),
    "a control character in a header": (b"X-Hermes-Session-Key: \x1b[31m",),
    "a space before the colon": (b"X-Hermes-Session-Id : a",),
    "a header without a name": (b": a",),
    "a header without a colon": (b"X-Hermes-Session-Id",),
    "a name that is not ASCII": (b"X-Caf\xe9: a",),
    "two session ids": (b"X-Hermes-Session-Id: a", b"x-hermes-session-id: b"),
    "two session keys": (b"X-Hermes-Session-Key: a", b"X-HERMES-SESSION-KEY: a"),
    "two idempotency keys": (b"Idempotency-Key: a", b"Idempotency-Key: b"),
    "two keys": (b"Authorization: Bearer x",),
    "a header of 200 kB": (b"X-Long: " + b"x" * 200_000,),
    "20,000 headers": (b"X-Many: x",) * 20_000,
}
BROKEN_LENGTHS: dict[str, tuple[tuple[bytes, ...], bytes]] = {
    "a negative length": ((b"Content-Length: -1",), b""),
    "a length with a sign": ((b"Content-Length: +5",), b"{}"),
    "a length in hexadecimal": ((b"Content-Length: 0x5",), b"{}"),
    "a length with a space inside": ((b"Content-Length: 1 0",), b"{}"),
    "a length over 64 bits": ((b"Content-Length: 99999999999999999999999",), b""),
    "a length of a terabyte": ((b"Content-Length: 1099511627776",), b""),
    "two lengths": ((b"Content-Length: 0", b"Content-Length: %d" % len(SMUGGLED)), SMUGGLED),
    "two lengths in one": ((b"Content-Length: 0, %d" % len(SMUGGLED),), SMUGGLED),
    "a length and chunks": ((b"Content-Length: 5", CHUNKED), END + SMUGGLED),
    "chunks and a length": ((CHUNKED, b"Content-Length: 5"), END + SMUGGLED),
    "chunks with a space before the colon": ((b"Transfer-Encoding : chunked", b"Content-Length: 5"), END + SMUGGLED),
    "chunks after a tab": ((b"Transfer-Encoding:\tchunked", b"Content-Length: 5"), END + SMUGGLED),
    "chunks that are not last": ((b"Transfer-Encoding: chunked, identity",), END + SMUGGLED),
    "chunks in another spelling": ((b"Transfer-Encoding: xchunked",), END + SMUGGLED),
    "chunks twice, once otherwise": ((CHUNKED, b"Transfer-Encoding: cow"), END + SMUGGLED),
    "a chunk of no size": ((CHUNKED,), b"\r\n" + END),
    "a chunk of a negative size": ((CHUNKED,), b"-1\r\n" + END),
    "a chunk of more than 64 bits": ((CHUNKED,), b"f" * 20 + b"\r\n{}\r\n" + END),
    "a chunk with a sign": ((CHUNKED,), b"+2\r\n{}\r\n" + END),
    "a chunk in 0x": ((CHUNKED,), b"0x2\r\n{}\r\n" + END),
    "a chunk longer than it says": ((CHUNKED,), b"2\r\n{}{}\r\n" + END),
    "a chunk that ends in a bare line feed": ((CHUNKED,), b"2\n{}\n0\n\n"),
}
FIRST_LINES = {
    "no method": b" {path} HTTP/1.1",
    "a method nobody has": b"BREW {path} HTTP/1.1",
    "a method in small letters": b"post {path} HTTP/1.1",
    "a space in the path": b"POST {path} x HTTP/1.1",
    "a NUL in the path": b"POST {path}\0 HTTP/1.1",
    "a tab in the path": b"POST\t{path}\tHTTP/1.1",
    "HTTP 9.9": b"POST {path} HTTP/9.9",
    "HTTP of no version": b"POST {path}",
    "CONNECT": b"CONNECT {path} HTTP/1.1",
}


def answers(target: Target, sent: bytes) -> list[Answer]:
    """All that comes back until the server hangs up, or says no more."""
    address = urlsplit(target.url)
    received = b""
    with socket.create_connection((address.hostname, address.port), timeout=5) as connection:
        with suppress(OSError):  # refused before all of it was sent
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            received = b"".join(iter(lambda: connection.recv(65536), b""))
    found = []
    for piece in received.split(b"HTTP/1.1 ")[1:]:
        head, _, body = piece.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        found.append(Answer(int(status[:3]), headers, body))
    return found


def refused(target: Target, sent: bytes) -> None:
    asked = len(target.upstream.requests)
    told = answers(target, sent)
    assert len(told) <= 1, [(each.status, each.body[:80]) for each in told]
    for answer in told:
        assert 400 <= answer.status < 500, (answer.status, answer.body[:300])
        assert is_error_object(answer)
        assert "x-injected" not in answer.headers
    assert len(target.upstream.requests) == asked, "nothing of it reached the model"


@each_route
@pytest.mark.parametrize("broken", BROKEN_HEADS)
def test_a_broken_header_is_refused(target: Target, path: str, broken: str) -> None:
    body = ROUTES[path]
    lines = (b"POST %s HTTP/1.1" % path.encode(), *ALLOWED, *BROKEN_HEADS[broken], b"Content-Length: %d" % len(body))
    refused(target, b"\r\n".join(lines) + b"\r\n\r\n" + body)


@each_route
@pytest.mark.parametrize("broken", BROKEN_LENGTHS)
def test_a_body_of_two_minds_about_its_length_is_refused_and_is_not_two_requests(
    target: Target, path: str, broken: str
) -> None:
    headers, body = BROKEN_LENGTHS[broken]
    refused(target, b"\r\n".join((b"POST %s HTTP/1.1" % path.encode(), *ALLOWED, *headers)) + b"\r\n\r\n" + body)


@each_route
@pytest.mark.parametrize("broken", FIRST_LINES)
def test_a_broken_first_line_is_refused(target: Target, path: str, broken: str) -> None:
    first = FIRST_LINES[broken].replace(b"{path}", path.encode())
    refused(target, b"\r\n".join((first, *ALLOWED, b"Content-Length: 0")) + b"\r\n\r\n")


@each_route
def test_a_chunked_body_is_counted_as_it_comes(target: Target, path: str) -> None:
    """Twelve pieces of a megabyte: the answer comes before the last."""
    piece = b" " * (LARGEST // 10)
    head = b"\r\n".join((b"POST %s HTTP/1.1" % path.encode(), *ALLOWED, CHUNKED)) + b"\r\n\r\n"
    sent = head + (b"%x\r\n%s\r\n" % (len(piece), piece)) * 12 + END
    answer = exchange(target.url, sent)
    assert (answer.status, answer.json["error"]["code"]) == (413, "body_too_large")


@each_route
def test_who_asks_first_whether_a_body_is_welcome_is_told(target: Target, path: str) -> None:
    """Expect: 100-continue: yes to a good one; a refusal at once for one that is too large, or of no key."""
    address = urlsplit(target.url)
    body = ROUTES[path]
    for allowed, length, expected in ((ALLOWED, len(body), {100}), (ALLOWED, 10**12, {413}), (ALLOWED[:1], 5, {401})):
        head = (b"POST %s HTTP/1.1" % path.encode(), *allowed, b"Expect: 100-continue", b"Content-Length: %d" % length)
        with socket.create_connection((address.hostname, address.port), timeout=5) as connection:
            connection.sendall(b"\r\n".join(head) + b"\r\n\r\n")
            assert int(connection.recv(65536).split(b" ")[1]) in expected
            if length == len(body):
                connection.sendall(body)
                with closing(http.client.HTTPResponse(connection, method="POST")) as reply:
                    reply.begin()
                    assert reply.status in {200, 201, 202}


def test_one_that_never_ends_its_head_does_not_keep_others_waiting(target: Target) -> None:
    address = urlsplit(target.url)
    with socket.create_connection((address.hostname, address.port), timeout=5) as slow:
        slow.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        began = time.monotonic()
        assert target.has.client.get("/health").status == 200
        assert time.monotonic() - began < 2


def test_what_a_client_names_cannot_put_a_header_into_the_answer(target: Target) -> None:
    injected = "a%0d%0aX-Injected:%201%0d%0a%0d%0a"
    for path in ("/api/sessions/", "/v1/conversations/", "/v1/models/", "/v1/runs/", "/"):
        answer = target.has.client.get(path + injected)
        assert answer.status == 404
        assert "x-injected" not in answer.headers
    made = target.has.client.post("/api/sessions", {"id": 'quote"; filename="x', "title": "a\r\nX-Injected: 1"})
    assert made.status == 201
    exported = target.has.client.get("/api/sessions/quote%22%3B%20filename%3D%22x/export")
    assert exported.headers["content-disposition"] == 'attachment; filename="quote-filename-x.jsonl"'
