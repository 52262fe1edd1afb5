"""Half a year of talk in one session: what was said once is there when it is asked for.

As long as it is meant: SIX_MONTHS_TURNS=3000 make test ARGS=tests/http/test_six_months.py
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from planted import PLANTED, small_talk
from test_memory import read

from front_door import Client, Everthread
from upstream import Upstream, text_of

TURNS = int(os.environ.get("SIX_MONTHS_TURNS", "1000"))
BUDGET = 4000
BEGAN = datetime(2026, 1, 5, 8, tzinfo=UTC)
STEP = timedelta(days=182) / TURNS


def said_at(turn: int) -> dict[str, str]:
    return {"X-Hermes-Message-Time": (BEGAN + turn * STEP).isoformat()}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.long
def test_of_a_hundred_things_said_in_half_a_year_at_least_ninety_five_are_in_the_prompt_when_asked(
    start: Callable[..., Everthread], upstream: Upstream, name: str, tmp_path: Path
) -> None:
    """While it is talked, memory is off: what was said is read when it is turned on, and then all is asked for."""
    talking = start(tmp_path / "home", context_budget=str(BUDGET), memory="off")
    client: Client = talking.client
    upstream.answer = lambda _: "Noted."
    every = TURNS // len(PLANTED)
    for turn in range(TURNS):
        text = PLANTED[turn // every][0] if turn % every == every // 3 else small_talk(turn)
        answer = client.say(text, session=name, headers=said_at(turn))
        assert answer.status == 200, answer.body
        assert answer.hermes["context"]["prompt_tokens"] <= BUDGET
    talking.stop()
    client = start(tmp_path / "home", context_budget=str(BUDGET)).client
    read(client, name, within=400)
    missing = []
    for number, (said, asked, there) in enumerate(PLANTED):
        upstream.requests.clear()
        client.say(asked, session=name, headers=said_at(TURNS + number))
        if not any(there in text_of(message) for message in upstream.requests[0]["messages"]):
            missing.append(said)
    assert len(missing) <= 5, missing
