"""Killed at the two moments that matter most: before a step is committed, and between that and the reply."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest
from mortal import Moment, Mortal

from upstream import Upstream

pytestmark = pytest.mark.slow


@pytest.fixture
def process(upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mortal]:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent), prepend=":")
    with Mortal(tmp_path / "home", upstream_url=upstream.url) as process:
        yield process


@pytest.mark.parametrize("stream", [False, True], ids=["json", "sse"])
@pytest.mark.parametrize("moment", ["before the commit", "after the commit"])
def test_a_turn_is_whole_or_never_was_and_its_key_tells_which(
    process: Mortal, upstream: Upstream, moment: Moment, stream: bool
) -> None:
    once = {"Idempotency-Key": "only-once"}
    assert process.client.say("first", session="s").status == 200
    process.doom(moment)
    assert not told(process, "second", once, stream=stream)
    process.revive()
    kept = moment == "after the commit"
    assert questions(process) == (["first", "second"] if kept else ["first"])
    asked = len(upstream.requests)
    again = process.client.say("second", session="s", headers=once, stream=stream)
    assert again.status == 200
    assert again.headers.get("idempotent-replayed") == ("true" if kept else None)
    assert len(upstream.requests) == asked + (not kept), "the model is asked once more only if nothing was kept"
    assert questions(process) == ["first", "second"]


def told(process: Mortal, words: str, headers: dict[str, str], *, stream: bool) -> bool:
    """Whether somebody who says this hears that it went well."""
    try:
        answer = process.client.say(words, session="s", headers=headers, stream=stream)
    except (OSError, http.client.HTTPException):
        return False
    return not stream or "[DONE]" in answer.events


def questions(process: Mortal) -> list[str]:
    messages = process.client.get("/api/sessions/s/messages").json["data"]
    assert [message["role"] for message in messages] == ["user", "assistant"] * (len(messages) // 2), "no half turn"
    return [message["content"] for message in messages if message["role"] == "user"]
