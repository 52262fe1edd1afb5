"""Another process that has the file: a bounded wait, a 503 that says so, and all goes on when it lets go.

And a file that is cut short under a server that runs: refused, found, mended, by the commands that it names."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from everthread.cli.main import main
from everthread.storage import writer
from front_door import KEY, Answer, Everthread
from process import Process
from upstream import Upstream

pytestmark = pytest.mark.slow

HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN " + sys.argv[2])
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(database: Path, how: str = "IMMEDIATE") -> Iterator[subprocess.Popen[str]]:
    """Another process writes, until the block is left."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(database), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(10)


def user_words(server: Everthread, session: str) -> list[str]:
    listed = server.client.get(f"/api/sessions/{session}/messages").json["data"]
    return [message["content"] for message in listed if message["role"] == "user"]


def test_a_short_lock_is_waited_for(start: Callable[..., Everthread], tmp_path: Path) -> None:
    server = start(tmp_path / "home")
    server.client.say("My name is Alex.", session="s")
    answers: list[Answer] = []
    with held(tmp_path / "home" / "everthread.db"):
        asking = threading.Thread(target=lambda: answers.append(server.client.say("Who am I?", session="s")))
        asking.start()
        time.sleep(0.3)
        assert not answers, "nothing is acknowledged that cannot be written"
        assert user_words(server, "s") == ["My name is Alex."], "reads do not wait"
    asking.join(10)
    assert (answers[0].status, user_words(server, "s")) == (200, ["My name is Alex.", "Who am I?"])


@pytest.mark.parametrize("how", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_long_lock_is_a_503_and_when_it_is_gone_all_goes_on(
    start: Callable[..., Everthread], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(writer, "LONGEST_BUSY", 0.3)
    server = start(tmp_path / "home")
    once = {"Idempotency-Key": "once"}
    server.client.say("My name is Alex.", session="s")
    with held(tmp_path / "home" / "everthread.db", how) as holder:
        began = time.monotonic()
        for stream in (False, True):
            answer = server.client.say("Who am I?", session="s", stream=stream, headers=once)
            assert (answer.status, answer.json["error"]["code"]) == (503, "storage_unavailable")
            assert "Another process" in answer.json["error"]["message"]
        assert time.monotonic() - began < 10, "the wait is bounded"
        assert server.client.get("/health/ready").status == 503
        assert user_words(server, "s") == ["My name is Alex."]
        holder.kill()  # the kernel takes its locks
        holder.wait(10)
        answer = server.client.say("Who am I?", session="s", headers=once)
    assert answer.status == 200
    assert user_words(server, "s") == ["My name is Alex.", "Who am I?"]
    assert server.client.get("/health/ready").status == 200


def test_a_second_server_says_which_process_has_the_file(start: Callable[..., Everthread], tmp_path: Path) -> None:
    start(tmp_path / "home")
    with pytest.raises(AssertionError, match=rf"process {os.getpid()}\) is using .*everthread\.db\. Stop it first"):
        Process(tmp_path / "home", upstream_url="http://127.0.0.1:9/v1")


def test_a_file_that_is_cut_short_under_a_server_is_found_refused_and_mended(
    start: Callable[..., Everthread],
    upstream: Upstream,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home, database, backup = tmp_path / "home", tmp_path / "home" / "everthread.db", str(tmp_path / "backup.db")
    for name, value in (("HOME", str(home)), ("API_KEY", KEY), ("PORT", "0"), ("UPSTREAM_URL", upstream.url)):
        monkeypatch.setenv(f"EVERTHREAD_{name}", value)
    server = start(home)
    server.client.say("My name is Alex.", session="s")
    for number in range(40):
        server.client.say(f"{number}: " + "The heron flew over the river. " * 100, session=f"other {number}")
    assert main(["backup", backup]) == 0
    os.truncate(database, 20 * 4096)
    answers = [server.client.say("Who am I?", session=f"other {number}") for number in range(40)]
    assert {answer.status for answer in answers} <= {200, 503}, "damage is no bug of ours, and no empty history"
    failed = [answer.json["error"]["code"] for answer in answers if answer.status == 503]
    assert set(failed) <= {"storage_damaged", "storage_unavailable"}
    server.stop()

    capsys.readouterr()
    assert main(["check"]) == 1
    assert "everthread restore PATH --force" in capsys.readouterr().out
    assert main(["serve"]) == 1
    assert "everthread restore PATH --force" in capsys.readouterr().err
    assert main(["restore", backup, "--force"]) == 0
    assert main(["check"]) == 0
    assert "I know Alex" in start(home).client.say("Who am I?", session="s").text
