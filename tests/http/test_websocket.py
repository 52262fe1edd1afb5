"""A WebSocket on /v1/responses: who may open one, what passes through it, and how it ends."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection, connect

from everthread import wiring
from everthread.core.key import ApiKey
from everthread.http import app, websocket
from everthread.http import server as server_module
from everthread.http.request import Headers
from everthread.http.site import Site
from everthread.http.socket import Converse, Socket
from front_door import KEY, Answer, Client, Everthread
from upstream import Upstream

PATH = "/v1/responses"
LARGEST = 10 * 1024 * 1024
ERROR = {"message", "type", "param", "code"}


async def echo(socket: Socket, headers: Headers, key: ApiKey, site: Site) -> None:
    while (data := await socket.receive()) is not None:
        await socket.send(data if len(data) < 1000 else b"%d" % len(data))


class Slow:
    """Each turn sends the message, waits until it is told to go on, and sends it again."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun: list[bytes] = []
        self.left = threading.Event()

    async def __call__(self, socket: Socket, headers: Headers, key: ApiKey, site: Site) -> None:
        while (data := await socket.receive()) is not None:
            self.begun.append(data)
            await socket.send(data)
            while not self.go.is_set():
                await asyncio.sleep(0.01)
                if socket.left.is_set():
                    self.left.set()
                    return
            await socket.send(data + b" again")


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Callable[[Converse], None]:
    return lambda converse: monkeypatch.setitem(app.SOCKETS, PATH, converse)


@pytest.fixture
def echoing(serving: Callable[[Converse], None]) -> None:
    serving(echo)


@pytest.fixture
def slow(serving: Callable[[Converse], None]) -> Iterator[Slow]:
    slow = Slow()
    serving(slow)
    yield slow
    slow.go.set()


def opened(client: Client, path: str = PATH, *, key: str | None = KEY, **more: Any) -> ClientConnection:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    url = client.url.replace("http", "ws", 1) + path
    more = {"proxy": None, "open_timeout": 10, "close_timeout": 10, **more}
    return connect(url, additional_headers={**headers, **more.pop("headers", {})}, **more)


def refused(client: Client, path: str = PATH, **more: Any) -> Answer:
    with pytest.raises(InvalidStatus) as caught, opened(client, path, **more):
        pass
    answer = caught.value.response
    return Answer(answer.status_code, {k.lower(): v for k, v in answer.headers.raw_items()}, answer.body or b"")


def closed_with(connection: ClientConnection, *sent: str | Iterator[str]) -> int | None:
    """Sends, and reads to the end; the code that the server closed with."""
    try:
        for message in sent:
            connection.send(message)
        while True:
            connection.recv(timeout=15)
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else None


OFFER = {
    "Host": "127.0.0.1",
    "Authorization": f"Bearer {KEY}",
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode(),
}


def head(line: str = f"GET {PATH} HTTP/1.1", **changed: str | None) -> bytes:
    headers: dict[str, str | None] = {**OFFER, **{name.replace("_", "-"): value for name, value in changed.items()}}
    lines = [line, *(f"{name}: {value}" for name, value in headers.items() if value is not None)]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def frame(data: bytes, opcode: Opcode = Opcode.TEXT, *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin=fin).serialize(mask=True)


@contextmanager
def raw(client: Client, sent: bytes) -> Iterator[socket.socket]:
    address = urlsplit(client.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(sent)
        yield connection


def answered(connection: socket.socket, method: str = "GET") -> Answer:
    with closing(http.client.HTTPResponse(connection, method=method)) as reply:
        reply.begin()
        body = b"" if reply.status == 101 else reply.read()
        return Answer(reply.status, {k.lower(): v for k, v in reply.getheaders()}, body)


def to_the_end(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65536), b""))


def shaken(connection: socket.socket) -> None:
    received = b""
    while not received.endswith(b"\r\n\r\n"):
        received += connection.recv(1)
    assert received.startswith(b"HTTP/1.1 101 ")


# --- who may open one ---


@pytest.mark.usefixtures("echoing")
def test_a_client_with_a_key_talks_in_whole_messages(client: Client) -> None:
    with opened(client, headers={"X-Request-Id": "mine"}) as connection:
        assert connection.response is not None
        assert connection.response.headers["x-request-id"] == "mine"
        assert "sec-websocket-extensions" not in connection.response.headers, "no compression, though it was offered"
        for text in ("one", "zwei 🧵", ""):
            connection.send(text)
            assert connection.recv(timeout=10) == text
        connection.send(b"bytes")
        assert connection.recv(timeout=10) == "bytes", "what goes out is text"
        connection.send(iter(["in ", "three ", "pieces"]))
        assert list(connection.recv_streaming()) == ["in three pieces"], "one event, one frame"


@pytest.mark.parametrize("key", [None, "et_wrong", f"{KEY}x"])
def test_without_a_valid_key_none_is_opened(client: Client, key: str | None) -> None:
    answer = refused(client, key=key)
    assert (answer.status, answer.json["error"]["code"]) == (401, "invalid_api_key")
    assert set(answer.json["error"]) == ERROR
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize(
    ("path", "status"), [("/v1/chat/completions", 200), ("/v1/nothing", 404), ("/v1/responses/", 404), ("/health", 200)]
)
def test_elsewhere_an_offer_is_not_taken(client: Client, path: str, status: int) -> None:
    assert refused(client, path).status == status


def test_a_host_that_is_not_served_is_refused(client: Client) -> None:
    with raw(client, head(Host="evil.example")) as connection:
        answer = answered(connection)
    assert (answer.status, answer.json["error"]["code"]) == (421, "host_not_allowed")


@pytest.mark.usefixtures("echoing")
def test_a_page_of_another_site_is_refused_unless_it_is_allowed(
    client: Client, start: Callable[..., Everthread]
) -> None:
    answer = refused(client, origin="https://page.example")
    assert (answer.status, answer.json["error"]["code"]) == (403, "origin_not_allowed")
    with opened(client, origin=client.url):
        pass
    allowing = start(cors_origins="https://page.example").client
    with opened(allowing, origin="https://page.example"):
        pass
    assert refused(allowing, origin="https://other.example").status == 403
    assert refused(allowing, origin="https://page.example", key=None).headers["access-control-allow-origin"]


@pytest.mark.parametrize(
    "changed",
    [
        {"Sec_WebSocket_Key": None},
        {"Sec_WebSocket_Key": "short"},
        {"Sec_WebSocket_Key": "x" * 20_000},
        {"Sec_WebSocket_Version": "8"},
        {"Sec_WebSocket_Version": None},
        {"X_Hermes_Session_Id": "a\r\nX-Hermes-Session-Id: b"},
    ],
)
def test_a_broken_handshake_is_a_400(client: Client, changed: dict[str, str | None]) -> None:
    with raw(client, head(**changed)) as connection:
        answer = answered(connection)
    assert answer.status == 400
    assert set(answer.json["error"]) == ERROR


@pytest.mark.usefixtures("echoing")
def test_a_long_head_is_no_obstacle(client: Client) -> None:
    with opened(client, headers={f"X-More-{n}": "x" * 500 for n in range(150)}) as connection:
        connection.send("hello")
        assert connection.recv(timeout=10) == "hello"


@pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")
@pytest.mark.usefixtures("echoing")
def test_the_openai_sdk_connects(client: Client) -> None:
    event = {"type": "error", "status": 400, "error": {"message": "m", "type": "t", "param": None, "code": "c"}}
    with openai.OpenAI(base_url=f"{client.url}/v1", api_key=KEY).responses.connect() as connection:
        connection.send(event)  # type: ignore[arg-type]
        received = connection.recv()
        assert received.type == "error"
        assert received.error.code == "c"


@pytest.mark.usefixtures("echoing")
def test_what_comes_right_behind_the_offer_is_not_lost(client: Client) -> None:
    with raw(client, head() + frame(b"early") + frame(b"", Opcode.CLOSE)) as connection:
        shaken(connection)
        assert to_the_end(connection).endswith(b"\x88\x00")
    with raw(client, head() + frame(b"early")) as connection:
        shaken(connection)
        assert connection.recv(100) == b"\x81\x05early"


@pytest.mark.usefixtures("echoing")
def test_a_connection_that_was_used_before_can_be_upgraded(client: Client) -> None:
    with raw(client, head("GET /version HTTP/1.1", Connection=None, Upgrade=None)) as connection:
        assert answered(connection).status == 200
        connection.sendall(head())
        shaken(connection)
        connection.sendall(frame(b"hello"))
        assert connection.recv(100) == b"\x81\x05hello"


# --- ordinary requests ---


def test_an_offer_with_a_body_or_behind_another_request_is_an_ordinary_request(client: Client) -> None:
    smuggled = b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for sent in (
        head(Content_Length=str(len(smuggled))) + smuggled,
        head(f"POST {PATH} HTTP/1.1", Content_Length="2") + b"[]",
        head(f"GET {PATH} HTTP/1.0"),
    ):
        with raw(client, sent) as connection:
            answer = answered(connection)
            assert 400 <= answer.status < 500
            assert set(answer.json["error"]) == ERROR
            connection.shutdown(socket.SHUT_WR)
            assert to_the_end(connection) == b"", "one request, one response"
    ahead = head("GET /version HTTP/1.1", Connection=None, Upgrade=None)
    with raw(client, ahead + head()) as connection:
        time.sleep(0.3)
        connection.shutdown(socket.SHUT_WR)
        received = to_the_end(connection)
    assert received.startswith(b"HTTP/1.1 200 OK")
    assert b" 101 " not in received


def test_an_offer_on_the_chat_route_is_answered_as_http(client: Client, upstream: Upstream) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "hello"}]}).encode()
    sent = head("POST /v1/chat/completions HTTP/1.1", Content_Type="application/json", Content_Length=str(len(body)))
    with raw(client, sent + body) as connection:
        assert answered(connection, "POST").status == 200


# --- what passes through it ---


@pytest.mark.usefixtures("echoing")
def test_ten_megabytes_pass_and_one_byte_more_is_1009(client: Client) -> None:
    with opened(client) as connection:
        connection.send("x" * LARGEST)
        assert connection.recv(timeout=20) == str(LARGEST)
        assert closed_with(connection, "x" * (LARGEST + 1)) == 1009
    with opened(client) as connection:
        pieces = ["x" * (LARGEST // 4)] * 4
        connection.send(iter(pieces))
        assert connection.recv(timeout=20) == str(LARGEST)
        assert closed_with(connection, iter([*pieces, *["x" * 1024] * 10_000])) == 1009


def test_an_announced_length_is_refused_before_it_comes(client: Client) -> None:
    with raw(client, head()) as connection:
        shaken(connection)
        connection.sendall(b"\x81\xff" + struct.pack("!Q", 2**62) + bytes(4))
        assert to_the_end(connection)[2:4] == struct.pack("!H", 1009)


@pytest.mark.usefixtures("echoing")
def test_a_message_in_a_hundred_thousand_frames_is_one_message(client: Client) -> None:
    empty = frame(b"", Opcode.CONT, fin=False)
    with raw(client, head()) as connection:
        shaken(connection)
        connection.sendall(frame(b"begin", fin=False) + empty * 100_000 + frame(b" end", Opcode.CONT))
        assert connection.recv(100) == b"\x81\x09begin end"


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (frame(b"\xff\xfe"), 1007),
        (b"\x81\x05hello", 1002),
        (b"\xc1\x80\0\0\0\0", 1002),
        (b"\x83\x80\0\0\0\0", 1002),
        (frame(b"x", Opcode.CONT), 1002),
        (b"GET / HTTP/1.1\r\n\r\n", 1002),
    ],
    ids=["bad UTF-8", "not masked", "a compressed frame", "an unknown opcode", "a loose continuation", "HTTP"],
)
@pytest.mark.usefixtures("echoing")
def test_what_is_not_the_protocol_is_cut_off_with_a_reason(client: Client, sent: bytes, code: int) -> None:
    with raw(client, head()) as connection:
        shaken(connection)
        connection.sendall(sent)
        received = to_the_end(connection)
    assert (received[0], received[2:4]) == (0x88, struct.pack("!H", code))


@pytest.mark.parametrize("sent", [b"\x00\xff\x00\xfe", os.urandom(5000), "hello", "", "[1]", "{", b"\xff" * 100])
def test_what_is_not_json_is_answered_with_an_error_and_the_conversation_goes_on(
    client: Client, sent: str | bytes
) -> None:
    with opened(client) as connection:
        for _ in range(2):
            connection.send(sent)
            answer = json.loads(connection.recv(timeout=10))
            assert (answer["type"], answer["status"]) == ("error", 400)
            assert set(answer["error"]) == ERROR


def test_messages_that_come_during_a_turn_wait_for_its_end(client: Client, slow: Slow) -> None:
    with opened(client) as connection:
        for text in ("a", "b", "c"):
            connection.send(text)
        assert connection.recv(timeout=10) == "a"
        time.sleep(0.1)
        assert slow.begun == [b"a"]
        slow.go.set()
        assert [connection.recv(timeout=10) for _ in range(5)] == ["a again", "b", "b again", "c", "c again"]


@pytest.mark.parametrize(("text", "times"), [("x", 100), ("x" * (LARGEST // 2), 6)])
def test_too_much_in_advance_is_refused(client: Client, slow: Slow, text: str, times: int) -> None:
    with opened(client) as connection:
        connection.send("first")
        assert connection.recv(timeout=10) == "first"
        assert closed_with(connection, *[text] * times) == 1008


@pytest.mark.usefixtures("echoing")
def test_many_clients_talk_at_once(client: Client) -> None:
    with ExitStack() as stack:
        connections = [stack.enter_context(opened(client)) for _ in range(60)]
        for _ in range(3):
            for number, connection in enumerate(connections):
                connection.send(f"I am {number}")
            for number, connection in enumerate(connections):
                assert connection.recv(timeout=10) == f"I am {number}"
        assert client.get("/version").status == 200


@pytest.mark.usefixtures("echoing")
def test_there_is_a_limit_to_how_many_are_open(
    start: Callable[..., Everthread], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "MOST_AT_ONCE", 8)
    client = start().client
    with opened(client), opened(client):
        answer = refused(client)
        assert (answer.status, answer.json["error"]["code"]) == (503, "overloaded")
        assert answer.headers["retry-after"] == "1"
        assert client.get("/v1/models").status == 200
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            with opened(client):
                return
        except InvalidStatus:
            time.sleep(0.05)
    pytest.fail("closed ones make room")


# --- how it ends ---


@pytest.mark.usefixtures("echoing")
def test_a_client_that_vanishes_in_the_middle_of_a_message_harms_no_one(client: Client) -> None:
    whole = head() + frame(b"x" * 100_000)
    for length in (50, len(head()), len(head()) + 1, len(head()) + 5, len(whole) - 1):
        with raw(client, whole[:length]):
            pass
        with raw(client, whole[:length]) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
    with opened(client) as connection:
        connection.send("still there?")
        assert connection.recv(timeout=10) == "still there?"


@pytest.mark.parametrize("ahead", [0, 3])
@pytest.mark.parametrize("politely", [True, False])
def test_a_turn_learns_at_once_that_its_client_has_left(client: Client, slow: Slow, politely: bool, ahead: int) -> None:
    with raw(client, head() + frame(b"go") + frame(b"next") * ahead) as connection:
        shaken(connection)
        assert connection.recv(100) == b"\x81\x02go"
        if politely:
            connection.sendall(frame(b"\x03\xe8", Opcode.CLOSE))
            assert to_the_end(connection) == b"\x88\x02\x03\xe8"
    assert slow.left.wait(5)
    assert slow.begun == [b"go"], "what it asked for in advance is not begun"


def test_a_failure_of_ours_is_told_and_closes_with_1011(
    client: Client, serving: Callable[[Converse], None], caplog: pytest.LogCaptureFixture
) -> None:
    async def failing(socket: Socket, headers: Headers, key: ApiKey, site: Site) -> None:
        await socket.receive()
        raise ZeroDivisionError("secret")

    serving(failing)
    with opened(client) as connection:
        connection.send("go")
        answer = json.loads(connection.recv(timeout=10))
        assert (answer["status"], answer["error"]["code"]) == (500, "internal_error")
        assert "secret" not in json.dumps(answer)
        assert closed_with(connection) == 1011
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.usefixtures("echoing")
def test_a_revoked_key_ends_the_conversation_at_the_next_message(server: Everthread, client: Client) -> None:
    def inside(work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, server.loop).result(10)

    assert server.running is not None
    store = server.running.site.store
    secret, key = wiring.new_key(wiring.SystemClock().now(), name="short-lived")
    inside(store.add_key(key))
    with opened(client, key=secret) as connection:
        connection.send("hello")
        assert connection.recv(timeout=10) == "hello"
        inside(store.revoke_key(key.id, wiring.SystemClock().now()))
        connection.send("and now?")
        answer = json.loads(connection.recv(timeout=10))
        assert (answer["type"], answer["status"], answer["error"]["code"]) == ("error", 401, "invalid_api_key")
        assert closed_with(connection) == 1008


def test_a_silent_client_is_dropped_and_a_patient_one_is_not(
    start: Callable[..., Everthread], slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "PING", 0.2)
    client = start().client
    with raw(client, head()) as connection:
        shaken(connection)
        received = to_the_end(connection)
        assert received[0] == 0x89, "a ping"
        assert struct.pack("!H", 1011) in received
    with opened(client) as patient:
        patient.send("go")
        patient.send("and again")
        time.sleep(1)
        slow.go.set()
        assert [patient.recv(timeout=10) for _ in range(3)] == ["go", "go again", "and again"]


def test_a_client_that_never_reads_does_not_fill_the_memory(
    start: Callable[..., Everthread], slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "LINGER", 0.5)
    monkeypatch.setattr(websocket, "PING", 1.0)
    client = start().client
    pings = frame(b"x" * 125, Opcode.PING) * 1000
    sent: list[int] = []

    def flood(connection: socket.socket) -> None:
        while sum(sent) < 10 * LARGEST:
            sent.append(connection.send(pings))

    with raw(client, head() + frame(b"go")) as connection:
        shaken(connection)
        assert connection.recv(100) == b"\x81\x02go"
        connection.settimeout(2)
        with pytest.raises(OSError, match=r"timed out|reset|pipe"):
            flood(connection)
        assert sum(sent) < 2 * LARGEST, "what the kernel holds, and little more"
        assert slow.left.wait(10), "and it is let go"


def test_when_the_server_stops_a_turn_is_finished_and_the_rest_closed(
    start: Callable[..., Everthread], slow: Slow
) -> None:
    everthread = start()
    client = everthread.client
    with opened(client) as busy, opened(client) as idle:
        busy.send("go")
        busy.send("not any more")
        assert busy.recv(timeout=10) == "go"
        stopping = threading.Thread(target=everthread.stop)
        stopping.start()
        assert closed_with(idle) == 1012
        time.sleep(0.3)
        slow.go.set()
        assert busy.recv(timeout=10) == "go again"
        assert closed_with(busy) == 1012
        assert slow.begun == [b"go"]
        stopping.join(10)
        assert not stopping.is_alive()


def test_a_turn_that_does_not_end_is_cut_off_when_the_server_stops(
    start: Callable[..., Everthread], slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "DRAIN", 1)
    everthread = start()
    with opened(everthread.client) as connection:
        connection.send("go")
        assert connection.recv(timeout=10) == "go"
        stopping = threading.Thread(target=everthread.stop)
        stopping.start()
        assert closed_with(connection) == 1012
        stopping.join(10)
        assert not stopping.is_alive()
