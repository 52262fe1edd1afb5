"""API keys with a webhook: they are told when a session rotates and when a claim is reversed, and nobody else is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from everthread.cli.main import main
from front_door import Client, Everthread
from webhook_receiver import SECRET, Receiver

Start = Callable[..., Everthread]
Made = Callable[..., str]

REDIS = "We use Redis for the session cache."
REMOVED = "We removed Redis because the cache was never hit."


class Tomorrow:
    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def made(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Made:
    """Makes a key beside the server, as people do."""
    monkeypatch.setenv("EVERTHREAD_HOME", str(home))
    monkeypatch.setenv("EVERTHREAD_WEBHOOK_HOSTS", "127.0.0.1")

    def making(*words: str) -> str:
        capsys.readouterr()
        assert main(["keys", "create", *words]) == 0
        return capsys.readouterr().out.splitlines()[0]

    return making


@pytest.fixture
def server(start: Start, home: Path) -> Everthread:
    return start(home, webhook_hosts="127.0.0.1", context_budget="2000")


def hooked(receiver: Receiver) -> tuple[str, ...]:
    return ("--webhook", receiver.url, "--webhook-secret", SECRET)


def rotate(client: Client, session: str, key: str | None = None) -> list[str]:
    """Talks until the session has rotated; the ids it had."""
    ids = [session]
    for number in range(60):
        answer = client.say(f"Turn {number}. " + "Some more words about nothing. " * 8, session=session, key=key)
        assert answer.status == 200, answer.body
        if (now := answer.hermes["session_id"]) not in ids:
            ids.append(now)
        if len(ids) == 3:
            return ids
    raise AssertionError(ids)


def reverse(client: Client, session: str, key: str | None = None) -> None:
    for words in (REDIS, REMOVED, "What holds now?"):
        answer = client.say(words, session=session, key=key, headers={"X-Hermes-Wait-For-Memory": "1"})
        assert answer.status == 200, answer.body


def claims(client: Client, session: str) -> list[dict[str, str]]:
    return list(client.get(f"/api/memory?session_id={quote(session)}").json["data"])


def test_a_session_that_rotates_tells_the_key_once_each_time(
    server: Everthread, made: Made, receiver: Receiver
) -> None:
    client = Client(server.url, made(*hooked(receiver)))
    root, child, grandchild = rotate(client, "talk", key="user:ann")
    began = time.monotonic()
    heard = receiver.wait(2)
    assert time.monotonic() - began < 4, "the post is woken, and does not wait for its next look"
    assert heard[0] == {
        "type": "session.rotated",
        "timestamp": heard[0]["timestamp"],
        "data": {
            "session_id": child,
            "parent_session_id": root,
            "root_session_id": root,
            "session_key": "user:ann",
        },
    }
    assert heard[1]["data"]["session_id"] == grandchild
    assert heard[1]["data"]["parent_session_id"] == child
    assert len(set(receiver.ids)) == len(receiver.ids), "each of them once"


def test_a_reversal_is_told_with_both_quotes_and_the_reason(server: Everthread, made: Made, receiver: Receiver) -> None:
    client = Client(server.url, made(*hooked(receiver)))
    reverse(client, "talk", key="user:ann")
    (told,) = receiver.wait(1)
    old, new = (claim for claim in claims(client, "talk") if "Redis" in claim["quote"])
    assert told["type"] == "memory.reversed"
    assert told["timestamp"] == old["closed_at"]
    assert told["data"] == {
        "claim_id": new["id"],
        "supersedes": old["id"],
        "session_key": "user:ann",
        "session_id": "talk",
        "said_at": new["said_at"],
        "quote": new["quote"],
        "superseded_quote": old["quote"],
        "because": "the cache was never hit",
    }
    assert old["quote"] in REDIS
    assert new["quote"] in REMOVED


def test_a_correction_by_hand_is_a_reversal_too(server: Everthread, made: Made, receiver: Receiver) -> None:
    client = Client(server.url, made(*hooked(receiver)))
    old = client.post("/api/memory", {"text": "The deadline is Monday."}, X_Hermes_Session_Key="k").json
    new = client.post(f"/api/memory/{old['id']}/correct", {"text": "The deadline is Friday."}).json
    (told,) = receiver.wait(1)
    assert (told["data"]["claim_id"], told["data"]["supersedes"]) == (new["id"], old["id"])
    assert (told["data"]["session_key"], told["data"]["session_id"]) == ("k", None)
    assert (told["data"]["quote"], told["data"]["because"]) == ("The deadline is Friday.", None)


def test_other_tenants_foreign_prefixes_and_revoked_keys_hear_nothing(
    server: Everthread, made: Made, receiver: Receiver
) -> None:
    made("--tenant", "other", *hooked(receiver))
    made("--session-key-prefix", "team:", *hooked(receiver))
    revoked = made(*hooked(receiver))
    assert main(["keys", "revoke", revoked]) == 0
    mine = made("--session-key-prefix", "user:", *hooked(receiver))
    reverse(server.client, "unkeyed")
    reverse(Client(server.url, mine), "talk", key="user:ann")
    reverse(server.client, "more", key="user:bob")
    heard = receiver.wait(2)
    time.sleep(0.5)
    assert [told["data"]["session_key"] for told in heard] == ["user:ann", "user:bob"]


def test_what_is_forgotten_before_it_was_told_is_not_told(server: Everthread, made: Made, receiver: Receiver) -> None:
    receiver.answers += [503]
    client = Client(server.url, made(*hooked(receiver)))
    reverse(client, "talk")
    receiver.wait(1)
    assert client.post("/api/memory/forget", {"text": "Redis"}, X_Hermes_Session_Id="talk").status == 200
    assert waiting(server) == [], "it was to be tried again"


def test_a_reversal_of_something_that_was_forgotten_is_not_told(
    start: Start, home: Path, made: Made, receiver: Receiver
) -> None:
    receiver.answers += [503]
    first = start(home, webhook_hosts="127.0.0.1")
    client = Client(first.url, made(*hooked(receiver)))
    reverse(client, "talk")
    receiver.wait(1)
    old = next(claim["id"] for claim in claims(client, "talk") if claim["quote"] in REDIS)
    assert client.post("/api/memory/forget", {"claim": old}).status == 200
    assert waiting(first) == ["memory.reversed"], "its words are not in it"
    first.stop()
    start(home, clock=Tomorrow(), webhook_hosts="127.0.0.1")
    time.sleep(0.7)
    assert len(receiver.heard) == 1


def test_the_rotations_of_a_deleted_session_are_not_told(server: Everthread, made: Made, receiver: Receiver) -> None:
    receiver.answers += [503] * 9
    client = Client(server.url, made(*hooked(receiver)))
    rotate(client, "talk")
    receiver.wait(1)
    assert waiting(server)
    assert client.send("DELETE", "/api/sessions/talk").status == 200
    assert waiting(server) == []


def test_a_receiver_that_is_gone_for_good_is_told_nothing_more(
    server: Everthread, made: Made, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.answers += [410]
    client = Client(server.url, made(*hooked(receiver)))
    reverse(client, "talk")
    receiver.wait(1)
    time.sleep(0.3)
    reverse(client, "again")
    time.sleep(0.5)
    assert len(receiver.heard) == 1
    assert client.get("/api/memory?session_id=talk").status == 200, "the key itself stays valid"
    assert main(["keys", "list"]) == 0
    assert "127.0.0.1" not in capsys.readouterr().out


def test_what_could_not_be_told_is_told_by_the_next_server(
    start: Start, home: Path, made: Made, receiver: Receiver
) -> None:
    receiver.answers += [503]
    first = start(home, webhook_hosts="127.0.0.1")
    reverse(Client(first.url, made(*hooked(receiver))), "talk")
    receiver.wait(1)
    first.stop()
    start(home, clock=Tomorrow(), webhook_hosts="127.0.0.1")
    once, again = receiver.wait(2)
    assert once == again
    assert len(set(receiver.ids)) == 1


def waiting(server: Everthread) -> list[str]:
    assert server.running is not None
    with server.running.site.store.reading() as db:  # type: ignore[attr-defined]
        return [row[0] for row in db.execute("SELECT kind FROM parcel WHERE api_key IS NOT NULL")]
