"""A real process, stopped and killed: the conversation goes on."""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from process import Process
from upstream import Upstream, falls_silent

pytestmark = pytest.mark.slow


def test_the_conversation_goes_on_after_a_restart_and_after_a_kill(process: Process, upstream: Upstream) -> None:
    process.client.say("My name is Alex.", session="s")
    assert process.stop() == 0
    process.start()
    assert "I know Alex" in process.client.say("Who am I?", session="s").text
    process.kill()
    process.start()
    assert "I know Alex" in process.client.say("Who am I?", session="s", stream=True).text
    assert len(upstream.prompts[-1]) == 5


def test_no_acknowledged_turn_is_lost_or_doubled_by_kills_under_load(process: Process, upstream: Upstream) -> None:
    sessions = [f"s{number}" for number in range(6)]
    acknowledged: dict[str, list[str]] = {session: [] for session in sessions}

    def talk(session: str, round_: int) -> None:
        for number in range(1000):
            words = f"{session} round {round_} turn {number}."
            try:
                answer = process.client.say(words, session=session, stream=number % 2 == 0)
            except (OSError, http.client.HTTPException):
                return
            if answer.status == 200 and (number % 2 or answer.events[-1:] == ["[DONE]"]):
                acknowledged[session].append(words)

    for round_ in range(4):
        threads = [threading.Thread(target=talk, args=(session, round_)) for session in sessions]
        for thread in threads:
            thread.start()
        time.sleep(0.4 + 0.15 * round_)
        process.kill()
        for thread in threads:
            thread.join()
        process.start()
    total = 0
    for session in sessions:
        process.client.say("the end", session=session)
        said = [m["content"] for m in upstream.prompts[-1]]
        questions = said[0:-1:2]
        assert len(set(questions)) == len(questions), "nothing is doubled"
        kept = [words for words in questions if words in set(acknowledged[session])]
        assert kept == acknowledged[session], "nothing that was acknowledged is lost, and the order is kept"
        assert len(said) % 2 == 1, "no question without its answer"
        total += len(kept)
    assert total > 50, "the load was real"
    assert "Everything is in order." in everthread(process, "check")


def test_a_key_in_flight_when_the_server_died_can_run_again(process: Process, upstream: Upstream) -> None:
    upstream.plan.append(falls_silent(30))
    given = {"Idempotency-Key": "only-once"}

    def doomed() -> None:
        with pytest.raises((OSError, http.client.HTTPException)):
            process.client.say("pay", session="s", headers=given)

    thread = threading.Thread(target=doomed)
    thread.start()
    while not upstream.requests:
        time.sleep(0.01)
    process.kill()
    thread.join()
    process.start()
    first, second = (process.client.say("pay", session="s", headers=given) for _ in range(2))
    assert first.status == second.status == 200
    assert first.json["id"] == second.json["id"]
    assert second.headers["idempotent-replayed"] == "true"
    process.client.say("done?", session="s")
    assert [m["content"] for m in upstream.prompts[-1] if m["role"] == "user"] == ["pay", "done?"]


def test_sigterm_lets_a_running_turn_finish(process: Process, upstream: Upstream) -> None:
    upstream.plan.append(falls_silent(1.5))
    answers = []
    thread = threading.Thread(target=lambda: answers.append(process.client.say("wait", session="s", stream=True)))
    thread.start()
    while not upstream.requests:
        time.sleep(0.01)
    time.sleep(0.2)
    assert process.stop() == 0
    thread.join()
    assert answers[0].events[-1] == "[DONE]"


def test_a_second_server_on_the_same_home_is_refused_in_plain_words(process: Process) -> None:
    with pytest.raises(AssertionError, match="Another Everthread server"):
        Process(Path(process._environ["EVERTHREAD_HOME"]), upstream_url="http://127.0.0.1:9/v1")


def test_no_secret_is_ever_logged(process: Process, upstream: Upstream) -> None:
    process.client.say("hi")
    made = everthread(process, "keys", "create", "--name", "log test").strip()
    process.client.key = made
    assert process.client.say("hi").status == 200
    process.client.key = made[:-3] + "xyz"
    assert process.client.say("hi").status == 401
    process.stop()
    assert made not in process.printed
    assert "upstream-secret" not in process.printed
    assert "Traceback" not in process.printed


def everthread(process: Process, *words: str) -> str:
    """A command line tool on the same home, while the server runs."""
    done = subprocess.run(
        [sys.executable, "-m", "everthread", *words], env=process._environ, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_keys_work_at_once_and_stop_at_once(process: Process) -> None:
    made = everthread(process, "keys", "create", "--tenant", "acme", "--name", "bridge").strip()
    assert re.fullmatch(r"et_[0-9a-f]+_[\w-]{40,}", made)
    owner = process.client.key
    process.client.say("My name is Alex.", session="s")
    process.client.key = made
    assert "I know nobody" in process.client.say("Who am I?", session="s").text, "another tenant"
    listed = everthread(process, "keys", "list")
    assert made.split("_")[1] in listed
    assert made not in listed
    assert "acme" in listed
    assert "is revoked" in everthread(process, "keys", "revoke", made.split("_")[1])
    assert process.client.say("hi").status == 401
    process.client.key = owner
    assert "I know Alex" in process.client.say("Who am I?", session="s").text
