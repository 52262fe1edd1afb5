"""Everthread on a real socket, and a small client for it."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvloop

from everthread import settings, wiring
from everthread.core.ports import Clock
from everthread.http.app import App
from everthread.http.server import Server, bind, configured

KEY = "et_tests_0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The data of an SSE stream, decoded; "[DONE]" stays as it is."""
        lines = [line[6:] for line in self.body.decode().split("\n") if line.startswith("data: ")]
        return [line if line == "[DONE]" else json.loads(line) for line in lines]

    @property
    def text(self) -> str:
        """What the assistant said, whichever way it came."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            deltas = [e["choices"][0]["delta"] for e in self.events if e != "[DONE]" and e.get("choices")]
            return "".join(delta.get("content") or "" for delta in deltas)
        return str(self.json["choices"][0]["message"]["content"])

    @property
    def hermes(self) -> dict[str, Any]:
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            found = [e["hermes"] for e in self.events if e != "[DONE]" and "hermes" in e]
            assert len(found) == 1, "exactly one chunk names the effective session"
            return dict(found[0])
        return dict(self.json["hermes"])


class Client:
    """Says one thing at a time, each over a connection of its own."""

    def __init__(self, url: str, key: str | None = KEY) -> None:
        self.url = url
        self.key = key
        self._address = urlsplit(url)

    def send(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        connection = http.client.HTTPConnection(self._address.hostname or "", self._address.port, timeout=60)
        try:
            given = {"Authorization": f"Bearer {self.key}"} if self.key else {}
            if body is not None:
                given["Content-Type"] = "application/json"
            connection.request(method, path, body, {**given, **(headers or {})})
            reply = connection.getresponse()
            return Answer(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())
        finally:
            connection.close()

    @contextmanager
    def opened(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Iterator[http.client.HTTPResponse]:
        """The reply while it is still coming; leaving the block hangs up."""
        connection = http.client.HTTPConnection(self._address.hostname or "", self._address.port, timeout=60)
        reply = None
        try:
            given = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
            connection.request(method, path, body, {**given, **(headers or {})})
            reply = connection.getresponse()
            yield reply
        finally:
            if reply is not None:
                reply.close()
            connection.close()

    def raw_stream(self, text: str) -> list[bytes]:
        """A streamed turn as the chunks of its transfer encoding: what the server wrote at once."""
        body = json.dumps({"messages": [{"role": "user", "content": text}], "stream": True}).encode()
        with socket.create_connection((self._address.hostname or "", self._address.port or 0), timeout=30) as raw:
            raw.sendall(
                f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.key}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            received = b""
            while not received.endswith(b"0\r\n\r\n"):
                received += raw.recv(65536)
        rest = received.partition(b"\r\n\r\n")[2]
        pieces = []
        while (size := int(rest.partition(b"\r\n")[0], 16)) > 0:
            rest = rest.partition(b"\r\n")[2]
            pieces.append(rest[:size])
            rest = rest[size + 2 :]
        return pieces

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, headers=named(headers))

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.send("POST", path, json.dumps(body).encode(), named(headers))

    def say(
        self,
        text: str | list[dict[str, Any]],
        *,
        stream: bool = False,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> Answer:
        """One turn. `session` and `key` name the session and the memory scope."""
        given = dict(headers or {})
        for name, header in (("session", "X-Hermes-Session-Id"), ("key", "X-Hermes-Session-Key")):
            if (value := more.pop(name, None)) is not None:
                given[header] = value
        messages = [{"role": "user", "content": text}] if isinstance(text, str) else text
        body = {"messages": messages, **({"stream": True} if stream else {}), **more}
        return self.send("POST", "/v1/chat/completions", json.dumps(body).encode(), given)


def named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


class Everthread:
    """A whole server in a thread of its own, on a real socket."""

    def __init__(self, home: Path, upstream: str, clock: Clock | None = None, **more: str) -> None:
        self.clock = clock
        environ = {
            "EVERTHREAD_HOME": str(home),
            "EVERTHREAD_API_KEY": KEY,
            "EVERTHREAD_UPSTREAM_URL": upstream,
            "EVERTHREAD_UPSTREAM_KEY": "upstream-secret",
            "EVERTHREAD_PORT": "0",
            "EVERTHREAD_DISTIL": "rules",
            **{f"EVERTHREAD_{name.upper()}": value for name, value in more.items()},
        }
        self.settings = settings.load(environ)
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self._server: Server | None = None
        self.listening = bind(self.settings.host, 0)
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.running: wiring.Running | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait(30)
        if self._failed is not None:
            raise self._failed

    def _run(self) -> None:
        try:
            uvloop.run(self._serve())
        except BaseException as error:
            self._failed = error
            self._ready.set()

    async def _serve(self) -> None:
        async with wiring.running(self.settings, self.clock) as running:
            self.running = running
            self.loop = asyncio.get_running_loop()
            self._server = Server(configured(App(running.site)), self._ready.set)
            await self._server.serve(sockets=[self.listening])

    @property
    def client(self) -> Client:
        return Client(self.url)

    def break_store(self) -> None:
        """Takes the store away while the server runs."""
        assert self.running is not None
        asyncio.run_coroutine_threadsafe(self.running.site.store.close(), self.loop).result(10)

    def stop(self) -> None:
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(35)
        self.listening.close()
        assert not self._thread.is_alive(), "the server stops when it is told to"
