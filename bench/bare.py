"""The server's own parts with the bare work of a turn, and nothing else: what they can do on this machine at best.

A turn here: parse the request, read the session's messages, ask the upstream, parse its events and tell them, append
the new messages with full durability, end the reply. Plain ASGI on uvicorn, msgspec, one SQLite writer with group
commit, and the client that Everthread asks its upstream with. No keys, budget, index, memory, accounting, limits.
"""

from __future__ import annotations

import argparse
import asyncio
import queue
import sqlite3
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from everthread.models.http import Origin, Timeouts

SCHEMA = "CREATE TABLE messages (session TEXT, seq INTEGER, body BLOB, PRIMARY KEY (session, seq)) WITHOUT ROWID"
PAST = "SELECT body FROM messages WHERE session = ? ORDER BY seq"
LAST = "SELECT coalesce(max(seq), 0) FROM messages WHERE session = ?"
MOST_AT_ONCE = 64
JSON = (b"content-type", b"application/json")
SSE = (b"content-type", b"text/event-stream; charset=utf-8")
SESSION = b"x-hermes-session-id"
DONE = b"data: [DONE]"

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class Ask(msgspec.Struct):
    model: str
    messages: list[msgspec.Raw]
    stream: bool = False


class Delta(msgspec.Struct, omit_defaults=True):
    content: str | None = None
    role: str | None = None


class Choice(msgspec.Struct):
    delta: Delta
    index: int = 0
    finish_reason: str | None = None


class Chunk(msgspec.Struct):
    id: str
    model: str
    choices: list[Choice]
    object: str = "chat.completion.chunk"


ASKS, CHUNKS, encode = msgspec.json.Decoder(Ask), msgspec.json.Decoder(Chunk), msgspec.json.encode


class Ledger:
    """One thread writes, many appends to a transaction."""

    def __init__(self, file: Path) -> None:
        self.loop = asyncio.get_running_loop()
        self.file = file
        self.waiting: queue.SimpleQueue[tuple[str, list[bytes], asyncio.Future[None]]] = queue.SimpleQueue()
        self.reader = self.opened()
        self.reader.execute(SCHEMA)
        threading.Thread(target=self.write, daemon=True).start()

    def opened(self) -> sqlite3.Connection:
        found = sqlite3.connect(self.file, isolation_level=None, check_same_thread=False)
        found.execute("PRAGMA journal_mode=WAL")
        found.execute("PRAGMA synchronous=FULL")
        return found

    def past(self, session: str) -> list[bytes]:
        return [body for (body,) in self.reader.execute(PAST, (session,))]

    def append(self, session: str, bodies: list[bytes]) -> asyncio.Future[None]:
        done = self.loop.create_future()
        self.waiting.put((session, bodies, done))
        return done

    def write(self) -> None:
        store = self.opened()
        while True:
            batch = [self.waiting.get()]
            while len(batch) < MOST_AT_ONCE and not self.waiting.empty():
                batch.append(self.waiting.get())
            store.execute("BEGIN IMMEDIATE")
            for session, bodies, _ in batch:
                last = store.execute(LAST, (session,)).fetchone()[0]
                rows = [(session, seq, body) for seq, body in enumerate(bodies, start=last + 1)]
                store.executemany("INSERT INTO messages VALUES (?, ?, ?)", rows)
            store.execute("COMMIT")
            self.loop.call_soon_threadsafe(lambda batch=batch: [done.set_result(None) for _, _, done in batch])


class Bare:
    def __init__(self, upstream: str, home: Path) -> None:
        self.upstream, self.home = upstream, home
        self.origin: Origin | None = None

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if self.origin is None:
            self.origin = Origin(self.upstream, "bare", Timeouts())
            self.ledger = Ledger(self.home / "bare.db")
        if scope["method"] == "GET":
            await whole(send, b"{}")
            return
        body = b""
        while (part := await receive()).get("more_body"):
            body += part["body"]
        ask = ASKS.decode(body + part["body"])
        session = next((value.decode() for name, value in scope["headers"] if name == SESSION), "")
        await self.turn(self.origin, ask, session, send)

    async def turn(self, origin: Origin, ask: Ask, session: str, send: Send) -> None:
        said = [bytes(message) for message in ask.messages]
        messages = b",".join(self.ledger.past(session) + said)
        request = b'{"model":%b,"messages":[%b],"stream":true}' % (encode(ask.model), messages)
        if ask.stream:
            await send({"type": "http.response.start", "status": 200, "headers": [SSE]})
        text, last, rest = "", None, b""
        async with await origin.post("/chat/completions", request) as answer:
            while data := await answer.read():
                *events, rest = (rest + data).split(b"\n\n")
                for chunk in chunks(events):
                    text += chunk.choices[0].delta.content or ""
                    if chunk.choices[0].finish_reason:
                        last = chunk
                    elif ask.stream:
                        await send({"type": "http.response.body", "body": event(chunk), "more_body": True})
            answer.over = True
        assert last is not None
        reply = {"role": "assistant", "content": text}
        await self.ledger.append(session, [*said, encode(reply)])
        if ask.stream:
            await send({"type": "http.response.body", "body": event(last) + DONE + b"\n\n"})
        else:
            choice = {"index": 0, "message": reply, "finish_reason": last.choices[0].finish_reason}
            completion = {"id": last.id, "object": "chat.completion", "model": last.model, "choices": [choice]}
            await whole(send, encode(completion))


def chunks(events: list[bytes]) -> Iterator[Chunk]:
    return (chunk for one in events if one != DONE and (chunk := CHUNKS.decode(one[6:])).choices)


def event(chunk: Chunk) -> bytes:
    return b"data: %b\n\n" % encode(chunk)


async def whole(send: Send, body: bytes) -> None:
    headers = [JSON, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", required=True)
    parser.add_argument("--home", type=Path, required=True)
    args = parser.parse_args(argv)
    app = Bare(args.upstream, args.home)
    uvicorn.run(app, port=args.port, http="httptools", ws="none", lifespan="off", access_log=False, log_level="error")
    return 0


if __name__ == "__main__":
    sys.exit(main())
