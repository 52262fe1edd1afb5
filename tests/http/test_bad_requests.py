"""Whatever a client sends, the answer is a 4xx with the error object: never a 5xx, never a hang, never a trace."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import time
import zlib
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bad_request import CHAT, GOOD, HELLO, LARGEST, SESSION, Case, exchange, is_error_object, nested, refused
from front_door import KEY, Answer, Client
from upstream import Upstream

# --- bodies that are not a JSON object ---


def user(content: bytes) -> bytes:
    return b'{"messages":[{"role":"user","content":' + content + b"}]}"


BODIES = [
    Case("an empty body", b""),
    Case("no body at all", None),
    Case("white space only", b" \n\t "),
    Case("not JSON", b"hello there"),
    Case("form data that says it is JSON", b"model=x&stream=true"),
    Case("truncated JSON", GOOD[:-4]),
    Case("a truncated string", b'{"messages": [{"role": "user", "content": "hel'),
    Case("something after the JSON", GOOD + b"{}"),
    Case("a trailing comma", b'{"messages":[{"role":"user","content":"x"},]}'),
    Case("single quotes", b"{'messages': []}"),
    Case("a comment", b'{/* hi */"messages":[{"role":"user","content":"x"}]}'),
    Case("NaN", b'{"messages":[{"role":"user","content":"x"}],"temperature":NaN}'),
    Case("Infinity", b'{"messages":[{"role":"user","content":"x"}],"temperature":Infinity}'),
    Case("a JSON array", b"[1, 2, 3]"),
    Case("a JSON string", b'"hello"'),
    Case("a JSON number", b"42"),
    Case("null", b"null"),
    Case("true", b"true"),
    Case("bad UTF-8", user(b'"caf\xe9"')),
    Case("bad UTF-8 in a field's name", b'{"caf\xe9":1,"messages":[{"role":"user","content":"x"}]}'),
    Case("bad UTF-8 in an unknown field", b'{"x":"\xff\xfe","messages":[{"role":"user","content":"x"}]}'),
    Case("UTF-16", GOOD.decode().encode("utf-16")),
    Case("a surrogate encoded as UTF-8", user(b'"\xed\xa0\x80"')),
    Case("a byte order mark", b"\xef\xbb\xbf" + GOOD),
    Case("an escaped NUL in the text", user(b'"a\\u0000b"')),
    Case("an escaped NUL in the model's name", b'{"model":"a\\u0000","messages":[{"role":"user","content":"x"}]}'),
    Case("an escaped NUL in an unknown field", b'{"x":["\\u0000"],"messages":[{"role":"user","content":"x"}]}'),
    Case("an escaped NUL in a field's name", b'{"\\u0000":1,"messages":[{"role":"user","content":"x"}]}'),
    Case("a NUL byte in the text", user(b'"a\0b"')),
    Case("a control character in the text", user(b'"a\x01b"')),
    Case("a lone high surrogate", user(b'"\\ud83d"')),
    Case("a lone low surrogate", user(b'"\\ude00"')),
    Case("surrogates in the wrong order", user(b'"\\ude00\\ud83d"')),
    Case("a bad escape", user(b'"\\x41"')),
    Case("65 levels deep", nested(65)),
    Case("65 levels deep, the last one empty", nested(65, b"")),
    Case("1,000 levels deep", nested(1_000)),
    Case("100,000 levels deep", nested(100_000)),
    Case("100,000 brackets that never close", b"[" * 100_000),
    Case("100,000 levels deep in a message's content", user(b"[" * 100_000 + b"]" * 100_000)),
    Case("10 MB and one byte, announced", b" " * (LARGEST + 1), 413, "body_too_large"),
    Case("10 MB and one byte, chunked", b" " * (LARGEST + 1), 413, "body_too_large", chunked=True),
    Case(
        "a gzip bomb",
        gzip.compress(b" " * (4 * LARGEST)),
        413,
        "body_too_large",
        headers=(("Content-Encoding", "gzip"),),
    ),
    Case(
        "a deflate bomb",
        zlib.compress(b" " * (4 * LARGEST)),
        413,
        "body_too_large",
        headers=(("Content-Encoding", "deflate"),),
    ),
    Case("gzip that is not gzip", GOOD, headers=(("Content-Encoding", "gzip"),)),
    Case("gzip cut short", gzip.compress(GOOD)[:-9], headers=(("Content-Encoding", "gzip"),)),
    Case("gzip with a wrong checksum", gzip.compress(GOOD)[:-8] + b"\0" * 8, headers=(("Content-Encoding", "gzip"),)),
    Case("gzip with something after it", gzip.compress(GOOD) + b"and more", headers=(("Content-Encoding", "gzip"),)),
    Case("empty gzip", b"", headers=(("Content-Encoding", "gzip"),)),
    Case("an unknown Content-Encoding", GOOD, 415, "unsupported_media_type", headers=(("Content-Encoding", "br"),)),
    Case("two Content-Encodings", GOOD, 415, "unsupported_media_type", headers=(("Content-Encoding", "gzip, gzip"),)),
    Case("form data", b"a=b", 415, "unsupported_media_type", headers=(("Content-Type", "multipart/form-data"),)),
    Case("plain text", GOOD, 415, "unsupported_media_type", headers=(("Content-Type", "text/plain"),)),
    Case("a nonsense Content-Type", GOOD, 415, "unsupported_media_type", headers=(("Content-Type", "\xff;;"),)),
]


# --- fields of the wrong kind ---


def asked(**fields: Any) -> bytes:
    return json.dumps({"messages": HELLO, **fields}).encode()


WRONG: dict[str, list[Any]] = {
    "model": [5, True, ["gpt"], {"id": "x"}],
    "stream": ["true", 1, {}],
    "messages": ["hello", 7, {"role": "user", "content": "x"}, None, True],
    "tools": ["search", {}, [1], ["search"], [{}], [{"type": 5}], [{"type": "function", "function": "f"}]],
    "tool_choice": [5, True, ["auto"], "sometimes", "required"],
    "response_format": ["json", 5, [], {}, {"type": 5}, {"type": "yaml"}, {"type": "json_schema", "json_schema": []}],
    "temperature": ["hot", True, [], {}, -0.1, 2.1],
    "top_p": ["0.5", True, {}, -0.1, 1.1],
    "n": ["1", True, 1.5, 0, -1, 129],
    "max_tokens": ["100", True, 0, -5, 1.5, []],
    "max_completion_tokens": ["100", False, 0, -5, {}],
    "stop": [5, True, {}, [5], [None]],
    "logit_bias": ["x", 5, [], {"50256": "high"}, {"50256": None}],
    "seed": ["7", True, 1.5, []],
    "metadata": ["x", 5, [], {"a": 1}, {"a": {}}],
    "stream_options": ["x", True, [], {"include_usage": "yes"}],
    "frequency_penalty": ["x", True, -2.1, 2.1],
    "presence_penalty": ["x", [], -2.1, 2.1],
    "logprobs": ["yes", 1, []],
    "top_logprobs": ["3", -1, 21, 1.5],
    "user": [5, {}, []],
    "parallel_tool_calls": ["no", 0],
    "store": ["yes", 1],
    "service_tier": [5, {}],
    "reasoning_effort": [5, []],
    "modalities": ["text", [5]],
    "functions": ["x", [5], [{}], [{"name": ""}]],
    "function_call": [5, True, []],
}
FIELDS = [
    Case(f"{name} is {json.dumps(value)}", asked(**{name: value}), param=None)
    for name, values in WRONG.items()
    for value in values
]
NUMBERS = [
    Case(
        f"{name} is {called}",
        b'{"messages":[{"role":"user","content":"x"}],"%s":%s}' % (name.encode(), number.encode()),
    )
    for name, called, number in [
        ("temperature", "1e999", "1e999"),
        ("temperature", "-1e999", "-1e999"),
        ("temperature", "a number of 400 digits", "9" * 400),
        ("top_p", "1e400", "1e400"),
        ("logit_bias", "1e999 for a token", '{"1": 1e999}'),
        ("n", "2 to the 64", str(2**64)),
        ("n", "a number of 5,000 digits", "1" * 5000),
        ("max_tokens", "minus 2 to the 70", str(-(2**70))),
        ("max_tokens", "a number of 5,000 digits", "1" * 5000),
        ("seed", "a number of 5,000 digits", "1" * 5000),
        ("seed", "1e20", "1e20"),
    ]
]


# --- messages ---


def spoken(*messages: Any) -> bytes:
    return json.dumps({"messages": messages}).encode()


CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}

MESSAGES = [
    Case("messages are missing", b"{}", param="messages"),
    Case("messages are empty", b'{"messages": []}', param="messages"),
    Case("2,001 messages", spoken(*HELLO * 2001), param="messages"),
    Case("only a system message", spoken({"role": "system", "content": "Be kind."}), param="messages"),
    Case("only a developer message", spoken({"role": "developer", "content": "Be kind."}), param="messages"),
    Case("a message that is null", spoken(None)),
    Case("a message that is a string", spoken("hello")),
    Case("a message that is a list", spoken(["user", "hello"])),
    Case("an empty message", spoken({})),
    Case("a message without a role", spoken({"content": "hello"})),
    Case("an unknown role", spoken({"role": "wizard", "content": "hello"})),
    Case("a role in capitals", spoken({"role": "User", "content": "hello"})),
    Case("a role that is a number", spoken({"role": 5, "content": "hello"})),
    Case("a role that is null", spoken({"role": None, "content": "hello"})),
    Case("a user without content", spoken({"role": "user"}), param="messages[0].content"),
    Case("a user whose content is null", spoken({"role": "user", "content": None}), param="messages[0].content"),
    Case("content that is a number", spoken({"role": "user", "content": 5})),
    Case("content that is true", spoken({"role": "user", "content": True})),
    Case("content that is an object", spoken({"role": "user", "content": {"type": "text", "text": "x"}})),
    Case("content of numbers", spoken({"role": "user", "content": [1, 2]})),
    Case("content of strings", spoken({"role": "user", "content": ["hello"]})),
    Case("a part without a type", spoken({"role": "user", "content": [{"text": "x"}]})),
    Case("a part whose type is a number", spoken({"role": "user", "content": [{"type": 5}]})),
    Case("a text part without text", spoken({"role": "user", "content": [{"type": "text"}]})),
    Case("a text part whose text is null", spoken({"role": "user", "content": [{"type": "text", "text": None}]})),
    Case("a text part whose text is a list", spoken({"role": "user", "content": [{"type": "text", "text": ["x"]}]})),
    Case("an image without its address", spoken({"role": "user", "content": [{"type": "image_url"}]})),
    Case(
        "an image whose address is a string",
        spoken({"role": "user", "content": [{"type": "image_url", "image_url": "http://x"}]}),
    ),
    Case(
        "an image whose address is a number",
        spoken({"role": "user", "content": [{"type": "image_url", "image_url": {"url": 5}}]}),
    ),
    Case("a name that is a number", spoken({"role": "user", "content": "x", "name": 5})),
    Case("an assistant without content", spoken(*HELLO, {"role": "assistant"}, *HELLO), param="messages[1]"),
    Case("an assistant whose content is null", spoken(*HELLO, {"role": "assistant", "content": None}, *HELLO)),
    Case("an assistant with no tool calls", spoken(*HELLO, {"role": "assistant", "tool_calls": []}, *HELLO)),
    Case("tool calls that are a string", spoken(*HELLO, {"role": "assistant", "tool_calls": "f()"}, *HELLO)),
    Case("a tool call without an id", spoken(*HELLO, {"role": "assistant", "tool_calls": [{"type": "function"}]})),
    Case("a tool call with an empty id", spoken(*HELLO, {"role": "assistant", "tool_calls": [{**CALL, "id": ""}]})),
    Case(
        "a tool call whose arguments are an object",
        spoken(
            *HELLO,
            {"role": "assistant", "tool_calls": [{**CALL, "function": {"name": "f", "arguments": {}}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "x"},
        ),
    ),
    Case("a refusal that is a number", spoken(*HELLO, {"role": "assistant", "content": "x", "refusal": 5}, *HELLO)),
    Case("a tool message without an id", spoken({"role": "tool", "content": "42"})),
    Case("a tool message with an empty id", spoken({"role": "tool", "content": "42", "tool_call_id": ""})),
    Case("a tool message whose id is a number", spoken({"role": "tool", "content": "42", "tool_call_id": 5})),
    Case("a tool message without content", spoken({"role": "tool", "tool_call_id": "call_1"})),
    Case("a tool message that answers nothing", spoken({"role": "tool", "content": "42", "tool_call_id": "call_9"})),
    Case(
        "a tool message with an unknown call id",
        spoken(
            *HELLO,
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "call_2", "content": "x"},
        ),
    ),
    Case(
        "a tool message for a call that was answered long ago",
        spoken(
            *HELLO,
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "call_1", "content": "x"},
            {"role": "assistant", "content": "Done."},
            {"role": "tool", "tool_call_id": "call_1", "content": "x"},
        ),
    ),
    Case(
        "a message that alone is over the budget",
        spoken({"role": "user", "content": "many words " * 20_000}),
        code="context_length_exceeded",
        param="messages",
    ),
    Case(
        "a lone surrogate in an option that is sent on",
        b'{"messages":[{"role":"user","content":"x"}],"stream_options":{"x":"\\ud800"}}',
    ),
    Case(
        "a lone surrogate in an unknown field, sent once only",
        b'{"messages":[{"role":"user","content":"x"}],"x":"\\ud800"}',
        headers=(("Idempotency-Key", "surrogate"),),
    ),
]


# --- headers ---


def later() -> str:
    return (datetime.now(UTC) + timedelta(hours=1)).isoformat()


def headed(name: str, header: str, value: str, **more: Any) -> Case:
    return Case(name, headers=((header, value),), **more)


SESSION_ID, SESSION_KEY = "X-Hermes-Session-Id", "X-Hermes-Session-Key"

HEADERS = [
    headed("a session id of 257 characters", SESSION_ID, "x" * 257, param=SESSION_ID),
    headed("a session id with a tab", SESSION_ID, "a\tb", param=SESSION_ID),
    headed("a session id with a control character", SESSION_ID, "a\x01b"),
    headed("a session id with DEL", SESSION_ID, "a\x7fb"),
    headed("a session id in Latin-1", SESSION_ID, "caf\xe9", param=SESSION_ID),
    headed("a session id in UTF-8", SESSION_ID, "日本".encode().decode("latin-1"), param=SESSION_ID),
    headed("a session id with a next-line character", SESSION_ID, "a\x85b", param=SESSION_ID),
    headed("the session id @current without a key", SESSION_ID, "@current", param=SESSION_ID),
    Case("two session ids", headers=((SESSION_ID, "a"), (SESSION_ID, "b")), param=SESSION_ID),
    Case("the same session id twice", headers=((SESSION_ID, "a"), (SESSION_ID, "a")), param=SESSION_ID),
    Case("a session id twice, once in small letters", headers=((SESSION_ID, "a"), (SESSION_ID.lower(), "b"))),
    headed("a session key of 257 characters", SESSION_KEY, "x" * 257, param=SESSION_KEY),
    headed("a session key with a tab", SESSION_KEY, "a\tb", param=SESSION_KEY),
    headed("a session key with a control character", SESSION_KEY, "a\x02b"),
    headed("a session key in Latin-1", SESSION_KEY, "caf\xe9", param=SESSION_KEY),
    Case("two session keys", headers=((SESSION_KEY, "a"), (SESSION_KEY, "b")), param=SESSION_KEY),
    Case(
        "an Open WebUI chat id of 257 characters, alone",
        headers=((SESSION_ID, ""), ("X-OpenWebUI-Chat-Id", "x" * 257)),
    ),
    headed("an Open WebUI user id of 257 characters", "X-OpenWebUI-User-Id", "x" * 257),
    headed("a message time without a zone", "X-Hermes-Message-Time", "2026-03-02T09:00:00"),
    headed("a message time that is a day", "X-Hermes-Message-Time", "2026-03-02"),
    headed("a message time in the future", "X-Hermes-Message-Time", later()),
    headed("a message time in a far future", "X-Hermes-Message-Time", "9999-12-31T23:59:59-14:00"),
    headed("a message time before all time", "X-Hermes-Message-Time", "0001-01-01T00:00:00+14:00"),
    headed("a message time that is nonsense", "X-Hermes-Message-Time", "last Friday"),
    headed("a message time that is a number", "X-Hermes-Message-Time", "1767225600"),
    headed("a message time on the 30th of February", "X-Hermes-Message-Time", "2026-02-30T09:00:00Z"),
    headed("an On-Busy that is unknown", "X-Hermes-On-Busy", "panic", param="X-Hermes-On-Busy"),
    headed("an On-Busy in capitals", "X-Hermes-On-Busy", "QUEUE!", param="X-Hermes-On-Busy"),
    headed("an Idempotency-Key of 257 characters", "Idempotency-Key", "k" * 257, param="Idempotency-Key"),
    headed("an Idempotency-Key in Latin-1", "Idempotency-Key", "cl\xe9", param="Idempotency-Key"),
    Case("two Idempotency-Keys", headers=(("Idempotency-Key", "a"), ("Idempotency-Key", "b")), param="Idempotency-Key"),
    Case(
        "an Idempotency-Key on a body that is not JSON",
        b"{",
        headers=(("Idempotency-Key", "a"),),
    ),
    Case(
        "an Idempotency-Key on a body that is 100,000 levels deep",
        nested(100_000),
        headers=(("Idempotency-Key", "a"),),
    ),
    headed("a message id of 257 characters", "X-Hermes-Message-Id", "m" * 257, param="X-Hermes-Message-Id"),
    headed("a message id in Latin-1", "X-Hermes-Message-Id", "\xe9", param="X-Hermes-Message-Id"),
    headed("a parent message id of 257 characters", "X-Hermes-Parent-Message-Id", "m" * 257),
    headed("a request id of 257 characters", "X-Request-Id", "r" * 257, param="X-Request-Id"),
    headed("a request id in Latin-1", "X-Request-Id", "r\xe9", param="X-Request-Id"),
    Case("no key", auth=None, status=401, code="invalid_api_key", answered_with=(("www-authenticate", "Bearer"),)),
    Case("an empty key", auth="Bearer ", status=401, code="invalid_api_key"),
    Case("a wrong key", auth="Bearer wrong", status=401, code="invalid_api_key"),
    Case("the key with something after it", auth=f"Bearer {KEY}x", status=401, code="invalid_api_key"),
    Case("the key without its end", auth=f"Bearer {KEY[:-1]}", status=401, code="invalid_api_key"),
    Case("a wrong scheme", auth=f"Basic {KEY}", status=401, code="invalid_api_key"),
    Case("a key without a scheme", auth=KEY, status=401, code="invalid_api_key"),
    Case("a key that could be a revoked one", auth="Bearer et_0123456789ab_" + "x" * 43, status=401),
    Case("a key in Latin-1", auth="Bearer caf\xe9", status=401, code="invalid_api_key"),
    Case("a key of 100,000 characters", auth="Bearer " + "x" * 100_000, status=401),
    Case("two keys", headers=(("Authorization", f"Bearer {KEY}"),)),
    Case("no key on a bad body", b"{", auth=None, status=401),
    Case("a host that is not served", host="evil.example", status=421, code="host_not_allowed"),
    Case("a host that is not served, with a port", host="evil.example:8642", status=421, code="host_not_allowed"),
    Case("a host that only begins like ours", host="localhost.evil.example", status=421),
    Case("a host that only ends like ours", host="evil-localhost", status=421),
    Case("no host", host=None, status=421),
    Case("an empty host", host="", status=421),
    Case("an address on another network", host="10.0.0.1", status=421),
    Case(
        "a host that is not served, on an open path",
        None,
        host="evil.example",
        method="GET",
        path="/health",
        status=421,
    ),
]


# --- routes and methods ---


def routed(method: str, path: str, status: int = 404, **more: Any) -> Case:
    called = path if len(path) < 60 else f"{path[:20]}... of {len(path):,} characters"
    return Case(
        f"{method} {called}", None if method in {"GET", "HEAD"} else GOOD, status, method=method, path=path, **more
    )


GET_AND_POST = {"status": 405, "code": "method_not_allowed", "answered_with": (("allow", "GET, POST"),)}

ROUTES = [
    routed("GET", "/"),
    routed("POST", "/"),
    routed("GET", "/v1", code="unknown_url"),
    routed("POST", "/v1/chat/completion", code="unknown_url"),
    routed("POST", "/v1/chat/completions/"),
    routed("POST", "/V1/CHAT/COMPLETIONS"),
    routed("POST", "//v1/chat/completions"),
    routed("POST", "/v1//chat/completions"),
    routed("POST", "/v1/../v1/chat/completions/.."),
    routed("POST", "/v1/chat/completions%00"),
    routed("POST", "/v1/chat/completions%0d%0aX: y".replace(" ", "%20")),
    routed("GET", "/%00"),
    routed("GET", "/%ff%fe"),
    routed("GET", "/%"),
    routed("GET", "/%zz"),
    routed("GET", "/%2e%2e/%2e%2e/etc/passwd"),
    routed("GET", "/" + "a" * 8_000),
    routed("GET", "/v1/models/no-such-model", code="model_not_found"),
    routed("GET", "/v1/models/no/such/model", code="model_not_found"),
    routed("GET", "/v1/models/", code="model_not_found"),
    routed("GET", "/v1/models/%00", code="model_not_found"),
    routed("GET", "/v1/models/%ff", code="model_not_found"),
    routed("GET", "/v1/models/" + "m" * 8_000, code="model_not_found"),
    routed("PUT", CHAT, **GET_AND_POST),
    routed("PATCH", CHAT, **GET_AND_POST),
    routed("DELETE", CHAT, **GET_AND_POST),
    routed("OPTIONS", CHAT, **GET_AND_POST),
    routed("TRACE", CHAT, **GET_AND_POST),
    routed("PROPFIND", CHAT, **GET_AND_POST),
    routed("POST", "/v1/models", 405, code="method_not_allowed"),
    routed("DELETE", "/v1/models/fake-model", 405, code="method_not_allowed"),
    routed("POST", "/health", 405, code="method_not_allowed"),
    routed("OPTIONS", "/health", 405, code="method_not_allowed"),
    routed("TRACE", "/health", 405, code="method_not_allowed"),
    routed("GET", "/v1/models", 401, auth=None),
    routed("GET", "/v1/no-such-thing", 401, auth=None),
    routed("HEAD", "/v1/models", 401, auth=None),
]


# --- what is not HTTP ---


def wire(name: str, *lines: bytes, body: bytes = b"", **more: Any) -> Case:
    return Case(name, raw=b"\r\n".join(lines) + b"\r\n\r\n" + body, **more)


POST = b"POST /v1/chat/completions HTTP/1.1"
WITH = (b"Host: 127.0.0.1", b"Authorization: Bearer " + KEY.encode(), b"Content-Type: application/json")

SMUGGLED = b"GET /version HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

BROKEN = [
    wire("a request line of nonsense", b"HELO there", b"Host: 127.0.0.1"),
    wire("an empty method", b" / HTTP/1.1", b"Host: 127.0.0.1"),
    wire("an unknown method", b"BREW /v1/chat/completions HTTP/1.1", *WITH),
    wire("a method in small letters", b"post /v1/chat/completions HTTP/1.1", *WITH),
    wire("no path", b"POST HTTP/1.1", *WITH),
    wire("a path with a space", b"GET /a b HTTP/1.1", *WITH),
    wire("a path without a slash", b"GET health HTTP/1.1", *WITH),
    wire("a path in bare UTF-8", "GET /café HTTP/1.1".encode(), *WITH),
    wire("a path with a NUL byte", b"GET /a\0b HTTP/1.1", *WITH),
    wire("HTTP version 9", b"GET /health HTTP/9.9", *WITH),
    wire("HTTP/2 without being asked", b"PRI * HTTP/2.0", b"", b"SM"),
    wire("a TLS greeting", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(32))),
    wire("a header with a NUL byte", POST, *WITH, b"X-Hermes-Session-Id: a\0b", b"Content-Length: 0"),
    wire("a header with a bare carriage return", POST, *WITH, b"X-Hermes-Session-Id: a\rb", b"Content-Length: 0"),
    wire("a header with an escape character", POST, *WITH, b"X-Hermes-Session-Id: \x1b[31m", b"Content-Length: 0"),
    wire("a header without a colon", POST, *WITH, b"X-Hermes-Session-Id", b"Content-Length: 0"),
    wire("a header with a space in its name", POST, *WITH, b"X Hermes: a", b"Content-Length: 0"),
    wire("a header with an empty name", POST, *WITH, b": a", b"Content-Length: 0"),
    wire("a header that goes on on the next line", POST, *WITH, b"X-Hermes-Session-Id: a", b" b", b"Content-Length: 0"),
    wire("a Content-Length of nonsense", POST, *WITH, b"Content-Length: many"),
    wire("a negative Content-Length", POST, *WITH, b"Content-Length: -1"),
    wire("a Content-Length over 64 bits", POST, *WITH, b"Content-Length: 99999999999999999999999"),
    wire("a Content-Length of a terabyte", POST, *WITH, b"Content-Length: 1099511627776", status=413),
    wire("two Content-Lengths", POST, *WITH, b"Content-Length: 0", b"Content-Length: 5"),
    wire("a length and chunks", POST, *WITH, b"Content-Length: 5", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
    wire("an unknown Transfer-Encoding", POST, *WITH, b"Transfer-Encoding: zip"),
    wire("a chunk size of nonsense", POST, *WITH, b"Transfer-Encoding: chunked", body=b"zz\r\n{}\r\n0\r\n\r\n"),
    wire("a negative chunk size", POST, *WITH, b"Transfer-Encoding: chunked", body=b"-5\r\n{}\r\n0\r\n\r\n"),
    wire("a chunk size over 64 bits", POST, *WITH, b"Transfer-Encoding: chunked", body=b"f" * 40 + b"\r\n{}\r\n"),
    wire("a chunk longer than it says", POST, *WITH, b"Transfer-Encoding: chunked", body=b"2\r\n{}{}\r\n0\r\n\r\n"),
    wire("HTTP/1.0 without a host", b"GET /health HTTP/1.0", status=421),
    wire("OPTIONS *", b"OPTIONS * HTTP/1.1", *WITH, status=404),
    wire("CONNECT elsewhere", b"CONNECT evil.example:443 HTTP/1.1", *WITH),
    wire("another host's address", b"GET http://evil.example/health HTTP/1.1", b"Host: evil.example", status=421),
]

CORPUS = [*BODIES, *FIELDS, *NUMBERS, *MESSAGES, *HEADERS, *ROUTES, *BROKEN]


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.name)
def test_a_bad_request_is_refused_with_the_error_object(client: Client, upstream: Upstream, case: Case) -> None:
    refused(case, exchange(client.url, case.sent(), case.method))
    assert upstream.requests == [], "nothing of it reached the model"


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n".join([POST, *WITH, b"X-Long: " + b"x" * 2_000_000, b"Content-Length: %d" % len(GOOD), b"", GOOD]),
        b"\r\n".join([POST, *WITH, b"X" * 2_000_000 + b": x", b"Content-Length: %d" % len(GOOD), b"", GOOD]),
        b"\r\n".join([POST, *WITH, *[b"X-Many: x"] * 100_000, b"Content-Length: %d" % len(GOOD), b"", GOOD]),
        b"\r\n".join(
            [POST.replace(b" HTTP", b"?" + b"x" * 2_000_000 + b" HTTP"), *WITH, b"Content-Length: 0", b"", b""]
        ),
        b"\r\n".join([POST, *WITH, b"X-Endless: " + b"x" * 2_000_000]),
    ],
    ids=["a long value", "a long name", "100,000 headers", "a long path", "a header that never ends"],
)
def test_absurdly_long_headers_are_refused_before_they_fill_the_memory(
    client: Client, upstream: Upstream, sent: bytes
) -> None:
    answer = exchange(client.url, sent)
    assert answer.status in {400, 413, 414, 431}
    assert is_error_object(answer)
    assert upstream.requests == []


def test_after_the_whole_corpus_the_server_answers_and_remembers_none_of_it(client: Client, upstream: Upstream) -> None:
    for case in CORPUS:
        exchange(client.url, case.sent(), case.method)
    assert upstream.requests == []
    assert client.say("Are you well?", session=SESSION).status == 200
    assert upstream.prompts == [[{"role": "user", "content": "Are you well?"}]], "the session began just now"


def test_a_client_that_leaves_in_the_middle_of_its_request_harms_no_one(client: Client, upstream: Upstream) -> None:
    address = urlsplit(client.url)
    whole = Case("a good one").sent()
    for length in (5, 60, len(whole) - 10):
        with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
            connection.sendall(whole[:length])
    assert client.say("Are you well?").status == 200
    assert len(upstream.requests) == 1


def test_a_connection_goes_on_after_a_refusal(client: Client, upstream: Upstream) -> None:
    address = urlsplit(client.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
    given = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    with closing(connection):
        for body, status in ((b"{", 400), (b" " * (LARGEST + 1), 413), (b'{"messages":[]}', 400), (GOOD, 200)):
            connection.request("POST", CHAT, body, given)
            reply = connection.getresponse()
            reply.read()
            assert reply.status == status


@pytest.mark.parametrize("offered", [b"h2c", b"websocket"])
def test_an_offer_to_upgrade_is_ignored_and_the_request_answered(
    client: Client, upstream: Upstream, offered: bytes
) -> None:
    sent = b"\r\n".join(
        [
            POST,
            *WITH,
            b"Connection: Upgrade, HTTP2-Settings",
            b"Upgrade: " + offered,
            b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
            b"Content-Length: %d" % len(GOOD),
            b"",
            GOOD,
        ]
    )
    assert exchange(client.url, sent).status == 200, "curl --http2 and Java's client send this by default"


def test_the_body_of_a_request_that_offers_to_upgrade_is_not_taken_for_another_request(
    client: Client, upstream: Upstream
) -> None:
    address = urlsplit(client.url)
    head = (*WITH, b"Connection: Upgrade", b"Upgrade: h2c", b"Content-Length: %d" % len(SMUGGLED))
    with socket.create_connection((address.hostname, address.port), timeout=5) as connection:
        connection.sendall(b"\r\n".join([b"POST /health HTTP/1.1", *head, b"", b""]))
        time.sleep(0.1)
        connection.sendall(SMUGGLED)
        time.sleep(0.1)
        connection.shutdown(socket.SHUT_WR)
        answered = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answered.count(b"HTTP/1.1 ") == 1, "one request, one response"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(nested(64), id="64 levels deep"),
        pytest.param(spoken(*HELLO * 2000), id="2,000 messages"),
        pytest.param(user(b'"\\\\u0000"'), id="a backslash and u0000"),
        pytest.param(user(b'"\\ud83d\\ude00"'), id="a whole surrogate pair"),
        pytest.param(GOOD[:-1] + b" " * (LARGEST - len(GOOD)) + b"}", id="exactly 10 MB"),
        pytest.param(asked(seed=-5, n=128, temperature=2, top_p=0, max_tokens=1, top_logprobs=20), id="limits"),
        pytest.param(asked(something_new={"a": [1, {}]}), id="an unknown field"),
        pytest.param(asked(model=None, stream=None, tools=None, stop=None, metadata=None), id="nulls"),
    ],
)
def test_what_is_just_within_the_limits_is_answered(client: Client, upstream: Upstream, body: bytes) -> None:
    answer = client.send("POST", CHAT, body)
    assert answer.status == 200, answer.body[:500]


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_compressed_body_is_read(client: Client, upstream: Upstream, encoding: str) -> None:
    packed = gzip.compress(GOOD) if encoding == "gzip" else zlib.compress(GOOD)
    answer = client.send("POST", CHAT, packed, {"Content-Encoding": encoding})
    assert answer.status == 200
    assert upstream.prompts[-1] == HELLO


# --- whatever else ---

ANY_TEXT = st.text(st.characters(), max_size=12)  # lone surrogates and control characters too
ANY_NUMBER = st.integers() | st.sampled_from([2**63, 2**64, -(2**64), 10**30, 10**400]) | st.floats(allow_nan=False)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | ANY_NUMBER | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)
MESSAGE_FIELDS = ("role", "content", "name", "refusal", "tool_calls", "tool_call_id", "anything")
SPOILT_MESSAGE = st.builds(
    lambda base, more: {**base, **more},
    st.sampled_from([HELLO[0], {"role": "assistant", "content": "Hm."}, {"role": "tool", "tool_call_id": "c"}]),
    st.dictionaries(st.sampled_from(MESSAGE_FIELDS), ANY_JSON, max_size=2),
)
SPOILT_BODY = st.builds(
    lambda messages, fields: {"messages": messages, **fields},
    st.just(HELLO) | st.lists(SPOILT_MESSAGE, max_size=3),
    st.dictionaries(st.sampled_from([*WRONG, "anything"]), ANY_JSON, max_size=3),
)
quickly = settings(
    max_examples=150, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def well_answered(answer: Answer) -> bool:
    return answer.status == 200 or (400 <= answer.status < 500 and is_error_object(answer))


@quickly
@given(body=SPOILT_BODY, once=st.booleans(), number=st.integers(0, 2**64))
def test_arbitrary_values_in_known_fields_are_never_our_fault(
    client: Client, upstream: Upstream, body: dict[str, Any], once: bool, number: int
) -> None:
    upstream.answer = lambda request: "Fine."
    raw = json.dumps(body).replace("Infinity", "1e999").encode()
    answer = client.send("POST", CHAT, raw, {"Idempotency-Key": f"any-{number}"} if once else {})
    assert well_answered(answer), (answer.status, answer.body[:500])


@quickly
@given(body=st.binary(max_size=200) | st.builds(lambda a, b: GOOD[:a] + b + GOOD[a:], st.integers(0, 60), st.binary()))
def test_arbitrary_bytes_are_never_our_fault(client: Client, upstream: Upstream, body: bytes) -> None:
    answer = client.send("POST", CHAT, body)
    assert well_answered(answer), (answer.status, answer.body[:500])
