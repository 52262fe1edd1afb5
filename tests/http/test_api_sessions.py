"""/api/sessions, as its clients see it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from everthread import wiring
from everthread.core.ids import Tenant
from front_door import Answer, Client, Everthread
from upstream import Upstream, calls, cuts, sleeps, status, streams


def path(session: str, rest: str = "") -> str:
    return f"/api/sessions/{quote(session, safe='')}{rest}"


def error(answer: Answer) -> tuple[int, str, str | None]:
    assert set(answer.json["error"]) == {"message", "type", "param", "code"}
    return answer.status, answer.json["error"]["code"], answer.json["error"]["param"]


def another_key(server: Everthread, tenant: str = "default", prefix: str | None = None) -> Client:
    assert server.running is not None
    store = server.running.site.store
    secret, key = wiring.new_key(wiring.SystemClock().now(), tenant=Tenant(tenant), session_key_prefix=prefix)
    asyncio.run_coroutine_threadsafe(store.add_key(key), server.loop).result(5)
    return Client(server.url, secret)


def patch(client: Client, session: str, **change: Any) -> Answer:
    return client.send("PATCH", path(session), json.dumps(change).encode())


def contents(answer: Answer) -> list[Any]:
    return [message["content"] for message in answer.json["data"]]


# --- looking ---


def test_a_session_says_what_it_is(client: Client, name: str) -> None:
    client.say("hello", session=name, key="alex")
    client.say("again", session=name)
    answer = client.get(path(name))
    assert (answer.status, answer.json["object"]) == (200, "hermes.session")
    session = answer.json["session"]
    assert session["id"] == session["tip_session_id"] == session["root_session_id"] == name
    assert (session["message_count"], session["model"], session["source"]) == (4, "fake-model", "api")
    assert (session["input_tokens"], session["output_tokens"], session["cache_read_tokens"]) == (22, 14, 10)
    assert (session["session_key"], session["title"], session["parent_session_id"]) == ("alex", None, None)
    assert (session["ended_at"], session["end_reason"]) == (None, None)
    assert abs(session["created_at"] - time.time()) < 60
    assert session["started_at"] == session["created_at"] <= session["updated_at"] == session["last_active"]
    assert "_lineage_root_id" not in session


@pytest.mark.parametrize("name", ["repo:acme/in/path", "two words", "100%", "100%25", "x?y#z", "..", "~+&="])
def test_any_id_can_stand_in_a_path(client: Client, name: str) -> None:
    client.say("hello", session=name)
    assert client.get(path(name)).json["session"]["id"] == name
    assert contents(client.get(path(name, "/messages")))[0] == "hello"
    assert client.send("DELETE", path(name)).json == {
        "object": "hermes.session.deleted",
        "id": name,
        "deleted": True,
    }
    assert client.get(path(name)).status == 404


def test_the_list_has_the_newest_first_in_pages(start: Callable[..., Everthread]) -> None:
    client = start().client
    for number in range(5):
        client.say("hi", session=f"s{number}", key="even" if number % 2 == 0 else "odd")
    listed = client.get("/api/sessions").json
    assert (listed["object"], listed["limit"], listed["offset"], listed["has_more"]) == ("list", 50, 0, False)
    assert [session["id"] for session in listed["data"]] == ["s4", "s3", "s2", "s1", "s0"]

    def ids(query: str, **headers: str) -> tuple[list[str], bool]:
        found = client.get(f"/api/sessions?{query}", **headers).json
        return [session["id"] for session in found["data"]], found["has_more"]

    assert ids("limit=2") == (["s4", "s3"], True)
    assert ids("limit=2&offset=4") == (["s0"], False)
    assert ids("limit=5") == (["s4", "s3", "s2", "s1", "s0"], False)
    assert ids("session_key=odd") == (["s3", "s1"], False)
    assert ids("", X_Hermes_Session_Key="odd") == (["s3", "s1"], False)
    assert ids("source=api_server")[0] == ids("source=api")[0] == ["s4", "s3", "s2", "s1", "s0"]
    assert ids("source=job") == ([], False)
    assert client.get("/api/sessions?limit=100000").json["limit"] == 200


def test_a_compressed_session_is_listed_as_its_tip(start: Callable[..., Everthread]) -> None:
    client = start().client
    for number in range(6):
        client.say(f"turn {number} " + "about many things " * 20, session="long")
    answer = client.post(path("long", "/compress"), {})
    assert answer.status == 200
    tip = answer.json["session"]
    assert (tip["parent_session_id"], tip["_lineage_root_id"], tip["message_count"]) == ("long", "long", 12)
    client.say("one more", session="long")
    (listed,) = client.get("/api/sessions").json["data"]
    assert (listed["id"], listed["_lineage_root_id"], listed["message_count"]) == (tip["id"], "long", 14)
    both = client.get("/api/sessions?include_children=true").json["data"]
    assert [session["id"] for session in both] == [tip["id"], "long"]
    ancestor = client.get(path("long")).json["session"]
    assert (ancestor["id"], ancestor["tip_session_id"]) == ("long", tip["id"])
    assert (ancestor["message_count"], ancestor["end_reason"]) == (12, "compression")
    for asked in ("long", tip["id"]):
        messages = client.get(path(asked, "/messages")).json
        assert (messages["session_id"], len(messages["data"])) == (tip["id"], 14)
    (branch,) = client.get(path("long", "/lineage")).json["branches"]
    assert ([s["id"] for s in branch["sessions"]], branch["head"]) == (["long", tip["id"]], True)
    assert client.post(path("nobody", "/compress"), {}).status == 404


def test_there_may_be_nothing_to_compress(client: Client, name: str) -> None:
    client.post("/api/sessions", {"id": name})
    assert client.post(path(name, "/compress"), {}).json["session"]["id"] == name


def test_messages_come_in_pages_and_in_either_order(client: Client, name: str) -> None:
    history = [{"role": "user", "content": "before"}, {"role": "assistant", "content": "it was so"}]
    client.say([*history, {"role": "user", "content": "one"}], session=name)
    client.say("two", session=name)
    everything = client.get(path(name, "/messages")).json
    assert everything["has_more"] is False
    data = everything["data"]
    assert [message["role"] for message in data] == ["user", "assistant"] * 3
    assert [message["content"] for message in data[:3]] == ["before", "it was so", "one"]
    assert (data[0]["source"], data[0]["timestamp"], data[0]["session_id"]) == ("import", None, name)
    assert (data[3]["finish_reason"], data[3]["token_count"], data[3]["model"]) == ("stop", 7, "fake-model")
    assert data[2]["run_id"] == data[3]["run_id"] != data[4]["run_id"]
    for order, wanted in (("asc", data), ("desc", data[::-1])):
        found: list[Any] = []
        more, after = True, ""
        while more:
            page = client.get(path(name, f"/messages?limit=4&order={order}&after={after}")).json
            found += page["data"]
            more, after = page["has_more"], page["data"][-1]["id"]
        assert found == wanted


def test_tool_calls_and_parts_are_shown_as_they_were_said(client: Client, upstream: Upstream, name: str) -> None:
    parts = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": "data:,x"}}]
    upstream.plan = [calls(("call_1", "look", '{"at": 1}'))]
    client.say([{"role": "user", "content": parts, "name": "Ann"}], session=name)
    client.say([{"role": "tool", "tool_call_id": "call_1", "name": "look", "content": "a cat"}], session=name)
    asked, called, result, _ = client.get(path(name, "/messages")).json["data"]
    assert (asked["content"], asked["name"]) == (parts, "Ann")
    assert (called["content"], called["finish_reason"]) == (None, "tool_calls")
    assert called["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at": 1}'}
    assert (result["tool_call_id"], result["tool_name"], result["content"]) == ("call_1", "look", "a cat")


def test_an_edit_shows_as_a_branch(client: Client, name: str) -> None:
    first = client.say("red", session=name).text
    client.say("green", session=name)
    body = [{"role": "user", "content": "red"}, {"role": "assistant", "content": first}]
    edited = client.say([*body, {"role": "user", "content": "blue"}], session=name)
    tip = edited.hermes["session_id"]
    assert tip != name
    main, side = client.get(path(name, "/lineage")).json["branches"]
    assert (main["head"], side["head"], side["forked_from"], side["shared_messages"]) == (False, True, main["id"], 2)
    assert contents(client.get(path(tip, "/messages")))[::2] == ["red", "blue"]
    assert client.get(path(name)).json["session"]["tip_session_id"] == tip


def test_an_export_has_a_line_for_each_message(start: Callable[..., Everthread]) -> None:
    client = start().client
    for number in range(120):
        client.say(f"line {number}", session="repo:acme/x")
    answer = client.get(path("repo:acme/x", "/export"))
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert answer.headers["content-disposition"] == 'attachment; filename="repo-acme-x.jsonl"'
    first, *rest = [json.loads(line) for line in answer.body.decode().splitlines()]
    assert (first["object"], first["session"]["id"]) == ("hermes.session", "repo:acme/x")
    assert [m["content"] for m in rest if m["role"] == "user"] == [f"line {n}" for n in range(120)]
    assert {m["object"] for m in rest} == {"hermes.message"}


# --- changing ---


def test_a_session_can_be_made_before_anything_is_said(client: Client, name: str) -> None:
    made = client.post("/api/sessions", {"id": name, "title": "Plans", "metadata": {"a": 1}, "model": "x"})
    assert (made.status, made.json["session"]["title"], made.json["session"]["message_count"]) == (201, "Plans", 0)
    assert error(client.post("/api/sessions", {"session_id": name})) == (409, "session_exists", "id")
    client.say("my name is Ada", session=name)
    assert client.get(path(name)).json["session"]["message_count"] == 2
    keyed = client.send("POST", "/api/sessions", None, {"X-Hermes-Session-Key": "ada"})
    assert keyed.status == 201
    assert keyed.json["session"]["session_key"] == "ada"
    fresh = keyed.json["session"]["id"]
    assert client.say("who am I?", session=fresh).hermes["session_key"] == "ada"
    body_key = client.post("/api/sessions", {"session_key": "grace"}).json["session"]
    assert body_key["session_key"] == "grace"


def test_a_title_is_given_and_taken_away_and_a_session_ended(client: Client, name: str) -> None:
    client.say("hi", session=name)
    assert patch(client, name, title="Trip").json["session"]["title"] == "Trip"
    ended = patch(client, name, end_reason="completed").json["session"]
    assert (ended["title"], ended["end_reason"]) == ("Trip", "completed")
    assert ended["ended_at"] is not None
    client.say("hi again", session=name)
    session = client.get(path(name)).json["session"]
    assert (session["end_reason"], session["ended_at"]) == (None, None)
    assert patch(client, name, title=None, end=True).json["session"]["end_reason"] == "user_exit"
    assert client.get(path(name)).json["session"]["title"] is None


def test_a_fork_goes_its_own_way(client: Client, name: str) -> None:
    for word in ("red", "green", "blue"):
        client.say(word, session=name, key="painter")
    ids = [message["id"] for message in client.get(path(name, "/messages")).json["data"]]
    made = client.post(path(name, "/fork"), {"id": f"{name}-fork", "title": "Another", "at": ids[3]})
    assert made.status == 201
    session = made.json["session"]
    assert (session["id"], session["title"], session["message_count"]) == (f"{name}-fork", "Another", 4)
    assert (session["parent_session_id"], session["session_key"]) == (name, "painter")
    assert "I see 5 messages" in client.say("white", session=f"{name}-fork").text
    assert contents(client.get(path(f"{name}-fork", "/messages")))[::2] == ["red", "green", "white"]
    assert contents(client.get(path(name, "/messages")))[::2] == ["red", "green", "blue"]
    whole = client.send("POST", path(name, "/fork"))
    assert whole.json["session"]["message_count"] == 6
    assert error(client.post(path(name, "/fork"), {"id": name})) == (409, "session_exists", "id")
    assert error(client.post(path(name, "/fork"), {"at": "msg_nope_0"})) == (400, "invalid_value", "at")
    assert client.send("DELETE", path(name)).status == 200
    assert contents(client.get(path(f"{name}-fork", "/messages")))[::2] == ["red", "green", "white"]


def test_a_deleted_session_starts_empty_and_leaves_no_word_behind(start: Callable[..., Everthread]) -> None:
    server = start()
    client = server.client
    client.say("the password is secretaxolotl, my name is Ada", session="doomed", key="k")
    client.say("what a nice day", session="kept", key="k")
    home = server.settings.home
    assert any(b"secretaxolotl" in file.read_bytes() for file in home.iterdir() if file.is_file())
    assert client.send("DELETE", path("doomed")).json["deleted"] is True
    assert not any(b"secretaxolotl" in file.read_bytes() for file in home.iterdir() if file.is_file())
    assert error(client.send("DELETE", path("doomed"))) == (404, "not_found", None)
    assert "I know nobody. I see 1 messages" in client.say("who am I?", session="doomed").text
    assert [s["id"] for s in client.get("/api/sessions").json["data"]] == ["doomed", "kept"]


def test_a_deletion_waits_for_the_turn_that_runs_or_is_refused(client: Client, upstream: Upstream, name: str) -> None:
    client.say("one", session=name)
    upstream.plan = [sleeps(0.6)]
    turn = threading.Thread(target=lambda: client.say("two", session=name))
    turn.start()
    while len(upstream.requests) < 2:
        time.sleep(0.01)
    refused = client.send("DELETE", path(name), headers={"X-Hermes-On-Busy": "reject"})
    assert error(refused) == (409, "session_busy", None)
    assert patch(client, name, title="in the middle").status == 200
    began = time.monotonic()
    assert client.send("DELETE", path(name)).status == 200
    assert time.monotonic() - began > 0.2
    turn.join()
    assert client.get(path(name)).status == 404


# --- taking part ---


def test_a_turn_can_be_taken_in_a_session(client: Client, upstream: Upstream, name: str) -> None:
    client.post("/api/sessions", {"id": name})
    answer = client.post(path(name, "/chat"), {"message": "my name is Ada", "system_message": "Be brief."})
    assert answer.status == 200
    assert (answer.json["object"], answer.json["session_id"]) == ("hermes.session.chat.completion", name)
    assert answer.json["message"]["role"] == "assistant"
    assert "I know Ada" in answer.json["message"]["content"]
    assert answer.json["usage"] == {
        "input_tokens": 11,
        "output_tokens": 7,
        "total_tokens": 18,
        "cache_read_tokens": 5,
    }
    assert answer.json["hermes"]["session_id"] == answer.headers["x-hermes-session-id"] == name
    assert "Be brief." in json.dumps(upstream.prompts[-1])
    again = client.post(path(name, "/chat"), {"input": [{"type": "text", "text": "who am I?"}]})
    assert "I know Ada" in again.json["message"]["content"]
    assert "Be brief." not in json.dumps(upstream.prompts[-1])
    client.post(path(name, "/chat"), {"input": [{"role": "user", "content": "and now?"}], "temperature": 0.5})
    assert upstream.requests[-1]["temperature"] == 0.5
    assert len(contents(client.get(path(name, "/messages")))) == 6


def test_a_turn_in_a_session_honours_the_headers(client: Client, upstream: Upstream, name: str) -> None:
    client.say("hi", session=name, key="k")
    again = {"Idempotency-Key": f"once-{name}", "X-Hermes-Session-Id": "elsewhere"}
    body = json.dumps({"message": "do it"}).encode()
    first = client.send("POST", path(name, "/chat"), body, again)
    repeat = client.send("POST", path(name, "/chat"), body, again)
    assert first.json["message"] == repeat.json["message"]
    assert (repeat.headers["idempotent-replayed"], len(upstream.requests)) == ("true", 2)
    assert client.get(path("elsewhere")).status == 404, "the path names the session"
    other = client.send("POST", path(name, "/chat"), body, {"X-Hermes-Session-Key": "other"})
    assert error(other) == (409, "session_key_mismatch", None)


def events(answer: Answer) -> list[tuple[str, Any]]:
    found = []
    for block in answer.body.decode().strip().split("\n\n"):
        if not block.startswith(":"):
            event, data = block.split("\n")
            found.append((event.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_a_turn_can_be_streamed_in_the_words_of_hermes(client: Client, name: str) -> None:
    client.post("/api/sessions", {"id": name})
    answer = client.post(path(name, "/chat/stream"), {"message": "my name is Ada"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    found = events(answer)
    names = [event for event, _ in found]
    assert names[:3] == ["run.started", "message.started", "assistant.delta"]
    assert names[-3:] == ["assistant.completed", "run.completed", "done"]
    assert found[0][1]["user_message"] == {"role": "user", "content": "my name is Ada"}
    text = "".join(data["delta"] for event, data in found if event == "assistant.delta")
    assert found[-3][1]["content"] == text
    assert "I know Ada" in text
    assert found[-2][1]["usage"]["total_tokens"] == 18
    assert found[-2][1]["hermes"]["session_id"] == name
    assert [data["seq"] for _, data in found] == list(range(1, len(found) + 1))
    assert {(data["session_id"], data["run_id"]) for _, data in found} == {(name, answer.headers["x-hermes-run-id"])}


def test_reasoning_is_streamed_apart(client: Client, upstream: Upstream, name: str) -> None:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {"model": "fake-model", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    client.post("/api/sessions", {"id": name})
    upstream.plan = [
        streams(chunk({"reasoning_content": "hm"}), chunk({"content": "Yes."}), chunk({}, "stop"), "[DONE]")
    ]
    found = events(client.post(path(name, "/chat/stream"), {"message": "sure?"}))
    assert [data["delta"] for event, data in found if event == "tool.progress"] == ["hm"]
    assert [data["content"] for event, data in found if event == "assistant.completed"] == ["Yes."]
    assert client.get(path(name, "/messages")).json["data"][-1]["reasoning"] == "hm"


def test_a_failed_turn_has_a_status_or_an_error_event(client: Client, upstream: Upstream, name: str) -> None:
    client.post("/api/sessions", {"id": name})
    upstream.plan = [status(401)]
    assert client.post(path(name, "/chat/stream"), {"message": "hi"}).status == 502
    upstream.plan = [cuts]
    found = events(client.post(path(name, "/chat/stream"), {"message": "hi"}))
    assert [event for event, _ in found[-2:]] == ["error", "done"]
    assert found[-2][1]["error"]["code"] == "upstream_disconnected"
    assert client.get(path(name)).json["session"]["message_count"] == 0


# --- who may, and what is refused ---

ROUTES = [
    ("GET", ""),
    ("PATCH", ""),
    ("DELETE", ""),
    ("GET", "/messages"),
    ("POST", "/fork"),
    ("POST", "/compress"),
    ("GET", "/lineage"),
    ("GET", "/export"),
    ("POST", "/chat"),
    ("POST", "/chat/stream"),
]
BODY = json.dumps({"message": "hi", "title": "x"}).encode()


@pytest.mark.parametrize(("method", "rest"), ROUTES)
def test_what_is_not_there_and_what_is_anothers_look_the_same(
    server: Everthread, client: Client, method: str, rest: str
) -> None:
    client.say("secret of the default tenant", session="ours", key="team:1")
    other, bound = another_key(server, "other"), another_key(server, prefix="user:")
    body = None if method in {"GET", "DELETE"} else BODY
    answers = [
        client.send(method, path("nobody", rest), body),
        other.send(method, path("ours", rest), body),
        bound.send(method, path("ours", rest), body),
        client.send(method, path("n\u00f6\n\x00", rest), body),
        client.send(method, "/api/sessions/%ff%fe" + rest, body),
        client.send(method, path("@current", rest), body),
    ]
    assert {error(answer) for answer in answers} == {(404, "not_found", None)}
    assert len({answer.body for answer in answers}) == 1
    assert Client(server.url, None).send(method, path("ours", rest), body).status == 401


def test_a_bound_key_sees_and_makes_only_what_is_its_own(server: Everthread, client: Client) -> None:
    client.say("hi", session="bound-theirs", key="team:7")
    client.say("hi", session="bound-unkeyed")
    client.say("hi", session="bound-mine", key="acme:7")
    bound = another_key(server, prefix="acme:")
    assert [s["id"] for s in bound.get("/api/sessions").json["data"]] == ["bound-mine"]
    assert error(bound.get("/api/sessions?session_key=team:7"))[0] == 404
    assert bound.get(path("bound-mine")).status == 200
    assert error(bound.post("/api/sessions", {})) == (400, "invalid_value", "X-Hermes-Session-Key")
    assert bound.post("/api/sessions", {"session_key": "team:7"}).status == 404
    assert bound.post("/api/sessions", {"session_key": "acme:8"}).status == 201
    assert error(bound.post("/api/sessions", {"session_key": "acme:8", "id": "bound-theirs"}))[0] == 409


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("?limit=0", "limit"),
        ("?limit=-1", "limit"),
        ("?limit=many", "limit"),
        ("?limit=%D9%A3", "limit"),
        ("?limit=9999999999999999999999", "limit"),
        ("?offset=-1", "offset"),
        ("?offset=1.5", "offset"),
        ("?include_children=perhaps", "include_children"),
        ("?session_key=%0a", "session_key"),
        ("?" + "&".join(f"a{n}=1" for n in range(200)), None),
    ],
)
def test_a_bad_query_of_the_list_is_named(client: Client, query: str, param: str | None) -> None:
    assert error(client.get("/api/sessions" + query)) == (400, "invalid_value", param)


@pytest.mark.parametrize(
    ("query", "param"),
    [("limit=x", "limit"), ("order=up", "order"), ("after=nope", "after"), ("after=msg_import_1_0", "after")],
)
def test_a_bad_query_of_messages_is_named(client: Client, name: str, query: str, param: str) -> None:
    client.say("hi", session=name[:20])
    assert error(client.get(path(name[:20], f"/messages?{query}"))) == (400, "invalid_value", param)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"id": "x" * 257}, "id"),
        ({"id": "a\nb"}, "id"),
        ({"id": "@current"}, "id"),
        ({"id": 7}, "body.id"),
        ({"title": "x" * 300}, "body.title"),
        ({"session_key": "a\u0007"}, "session_key"),
        ([], None),
        ({"title": "a\u0000b"}, None),
    ],
)
def test_a_bad_creation_is_refused(client: Client, body: Any, param: str | None) -> None:
    assert error(client.post("/api/sessions", body)) == (400, "invalid_value", param)


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({}, "title"),
        ({"end": False}, "title"),
        ({"end_reason": "compression"}, "end_reason"),
        ({"title": 1}, "body.title"),
    ],
)
def test_a_bad_change_is_refused(client: Client, name: str, change: dict[str, Any], param: str) -> None:
    client.say("hi", session=name[:20])
    assert error(patch(client, name[:20], **change)) == (400, "invalid_value", param)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "message"),
        ({"message": ""}, "message"),
        ({"input": []}, "input"),
        ({"message": 7}, "message"),
        ({"message": {"text": "x"}}, "message"),
        ({"message": "hi", "temperature": "hot"}, "temperature"),
        ({"message": "hi", "instructions": 7}, "messages[0].content"),
    ],
)
def test_a_bad_turn_is_refused(client: Client, name: str, body: dict[str, Any], param: str) -> None:
    client.post("/api/sessions", {"id": name[:20]})
    assert error(client.post(path(name[:20], "/chat"), body)) == (400, "invalid_value", param)


def test_methods_that_a_path_does_not_take_are_named(client: Client) -> None:
    answer = client.send("PUT", path("x"))
    assert error(answer) == (405, "method_not_allowed", None)
    assert {"GET", "PATCH", "DELETE"} <= set(answer.headers["allow"].replace(" ", "").split(","))
    assert client.send("HEAD", "/api/sessions").status == 200
    assert client.get("/api/sessions/").status == client.get("/api/sessions/x/nope").status == 404


def test_capabilities_tell_of_sessions(client: Client) -> None:
    features = client.get("/v1/capabilities").json["features"]
    assert all(
        features[name] for name in ("session_resources", "session_chat", "session_chat_streaming", "session_fork")
    )


def test_a_store_that_cannot_be_read_is_a_503(start: Callable[..., Everthread]) -> None:
    server = start()
    server.client.say("hi", session="s")
    server.break_store()
    for answer in (
        server.client.get("/api/sessions"),
        server.client.get(path("s")),
        server.client.send("DELETE", path("s")),
    ):
        assert error(answer) == (503, "storage_unavailable", None)
