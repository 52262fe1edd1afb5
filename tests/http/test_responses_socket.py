"""Turns over a WebSocket: the same events, one turn after the other, and what only the connection knows."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection, connect

from front_door import KEY, Client
from upstream import Upstream, calls, cuts, falls_silent, status

PATH = "/v1/responses"
ENDS = {"response.completed", "response.incomplete", "response.failed", "error"}


@contextmanager
def opened(client: Client, **headers: str) -> Iterator[ClientConnection]:
    given = {"Authorization": f"Bearer {KEY}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    with connect(client.url.replace("http", "ws") + PATH, additional_headers=given, proxy=None) as socket:
        yield socket


def ask(socket: ClientConnection, given: Any, **more: Any) -> list[dict[str, Any]]:
    socket.send(json.dumps({"type": "response.create", "model": "hermes", "input": given, **more}))
    events: list[dict[str, Any]] = []
    while not events or events[-1]["type"] not in ENDS:
        events.append(json.loads(socket.recv(timeout=20)))
    return events


def words(events: list[dict[str, Any]]) -> str:
    assert events[-1]["type"] == "response.completed", events[-1]
    return str(events[-1]["response"]["output"][0]["content"][0]["text"])


def test_a_turn_is_told_by_the_events_of_a_stream(client: Client) -> None:
    with opened(client) as socket:
        events = ask(socket, "My name is Alex.")
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        made = events[-1]["response"]
        again = client.get(f"{PATH}/{made['id']}?stream=true").events
        assert again == [*events, "[DONE]"]
        assert "I know Alex" in words(ask(socket, "Who am I?", previous_response_id=made["id"]))


def test_what_is_not_stored_is_known_to_its_connection_alone(client: Client, upstream: Upstream) -> None:
    with opened(client) as socket:
        first = ask(socket, "My name is Alex.", store=False)[-1]["response"]
        second = ask(socket, "My cat is called Tom.", store=False, previous_response_id=first["id"])[-1]["response"]
        assert second["previous_response_id"] == first["id"]
        assert "I know Alex, Tom." in words(ask(socket, "Names?", store=False, previous_response_id=second["id"]))
        other = ask(socket, "My dog is called Rex.", store=False, previous_response_id=first["id"])
        assert "I know Alex, Rex." in words(other)
        assert client.get(f"{PATH}/{first['id']}").status == 404
    with opened(client) as socket:
        refused = ask(socket, "Who am I?", previous_response_id=first["id"])[-1]
        assert (refused["type"], refused["status"]) == ("error", 400)
        assert refused["error"]["code"] == "previous_response_not_found"
        assert "I see 1 messages" in words(ask(socket, "Still here?"))


def test_a_call_and_its_output_pass_through_one_connection(client: Client, upstream: Upstream) -> None:
    tool = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
    upstream.plan.append(calls(("call_1", "weather", "{}")))
    with opened(client) as socket:
        first = ask(socket, "Weather?", tools=[tool], store=False)[-1]["response"]
        output = [{"type": "function_call_output", "call_id": "call_1", "output": "rain"}]
        ask(socket, output, tools=[tool], store=False, previous_response_id=first["id"])
    assert [message["role"] for message in upstream.prompts[-1]] == ["user", "assistant", "tool"]


def test_the_session_headers_of_the_handshake_count_for_every_turn(client: Client, name: str) -> None:
    with opened(client, X_Hermes_Session_Id=name) as socket:
        ask(socket, "My name is Alex.")
        assert "I know Alex" in words(ask(socket, "Who am I?"))
    assert "I know Alex" in client.say("Who am I?", session=name).text


def test_a_client_can_say_what_is_to_come_without_an_answer(client: Client, upstream: Upstream) -> None:
    asked = len(upstream.requests)
    with opened(client) as socket:
        warm = ask(socket, "My name is Alex.", generate=False, store=False)
        assert [event["type"] for event in warm] == ["response.created", "response.in_progress", "response.completed"]
        assert len(upstream.requests) == asked
        later = ask(socket, "Who am I?", previous_response_id=warm[-1]["response"]["id"], store=False)
        assert "I know Alex" in words(later)


def test_what_goes_wrong_is_an_envelope_and_the_connection_goes_on(client: Client, upstream: Upstream) -> None:
    with opened(client) as socket:
        for sent in ("not json", "[]", "{}", '{"type": "response.nonsense"}', '{"type": "response.create"}'):
            socket.send(sent)
            told = json.loads(socket.recv(timeout=20))
            assert (told["type"], told["status"]) == ("error", 400), sent
            assert set(told["error"]) >= {"message", "type", "param", "code"}
        upstream.plan += [status(500)] * 3
        assert ask(socket, "Hello.")[-1]["status"] == 502
        upstream.plan.append(cuts)
        failed = ask(socket, "Hello.")
        assert failed[-1]["type"] == "response.failed"
        orphan = [{"type": "function_call_output", "call_id": "call_9", "output": "?"}]
        refused = ask(socket, orphan)[-1]
        assert (refused["type"], refused["error"]["param"]) == ("error", "input")
        assert "I see 1 messages" in words(ask(socket, "Hello?"))


def test_a_turn_of_no_session_ends_with_its_connection_and_one_of_a_session_is_kept(
    client: Client, upstream: Upstream, name: str
) -> None:
    before = upstream.disconnects
    upstream.plan.append(falls_silent(1.0))
    with opened(client) as socket:
        socket.send(json.dumps({"type": "response.create", "input": "Hello."}))
        while json.loads(socket.recv(timeout=20))["type"] != "response.output_text.delta":
            pass
    deadline = time.monotonic() + 5
    while upstream.disconnects == before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert upstream.disconnects > before
    upstream.plan.append(falls_silent(0.5))
    with opened(client, X_Hermes_Session_Id=name) as socket:
        socket.send(json.dumps({"type": "response.create", "input": "Hello."}))
        while json.loads(socket.recv(timeout=20))["type"] != "response.output_text.delta":
            pass
    assert "I see 3 messages" in client.say("Hello?", session=name).text


def test_what_is_not_stored_goes_on_from_what_is(client: Client, upstream: Upstream, name: str) -> None:
    client.say("My name is Alex.", session=name)
    with opened(client) as socket:
        base = ask(socket, "My town is called Rome.")[-1]["response"]["id"]
        first = ask(socket, "My cat is called Tom.", store=False, previous_response_id=base)[-1]["response"]["id"]
        assert "I know Rome, Tom." in words(ask(socket, "Names?", store=False, previous_response_id=first))
        talk = ask(socket, "My dog is called Rex.", store=False, conversation=name)[-1]["response"]["id"]
        assert "I know Alex, Rex." in words(ask(socket, "Names?", store=False, previous_response_id=talk))
    with opened(client, X_Hermes_Session_Id=name) as socket:
        first = ask(socket, "My cat is called Tom.", store=False)[-1]["response"]["id"]
        assert "I know Alex, Tom." in words(ask(socket, "Names?", store=False, previous_response_id=first))
    assert "I know Alex." in client.say("Names?", session=name).text
