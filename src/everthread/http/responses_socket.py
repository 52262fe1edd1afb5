"""/v1/responses as a WebSocket: turns one after the other, each told by the same events as a stream."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from contextlib import aclosing

import msgspec

from everthread.core.cause import CAUSE, Cause
from everthread.core.ids import StepId, response_id, step_of
from everthread.core.key import ApiKey
from everthread.core.messages import Message
from everthread.core.turn import Envelope, Finished, Started, Turn
from everthread.core.turn import Events as TurnEvents
from everthread.core.view import View
from everthread.errors import Failure, Malformed
from everthread.http.reply import Waiting, error_body, status_of
from everthread.http.request import Disconnected, Headers, envelope
from everthread.http.responses import PATH, Running, prepared
from everthread.http.site import Site
from everthread.http.socket import Socket, error_event
from everthread.http.visits import Turn as Visit
from everthread.wire import json
from everthread.wire.responses.asked import Asked
from everthread.wire.responses.request import Request, read
from everthread.wire.responses.stream import Events, warmed_up

__all__ = ["PATH", "converse"]

MOST_UNSTORED = 16  # responses that only this connection knows

TYPE = msgspec.json.Decoder(str)


class Unstored(msgspec.Struct, frozen=True):
    """What a response that is not stored went on from, and what it said."""

    messages: tuple[Message, ...]  # that are on no path
    instructions: tuple[Message, ...]
    base: Turn  # what all of them go on from


async def converse(socket: Socket, headers: Headers, key: ApiKey, site: Site) -> None:
    talk = Talk(socket, headers, key, site)
    opened = CAUSE.get()
    number = 0
    while (data := await socket.receive()) is not None:
        number += 1
        began, visit = time.perf_counter(), Visit(PATH, key)
        cause = Cause(f"{opened.name if opened else ''}.{number}")
        CAUSE.set(cause)
        try:
            await talk.turn(data, visit)
        except Failure as failure:
            visit.status, visit.code = status_of(failure)[0], failure.code
            await socket.send(error_event(failure))
        finally:
            site.visits.add(visit, "WS", cause, time.perf_counter() - began)


class Talk:
    """One connection, and the responses that nobody else knows of."""

    def __init__(self, socket: Socket, headers: Headers, key: ApiKey, site: Site) -> None:
        self._socket = socket
        self._headers = headers
        self._key = key
        self._site = site
        self._unstored: OrderedDict[str, Unstored] = OrderedDict()
        self._visit = Visit(PATH, key)

    async def turn(self, data: bytes, visit: Visit) -> None:
        """One message of the client; a Failure when nothing was told of its turn yet."""
        self._visit = visit
        request = creation(data)
        to = envelope(self._headers, self._key, now=self._site.clock.now())
        to = msgspec.structs.replace(to, message_id=None, parent_message_id=None)  # of a message, not of a connection
        before = self._unstored.get(request.previous) if request.previous else None
        asked = await self._asked(to, request, before)
        if not request.generate:
            await self._keep_only(asked)
            return
        turns, to = Running(self._site.turns), asked.turn.envelope
        with self._site.room.place(self._key.id):
            if to.session_id is None:
                await self._while_heard(asked, turns.run(asked.turn))
            elif await turns.busy(to):
                waiting = Waiting(turns.run(asked.turn))
                await self._while_heard(asked, waiting.events(), until=waiting)
            else:
                await self._tell(asked, turns.run(asked.turn))

    async def _while_heard(self, asked: Asked, events: TurnEvents, *, until: Waiting | None = None) -> None:
        """A turn of no session ends when nobody listens any more, and one that waits for its session is not begun."""
        work = asyncio.ensure_future(self._tell(asked, events))
        left = asyncio.ensure_future(self._socket.left.wait())
        try:
            await asyncio.wait({work, left}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                if until is None or not until.over:
                    work.cancel()
                await asyncio.wait({work})
            if not work.cancelled():
                work.result()
        finally:
            left.cancel()

    async def _asked(self, to: Envelope, request: Request, before: Unstored | None) -> Asked:
        if before is None:
            asked = await prepared(self._site, to, request)
        else:
            asked = await prepared(self._site, to, msgspec.structs.replace(request, previous=None))
            base = before.base
            turn = msgspec.structs.replace(
                asked.turn,
                messages=(*before.messages, *asked.turn.messages),
                instructions=(*before.instructions, *asked.turn.instructions),
                carried=(*before.instructions, *asked.turn.carried),
                after=base.after,
                appends=base.envelope.session_id is not None,
                envelope=msgspec.structs.replace(
                    asked.turn.envelope, session_id=base.envelope.session_id, found=base.envelope.found
                ),
            )
            keep = msgspec.structs.replace(asked.keep, previous=step_of(request.previous or "", "resp_"))
            asked = msgspec.structs.replace(asked, turn=turn, keep=keep)
        return msgspec.structs.replace(asked, framed=False)

    async def _keep_only(self, asked: Asked) -> None:
        """The client only says what is to come: the model is not asked."""
        name = StepId(self._site.ids.new())
        self._remember(name, asked, ())
        view = View(id=name, keep=asked.keep, created_at=self._site.clock.now())
        for frame in warmed_up(view, model=asked.turn.model or ""):
            await self._socket.send(frame)

    async def _tell(self, asked: Asked, events: TurnEvents) -> None:
        telling: Events | None = None
        try:
            async with aclosing(events):
                async for some in events:
                    for event in some:
                        if isinstance(event, Started):
                            self._visit.run = event.step
                            telling = asked.telling(event)
                        elif telling is not None and isinstance(event, Finished):
                            if not asked.turn.store:
                                self._remember(event.step.id, asked, (event.step.answer,))
                            await self._say(asked, telling.last(event))
                        elif telling is not None and not isinstance(event, Finished):
                            await self._say(asked, telling.tell(event))
        except Failure as failure:
            if telling is None or not telling.begun:
                raise
            self._visit.code = failure.code
            await self._say(asked, telling.failed(failure, error_body(failure)))

    async def _say(self, asked: Asked, frames: list[bytes]) -> None:
        """A turn of a named session is finished and kept when its client has left; another one ends there."""
        for frame in frames:
            try:
                await self._socket.send(frame)
            except Disconnected:
                if asked.turn.envelope.session_id is None:
                    raise
                return

    def _remember(self, name: StepId, asked: Asked, answer: tuple[Message, ...]) -> None:
        turn = asked.turn
        self._unstored[response_id(name)] = Unstored((*turn.messages, *answer), turn.carried, turn)
        if len(self._unstored) > MOST_UNSTORED:
            self._unstored.popitem(last=False)


def creation(data: bytes) -> Request:
    """What the client asks for."""
    fields = json.fields(data)
    kind = json.value(fields.get("type", msgspec.Raw(b'""')), TYPE, "type")
    if kind != "response.create":
        raise Malformed(f"type is {kind[:100]!r}; only response.create can be sent here.", param="type")
    return read(data, "socket")
