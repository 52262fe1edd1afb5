"""Malformed requests for an operation, made from its description: each is one good request with one thing wrong."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import jsonschema_rs

from bad_request import LARGEST, Case
from belongings import Belongings
from front_door import KEY
from operations import BODIES, DESCRIPTION, MODEL, OPEN, QUERIES, Operation

NOTHING = ("X-Hermes-Session-Id", "")  # blank: the request is about no session but the one in its path
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")

# --- one good request ---


def path_of(operation: Operation, has: Belongings, **changed: str) -> str:
    """The operation's path, with names that lead somewhere; those that are changed are put in as they are."""

    def named(found: re.Match[str]) -> str:
        name = found[1]
        return changed[name] if name in changed else quote(MODEL if name == "model" else has.one(name), safe="")

    return re.sub(r"{(\w+)}", named, operation.path)


def query_of(operation: Operation, has: Belongings) -> dict[str, str]:
    scope = {"session_key": has.one("session_key")} if operation.name.startswith("memory") else {}
    stream = {"stream": "true"} if operation.name == "response" else {}  # which `starting_after` goes with
    return {**QUERIES.get(operation.name, {}), **scope, **stream}


def case(operation: Operation, has: Belongings, what: str, **changed: Any) -> Case:
    """The good request, but for what is changed."""
    query = changed.pop("query", urlencode(query_of(operation, has)))
    path = changed.pop("path", path_of(operation, has))
    body = json.dumps(BODIES[operation.name]).encode() if operation.takes_body else None
    headers = (*changed.pop("headers", ()), NOTHING) if "given" not in changed else changed.pop("given")
    return Case(
        f"{operation}: {what}",
        changed.pop("body", body),
        method=changed.pop("method", operation.method),
        path=f"{path}?{query}" if query else path,
        headers=headers,
        **changed,
    )


def malformed(operation: Operation, has: Belongings) -> Iterator[Case]:
    yield from wrong_methods(operation, has)
    yield from wrong_names(operation, has)
    yield from wrong_queries(operation, has)
    yield from wrong_headers(operation, has)
    if operation.takes_body:
        yield from wrong_bodies(operation, has)
        yield from wrong_fields(operation, has)


# --- methods, paths, queries, headers ---


def wrong_methods(operation: Operation, has: Belongings) -> Iterator[Case]:
    served = {method.upper() for method in DESCRIPTION["paths"][operation.path]}
    shadowed = f"{operation.path.rpartition('/')[0]}/{{"  # where this path could also be somebody's name
    others = {
        method.upper()
        for path, methods in DESCRIPTION["paths"].items()
        if path.startswith(shadowed) and path.endswith("}")
        for method in methods
    }
    for method in METHODS:
        if method not in served and not (method == "DELETE" and operation.path == "/api/memory/{claim_id}"):
            status = 400 if method in others and "{" not in operation.path else 405
            yield case(operation, has, f"{method} is not served", method=method, body=None, status=status)


WRONG_NAMES = {
    "a name of 300 characters": "x" * 300,
    "a name of 8,000 characters": "x" * 8000,
    "a NUL in the name": "a%00b",
    "a line break in the name": "a%0d%0aX-Injected:%201",
    "no UTF-8 in the name": "%ff%fe",
    "a percent sign alone": "%",
    "a bad percent encoding": "%zz%4",
    "an overlong encoding": "%c0%ae%c0%ae",
    "a surrogate, encoded": "%ed%a0%80",
    "a way up": "..%2f..%2f..%2fetc%2fpasswd",
    "a quotation mark": "'%22;DROP%20TABLE%20session--",
}


def wrong_names(operation: Operation, has: Belongings) -> Iterator[Case]:
    for name in operation.in_path:
        for what, value in WRONG_NAMES.items():
            yield case(operation, has, f"{name} is {what}", path=path_of(operation, has, **{name: value}))


WRONG_NUMBERS = ("x", "-1", "1.5", "1e3", "9" * 40, "0x10", "%00", "%ff", "%d9%a1", "+1", "1%0d%0a")
WRONG_QUERIES: dict[str, tuple[str, ...]] = {
    "integer": WRONG_NUMBERS,
    "boolean": ("maybe", "2", "%00"),
    "enum": ("sideways", "%00", "ASC;--"),
    "date": ("yesterday", "2026-02-30", "9" * 30, "%00", "0001-01-01T00:00:00+14:00", "2026-03-02T09:00:00"),
}


def wrong_queries(operation: Operation, has: Belongings) -> Iterator[Case]:
    usual = query_of(operation, has)
    for told in operation.parameters:
        if told["in"] != "query":
            continue
        rest = urlencode({name: value for name, value in usual.items() if name != told["name"]})
        for value in WRONG_QUERIES.get(kind(told["schema"]), ()):
            given = f"{told['name']}={value}" + (f"&{rest}" if rest else "")
            yield case(operation, has, f"the query's {told['name']} is {value[:30]}", query=given)
        if told["name"] in {"session_key", "session_id"} and operation.name.startswith(("memory", "sessions")):
            for value in ("x" * 257, "caf%c3%a9", "a%00b", "a%0ab"):
                yield case(operation, has, f"{told['name']} is {value[:30]}", query=f"{told['name']}={value}&q=x")
    if operation.takes("query"):
        many = "&".join(f"f{number}=1" for number in range(101))
        yield case(operation, has, "101 fields in the query", query=many)


def kind(schema: Mapping[str, Any]) -> str:
    """What a parameter's values are, as far as the table of wrong ones knows."""
    if "enum" in schema:
        return "enum"
    if any(each.get("format") in {"date", "date-time"} for each in (schema, *schema.get("anyOf", ()))):
        return "date"
    return str(schema.get("type"))


def wrong_headers(operation: Operation, has: Belongings) -> Iterator[Case]:
    yield case(operation, has, "a host that is not served", host="evil.example", status=421)
    yield case(operation, has, "a request id of 257 characters", headers=(("X-Request-Id", "r" * 257),))
    yield case(operation, has, "a request id with a control character", headers=(("X-Request-Id", "a\x01b"),))
    twice = (("Authorization", f"Bearer {KEY}"), NOTHING)
    yield case(operation, has, "two keys", given=twice)
    if operation.name in OPEN:
        return
    yield case(operation, has, "no key", auth=None, status=401)
    yield case(operation, has, "a wrong key", auth="Bearer et_0123456789ab_" + "x" * 43, status=401)
    yield case(operation, has, "a key in Latin-1", auth="Bearer caf\xe9", status=401)
    for told in operation.parameters:
        if told["in"] == "header":
            for what, value in wrong_values(told["name"], told["schema"]):
                given = ((told["name"], value), *blank(told["name"]))
                yield case(operation, has, f"{told['name']} is {what}", given=given)


def blank(name: str) -> tuple[tuple[str, str], ...]:
    return () if name == NOTHING[0] else (NOTHING,)


def wrong_values(name: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "enum" in schema:
        yield "unknown", "perhaps"
    elif kind(schema) == "date":
        yield from {"a day": "2026-03-02", "nonsense": "soon", "before all time": "0001-01-01T00:00:00+14:00"}.items()
    elif kind(schema) == "integer":
        yield from {"nonsense": "x", "negative": "-1", "too large": "9" * 40}.items()
    elif "maxLength" in schema:
        yield from {"257 characters": "x" * 257, "Latin-1": "caf\xe9", "a tab": "a\tb"}.items()


# --- bodies ---

DEEP = b"[" * 100_000 + b"]" * 100_000
BOMB = b" " * (4 * LARGEST)
PACKED = {"gzip": gzip.compress(BOMB), "deflate": zlib.compress(BOMB)}
WRONG_BODIES = {
    "not JSON": b"hello there",
    "cut short": b'{"a": [1, 2',
    "a list": b"[1, 2, 3]",
    "a text": b'"hello"',
    "a number": b"42",
    "null": b"null",
    "two of them": b"{}{}",
    "a trailing comma": b'{"a": 1,}',
    "NaN": b'{"a": NaN}',
    "bad UTF-8": b'{"a": "caf\xe9"}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "a NUL byte": b'{"a": "\0"}',
    "an escaped NUL": b'{"a": "\\u0000"}',
    "a lone surrogate": b'{"a": "\\ud800"}',
    "a surrogate encoded as UTF-8": b'{"a": "\xed\xa0\x80"}',
    "65 levels deep": b'{"a": ' + b"[" * 64 + b"]" * 64 + b"}",
    "100,000 levels deep": b'{"a": ' + DEEP + b"}",
    "brackets that never close": b'{"a": ' + b"[" * 100_000,
}


def wrong_bodies(operation: Operation, has: Belongings) -> Iterator[Case]:
    for what, body in WRONG_BODIES.items():
        yield case(operation, has, f"the body is {what}", body=body)
    for kind_ in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "\xff"):
        yield case(operation, has, f"the body is {kind_!r}", headers=(("Content-Type", kind_),), status=415)
    for encoding, packed in PACKED.items():
        told = (("Content-Encoding", encoding),)
        yield case(operation, has, f"a {encoding} bomb", body=packed, headers=told, status=413)
        yield case(operation, has, f"{encoding} that is none", headers=told)
    yield case(operation, has, "an unknown encoding", headers=(("Content-Encoding", "br"),), status=415)


WRONG_TYPES: dict[str, Any] = {
    "a number": 5,
    "negative": -1,
    "a fraction": 1.5,
    "a text": "x",
    "true": True,
    "a list of numbers": [5],
    "a list of objects": [{}],
    "an object": {"a": {"b": 5}},
    "very long": "x" * 70_000,
    "huge": 2**70,
}
LONG_NUMBER = "a number of 5,000 digits"
RAW_VALUES = {"infinite": b"1e999", LONG_NUMBER: b"1" * 5000, "a text with NUL": b'"a\\u0000b"'}


def wrong_fields(operation: Operation, has: Belongings) -> Iterator[Case]:
    """Each field with each value that its schema has no room for; each required one left out."""
    assert operation.body is not None
    schema = resolved(operation.body)
    good = BODIES[operation.name]
    for field in schema.get("required", ()):
        rest = {name: value for name, value in good.items() if name != field}
        yield case(operation, has, f"without {field}", body=json.dumps(rest).encode())
    for field, told in schema.get("properties", {}).items():
        check = jsonschema_rs.validator_for({**told, "components": DESCRIPTION["components"]})
        for what, value in WRONG_TYPES.items():
            if not check.is_valid(value):
                yield case(operation, has, f"{field} is {what}", body=json.dumps({**good, field: value}).encode())
        for what, raw in RAW_VALUES.items():
            if what != LONG_NUMBER or not ({"number", "integer"} & types(told)):
                yield case(operation, has, f"{field} is {what}", body=with_raw(good, field, raw))


def with_raw(good: Mapping[str, Any], field: str, raw: bytes) -> bytes:
    """The body with a value that no encoder would write."""
    fields = {name: json.dumps(value).encode() for name, value in good.items()}
    pairs = (b"%s:%s" % (json.dumps(name).encode(), value) for name, value in {**fields, field: raw}.items())
    return b"{" + b",".join(pairs) + b"}"


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return DESCRIPTION["components"]["schemas"][name] if name else schema


def types(schema: Mapping[str, Any]) -> set[str]:
    given = schema.get("type", [])
    own = {given} if isinstance(given, str) else set(given)
    return own.union(*(types(resolved(each)) for each in schema.get("anyOf", ())))
