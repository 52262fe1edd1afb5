"""What is bounded: the prompt, whatever is said; and the line in front of a session."""

from __future__ import annotations

import asyncio
import json
import random
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from everthread.context.tokens import O200k, weigh
from everthread.wire import chat
from front_door import Answer, Client, Everthread
from upstream import Upstream, calls, own_text, says

BUDGET = 300
COUNTER = O200k()


def weight(prompt: list[dict[str, Any]]) -> int:
    raw = json.dumps(prompt, ensure_ascii=False, separators=(",", ":")).encode()
    return weigh(chat.decode_messages(raw), COUNTER)


def words(count: int, seed: int) -> str:
    chance = random.Random(seed)
    return " ".join(chance.choice(["harbour", "tea", "0.75", "Zürich", "日本語", "lamp;", "so"]) for _ in range(count))


@pytest.fixture(scope="module")
def narrow(shared_upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everthread]:
    home = tmp_path_factory.mktemp("narrow")
    everthread = Everthread(home, shared_upstream.url, context_budget=str(BUDGET))
    yield everthread
    everthread.stop()


@pytest.fixture
def client(narrow: Everthread, upstream: Upstream) -> Client:
    """Talks to a server with a budget of 300 tokens."""
    return narrow.client


def whole(prompt: list[dict[str, Any]]) -> bool:
    """Every result follows its call, and every call is followed by its result."""
    waiting: list[str] = []
    for message in prompt:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, "a result without its call"
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, "a call without its result"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    assert not waiting
    return True


def test_a_prompt_never_exceeds_its_budget_and_keeps_the_newest(client: Client, upstream: Upstream, name: str) -> None:
    chance = random.Random(7)
    upstream.answer = lambda request: words(chance.randrange(1, 40), len(upstream.requests))
    said: list[dict[str, Any]] = []
    for number in range(40):
        text = words(chance.choice([1, 3, 10, 40]), number)
        answer = client.say(text, session=name)
        prompt = upstream.prompts[-1]
        said.append({"role": "user", "content": text})
        assert weight(prompt) <= BUDGET
        window = [{**message, "content": own_text(message)} for message in prompt if message["role"] != "system"]
        assert window == said[-len(window) :], "the newest turns, in order, with nothing left out between them"
        assert window[0]["role"] == "user"
        assert answer.hermes["context"]["budget"] == BUDGET
        assert answer.hermes["context"]["prompt_tokens"] == weight(prompt)
        said.append({"role": "assistant", "content": answer.text})


def test_instructions_and_tools_are_counted_too(client: Client, upstream: Upstream, name: str) -> None:
    tools = [{"type": "function", "function": {"name": "f", "description": words(20, 1), "parameters": {}}}]
    rules = {"role": "system", "content": words(20, 2)}
    for number in range(8):
        answer = client.say([rules, {"role": "user", "content": words(15, number)}], session=name, tools=tools)
        prompt = upstream.prompts[-1]
        assert prompt[0]["role"] == "system"
        assert prompt[0]["content"].startswith(rules["content"])
        assert "system" not in [message["role"] for message in prompt[1:]]
        described = COUNTER.count(json.dumps(upstream.requests[-1]["tools"]))
        assert weight(prompt) + described <= BUDGET + 5
        assert answer.hermes["context"]["prompt_tokens"] <= BUDGET
    assert len(prompt) < 17


@pytest.mark.parametrize("again", [False, True], ids=["fresh ids", "ids used again"])
def test_a_tool_call_is_never_separated_from_its_result(
    client: Client, upstream: Upstream, name: str, again: bool
) -> None:
    chance = random.Random(3)
    for number in range(12):
        called = "call_0" if again else f"call_{number}"
        upstream.plan[:] = [calls((called, "search", json.dumps({"q": words(chance.randrange(1, 12), number)})))]
        first = client.say(words(chance.randrange(1, 20), number), session=name)
        assert first.json["choices"][0]["finish_reason"] == "tool_calls"
        assert whole(upstream.prompts[-1])
        result = {"role": "tool", "tool_call_id": called, "content": words(chance.randrange(1, 40), -number)}
        upstream.plan[:] = [says(words(chance.randrange(1, 20), 99))]
        second = client.say([result], session=name)
        assert second.status == 200
        assert whole(upstream.prompts[-1])
        assert upstream.prompts[-1][-2]["tool_calls"][0]["id"] == called
        assert weight(upstream.prompts[-1]) <= BUDGET


def test_a_call_that_was_never_answered_is_closed_within_the_budget(
    client: Client, upstream: Upstream, name: str
) -> None:
    for length in range(0, 240, 8):
        upstream.plan[:] = [calls(*((f"c{number}", "f", "{}") for number in range(5)))]
        client.say("Go.", session=f"{name} {length}")
        answer = client.say("tea " * length + "Never mind.", session=f"{name} {length}")
        assert answer.status == 200
        assert whole(upstream.prompts[-1])
        assert weight(upstream.prompts[-1]) <= BUDGET
        assert answer.hermes["context"]["prompt_tokens"] == weight(upstream.prompts[-1])


def test_a_result_whose_call_no_longer_fits_is_refused(client: Client, upstream: Upstream, name: str) -> None:
    upstream.plan[:] = [calls(("call_1", "search", json.dumps({"q": words(30, 1)})))]
    client.say("Search!", session=name)
    asked = len(upstream.requests)
    result = {"role": "tool", "tool_call_id": "call_1", "content": words(100, 2)}
    answer = client.say([result], session=name)
    assert (answer.status, answer.json["error"]["code"]) == (400, "context_length_exceeded")
    assert len(upstream.requests) == asked
    shorter = {"role": "tool", "tool_call_id": "call_1", "content": "Nothing."}
    assert client.say([shorter], session=name).status == 200


@pytest.mark.parametrize("stream", [False, True], ids=["json", "sse"])
def test_a_message_that_cannot_fit_is_refused_with_the_numbers(
    client: Client, upstream: Upstream, name: str, stream: bool
) -> None:
    client.say("My name is Alex.", session=name)
    long = words(400, 1)
    answer = client.say(long, session=name, stream=stream)
    error = answer.json["error"]
    assert (answer.status, error["code"], error["param"]) == (400, "context_length_exceeded", "messages")
    numbers = {int(number) for number in re.findall(r"\d+", error["message"])}
    assert {BUDGET, weight([{"role": "user", "content": long}])} <= numbers
    assert len(upstream.requests) == 1
    assert "I know Alex" in client.say("Who am I?", session=name).text


def test_a_history_brought_along_is_cut_to_the_budget_too(client: Client, upstream: Upstream, name: str) -> None:
    history: list[dict[str, Any]] = []
    for number in range(30):
        history.append({"role": "user", "content": words(10, number)})
        history.append({"role": "assistant", "content": words(10, -number)})
    last = {"role": "user", "content": "So?"}
    assert client.say([*history, last], session=name).status == 200
    prompt = upstream.prompts[-1]
    assert weight(prompt) <= BUDGET
    assert prompt == [*history, last][-len(prompt) :]
    assert len(prompt) >= 5
    client.say("And?", session=name)
    assert weight(upstream.prompts[-1]) <= BUDGET


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": "Hi.", "name": words(2_000, 1)}],
        [
            {"role": "user", "content": "Hi."},
            {"role": "assistant", "content": None, "refusal": words(2_000, 1)},
            {"role": "user", "content": "Why?"},
        ],
    ],
    ids=["a name", "a refusal"],
)
def test_words_outside_of_the_content_are_counted_too(
    client: Client, upstream: Upstream, messages: list[dict[str, Any]]
) -> None:
    assert client.say(messages).status in {200, 400}
    for prompt in upstream.prompts:
        assert COUNTER.count(json.dumps(prompt, ensure_ascii=False)) <= 2 * BUDGET


# --- the line in front of a session ---


def test_sixty_four_may_wait_for_one_session_and_no_more(server: Everthread, upstream: Upstream, name: str) -> None:
    client = server.client
    go, asked = threading.Event(), threading.Event()

    async def held(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        asked.set()
        await asyncio.get_running_loop().run_in_executor(None, go.wait, 30)
        await says("Fine.")(request, writer)

    upstream.plan[:] = [held]
    upstream.answer = lambda request: "Fine."
    answers: list[Answer] = []
    threads = [
        threading.Thread(target=lambda n=number: answers.append(client.say(f"{n}", session=name)))
        for number in range(70)
    ]
    threads[0].start()
    assert asked.wait(10)
    for thread in threads[1:]:
        thread.start()
    refused = []
    for _ in range(200):
        refused = [each for each in list(answers) if each.status == 409]
        if len(refused) == 5:
            break
        time.sleep(0.05)
    go.set()
    for thread in threads:
        thread.join(30)
    assert len(refused) == 5, "one runs, 64 wait, and five are turned away while they do"
    for each in refused:
        assert each.json["error"]["code"] == "session_busy"
        assert int(each.headers["retry-after"]) >= 1
        assert "x-should-retry" not in each.headers, "it may be tried again"
    assert sorted(each.status for each in answers) == [200] * 65 + [409] * 5
    assert client.say("Last.", session=name).status == 200
