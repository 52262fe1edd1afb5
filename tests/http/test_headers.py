"""What headers mean, and which ones come back: the same for JSON and for streams."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from front_door import Answer, Client, Everthread
from upstream import HEAD, Behaviour, Upstream, chunk, end, event, status

both = pytest.mark.parametrize("stream", [False, True], ids=["json", "sse"])

SESSION_ID, SESSION_KEY = "x-hermes-session-id", "x-hermes-session-key"
ORIGIN = "https://ui.example"


def error_of(answer: Answer) -> dict[str, Any]:
    error = answer.json["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return dict(error)


def refused(answer: Answer, status: int, code: str) -> bool:
    assert (answer.status, error_of(answer)["code"]) == (status, code)
    return True


class Held:
    """A model that begins to answer, and goes on when it is let go."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._go = threading.Event()

    async def behave(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        self.asked.set()
        writer.write(HEAD)
        await event(writer, chunk({"role": "assistant", "content": "Slowly"}))
        await asyncio.get_running_loop().run_in_executor(None, self._go.wait, 20)
        await event(writer, chunk({"content": " done."}, "stop"))
        await event(writer, "[DONE]")
        await end(writer)

    def let_go(self) -> None:
        self._go.set()


@contextmanager
def running(upstream: Upstream, turn: Callable[[], Answer]) -> Iterator[list[Answer]]:
    """A turn that runs for as long as the block; its answer is in the list afterwards."""
    held = Held()
    upstream.plan[:] = [held.behave]
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(turn()))
    thread.start()
    try:
        assert held.asked.wait(10)
        yield answers
    finally:
        held.let_go()
        thread.join(10)


# --- the session headers ---


@both
def test_both_session_headers_come_back(client: Client, name: str, stream: bool) -> None:
    answer = client.say("Hello.", session=name, key=f"{name} key", stream=stream)
    assert answer.headers[SESSION_ID] == answer.hermes["session_id"] == name
    assert answer.headers[SESSION_KEY] == answer.hermes["session_key"] == f"{name} key"


@both
def test_a_key_without_an_id_makes_a_session_and_an_id_without_a_key_has_none(
    client: Client, name: str, stream: bool
) -> None:
    only_key = client.say("Hello.", key=name, stream=stream)
    assert only_key.headers[SESSION_ID] not in {"", name}
    assert only_key.headers[SESSION_KEY] == name
    only_id = client.say("Hello.", session=name, stream=stream)
    assert only_id.headers[SESSION_ID] == name
    assert SESSION_KEY not in only_id.headers
    assert only_id.hermes["session_key"] is None


@both
def test_one_key_has_many_sessions_that_do_not_read_each_other(
    client: Client, upstream: Upstream, name: str, stream: bool
) -> None:
    client.say("My name is Alex.", session=f"{name} 1", key=name, stream=stream)
    client.say("Who am I?", session=f"{name} 2", key=name, stream=stream)
    assert upstream.prompts[-1] == [{"role": "user", "content": "Who am I?"}]


@both
@pytest.mark.parametrize("blank", ["", "   ", "\t"])
def test_a_blank_header_is_absent(client: Client, stream: bool, blank: str) -> None:
    answer = client.say("Hello.", session=blank, key=blank, stream=stream, headers={"Idempotency-Key": blank})
    assert answer.status == 200
    assert answer.headers[SESSION_ID].startswith("ses_")
    assert SESSION_KEY not in answer.headers
    assert answer.hermes["session_key"] is None


@pytest.mark.parametrize(
    "session",
    ["h", "h" * 256, "repo:acme/headers", "support:4712", "agent:main:webui:dm:user-43", "a b ~!\"'{}%00\\"],
)
def test_any_printable_name_is_a_session_id(client: Client, upstream: Upstream, session: str) -> None:
    for _ in range(2):
        answer = client.say("Hello.", session=session)
        assert answer.headers[SESSION_ID] == answer.hermes["session_id"] == session
    assert len(upstream.prompts[-1]) == 3


def test_ids_that_differ_in_case_name_two_sessions(client: Client, upstream: Upstream, name: str) -> None:
    client.say("Hello.", session=name.lower())
    client.say("Hello.", session=name.upper())
    assert len(upstream.prompts[-1]) == 1


@both
def test_open_webuis_own_headers_stand_in_for_ours(client: Client, upstream: Upstream, name: str, stream: bool) -> None:
    theirs = {"X-OpenWebUI-Chat-Id": name, "X-OpenWebUI-User-Id": f"{name} user"}
    first = client.say("Hello.", headers=theirs, stream=stream)
    assert (first.headers[SESSION_ID], first.headers[SESSION_KEY]) == (name, f"{name} user")
    client.say("Again.", session=name, key=f"{name} user", stream=stream)
    assert len(upstream.prompts[-1]) == 3


@both
def test_our_headers_win_over_open_webuis(client: Client, name: str, stream: bool) -> None:
    theirs = {"X-OpenWebUI-Chat-Id": "theirs", "X-OpenWebUI-User-Id": "their user"}
    answer = client.say("Hello.", session=name, key=f"{name} key", headers=theirs, stream=stream)
    assert (answer.headers[SESSION_ID], answer.headers[SESSION_KEY]) == (name, f"{name} key")


# --- ids of requests and runs ---


@both
def test_a_request_id_comes_back(client: Client, stream: bool) -> None:
    given = client.say("Hello.", stream=stream, headers={"X-Request-Id": "my-request-1"})
    assert given.headers["x-request-id"] == "my-request-1"
    made = {client.say("Hello.", stream=stream).headers["x-request-id"] for _ in range(2)}
    assert len(made) == 2
    assert all(each.startswith("req_") for each in made)


def test_an_error_has_a_request_id_too(client: Client) -> None:
    for path in ("/nowhere", "/v1/models/none", "/v1/chat/completions"):
        assert client.get(path, X_Request_Id="mine").headers["x-request-id"] == "mine"
        assert client.get(path).headers["x-request-id"].startswith("req_")


@both
def test_the_run_id_is_the_same_in_header_and_body(client: Client, stream: bool) -> None:
    first, second = (client.say("Hello.", stream=stream) for _ in range(2))
    assert first.headers["x-hermes-run-id"] == first.hermes["run_id"]
    assert first.hermes["run_id"].startswith("run_")
    assert first.hermes["run_id"] != second.hermes["run_id"]


# --- whose session it is ---


@both
def test_the_first_key_binds_a_session(client: Client, upstream: Upstream, name: str, stream: bool) -> None:
    client.say("Hello.", session=name, key="first", stream=stream)
    kept = client.say("Still here.", session=name, stream=stream)
    assert kept.hermes["session_key"] == "first", "without the header it keeps its key"
    assert SESSION_KEY not in kept.headers, "only what was sent comes back"
    asked = len(upstream.requests)
    assert refused(client.say("Mine!", session=name, key="second", stream=stream), 409, "session_key_mismatch")
    assert len(upstream.requests) == asked
    client.say("And now?", session=name, key="first", stream=stream)
    assert "Mine!" not in json.dumps(upstream.prompts[-1])
    assert len(upstream.prompts[-1]) == 5


@both
def test_a_session_without_a_key_joins_the_first_one_it_meets(
    client: Client, upstream: Upstream, name: str, stream: bool
) -> None:
    client.say("My name is Alex.", session=name, stream=stream)
    joined = client.say("Who am I?", session=name, key=f"{name} key", stream=stream)
    assert joined.hermes["session_key"] == f"{name} key"
    assert "I know Alex" in joined.text
    assert refused(client.say("Mine!", session=name, key="another", stream=stream), 409, "session_key_mismatch")


def test_a_session_joins_a_key_that_has_other_sessions_already(client: Client, name: str) -> None:
    client.say("Hello.", session=f"{name} 1", key=name)
    client.say("Hello.", session=f"{name} 2")
    joined = client.say("Hello.", session=f"{name} 2", key=name)
    assert joined.hermes["session_key"] == name
    assert client.say("Hello.", session=f"{name} 2").hermes["session_key"] == name


def test_a_failed_turn_binds_nothing(client: Client, upstream: Upstream, name: str) -> None:
    client.say("Hello.", session=name)
    upstream.plan[:] = [status(400)]
    client.say("Hello?", session=name, key="a wrong key")
    assert client.say("Hello!", session=name, key="the right key").hermes["session_key"] == "the right key"


# --- auxiliary requests ---


@both
def test_a_task_sees_the_session_and_leaves_no_trace(
    client: Client, upstream: Upstream, name: str, stream: bool
) -> None:
    client.say("My name is Alex.", session=name)
    task = client.say("### Task: a title.", session=name, stream=stream, headers={"X-Hermes-Task": "title"})
    assert task.status == 200
    assert "I know Alex" in task.text
    client.say("Go on.", session=name)
    assert [m["role"] for m in upstream.prompts[-1]] == ["user", "assistant", "user"]
    assert "### Task" not in json.dumps(upstream.prompts[-1])


@both
def test_a_task_does_not_begin_a_session_nor_bind_it(
    client: Client, upstream: Upstream, name: str, stream: bool
) -> None:
    client.say("A title?", session=name, key="from a task", stream=stream, headers={"X-Hermes-Task": "title"})
    assert client.say("Hello.", session=name, key="its own").status == 200
    assert upstream.prompts[-1] == [{"role": "user", "content": "Hello."}]


def test_a_task_does_not_wait_for_a_turn_that_runs(client: Client, upstream: Upstream, name: str) -> None:
    with running(upstream, lambda: client.say("Slowly.", session=name)) as answers:
        assert client.say("A title?", session=name, headers={"X-Hermes-Task": "title"}).status == 200
        assert not answers
    assert answers[0].status == 200


def test_a_task_is_bound_by_the_sessions_key_too(client: Client, name: str) -> None:
    client.say("Hello.", session=name, key="first")
    task = client.say("A title?", session=name, key="second", headers={"X-Hermes-Task": "title"})
    assert refused(task, 409, "session_key_mismatch")


# --- redelivery ---


@both
@pytest.mark.parametrize("first_stream", [False, True], ids=["first json", "first sse"])
def test_a_message_id_sent_again_brings_the_recorded_reply(
    client: Client, upstream: Upstream, name: str, first_stream: bool, stream: bool
) -> None:
    known = {"X-Hermes-Message-Id": "telegram-17"}
    first = client.say("Hello.", session=name, headers=known, stream=first_stream)
    again = client.say("Hello.", session=name, headers=known, stream=stream)
    assert again.status == 200
    assert again.text == first.text
    assert again.hermes["run_id"] == again.headers["x-hermes-run-id"] == first.hermes["run_id"]
    assert len(upstream.requests) == 1
    client.say("Go on.", session=name)
    assert len(upstream.prompts[-1]) == 3


def test_the_same_message_id_in_another_session_is_another_message(
    client: Client, upstream: Upstream, name: str
) -> None:
    known = {"X-Hermes-Message-Id": "17"}
    client.say("Hello.", session=f"{name} 1", headers=known)
    client.say("Hello.", session=f"{name} 2", headers=known)
    client.say("Hello.", headers=known)
    client.say("Hello.", headers=known)
    assert len(upstream.requests) == 4


def test_a_message_that_failed_runs_when_it_is_delivered_again(client: Client, upstream: Upstream, name: str) -> None:
    known = {"X-Hermes-Message-Id": "17"}
    upstream.plan[:] = [status(400)]
    assert client.say("Hello.", session=name, headers=known).status == 400
    assert client.say("Hello.", session=name, headers=known).status == 200


def test_a_message_delivered_twice_at_once_runs_once(client: Client, upstream: Upstream, name: str) -> None:
    known = {"X-Hermes-Message-Id": "17"}
    second: list[Answer] = []
    with running(upstream, lambda: client.say("Hello.", session=name, headers=known)) as first:
        thread = threading.Thread(target=lambda: second.append(client.say("Hello.", session=name, headers=known)))
        thread.start()
        time.sleep(0.1)
    thread.join(10)
    assert first[0].hermes["run_id"] == second[0].hermes["run_id"]
    assert len(upstream.requests) == 1


def test_another_key_may_not_hear_a_recorded_reply(client: Client, name: str) -> None:
    known = {"X-Hermes-Message-Id": "17"}
    client.say("Hello.", session=name, key="first", headers=known)
    again = client.say("Hello.", session=name, key="second", headers=known)
    assert refused(again, 409, "session_key_mismatch")


@both
def test_a_redelivery_under_a_new_idempotency_key_can_be_repeated(
    client: Client, upstream: Upstream, name: str, stream: bool
) -> None:
    client.say("Hello.", session=name, stream=stream, headers={"X-Hermes-Message-Id": "17"})
    for _ in range(2):
        again = client.say(
            "Hello.",
            session=name,
            stream=stream,
            headers={"X-Hermes-Message-Id": "17", "Idempotency-Key": f"{name} new"},
        )
        assert again.status == 200, again.body
    assert len(upstream.requests) == 1


# --- a busy session ---


@both
def test_on_busy_reject_is_refused_at_once(client: Client, upstream: Upstream, name: str, stream: bool) -> None:
    with running(upstream, lambda: client.say("Slowly.", session=name)) as answers:
        busy = client.say("Quick!", session=name, stream=stream, headers={"X-Hermes-On-Busy": "reject"})
        assert refused(busy, 409, "session_busy")
        assert int(busy.headers["retry-after"]) >= 1
        assert busy.headers["x-should-retry"] == "false"
        assert not answers
    assert answers[0].text == "Slowly done."
    free = client.say("Quick!", session=name, stream=stream, headers={"X-Hermes-On-Busy": "reject"})
    assert free.status == 200
    assert len(upstream.prompts[-1]) == 3


def test_on_busy_reject_names_the_run_that_holds_the_session(client: Client, upstream: Upstream, name: str) -> None:
    with running(upstream, lambda: client.say("Slowly.", session=name)) as answers:
        busy = client.say("Quick!", session=name, headers={"X-Hermes-On-Busy": "reject"})
    assert answers[0].hermes["run_id"] in {busy.headers.get("x-hermes-run-id"), *error_of(busy)["message"].split()}


def test_a_busy_session_is_waited_for_and_others_are_not(client: Client, upstream: Upstream, name: str) -> None:
    second: list[Answer] = []
    with running(upstream, lambda: client.say("My name is Alex.", session=name)):
        thread = threading.Thread(target=lambda: second.append(client.say("Who am I?", session=name)))
        thread.start()
        assert client.say("Hello.", session=f"{name} 2").status == 200
        assert not second
    thread.join(10)
    assert "I know Alex" in second[0].text


# --- idempotency ---


def test_the_same_request_twice_is_one_turn_and_one_answer(client: Client, upstream: Upstream, name: str) -> None:
    first, second = (client.say("Hello.", session=name, headers={"Idempotency-Key": name}) for _ in range(2))
    assert second.status == 200
    assert second.json == first.json
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    for header in (SESSION_ID, "x-hermes-run-id", "content-type"):
        assert second.headers[header] == first.headers[header]
    assert len(upstream.requests) == 1


def test_the_same_stream_twice_is_one_turn_and_one_answer(client: Client, upstream: Upstream, name: str) -> None:
    more = {"stream": True, "stream_options": {"include_usage": True}, "headers": {"Idempotency-Key": name}}
    first, second = (client.say("Hello.", session=name, key="a key", **more) for _ in range(2))
    assert second.text == first.text
    assert second.events[-1] == first.events[-1] == "[DONE]"
    assert {e["id"] for e in second.events[:-1]} == {e["id"] for e in first.events[:-1]}
    assert {e["created"] for e in second.events[:-1]} == {e["created"] for e in first.events[:-1]}
    assert second.events[-3:] == first.events[-3:], "finish reason, hermes, usage"
    assert second.headers["idempotent-replayed"] == "true"
    for header in (SESSION_ID, SESSION_KEY, "x-hermes-run-id", "content-type"):
        assert second.headers[header] == first.headers[header]
    assert len(upstream.requests) == 1


def test_a_replay_is_the_same_after_the_conversation_went_on(client: Client, upstream: Upstream, name: str) -> None:
    once = {"Idempotency-Key": name}
    first = client.say("Hello.", session=name, headers=once)
    client.say("Go on.", session=name, key="joined since")
    assert client.say("Hello.", session=name, headers=once).json["choices"] == first.json["choices"]
    client.say("And on.", session=name)
    assert len(upstream.prompts[-1]) == 5


def test_an_unnamed_session_is_found_again_by_the_key(client: Client, upstream: Upstream, name: str) -> None:
    first, second = (client.say("Hello.", headers={"Idempotency-Key": name}) for _ in range(2))
    assert second.json == first.json
    assert second.headers[SESSION_ID] == first.headers[SESSION_ID]
    assert len(upstream.requests) == 1


def test_the_order_of_fields_and_white_space_make_no_other_request(
    client: Client, upstream: Upstream, name: str
) -> None:
    path, once = "/v1/chat/completions", {"Idempotency-Key": name}
    a = b'{"messages":[{"role":"user","content":"caf\\u00e9"}],"seed":7}'
    b = ' { "seed" : 7, "messages" : [ {"content":"café", "role":"user"} ] } '.encode()
    first, second = client.send("POST", path, a, once), client.send("POST", path, b, once)
    assert second.headers["idempotent-replayed"] == "true"
    assert first.json == second.json


@pytest.mark.parametrize(
    "other",
    [
        {"text": "Goodbye."},
        {"stream": True},
        {"temperature": 1},
        {"session": "another session"},
        {"session": None},
        {"key": "another key"},
    ],
    ids=["another body", "streamed", "another option", "another session", "no session", "another session key"],
)
def test_another_request_under_the_same_key_is_refused(
    client: Client, upstream: Upstream, name: str, other: dict[str, Any]
) -> None:
    same: dict[str, Any] = {"text": "Hello.", "session": name, "headers": {"Idempotency-Key": name}}
    assert client.say(**same).status == 200
    assert refused(client.say(**{**same, **other}), 422, "idempotency_mismatch")
    assert len(upstream.requests) == 1
    assert client.say(**same).headers["idempotent-replayed"] == "true"


def test_a_stream_is_not_replayed_as_json(client: Client, upstream: Upstream, name: str) -> None:
    once = {"Idempotency-Key": name}
    assert client.say("Hello.", session=name, stream=True, headers=once).status == 200
    assert refused(client.say("Hello.", session=name, headers=once), 422, "idempotency_mismatch")


@both
def test_a_key_in_flight_is_refused_for_the_moment(client: Client, upstream: Upstream, name: str, stream: bool) -> None:
    def say() -> Answer:
        return client.say("Hello.", session=name, stream=stream, headers={"Idempotency-Key": name})

    with running(upstream, say) as answers:
        early = say()
        assert refused(early, 409, "idempotency_in_progress")
        assert int(early.headers["retry-after"]) >= 1
    late = say()
    assert late.headers["idempotent-replayed"] == "true"
    assert late.text == answers[0].text == "Slowly done."
    assert len(upstream.requests) == 1


def test_a_malformed_request_does_not_use_up_its_key(client: Client, name: str) -> None:
    once = {"Idempotency-Key": name}
    assert client.say("Hello.", session=name, headers=once, temperature=5).status == 400
    assert client.say("Hello.", session=name, headers=once, temperature=1).status == 200


@both
def test_a_replay_survives_a_restart(
    start: Callable[..., Everthread], upstream: Upstream, tmp_path: Path, stream: bool
) -> None:
    say: dict[str, Any] = {"text": "Hello.", "session": "s", "stream": stream, "headers": {"Idempotency-Key": "k"}}
    server = start(tmp_path)
    first = server.client.say(**say)
    unnamed = server.client.say("Hi.", headers={"Idempotency-Key": "unnamed"})
    server.stop()
    client = start(tmp_path).client
    second = client.say(**say)
    assert second.headers["idempotent-replayed"] == "true"
    assert second.text == first.text
    assert second.hermes == first.hermes
    assert client.say("Hi.", headers={"Idempotency-Key": "unnamed"}).json == unnamed.json
    assert len(upstream.requests) == 2


# --- tenants ---


def new_key(server: Everthread, *more: str) -> str:
    made = subprocess.run(
        [sys.executable, "-m", "everthread", "keys", "create", *more],
        env={**os.environ, "EVERTHREAD_HOME": str(server.settings.home)},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return made.stdout.strip()


@pytest.fixture(scope="module")
def key_of_b(server: Everthread) -> str:
    return new_key(server, "--tenant", "B")


@pytest.fixture(scope="module")
def key_of_team_a(server: Everthread) -> str:
    return new_key(server, "--session-key-prefix", "team-a:")


@pytest.fixture
def other(client: Client, key_of_b: str) -> Client:
    """The client of another tenant."""
    return Client(client.url, key_of_b)


@both
def test_another_tenant_with_the_same_session_id_starts_empty(
    client: Client, other: Client, upstream: Upstream, name: str, stream: bool
) -> None:
    client.say("My name is Alex.", session=name, key=name, stream=stream)
    theirs = other.say("Who am I?", session=name, key="another key", stream=stream)
    assert theirs.status == 200, "not even the key is known there"
    assert upstream.prompts[-1] == [{"role": "user", "content": "Who am I?"}]
    client.say("Who am I?", session=name, stream=stream)
    assert len(upstream.prompts[-1]) == 3


@both
def test_idempotency_keys_of_two_tenants_do_not_collide(
    client: Client, other: Client, upstream: Upstream, name: str, stream: bool
) -> None:
    once = {"Idempotency-Key": name}
    mine = client.say("Hello.", session=name, headers=once, stream=stream)
    theirs = other.say("Something else.", session=name, headers=once, stream=stream)
    same = other.say("Hello.", headers={"Idempotency-Key": f"{name} 2"})
    assert theirs.status == same.status == 200
    assert "idempotent-replayed" not in theirs.headers
    assert mine.hermes["run_id"] != theirs.hermes["run_id"]
    assert len(upstream.requests) == 3


def test_message_ids_of_two_tenants_do_not_collide(
    client: Client, other: Client, upstream: Upstream, name: str
) -> None:
    known = {"X-Hermes-Message-Id": "17"}
    client.say("Hello.", session=name, headers=known)
    other.say("Hello.", session=name, headers=known)
    assert len(upstream.requests) == 2


def test_a_busy_session_of_one_tenant_is_free_for_another(
    client: Client, other: Client, upstream: Upstream, name: str
) -> None:
    with running(upstream, lambda: client.say("Slowly.", session=name)):
        free = other.say("Hello.", session=name, headers={"X-Hermes-On-Busy": "reject"})
        assert free.status == 200


def test_a_revoked_key_stops_at_once(server: Everthread, client: Client) -> None:
    secret = new_key(server, "--tenant", "C")
    theirs = Client(client.url, secret)
    assert theirs.say("Hello.").status == 200
    subprocess.run(
        [sys.executable, "-m", "everthread", "keys", "revoke", secret.split("_")[1]],
        env={**os.environ, "EVERTHREAD_HOME": str(server.settings.home)},
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert refused(theirs.say("Hello."), 401, "invalid_api_key")


def test_a_key_bound_to_a_prefix_reaches_nothing_outside_it(
    client: Client, key_of_team_a: str, upstream: Upstream, name: str
) -> None:
    bound = Client(client.url, key_of_team_a)
    client.say("A secret.", session=name, key="team-b:x")
    client.say("A secret.", session=f"{name} unkeyed")
    asked = len(upstream.requests)
    assert refused(bound.say("Hello.", session=name), 404, "not_found")
    assert refused(bound.say("Hello.", session=f"{name} unkeyed"), 404, "not_found")
    assert refused(bound.say("Hello.", session=f"{name} unkeyed", key="team-a:me"), 404, "not_found")
    assert refused(bound.say("Hello.", session=f"{name} 2", key="team-b:x"), 404, "not_found")
    assert bound.say("Hello.", session=f"{name} 2").status == 400
    assert len(upstream.requests) == asked
    assert bound.say("Hello.", session=f"{name} 2", key="team-a:me").status == 200
    assert bound.say("Hello.", session=f"{name} 2").status == 200


def test_a_key_bound_to_a_prefix_hears_no_recorded_reply_to_a_message_id_from_outside_it(
    client: Client, key_of_team_a: str, name: str
) -> None:
    known = {"X-Hermes-Message-Id": "17"}
    client.say("A secret.", session=name, key="team-b:x", headers=known)
    assert refused(Client(client.url, key_of_team_a).say("What?", session=name, headers=known), 404, "not_found")


def test_a_key_bound_to_a_prefix_hears_no_recorded_reply_to_an_idempotency_key_from_outside_it(
    client: Client, key_of_team_a: str, name: str
) -> None:
    once = {"Idempotency-Key": name}
    client.say("A secret.", session=name, headers=once)
    client.say("Joins team B.", session=name, key="team-b:x")
    assert refused(Client(client.url, key_of_team_a).say("A secret.", session=name, headers=once), 404, "not_found")


# --- cross-origin pages ---


@pytest.fixture(scope="module")
def open_server(shared_upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everthread]:
    everthread = Everthread(tmp_path_factory.mktemp("cors"), shared_upstream.url, cors_origins=ORIGIN)
    yield everthread
    everthread.stop()


@pytest.fixture
def page(open_server: Everthread, upstream: Upstream) -> Client:
    """Talks to a server that lets pages of one origin in."""
    return open_server.client


ASKING = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,x-new-sdk-header"}
OURS = ("X-Hermes-Session-Id", "X-Hermes-Session-Key", "X-Hermes-Run-Id", "X-Request-Id", "Idempotent-Replayed")


def listed(answer: Answer, header: str) -> set[str]:
    return {item.strip().lower() for item in answer.headers[header].split(",")}


def let_in(answer: Answer) -> bool:
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert {name.lower() for name in OURS} | {"retry-after"} <= listed(answer, "access-control-expose-headers")
    assert "origin" in answer.headers["vary"].lower()
    return True


def test_a_preflight_allows_everything_a_page_may_send(page: Client) -> None:
    asking = Client(page.url, key=None)
    answer = asking.send("OPTIONS", "/v1/chat/completions", headers={"Origin": ORIGIN, **ASKING})
    assert answer.status in {200, 204}
    assert let_in(answer)
    allowed = listed(answer, "access-control-allow-headers")
    for name in (
        *("Authorization", "Content-Type", "Idempotency-Key", "X-Hermes-Session-Id", "X-Hermes-Session-Key"),
        *("X-Hermes-Task", "X-Hermes-Message-Id", "X-Hermes-Parent-Message-Id", "X-Hermes-Message-Time"),
        *("X-Hermes-Wait-For-Memory", "X-Hermes-Server-Tools", "X-Hermes-On-Busy", "X-New-SDK-Header"),
    ):
        assert name.lower() in allowed
    assert {"get", "post", "patch", "delete"} <= listed(answer, "access-control-allow-methods")


@both
def test_a_pages_request_is_answered_with_readable_headers(page: Client, name: str, stream: bool) -> None:
    answer = page.say("Hello.", session=name, stream=stream, headers={"Origin": ORIGIN})
    assert answer.status == 200
    assert let_in(answer)
    assert answer.headers[SESSION_ID] == name


@pytest.mark.parametrize(
    ("path", "more", "status"),
    [
        ("/v1/models", {}, 200),
        ("/health", {}, 200),
        ("/v1/capabilities", {}, 200),
        ("/nowhere", {}, 404),
        ("/v1/runs", {}, 405),
        ("/v1/models", {"Authorization": "Bearer wrong"}, 401),
        ("/v1/models", {"X-Request-Id": "x" * 300}, 400),
    ],
    ids=["models", "health", "capabilities", "404", "405", "401", "400"],
)
def test_a_page_may_read_every_answer(page: Client, path: str, more: dict[str, str], status: int) -> None:
    answer = page.send("GET", path, headers={"Origin": ORIGIN, **more})
    assert answer.status == status
    assert let_in(answer)


@pytest.mark.parametrize("fault", [status(400), status(401)], ids=["400", "401"])
@both
def test_a_page_may_read_a_failure_upstream(page: Client, upstream: Upstream, fault: Behaviour, stream: bool) -> None:
    upstream.plan[:] = [fault]
    answer = page.say("Hello.", stream=stream, headers={"Origin": ORIGIN})
    assert answer.status in {400, 502}
    assert let_in(answer)


@pytest.mark.parametrize("origin", ["https://evil.example", "http://ui.example", "https://ui.example.evil", "null"])
def test_other_origins_get_nothing(page: Client, origin: str) -> None:
    preflight = page.send("OPTIONS", "/v1/chat/completions", headers={"Origin": origin, **ASKING})
    said = page.say("Hello.", headers={"Origin": origin})
    for answer in (preflight, said):
        assert not [header for header in answer.headers if header.startswith("access-control-")]


def test_cross_origin_pages_are_kept_out_by_default(client: Client) -> None:
    preflight = client.send("OPTIONS", "/v1/chat/completions", headers={"Origin": ORIGIN, **ASKING})
    said = client.say("Hello.", headers={"Origin": ORIGIN})
    for answer in (preflight, said):
        assert not [header for header in answer.headers if header.startswith("access-control-")]
