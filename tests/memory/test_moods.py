"""Talk in passing is remembered as it was said, and no claim is made of it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.core.messages import say
from everthread.memory.notice import notice

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "That photo is gorgeous, Nora!",
        "I'm so thankful for all of you.",
        "These evenings mean a lot to me.",
        "It was such a special day and we will never forget how the light fell on the water that evening in June.",
    ],
)
def test_a_mood_is_no_claim(text: str) -> None:
    assert [draft for draft in notice((say("user", text),), NOW) if draft.confidence < 0.8] == []


@pytest.mark.parametrize("text", ["On my needles there is a cardigan.", "Our house is warmed by a pellet stove."])
def test_a_plain_state_of_things_is_one(text: str) -> None:
    assert len(notice((say("user", text),), NOW)) == 1
