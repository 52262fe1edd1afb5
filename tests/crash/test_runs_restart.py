"""Runs and background responses, killed with their server: completed or over with a reason, never lost."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from front_door import Client
from process import Process
from upstream import Upstream, falls_silent, sleeps

pytestmark = pytest.mark.slow


@pytest.fixture
def process(upstream: Upstream, tmp_path: Path) -> Iterator[Process]:
    with Process(tmp_path / "home", upstream_url=upstream.url, memory="off") as process:
        yield process


def over(client: Client, path: str) -> dict[str, Any]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        shown = client.get(path).json
        if shown["status"] not in {"queued", "in_progress", "running", "stopping"}:
            return dict(shown)
        time.sleep(0.02)
    raise AssertionError(shown)


def test_a_background_response_of_which_nobody_heard_is_run_again(process: Process, upstream: Upstream) -> None:
    upstream.plan.append(sleeps(30))
    begun = process.client.post("/v1/responses", {"input": "My name is Alex.", "background": True}).json
    time.sleep(0.3)
    process.kill()
    process.start()
    done = over(process.client, f"/v1/responses/{begun['id']}")
    assert done["status"] == "completed"
    assert "I know Alex" in done["output"][0]["content"][0]["text"]
    more = process.client.post("/v1/responses", {"input": "Who?", "previous_response_id": begun["id"]}).json
    assert "I see 3 messages" in more["output"][0]["content"][0]["text"]


def test_one_of_which_something_was_told_fails_with_a_reason_and_tells_the_same_again(
    process: Process, upstream: Upstream
) -> None:
    upstream.plan.append(falls_silent(30))
    body = json.dumps({"input": "Hello.", "background": True, "stream": True}).encode()
    with process.client.opened("POST", "/v1/responses", body) as reply:
        received = b""
        while b"output_text.delta" not in received:
            received += reply.read1(65536)
        process.kill()
    lines = [line[6:] for line in received.decode().split("\n") if line.startswith("data: ")]
    seen = [json.loads(line) for line in lines]
    process.start()
    id_ = seen[0]["response"]["id"]
    failed = over(process.client, f"/v1/responses/{id_}")
    assert failed["status"] == "failed"
    assert "server stopped" in failed["error"]["message"]
    again = process.client.get(f"/v1/responses/{id_}?stream=true").events
    assert again[: len(seen)] == seen
    assert (again[-2]["type"], again[-1]) == ("response.failed", "[DONE]")
    later = process.client.get(f"/v1/responses/{id_}?stream=true&starting_after={len(seen) - 1}").events
    assert later == again[len(seen) :]


def test_a_run_is_never_running_for_ever(process: Process, upstream: Upstream) -> None:
    upstream.plan += [falls_silent(30), sleeps(30)]
    told = process.client.post("/v1/runs", {"input": "One.", "session_id": "a"}).json["run_id"]
    time.sleep(0.3)
    quiet = process.client.post("/v1/runs", {"input": "Two.", "session_id": "b"}).json["run_id"]
    waiting = process.client.post("/v1/runs", {"input": "Three.", "session_id": "b"}).json["run_id"]
    time.sleep(0.3)
    process.kill()
    process.start()
    assert over(process.client, f"/v1/runs/{told}")["status"] == "interrupted"
    assert over(process.client, f"/v1/runs/{quiet}")["status"] == "completed"
    assert over(process.client, f"/v1/runs/{waiting}")["status"] == "completed"
    said = [m["content"] for m in process.client.get("/api/sessions/b/messages").json["data"] if m["role"] == "user"]
    assert said == ["Two.", "Three."]
    events = process.client.get(f"/v1/runs/{told}/events").body.decode()
    assert "run.failed" in events
    assert "interrupted" in events
    assert "I see 1 messages" in process.client.say("Hello?", session="a").text


def test_where_it_is_so_set_nothing_is_run_again(upstream: Upstream, tmp_path: Path) -> None:
    process = Process(tmp_path / "home", upstream_url=upstream.url, memory="off", interrupted_runs="fail")
    try:
        upstream.plan.append(sleeps(30))
        run = process.client.post("/v1/runs", {"input": "One.", "session_id": "a"}).json["run_id"]
        time.sleep(0.3)
        process.kill()
        process.start()
        assert over(process.client, f"/v1/runs/{run}")["status"] == "interrupted"
    finally:
        process.kill()


def test_no_run_is_lost_or_doubled_by_kills_under_load(process: Process, upstream: Upstream) -> None:
    begun: dict[str, tuple[str, str]] = {}

    def talk(session: str, round_: int) -> None:
        for number in range(1000):
            words = f"{session} round {round_} turn {number}."
            path = "/v1/runs" if number % 2 else "/v1/responses"
            body: dict[str, Any] = {"input": words, **({"session_id": session} if number % 2 else {"background": True})}
            headers = {} if number % 2 else {"X_Hermes_Session_Id": session}
            try:
                answer = process.client.post(path, body, **headers)
            except (OSError, http.client.HTTPException):
                return
            if answer.status in {200, 202}:
                begun[words] = (session, answer.json.get("run_id") or answer.json["id"].replace("resp_", "run_"))

    sessions = [f"s{number}" for number in range(4)]
    for round_ in range(3):
        threads = [threading.Thread(target=talk, args=(session, round_)) for session in sessions]
        for thread in threads:
            thread.start()
        time.sleep(0.5 + 0.1 * round_)
        process.kill()
        for thread in threads:
            thread.join(20)
        process.start()
    assert len(begun) > 20
    ended = {words: over(process.client, f"/v1/runs/{run}")["status"] for words, (_, run) in begun.items()}
    assert set(ended.values()) <= {"completed", "interrupted"}
    for session in sessions:
        said = everything_said(process.client, session)
        assert len(said) == len(set(said))
        for words, (where, _) in begun.items():
            if where == session:
                assert (words in said) == (ended[words] == "completed"), words


def everything_said(client: Client, session: str) -> list[str]:
    """By the user, in all pages."""
    said: list[str] = []
    after = ""
    while True:
        page = client.get(f"/api/sessions/{session}/messages?limit=200{after}").json
        said += [message["content"] for message in page["data"] if message["role"] == "user"]
        if not page["has_more"]:
            return said
        after = f"&after={page['data'][-1]['id']}"


# --- jobs ---


def runs_of(client: Client, job: str, count: int) -> list[dict[str, Any]]:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = client.get(f"/api/jobs/{job}/runs?order=asc&limit=100").json["data"]
        if sum(run["status"] not in {"queued", "running"} for run in found) >= count:
            return list(found)
        time.sleep(0.02)
    raise AssertionError(found)


@pytest.mark.parametrize("moment", ["before the first word", "in the middle", "while it waits for its session"])
def test_a_job_that_is_killed_in_its_turn_makes_one_turn_for_that_time(
    process: Process, upstream: Upstream, moment: str
) -> None:
    body = {"name": "report", "schedule": "@yearly", "prompt": "Report now.", "session_id": "s"}
    job = process.client.post("/api/jobs", body).json["job"]["id"]
    if moment == "while it waits for its session":
        upstream.plan.append(sleeps(30))
        process.client.post("/v1/runs", {"input": "Hold the session.", "session_id": "s"})
        time.sleep(0.3)
    else:
        upstream.plan.append(sleeps(30) if moment == "before the first word" else falls_silent(30))
    process.client.send("POST", f"/api/jobs/{job}/run")
    time.sleep(0.4)
    process.kill()
    process.start()
    (run,) = runs_of(process.client, job, 1)
    assert run["status"] == "completed"
    said = [m["content"] for m in process.client.get("/api/sessions/s/messages").json["data"] if m["role"] == "user"]
    assert said.count("Report now.") == 1


def test_no_time_of_a_job_is_lost_or_doubled_by_kills(process: Process, upstream: Upstream) -> None:
    """A job that fires every ten seconds of a clock that is the machine's own, and kills in between."""
    jobs = [
        process.client.post(
            "/api/jobs",
            {"name": f"job {number}", "schedule": "every 10s", "prompt": "Report.", "on_missed": "run_all"},
        ).json["job"]["id"]
        for number in range(5)
    ]
    time.sleep(10.05)  # in the middle of their firing
    process.kill()
    process.start()
    for job in jobs:
        runs = runs_of(process.client, job, 1)
        times = [run["scheduled_at"] for run in runs]
        assert len(set(times)) == len(times)
        assert {run["status"] for run in runs} <= {"completed", "queued", "running"}
        done = [run for run in runs if run["status"] == "completed"]
        said = process.client.get(f"/api/sessions/job%3A{job}/messages?limit=200").json["data"]
        assert len([message for message in said if message["role"] == "user"]) >= len(done)
