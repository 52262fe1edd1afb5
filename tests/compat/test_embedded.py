"""The embedded model by the front door: plumbing, never wit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from process import Process
from small_model import NAME, small_weights

pytestmark = pytest.mark.slow


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    home = tmp_path / "home"
    (home / "models").mkdir(parents=True)
    weights = small_weights()
    (home / "models" / weights.name).symlink_to(weights)
    process = Process(home, model=NAME)
    yield process
    process.kill()


def test_the_prefix_that_turns_share_is_read_once(process: Process) -> None:
    """The model's own report of cached tokens shows it."""
    before = 0
    for number in range(4):
        answer = process.client.say(f"Number {number}: a word about the sea?", session="s", max_tokens=12)
        assert answer.status == 200
        usage = answer.json["usage"]
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        assert cached >= before - 2, "all that the turn before sent, but for a token or two at the seam"
        assert answer.hermes["context"]["cached"] == cached
        before = usage["prompt_tokens"]
    assert before > 100


def test_a_session_rotates_on_it_too_and_never_asks_it_to_write_the_log(process: Process) -> None:
    for number in range(3):
        process.client.say(f"The budget of project {number} is ${number}00.", session="s", max_tokens=8)
    told = process.client.say("/compress", session="s")
    assert told.hermes["parent_session_id"] == "s"
    answer = process.client.say("Go on.", session="s", max_tokens=8)
    assert answer.hermes["session_id"] == told.hermes["session_id"]
    assert answer.hermes["usage"]["distilling"] == 0
    assert answer.hermes["context"]["prefix"] > 0
