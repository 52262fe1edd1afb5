"""Client tools: the model's call goes back to the client, the `tool` message continues the turn."""

from __future__ import annotations

import json
from typing import Any

import pytest

from front_door import Client
from upstream import Upstream, calls, says

both = pytest.mark.parametrize("stream", [False, True], ids=["json", "sse"])

TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}]


def result(call: str, content: str) -> dict[str, str]:
    return {"role": "tool", "tool_call_id": call, "content": content}


def tool_calls(answer: Any) -> list[dict[str, Any]]:
    if not answer.headers["content-type"].startswith("text/event-stream"):
        return list(answer.json["choices"][0]["message"]["tool_calls"])
    merged: dict[int, dict[str, Any]] = {}
    for event in answer.events:
        if event == "[DONE]" or not event["choices"]:
            continue
        for piece in event["choices"][0]["delta"].get("tool_calls", []):
            call = merged.setdefault(piece["index"], {"function": {"arguments": ""}})
            call["id"] = call.get("id") or piece.get("id")
            call["function"]["name"] = call["function"].get("name") or piece["function"].get("name")
            call["function"]["arguments"] += piece["function"]["arguments"]
    return [merged[index] for index in sorted(merged)]


@both
def test_a_call_goes_to_the_client_and_its_result_continues_the_turn(
    client: Client, upstream: Upstream, name: str, stream: bool
) -> None:
    upstream.plan.append(calls(("c1", "add", '{"a": 2, "b": 3}'), ("c2", "add", "{}")))
    asked = client.say("What is 2+3?", session=name, tools=TOOLS, stream=stream)
    found = tool_calls(asked)
    assert [(c["id"], c["function"]["name"]) for c in found] == [("c1", "add"), ("c2", "add")]
    assert json.loads(found[0]["function"]["arguments"]) == {"a": 2, "b": 3}
    assert upstream.requests[-1]["tools"] == TOOLS
    upstream.plan.append(says("It is 5."))
    answer = client.say([result("c1", "5"), result("c2", "0")], session=name, tools=TOOLS, stream=stream)
    assert answer.text == "It is 5."
    prompt = upstream.prompts[-1]
    assert [m["role"] for m in prompt] == ["user", "assistant", "tool", "tool"]
    assert [c["id"] for c in prompt[1]["tool_calls"]] == ["c1", "c2"]


def test_the_finish_reason_of_a_call_is_told(client: Client, upstream: Upstream) -> None:
    upstream.plan.append(calls(("c1", "add", "{}")))
    assert client.say("?", tools=TOOLS).json["choices"][0]["finish_reason"] == "tool_calls"


def test_a_client_that_resends_everything_continues_the_same_call(
    client: Client, upstream: Upstream, name: str
) -> None:
    upstream.plan.append(calls(("c1", "add", "{}")))
    asked = client.say("2+3?", session=name, tools=TOOLS).json["choices"][0]["message"]
    client.say([{"role": "user", "content": "2+3?"}, asked, result("c1", "5")], session=name, tools=TOOLS)
    assert [m["role"] for m in upstream.prompts[-1]] == ["user", "assistant", "tool"]


def test_a_headerless_tool_loop_works_from_the_body_alone(client: Client, upstream: Upstream) -> None:
    upstream.plan.append(calls(("c1", "add", "{}")))
    question = {"role": "user", "content": "2+3?"}
    asked = client.say([question], tools=TOOLS).json["choices"][0]["message"]
    answer = client.say([question, asked, result("c1", "5")], tools=TOOLS)
    assert answer.status == 200
    assert [m["role"] for m in upstream.prompts[-1]] == ["user", "assistant", "tool"]


def test_a_result_for_a_call_that_nobody_made_is_refused(client: Client, upstream: Upstream, name: str) -> None:
    client.say("hi", session=name)
    answer = client.say([result("c9", "5")], session=name)
    assert answer.status == 400
    assert "c9" in answer.json["error"]["message"]
    assert client.say([result("c9", "5")], session=f"{name}/new").status == 400


def test_a_new_question_while_a_call_is_open_closes_it_in_the_prompt(
    client: Client, upstream: Upstream, name: str
) -> None:
    upstream.plan.append(calls(("c1", "add", "{}")))
    client.say("2+3?", session=name, tools=TOOLS)
    assert client.say("Never mind.", session=name).status == 200
    prompt = upstream.prompts[-1]
    assert [m["role"] for m in prompt] == ["user", "assistant", "tool", "user"]
    assert prompt[2]["content"] == "[no result]"
    assert client.say([result("c1", "5")], session=name).status == 400, "it was closed"


def test_a_result_under_the_same_message_id_goes_on(client: Client, upstream: Upstream, name: str) -> None:
    mine = {"X-Hermes-Message-Id": "m1"}
    upstream.plan.append(calls(("c1", "add", "{}")))
    client.say("2+3?", session=name, tools=TOOLS, headers=mine)
    upstream.plan.append(says("It is 5."))
    assert client.say([result("c1", "5")], session=name, tools=TOOLS, headers=mine).text == "It is 5."


def test_the_functions_that_tools_replaced_are_refused_in_plain_words(client: Client, upstream: Upstream) -> None:
    answer = client.say("2+3?", functions=[{"name": "add"}])
    assert (answer.status, answer.json["error"]["param"]) == (400, "functions")
    assert "use tools" in answer.json["error"]["message"]


def test_a_result_that_is_missing_is_told_so_and_none_comes_twice(
    client: Client, upstream: Upstream, name: str
) -> None:
    upstream.plan[:] = [calls(("c1", "add", "{}"), ("c2", "add", "{}"))]
    client.say("Add.", session=name, tools=TOOLS)
    for wrong in ([result("c1", "1"), result("c1", "2")], [{"role": "user", "content": "x"}, result("c1", "1")]):
        assert client.say(wrong, session=name).status == 400
    assert client.say([result("c1", "1")], session=name).status == 200
    told = [
        (message["tool_call_id"], message["content"]) for message in upstream.prompts[-1] if message["role"] == "tool"
    ]
    assert told == [("c1", "1"), ("c2", "[no result]")]
