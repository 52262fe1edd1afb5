"""/api/keys: made, listed, revoked by an admin of the same tenant; the secret is shown once, and nowhere else."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from everthread.cli.main import main
from front_door import Answer, Client, Everthread

Start = Callable[..., Everthread]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def fresh(start: Start, home: Path) -> Everthread:
    return start(home, webhook_hosts="127.0.0.1")


@pytest.fixture
def by_hand(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    monkeypatch.setenv("EVERTHREAD_HOME", str(home))

    def saying(*words: str) -> str:
        capsys.readouterr()
        assert main(["keys", *words]) == 0
        return capsys.readouterr().out.strip()

    return saying


def refused(answer: Answer, status: int, code: str, param: str | None = None) -> bool:
    error = answer.json["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert (answer.status, error["code"], error["param"]) == (status, code, param), answer.body
    return True


def test_a_key_has_what_it_was_made_with(fresh: Everthread) -> None:
    asked: dict[str, Any] = {
        "name": "the website",
        "rights": ["read", "chat"],
        "expires_at": "2099-01-01",
        "session_key_prefix": "web:",
        "limits": {"requests_per_minute": 600, "tokens_per_day": 1_000_000, "concurrent": 8},
        "webhook": {"url": "http://127.0.0.1:9/hook"},
    }
    made = fresh.client.post("/api/keys", asked)
    assert made.status == 201
    assert made.headers["cache-control"] == "no-store"
    body = made.json
    assert body == {
        "object": "hermes.key",
        "id": body["id"],
        "name": "the website",
        "tenant": "default",
        "rights": ["chat", "read"],
        "state": "valid",
        "session_key_prefix": "web:",
        "limits": asked["limits"],
        "webhook": {"type": "webhook", "url": "http://127.0.0.1:9/hook", "secret": body["webhook"]["secret"]},
        "created_at": body["created_at"],
        "expires_at": "2099-01-01T00:00:00Z",
        "revoked_at": None,
        "key": body["key"],
    }
    assert body["key"].startswith(f"et_{body['id']}_")
    assert body["webhook"]["secret"].startswith("whsec_")
    client = Client(fresh.url, body["key"])
    assert client.say("Hello.", session="web 1", key="web:ann").status == 200
    assert client.say("Hello.", session="web 2", key="ios:ann").status == 404


def test_without_a_word_it_may_chat_and_read_without_limits(fresh: Everthread) -> None:
    made = fresh.client.post("/api/keys", {}).json
    assert (made["rights"], made["name"], made["expires_at"]) == (["chat", "read"], "", None)
    assert set(made["limits"].values()) == {None}
    assert made["webhook"] == {"type": "none"}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"rights": []}, "rights"),
        ({"rights": ["write"]}, "rights"),
        ({"rights": "chat"}, "rights"),
        ({"expires_at": "2001-01-01"}, "expires_at"),
        ({"expires_at": "soon"}, "expires_at"),
        ({"limits": {"requests_per_minute": 0}}, "limits.requests_per_minute"),
        ({"limits": {"tokens": 1}}, "limits"),
        ({"limits": 5}, "limits"),
        ({"session_key_prefix": "a\nb"}, "session_key_prefix"),
        ({"name": "red \x1b[31m"}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"webhook": {"url": "http://10.0.0.1/"}}, None),
        ({"webhook": {}}, "webhook.url"),
        ({"limit": {}}, "limit"),
        ({"tenant": "other"}, "tenant"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_made(client: Client, body: dict[str, Any], param: str | None) -> None:
    before = len(client.get("/api/keys?limit=100").json["data"])
    answer = client.post("/api/keys", body)
    assert answer.status == 400
    assert param is None or answer.json["error"]["param"] == param
    assert len(client.get("/api/keys?limit=100").json["data"]) == before


def test_they_are_listed_in_pages_the_oldest_first(fresh: Everthread) -> None:
    ids = [fresh.client.post("/api/keys", {"name": f"key {number}"}).json["id"] for number in range(5)]
    first = fresh.client.get("/api/keys?limit=3").json
    assert ([key["id"] for key in first["data"]], first["has_more"]) == (ids[:3], True)
    rest = fresh.client.get(f"/api/keys?limit=3&after={ids[2]}").json
    assert ([key["id"] for key in rest["data"]], rest["has_more"]) == (ids[3:], False)
    assert refused(fresh.client.get("/api/keys?after=unknown"), 400, "invalid_value", "after")


def test_a_revoked_key_stops_at_once_and_stays_in_the_list(fresh: Everthread) -> None:
    made = fresh.client.post("/api/keys", {}).json
    client = Client(fresh.url, made["key"])
    assert client.get("/v1/models").status == 200
    gone = fresh.client.send("DELETE", f"/api/keys/{made['id']}")
    assert (gone.status, gone.json["state"]) == (200, "revoked")
    assert refused(client.get("/v1/models"), 401, "invalid_api_key")
    assert fresh.client.get(f"/api/keys/{made['id']}").json["revoked_at"] == gone.json["revoked_at"]
    again = fresh.client.send("DELETE", f"/api/keys/{made['id']}")
    assert (again.status, again.json["revoked_at"]) == (200, gone.json["revoked_at"])


def test_secrets_are_in_no_list_and_in_no_log(
    fresh: Everthread, caplog: pytest.LogCaptureFixture, by_hand: Callable[..., str]
) -> None:
    caplog.set_level(logging.DEBUG)
    made = fresh.client.post("/api/keys", {"webhook": {"url": "http://127.0.0.1:9/"}}).json
    client = Client(fresh.url, made["key"])
    client.say("Hello.", session="s")
    client.post("/api/keys", {})
    seen = [
        fresh.client.get("/api/keys").body,
        fresh.client.get(f"/api/keys/{made['id']}").body,
        fresh.client.get("/api/usage?by=key").body,
        fresh.client.send("DELETE", f"/api/keys/{made['id']}").body,
        by_hand("list").encode(),
        caplog.text.encode(),
    ]
    secret = made["key"].rpartition("_")[2]
    for text in seen:
        assert secret.encode() not in text
        assert made["webhook"]["secret"].encode() not in text
        assert b"digest" not in text


def test_another_tenant_sees_nothing(fresh: Everthread, by_hand: Callable[..., str]) -> None:
    mine = fresh.client.post("/api/keys", {}).json
    other = Client(fresh.url, by_hand("create", "--tenant", "other", "--rights", "admin").splitlines()[0])
    fresh.client.say("Hello.", session="s")
    assert [key["tenant"] for key in other.get("/api/keys").json["data"]] == ["other"]
    for method in ("GET", "DELETE"):
        theirs = other.send(method, f"/api/keys/{mine['id']}")
        nothing = other.send(method, "/api/keys/0123456789ab")
        assert (theirs.status, theirs.body) == (nothing.status, nothing.body)
        assert refused(theirs, 404, "not_found")
    assert Client(fresh.url, mine["key"]).get("/v1/models").status == 200, "it was not revoked"
    assert other.post("/api/keys", {}).json["tenant"] == "other"
    assert other.get("/api/usage").json["total"]["requests"] == 0
    assert other.get("/api/usage?by=key&key=env").json["data"] == []
    assert other.get("/api/usage?by=session&session_id=s").json["data"] == []


def test_who_is_bound_to_a_prefix_makes_and_sees_only_keys_within_it(fresh: Everthread) -> None:
    bound = fresh.client.post("/api/keys", {"rights": ["admin"], "session_key_prefix": "team:"}).json
    admin = Client(fresh.url, bound["key"])
    free = fresh.client.post("/api/keys", {}).json
    assert refused(
        admin.post("/api/keys", {"session_key_prefix": "te"}), 403, "insufficient_rights", "session_key_prefix"
    )
    assert admin.post("/api/keys", {}).json["session_key_prefix"] == "team:"
    narrow = admin.post("/api/keys", {"session_key_prefix": "team:a:"}).json
    assert {key["session_key_prefix"] for key in admin.get("/api/keys").json["data"]} == {"team:", "team:a:"}
    assert refused(admin.get(f"/api/keys/{free['id']}"), 404, "not_found")
    assert refused(admin.send("DELETE", f"/api/keys/{free['id']}"), 404, "not_found")
    fresh.client.say("Hello.", session="s")
    Client(fresh.url, narrow["key"]).say("Hello.", session="t", key="team:a:1")
    assert [row["key"] for row in admin.get("/api/usage?by=key").json["data"]] == [narrow["id"]]
    assert admin.get("/api/usage").json["total"]["requests"] == 1


def test_the_command_line_makes_the_same_keys(fresh: Everthread, by_hand: Callable[..., str]) -> None:
    words = (
        "--name site --rights read --expires 2099-01-01 --requests-per-minute 60 --tokens-per-day 5000 --concurrent 4"
    )
    secret = by_hand("create", *words.split())
    (shown,) = fresh.client.get("/api/keys").json["data"]
    assert secret.startswith(f"et_{shown['id']}_")
    assert (shown["rights"], shown["expires_at"]) == (["read"], "2099-01-01T00:00:00Z")
    assert shown["limits"] == {"requests_per_minute": 60, "tokens_per_day": 5000, "concurrent": 4}
    listed = by_hand("list")
    for part in ("read", "2099-01-01 00:00", "60/min 5000t/day 4x", "site"):
        assert part in listed


@pytest.mark.parametrize("words", [("--rights", "write"), ("--expires", "2001-01-01"), ("--expires", "soon")])
def test_the_command_line_says_what_is_wrong(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, str]
) -> None:
    monkeypatch.setenv("EVERTHREAD_HOME", str(home))
    assert main(["keys", "create", *words]) != 0
    assert words[0] in capsys.readouterr().err
