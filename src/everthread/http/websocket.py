"""uvicorn's WebSocket protocol, as we run it: bounded, and patient with a turn that runs when the server stops."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Literal

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.http11 import Request

from everthread.errors import Malformed
from everthread.http.auth import Pairs
from everthread.http.reply import error_body, request_id

PING = 20.0  # seconds between pings, and for how long an answer to one is waited for
QUIET = 0.25  # seconds without a byte, after which a client that was cut off has surely read why
LINGER = 5.0  # seconds for the closing handshake; as many again, and the connection is dropped
RESTART, NOT_UTF8, LOST = 1012, 1007, 1006  # close codes; the first is that of a server that stops
HANDSHAKE = {b"host", b"upgrade", b"connection", b"sec-websocket-key", b"sec-websocket-version"}

log = logging.getLogger("everthread.http.websocket")
log.setLevel(logging.WARNING)  # uvicorn and websockets tell of every connection


class WebSocket(WebSocketsSansIOProtocol):
    """One connection, from the offer to upgrade on."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.logger = self.conn.logger = log
        self.close_timeout = LINGER
        self._headers: Pairs = []
        self._query = b""
        self._held = b""  # what came before the handshake was complete
        self._message = bytearray()
        self._heard = False
        self._drop: asyncio.TimerHandle | None = None

    def open(self, transport: asyncio.Transport, url: bytes, headers: Pairs, rest: bytes) -> None:
        """Takes a connection over. Nothing more is read before the app has let the client in.

        The library sees only what the handshake needs: it has limits of its own for the head, and another form of
        error."""
        path, _, self._query = url.partition(b"?")
        self._headers, self._held = headers, rest
        needed = [b"%s: %s\r\n" % (name, value[:1024]) for name, value in headers if name in HANDSHAKE]
        self.connection_made(transport)
        transport.set_protocol(self)
        transport.pause_reading()
        self.data_received(b"GET %s HTTP/1.1\r\n%s\r\n" % (path, b"".join(needed[:64])))

    def handle_connect(self, event: Request) -> None:
        answer = self.conn.accept(event)
        if answer.status_code != 101:
            self._refuse(Malformed(bytes(answer.body or b"").decode().strip() or None))
            return
        super().handle_connect(event)
        self.scope["headers"] = self._headers
        self.scope["query_string"] = self._query

    def _refuse(self, failure: Malformed) -> None:
        body = error_body(failure)
        self.close_sent = self.handshake_complete = True
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\n%s: %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"sec-websocket-version: 13\r\nconnection: close\r\n\r\n%s" % (*request_id(), len(body), body)
        )
        self.transport.close()

    # what comes in

    def data_received(self, data: bytes) -> None:
        self._heard = True
        super().data_received(data)

    def handle_text(self, event: Frame) -> None:
        self._begin("text", event)

    def handle_bytes(self, event: Frame) -> None:
        self._begin("bytes", event)

    def _begin(self, kind: Literal["text", "bytes"], event: Frame) -> None:
        self.curr_msg_data_type = kind
        self._message.clear()
        self.handle_cont(event)

    def handle_cont(self, event: Frame) -> None:
        """Gathers the bytes, not the frames: a message may come as millions of them."""
        self._message += event.data
        if event.fin:
            self.send_receive_event_to_app()

    def send_receive_event_to_app(self) -> None:
        """Reading goes on while a turn runs, so that pongs and a client that leaves are noticed; the app bounds it."""
        data, self._message = bytes(self._message), bytearray()
        if self.close_sent:
            return
        if self.curr_msg_data_type == "bytes":
            self.queue.put_nowait({"type": "websocket.receive", "bytes": data})
            return
        try:
            self.queue.put_nowait({"type": "websocket.receive", "text": data.decode()})
        except UnicodeDecodeError:
            self.conn.fail(NOT_UTF8, "The message is not UTF-8.")
            self.handle_parser_exception()

    def pause_writing(self) -> None:
        """A client that does not read is not listened to either: it could ask for pongs without end."""
        super().pause_writing()
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self.transport.resume_reading()

    # what goes out

    async def send(self, message: ASGISendEvent) -> None:
        await self.writable.wait()
        if self.close_sent:
            raise ClientDisconnected
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True  # answered, if with a no
        elif message["type"] == "websocket.accept" and not self.transport.is_closing():
            self.transport.resume_reading()
            if self._held:
                self.data_received(self._held)
                self._held = b""

    # how it ends

    def handle_parser_exception(self) -> None:
        """Says why, then lets the client finish what it is sending: else a reset may take the reason away."""
        if self.close_sent:
            return
        closed = self.conn.close_sent
        assert closed is not None, "the library has closed its side"
        self.queue.put_nowait({"type": "websocket.disconnect", "code": closed.code, "reason": closed.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self._linger(self.loop.time() + LINGER)
        self._drop_in_time()

    def _linger(self, until: float) -> None:
        if self._heard and self.loop.time() < until:
            self._heard = False
            self.close_timer = self.loop.call_later(QUIET, self._linger, until)
        else:
            self.transport.close()

    def handle_close(self, event: Frame) -> None:
        super().handle_close(event)
        self._drop_in_time()

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": LOST})
        self._drop_in_time()

    def _drop_in_time(self) -> None:
        """A client that does not read could keep a connection that is closing for ever."""
        if self._drop is None and not self.disconnected:
            self._drop = self.loop.call_later(2 * LINGER, self.transport.abort)

    def shutdown(self) -> None:
        """The server stops: what waits is not begun any more; the app closes when the running turn is over."""
        if self.close_sent:
            super().shutdown()
            return
        while not self.queue.empty():
            self.queue.get_nowait()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": RESTART})

    async def run_asgi(self) -> None:
        await super().run_asgi()
        self._drop_in_time()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._drop is not None:
            self._drop.cancel()
