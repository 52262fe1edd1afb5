"""The server's own tools: offered when there is something to search, run inside the turn, never seen by the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from front_door import Answer, Client, Everthread
from upstream import Upstream, calls, says, text_of

pytestmark = pytest.mark.slow

Start = Callable[..., Everthread]
both = pytest.mark.parametrize("stream", [False, True], ids=["json", "sse"])
OFF = {"X-Hermes-Server-Tools": "off"}
ADD = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture
def client(start: Start) -> Client:
    return start(context_budget="3000").client


def offered(upstream: Upstream) -> list[str]:
    return [tool["function"]["name"] for tool in upstream.requests[-1].get("tools", [])]


def rotated(client: Client, upstream: Upstream, session: str) -> None:
    """A session whose first turn has left the window."""
    upstream.answer = lambda _: "Noted."
    client.say("The spare key lies under the blue flower pot.", session=session)
    for number in range(3):
        client.say(f"{number}. " + "The weather is what it is, and nobody minds. " * 40, session=session)
    assert client.post(f"/api/sessions/{session}/compress", {}).status == 200


def seen(answer: Answer) -> str:
    return answer.body.decode()


def test_they_are_offered_from_the_first_rotation_on(client: Client, upstream: Upstream, name: str) -> None:
    client.say("Hello.", session=name)
    assert offered(upstream) == []
    rotated(client, upstream, name)
    client.say("Hello again.", session=name)
    assert offered(upstream) == ["memory_search", "open_turn"]


def test_a_header_turns_them_off(client: Client, upstream: Upstream, name: str) -> None:
    rotated(client, upstream, name)
    client.say("Hello again.", session=name, headers=OFF)
    assert offered(upstream) == []
    assert client.say("Hm.", session=name, headers={"X-Hermes-Server-Tools": "perhaps"}).status == 400


@both
def test_what_the_model_looks_up_is_between_it_and_the_server(
    client: Client, upstream: Upstream, name: str, stream: bool
) -> None:
    rotated(client, upstream, name)
    upstream.plan = [
        calls(("call_1", "memory_search", '{"query": "where is the spare key?"}')),
        calls(("call_1", "open_turn", '{"turn": 1}')),
        says("Under the blue flower pot."),
    ]
    answer = client.say("Tell me about the key.", session=name, stream=stream)
    assert answer.text == "Under the blue flower pot."
    assert "memory_search" not in seen(answer)
    assert "tool_calls" not in seen(answer)
    results = [text_of(message) for message in upstream.requests[-1]["messages"] if message["role"] == "tool"]
    assert "under the blue flower pot" in results[0]
    assert "user: The spare key lies under the blue flower pot." in results[1]
    assert answer.hermes["usage"]["searching"] > 0
    messages = client.get(f"/api/sessions/{name}/messages?order=desc&limit=2").json["data"]
    assert [message["content"] for message in messages] == ["Under the blue flower pot.", "Tell me about the key."]


@both
def test_client_tools_work_beside_them(client: Client, upstream: Upstream, name: str, stream: bool) -> None:
    rotated(client, upstream, name)
    upstream.plan = [
        calls(("call_1", "memory_search", '{"query": "spare key"}')),
        calls(("call_1", "add", '{"a": 1}')),
        says("Three."),
    ]
    answer = client.say("Add.", session=name, stream=stream, tools=[ADD])
    assert offered(upstream) == ["add", "memory_search", "open_turn"]
    assert '"add"' in seen(answer)
    assert "memory_search" not in seen(answer)
    call = client.get(f"/api/sessions/{name}/messages?order=desc&limit=1").json["data"][0]["tool_calls"][0]
    result: list[dict[str, Any]] = [{"role": "tool", "tool_call_id": call["id"], "content": "3"}]
    assert client.say(result, session=name, stream=stream, tools=[ADD]).text == "Three."


def test_a_turn_of_another_scope_cannot_be_opened(client: Client, upstream: Upstream, name: str) -> None:
    client.say("The other key lies in the drawer.", session=f"{name}-other")
    rotated(client, upstream, name)
    upstream.plan = [calls(("call_1", "open_turn", f'{{"turn": 1, "session": "{name}-other"}}')), says("No.")]
    client.say("Open it.", session=name)
    assert text_of(upstream.requests[-1]["messages"][-1]) == "There is no turn 1."


def test_an_upstream_that_takes_no_tools_is_asked_without(client: Client, upstream: Upstream, name: str) -> None:
    async def refuses(request: dict[str, Any], writer: Any) -> None:
        from upstream import whole

        await whole(writer, 400, {"error": {"message": "tools are not supported by this model"}})

    rotated(client, upstream, name)
    upstream.plan = [refuses, says("Hello.")]
    assert client.say("Hello again.", session=name).text == "Hello."
    assert offered(upstream) == []
