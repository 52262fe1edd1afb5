"""uvicorn, as we run it: its own errors in our form, a clean exit on SIGTERM."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from everthread.errors import Malformed, Unavailable
from everthread.http import websocket
from everthread.http.app import App
from everthread.http.cork import Corked
from everthread.http.reply import error_body, request_id
from everthread.http.request import LARGEST_BODY
from everthread.http.websocket import WebSocket

LONGEST_HEAD = 128 * 1024
LONGEST_UNREAD = 60.0  # seconds that a client may take in nothing of what was sent to it; streams have less patience
BODY = {b"content-length", b"transfer-encoding"}
DRAIN = 25  # seconds that running turns get after SIGTERM: those who stop servers rarely wait for more than 30
RUNS_DRAIN = 10.0  # seconds of these for runs: the next process takes up the others
GOODBYE = 2.0  # seconds for telling those who got no answer


class Protocol(HttpToolsProtocol):
    """Answers what is not HTTP with the same error object as everything else; bounds the head of a request."""

    _head = 0  # bytes of the head that is being read
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast("asyncio.Transport", Corked(transport, self.loop)))

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if self._in_head:
            self._head += len(data)
            within = data[: max(0, LONGEST_HEAD - self._head + len(data))]
            if self._head > LONGEST_HEAD and b"\r\n\r\n" not in within:
                self.send_400_response(f"The head of the request is longer than {LONGEST_HEAD // 1024} kB.")
                return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            rest = data[offer.args[0] :]
            if self._offers_websocket():
                self._upgrade(rest)
            else:
                self._without_upgrade(rest)
        except httptools.HttpParserError:
            self.send_400_response("This is not a valid HTTP request.")

    def _offers_websocket(self) -> bool:
        """Whether the offer is taken: a WebSocket where there is one, no body, and nothing still to be answered."""
        app = cast("App", self.config.app)
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return (
            self.url.partition(b"?")[0].decode("latin-1") in app.sockets
            and (self.parser.get_method(), self.parser.get_http_version()) == (b"GET", "1.1")
            and self._get_upgrade() == b"websocket"
            and not any(name in BODY and value.strip() != b"0" for name, value in self.headers)
            and (cycle is None or cycle.response_complete)
        )

    def _upgrade(self, rest: bytes) -> None:
        self.connections.discard(self)
        socket = WebSocket(config=self.config, server_state=self.server_state, app_state=self.app_state)
        socket.open(self.transport, self.url, self.headers, rest)

    def _without_upgrade(self, rest: bytes) -> None:
        """After an offer to upgrade the parser reads no body, so the request is read again without the offer."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            self.send_400_response("CONNECT is not served.")
            return
        head = [b"%s %s HTTP/1.1" % (method, self.url)]
        head += [b"%s: %s" % pair for pair in self.headers if pair[0] not in {b"upgrade", b"connection"}]
        self.parser = httptools.HttpRequestParser(self)
        self._in_head, self._head = True, 0
        self.data_received(b"\r\n".join(head) + b"\r\n\r\n" + rest)

    def on_headers_complete(self) -> None:
        self._in_head = False
        if not self.parser.should_upgrade():
            self.scope["hang_up"] = self.transport.abort  # type: ignore[typeddict-unknown-key]
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head, self._head = True, 0
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        cycle = cast("RequestResponseCycle | None", self.cycle)  # None before the first request
        if cycle is None or cycle.response_complete or not cycle.response_started:
            body = error_body(Malformed(msg))
            self.transport.write(
                b"HTTP/1.1 400 Bad Request\r\n%s: %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
                b"connection: close\r\n\r\n%s" % (*request_id(), len(body), body)
            )
        self.transport.close()


class Server(uvicorn.Server):
    """Calls back when it accepts connections; stops without raising the signal again, so the exit code is 0."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app = cast("App", self.config.app)
        await asyncio.gather(super().shutdown(sockets), app.finish_runs(within=RUNS_DRAIN))
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=GOODBYE)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():  # only there can signals be listened to
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before[signal.SIGINT])
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it is on its way out: another one cuts nothing short


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; Unavailable says why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if sys.platform == "linux":  # connections have it from here
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(LONGEST_UNREAD * 1000))
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise Unavailable(
            f"Cannot listen on {host} port {port}: {error.strerror or error}."
            " Is another server running there? Choose another with --port."
        ) from error
    listening.set_inheritable(False)
    return listening


def configured(app: App) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",  # `Protocol` upgrades by itself, where there is a WebSocket
        ws_max_size=LARGEST_BODY,
        ws_ping_interval=websocket.PING,
        ws_ping_timeout=websocket.PING,
        ws_per_message_deflate=False,
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=2048,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=DRAIN,
    )


async def serve(app: App, listening: socket.socket, *, ready: Callable[[], None]) -> None:
    """Serves until a signal says stop, then lets running turns finish."""
    await Server(configured(app), ready).serve(sockets=[listening])
