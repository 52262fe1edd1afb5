"""Limits of a key: requests a minute, requests at once, tokens a day. Over them: 429, and when to try again."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from belongings import until
from everthread.core.ids import KeyId, StepId, Tenant
from everthread.core.key import Limits
from everthread.core.turn import Step
from everthread.core.usage import Spent, Wanted
from everthread.errors import LimitReached
from everthread.http import quota
from everthread.http.auth import new_key
from everthread.http.quota import Quotas, span
from front_door import Answer, Client, Everthread
from upstream import Upstream, falls_silent, sleeps

Start = Callable[..., Everthread]

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


class Settable:
    at = NOON

    def now(self) -> datetime:
        return self.at


def made(server: Everthread, **limits: int) -> Client:
    return Client(server.url, server.client.post("/api/keys", {"limits": limits}).json["key"])


def limited(answer: Answer) -> bool:
    error = answer.json["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert (answer.status, error["type"], error["code"]) == (429, "rate_limit_error", "rate_limit_exceeded")
    assert int(answer.headers["retry-after"]) >= 1
    return True


def left(answer: Answer, what: str) -> tuple[str, str, str]:
    names = ("limit", "remaining", "reset")
    limit, remaining, reset = (answer.headers[f"x-ratelimit-{name}-{what}"] for name in names)
    return limit, remaining, reset


def test_a_key_without_limits_hears_nothing_of_them(client: Client) -> None:
    assert not [name for name in client.get("/v1/models").headers if name.startswith("x-ratelimit")]


def test_so_many_requests_a_minute_and_each_answer_says_how_many_are_left(server: Everthread) -> None:
    client, other = made(server, requests_per_minute=3), made(server, requests_per_minute=3)
    answers = [client.get("/v1/models"), client.say("Hello."), client.say("Hello.", stream=True)]
    assert [answer.status for answer in answers] == [200] * 3
    assert [left(answer, "requests")[:2] for answer in answers] == [("3", "2"), ("3", "1"), ("3", "0")]
    over = client.say("Hello.")
    assert limited(over)
    assert left(over, "requests")[:2] == ("3", "0")
    assert int(over.headers["retry-after"]) <= 20
    assert limited(client.get("/v1/models")), "whatever is asked"
    assert other.get("/v1/models").status == 200, "another key is another matter"


def test_so_many_at_once_streams_included(server: Everthread, upstream: Upstream, name: str) -> None:
    client = made(server, concurrent=1)
    upstream.plan.append(falls_silent(1.0))
    body = json.dumps({"messages": [{"role": "user", "content": "Hello."}], "stream": True}).encode()
    with client.opened("POST", "/v1/chat/completions", body, {"X-Hermes-Session-Id": name}) as stream:
        assert stream.status == 200
        assert limited(client.get("/v1/models"))
        assert server.client.get("/v1/models").status == 200
        stream.read()
    assert free(client)


def test_a_client_that_leaves_makes_room(server: Everthread, upstream: Upstream) -> None:
    client = made(server, concurrent=1)
    upstream.plan.append(falls_silent(30))
    body = json.dumps({"messages": [{"role": "user", "content": "Hello."}], "stream": True}).encode()
    with client.opened("POST", "/v1/chat/completions", body):
        assert limited(client.get("/v1/models"))
    assert free(client)


def free(client: Client) -> bool:
    """Before long: what was sent last is yet to be cleared away."""
    deadline = time.monotonic() + 5
    while (answer := client.get("/v1/models")).status == 429 and time.monotonic() < deadline:
        time.sleep(0.02)
    return answer.status == 200


def test_many_at_once_are_never_more_than_allowed(server: Everthread, upstream: Upstream) -> None:
    client = made(server, concurrent=3)
    upstream.plan += [sleeps(0.5)] * 3
    answers: list[Answer] = []
    threads = [threading.Thread(target=lambda: answers.append(client.say("Hello."))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status for answer in answers if answer.status == 429) == [429] * 5


def test_so_many_runs_at_once_too(server: Everthread, upstream: Upstream) -> None:
    client = made(server, concurrent=2)
    upstream.plan += [falls_silent(30)] * 2
    begun = [client.post("/v1/runs", {"input": "Hello."}) for _ in range(2)]
    assert [answer.status for answer in begun] == [202, 202]
    until(lambda: len(upstream.requests) == 2)
    assert limited(client.post("/v1/runs", {"input": "Hello."}))
    assert limited(client.post("/v1/responses", {"input": "Hello.", "background": True}))
    assert client.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi."}]}).status == 200
    for answer in begun:
        assert client.post(f"/v1/runs/{answer.json['run_id']}/stop", {}).json["status"] == "cancelled"
    assert client.post("/v1/runs", {"input": "Hello."}).status == 202


def test_tokens_of_a_day_are_counted_over_a_restart_and_come_back_at_midnight(start: Start, tmp_path: Any) -> None:
    clock = Settable()
    first = start(tmp_path / "home", clock=clock)
    client = made(first, tokens_per_day=20)
    spent = 0
    while (answer := client.say("Hello.", session="talk")).status == 200:
        assert left(answer, "tokens") == ("20", str(max(0, 20 - spent)), "12h0m0s")
        spent += answer.json["usage"]["total_tokens"]
        assert spent < 1000
    assert spent >= 20
    assert limited(answer)
    assert (answer.headers["retry-after"], answer.headers["x-should-retry"]) == ("43200", "false")
    for path in ("/v1/responses", "/v1/runs"):
        assert limited(client.post(path, {"input": "Hello."}))
    assert limited(client.post("/api/jobs", {"prompt": "Hello.", "schedule": "every 10s"})), "a job would go round it"
    assert limited(client.post("/v1/responses/compact", {"input": "Hello."}))
    assert client.get("/api/sessions/talk").status == 200, "what takes no tokens is served"
    assert left(client.get("/v1/models"), "tokens")[1] == "0"
    first.stop()
    again = start(tmp_path / "home", clock=clock)
    client = Client(again.url, client.key)
    assert limited(client.say("Hello.", session="talk"))
    clock.at += timedelta(hours=12)
    assert client.say("Hello.", session="talk").status == 200


def test_a_websocket_keeps_to_them_too(server: Everthread) -> None:
    client = made(server, requests_per_minute=2, concurrent=1)
    url, given = client.url.replace("http", "ws") + "/v1/responses", {"Authorization": f"Bearer {client.key}"}
    with connect(url, additional_headers=given, proxy=None) as socket:
        assert limited(client.get("/v1/models")), "an open one is a request"
        for expected in ("response.completed", "error"):
            socket.send(json.dumps({"type": "response.create", "input": "Hello."}))
            while (told := json.loads(socket.recv(timeout=20)))["type"] not in {"response.completed", "error"}:
                pass
            assert told["type"] == expected
        assert (told["status"], told["error"]["code"]) == (429, "rate_limit_exceeded")
    with pytest.raises(InvalidStatus) as refused, connect(url, additional_headers=given, proxy=None):
        pass
    assert refused.value.response.status_code == 429


def test_a_key_that_only_reads_opens_no_websocket(server: Everthread) -> None:
    key = server.client.post("/api/keys", {"rights": ["read"]}).json["key"]
    url = server.url.replace("http", "ws") + "/v1/responses"
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(url, additional_headers={"Authorization": f"Bearer {key}"}, proxy=None),
    ):
        pass
    assert refused.value.response.status_code == 403


# --- the arithmetic ---


class Nothing:
    async def add(self, tenant: Tenant, key: KeyId | None, step: Step) -> None: ...

    async def hidden(self, tenant: Tenant, of: StepId, *, model: str, tokens: int, at: datetime) -> None: ...

    async def spent(self, tenant: Tenant, wanted: Wanted) -> tuple[tuple[Spent, ...], bool]:
        return (), False

    async def total(self, tenant: Tenant, wanted: Wanted) -> tuple[Spent, ...]:
        return ()

    async def tokens(self, tenant: Tenant, key: KeyId, day: date) -> int:
        return 0


def test_requests_come_back_one_by_one() -> None:
    now = 0.0
    quotas = Quotas(Nothing(), Settable(), lambda: now)
    limits = Limits(requests_per_minute=60)
    key = new_key(NOON, limits=limits)[1]
    waits: list[float] = []

    async def ask() -> bool:
        try:
            await quotas.again(key, limits, [])
        except LimitReached as failure:
            waits.append(failure.retry_after or 0)
            return False
        return True

    async def asking() -> list[int]:
        nonlocal now
        counts = []
        for pause in (0.0, 0.5, 0.5, 5.0, 1000.0):
            now += pause
            counts.append(sum([await ask() for _ in range(70)]))
        return counts

    assert asyncio.run(asking()) == [60, 0, 1, 5, 60]
    assert (min(waits), max(waits)) == (0.5, 1.0)


def test_keys_that_are_idle_are_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota, "MOST_KEYS", 10)
    quotas = Quotas(Nothing(), Settable(), lambda: 0.0)
    limits = Limits(concurrent=1)

    async def asking() -> None:
        busy = new_key(NOON, limits=limits)[1]
        await quotas.enter(busy, limits, [])
        for _ in range(100):
            key = new_key(NOON, limits=limits)[1]
            await quotas.enter(key, limits, [])
            quotas.leave(key)
        with pytest.raises(LimitReached):
            await quotas.enter(busy, limits, [])
        quotas.leave(busy)

    asyncio.run(asking())
    assert len(quotas._known) == 10


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0ms"), (0.12, "120ms"), (1, "1s"), (59.2, "1m0s"), (60, "1m0s"), (3661, "1h1m1s"), (43200, "12h0m0s")],
)
def test_a_length_of_time_is_written_as_openai_does(seconds: float, text: str) -> None:
    assert span(seconds) == text
