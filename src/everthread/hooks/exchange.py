"""One HTTP request on one connection: sent, and the head of its answer read."""

from __future__ import annotations

import asyncio
from typing import cast

import httptools

from everthread.core.courier import Reason
from everthread.hooks.answer import Answer

MOST_READ = 64 * 1024  # bytes of an answer


class Exchange(asyncio.Protocol):
    """`answered` is the answer, or why there is none; `over` is when there is no more to read."""

    def __init__(self, request: bytes) -> None:
        loop = asyncio.get_running_loop()
        self._request = request
        self._parser = httptools.HttpResponseParser(self)
        self._left = MOST_READ
        self._retry_after: str | None = None
        self.answered: asyncio.Future[Answer | Reason] = loop.create_future()
        self.over: asyncio.Future[None] = loop.create_future()

    # --- asyncio's side ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if self.over.done():
            return
        data = data[: self._left]
        self._left -= len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._end("malformed")
        if not self._left:
            self._end("malformed")

    def connection_lost(self, exc: Exception | None) -> None:
        self._end("disconnected")

    def _end(self, otherwise: Reason) -> None:
        if not self.answered.done():
            self.answered.set_result(otherwise)
        if not self.over.done():
            self.over.set_result(None)

    # --- the parser's side ---

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"retry-after":
            self._retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # "go on": the answer is still to come
            self._retry_after = None
        elif not self.answered.done():  # what follows it was not asked for
            self.answered.set_result(Answer(status, self._retry_after))

    def on_message_complete(self) -> None:
        if self.answered.done() and not self.over.done():
            self.over.set_result(None)
