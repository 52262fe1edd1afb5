"""POST /v1/chat/completions, written as plain ASGI: it is the hot path."""

from __future__ import annotations

from typing import Protocol

import msgspec

from everthread.context.auxiliary import is_task, traceless
from everthread.core.key import ApiKey
from everthread.core.ports import Clock
from everthread.core.turn import Envelope, Events, Turn
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


class Asking(replies.Asked, Protocol):
    """A turn, and how the client wants to hear of it."""

    @property
    def turn(self) -> Turn: ...

    @property
    def stream(self) -> bool: ...


class Running(Protocol):
    """Where turns are run."""

    def run(self, turn: Turn) -> Events: ...

    async def busy(self, envelope: Envelope) -> bool: ...


async def answer(turns: Running, asked: Asking, reply: Reply, receive: Receive) -> None:
    """Runs the turn and tells it. One of a named session is finished and kept, client or no client, once it began."""
    events = turns.run(asked.turn)
    tell = replies.streamed if asked.stream else replies.whole
    if asked.turn.envelope.session_id is None:
        await replies.while_connected(tell(events, asked, reply), receive)
    elif await turns.busy(asked.turn.envelope):
        waiting = replies.Waiting(events)
        await replies.while_connected(tell(waiting.events(), asked, reply), receive, until=waiting)
    else:
        await tell(events, asked, reply)
