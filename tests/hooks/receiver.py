"""A webhook's receiver on 127.0.0.1, which checks signatures by the standard's text and not by our code."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from ipaddress import ip_address

from everthread.core.courier import Parcel
from everthread.core.signature import Secret
from everthread.hooks.address import Address

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
KEY = bytes(range(32))
SECRET = Secret("whsec_" + base64.b64encode(KEY).decode())
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Serve = Callable[[asyncio.StreamWriter], Awaitable[None]]


def parcel(url: str, *, body: bytes = b'{"type":"job.run.completed"}', older: tuple[Secret, ...] = ()) -> Parcel:
    return Parcel(id="msg_1", url=url, secret=SECRET, body=body, kind="job.run.completed", older=older)


class Got:
    """A request as it came."""

    def __init__(self, head: bytes, body: bytes) -> None:
        self.line, *lines = head.decode("ascii").removesuffix("\r\n\r\n").split("\r\n")
        self.names = [line.partition(": ")[0].lower() for line in lines]
        self.headers = {line.partition(": ")[0].lower(): line.partition(": ")[2] for line in lines}
        self.body = body

    def is_signed_with(self, key: bytes) -> bool:
        signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + self.body
        expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        return any(
            version == "v1" and hmac.compare_digest(given, expected)
            for version, _, given in (each.partition(",") for each in self.headers["webhook-signature"].split(" "))
        )


class Receiver:
    def __init__(self, port: int) -> None:
        self.port = port
        self.got: list[Got] = []
        self.connections = 0
        self.now = 0  # requests that are being answered
        self.most = 0

    def url(self, path: str = "/hook", *, scheme: str = "http", host: str = "127.0.0.1") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


def says(answer: bytes) -> Serve:
    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    return serve


@asynccontextmanager
async def receiving(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    """Answers each request by `serve`, then closes the connection."""
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        receiver.connections += 1
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            got = Got(head, b"")
            got.body = await reader.readexactly(int(got.headers["content-length"]))
            receiver.got.append(got)
            receiver.now += 1
            receiver.most = max(receiver.most, receiver.now)
            try:
                await serve(writer)
                await writer.drain()
            finally:
                receiver.now -= 1
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.transport.abort()
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    receiver = Receiver(server.sockets[0].getsockname()[1])
    try:
        yield receiver
    finally:
        server.close()
        for task in tasks.copy():
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await asyncio.sleep(0)  # for what was aborted to be closed


class Names:
    """A resolver that gives one answer after the other, the last one for ever, and counts what it was asked."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str) -> list[Address]:
        self.asked.append(host)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [ip_address(address) for address in answer]
