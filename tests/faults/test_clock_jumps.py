"""A clock that is set a day ahead or back while all goes on: order is kept by number, and nobody waits for tomorrow."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from jumping import Jumping

from front_door import Answer, Everthread
from upstream import HEAD, Behaviour, Upstream, chunk, end, event, status

pytestmark = pytest.mark.slow

DAY = timedelta(days=1)
OVER = {"completed", "failed", "interrupted", "cancelled"}
either_way = pytest.mark.parametrize("jump", [DAY, -DAY], ids=["ahead", "back"])


class House:
    def __init__(self, start: Callable[..., Everthread]) -> None:
        self.clock = Jumping()
        self.server = start(clock=self.clock)
        self.client = self.server.client

    def jump(self, by: timedelta) -> None:
        self.clock.jump(by, self.server)

    def over(self, run: str) -> str:
        deadline = time.monotonic() + 20
        while (told := self.client.get(f"/v1/runs/{run}").json)["status"] not in OVER:
            assert time.monotonic() < deadline, told
            time.sleep(0.02)
        return str(told["status"])

    def said(self, session: str) -> list[str]:
        return [each["content"] for each in self.client.get(f"/api/sessions/{session}/messages").json["data"]]


@pytest.fixture
def house(start: Callable[..., Everthread], upstream: Upstream) -> House:
    return House(start)


class Slow:
    """An upstream that says a word, waits until it may go on, and says the rest."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def __call__(self) -> Behaviour:
        async def behave(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
            writer.write(HEAD)
            await event(writer, chunk({"role": "assistant", "content": "Well, "}))
            self.begun.set()
            while not self.go_on.is_set():
                await asyncio.sleep(0.01)
            await event(writer, chunk({"content": "yes."}, "stop"))
            await event(writer, "[DONE]")
            await end(writer)

        return behave


def test_turns_stay_in_their_order_and_no_page_fails_over_a_date(house: House, upstream: Upstream) -> None:
    said = []
    for number, jump in enumerate((DAY, -2 * DAY, DAY * 400, -DAY * 800, DAY)):
        answer = house.client.say(f"Turn {number}: I moved to Porto{number} yesterday.", session="s", key="k")
        assert answer.status == 200
        said += [f"Turn {number}: I moved to Porto{number} yesterday.", answer.text]
        house.jump(jump)
    assert house.said("s") == said
    house.client.say("And?", session="s", headers={"X-Hermes-Wait-For-Memory": "true"})
    window = [each["content"] for each in upstream.prompts[-1] if each["role"] != "system"]
    assert window[:-1] == said
    for path in (
        "/api/sessions",
        "/api/sessions/s",
        "/api/sessions/s/messages",
        "/api/sessions/s/export",
        "/api/sessions/s/lineage",
        "/api/memory?session_key=k",
        "/api/memory/timeline?session_key=k",
        "/api/memory/export?session_key=k",
        "/api/memory/search?session_key=k&q=Porto",
        "/api/memory/status?session_key=k",
        "/api/usage",
        "/health/ready",
        "/metrics",
    ):
        assert house.client.get(path).status == 200, path


@either_way
def test_a_turn_and_those_who_wait_for_it_do_not_notice(house: House, upstream: Upstream, jump: timedelta) -> None:
    slow = Slow()
    upstream.plan[:] = [slow()]
    answers: list[Answer] = []
    once = {"Idempotency-Key": "once"}
    asking = [
        threading.Thread(target=lambda: answers.append(house.client.say("First?", session="s", headers=once))),
        threading.Thread(target=lambda: answers.append(house.client.say("Second?", session="s"))),
    ]
    asking[0].start()
    assert slow.begun.wait(20)
    asking[1].start()
    house.jump(jump)
    assert house.client.say("First?", session="s", headers=once).status == 409, "it still runs"
    slow.go_on.set()
    for each in asking:
        each.join(20)
    assert [answer.status for answer in answers] == [200, 200]
    assert house.said("s")[::2] == ["First?", "Second?"]
    again = house.client.say("First?", session="s", headers=once)
    assert (again.headers["idempotent-replayed"], again.text) == ("true", "Well, yes.")


@either_way
def test_a_run_stays_with_who_does_it(house: House, upstream: Upstream, jump: timedelta) -> None:
    slow = Slow()
    upstream.plan[:] = [slow()]
    body = json.dumps({"input": "Go!"}).encode()
    run = house.client.send("POST", "/v1/runs", body, {"X-Hermes-Session-Id": "s"}).json["run_id"]
    assert slow.begun.wait(20)
    time.sleep(0.3)  # something of it is recorded, and was told
    house.jump(jump)
    time.sleep(0.3)
    slow.go_on.set()
    assert house.over(run) == "completed"
    assert house.said("s") == ["Go!", "Well, yes."]
    assert len(upstream.requests) == 1
    after = house.client.send("POST", "/v1/runs", body, {"X-Hermes-Session-Id": "s"}).json["run_id"]
    assert house.over(after) == "completed", "the session is free"


def test_a_run_that_was_put_off_does_not_wait_for_a_day_that_is_gone(house: House, upstream: Upstream) -> None:
    job = {"name": "j", "prompt": "Report.", "schedule": "0 0 1 1 *", "retries": 1, "session_id": "s"}
    made = house.client.post("/api/jobs", job).json["job"]["id"]
    upstream.plan[:] = [status(503, headers="retry-after: 120\r\n")]
    run = house.client.send("POST", f"/api/jobs/{made}/run", b"").json["run_id"]
    deadline = time.monotonic() + 20
    while house.client.get(f"/api/jobs/{made}/runs").json["data"][0]["attempt"] != 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    house.jump(-DAY)
    assert house.over(run) == "completed"
    assert house.said("s")[::2] == ["Report."]
