"""Many clients at once: each on a connection of its own, all in one event loop."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from bench.load import percentile
from front_door import KEY, Answer
from process import Process

T = TypeVar("T")
Record = Callable[[str, object], None]  # a figure that a report of the tests can show
Serve = Callable[..., Process]  # starts a server with settings of its own

PATIENCE = 50.0  # seconds for one answer
READ = 64 * 1024


@dataclass
class Told:
    """An answer, and how long it took: to its first byte, and to its end."""

    answer: Answer
    first: float
    took: float


@dataclass
class Crowd:
    """Clients of the server at a port, with one API key."""

    port: int
    key: str = KEY

    @classmethod
    def of(cls, process: Process, key: str = KEY) -> Crowd:
        return cls(int(process.client.url.rpartition(":")[2]), key)

    def head(self, method: str, path: str, body: bytes, headers: dict[str, str] | None = None) -> bytes:
        given = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
            **(headers or {}),
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode()

    @asynccontextmanager
    async def opened(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> AsyncIterator[asyncio.StreamReader]:
        """The answer while it is still coming; leaving the block hangs up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(self.head(method, path, body, headers) + body)
            yield reader
        finally:
            writer.transport.abort()

    async def send(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Told:
        began = perf_counter()
        async with asyncio.timeout(PATIENCE), self.opened(method, path, body, headers) as reader:
            received = await reader.read(READ)
            first = perf_counter() - began
            return Told(parsed(received + await reader.read()), first, perf_counter() - began)

    async def say(self, text: str, session: str, *, stream: bool = False, **headers: str) -> Told:
        return await self.send("POST", "/v1/chat/completions", said(text, stream=stream), {**named(session), **headers})

    async def transcript(self, session: str) -> list[str]:
        """What was said, the questions and the answers, in order."""
        told = await self.send("GET", f"/api/sessions/{session}/messages?limit=500")
        assert told.answer.status == 200, told.answer.body
        return [str(entry["content"]) for entry in told.answer.json["data"]]


def said(text: str, *, stream: bool) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": text}], "stream": stream}).encode()


def named(session: str) -> dict[str, str]:
    return {"X-Hermes-Session-Id": session}


def parsed(received: bytes) -> Answer:
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        body = dechunked(body)
    return Answer(int(first.split()[1]), headers, body)


def dechunked(body: bytes) -> bytes:
    pieces = []
    while body:
        size, _, body = body.partition(b"\r\n")
        pieces.append(body[: int(size, 16)])
        body = body[int(size, 16) + 2 :]
    return b"".join(pieces)


async def together(works: Iterable[Callable[[], Awaitable[T]]], *, most: int) -> list[T]:
    """All of them, so many at a time."""
    room = asyncio.Semaphore(most)

    async def one(work: Callable[[], Awaitable[T]]) -> T:
        async with room:
            return await work()

    return await asyncio.gather(*(one(work) for work in works))


def is_refused(answer: Answer, status: int, code: str) -> bool:
    """A refusal with the four keys of the error object and the seconds to wait."""
    error = answer.json["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert (answer.status, error["code"]) == (status, code), answer.body
    assert int(answer.headers["retry-after"]) >= 1
    return True


def is_complete(answer: Answer) -> bool:
    """A stream that reached its end, without an error in it."""
    events = answer.events
    return answer.status == 200 and events[-1] == "[DONE]" and not any("error" in e for e in events[:-1])


@dataclass
class Times:
    """Seconds that answers took."""

    taken: list[float] = field(default_factory=list)

    def share(self, share: float) -> float:
        """Nearest rank, in seconds."""
        found = percentile([int(seconds * 1e9) for seconds in self.taken], share)
        assert found is not None, "nobody was answered"
        return found / 1000


def rss_kb(process: Process) -> int:
    """The memory that it has."""
    return in_status(process, "VmRSS:")


def peak_kb(process: Process) -> int:
    """The most that it ever had."""
    return in_status(process, "VmHWM:")


def in_status(process: Process, name: str) -> int:
    status = Path(f"/proc/{process.running.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(name))


def open_files(process: Process) -> int:
    return len(list(Path(f"/proc/{process.running.pid}/fd").iterdir()))


def established(port: int) -> int:
    """How many connections to a port the server has not closed."""
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


def deaf(port: int) -> socket.socket:
    """A connection whose reader takes in next to nothing: the kernel holds little for it, on either side."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    connection.settimeout(30)
    connection.connect(("127.0.0.1", port))
    return connection


def mark_of(text: Any) -> str:
    """The name in brackets that a question carries, and its answer repeats."""
    return str(text).partition("[")[2].partition("]")[0]
