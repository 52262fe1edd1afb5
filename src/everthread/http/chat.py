"""POST /v1/chat/completions, written as plain ASGI: it is the hot path."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec

from everthread.core.key import ApiKey
from everthread.core.ports import Clock
from everthread.http import reply as replies
from everthread.http.reply import Reply
from everthread.http.request import Headers, Receive, envelope, read_json, replay
from everthread.turns.run import Turns
from everthread.wire import chat

PATH = "/v1/chat/completions"


async def chat_completions(
    headers: Headers, receive: Receive, reply: Reply, *, key: ApiKey, turns: Turns, clock: Clock
) -> None:
    to = envelope(headers, key, now=clock.now())
    body = await read_json(receive, headers)
    once = replay(headers, method="POST", path=PATH, body=body, envelope=to)
    asked = chat.decode(body, msgspec.structs.replace(to, replay=once) if once else to)
    answer = replies.streamed if asked.stream else replies.whole
    events = turns.run(asked.turn)
    if to.session_id is not None:
        await answer(events, asked, reply)  # a turn of a named session is finished and kept, client or no client
    else:
        await while_connected(answer(events, asked, reply), receive)


async def while_connected(answering: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Answers for as long as someone listens; an unnamed turn that no one hears is stopped upstream."""
    work = asyncio.ensure_future(answering)
    gone = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            work.cancel()
            await asyncio.wait({work})
        if not work.cancelled():
            work.result()
    finally:
        gone.cancel()
