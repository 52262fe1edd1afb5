"""A WebSocket that is let in: whole messages in, one text frame per event out."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from everthread.core.key import ApiKey
from everthread.errors import Failure, Unauthenticated
from everthread.http.reply import LAST_WORDS, Send, error_body, error_headers, status_of
from everthread.http.request import LARGEST_BODY, Disconnected, Headers, Receive
from everthread.http.site import Site

log = logging.getLogger("everthread.http")

MOST_WAITING = 16  # messages that came while a turn was running
MOST_WAITING_BYTES = 2 * LARGEST_BODY

NORMAL, POLICY, BROKEN, RESTART = 1000, 1008, 1011, 1012  # close codes

Admit = Callable[[], Awaitable[ApiKey]]
Converse = Callable[["Socket", Headers, ApiKey, Site], Awaitable[None]]


def error_event(failure: Failure) -> bytes:
    """A failure as a message: the error object of HTTP, with its status and its headers."""
    headers = {name.decode(): text.decode() for name, text in error_headers(failure)}
    told = {"type": "error", "status": status_of(failure)[0], **msgspec.json.decode(error_body(failure))}
    return msgspec.json.encode({**told, "headers": headers} if headers else told)


class Socket:
    """One client. Reads ahead, within bounds, so that `left` is true as soon as the client has gone.

    Each message is only handed over while the key that the client came with is valid."""

    def __init__(self, receive: Receive, send: Send, admit: Admit) -> None:
        self._receive = receive
        self._send = send
        self._admit = admit
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._news = asyncio.Event()
        self._closed = False
        self._reading: asyncio.Task[None] | None = None
        self.left = asyncio.Event()  # nobody listens any more
        self.stopping = False  # the server stops: the running turn is the last

    async def __aenter__(self) -> Socket:
        self._reading = asyncio.get_running_loop().create_task(self._read())
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._reading is not None
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading

    async def receive(self) -> bytes | None:
        """One whole message; None when the client has left, was sent away, or the server stops."""
        while True:
            while not self._waiting and not self._over:
                self._news.clear()
                await self._news.wait()
            if self._over:
                return None
            data = self._waiting.popleft()
            self._size -= len(data)
            if await self._admitted():
                return data

    async def send(self, data: bytes) -> None:
        """One text frame; Disconnected when there is nobody to read it."""
        if self.left.is_set() or self._closed:
            raise Disconnected
        try:
            await self._send({"type": "websocket.send", "text": data.decode()})
        except OSError as error:
            raise Disconnected from error

    async def say(self, data: bytes) -> bool:
        """The same as `send`, for last words: whether there was somebody to hear them."""
        try:
            await self.send(data)
        except Disconnected:
            return False
        return True

    async def close(self, code: int = NORMAL, reason: str = "") -> None:
        """Says goodbye, once; the reason is at most 123 bytes long."""
        if self.left.is_set() or self._closed:
            return
        self._closed = True
        self._news.set()
        try:
            await self._send({"type": "websocket.close", "code": code, "reason": reason})
        except OSError:
            log.debug("a client left before it was told goodbye")

    async def dismiss(self, why: Failure) -> None:
        """Tells why there is no more, and closes: a running turn has nobody who listens from now on."""
        if self.left.is_set() or self._closed:
            return
        self._closed = True
        try:
            async with asyncio.timeout(LAST_WORDS):
                await self._send({"type": "websocket.send", "text": error_event(why).decode()})
                await self._send({"type": "websocket.close", "code": POLICY, "reason": why.message})
        except (OSError, TimeoutError):
            log.debug("a client left before it was told why")
        finally:
            self.left.set()
            self._news.set()

    @property
    def _over(self) -> bool:
        return self.stopping or self._closed or self.left.is_set()

    async def _admitted(self) -> bool:
        """Whether a message may be handed over; if not, the client is told why."""
        try:
            await self._admit()
        except Failure as failure:
            if await self.say(error_event(failure)) and isinstance(failure, Unauthenticated):
                await self.close(POLICY, "The API key is not valid any more.")
            return False
        return True

    async def _read(self) -> None:
        try:
            while True:
                message = await self._receive()
                if message["type"] == "websocket.receive" and not self._over:
                    await self._keep(message.get("bytes") or (message.get("text") or "").encode())
                elif message["type"] == "websocket.disconnect":
                    if message.get("code") != RESTART or self.stopping:
                        return
                    self.stopping = True
                    self._news.set()
        finally:
            self.left.set()
            self._news.set()

    async def _keep(self, data: bytes) -> None:
        self._waiting.append(data)
        self._size += len(data)
        self._news.set()
        if len(self._waiting) > MOST_WAITING or self._size > MOST_WAITING_BYTES:
            self._waiting.clear()
            await self.close(POLICY, "Too many messages at once: wait for the end of a turn.")
