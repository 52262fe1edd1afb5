"""/api/jobs: prompts that fire on a schedule, inside a session's memory. Time is set by the tests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from everthread.turns import jobs
from front_door import Client, Everthread
from upstream import Upstream, sleeps, status
from webhook_receiver import SECRET, Receiver

PATH = "/api/jobs"
MONDAY = datetime(2026, 3, 2, 7, 0, tzinfo=UTC)


class Settable:
    """A clock that stands still until it is set."""

    def __init__(self, at: datetime = MONDAY) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at


class House:
    """A server whose clock is ours."""

    def __init__(self, server: Everthread, clock: Settable) -> None:
        self.server = server
        self.client = server.client
        self.clock = clock

    def at(self, moment: datetime) -> None:
        """It is that time now, and everybody looks at the clock."""
        self.clock.at = moment
        running = self.server.running
        assert running is not None
        for look in (running.site.timetable.changed, running.site.runs.wake, running.site.post.wake):
            self.server.loop.call_soon_threadsafe(look)

    def waits_for(self, job: str, moment: str) -> None:
        """Returns when that is the job's next time."""
        deadline = time.monotonic() + 20
        while (coming := self.client.get(f"{PATH}/{job}").json["job"]["next_run_at"]) != moment:
            assert time.monotonic() < deadline, coming
            time.sleep(0.05)

    def history(self, job: str, count: int = 1) -> list[dict[str, Any]]:
        """The job's runs, when so many of them are over; the oldest first."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            found = self.client.get(f"{PATH}/{job}/runs?order=asc&limit=100").json["data"]
            over = [run for run in found if run["status"] not in {"queued", "running"}]
            if len(over) >= count:
                return list(found)
            time.sleep(0.02)
        raise AssertionError(found)


@pytest.fixture
def house(start: Callable[..., Everthread]) -> House:
    clock = Settable()
    return House(start(clock=clock, webhook_hosts="127.0.0.1"), clock)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def made(house: House, schedule: str = "0 9 * * *", **more: Any) -> dict[str, Any]:
    answer = house.client.post(PATH, {"name": "report", "schedule": schedule, "prompt": "Report.", **more})
    assert answer.status == 201, answer.body
    return dict(answer.json["job"])


# --- firing ---


def test_the_weekly_report_knows_the_week_and_what_was_reversed(
    house: House, upstream: Upstream, receiver: Receiver
) -> None:
    """Decisions over simulated weeks, one of them reversed; on Monday at nine, in the job's zone, it reports."""
    session = "repo:acme/backend"
    answer = house.client.send(
        "POST",
        PATH,
        json.dumps(
            {
                "name": "weekly-pattern-report",
                "schedule": "0 9 * * 1",
                "timezone": "Europe/Berlin",
                "prompt": "Review the engineering decisions of the past week, and what was reversed.",
                "deliver": {"type": "webhook", "url": receiver.url, "secret": SECRET},
            }
        ).encode(),
        {"X-Hermes-Session-Id": session},
    )
    assert answer.status == 201, answer.body
    job = answer.json["job"]
    assert job["session_id"] == session
    assert job["next_run_at"] == "2026-03-02T08:00:00Z"  # nine in Berlin, an hour from now
    house.at(datetime(2026, 3, 2, 8, 0, tzinfo=UTC))
    house.history(job["id"], 1)
    told = [
        (3, "We decided to use Redis for the session cache."),
        (4, "We decided to keep Postgres 16 as the only database."),
        (5, "We removed Redis because the cache was never hit; we use Postgres for sessions now."),
    ]
    for day, words in told:
        house.clock.at = datetime(2026, 3, day, 10, 0, tzinfo=UTC)
        assert house.client.say(words, session=session).status == 200
    house.at(datetime(2026, 3, 9, 7, 59, tzinfo=UTC))
    time.sleep(0.2)
    assert len(house.client.get(f"{PATH}/{job['id']}/runs").json["data"]) == 1
    house.at(datetime(2026, 3, 9, 8, 0, 1, tzinfo=UTC))
    second = house.history(job["id"], 2)[1]
    prompt = json.dumps(upstream.prompts[-1])
    for _, words in told:
        assert words in prompt
    assert "because the cache was never hit" in prompt
    assert second["scheduled_at"] == "2026-03-09T08:00:00Z"
    assert (second["status"], second["attempt"]) == ("completed", 1)
    kept = house.client.get(f"/api/sessions/{session.replace(':', '%3A').replace('/', '%2F')}/messages?order=desc").json
    assert kept["data"][0]["content"] == second["output"]
    assert kept["data"][0]["source"] == "job"
    heard = receiver.about(second["id"])
    assert heard["type"] == "job.run.completed"
    assert heard["data"]["output"] == second["output"]
    assert house.client.get(f"{PATH}/{job['id']}").json["job"]["next_run_at"] == "2026-03-16T08:00:00Z"


def test_the_request_of_the_blog_works_as_it_is_written_and_accumulates(house: House, upstream: Upstream) -> None:
    job = made(house, "0 9 * * 1", name="weekly-pattern-report")
    for week in range(3):
        house.at(datetime(2026, 3, 2, 9, 0, 1, tzinfo=UTC) + timedelta(weeks=week))
        house.history(job["id"], week + 1)
    assert len(upstream.prompts[-1]) == 5
    assert job["session_id"] == f"job:{job['id']}"


def test_a_job_fires_once_per_time_whatever_the_clock_does(house: House) -> None:
    job = made(house, "0 9 * * *")
    for moment in (9, 10, 8, 9):
        house.at(datetime(2026, 3, 2, moment, 0, 1, tzinfo=UTC))
        house.history(job["id"], 1)
    house.at(datetime(2026, 3, 3, 9, 0, 1, tzinfo=UTC))
    runs = house.history(job["id"], 2)
    assert [run["scheduled_at"] for run in runs] == ["2026-03-02T09:00:00Z", "2026-03-03T09:00:00Z"]


def test_a_run_by_hand_is_in_the_history_and_in_the_session(house: House) -> None:
    job = made(house)
    begun = house.client.send("POST", f"{PATH}/{job['id']}/run")
    assert begun.status == 202
    (run,) = house.history(job["id"], 1)
    assert begun.json["run"]["id"] == run["id"]
    assert run["status"] == "completed"
    assert run["usage"]["total_tokens"] > 0
    assert house.client.get(f"/v1/runs/{run['id']}").json["output"] == run["output"]


def test_what_fails_is_tried_again_and_the_history_says_so(house: House, upstream: Upstream) -> None:
    job = made(house, retries=1)
    upstream.plan += [status(500)] * 3
    house.at(datetime(2026, 3, 2, 9, 0, 1, tzinfo=UTC))
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = house.client.get(f"{PATH}/{job['id']}/runs").json["data"]
        if found and found[0]["attempt"] == 2:
            break
        time.sleep(0.02)
    assert found[0]["error"]["code"] == "upstream_failed"
    house.at(datetime(2026, 3, 2, 9, 10, tzinfo=UTC))
    (run,) = house.history(job["id"], 1)
    assert (run["status"], run["attempt"], run["error"]) == ("completed", 2, None)


def test_a_run_that_takes_too_long_is_ended(house: House, upstream: Upstream) -> None:
    job = made(house, timeout_seconds=0.3)
    upstream.plan.append(sleeps(5))
    house.client.send("POST", f"{PATH}/{job['id']}/run")
    (run,) = house.history(job["id"], 1)
    assert (run["status"], run["error"]["code"]) == ("failed", "run_timed_out")


def test_a_job_that_is_still_running_skips_or_queues_its_next_time(house: House, upstream: Upstream) -> None:
    skipping = made(house, "0 * * * *")
    queueing = made(house, "0 * * * *", on_overlap="queue")
    upstream.plan += [sleeps(1.0), sleeps(1.0)]
    house.at(datetime(2026, 3, 2, 8, 0, 1, tzinfo=UTC))
    deadline = time.monotonic() + 10
    while len(upstream.requests) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    house.at(datetime(2026, 3, 2, 9, 0, 1, tzinfo=UTC))
    assert [run["status"] for run in house.history(skipping["id"], 2)] == ["completed", "skipped"]
    assert [run["status"] for run in house.history(queueing["id"], 2)] == ["completed", "completed"]


def test_what_was_missed_while_the_server_was_away_is_made_up_for(
    start: Callable[..., Everthread], upstream: Upstream, tmp_path: Any
) -> None:
    clock = Settable()
    first = House(start(tmp_path / "home", clock=clock), clock)
    jobs = {kind: made(first, "0 * * * *", on_missed=kind)["id"] for kind in ("run_once", "skip", "run_all")}
    first.server.stop()
    clock.at = MONDAY + timedelta(hours=3, minutes=30)
    second = House(start(tmp_path / "home", clock=clock), clock)
    assert [run["status"] for run in second.history(jobs["run_once"], 1)] == ["completed"]
    assert [run["status"] for run in second.history(jobs["skip"], 1)] == ["missed"]
    assert [run["status"] for run in second.history(jobs["run_all"], 3)] == ["completed"] * 3


def test_a_job_is_paused_resumed_changed_and_removed(house: House) -> None:
    job = made(house, repeat=5, metadata={"team": "x"})
    path = f"{PATH}/{job['id']}"
    paused = house.client.send("POST", f"{path}/pause").json["job"]
    assert (paused["enabled"], paused["state"], paused["next_run_at"]) == (False, "paused", None)
    house.at(datetime(2026, 3, 2, 10, 0, tzinfo=UTC))
    resumed = house.client.send("POST", f"{path}/resume").json["job"]
    assert resumed["next_run_at"] == "2026-03-03T09:00:00Z"
    changed = house.client.send("PATCH", path, b'{"schedule": "every 30m", "name": "new", "retries": 3}').json["job"]
    assert changed["schedule"] == {"kind": "interval", "expr": "every 30m", "display": "every 30 minutes"}
    assert (changed["name"], changed["retries"], changed["prompt"]) == ("new", 3, "Report.")
    assert changed["next_run_at"] == "2026-03-02T10:30:00Z"
    assert changed["repeat"] == {"times": 5, "completed": 0}
    taken = house.client.send("PATCH", path, b'{"retries": null, "repeat": null}').json["job"]
    assert (taken["retries"], taken["repeat"]["times"]) == (0, None)
    assert house.client.send("DELETE", path).json == {"ok": True}
    assert house.client.get(path).status == 404


def test_jobs_are_listed_in_pages(house: House) -> None:
    ids = sorted(made(house, name=f"job {number}")["id"] for number in range(5))  # within a millisecond by chance
    page = house.client.get(f"{PATH}?limit=2").json
    assert [job["id"] for job in page["jobs"]] == ids[:2]
    assert page["has_more"]
    rest = house.client.get(f"{PATH}?after={ids[1]}").json
    assert [job["id"] for job in rest["jobs"]] == ids[2:]
    assert not rest["has_more"]


def test_the_next_times_and_a_preview_are_told_in_words(house: House) -> None:
    job = made(house, "0 9 * * 1", timezone="Europe/Berlin")
    coming = house.client.get(f"{PATH}/{job['id']}/next?count=3").json
    assert coming["next"] == ["2026-03-02T08:00:00Z", "2026-03-09T08:00:00Z", "2026-03-16T08:00:00Z"]
    shown = house.client.post(f"{PATH}/preview", {"schedule": "0 9 * * 1", "timezone": "Europe/Berlin"}).json
    assert "Monday" in shown["schedule"]["display"]
    assert shown["next_local"][0] == "2026-03-02T09:00:00+01:00"
    assert len(shown["next"]) == 5


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "name"),
        ({"schedule": "61 9 * * *"}, "schedule"),
        ({"schedule": "every 1s"}, "schedule"),
        ({"schedule": "2020-01-01T00:00:00"}, "schedule"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"on_missed": "maybe"}, "on_missed"),
        ({"retries": -1}, "retries"),
        ({"deliver": {"type": "webhook"}}, "deliver.url"),
        ({"deliver": {"type": "webhook", "url": "http://169.254.169.254/"}}, "deliver.url"),
        ({"deliver": {"type": "webhook", "url": "ftp://example.com/"}}, "deliver.url"),
        ({"session_id": "@current"}, "session_id"),
        ({"session_id": "temporary:1"}, "session_id"),
        ({"expires_at": "tomorrow"}, "expires_at"),
        ({"nonsense": 1}, "nonsense"),
        ({"metadata": {"a": 1}}, "metadata"),
    ],
)
def test_a_bad_field_is_a_400_that_names_it(house: House, body: dict[str, Any], param: str) -> None:
    whole = {"name": "x", "schedule": "@daily", "prompt": "x", **body} if body else {}
    refused = house.client.post(PATH, whole)
    assert refused.status == 400, refused.body
    assert refused.json["error"]["param"].partition("[")[0].startswith(param)
    assert set(refused.json["error"]) == {"message", "type", "param", "code"}


def test_a_bad_schedule_shows_an_example(house: House) -> None:
    refused = house.client.post(PATH, {"name": "x", "prompt": "x", "schedule": "sometimes"})
    assert '"0 9 * * 1"' in refused.json["error"]["message"] or "0 9 * * 1" in refused.json["error"]["message"]


def test_a_jobs_session_and_key_come_from_the_headers_or_the_body(house: House) -> None:
    headers = {"X-Hermes-Session-Id": "s1", "X-Hermes-Session-Key": "k1"}
    body = {"name": "x", "schedule": "@daily", "prompt": "My name is Alex."}
    job = house.client.send("POST", PATH, json.dumps(body).encode(), headers).json["job"]
    assert (job["session_id"], job["session_key"]) == ("s1", "k1")
    same = made(house, session_id="s1", session_key="k1")
    assert (same["session_id"], same["session_key"]) == ("s1", "k1")
    house.client.send("POST", f"{PATH}/{job['id']}/run")
    house.history(job["id"], 1)
    assert "I know Alex" in house.client.say("Who am I?", session="s1", key="k1").text
    other = house.client.post(PATH, {**body, "session_id": "s1", "session_key": "k2"})
    assert (other.status, other.json["error"]["code"]) == (409, "session_key_mismatch")
    both = house.client.send("POST", PATH, json.dumps({**body, "session_id": "s2"}).encode(), headers)
    assert both.status == 400


# --- delivery ---


def test_a_delivery_is_tried_again_until_it_arrives_and_can_be_asked_for_once_more(
    house: House, receiver: Receiver
) -> None:
    receiver.answers = [500, 503]
    job = made(house, deliver={"type": "webhook", "url": receiver.url, "secret": SECRET})
    assert job["deliver"]["secret"] == SECRET
    assert SECRET not in house.client.get(f"{PATH}/{job['id']}").body.decode()
    house.client.send("POST", f"{PATH}/{job['id']}/run")
    (run,) = house.history(job["id"], 1)
    receiver.wait(1)
    for pause in (10, 60):
        time.sleep(0.2)
        house.at(house.clock.at + timedelta(seconds=pause))
    receiver.wait(3)
    assert len(set(receiver.ids)) == 1  # the same message each time
    again = house.client.send("POST", f"{PATH}/{job['id']}/runs/{run['id']}/redeliver")
    assert again.status == 202
    assert receiver.wait(4)[3]["data"]["id"] == run["id"]


def test_a_secret_is_made_where_none_was_given_and_shown_once(house: House, receiver: Receiver) -> None:
    job = made(house, deliver={"type": "webhook", "url": receiver.url})
    assert job["deliver"]["secret"].startswith("whsec_")
    shown = house.client.get(f"{PATH}/{job['id']}").json["job"]["deliver"]
    assert shown["secret"] != job["deliver"]["secret"]


def test_a_failed_run_is_delivered_too(house: House, upstream: Upstream, receiver: Receiver) -> None:
    upstream.plan += [status(500)] * 3
    job = made(house, deliver={"type": "webhook", "url": receiver.url, "secret": SECRET})
    house.client.send("POST", f"{PATH}/{job['id']}/run")
    heard = receiver.wait(1)[0]
    assert (heard["type"], heard["data"]["error"]["code"]) == ("job.run.failed", "upstream_failed")


def test_runs_and_background_responses_are_delivered_where_they_ask_for_it(house: House, receiver: Receiver) -> None:
    hook = {"url": receiver.url, "secret": SECRET}
    run = house.client.post("/v1/runs", {"input": "Hello.", "webhook": hook}).json["run_id"]
    heard = receiver.wait(1)[0]
    assert (heard["type"], heard["data"]["run_id"]) == ("run.completed", run)
    made = house.client.post("/v1/responses", {"input": "Hello.", "background": True, "webhook": hook}).json["id"]
    heard = receiver.wait(2)[1]
    assert (heard["type"], heard["data"]["id"]) == ("response.completed", made)
    alone = house.client.post("/v1/responses", {"input": "Hello.", "webhook": hook})
    assert (alone.status, alone.json["error"]["param"]) == (400, "webhook")


def test_a_private_address_is_refused_unless_it_is_allowed_by_name(
    start: Callable[..., Everthread], receiver: Receiver
) -> None:
    strict = start().client
    for url in (receiver.url, "http://10.0.0.1/x", "http://[::1]/x", "http://localhost/x"):
        answer = strict.post(
            PATH, {"name": "x", "schedule": "@daily", "prompt": "x", "deliver": {"type": "webhook", "url": url}}
        )
        assert answer.status == 400 or "localhost" in url, url
    assert receiver.heard == []


# --- apart ---


def test_a_job_of_another_tenant_is_not_there(house: House) -> None:
    import asyncio

    from everthread import wiring
    from everthread.core.ids import Tenant

    job = made(house)
    running = house.server.running
    assert running is not None
    secret, key = wiring.new_key(MONDAY, tenant=Tenant("b"))
    asyncio.run_coroutine_threadsafe(running.site.store.add_key(key), house.server.loop).result(10)
    other = Client(house.server.url, secret)
    assert other.get(PATH).json["jobs"] == []
    for method, path in (
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/run"),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("GET", "/runs"),
        ("GET", "/next"),
        ("POST", "/runs/run_1/redeliver"),
    ):
        body = b'{"name": "y"}' if method == "PATCH" else None
        theirs = other.send(method, f"{PATH}/{job['id']}{path}", body)
        nobodys = other.send(method, f"{PATH}/job_nope{path}", body)
        assert (theirs.status, theirs.body) == (404, nobodys.body), path
    assert house.client.get(f"{PATH}/{job['id']}").status == 200


def test_a_key_that_is_bound_to_a_prefix_cannot_reach_beyond_it_with_a_job(house: House) -> None:
    import asyncio

    from everthread import wiring

    running = house.server.running
    assert running is not None
    secret, key = wiring.new_key(MONDAY, session_key_prefix="team:")
    asyncio.run_coroutine_threadsafe(running.site.store.add_key(key), house.server.loop).result(10)
    bound = Client(house.server.url, secret)
    body = {"name": "x", "schedule": "@daily", "prompt": "What do you know?", "session_id": "squatted"}
    assert bound.post(PATH, body).status == 400  # it must say under which key
    job = bound.post(PATH, {**body, "session_key": "team:x"}).json["job"]["id"]
    house.client.say("The password is xyzzy.", session="squatted")
    bound.send("POST", f"{PATH}/{job}/run")
    (run,) = house.history(job, 1)
    assert (run["status"], run["output"]) == ("failed", None)
    assert house.client.get("/api/sessions/squatted").json["session"]["session_key"] is None
    own = bound.post(
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": "Hi."}]},
        X_Hermes_Session_Key="team:y",
        X_Hermes_Session_Id="mine",
    )
    assert own.status == 200
    kept = bound.post(PATH, {**body, "session_id": "mine"}).json["job"]
    assert kept["session_key"] == "team:y"
    assert bound.get(f"{PATH}/{kept['id']}").status == 200


def test_runs_that_have_not_begun_go_with_their_job(house: House, upstream: Upstream) -> None:
    upstream.plan.append(sleeps(1.0))
    job = made(house)["id"]
    for _ in range(5):
        house.client.send("POST", f"{PATH}/{job}/run")
    deadline = time.monotonic() + 10
    while not upstream.requests and time.monotonic() < deadline:
        time.sleep(0.02)
    house.client.send("DELETE", f"{PATH}/{job}")
    time.sleep(1.5)
    assert len(upstream.requests) == 1


def test_a_job_that_is_asked_for_again_and_again_has_so_many_runs_that_are_not_over(
    house: House, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MOST_WAITING", 3)
    upstream.plan.append(sleeps(1.0))
    job = made(house)["id"]
    asked = [house.client.send("POST", f"{PATH}/{job}/run") for _ in range(4)]
    assert [answer.status for answer in asked] == [202, 202, 202, 503]
    assert asked[-1].json["error"]["code"] == "overloaded"
    assert int(asked[-1].headers["retry-after"]) >= 1


def test_one_jobs_backlog_keeps_no_other_waiting(house: House, upstream: Upstream) -> None:
    made(house, "every 10s", on_missed="run_all", name="flood")
    house.at(MONDAY + timedelta(hours=2))
    other = made(house, name="other")["id"]
    house.client.send("POST", f"{PATH}/{other}/run")
    assert house.history(other, 1)[0]["status"] == "completed"


def test_a_clock_that_was_years_ahead_and_is_right_again_leaves_no_job_asleep(
    start: Callable[..., Everthread], tmp_path: Any
) -> None:
    clock = Settable()
    first = House(start(tmp_path / "home", clock=clock), clock)
    job = made(first, "0 9 * * *")["id"]
    first.at(datetime(2031, 1, 1, 9, 0, 1, tzinfo=UTC))
    first.history(job, 1)
    first.at(datetime(2026, 3, 2, 10, 0, tzinfo=UTC))
    first.waits_for(job, "2026-03-03T09:00:00Z")
    first.at(datetime(2031, 1, 2, 9, 0, 1, tzinfo=UTC))
    first.history(job, 2)
    first.server.stop()
    clock.at = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
    second = House(start(tmp_path / "home", clock=clock), clock)
    second.waits_for(job, "2026-03-03T09:00:00Z")
    second.at(datetime(2026, 3, 3, 9, 0, 1, tzinfo=UTC))
    assert "2026-03-03T09:00:00Z" in [run["scheduled_at"] for run in second.history(job, 3)]
