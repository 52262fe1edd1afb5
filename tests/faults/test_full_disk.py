"""A disk that is full, for real: the server's home is a small tmpfs in a mount namespace of its own.

`unshare -rm` makes it, for any user whom the kernel allows that; it goes away with the process. What frees space is a
remount with another size."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from front_door import Answer
from process import Process
from upstream import Upstream

ALLOWED = (
    shutil.which("unshare") is not None
    and not subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not ALLOWED, reason="this user may not make a mount namespace (unshare -rm)"),
]

TALKERS = 4
WORDS = "All the words of a long letter, of which there will be many more in time to come. " * 150


class SmallDisk(Process):
    within = (
        "unshare",
        "-rm",
        "sh",
        "-c",
        'mount -t tmpfs -o size=5m tmpfs "$EVERTHREAD_HOME" && exec "$@"',
        "sh",
    )

    def inside(self, *command: str) -> str:
        """What a command prints that sees this disk."""
        enter = ["nsenter", "-t", str(self.running.pid), "-U", "-m", "--preserve-credentials"]
        done = subprocess.run([*enter, *command], env=self._environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def make_room(self) -> None:
        self.inside("mount", "-o", "remount,size=400m", self._environ["EVERTHREAD_HOME"])


@pytest.fixture
def process(upstream: Upstream, tmp_path: Path) -> Iterator[SmallDisk]:
    (tmp_path / "home").mkdir()
    with SmallDisk(tmp_path / "home", upstream_url=upstream.url, context_budget="1000000") as process:
        yield process


def transcript(process: Process, session: str) -> list[str]:
    answer = process.client.get(f"/api/sessions/{session}/messages?limit=500")
    assert answer.status == 200, answer.body
    return [message["content"] for message in answer.json["data"]]


def ready(process: Process) -> Answer:
    return process.client.get("/health/ready")


def test_a_full_disk_is_said_nothing_told_is_lost_and_space_is_enough_to_go_on(
    process: SmallDisk, upstream: Upstream
) -> None:
    upstream.answer = lambda _: "Noted."
    told: dict[str, list[str]] = {f"s{number}": [] for number in range(TALKERS)}
    refused: list[Answer] = []

    def talk(session: str) -> None:
        for number in range(1000):
            question = f"{session} turn {number}. {WORDS}"
            answer = process.client.say(question, session=session, stream=number % 2 == 0)
            if answer.status != 200 or (number % 2 == 0 and answer.events[-1] != "[DONE]"):
                refused.append(answer)
                return
            told[session] += [question, "Noted."]

    talking = [threading.Thread(target=talk, args=(session,)) for session in told]
    for each in talking:
        each.start()
    for each in talking:
        each.join(60)
    assert len(refused) == TALKERS, "it was filled up"
    for answer in refused:
        error = answer.events[-1]["error"] if answer.status == 200 else answer.json["error"]
        assert answer.status in {200, 503}
        assert error["code"] == "storage_unavailable"
        assert "disk is full" in error["message"]
        assert "Free some space" in error["message"]

    assert ready(process).status == 503
    assert ready(process).json["checks"]["store"] == {
        "ok": False,
        "code": "storage_unavailable",
        "detail": error["message"],
    }
    assert [transcript(process, session) for session in told] == list(told.values()), "what is kept can be read"

    process.make_room()
    deadline = time.monotonic() + 10
    while ready(process).status != 200:
        assert time.monotonic() < deadline, ready(process).body
        time.sleep(0.02)
    for session, kept in told.items():
        assert process.client.say("Are you back?", session=session).text == "Noted."
        assert transcript(process, session) == [*kept, "Are you back?", "Noted."]
    assert "Everything is in order." in process.inside(sys.executable, "-m", "everthread", "check")
    assert sum(map(len, told.values())) > 2 * TALKERS, "there was something to lose"
    assert process.stop() == 0
    assert not any(Path(process._environ["EVERTHREAD_HOME"]).iterdir()), "it was another disk"
