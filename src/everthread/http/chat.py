"""POST /v1/chat/completions, written as plain ASGI: it is the hot path."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Any

import msgspec

from everthread.context.auxiliary import is_task, traceless
from everthread.core.key import ApiKey
from everthread.core.ports import Clock
from everthread.core.turn import Events
from everthread.http import reply as replies
from everthread.http.reply import Reply
from everthread.http.request import Headers, Receive, envelope, read_json, replay, with_body
from everthread.turns.run import Turns
from everthread.wire import chat

PATH = "/v1/chat/completions"


async def chat_completions(
    headers: Headers, receive: Receive, reply: Reply, *, key: ApiKey, turns: Turns, clock: Clock
) -> None:
    to = envelope(headers, key, now=clock.now())
    body = await read_json(receive, headers)
    once = replay(headers, method="POST", path=PATH, body=body, envelope=to)
    if to.session_id is not None:
        to = with_body(to, headers, body)
    asked = chat.decode(body, msgspec.structs.replace(to, replay=once) if once else to)
    if is_task(asked.turn, stream=asked.stream):
        asked = msgspec.structs.replace(asked, turn=traceless(asked.turn))
    await answer(turns, asked, reply, receive)


async def answer(turns: Turns, asked: chat.Asked, reply: Reply, receive: Receive) -> None:
    """Runs the turn and tells it. One of a named session is finished and kept, client or no client, once it began."""
    events = turns.run(asked.turn)
    tell = replies.streamed if asked.stream else replies.whole
    if asked.turn.envelope.session_id is None:
        await while_connected(tell(events, asked, reply), receive)
    elif await turns.busy(asked.turn.envelope):
        waiting = Waiting(events)
        await while_connected(tell(waiting.events(), asked, reply), receive, until=waiting)
    else:
        await tell(events, asked, reply)


class Waiting:
    """A turn that may have to wait in its session's line; over when its first event is here."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self.over = False

    async def events(self) -> Events:
        async with aclosing(self._events) as events:
            async for some in events:
                self.over = True
                yield some


async def while_connected(
    answering: Coroutine[Any, Any, None], receive: Receive, *, until: Waiting | None = None
) -> None:
    """Answers for as long as someone listens: a turn that no one hears is stopped, or leaves its line.

    One that has begun while it was waited for (`until`) goes on without listeners."""
    work = asyncio.ensure_future(answering)
    gone = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            if until is None or not until.over:
                work.cancel()
            await asyncio.wait({work})
        if not work.cancelled():
            work.result()
    finally:
        gone.cancel()
