"""SIGTERM while much is going on: what can be finished is finished, the rest is told so or handed over, and it ends."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from everthread.http import server
from front_door import Answer, Client, Everthread
from process import Process
from upstream import Behaviour, Upstream, falls_silent, sleeps

pytestmark = pytest.mark.slow

OVER = {"completed", "failed", "interrupted", "cancelled"}


class Crowd:
    """Clients that each say one thing at the same time, and what each of them was told."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._threads: list[threading.Thread] = []
        self.told: dict[str, Answer | None] = {}

    def say(self, text: str, session: str, **more: Any) -> None:
        def saying() -> None:
            try:
                self.told[text] = self._client.say(text, session=session, **more)
            except (OSError, http.client.HTTPException):
                self.told[text] = None

        self._threads.append(threading.Thread(target=saying))
        self._threads[-1].start()

    def ended(self) -> dict[str, Answer | None]:
        for thread in self._threads:
            thread.join(40)
        return self.told


def acknowledged(answer: Answer | None) -> bool:
    if answer is None or answer.status != 200:
        return False
    return not answer.headers["content-type"].startswith("text/event-stream") or answer.events[-1:] == ["[DONE]"]


def until(happened: Callable[[], Any], within: float = 20) -> Any:
    deadline = time.monotonic() + within
    while not (found := happened()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)
    return found


def said(client: Client, session: str) -> list[tuple[str, str]]:
    answer = client.get(f"/api/sessions/{session}/messages?limit=200")
    return [(each["role"], each["content"]) for each in answer.json["data"]] if answer.status == 200 else []


def over(client: Client, run: str) -> str:
    return str(until(lambda: (status := client.get(f"/v1/runs/{run}").json["status"]) in OVER and status))


def by_words(upstream: Upstream, **behaviours: Behaviour) -> None:
    """What is asked with one of these words in it meets that behaviour."""
    answers = upstream.behaviour

    def behaviour(request: dict[str, Any]) -> Behaviour:
        asked = str(request["messages"][-1]["content"])
        return next((one for word, one in behaviours.items() if word in asked), answers(request))

    upstream.behaviour = behaviour  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def as_it_was(upstream: Upstream) -> Iterator[None]:
    yield
    vars(upstream).pop("behaviour", None)


def test_streams_waiting_turns_a_run_and_a_job_are_finished_or_handed_over(
    process: Process, upstream: Upstream
) -> None:
    by_words(upstream, slower=sleeps(1.5), slow=falls_silent(1.0))
    client = process.client
    job = client.post("/api/jobs", {"name": "j", "prompt": "A slow report.", "schedule": "0 0 1 1 *"}).json["job"]
    crowd = Crowd(client)
    for number in range(8):
        crowd.say(f"A slow question {number}.", f"s{number}", stream=number % 2 == 0)
    until(lambda: len(upstream.requests) == 8)
    for number in range(3):
        crowd.say(f"A question that waits {number}.", "s0", stream=number % 2 == 0)
    run = client.post("/v1/runs", {"input": "A slower question.", "session_id": "run"}).json["run_id"]
    fired = client.send("POST", f"/api/jobs/{job['id']}/run", b"").json["run_id"]
    until(lambda: len(upstream.requests) == 10)

    began = time.monotonic()
    assert process.stop() == 0
    assert time.monotonic() - began < 30
    told = crowd.ended()
    assert [text for text, answer in told.items() if not acknowledged(answer)] == [], "all of these could be finished"

    process.start()
    for text, answer in told.items():
        assert answer is not None
        session = "s0" if "waits" in text else f"s{text.split()[-1][:-1]}"
        transcript = said(process.client, session)
        assert transcript[transcript.index(("user", text)) + 1] == ("assistant", answer.text)
    assert over(process.client, run) == over(process.client, fired) == "completed"
    assert [role for role, _ in said(process.client, "run")] == ["user", "assistant"]
    assert [role for role, _ in said(process.client, job["session_id"])] == ["user", "assistant"]


def test_more_sigterms_cut_nothing_short(process: Process, upstream: Upstream) -> None:
    by_words(upstream, slow=falls_silent(1.0))
    crowd = Crowd(process.client)
    crowd.say("A slow question.", "s", stream=True)
    until(lambda: upstream.requests)
    while process.running.poll() is None:
        process.running.terminate()
        time.sleep(0.02)
    code = process.stop()  # it is over: this closes its log
    (answer,) = crowd.ended().values()
    assert (code, acknowledged(answer)) == (0, True)


def test_what_cannot_be_finished_is_told_so_and_leaves_nothing(
    start: Callable[..., Everthread], upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "DRAIN", 1)
    monkeypatch.setattr(server, "RUNS_DRAIN", 0.2)
    by_words(upstream, silent=sleeps(30), word=falls_silent(30))
    first = start(tmp_path / "home")
    crowd = Crowd(first.client)
    crowd.say("A silent question.", "json")
    crowd.say("A silent question in a stream.", "silent", stream=True)
    crowd.say("A word.", "stream", stream=True)
    until(lambda: len(upstream.requests) == 3)
    crowd.say("One that waits.", "stream")
    crowd.say("One that waits for its stream.", "json", stream=True)
    background = first.client.post("/v1/runs", {"input": "A silent run.", "session_id": "run"}).json["run_id"]
    until(lambda: len(upstream.requests) == 4)
    began = time.monotonic()
    first.stop()
    assert time.monotonic() - began < 5
    for text, answer in crowd.ended().items():
        assert answer is not None, f"{text}: an answer, not a cut"
        if text == "A word.":
            assert answer.status == 200
            assert answer.text == "Well,"
            last = json.loads(answer.body.decode().strip().rpartition("data: ")[2])
            assert (last["error"]["code"], "[DONE]" in answer.events) == ("stopping", False)
        else:
            assert (answer.status, answer.json["error"]["code"]) == (503, "stopping"), text
            assert int(answer.headers["retry-after"]) >= 1

    vars(upstream).pop("behaviour")
    second = start(tmp_path / "home")
    assert over(second.client, background) == "completed", "the next process has taken it up"
    for session in ("json", "silent", "stream"):
        assert said(second.client, session) == []
        assert second.client.say("Hello?", session=session).status == 200
