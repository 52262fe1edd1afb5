"""uvicorn, as we run it: its own errors in our form, a clean exit on SIGTERM."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from everthread.errors import Malformed, Unavailable
from everthread.http.app import App
from everthread.http.reply import error_body

DRAIN = 30  # seconds that running turns get after SIGTERM


class Protocol(HttpToolsProtocol):
    """Answers what is not HTTP with the same error object as everything else."""

    def send_400_response(self, msg: str) -> None:
        body = error_body(Malformed("This is not a valid HTTP request."))
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"connection: close\r\n\r\n%s" % (len(body), body)
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

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():  # only there can signals be listened to
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; Unavailable says why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
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
        ws="none",
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
