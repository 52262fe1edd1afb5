"""/api/usage: what turns took is what their replies said, by key, session, job, model and day."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from front_door import Client, Everthread
from upstream import Upstream, calls, says

Start = Callable[..., Everthread]

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


class Settable:
    def __init__(self) -> None:
        self.at = NOON

    def now(self) -> datetime:
        return self.at


@pytest.fixture
def clock() -> Settable:
    return Settable()


@pytest.fixture
def server(start: Start, clock: Settable) -> Everthread:
    return start(clock=clock, prices="fake-model=1000/2000, other=1/1")


@pytest.fixture
def admin(server: Everthread) -> Client:
    return server.client


def made(server: Everthread, **more: Any) -> tuple[str, Client]:
    key = server.client.post("/api/keys", more).json
    return key["id"], Client(server.url, key["key"])


def took(client: Client, query: str = "") -> dict[str, Any]:
    answer = client.get(f"/api/usage{query}")
    assert answer.status == 200, answer.body
    return dict(answer.json)


def rows(client: Client, by: str, more: str = "") -> dict[str | None, tuple[int, int, int]]:
    """Requests, prompt and completion tokens by name."""
    name = {"session": "session_id", "job": "job_id"}.get(by, by)
    found = took(client, f"?by={by}{more}")["data"]
    return {row[name]: (row["requests"], row["prompt_tokens"], row["completion_tokens"]) for row in found}


class Ledger:
    """Adds up what replies say."""

    def __init__(self) -> None:
        self.sum = (0, 0, 0)

    def add(self, usage: dict[str, Any]) -> tuple[int, int, int]:
        prompt = usage.get("prompt_tokens", usage.get("input_tokens"))
        completion = usage.get("completion_tokens", usage.get("output_tokens"))
        assert prompt
        assert completion
        self.sum = (self.sum[0] + 1, self.sum[1] + prompt, self.sum[2] + completion)
        return 1, prompt, completion


def finished(client: Client, run: str) -> dict[str, Any]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        told = client.get(f"/v1/runs/{run}").json
        if told["status"] == "completed":
            return dict(told)
        time.sleep(0.02)
    raise AssertionError(told)


def test_the_sums_are_what_the_replies_said_through_every_door(server: Everthread, admin: Client) -> None:
    key, client = made(server)
    ledger = Ledger()
    first = ledger.add(client.say("Hello.", session="talk").json["usage"])
    streamed = client.say("And?", session="talk", stream=True, stream_options={"include_usage": True})
    second = ledger.add(next(e["usage"] for e in streamed.events if e != "[DONE]" and e.get("usage")))
    third = ledger.add(client.post("/v1/responses", {"input": "Hm."}, X_Hermes_Session_Id="talk").json["usage"])
    spoken = tuple(map(sum, zip(first, second, third, strict=True)))
    run = client.post("/v1/runs", {"input": "Hello."}, X_Hermes_Session_Id="by itself").json["run_id"]
    alone = ledger.add(finished(client, run)["usage"])
    behind = client.post("/v1/responses", {"input": "Hello.", "background": True}).json["id"]
    ledger.add(finished(client, behind.replace("resp_", "run_"))["usage"])
    chat = client.post("/api/sessions/aside/chat", {"message": "Hello."})
    if chat.status == 404:
        client.post("/api/sessions", {"id": "aside"})
        chat = client.post("/api/sessions/aside/chat", {"message": "Hello."})
    ledger.add(chat.json["usage"])
    assert rows(admin, "key") == {key: ledger.sum}
    assert rows(client, "key") == {key: ledger.sum}
    assert rows(admin, "day") == {"2026-03-02": ledger.sum}
    assert rows(admin, "model") == {"fake-model": ledger.sum}
    by_session = rows(admin, "session")
    assert (by_session["talk"], by_session["by itself"]) == (spoken, alone)
    assert tuple(map(sum, zip(*by_session.values(), strict=True))) == ledger.sum
    assert rows(admin, "session", "&session_id=talk") == {"talk": spoken}
    assert rows(admin, "day", "&session_id=talk") == {"2026-03-02": spoken}
    assert rows(admin, "job") == {}


def test_a_job_is_counted_for_the_key_that_made_it(server: Everthread, admin: Client) -> None:
    key, client = made(server)
    job = client.post("/api/jobs", {"name": "n", "prompt": "Hello.", "schedule": "@daily"}).json["job"]["id"]
    ledger = Ledger()
    for _ in range(2):
        run = admin.post(f"/api/jobs/{job}/run", {}).json["run_id"]
        ledger.add(finished(admin, run)["usage"])
    assert rows(admin, "job") == {job: ledger.sum}
    assert rows(client, "job") == {job: ledger.sum}
    assert rows(admin, "key", f"&job_id={job}") == {key: ledger.sum}
    assert rows(admin, "key", "&job_id=job_other") == {}


def test_a_turn_that_leaves_no_trace_leaves_its_tokens(server: Everthread, admin: Client) -> None:
    key, client = made(server)
    ledger = Ledger()
    ledger.add(client.say("A title?", headers={"X-Hermes-Task": "title"}, session="talk").json["usage"])
    ledger.add(client.post("/v1/responses", {"input": "Hello.", "store": False}).json["usage"])
    ledger.add(client.say("Hello.", session="temporary:1").json["usage"])
    assert rows(admin, "key") == {key: ledger.sum}
    assert rows(admin, "session") == {}


def test_what_is_repeated_or_fails_is_not_counted_again(server: Everthread, admin: Client, upstream: Upstream) -> None:
    for _ in range(3):
        assert admin.say("Hello.", session="talk", headers={"Idempotency-Key": "once"}).status == 200
    assert rows(admin, "key")["env"][0] == 1
    assert admin.say("", session="talk", model=7).status == 400
    assert admin.say("/compress", session="talk").status == 200
    assert rows(admin, "key")["env"][0] == 1


def test_two_keys_are_told_apart_and_see_only_themselves(server: Everthread, admin: Client) -> None:
    (ann, first), (bob, second) = made(server), made(server)
    one = first.say("Hello.", session="talk").json["usage"]
    two = [second.say("Hello again.", session="talk").json["usage"] for _ in range(2)]
    assert rows(admin, "key") == {
        ann: (1, one["prompt_tokens"], one["completion_tokens"]),
        bob: (2, sum(u["prompt_tokens"] for u in two), sum(u["completion_tokens"] for u in two)),
    }
    assert list(rows(first, "key")) == [ann]
    assert rows(second, "session")["talk"][0] == 2
    assert list(rows(admin, "key", f"&key={bob}")) == [bob]
    refused = first.get(f"/api/usage?key={bob}")
    assert (refused.status, refused.json["error"]["code"]) == (403, "insufficient_rights")
    assert first.get(f"/api/usage?key={ann}").status == 200


def test_a_days_end_is_that_of_utc_and_a_page_ends_where_it_is_told(
    server: Everthread, admin: Client, clock: Settable
) -> None:
    for _ in range(4):
        admin.say("Hello.", session="talk")
        clock.at += timedelta(days=1)
    days = ["2026-03-02", "2026-03-03", "2026-03-04", "2026-03-05"]
    assert list(rows(admin, "day")) == days
    assert list(rows(admin, "day", "&since=2026-03-03&until=2026-03-05")) == days[1:3]
    page = took(admin, "?limit=3")
    assert ([row["day"] for row in page["data"]], page["has_more"]) == (days[:3], True)
    assert page["total"]["requests"] == 4
    assert list(rows(admin, "day", "&limit=3&after=2026-03-04")) == days[3:]
    clock.at += timedelta(days=60)
    assert rows(admin, "day") == {}
    assert list(rows(admin, "day", "&since=2026-01-01")) == days


def test_the_cost_is_by_the_price_of_the_model(server: Everthread, admin: Client) -> None:
    usage = admin.say("Hello.", session="talk").json["usage"]
    row = took(admin)["data"][0]
    assert row["cost"] == pytest.approx((usage["prompt_tokens"] * 1000 + usage["completion_tokens"] * 2000) / 1e6)
    assert row["unpriced_requests"] == 0
    assert took(admin)["total"]["cost"] == row["cost"]


def test_without_prices_there_is_no_cost(start: Start) -> None:
    client = start().client
    client.say("Hello.")
    assert (took(client)["total"]["cost"], took(client)["total"]["unpriced_requests"]) == (None, None)


def test_a_deleted_session_takes_its_name_along_and_leaves_the_sums(server: Everthread, admin: Client) -> None:
    admin.say("Hello.", session="secret name")
    admin.say("Hello.", session="talk")
    before = rows(admin, "key")
    assert admin.send("DELETE", "/api/sessions/secret%20name").status == 200
    assert list(rows(admin, "session")) == ["talk"]
    assert rows(admin, "key") == before
    assert took(admin, "?by=session")["total"]["requests"] == 2


def test_hidden_tokens_are_told_apart(start: Start, upstream: Upstream, name: str) -> None:
    client = start(context_budget="3000").client
    upstream.answer = lambda _: "Noted."
    for number in range(4):
        client.say(f"{number}. " + "The weather is what it is, and nobody minds. " * 40, session=name)
    assert client.post(f"/api/sessions/{name}/compress", {}).status == 200
    before = took(client)["total"]
    upstream.plan = [calls(("call_1", "memory_search", '{"query": "weather"}')), says("As it is.")]
    answer = client.say("How is the weather?", session=name)
    hidden = answer.hermes["usage"]["searching"]
    total = took(client, f"?session_id={name}")["total"]
    assert hidden > 0
    assert total["hidden_tokens"] == {"distilling": 0, "searching": hidden}
    assert total["total_tokens"] - before["total_tokens"] == answer.json["usage"]["total_tokens"] + hidden
    child = client.say("And now?", session=name).hermes["session_id"]
    assert child != name
    assert list(rows(client, "session", f"&session_id={child}")) == [name], "any id of a conversation leads to it"


def test_a_call_that_nobody_asked_for_is_counted_for_who_said_the_words(start: Start, upstream: Upstream) -> None:
    server = start(context_budget="2000", claims="model")
    key, client = made(server)
    upstream.answer = lambda _: "Noted."
    for number in range(4):
        client.say(f"{number}. " + "We moved the release to Friday, because of the holiday. " * 20, session="talk")
    assert client.post("/api/sessions/talk/compress", {}).status == 200
    deadline = time.monotonic() + 20
    while not (total := took(server.client, "?session_id=talk")["total"])["hidden_tokens"]["distilling"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert total["requests"] == 4
    row = took(server.client, f"?by=key&key={key}")["data"][0]
    assert row["hidden_tokens"] == total["hidden_tokens"]


def test_it_outlives_the_server(start: Start, tmp_path: Any, clock: Settable) -> None:
    first = start(tmp_path / "home", clock=clock)
    first.client.say("Hello.", session="talk")
    before = took(first.client)
    first.stop()
    assert took(start(tmp_path / "home", clock=clock).client) == before


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("by=hour", "by"),
        ("since=yesterday", "since"),
        ("until=2026-13-01", "until"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("after=x", "after"),
        ("session_id=%00", "session_id"),
    ],
)
def test_what_is_wrong_is_named(admin: Client, query: str, param: str) -> None:
    answer = admin.get(f"/api/usage?{query}")
    assert (answer.status, answer.json["error"]["param"]) == (400, param)
