"""The way in for WebSockets: who may open one is decided before it is open."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, MutableMapping
from typing import Any

from everthread.core.cause import CAUSE, Cause
from everthread.core.key import ApiKey
from everthread.errors import Bug, Failure, Overloaded, RouteNotFound, Unavailable
from everthread.http import auth
from everthread.http.quota import Quotas
from everthread.http.reply import Reply, Send, request_id
from everthread.http.request import Disconnected, Headers, Receive
from everthread.http.site import Site
from everthread.http.socket import BROKEN, NORMAL, POLICY, RESTART, Converse, Socket, error_event

log = logging.getLogger("everthread.http")

SWITCHED = 101  # the status of a WebSocket that is open
HANDSHAKE = 10.0  # seconds to find out whether a WebSocket may be opened


class Sockets:
    """All open WebSockets."""

    def __init__(self, site: Site, table: Mapping[str, Converse], quotas: Quotas, *, most: int) -> None:
        self._site = site
        self._table = table
        self._quotas = quotas
        self._most = most
        self._open = 0

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        reply = Reply(refusing(scope, send), [request_id()])
        cause = Cause(reply.headers[0][1].decode())
        CAUSE.set(cause)
        self._open += 1
        try:
            come = await self._asked(scope, reply)
            if come is None:
                return
            headers, key = come
            reply.status, reply.key = SWITCHED, key
            cause.name = reply.headers[0][1].decode()
            try:
                await send({"type": "websocket.accept", "headers": reply.headers})
                async with Socket(receive, send, lambda: self._admit(headers)) as socket:
                    self._site.guests.enter(key.id, socket)
                    try:
                        await self._talk(self._table[scope["path"]], socket, headers, key)
                    finally:
                        self._site.guests.leave(key.id, socket)
            finally:
                if key.limits is not None:
                    self._quotas.leave(key)
        finally:
            self._open -= 1
            self._site.visits.add(reply, "GET", cause, time.perf_counter() - began)

    async def _asked(self, scope: Mapping[str, Any], reply: Reply) -> tuple[Headers, ApiKey] | None:
        """Who has come; None when the answer was no."""
        try:
            if self._open > self._most:
                raise Overloaded(retry_after=1)
            return await self._let_in(scope, reply)
        except Failure as failure:
            await reply.failure(failure)
        except Exception:
            log.exception("a WebSocket could not be opened")
            await reply.failure(Bug())
        return None

    async def _let_in(self, scope: Mapping[str, Any], reply: Reply) -> tuple[Headers, ApiKey]:
        headers = Headers(scope["headers"])
        auth.enter(headers, reply.headers, self._site.gate)
        auth.check_origin(headers, self._site.gate)
        try:
            async with asyncio.timeout(HANDSHAKE):
                key = await self._caller(headers)
        except TimeoutError as error:
            raise Unavailable("The API key could not be checked in time.", retry_after=1) from error
        if scope["path"] not in self._table:
            raise RouteNotFound
        reply.route = scope["path"]
        auth.check_right(key, auth.TALKING)
        if key.limits is not None:  # an open WebSocket is one of its requests at once
            await self._quotas.enter(key, key.limits, reply.headers)
        return headers, key

    async def _admit(self, headers: Headers) -> ApiKey:
        """One turn more: as a request of its own would be."""
        key = await self._caller(headers)
        auth.check_right(key, auth.TALKING)
        if key.limits is not None:
            admitted = await self._quotas.again(key, key.limits, [])
            admitted.afford()
        return key

    async def _caller(self, headers: Headers) -> ApiKey:
        return await auth.caller(headers, gate=self._site.gate, store=self._site.store, clock=self._site.clock)

    async def _talk(self, converse: Converse, socket: Socket, headers: Headers, key: ApiKey) -> None:
        """Talks until one of both has had enough, and says goodbye."""
        try:
            await converse(socket, headers, key, self._site)
            await socket.close(RESTART if socket.stopping else NORMAL)
        except Disconnected:
            log.debug("a client left before its turn was told")
        except asyncio.CancelledError:
            await socket.close(RESTART)
            raise
        except Failure as failure:
            await socket.say(error_event(failure))
            await socket.close(BROKEN)
        except Exception:
            log.exception("a conversation over a WebSocket failed")
            await socket.say(error_event(Bug()))
            await socket.close(BROKEN)


def refusing(scope: Mapping[str, Any], send: Send) -> Send:
    """Sends the answer to an offer that is not taken: as HTTP where the server can do that, else as a close code."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if "websocket.http.response" in scope.get("extensions", {}):
            await send({**message, "type": f"websocket.{message['type']}"})
        elif message["type"] == "http.response.start":
            await send({"type": "websocket.close", "code": POLICY})

    return sending
