"""A model's server for tests: a real socket, answers from what it was asked, faults on demand."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Awaitable, Callable
from typing import Any

Behaviour = Callable[[dict[str, Any], asyncio.StreamWriter], Awaitable[None]]
Answer = Callable[[dict[str, Any]], str]

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class Upstream:
    """Runs in a thread of its own. `plan` is what the next requests meet; after that it answers."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.plan: list[Behaviour] = []
        self.answer: Answer = from_the_prompt
        self.disconnects = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        self._server = server
        self.port: int = server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=2048)

    def reset(self) -> None:
        self.requests.clear()
        self.headers.clear()
        self.plan.clear()
        self.answer = from_the_prompt
        self.disconnects = 0

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    async def _shut(self) -> None:
        self._server.close()
        talking = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in talking:
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)

    @property
    def prompts(self) -> list[list[dict[str, Any]]]:
        return [request["messages"] for request in self.requests]

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            self.disconnects += 1
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if first.startswith("GET"):
            listed = {"object": "list", "data": [{"id": "fake-model", "object": "model", "owned_by": "tests"}]}
            await whole(writer, 200, listed)
            return True
        request = json.loads(body)
        self.requests.append(request)
        self.headers.append(headers)
        behaviour = self.plan.pop(0) if self.plan else self.behaviour(request)
        await behaviour(request, writer)
        return not writer.is_closing()

    def behaviour(self, request: dict[str, Any]) -> Behaviour:
        """What a request meets that nothing is planned for."""
        return says(self.answer(request))


# --- what it answers ---


def from_the_prompt(request: dict[str, Any]) -> str:
    """Answers only from what it was sent: the names and numbers it was told, and how much it can see."""
    words = " ".join(text_of(message) for message in request["messages"] if message["role"] != "assistant")
    names = re.findall(r"(?:name is|called) ([A-Z]\w+)", words)
    last = text_of(request["messages"][-1])
    seen = len(request["messages"])
    return f"You said {last!r}. I know {', '.join(dict.fromkeys(names)) or 'nobody'}. I see {seen} messages."


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content)
    return content or ""


def own_text(message: dict[str, Any]) -> str:
    """What was said, without what was recalled for it."""
    text = text_of(message)
    return text.partition("\n\n")[2] if text.startswith("[memory:") else text


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-upstream",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "fake-model",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}],
    }


USAGE = {
    "id": "chatcmpl-upstream",
    "object": "chat.completion.chunk",
    "choices": [],
    "usage": {
        "prompt_tokens": 11,
        "completion_tokens": 7,
        "total_tokens": 18,
        "prompt_tokens_details": {"cached_tokens": 5},
    },
}


async def event(writer: asyncio.StreamWriter, data: dict[str, Any] | str | bytes) -> None:
    payload = json.dumps(data) if isinstance(data, dict) else data
    raw = payload if isinstance(payload, bytes) else f"data: {payload}\n\n".encode()
    writer.write(b"%x\r\n%s\r\n" % (len(raw), raw))
    await writer.drain()


async def end(writer: asyncio.StreamWriter) -> None:
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def whole(writer: asyncio.StreamWriter, status: int, body: Any, headers: str = "") -> None:
    raw = json.dumps(body).encode() if not isinstance(body, bytes) else body
    writer.write(
        f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}\r\n{headers}\r\n".encode()
    )
    writer.write(raw)
    await writer.drain()


def says(text: str) -> Behaviour:
    async def behave(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        await event(writer, chunk({"role": "assistant", "content": ""}))
        for piece in re.findall(r"\S+\s*|\s+", text):
            await event(writer, chunk({"content": piece}))
        await event(writer, chunk({}, "stop"))
        await event(writer, USAGE)
        await event(writer, "[DONE]")
        await end(writer)

    return behave


def streams(*events: dict[str, Any] | str | bytes) -> Behaviour:
    """Exactly these events, then a proper end."""

    async def behave(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        for each in events:
            await event(writer, each)
        await end(writer)

    return behave


def calls(*tools: tuple[str, str, str]) -> Behaviour:
    """Calls tools: (id, name, arguments), the arguments in two pieces."""
    pieces: list[dict[str, Any] | str] = [chunk({"role": "assistant", "content": None})]
    for index, (id_, name, arguments) in enumerate(tools):
        half = len(arguments) // 2
        head = {"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": ""}}
        pieces.append(chunk({"tool_calls": [head]}))
        pieces += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
            for part in (arguments[:half], arguments[half:])
        ]
    return streams(*pieces, chunk({}, "tool_calls"), USAGE, "[DONE]")


# --- faults ---


def status(code: int, body: Any = None, headers: str = "") -> Behaviour:
    said = body if body is not None else {"error": {"message": f"upstream says {code}", "type": "x", "code": None}}

    async def behave(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        await whole(writer, code, said, headers)

    return behave


def sleeps(seconds: float) -> Behaviour:
    """No byte for a while."""

    async def behave(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        await says("too late")(request, writer)

    return behave


def falls_silent(seconds: float) -> Behaviour:
    """A word, and then nothing."""

    async def behave(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        await event(writer, chunk({"role": "assistant", "content": "Well,"}))
        await asyncio.sleep(seconds)
        await event(writer, chunk({"content": " too late"}, "stop"))
        await event(writer, "[DONE]")
        await end(writer)

    return behave


async def cuts(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    """Closes the connection in the middle of a sentence."""
    writer.write(HEAD)
    await event(writer, chunk({"role": "assistant", "content": "I was about to"}))
    writer.close()


async def hangs_up(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    """Closes the connection without a word."""
    writer.close()


no_finish = streams(chunk({"role": "assistant", "content": "and so"}), "[DONE]")
garbage = streams(chunk({"role": "assistant", "content": "Hm"}), "{not json at all")
error_in_stream = streams(chunk({"content": "Hm"}), {"error": {"message": "the model fell over"}})
