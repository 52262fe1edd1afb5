"""What a key may do: chat, read, admin, on every route; and what it may not is a 403 that says why."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from everthread.http.app import ENDPOINTS
from everthread.http.site import Endpoint
from front_door import Client, Everthread

CLOSED = [endpoint for endpoint in ENDPOINTS if not endpoint.open]
HARMLESS = {"response_tokens", "job_preview"}  # POST, and change nothing
NEEDED_TO_TALK = {"models", "model", "capabilities", "usage", "run", "run_events", "response"}
ADMINS = {"keys", "key", "key_create", "key_revoke"}


def made(server: Everthread, *rights: str, **more: Any) -> Client:
    answer = server.client.post("/api/keys", {"rights": list(rights), **more})
    assert answer.status == 201, answer.body
    return Client(server.url, answer.json["key"])


@pytest.fixture(scope="session")
def keys(server: Everthread) -> dict[str, Client]:
    return {
        "chat": made(server, "chat"),
        "read": made(server, "read"),
        "both": made(server, "chat", "read"),
        "admin": made(server, "admin"),
    }


def allowed(who: str, endpoint: Endpoint) -> bool:
    if who == "admin":
        return True
    if endpoint.name in ADMINS:
        return False
    if who == "both" or endpoint.name in HARMLESS | NEEDED_TO_TALK:
        return True
    return (endpoint.method == "GET") == (who == "read")


@pytest.mark.parametrize("who", ["chat", "read", "both", "admin"])
@pytest.mark.parametrize("endpoint", CLOSED, ids=lambda endpoint: endpoint.name)
def test_every_route_wants_its_right(keys: dict[str, Client], endpoint: Endpoint, who: str) -> None:
    path = re.sub(r"{[^}]*}", "unknown", endpoint.path)
    answer = keys[who].send(endpoint.method, path, b"{}" if endpoint.method in {"POST", "PATCH"} else None)
    if allowed(who, endpoint):
        assert answer.status not in {401, 403}, answer.body
        return
    assert answer.status == 403
    error = answer.json["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert (error["type"], error["code"]) == ("permission_error", "insufficient_rights")
    assert all(right in error["message"] for right in endpoint.needs)


def test_what_the_server_says_of_itself_needs_no_right(server: Everthread) -> None:
    nobody = Client(server.url, key=None)
    for endpoint in ENDPOINTS:
        if endpoint.open:
            assert nobody.get(endpoint.path).status in {200, 503}


def test_the_description_says_which_right_is_needed(client: Client) -> None:
    described = client.get("/openapi.json").json["paths"]
    assert described["/api/keys"]["post"]["x-rights"] == ["admin"]
    assert described["/v1/chat/completions"]["post"]["x-rights"] == ["chat"]
    assert described["/api/sessions"]["get"]["x-rights"] == ["read"]
    assert "x-rights" not in described["/health"]["get"]


def test_a_key_that_only_reads_says_nothing(server: Everthread, keys: dict[str, Client], name: str) -> None:
    server.client.say("Hello.", session=name)
    assert keys["read"].get(f"/api/sessions/{name}/messages").status == 200
    assert keys["read"].say("I am here too.", session=name).status == 403
    assert len(server.client.get(f"/api/sessions/{name}/messages").json["data"]) == 2


def test_a_key_that_only_talks_hears_its_own_answers(keys: dict[str, Client], name: str) -> None:
    chat = keys["chat"]
    run = chat.post("/v1/runs", {"input": "Hello."}, X_Hermes_Session_Id=name).json
    assert "run.completed" in chat.get(f"/v1/runs/{run['run_id']}/events").body.decode()
    told = chat.post("/v1/responses", {"input": "Hello.", "background": True}).json
    assert chat.get(f"/v1/responses/{told['id']}").status == 200
    assert chat.get(f"/api/sessions/{name}").status == 403


def test_the_first_key_is_an_admin(start: Callable[..., Everthread], tmp_path: Path) -> None:
    server = start(tmp_path / "home", api_key="")
    first = Client(server.url, (tmp_path / "home" / "key").read_text().strip())
    (shown,) = first.get("/api/keys").json["data"]
    assert (shown["name"], shown["rights"]) == ("first key", ["chat", "read", "admin"])


def test_a_key_stops_when_its_time_is_over(start: Callable[..., Everthread]) -> None:
    class Clock:
        at = datetime.now(UTC)

        def now(self) -> datetime:
            return self.at

    clock = Clock()
    server = start(clock=clock)
    tomorrow = (clock.at + timedelta(days=1)).isoformat()
    brief = made(server, "chat", "read", expires_at=tomorrow)
    assert brief.get("/v1/models").status == 200
    clock.at += timedelta(days=1, seconds=1)
    refused = brief.get("/v1/models")
    assert (refused.status, refused.json["error"]["code"]) == (401, "invalid_api_key")
    assert [key["state"] for key in server.client.get("/api/keys").json["data"]] == ["expired"]
