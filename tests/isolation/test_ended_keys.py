"""A key that is revoked or has expired opens nothing more: at once, whatever is asked, and in what is open already."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from socket import create_connection as socket_to
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from neighbours import ENDLESS, Town
from probes import probes
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from belongings import until
from front_door import Answer, Client
from operations import OPEN, OPERATIONS
from upstream import HEAD, chunk, event
from upstream import end as upstream_end

GUARDED = [operation for operation in OPERATIONS if operation.name not in OPEN]


def refused(client: Client, town: Town) -> None:
    """Every operation says the same, of the owner's names and of others."""
    for operation in GUARDED:
        for named in (town.theirs, town.nobodys):
            answer = next(probes(operation, named, town.owner)).send(client)
            assert (answer.status, answer.json["error"]["code"]) == (401, "invalid_api_key"), operation


def until_completed(socket: ClientConnection) -> None:
    while json.loads(socket.recv(timeout=10))["type"] != "response.completed":
        pass


def test_a_revoked_key_opens_nothing_from_that_moment_on(town: Town) -> None:
    (secret,) = town.keys.make("owner")
    client = Client(town.url, secret)
    assert client.get("/api/sessions").status == 200
    town.keys.revoke(secret)
    assert client.get("/api/sessions").status == 401, "the very next request"
    refused(client, town)


def test_a_key_expires_while_it_is_used(town: Town) -> None:
    (secret,) = town.keys.make("owner", expires_at=datetime.now(UTC) + timedelta(seconds=1.5))
    client = Client(town.url, secret)
    assert client.get("/api/sessions").status == 200
    deadline = time.monotonic() + 5
    while client.get("/api/sessions").status == 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    refused(client, town)


def test_a_revoked_key_and_one_that_never_was_get_the_same_answer(town: Town) -> None:
    (secret,) = town.keys.make("owner")
    town.keys.revoke(secret)
    answers = [Client(town.url, key).get("/api/sessions") for key in (secret, "et_0123456789ab_" + "x" * 43)]
    assert answers[0].body == answers[1].body


def test_an_open_websocket_takes_no_more_turns_of_a_revoked_key(town: Town) -> None:
    (secret,) = town.keys.make("owner")
    url = town.url.replace("http", "ws", 1) + "/v1/responses"
    with connect(url, additional_headers={"Authorization": f"Bearer {secret}"}, proxy=None) as socket:
        socket.send(json.dumps({"type": "response.create", "input": "Hello."}))
        until_completed(socket)
        town.keys.revoke(secret)
        asked = len(town.upstream.requests)
        with suppress(ConnectionClosed):  # it may have been told already
            socket.send(json.dumps({"type": "response.create", "input": "And now?"}))
        told = json.loads(socket.recv(timeout=10))
        assert (told["type"], told["error"]["code"]) == ("error", "invalid_api_key")
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=10)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008
        assert len(town.upstream.requests) == asked


# --- what is open when a key ends ---

REVOKED, ELSEWHERE, EXPIRED = ("the API revokes it", "another process revokes it", "it expires")
SOON = 1.5  # seconds, from a key's end on, in which the last that is open has ended


class Held:
    """An upstream that says a word, and the next one when it is let go on."""

    def __init__(self) -> None:
        self._go = threading.Event()

    async def __call__(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        await event(writer, chunk({"role": "assistant", "content": "Well,"}))
        await asyncio.to_thread(self._go.wait, 20)
        await event(writer, chunk({"content": " at last."}, "stop"))
        await event(writer, "[DONE]")
        await upstream_end(writer)

    def go_on(self) -> None:
        self._go.set()


@pytest.fixture
def held(town: Town) -> Iterator[Held]:
    behaviour = Held()
    town.upstream.plan.append(behaviour)
    yield behaviour
    behaviour.go_on()
    town.upstream.plan.clear()


@dataclass
class Ending:
    """A key, and how it ends."""

    town: Town
    how: str

    def __post_init__(self) -> None:
        self.expires = datetime.now(UTC) + timedelta(seconds=1) if self.how == EXPIRED else None
        (self.secret,) = self.town.keys.make("owner", expires_at=self.expires)
        self.client = Client(self.town.url, self.secret)

    def end(self) -> float:
        """Ends it; the moment by which all that was open must have ended."""
        if self.expires is not None:
            return time.monotonic() + (self.expires - datetime.now(UTC)).total_seconds() + SOON
        if self.how == REVOKED:
            name = self.secret.split("_")[1]
            assert self.town.owner.client.send("DELETE", f"/api/keys/{name}").json["state"] == "revoked"
        else:
            self.town.keys.revoke(self.secret)
        return time.monotonic() + SOON


def last_words(stream: http.client.HTTPResponse, until: float) -> list[Any]:
    """What a stream still says; it ends in time."""
    assert stream.fp is not None
    stream.fp.raw._sock.settimeout(max(0.1, until - time.monotonic()))  # type: ignore[union-attr]
    lines = stream.read().decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ") and line != "data: [DONE]"]


def until_it_speaks(stream: http.client.HTTPResponse) -> None:
    assert stream.status == 200
    while b"Well," not in stream.readline():
        pass


def error_of(told: Any) -> str:
    return str(told["error"]["code"])


def kept(town: Town, session: str) -> list[str]:
    found = town.owner.client.get(f"/api/sessions/{quote(session)}/messages")
    return [message["content"] for message in found.json["data"]] if found.status == 200 else []


STREAMS = {
    "chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello."}], "stream": True}),
    "responses": ("/v1/responses", {"input": "Hello.", "stream": True}),
    "a background response": ("/v1/responses", {"input": "Hello.", "stream": True, "background": True}),
    "a session's chat": ("/api/sessions/{session}/chat/stream", {"message": "Hello."}),
}


@pytest.mark.parametrize(
    ("door", "end"), [*((door, REVOKED) for door in STREAMS), ("chat", ELSEWHERE), ("responses", EXPIRED)]
)
def test_a_stream_ends_with_its_key_and_tells_no_more(town: Town, held: Held, door: str, end: str) -> None:
    ending = Ending(town, end)
    session = f"{door}, {end}"
    if "session" in door:
        town.owner.client.post("/api/sessions", {"id": session})
    path, body = STREAMS[door]
    at = path.format(session=quote(session, safe=""))
    with ending.client.opened("POST", at, json.dumps(body).encode()) as stream:
        until_it_speaks(stream)
        told = last_words(stream, ending.end())
    held.go_on()
    assert error_of(told[-1]) == "invalid_api_key"
    assert "at last" not in json.dumps(told)


@pytest.mark.parametrize(
    ("path", "end"), [("/v1/runs/{run}/events", ELSEWHERE), ("/v1/responses/{response}?stream=true", REVOKED)]
)
def test_who_listens_to_a_run_hears_no_more_when_the_key_ends(town: Town, path: str, end: str) -> None:
    """The run itself goes on and on."""
    ending = Ending(town, end)
    run = town.theirs["run_id"][ENDLESS]
    at = path.format(run=run, response=run.replace("run_", "resp_"))
    with ending.client.opened("GET", at) as stream:
        assert stream.status == 200
        told = last_words(stream, ending.end())
    assert error_of(told[-1]) == "invalid_api_key"
    assert not [one for one in told if one.get("event") == "run.failed" or one.get("type") == "response.failed"]
    assert town.owner.client.get(f"/v1/runs/{run}").json["status"] == "running"


def test_a_ticket_ends_with_the_key_that_it_was_made_with(town: Town, held: Held) -> None:
    ending = Ending(town, REVOKED)
    begun = ending.client.post("/v1/runs", {"input": "Hello."}).json
    nobody = Client(town.url, key=None)
    with nobody.opened("GET", begun["events_url"], headers={"Authorization": ""}) as stream:
        until_it_speaks(stream)
        told = last_words(stream, ending.end())
    assert error_of(told[-1]) == "invalid_api_key"
    assert nobody.get(begun["events_url"]).status == 401
    held.go_on()
    until(lambda: town.owner.client.get(f"/v1/runs/{begun['run_id']}").json["status"] == "completed")
    assert nobody.get(begun["events_url"]).status == 401


@pytest.mark.parametrize(("stream", "end"), [(False, REVOKED), (True, ELSEWHERE), (False, EXPIRED)])
def test_a_turn_of_a_named_session_is_kept_though_its_client_is_told_no_more(
    town: Town, held: Held, stream: bool, end: str
) -> None:
    """It was begun with a key that was valid, and who else has the session finds it whole."""
    ending, session = Ending(town, end), f"kept {stream}, {end}"
    answers: list[Answer] = []
    asking = threading.Thread(
        target=lambda: answers.append(ending.client.say("Hello.", session=session, stream=stream))
    )
    before = len(town.upstream.requests)
    asking.start()
    until(lambda: len(town.upstream.requests) > before)
    asking.join(ending.end() - time.monotonic())
    assert answers, "it ended in time"
    if stream:
        assert error_of(answers[0].events[-1]) == "invalid_api_key"
    else:
        assert (answers[0].status, error_of(answers[0].json)) == (401, "invalid_api_key")
    assert "at last" not in answers[0].body.decode()
    assert kept(town, session) == []
    held.go_on()
    until(lambda: kept(town, session) == ["Hello.", "Well, at last."])


@pytest.mark.parametrize("end", [REVOKED, ELSEWHERE])
def test_a_turn_that_waits_for_its_session_is_not_begun_when_its_key_ends(town: Town, held: Held, end: str) -> None:
    ending, session = Ending(town, end), f"a line, {end}"
    before = len(town.upstream.requests)
    with ThreadPoolExecutor() as others:
        first = others.submit(town.owner.client.say, "I am the first.", session=session)
        until(lambda: len(town.upstream.requests) > before)
        waiting = others.submit(ending.client.say, "And I wait.", session=session)
        heard = others.submit(asked_by_websocket, ending.client, session)
        time.sleep(0.2)  # for them to wait; were they not there yet, they would be refused all the same
        by = ending.end()
        refused = waiting.result(by - time.monotonic())
        assert (refused.status, error_of(refused.json)) == (401, "invalid_api_key")
        assert error_of(heard.result(by - time.monotonic())[-1]) == "invalid_api_key"
        held.go_on()
        assert first.result(20).status == 200
    assert kept(town, session) == ["I am the first.", "Well, at last."]
    assert len(town.upstream.requests) == before + 1


def asked_by_websocket(client: Client, session: str) -> list[Any]:
    """What a WebSocket says until it is closed."""
    given = {"Authorization": f"Bearer {client.key}", "X-Hermes-Session-Id": session}
    url = client.url.replace("http", "ws", 1) + "/v1/responses"
    with connect(url, additional_headers=given, proxy=None) as socket:
        socket.send(json.dumps({"type": "response.create", "input": "And I wait, too."}))
        events: list[Any] = []
        with suppress(ConnectionClosed):
            while True:
                events.append(json.loads(socket.recv(timeout=20)))
        return events


@pytest.mark.parametrize(("session", "end"), [(None, REVOKED), ("one", ELSEWHERE), (None, EXPIRED)])
def test_an_open_websocket_closes_with_its_key(town: Town, held: Held, session: str | None, end: str) -> None:
    ending = Ending(town, end)
    given = {"Authorization": f"Bearer {ending.secret}"}
    if session is not None:
        given["X-Hermes-Session-Id"] = session = f"by websocket, {end}"
    url = town.url.replace("http", "ws", 1) + "/v1/responses"
    with connect(url, additional_headers=given, proxy=None) as socket:
        socket.send(json.dumps({"type": "response.create", "input": "Hello."}))
        while json.loads(socket.recv(timeout=10))["type"] != "response.output_text.delta":
            pass
        by = ending.end()
        told = json.loads(socket.recv(timeout=by - time.monotonic()))
        assert (told["type"], told["error"]["code"]) == ("error", "invalid_api_key")
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=2)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008
    held.go_on()
    if session is not None:
        until(lambda: kept(town, session) == ["Hello.", "Well, at last."])


def test_a_body_that_comes_after_the_end_of_its_key_is_not_read(town: Town) -> None:
    ending, session = Ending(town, REVOKED), "a late body"
    body = json.dumps({"messages": [{"role": "user", "content": "Hello."}]}).encode()
    address = urlsplit(town.url)
    with socket_to((address.hostname, address.port), timeout=10) as raw:
        raw.sendall(
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ending.secret}\r\n"
            f"X-Hermes-Session-Id: {session}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        )
        ending.client.get("/health")  # by now the head was read
        ending.end()
        raw.sendall(body)
        answer = raw.recv(65536)
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"invalid_api_key" in answer
    assert kept(town, session) == []


def test_others_hear_on_when_a_key_ends(town: Town, held: Held) -> None:
    ending, other = Ending(town, REVOKED), Ending(town, REVOKED)
    body = json.dumps({"messages": [{"role": "user", "content": "Hello."}], "stream": True}).encode()
    with other.client.opened("POST", "/v1/chat/completions", body) as stream:
        until_it_speaks(stream)
        ending.end()
        held.go_on()
        assert b" at last." in stream.read()


def test_an_admin_that_revokes_its_own_key_is_told_so(town: Town) -> None:
    ending = Ending(town, REVOKED)
    answer = ending.client.send("DELETE", f"/api/keys/{ending.secret.split('_')[1]}")
    assert (answer.status, answer.json["state"]) == (200, "revoked")
    assert ending.client.get("/api/sessions").status == 401
