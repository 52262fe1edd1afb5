"""What a session id means, seen by the front door."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from front_door import Client, Everthread
from upstream import Upstream, falls_silent, says

both = pytest.mark.parametrize("stream", [False, True], ids=["json", "sse"])


def roles(prompt: list[dict[str, object]]) -> list[object]:
    return [message["role"] for message in prompt]


def words(prompt: list[dict[str, object]]) -> list[object]:
    return [message["content"] for message in prompt]


@both
def test_without_a_header_a_fresh_session_is_made_and_its_id_returned(client: Client, stream: bool) -> None:
    first, second = (client.say("hi", stream=stream) for _ in range(2))
    assert first.status == second.status == 200
    assert first.headers["x-hermes-session-id"] == first.hermes["session_id"]
    assert first.hermes["session_id"] != second.hermes["session_id"], "two who say the same words never share"


@both
def test_a_fresh_session_goes_on_by_its_id(client: Client, upstream: Upstream, stream: bool) -> None:
    made = client.say("My name is Alex.", stream=stream).hermes["session_id"]
    answer = client.say("Who am I?", session=made, stream=stream)
    assert "I know Alex" in answer.text
    assert answer.hermes["session_id"] == made


@both
def test_the_second_turn_sees_the_first(client: Client, upstream: Upstream, name: str, stream: bool) -> None:
    client.say("My name is Alex.", session=name, stream=stream)
    answer = client.say("What is my name?", session=name, stream=stream)
    assert "I know Alex" in answer.text
    assert roles(upstream.prompts[-1]) == ["user", "assistant", "user"]
    assert answer.headers["x-hermes-session-id"] == answer.hermes["session_id"] == name


@pytest.mark.parametrize("session", ["repo:acme/backend", "support:4711", "a b", '~!@#$%^&*()_+{}|:"<>?', "x" * 256])
def test_an_id_may_be_any_printable_name(client: Client, session: str) -> None:
    assert client.say("hi", session=session).headers["x-hermes-session-id"] == session


def test_two_sessions_never_see_each_other(client: Client, name: str) -> None:
    client.say("My name is Alex.", session=f"{name}/1")
    client.say("My name is Robin.", session=f"{name}/2")
    one, two = client.say("Who?", session=f"{name}/1").text, client.say("Who?", session=f"{name}/2").text
    assert "Alex" in one
    assert "Robin" not in one
    assert "Robin" in two
    assert "Alex" not in two


def test_the_ledger_wins_over_a_foreign_history_in_the_body(client: Client, upstream: Upstream, name: str) -> None:
    client.say("stored question", session=name)
    client.say(
        [
            {"role": "user", "content": "the client's own past"},
            {"role": "assistant", "content": "never said here"},
            {"role": "user", "content": "new question"},
        ],
        session=name,
    )
    assert words(upstream.prompts[-1])[0] == "stored question"
    assert words(upstream.prompts[-1])[-1] == "new question"
    assert "the client's own past" not in words(upstream.prompts[-1])
    client.say("and then?", session=name)
    assert len(upstream.prompts[-1]) == 5


def test_an_unknown_id_with_a_history_is_seeded_with_it(client: Client, upstream: Upstream, name: str) -> None:
    history = [{"role": "user", "content": "My name is Alex."}, {"role": "assistant", "content": "Hello Alex."}]
    client.say([*history, {"role": "user", "content": "I moved in."}], session=name)
    assert words(upstream.prompts[-1]) == ["My name is Alex.", "Hello Alex.", "I moved in."]
    client.say("What is my name?", session=name)
    assert words(upstream.prompts[-1])[:3] == ["My name is Alex.", "Hello Alex.", "I moved in."]
    assert len(upstream.prompts[-1]) == 5


def test_a_headerless_body_with_a_history_is_answered_with_it(client: Client, upstream: Upstream) -> None:
    history = [{"role": "user", "content": "q1"}, {"role": "assistant", "content": "a1"}]
    made = client.say([*history, {"role": "user", "content": "q2"}]).hermes["session_id"]
    assert words(upstream.prompts[-1]) == ["q1", "a1", "q2"]
    client.say("q3", session=made)
    assert words(upstream.prompts[-1])[:3] == ["q1", "a1", "q2"]


def test_imported_histories_that_differ_only_in_their_pictures_stay_apart(
    client: Client, upstream: Upstream, name: str
) -> None:
    def history(picture: str) -> list[dict[str, object]]:
        parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": picture}}]
        return [{"role": "user", "content": parts}, {"role": "assistant", "content": "A cat."}]

    for who in ("alice", "bob"):
        client.say([*history(f"data:{who}"), {"role": "user", "content": "Sure?"}], session=f"{name}/{who}", key=who)
    client.say("And now?", session=f"{name}/bob")
    assert "data:bob" in str(upstream.prompts[-1])
    assert "data:alice" not in str(upstream.prompts[-1])


def test_who_says_hi_twice_said_it_twice(client: Client, upstream: Upstream, name: str) -> None:
    client.say("hi", session=name)
    client.say("hi", session=name)
    client.say("bye", session=name)
    assert [w for w in words(upstream.prompts[-1]) if w in {"hi", "bye"}] == ["hi", "hi", "bye"]


def test_instructions_apply_to_their_turn_only(client: Client, upstream: Upstream, name: str) -> None:
    client.say([{"role": "system", "content": "Be a pirate."}, {"role": "user", "content": "hi"}], session=name)
    assert roles(upstream.prompts[-1]) == ["system", "user"]
    client.say([{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "ho"}], session=name)
    assert roles(upstream.prompts[-1]) == ["developer", "user", "assistant", "user"]
    client.say("plain", session=name)
    assert "system" not in roles(upstream.prompts[-1])


def test_messages_are_kept_and_sent_exactly_as_they_came(client: Client, upstream: Upstream, name: str) -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/cat.png", "detail": "low"}}
    message = {
        "role": "user",
        "name": "ann",
        "content": [{"type": "text", "text": "Ünï\n\ttext 😀"}, picture],
        "x": 1.0,
    }
    client.say([message], session=name)
    assert upstream.prompts[-1] == [message]
    client.say("next", session=name)
    assert upstream.prompts[-1][0] == message


def test_every_other_field_reaches_the_model(client: Client, upstream: Upstream, name: str) -> None:
    given = {
        "temperature": 0.3,
        "top_p": 0.9,
        "stop": ["END"],
        "seed": 7,
        "max_completion_tokens": 99,
        "reasoning_effort": "low",
        "logit_bias": {"5": -100},
        "response_format": {"type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": {"a": []}}},
        "metadata": {"a": "b"},
        "user": "u1",
        "parallel_tool_calls": False,
        "some_future_field": {"deep": [1, {"er": None}]},
    }
    assert client.say("hi", session=name, model="some/model", **given).status == 200
    sent = upstream.requests[-1]
    assert {key: sent[key] for key in given} == given
    assert sent["model"] == "some/model"
    assert sent["stream"] is True
    assert sent["stream_options"] == {"include_usage": True}
    assert set(sent) == {*given, "model", "messages", "stream", "stream_options"}
    assert upstream.headers[-1]["authorization"] == "Bearer upstream-secret"


@pytest.mark.parametrize("alias", ["hermes", "hermes-agent", None])
def test_the_aliases_and_no_model_at_all_mean_the_default(
    client: Client, upstream: Upstream, alias: str | None
) -> None:
    answer = client.say("hi", **({"model": alias} if alias else {}))
    assert upstream.requests[-1]["model"] == "fake-model"
    assert answer.json["model"] == (alias or "fake-model")


def test_a_reply_says_how_its_prompt_was_made(client: Client, name: str) -> None:
    client.say("hello there", session=name, key="scope")
    answer = client.say([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}], session=name)
    hermes = answer.hermes
    context = hermes["context"]
    assert context["prompt_tokens"] == context["prefix"] + context["window"] + 5
    assert 0 < context["prefix"] < context["window"] < context["budget"] == 12_000
    assert context["cached"] == 5
    assert hermes["run_id"] == answer.headers["x-hermes-run-id"]
    assert answer.json["id"].removeprefix("chatcmpl-") == hermes["run_id"].removeprefix("run_")
    expected = {"session_id": name, "root_session_id": name, "parent_session_id": None, "session_key": "scope"}
    assert {key: hermes[key] for key in expected} == expected
    assert (hermes["rotated"], hermes["degraded"], hermes["memory"]) == (False, False, [])
    assert answer.json["usage"]["prompt_tokens_details"]["cached_tokens"] == 5


# --- storage trouble ---


@both
def test_storage_that_cannot_be_read_is_a_503_and_never_an_empty_history(
    start: Callable[..., Everthread], upstream: Upstream, stream: bool
) -> None:
    server = start()
    server.client.say("My name is Alex.", session="s")
    server.break_store()
    answer = server.client.say("Who am I?", session="s", stream=stream)
    assert (answer.status, answer.json["error"]["code"]) == (503, "storage_unavailable")
    assert len(upstream.requests) == 1, "the model was not asked without its history"
    assert server.client.get("/health/ready").status == 503
    assert server.client.get("/health").status == 200


@both
def test_a_setting_answers_without_the_history_and_says_so(start: Callable[..., Everthread], stream: bool) -> None:
    server = start(answer_without_history="true")
    assert not server.client.say("My name is Alex.", session="s", stream=stream).hermes["degraded"]
    server.break_store()
    answer = server.client.say("Who am I?", session="s", stream=stream)
    assert answer.status == 200
    assert answer.hermes["degraded"] is True
    assert "I know nobody" in answer.text


# --- leaving ---


def leave_early(client: Client, upstream: Upstream, headers: dict[str, str]) -> None:
    """Begins a stream, reads one event, and hangs up."""
    upstream.plan.append(falls_silent(1.0))
    body = json.dumps({"messages": [{"role": "user", "content": "tell me a story"}], "stream": True}).encode()
    with client.opened("POST", "/v1/chat/completions", body, headers) as reply:
        assert reply.status == 200
        reply.readline()


def test_a_named_turn_whose_client_left_is_finished_and_kept(client: Client, upstream: Upstream, name: str) -> None:
    leave_early(client, upstream, {"X-Hermes-Session-Id": name})
    client.say("and?", session=name)
    assert words(upstream.prompts[-1]) == ["tell me a story", "Well, too late", "and?"]


def test_an_unnamed_turn_whose_client_left_is_stopped(client: Client, upstream: Upstream) -> None:
    leave_early(client, upstream, {})
    deadline = time.monotonic() + 5
    while upstream.disconnects == 0 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert upstream.disconnects == 1


# --- together ---


def test_parallel_turns_of_one_session_are_a_total_order(client: Client, upstream: Upstream, name: str) -> None:
    count = 30
    answers: list[int] = []

    def turn(number: int) -> None:
        answers.append(client.say(f"turn {number}", session=name, stream=number % 2 == 0).status)

    threads = [threading.Thread(target=turn, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * count
    prompts = sorted(upstream.prompts, key=len)
    assert [len(prompt) for prompt in prompts] == [2 * seen + 1 for seen in range(count)]
    for earlier, later in pairwise(prompts):
        assert later[: len(earlier)] == earlier, "each saw exactly those before it"


def test_turns_of_different_sessions_do_not_wait_for_each_other(client: Client, upstream: Upstream, name: str) -> None:
    upstream.plan.append(falls_silent(2.0))
    slow = threading.Thread(target=client.say, args=("slow",), kwargs={"session": f"{name}/slow"})
    slow.start()
    time.sleep(0.1)
    began = time.monotonic()
    upstream.plan.append(says("quick"))
    assert client.say("quick", session=f"{name}/quick").text == "quick"
    assert time.monotonic() - began < 1.5
    slow.join()
