"""Whatever bytes or JSON they are given, decoders return a value or raise Malformed: nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.core.ids import SessionId, Tenant
from everthread.core.turn import Envelope
from everthread.errors import Malformed
from everthread.http import reply
from everthread.wire import chat, conversations, hooks, jobs, memory, metadata, runs, sessions
from everthread.wire.responses import names, request
from operations import BODIES, DESCRIPTION, OPERATIONS

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
TO = Envelope(tenant=Tenant("t"), session_id=SessionId("s"))
Decoder = Callable[[bytes], object]


def scheduled(body: bytes) -> object:
    """A job's fields, and what is read of them later."""
    given = jobs.decode(body)
    return given.schedule(None, NOW), given.expires_at("UTC", NOW), given.session(), given.key()


DECODERS: dict[str, tuple[Decoder, str]] = {  # and the operation whose body it reads
    "chat": (lambda body: chat.decode(body, TO), "chat_completions"),
    "responses": (request.read, "responses"),
    "responses, counted": (lambda body: request.read(body, "count"), "response_tokens"),
    "responses, compacted": (lambda body: request.read(body, "compact"), "response_compact"),
    "responses, over a socket": (lambda body: request.read(body, "socket"), "responses"),
    "runs": (lambda body: runs.decode(body, TO), "run_create"),
    "jobs": (jobs.decode, "job_create"),
    "jobs, scheduled": (scheduled, "job_create"),
    "jobs, previewed": (jobs.decode_preview, "job_preview"),
    "sessions, made": (sessions.decode_creation, "session_create"),
    "sessions, changed": (sessions.decode_change, "session_update"),
    "sessions, forked": (sessions.decode_forking, "session_fork"),
    "sessions, spoken in": (lambda body: sessions.decode_turn(body, TO, stream=False), "session_chat"),
    "memory, added": (memory.decode_addition, "memory_add"),
    "memory, corrected": (memory.decode_correction, "memory_correct"),
    "memory, pinned": (memory.decode_pinning, "memory_pin"),
    "memory, retracted": (memory.decode_retraction, "memory_retract"),
    "memory, forgotten": (memory.decode_forgetting, "memory_forget"),
    "conversations, made": (conversations.decode_creation, "conversation_create"),
    "conversations, added to": (conversations.decode_items, "items_create"),
    "metadata": (metadata.decode_change, "completion_update"),
    "webhooks": (lambda body: hooks.decode(body, "deliver"), "job_create"),
}
each_decoder = pytest.mark.parametrize("name", DECODERS)

ANY_TEXT = st.text(st.characters(), max_size=12)  # lone surrogates and control characters too
ANY_NUMBER = st.integers() | st.sampled_from([2**63, -(2**64), 10**30, 10**400]) | st.floats(allow_nan=False)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | ANY_NUMBER | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
WORDS = ("type", "role", "content", "text", "id", "name", "call_id", "arguments", "output", "summary", "url", "user")
TYPES = ("message", "function_call", "function_call_output", "item_reference", "reasoning", "compaction", "mcp_call")
KNOWING = st.recursive(  # values in which much is as it should be
    st.sampled_from([*WORDS, *TYPES, "assistant", "input_text", "", 1, -1, 1.5, True, None]) | ANY_TEXT | ANY_NUMBER,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=10,
)
quickly = settings(max_examples=30, deadline=None, database=None, derandomize=True)


def fields_of(operation: str) -> list[str]:
    (found,) = (each for each in OPERATIONS if each.name == operation)
    assert found.body is not None
    schema = DESCRIPTION["components"]["schemas"][found.body["$ref"].rpartition("/")[2]]
    return [*schema["properties"], "messages", "input", "message"]


def well_read(name: str, body: bytes) -> None:
    try:
        DECODERS[name][0](body)
    except Malformed as refused:
        reply.error_body(refused)  # which can be said


def raw(value: Any) -> bytes:
    return json.dumps(value).replace("Infinity", "1e999").encode()


@each_decoder
def test_any_bytes_are_read_or_refused(name: str) -> None:
    good = raw(BODIES[DECODERS[name][1]])
    spoilt = st.builds(lambda a, b, c: good[:a] + b + good[a + c :], st.integers(0, 80), st.binary(), st.integers(0, 9))

    @quickly
    @given(body=st.binary(max_size=200) | spoilt)
    def read(body: bytes) -> None:
        well_read(name, body)

    read()


@each_decoder
def test_any_values_in_known_fields_are_read_or_refused(name: str) -> None:
    operation = DECODERS[name][1]
    good = BODIES[operation]
    fields = st.dictionaries(st.sampled_from(fields_of(operation)), ANY_JSON | KNOWING, max_size=3)

    @quickly
    @given(changed=fields, whole=st.booleans())
    def read(changed: dict[str, Any], whole: bool) -> None:
        well_read(name, raw({**(good if whole else {}), **changed}))

    read()


@each_decoder
def test_any_json_is_read_or_refused(name: str) -> None:
    @quickly
    @given(value=ANY_JSON | KNOWING)
    def read(value: Any) -> None:
        well_read(name, raw(value))

    read()


@each_decoder
def test_a_field_that_is_sent_twice_is_read_or_refused(name: str) -> None:
    for field in fields_of(DECODERS[name][1]):
        well_read(name, b'{"%s": "a", "%s": [1]}' % (field.encode(), field.encode()))


@quickly
@given(text=ANY_TEXT | st.text(max_size=300) | st.from_regex(r"(msg|fc|rs|cmp)_[0-9a-z]{0,40}_[0-9a-z_]{0,12}"))
def test_any_text_is_a_name_or_is_none(text: str) -> None:
    names.parse_item_id(text)
    memory.decode_id(text)
    memory.decode_turn(text)


ALMOST_A_MOMENT = st.from_regex(r"\d{1,5}-\d\d?-\d\d?(T\d\d:\d\d(Z|[+-]\d\d:\d\d))?")


@quickly
@given(text=st.text(max_size=40) | st.datetimes().map(str) | ALMOST_A_MOMENT)
def test_any_text_is_a_moment_or_is_refused(text: str) -> None:
    with suppress(Malformed):
        memory.optional_moment(text, "as_of")
