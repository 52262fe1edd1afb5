"""What a session id means, seen by the front door."""

from __future__ import annotations

import pytest

from front_door import Client
from upstream import Upstream

both = pytest.mark.parametrize("stream", [False, True], ids=["json", "sse"])


@both
def test_without_a_header_a_fresh_session_is_made_and_its_id_returned(client: Client, stream: bool) -> None:
    first, second = (client.say("hi", stream=stream) for _ in range(2))
    assert first.status == second.status == 200
    assert first.headers["x-hermes-session-id"] == first.hermes["session_id"]
    assert first.hermes["session_id"] != second.hermes["session_id"], "two who say the same words never share"


@both
def test_the_second_turn_sees_the_first(client: Client, upstream: Upstream, name: str, stream: bool) -> None:
    client.say("My name is Alex.", session=name, stream=stream)
    answer = client.say("What is my name?", session=name, stream=stream)
    assert "I know Alex" in answer.text
    assert [m["role"] for m in upstream.prompts[-1]] == ["user", "assistant", "user"]
    assert answer.headers["x-hermes-session-id"] == answer.hermes["session_id"] == name
