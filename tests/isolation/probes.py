"""Requests that name somebody's things, made from the API's own description: in paths, queries, headers and bodies.

Every operation is covered: one that takes a name, or a body, which is not known yet, is a KeyError until it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any
from urllib.parse import quote, urlencode

from belongings import OWNERS, Belongings
from front_door import Answer, Client
from operations import BODIES, MODEL, OPEN, QUERIES, Body, Operation

Named = Mapping[str, Mapping[str, str]]  # by parameter and by what it is

# Where a body names something: the field, and what that something is.
IN_RESPONSES = [("previous_response_id", "response_id"), ("conversation", "session_id"), ("input", "item_id")]
REFERENCES: dict[str, list[tuple[str, str]]] = {
    "responses": IN_RESPONSES,
    "response_tokens": IN_RESPONSES,
    "response_compact": IN_RESPONSES,
    "conversation_create": [("items", "item_id")],
    "items_create": [("items", "item_id")],
    "run_create": [("session_id", "session_id")],
    "session_create": [("id", "session_id"), ("session_key", "session_key")],
    "session_fork": [("at", "message"), ("id", "session_id")],
    "memory_forget": [("claim", "claim_id"), ("session_id", "session_id")],
    "job_create": [("session_id", "session_id"), ("session_key", "session_key")],
    "job_update": [("session_id", "session_id"), ("session_key", "session_key")],
}
WHOLE = {"memory_forget"}  # the reference is the whole body
BEFORE = ("message", "item_id", "completion_id", "claim_id", "job_id", "run_id")  # what `after` may name
SESSION_ID, SESSION_KEY = "X-Hermes-Session-Id", "X-Hermes-Session-Key"


@dataclass(frozen=True)
class Probe:
    """One request that names somebody's things."""

    what: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    astray: bool = False  # the path itself leads to what is not the asker's
    at_home: bool = False  # the path leads to what is the asker's own

    def send(self, client: Client, more: Mapping[str, str] | None = None) -> Answer:
        return client.send(self.method, self.path, self.body, {**dict(self.headers), **(more or {})})


def probes(operation: Operation, theirs: Named, own: Belongings) -> Iterator[Probe]:
    """Every way to name what is `theirs` in a request for this operation."""
    yield from in_path(operation, theirs, own)
    home = {name: MODEL if name == "model" else own.one(name) for name in operation.leads}
    yield from in_query(operation, theirs, home)
    if operation.method == "DELETE":  # nobody is to lose what is one's own
        home = {name: next(iter(theirs[name].values())) for name in operation.leads}
    yield from in_headers(operation, theirs, {name: home[name] for name in operation.in_path})
    yield from in_body(operation, theirs, home)


def in_path(operation: Operation, theirs: Named, own: Belongings) -> Iterator[Probe]:
    if not operation.leads or operation.name == "model":
        return
    kinds = [theirs[name] for name in operation.leads]
    for turn in range(max(len(each) for each in kinds)):
        chosen = {name: list(each.items())[turn % len(each)] for name, each in zip(operation.leads, kinds, strict=True)}
        what = " and ".join(kind for kind, _ in chosen.values())
        names = {name: value for name, (_, value) in chosen.items()}
        yield request(operation, f"the path names {what}", names, astray=bool(operation.in_path))
    if len(operation.leads) > 1:
        *others, last = operation.leads
        for kind, name in theirs[last].items():
            names = {**{other: own.one(other) for other in others}, last: name}
            yield request(operation, f"only the last name, {kind}, is not the asker's", names, at_home=True)


def in_query(operation: Operation, theirs: Named, home: Mapping[str, str]) -> Iterator[Probe]:
    for name in operation.takes("query"):
        for parameter in BEFORE if name == "after" else (name,):
            if name not in {"after", "session_key", "session_id"}:
                continue
            for kind, value in theirs[parameter].items():
                given = {key: home[key] for key in home if not (name == "session_id" and key == "session_key")}
                yield request(operation, f"the query's {name} is {kind}", given, {name: value}, at_home=bool(home))


def in_headers(operation: Operation, theirs: Named, home: Mapping[str, str]) -> Iterator[Probe]:
    many = SESSION_ID in operation.takes("header")
    for what, headers in islice(named_in_headers(theirs, many=many), 1 if operation.name in OPEN else None):
        yield request(operation, what, home, headers=headers, at_home=bool(home))
    if operation.name == "chat_completions":
        yield Probe("a request that was sent, once more", "POST", operation.path, **repeated(theirs))


def named_in_headers(theirs: Named, *, many: bool) -> Iterator[tuple[str, dict[str, str]]]:
    sessions, keys = list(theirs["session_id"].items()), list(theirs["session_key"].items())
    for kind, name in sessions if many else sessions[:1]:
        yield f"{SESSION_ID} is {kind}", {SESSION_ID: name}
        yield f"X-OpenWebUI-Chat-Id is {kind}", {"X-OpenWebUI-Chat-Id": name}
    for kind, name in keys if many else keys[:1]:
        yield f"{SESSION_KEY} is {kind}", {SESSION_KEY: name}
        yield f"{kind} and its current session", {SESSION_KEY: name, SESSION_ID: "@current"}
        yield f"X-OpenWebUI-User-Id is {kind}", {"X-OpenWebUI-User-Id": name}
    once = {"Idempotency-Key": theirs["idempotency_key"]["an idempotency key"]}
    yield "Idempotency-Key is one that was used", once
    both = {SESSION_ID: sessions[0][1], SESSION_KEY: keys[0][1]}
    yield "a session and its key", both
    message = theirs["message_id"]["a client's own message id"]
    yield "a message that was sent", {**both, "X-Hermes-Message-Id": message}
    yield "a message that another follows", {**both, "X-Hermes-Parent-Message-Id": message}


def repeated(theirs: Named) -> dict[str, Any]:
    """The very request that the idempotency key was used with."""
    names = {name: next(iter(kinds.values())) for name, kinds in theirs.items()}
    headers = {
        SESSION_ID: names["session_id"],
        SESSION_KEY: names["session_key"],
        "X-Hermes-Message-Id": names["message_id"],
        "Idempotency-Key": names["idempotency_key"],
    }
    body = {"messages": [{"role": "user", "content": Belongings(Client(""), OWNERS).said}], "store": True}
    return {"headers": tuple(headers.items()), "body": json.dumps(body).encode()}


def in_body(operation: Operation, theirs: Named, home: Mapping[str, str]) -> Iterator[Probe]:
    for field, parameter in REFERENCES.get(operation.name, ()):
        for kind, name in theirs[parameter].items():
            value: Any = [{"type": "item_reference", "id": name}] if parameter == "item_id" else name
            usual = {} if operation.name in WHOLE else BODIES[operation.name]
            body = {**usual, field: value}
            yield request(operation, f"the body's {field} is {kind}", home, body=body, at_home=bool(home))


def request(
    operation: Operation,
    what: str,
    names: Mapping[str, str],
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    body: Body | None = None,
    astray: bool = False,
    at_home: bool = False,
) -> Probe:
    path = re.sub(r"{(\w+)}", lambda found: quote(names[found[1]], safe=""), operation.path)
    asked = {
        **QUERIES.get(operation.name, {}),
        **{name: value for name, value in names.items() if name in operation.leads and name not in operation.in_path},
        **(query or {}),
    }
    sent = None
    if operation.takes_body:
        sent = json.dumps(BODIES[operation.name] if body is None else body).encode()
    elif operation.method != "GET":
        sent = b""
    return Probe(
        what,
        operation.method,
        path + (f"?{urlencode(asked)}" if asked else ""),
        tuple((headers or {}).items()),
        sent,
        astray,
        at_home,
    )


# --- names that look like others, and answers without them ---

RUN_OF_LETTERS = re.compile(r"[0-9A-Za-z]+")


def lookalike(name: str) -> str:
    """Another name of the same form and length, which nobody has."""
    start, end = max((found.span() for found in RUN_OF_LETTERS.finditer(name)), key=lambda span: span[1] - span[0])
    start = max(start, end - 10)
    return name[:start] + "".join(another(letter) for letter in name[start:end]) + name[end:]


def another(letter: str) -> str:
    for alphabet in ("0123456789", "abcdef", "ghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
        if letter in alphabet:
            return alphabet[(alphabet.index(letter) + 3) % len(alphabet)]
    return letter


def lookalikes(named: Named) -> dict[str, dict[str, str]]:
    return {parameter: {kind: lookalike(name) for kind, name in kinds.items()} for parameter, kinds in named.items()}


VARIES = [
    (re.compile(r"~\d{8}_\d{6}_\w{6}"), "~child"),
    (re.compile(r'"score":[\d.]+'), "score"),
    (re.compile(r"token=[\w.%-]+"), "token"),
    (re.compile(r'"tenant":"[^"]+"'), "tenant"),
    (re.compile(r'"(id|key_id)":"[0-9a-f]{12}"'), "key"),
    (re.compile(r"\bet_[0-9a-f]{12}_[\w-]+"), "key"),
    (re.compile(r'"encrypted_content":"[^"]+"'), "sealed"),
    (re.compile(r"[0-9a-f]{20,}"), "#"),
    (re.compile(r"\b1[6-9]\d{8}(\.\d+)?\b"), "moment"),
    (re.compile(r"\b20\d\d-\d\d-\d\dT[\d:.]+Z"), "moment"),
    (re.compile(r"whsec_[\w+/=]+"), "secret"),
]
FIGURES = {"health_ready", "metrics"}  # of the whole server: they change by themselves
OWN_FIGURES = {"memory_status"}  # of the asker
NOT_COMPARED = {"x-request-id", "date", "content-length"}


def masked(text: str, *named: Named) -> str:
    """The text without the names that were sent, and without what is new in every answer."""
    labels = {name: f"<{kind}>" for names in named for kinds in names.values() for kind, name in kinds.items()}
    for form, label in forms(tuple(labels.items())):
        text = text.replace(form, label)
    for pattern, shown in VARIES:
        text = pattern.sub(shown, text)
    return text


@cache
def forms(labels: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """All the ways in which names appear, the longest first: as they are, encoded, in a file name, without a prefix."""
    found: dict[str, str] = {}
    for name, label in labels:
        for form in (name, quote(name, safe=""), re.sub(r"[^\w.-]+", "-", name)):
            found.setdefault(form, label)
        bare = re.sub(r"^[a-z]+[_-]", "", name)
        if len(bare) > 20:
            found.setdefault(bare, f"{label} bare")
    return sorted(found.items(), key=lambda pair: len(pair[0]), reverse=True)


Seen = tuple[int, str, str]


def asked(operation: Operation, probe: Probe, client: Client, *named: Named) -> Seen:
    """What a caller can tell of the answer: its status, its headers, its body."""
    answer = probe.send(client)
    figures = operation.name in FIGURES or (probe.at_home and operation.name in OWN_FIGURES)
    headers = [f"{name}: {value}" for name, value in answer.headers.items() if name not in NOT_COMPARED]
    body = "figures" if figures else masked(answer.body.decode(), *named)
    return answer.status, masked("\n".join(headers), *named), body
