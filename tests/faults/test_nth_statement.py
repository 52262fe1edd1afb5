"""Whatever statement fails: nothing is acknowledged that is not kept, nothing is kept by half, and all goes on."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from typing import Any
from urllib.parse import quote

import pytest
from failing import Trouble
from jumping import Jumping

from everthread.turns import remember, runs
from front_door import Answer, Client, Everthread
from upstream import Upstream

pytestmark = pytest.mark.slow

REJECT = {"X-Hermes-On-Busy": "reject"}
OVER = {"completed", "failed", "interrupted"}
LONG = "Some more words about nothing at all, and the same once more. " * 8


class House:
    """A server whose statements fail when they are told to, and what can be seen of it from outside."""

    def __init__(self, server: Everthread, clock: Jumping, trouble: Trouble) -> None:
        self.server = server
        self.trouble = trouble
        self.clock = clock
        self.client: Client = server.client

    def say(self, text: str, session: str, **more: Any) -> Answer:
        answer = self.client.say(text, session=session, **more)
        assert answer.status == 200, answer.body
        return answer

    def transcript(self, session: str) -> list[tuple[str, str]]:
        answer = self.client.get(f"/api/sessions/{quote(session, safe='')}/messages?limit=200")
        if answer.status == 404:
            return []
        assert answer.status == 200, answer.body
        return [(message["role"], message["content"]) for message in answer.json["data"]]

    def goes_on(self, session: str) -> None:
        """Nobody holds the session, and its next turn finds exactly what is kept of it."""
        before = self.transcript(session)
        answer = self.until(  # a rotation may have it for a moment
            lambda: self.client.say("And now?", session=session, headers=REJECT), lambda answer: answer.status != 409
        )
        assert answer.status == 200, answer.body
        assert self.transcript(session) == [*before, ("user", "And now?"), ("assistant", answer.text)]

    def came_to_its_end(self, run: str) -> dict[str, Any]:
        return dict(self.until(lambda: self.client.get(f"/v1/runs/{run}").json, lambda run: run["status"] in OVER))

    def settles(self) -> None:
        """What goes on by itself has met the fault, or has come to rest."""
        deadline, seen = time.monotonic() + 5, -1
        while not self.trouble.failed and seen != self.trouble.seen and time.monotonic() < deadline:
            seen = self.trouble.seen
            time.sleep(0.15)

    def sound(self) -> None:
        assert self.server.running is not None
        checking = self.server.running.site.store.check(repair=False)
        assert asyncio.run_coroutine_threadsafe(checking, self.server.loop).result(30) == ()

    def ready(self) -> bool:
        answer = self.client.get("/health/ready")
        assert answer.status in {200, 503}
        assert (answer.status == 200) == all(check["ok"] for check in answer.json["checks"].values())
        return answer.status == 200

    @staticmethod
    def until(look: Callable[[], Any], happened: Callable[[Any], bool], within: float = 15) -> Any:
        deadline = time.monotonic() + within
        while not happened(found := look()):
            assert time.monotonic() < deadline, found
            time.sleep(0.01)
        return found


@pytest.fixture(scope="module")
def house(shared_upstream: Upstream, trouble: Trouble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    clock = Jumping()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "HELD", timedelta(seconds=0.5))  # what could not be recorded is looked at again then
        patch.setattr(remember, "AGAIN_AFTER", timedelta(seconds=0.1))
        server = Everthread(tmp_path_factory.mktemp("failing"), shared_upstream.url, clock, context_budget="1000")
        yield House(server, clock, trouble)
        trouble.end()
        server.stop()


def error_of(answer: Answer) -> dict[str, Any]:
    """The error object, whether it is the body or the last event of a stream that never says it is done."""
    if answer.status == 200:
        assert "[DONE]" not in answer.events
        return dict(answer.events[-1]["error"])
    return dict(answer.json["error"])


def acknowledged(answer: Answer) -> bool:
    """Whether the client was told that all went well; if not, it was told that storage failed, and nothing else."""
    streamed = answer.headers["content-type"].startswith("text/event-stream")
    if answer.status in {200, 201, 202} and not (streamed and answer.events[-1:] != ["[DONE]"]):
        return True
    assert answer.status == 503 or (streamed and answer.status == 200), (answer.status, answer.body)
    assert error_of(answer)["code"] == "storage_unavailable", answer.body
    return False


# --- what is done while a statement fails: all before the first `yield` goes well, and all after the second ---

Scenario = Callable[[House, str], Iterator[None]]


def turn(house: House, session: str, *, stream: bool) -> Iterator[None]:
    house.say("My name is Alex.", session, key=session)
    before = house.transcript(session)
    yield
    answer = house.client.say("Who am I?", session=session, stream=stream)
    yield
    told = [("user", "Who am I?"), ("assistant", answer.text)] if acknowledged(answer) else []
    assert house.transcript(session) == [*before, *told]
    house.goes_on(session)


def a_turn_as_json(house: House, session: str) -> Iterator[None]:
    return turn(house, session, stream=False)


def a_turn_as_a_stream(house: House, session: str) -> Iterator[None]:
    return turn(house, session, stream=True)


def the_first_turn(house: House, session: str) -> Iterator[None]:
    yield
    answer = house.client.say("My name is Alex.", session=session, key=session)
    yield
    told = [("user", "My name is Alex."), ("assistant", answer.text)] if acknowledged(answer) else []
    assert house.transcript(session) == told
    house.goes_on(session)


def a_turn_with_an_idempotency_key(house: House, session: str) -> Iterator[None]:
    once = {"Idempotency-Key": session}
    house.say("My name is Alex.", session)
    yield
    first = house.client.say("Who am I?", session=session, headers=once, stream=True)
    yield
    kept = acknowledged(first)
    second, third = (house.say("Who am I?", session, headers=once, stream=True) for _ in range(2))
    assert ("idempotent-replayed" in second.headers) == kept, "what failed runs again, what was told is told again"
    assert third.headers["idempotent-replayed"] == "true"
    assert third.text == second.text
    assert not kept or first.text == second.text
    assert [said for role, said in house.transcript(session) if role == "user"] == ["My name is Alex.", "Who am I?"]
    house.goes_on(session)


def a_session_that_rotates(house: House, session: str) -> Iterator[None]:
    for number in range(3):
        house.say(f"{number}: {LONG}", session)
    before = house.transcript(session)
    yield
    answers = [(f"{number}: {LONG}", house.client.say(f"{number}: {LONG}", session=session)) for number in (3, 4)]
    yield
    told = [("user", said, "assistant", answer.text) for said, answer in answers if acknowledged(answer)]
    assert house.transcript(session) == [*before, *((t[n], t[n + 1]) for t in told for n in (0, 2))]
    house.say(f"5: {LONG}", session)
    tip = house.say("Where are we?", session).hermes["session_id"]
    assert house.say("And here?", tip).hermes["root_session_id"] == session, "every id leads to the one conversation"
    house.goes_on(session)


def rotation_by_hand(house: House, session: str) -> Iterator[None]:
    for number in range(3):
        house.say(f"{number}: {LONG}", session)
    before = house.transcript(session)
    yield
    answer = house.client.send("POST", f"/api/sessions/{session}/compress", b"")
    yield
    acknowledged(answer)
    assert house.transcript(session) == before
    house.goes_on(session)


def a_run(house: House, session: str) -> Iterator[None]:
    house.say("My name is Alex.", session)
    before = house.transcript(session)
    body, headers = json.dumps({"input": "Who am I?"}).encode(), {"X-Hermes-Session-Id": session}
    yield
    answer = house.client.send("POST", "/v1/runs", body, headers)
    house.settles()
    yield
    if acknowledged(answer):
        ended = house.came_to_its_end(answer.json["run_id"])
        said = house.transcript(session)[len(before) :]
        assert [role for role, _ in said] == (["user", "assistant"] if ended["status"] == "completed" else [])
        if ended["status"] == "failed":
            assert ended["error"]["code"] == "storage_unavailable"
    else:
        assert house.transcript(session) == before
    house.goes_on(session)


def a_background_response(house: House, session: str) -> Iterator[None]:
    yield
    answer = house.client.post("/v1/responses", {"input": "My name is Alex.", "background": True})
    house.settles()
    yield
    if not acknowledged(answer):
        return
    path = f"/v1/responses/{answer.json['id']}"
    ended = house.until(
        lambda: house.client.get(path).json, lambda response: response["status"] not in {"queued", "in_progress"}
    )
    assert ended["status"] in {"completed", "failed"}
    if ended["status"] == "completed":
        more = house.client.post("/v1/responses", {"input": "Who am I?", "previous_response_id": ended["id"]})
        assert "I know Alex" in more.json["output"][0]["content"][0]["text"]


def a_jobs_fire(house: House, session: str) -> Iterator[None]:
    job = {"name": "hourly", "prompt": "Report.", "schedule": "0 * * * *", "session_id": session, "retries": 0}
    made = house.client.post("/api/jobs", job).json["job"]["id"]
    yield
    house.clock.jump(timedelta(hours=1), house.server)
    house.settles()
    yield
    path = f"/api/jobs/{made}/runs?order=asc&limit=100"
    ran = house.until(
        lambda: house.client.get(path).json["data"],
        lambda runs: runs and all(run["status"] in OVER for run in runs),
    )
    assert len({run["scheduled_at"] for run in ran}) == len(ran), "once for each time"
    completed = [run for run in ran if run["status"] == "completed"]
    assert [said for role, said in house.transcript(session) if role == "user"] == ["Report."] * len(completed)
    house.goes_on(session)
    assert house.client.send("DELETE", f"/api/jobs/{made}").status == 200


def a_new_session(house: House, session: str) -> Iterator[None]:
    first = house.say("My name is Alex.", "@current", key=session).hermes["session_id"]
    yield
    answer = house.client.say("/new", session="@current", key=session)
    yield
    now = house.say("Who am I?", "@current", key=session).hermes["session_id"]
    if acknowledged(answer):
        assert now == answer.hermes["session_id"] != first
    else:
        assert now == first, "a command that failed changed nothing"
    house.goes_on(now)


def forgetting(house: House, session: str) -> Iterator[None]:
    house.say("My favourite colour is zyxwomat.", session, key=session)
    house.say("Noted?", session)
    yield
    answer = house.client.post(f"/api/memory/forget?session_key={session}", {"text": "zyxwomat"})
    yield
    if not acknowledged(answer):
        again = house.client.post(f"/api/memory/forget?session_key={session}", {"text": "zyxwomat"})
        assert again.status == 200, again.body
    assert "zyxwomat" not in json.dumps(house.transcript(session))
    house.goes_on(session)


def deletion(house: House, session: str) -> Iterator[None]:
    house.say("My name is Alex.", session)
    before = house.transcript(session)
    yield
    answer = house.client.send("DELETE", f"/api/sessions/{session}")
    yield
    left = house.transcript(session)
    if acknowledged(answer):
        assert left == []
    else:
        assert left in ([], before), "all of it, or nothing"
    house.goes_on(session)


SCENARIOS: list[Scenario] = [
    a_turn_as_json,
    a_turn_as_a_stream,
    the_first_turn,
    a_turn_with_an_idempotency_key,
    a_session_that_rotates,
    rotation_by_hand,
    a_run,
    a_background_response,
    a_jobs_fire,
    a_new_session,
    forgetting,
    deletion,
]
each_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)


# How many statements are passed over, where there are many of them or each takes a second to be tried again.
STRIDES: dict[Scenario, int] = {
    a_session_that_rotates: 24,
    rotation_by_hand: 4,
    a_run: 14,
    a_background_response: 14,
    a_jobs_fire: 14,
    a_new_session: 4,
    forgetting: 20,
    deletion: 20,
}


@each_scenario
def test_one_statement_fails(house: House, trouble: Trouble, scenario: Scenario, upstream: Upstream) -> None:
    for number in count(1, STRIDES.get(scenario, 1)):
        doing = scenario(house, f"{scenario.__name__}-{number}")
        next(doing)
        try:
            trouble.begin(number)
            next(doing)
        finally:
            trouble.end()
        assert house.ready(), "one failure is over by itself"
        assert next(doing, "done") == "done"
        if not trouble.failed:
            break
    assert number > 1, "statements were met"
    house.sound()


@each_scenario
def test_every_statement_fails_for_a_while(
    house: House, trouble: Trouble, scenario: Scenario, upstream: Upstream
) -> None:
    for number in count(1, STRIDES.get(scenario, 1)):
        doing = scenario(house, f"{scenario.__name__}-lasting-{number}")
        next(doing)
        try:
            trouble.begin(number, lasts=True, code=(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL)[number % 2])
            next(doing)
            reached = bool(trouble.failed)
            assert not (reached and house.ready()), "it is red while it lasts"
        finally:
            trouble.end()
        House.until(house.ready, bool, within=5)
        assert next(doing, "done") == "done"
        if not reached:
            break
    assert number > 1, "statements were met"
    house.sound()
