"""Bridges: @current, /new, /reset, /compress, and what happens when a session is busy."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from front_door import Answer, Client, Everthread
from upstream import Upstream, falls_silent, own_text, sleeps, text_of

both = pytest.mark.parametrize("stream", [False, True], ids=["json", "sse"])


def test_current_needs_a_key(client: Client) -> None:
    answer = client.say("hi", session="@current")
    assert answer.status == 400
    assert "X-Hermes-Session-Key" in answer.json["error"]["message"]


@both
def test_current_is_the_keys_session_and_new_begins_another(
    client: Client, upstream: Upstream, name: str, stream: bool
) -> None:
    one = client.say("My name is Alex.", session="@current", key=name, stream=stream)
    two = client.say("Who am I?", session="@current", key=name, stream=stream)
    assert "Alex" in two.text
    assert one.hermes["session_id"] == two.hermes["session_id"] == two.headers["x-hermes-session-id"]
    assert two.hermes["rotated"] is False
    asked = len(upstream.requests)
    told = client.say(" /new ", session="@current", key=name, stream=stream)
    assert len(upstream.requests) == asked, "it is not sent to the model"
    assert told.hermes["session_id"] in told.text
    assert told.hermes["session_id"] != one.hermes["session_id"]
    three = client.say("Who am I?", session="@current", key=name, stream=stream)
    assert three.hermes["session_id"] == told.hermes["session_id"]
    said = [own_text(message) for message in upstream.prompts[-1] if message["role"] != "system"]
    assert said == ["Who am I?"], "nothing but what the key remembers"
    assert "Alex" in client.say("And here?", session=one.hermes["session_id"], stream=stream).text


def test_two_keys_have_two_current_sessions(client: Client, name: str) -> None:
    one = client.say("My name is Alex.", session="@current", key=f"{name} 1")
    two = client.say("Who am I?", session="@current", key=f"{name} 2")
    assert one.hermes["session_id"] != two.hermes["session_id"]
    assert "nobody" in two.text


def test_many_first_messages_at_once_share_one_current_session(client: Client, name: str) -> None:
    answers: list[Answer] = []
    threads = [
        threading.Thread(target=lambda: answers.append(client.say("hi", session="@current", key=name)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert {answer.status for answer in answers} == {200}
    assert len({answer.hermes["session_id"] for answer in answers}) == 1


def test_a_named_id_keeps_naming_the_old_transcript(client: Client, upstream: Upstream, name: str) -> None:
    client.say("My name is Alex.", session=name)
    told = client.say("/reset", session=name)
    assert told.hermes["session_id"] != name
    assert "Alex" in client.say("Who am I?", session=name).text
    assert "nobody" in client.say("Who am I?", session=told.hermes["session_id"]).text


def test_a_redelivered_new_begins_one_session_only(client: Client, name: str) -> None:
    headers = {"X-Hermes-Message-Id": "m1"}
    ids = [client.say("/new", session="@current", key=name, headers=headers).hermes["session_id"] for _ in range(3)]
    assert len(set(ids)) == 1


def test_the_same_message_id_in_two_chats_begins_two_sessions(client: Client, name: str) -> None:
    headers = {"X-Hermes-Message-Id": "17"}
    ids = [client.say("/new", session=f"{name} {n}", key=name, headers=headers).hermes["session_id"] for n in range(2)]
    assert len(set(ids)) == 2
    assert len({client.say("/new", headers=headers).hermes["session_id"] for _ in range(2)}) == 2


def test_a_request_without_a_trace_makes_no_current_session(client: Client, name: str) -> None:
    answer = client.say("A title?", session="@current", key=name, headers={"X-Hermes-Task": "title"})
    assert answer.status == 200
    assert client.get(f"/api/sessions?session_key={name}").json["data"] == []


def test_a_command_is_the_whole_message_or_none(client: Client, upstream: Upstream, name: str) -> None:
    client.say("What does /new do?", session=name)
    client.say("/newest", session=name)
    assert len(upstream.requests) == 2


def test_commands_can_be_turned_off(start: Callable[..., Everthread], upstream: Upstream) -> None:
    client = start(commands="off").client
    client.say("/new", session="s")
    assert text_of(upstream.prompts[-1][-1]) == "/new"


def test_compress_rotates_now(client: Client, upstream: Upstream, name: str) -> None:
    assert client.say("/compress", session=name).status == 404
    for number in range(6):
        client.say(f"Order {number} costs ${number}00.", session=name)
    told = client.say("/compress", session=name)
    assert told.hermes["parent_session_id"] == name
    assert told.hermes["session_id"] in told.text
    answer = client.say("Go on.", session=name)
    assert answer.hermes["session_id"] == told.hermes["session_id"]
    log, *window = upstream.prompts[-1]
    assert "Order 0 costs $000." in text_of(log)
    assert len(window) < 13


# --- busy ---


def test_an_interrupted_answer_stands_as_far_as_it_came(client: Client, upstream: Upstream, name: str) -> None:
    upstream.plan[:] = [falls_silent(20)]
    answers: list[Answer] = []
    first = threading.Thread(target=lambda: answers.append(client.say("one", session=name, stream=True)))
    first.start()
    wait_for(lambda: len(upstream.requests) == 1)
    time.sleep(0.2)
    began = time.monotonic()
    second = client.say("two", session=name, headers={"X-Hermes-On-Busy": "interrupt"})
    first.join(10)
    assert time.monotonic() - began < 5
    assert second.status == 200
    assert answers[0].events[-1] == "[DONE]"
    prompt = upstream.prompts[-1]
    assert text_of(prompt[0]) == "one"
    assert text_of(prompt[1]) == answers[0].text != ""
    assert text_of(prompt[2]) == "two"


def test_a_turn_interrupted_before_its_first_word_says_so(client: Client, upstream: Upstream, name: str) -> None:
    upstream.plan[:] = [sleeps(20)]
    answers: list[Answer] = []
    first = threading.Thread(target=lambda: answers.append(client.say("one", session=name)))
    first.start()
    wait_for(lambda: len(upstream.requests) == 1)
    assert client.say("two", session=name, headers={"X-Hermes-On-Busy": "interrupt"}).status == 200
    first.join(10)
    assert answers[0].text == "[interrupted]"
    assert client.say("three", session=name, headers={"X-Hermes-On-Busy": "interrupt"}).status == 200, "nobody to stop"


def test_a_waiting_request_whose_client_left_is_not_run(client: Client, upstream: Upstream, name: str) -> None:
    upstream.plan[:] = [sleeps(1.0)]
    first = threading.Thread(target=client.say, args=("one",), kwargs={"session": name})
    first.start()
    wait_for(lambda: len(upstream.requests) == 1)
    body = json.dumps({"messages": [{"role": "user", "content": "left"}], "stream": True}).encode()
    leave = threading.Thread(target=knock, args=(client, body, name))
    leave.start()
    leave.join(5)
    first.join(10)
    client.say("two", session=name)
    assert [text_of(message) for message in upstream.prompts[-1] if message["role"] == "user"] == ["one", "two"]


def knock(client: Client, body: bytes, session: str) -> None:
    """Asks, waits a moment, and leaves without an answer."""
    address = urlsplit(client.url)
    with socket.create_connection((address.hostname or "", address.port or 0)) as raw:
        raw.sendall(
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {client.key}\r\n"
            f"X-Hermes-Session-Id: {session}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        time.sleep(0.3)


def wait_for(true: Callable[[], Any]) -> None:
    for _ in range(200):
        if true():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")
