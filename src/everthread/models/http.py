"""HTTP/1.1 to one server: connections that are kept and reused, and answers read as they come.

Made for this one job, because it is on the path of every token: docs/decisions/002-http-stack.md has the figures.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from typing import cast
from urllib.parse import urlsplit

import httptools
import msgspec

from everthread import __version__
from everthread.core.ids import printable
from everthread.errors import (
    UpstreamDisconnected,
    UpstreamFailure,
    UpstreamMalformed,
    UpstreamTimeout,
    UpstreamUnreachable,
)

MOST_IDLE = 256  # connections kept for later
IDLE_FOR = 25.0  # seconds that one is kept; servers usually close theirs after more
ENDS_WITHIN = 1.0  # seconds after the last event for a message to end
MOST_BUFFERED = 256 * 1024  # bytes that may wait for their reader
LONGEST_HEAD = 128 * 1024  # of an answer, with what may have come along with it


class Timeouts(msgspec.Struct, frozen=True):
    """Seconds."""

    connect: float = 5
    first_byte: float = 60
    silence: float = 60


class Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._patience = 0.0  # until when the waiter waits
        self._timer: asyncio.TimerHandle | None = None  # looks then; left to run on, it serves the next waiters too
        self._failure: UpstreamFailure | None = None
        self._paused = False
        self.lost: asyncio.Future[None] = self._loop.create_future()
        self.idle_since = 0.0
        self._reset()

    def _reset(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._pieces: list[bytes] = []
        self._buffered = 0
        self._head = 0  # bytes that came before the headers were complete
        self._framed = False  # the answer says how long it is
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.complete = False
        self._stays = False  # the server keeps the connection open after this answer
        self.when_complete: Callable[[], None] | None = None

    @property
    def closed(self) -> bool:
        return self.lost.done()

    # --- asyncio's side ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if not self.status:
            if self._head > LONGEST_HEAD:
                self._failure = UpstreamMalformed("The headers of the model's server do not end.")
                self._transport.abort()
                return
            self._head += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._failure = UpstreamMalformed("The model's server does not speak HTTP.")
            self._transport.abort()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
        if self.status and not self._framed and exc is None:
            self.complete = True  # an answer without a length ends with its connection
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- the parser's side ---

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # "go on": the answer is still to come
            self.headers.clear()
            return
        self.status = status
        self._framed = b"content-length" in self.headers or b"transfer-encoding" in self.headers

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)
        self._buffered += len(body)
        if self._buffered > MOST_BUFFERED and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if not self.status:
            return
        self.complete = True
        self._stays = self._parser.should_keep_alive()  # it knows now, and not later
        if self.when_complete is not None:
            self.when_complete()

    # --- ours ---

    def send(self, request: bytes) -> None:
        """Sends it at the end of the event loop's pass: requests that are ready together go out together, and their
        server is woken once for all of them."""
        self._reset()
        self._loop.call_soon(self._transport.write, request)

    async def begin(self, patience: float) -> None:
        """Returns when the status and headers of the answer are here, all within that time."""
        until = self._loop.time() + patience
        while not self.status:
            if self.closed:
                raise self._failure or UpstreamUnreachable(
                    "The model's server closed the connection without an answer."
                )
            await self._wait(until - self._loop.time(), "The model's server did not answer in time.")

    async def read(self, patience: float) -> bytes:
        """What has come of the body since last time; nothing at its end."""
        while not self._pieces:
            if self.complete:
                return b""
            if self.closed:
                raise self._failure or UpstreamDisconnected
            await self._wait(patience, "The model's server fell silent in the middle of its answer.")
        data = b"".join(self._pieces) if len(self._pieces) > 1 else self._pieces[0]
        self._pieces.clear()
        self._buffered = 0
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        return data

    async def _wait(self, patience: float, else_: str) -> None:
        waiter = self._waiter = self._loop.create_future()
        self._patience = self._loop.time() + patience
        if self._timer is None or self._timer.when() > self._patience:
            self._look_after(patience)
        try:
            await waiter
        except TimeoutError as error:
            raise UpstreamTimeout(else_) from error
        finally:
            self._waiter = None

    def _look_after(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """Gives up on a waiter whose time is over."""
        self._timer = None
        if self._waiter is None or self._waiter.done():
            return
        left = self._patience - self._loop.time()
        if left > 0:
            self._look_after(left)
        else:
            self._waiter.set_exception(TimeoutError())

    @property
    def reusable(self) -> bool:
        return not self.closed and self.complete and not self._pieces and self._stays

    def close(self) -> None:
        self._transport.abort()


class Answer:
    """A response: its status and headers now, its body as it comes. Closing it early stops the server."""

    def __init__(self, origin: Origin, connection: Connection) -> None:
        self._origin = origin
        self._connection = connection
        self.status = connection.status
        self.headers = connection.headers
        self.over = False  # its reader has all it wants; what is left is the end of the message

    async def read(self) -> bytes:
        return await self._connection.read(self._origin.timeouts.silence)

    async def text(self, *, longest: int) -> bytes:
        """The whole body, or its first bytes if it is longer."""
        pieces, size = [], 0
        while size < longest and (piece := await self.read()):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)[:longest]

    async def __aenter__(self) -> Answer:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._origin.give_back(self._connection, over=self.over)


class Origin:
    """The server at a URL, and the connections to it."""

    def __init__(self, url: str, key: str | None, timeouts: Timeouts) -> None:
        parts = urlsplit(url.rstrip("/"))
        self.timeouts = timeouts
        self._host = parts.hostname or ""
        self._secure = parts.scheme == "https"
        self._port = parts.port or (443 if self._secure else 80)
        self._path = parts.path
        self._tls: ssl.SSLContext | None = None
        self._idle: deque[Connection] = deque()
        self._open: set[Connection] = set()
        host = parts.netloc.rpartition("@")[2]
        lines = [f"Host: {host}", f"User-Agent: everthread/{__version__}", "Accept-Encoding: identity"]
        if key is not None:
            lines.append(f"Authorization: Bearer {printable(key, what='The upstream key', longest=4096)}")
        self._head = "\r\n".join(lines)

    async def get(self, path: str) -> Answer:
        return await self._ask(f"GET {self._path}{path} HTTP/1.1\r\n{self._head}\r\n\r\n".encode())

    async def post(self, path: str, body: bytes) -> Answer:
        head = (
            f"POST {self._path}{path} HTTP/1.1\r\n{self._head}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return await self._ask(head.encode() + body)

    async def _ask(self, request: bytes) -> Answer:
        connection = self._kept() or await self._connect()
        connection.send(request)
        try:
            await connection.begin(self.timeouts.first_byte)
        except BaseException:
            connection.close()
            self._let_go()  # the others were perhaps closed with it
            raise
        return Answer(self, connection)

    def _kept(self) -> Connection | None:
        oldest = asyncio.get_running_loop().time() - IDLE_FOR
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed and connection.idle_since > oldest:
                return connection
            connection.close()
        return None

    async def _connect(self) -> Connection:
        if self._secure and self._tls is None:
            self._tls = ssl.create_default_context()
        try:
            async with asyncio.timeout(self.timeouts.connect):
                _, connection = await asyncio.get_running_loop().create_connection(
                    Connection, self._host, self._port, ssl=self._tls
                )
        except (OSError, TimeoutError) as error:  # ssl.SSLError and name look-ups are OSErrors
            raise UpstreamUnreachable from error
        self._open.add(connection)
        connection.lost.add_done_callback(lambda _: self._open.discard(connection))
        return connection

    def give_back(self, connection: Connection, *, over: bool) -> None:
        """Keeps a connection whose answer is complete, or is about to be; any other is closed."""
        if not over or connection.complete or connection.closed:
            self._keep(connection)
            return
        too_late = asyncio.get_running_loop().call_later(ENDS_WITHIN, connection.close)

        def ended() -> None:
            too_late.cancel()
            self._keep(connection)

        connection.when_complete = ended

    def _keep(self, connection: Connection) -> None:
        if connection.reusable and len(self._idle) < MOST_IDLE:
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.close()

    def _let_go(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def close(self) -> None:
        self._idle.clear()
        for connection in self._open:
            connection.close()
        if self._open:
            await asyncio.wait([connection.lost for connection in self._open])
