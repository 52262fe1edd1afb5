"""/v1/runs and background responses: turns that outlive their connection."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

from front_door import Answer, Client, Everthread
from upstream import HEAD, Behaviour, Upstream, chunk, cuts, end, event, status

PATH = "/v1/runs"


def begin(client: Client, given: Any, **more: Any) -> Answer:
    headers = {
        header: more.pop(name)
        for name, header in (
            ("session", "X-Hermes-Session-Id"),
            ("key", "X-Hermes-Session-Key"),
            ("once", "Idempotency-Key"),
        )
        if name in more
    }
    answer = client.send("POST", PATH, json.dumps({"input": given, **more}).encode(), headers)
    assert answer.status == 202, answer.body
    return answer


def over(client: Client, run_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        run = client.get(f"{PATH}/{run_id}").json
        if run["status"] in {"completed", "failed", "cancelled", "interrupted"}:
            return dict(run)
        time.sleep(0.02)
    raise AssertionError(run)


def settled(client: Client, response_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        response = client.get(f"/v1/responses/{response_id}").json
        if response["status"] not in {"queued", "in_progress"}:
            return dict(response)
        time.sleep(0.02)
    raise AssertionError(response)


def heard(answer: Answer) -> list[tuple[int, dict[str, Any]]]:
    """The events with their ids."""
    assert answer.status == 200, answer.body
    found = []
    for block in answer.body.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if lines:
            found.append((int(lines["id"]), json.loads(lines["data"])))
    return found


class Slow:
    """An upstream that says a word, waits until it may go on, and says the rest."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def __call__(self) -> Behaviour:
        async def behave(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
            writer.write(HEAD)
            await event(writer, chunk({"role": "assistant", "content": "Well, "}))
            while not self.go_on.is_set():
                await asyncio.sleep(0.01)
            await event(writer, chunk({"content": "yes."}))
            await event(writer, chunk({}, "stop"))
            await event(writer, "[DONE]")
            await end(writer)

        return behave


# --- runs ---


def test_a_run_goes_on_by_itself_in_its_session(client: Client, name: str) -> None:
    client.say("My name is Alex.", session=name)
    begun = begin(client, "Who am I?", session=name, metadata={"a": "b"})
    assert begun.json["status"] == "started"
    assert begun.json["session_id"] == name
    assert begun.headers["x-hermes-run-id"] == begun.json["run_id"]
    run = over(client, begun.json["run_id"])
    assert run["object"] == "hermes.run"
    assert "I know Alex" in run["output"]
    assert (run["status"], run["session_id"], run["metadata"]) == ("completed", name, {"a": "b"})
    assert run["usage"]["total_tokens"] > 0
    assert "I see 5 messages" in client.say("And now?", session=name).text


def test_the_body_may_name_the_session_and_a_run_without_one_gets_one(client: Client, name: str) -> None:
    over(client, begin(client, "My name is Alex.", session_id=name).json["run_id"])
    assert "I know Alex" in client.say("Who am I?", session=name).text
    alone = begin(client, "My name is Kim.").json
    over(client, alone["run_id"])
    assert "I know Kim" in client.say("Who am I?", session=alone["session_id"]).text
    both = client.send(
        "POST", PATH, json.dumps({"input": "x", "session_id": "a"}).encode(), {"X-Hermes-Session-Id": "b"}
    )
    assert (both.status, both.json["error"]["param"]) == (400, "session_id")


def test_a_run_takes_messages_instructions_and_a_session_key(client: Client, upstream: Upstream, name: str) -> None:
    messages = [{"role": "user", "content": "Hello."}]
    begun = begin(client, messages, instructions="Be brief.", session=name, key=f"key:{name}")
    over(client, begun.json["run_id"])
    assert upstream.prompts[-1] == [{"role": "system", "content": "Be brief."}, *messages]
    wrong = client.send(
        "POST",
        PATH,
        b'{"input": "x"}',
        {"X-Hermes-Session-Id": name, "X-Hermes-Session-Key": "another"},
    )
    assert (wrong.status, wrong.json["error"]["code"]) == (409, "session_key_mismatch")


def test_events_are_numbered_followed_and_replayed_alike(client: Client, upstream: Upstream, name: str) -> None:
    slow = Slow()
    upstream.plan.append(slow())
    run_id = begin(client, "Hello.", session=name).json["run_id"]
    answers: list[Answer] = []
    readers = [threading.Thread(target=lambda: answers.append(client.get(f"{PATH}/{run_id}/events"))) for _ in range(3)]
    for reader in readers:
        reader.start()
    time.sleep(0.3)
    assert client.get(f"{PATH}/{run_id}").json["status"] == "running"
    slow.go_on.set()
    for reader in readers:
        reader.join(20)
    followed = heard(answers[0])
    assert [body["event"] for _, body in followed] == ["run.started", "message.delta", "message.delta", "run.completed"]
    assert [number for number, _ in followed] == [1, 2, 3, 4]
    assert all(heard(answer) == followed for answer in answers)
    assert heard(client.get(f"{PATH}/{run_id}/events")) == followed
    after = client.send("GET", f"{PATH}/{run_id}/events", headers={"Last-Event-ID": "2"})
    assert heard(after) == followed[2:]
    assert followed[-1][1]["output"] == "Well, yes."


def test_a_browser_follows_a_run_with_its_own_token_and_nothing_else(client: Client, name: str) -> None:
    begun = begin(client, "Hello.", session=name).json
    over(client, begun["run_id"])
    other = begin(client, "Hello.", session=name).json
    over(client, other["run_id"])
    stranger = Client(client.url, key=None)
    assert heard(stranger.get(begun["events_url"]))[-1][1]["event"] == "run.completed"
    token = begun["events_url"].partition("?")[2]
    for path in (
        f"{PATH}/{other['run_id']}/events?{token}",
        f"{PATH}/{begun['run_id']}/events?token=nonsense",
        f"{PATH}/{begun['run_id']}/events",
        f"{PATH}/{begun['run_id']}?{token}",
        f"/v1/models?{token}",
    ):
        assert stranger.get(path).status == 401, path


def test_a_stopped_run_leaves_nothing_in_the_session(client: Client, upstream: Upstream, name: str) -> None:
    upstream.plan.append(Slow()())
    run_id = begin(client, "Hello.", session=name).json["run_id"]
    time.sleep(0.2)
    stopped = client.send("POST", f"{PATH}/{run_id}/stop").json
    assert stopped["status"] == "cancelled"
    events = heard(client.get(f"{PATH}/{run_id}/events"))
    assert [body["event"] for _, body in events] == ["run.started", "message.delta", "run.cancelled"]
    assert client.send("POST", f"{PATH}/{run_id}/stop").json["status"] == "cancelled"
    assert "I see 1 messages" in client.say("Hello?", session=name).text


def test_a_run_that_fails_says_why(client: Client, upstream: Upstream, name: str) -> None:
    upstream.plan += [status(500)] * 3
    refused = over(client, begin(client, "Hello.", session=name).json["run_id"])
    assert (refused["status"], refused["error"]["code"]) == ("failed", "upstream_failed")
    upstream.plan.append(cuts)
    broken = over(client, begin(client, "Hello.", session=name).json["run_id"])
    assert broken["status"] == "failed"
    events = heard(client.get(f"{PATH}/{broken['run_id']}/events"))
    assert [body["event"] for _, body in events] == ["run.started", "message.delta", "run.failed"]
    assert events[-1][1]["error"]["code"] == broken["error"]["code"]
    assert "I see 1 messages" in client.say("Hello?", session=name).text


def test_the_same_idempotency_key_is_the_same_run(client: Client, upstream: Upstream, name: str) -> None:
    first = begin(client, "Hello.", session=name, once=name).json["run_id"]
    assert begin(client, "Hello.", session=name, once=name).json["run_id"] == first
    over(client, first)
    assert begin(client, "Hello.", session=name, once=name).json["run_id"] == first
    other = client.send("POST", PATH, b'{"input": "Other."}', {"Idempotency-Key": name, "X-Hermes-Session-Id": name})
    assert (other.status, other.json["error"]["code"]) == (422, "idempotency_mismatch")
    assert "I see 3 messages" in client.say("Hello?", session=name).text


def test_any_turn_can_be_read_again_as_a_run(client: Client, name: str) -> None:
    said = client.say("Hello.", session=name, stream=True)
    run_id = said.headers["x-hermes-run-id"]
    run = client.get(f"{PATH}/{run_id}").json
    assert (run["status"], run["output"], run["session_id"]) == ("completed", said.text, name)
    events = heard(client.get(f"{PATH}/{run_id}/events"))
    assert "".join(body["delta"] for _, body in events if body["event"] == "message.delta") == said.text
    response = client.post("/v1/responses", {"input": "Hello."})
    events = heard(client.get(f"{PATH}/{response.headers['x-hermes-run-id']}/events"))
    assert events[-1][1]["event"] == "run.completed"


def test_a_turn_that_lost_its_connection_is_followed_while_it_runs(
    client: Client, upstream: Upstream, name: str
) -> None:
    slow = Slow()
    upstream.plan.append(slow())
    body = json.dumps({"messages": [{"role": "user", "content": "Hello."}], "stream": True}).encode()
    headers = {"X-Hermes-Session-Id": name}
    with client.opened("POST", "/v1/chat/completions", body, headers) as reply:
        run_id = reply.headers["X-Hermes-Run-Id"]
    assert client.get(f"{PATH}/{run_id}").json["status"] == "running"
    answers: list[Answer] = []
    reader = threading.Thread(target=lambda: answers.append(client.get(f"{PATH}/{run_id}/events")))
    reader.start()
    time.sleep(0.1)
    slow.go_on.set()
    reader.join(20)
    events = heard(answers[0])
    assert events[-1][1]["output"] == "Well, yes."
    assert heard(client.get(f"{PATH}/{run_id}/events"))[-1][1]["output"] == "Well, yes."


def test_a_run_that_is_not_there_is_a_404(client: Client) -> None:
    for path in ("run_nope", "run_nope/events", "nope", "run_1/events"):
        assert client.get(f"{PATH}/{path}").status == 404
    assert client.send("POST", f"{PATH}/run_nope/stop").status == 404
    for body in (
        {},
        {"input": ""},
        {"input": 5},
        {"input": "x", "metadata": {"a": 1}},
        {"input": "x", "session_id": "\n"},
    ):
        assert client.post(PATH, body).status == 400, body


def test_runs_of_one_session_wait_for_each_other(client: Client, upstream: Upstream, name: str) -> None:
    begun = [begin(client, f"number {number}", session=name).json["run_id"] for number in range(6)]
    outputs = [over(client, run_id)["output"] for run_id in begun]
    assert [f"I see {2 * number + 1} messages" in output for number, output in enumerate(outputs)] == [True] * 6


# --- background responses ---


def test_a_background_response_is_queued_runs_and_is_completed(client: Client, upstream: Upstream) -> None:
    slow = Slow()
    upstream.plan.append(slow())
    begun = client.post("/v1/responses", {"input": "Hello.", "background": True, "metadata": {"a": "b"}}).json
    assert (begun["status"], begun["output"], begun["background"]) == ("queued", [], True)
    time.sleep(0.2)
    running = client.get(f"/v1/responses/{begun['id']}").json
    assert running["status"] == "in_progress"
    early = client.post("/v1/responses", {"input": "And?", "previous_response_id": begun["id"]})
    assert (early.status, early.json["error"]["param"]) == (400, "previous_response_id")
    slow.go_on.set()
    done = settled(client, begun["id"])
    assert done["output"][0]["content"][0]["text"] == "Well, yes."
    assert done["metadata"] == {"a": "b"}
    more = client.post("/v1/responses", {"input": "And?", "previous_response_id": begun["id"]})
    assert len(upstream.prompts[-1]) == 3
    assert more.status == 200


def test_a_background_response_is_streamed_now_and_later_with_the_same_events(
    client: Client, upstream: Upstream
) -> None:
    slow = Slow()
    upstream.plan.append(slow())
    threading.Timer(0.3, slow.go_on.set).start()
    first = client.post("/v1/responses", {"input": "Hello.", "background": True, "stream": True}).events
    assert [event["type"] for event in first[:3]] == ["response.created", "response.queued", "response.in_progress"]
    assert first[-2]["type"] == "response.completed"
    id_ = first[0]["response"]["id"]
    assert client.get(f"/v1/responses/{id_}?stream=true").events == first
    assert client.get(f"/v1/responses/{id_}?stream=true&starting_after=4").events == first[5:]


def test_a_background_response_is_cancelled(client: Client, upstream: Upstream) -> None:
    upstream.plan.append(Slow()())
    id_ = client.post("/v1/responses", {"input": "Hello.", "background": True}).json["id"]
    time.sleep(0.2)
    assert client.send("POST", f"/v1/responses/{id_}/cancel").json["status"] == "cancelled"
    assert client.get(f"/v1/responses/{id_}").json["status"] == "cancelled"
    assert client.send("POST", f"/v1/responses/{id_}/cancel").json["status"] == "cancelled"
    plain = client.post("/v1/responses", {"input": "Hello."}).json["id"]
    assert client.send("POST", f"/v1/responses/{plain}/cancel").status == 400
    assert client.send("DELETE", f"/v1/responses/{id_}").status == 200
    assert client.get(f"/v1/responses/{id_}").status == 404


def test_a_background_response_that_fails_says_why(client: Client, upstream: Upstream) -> None:
    upstream.plan.append(cuts)
    id_ = client.post("/v1/responses", {"input": "Hello.", "background": True}).json["id"]
    failed = settled(client, id_)
    assert failed["status"] == "failed"
    assert failed["error"]["code"] == "server_error"
    *events, done = client.get(f"/v1/responses/{id_}?stream=true").events
    assert (events[-1]["type"], done) == ("response.failed", "[DONE]")
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_what_leaves_no_trace_cannot_run_by_itself(client: Client) -> None:
    for headers in ({"X-Hermes-Task": "title"}, {"X-Hermes-Session-Id": "temporary:1"}):
        assert client.send("POST", PATH, b'{"input": "x"}', headers).status == 400


def test_a_key_that_is_bound_to_a_prefix_hears_only_its_own_runs(
    start: Callable[..., Everthread], upstream: Upstream
) -> None:
    from everthread import wiring

    server = start()
    assert server.running is not None
    secret, key = wiring.new_key(wiring.SystemClock().now(), session_key_prefix="team:")
    asyncio.run_coroutine_threadsafe(server.running.site.store.add_key(key), server.loop).result(10)
    bound = Client(server.url, secret)
    theirs = begin(server.client, "My name is Alex.", session="a", key="other:1").json["run_id"]
    over(server.client, theirs)
    response = server.client.post("/v1/responses", {"input": "x"}, X_Hermes_Session_Key="other:1").json["id"]
    for path in (f"{PATH}/{theirs}", f"{PATH}/{theirs}/events", f"/v1/responses/{response}"):
        assert bound.get(path).status == 404, path
    refused = bound.post(
        "/v1/responses", {"input": "x", "previous_response_id": response}, X_Hermes_Session_Key="team:1"
    )
    assert refused.status == 400
    own = begin(bound, "Hello.", session="b", key="team:1").json["run_id"]
    assert over(bound, own)["status"] == "completed"


def test_a_background_response_that_fails_before_it_begins_says_so_in_its_stream(client: Client) -> None:
    orphan = [{"type": "function_call_output", "call_id": "call_9", "output": "?"}]
    answer = client.post("/v1/responses", {"input": orphan, "background": True, "stream": True})
    assert answer.status == 200
    failed = [event for event in answer.events if event != "[DONE]"][-1]
    assert failed["type"] == "response.failed"
    assert "call_9" in failed["response"]["error"]["message"]
    shown = client.get(f"/v1/responses/{failed['response']['id']}").json
    assert (shown["status"], shown["error"]["code"]) == ("failed", "invalid_prompt")


# --- the same for everyone, always ---


def test_who_listened_to_a_plain_turn_can_come_back_for_the_rest(client: Client, upstream: Upstream, name: str) -> None:
    slow = Slow()
    upstream.plan.append(slow())
    body = json.dumps({"messages": [{"role": "user", "content": "Hello."}], "stream": True}).encode()
    with client.opened("POST", "/v1/chat/completions", body, {"X-Hermes-Session-Id": name}) as reply:
        run_id = reply.headers["X-Hermes-Run-Id"]
    answers: list[Answer] = []
    reader = threading.Thread(target=lambda: answers.append(client.get(f"{PATH}/{run_id}/events")))
    reader.start()
    time.sleep(0.2)
    slow.go_on.set()
    reader.join(20)
    live = heard(answers[0])
    assert heard(client.get(f"{PATH}/{run_id}/events")) == live
    rest = client.send("GET", f"{PATH}/{run_id}/events", headers={"Last-Event-ID": str(live[1][0])})
    assert heard(rest) == live[2:]


def test_events_and_responses_of_a_session_that_was_compressed_are_told_as_they_were(client: Client, name: str) -> None:
    for words in ("My name is Alex.", "I live in Oslo.", "I like tea."):
        client.say(words, session=name)
    client.say("/compress", session=name)
    made = client.send(
        "POST",
        "/v1/responses",
        json.dumps({"input": "Who am I?", "stream": True}).encode(),
        {"X-Hermes-Session-Id": name},
    )
    run_id = made.headers["x-hermes-run-id"]
    first = heard(client.get(f"{PATH}/{run_id}/events"))
    assert [body["event"] for _, body in first][-2:] == ["session.rotated", "run.completed"]
    client.say("/compress", session=name)
    client.say("And now?", session=name)
    assert heard(client.get(f"{PATH}/{run_id}/events")) == first
    id_ = made.events[0]["response"]["id"]
    assert client.get(f"/v1/responses/{id_}?stream=true").events == made.events
    assert client.get(f"/v1/responses/{id_}").json == made.events[-2]["response"]


def test_somebodys_own_turn_is_stopped_where_it_stands(client: Client, upstream: Upstream, name: str) -> None:
    upstream.plan.append(Slow()())
    body = json.dumps({"messages": [{"role": "user", "content": "Hello."}], "stream": True}).encode()
    with client.opened("POST", "/v1/chat/completions", body, {"X-Hermes-Session-Id": name}) as reply:
        run_id = reply.headers["X-Hermes-Run-Id"]
        stopped = client.send("POST", f"{PATH}/{run_id}/stop").json
        assert (stopped["status"], stopped["output"]) == ("completed", "Well, ")


def test_runs_wait_for_their_session_however_long_its_line_is(client: Client, upstream: Upstream, name: str) -> None:
    slow = Slow()
    upstream.plan.append(slow())
    begun = [begin(client, f"number {number}", session=name).json["run_id"] for number in range(80)]
    time.sleep(0.3)
    slow.go_on.set()
    assert {over(client, run_id)["status"] for run_id in begun} == {"completed"}


def test_a_command_is_not_run_by_itself(client: Client, upstream: Upstream, name: str) -> None:
    asked = len(upstream.requests)
    for path, body in ((PATH, {"input": "/new"}), ("/v1/responses", {"input": "/new", "background": True})):
        refused = client.post(path, body, X_Hermes_Session_Id=name)
        assert (refused.status, "command" in refused.json["error"]["message"]) == (400, True)
    assert len(upstream.requests) == asked
