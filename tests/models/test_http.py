"""Connections to a model's server: kept, reused, and never a danger to the next request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from everthread.errors import Malformed, UpstreamDisconnected, UpstreamMalformed, UpstreamTimeout, UpstreamUnreachable
from everthread.models import http
from everthread.models.http import Origin, Timeouts

Serve = Callable[[int, asyncio.StreamWriter], Awaitable[None]]
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
QUICK = Timeouts(connect=1, first_byte=0.3, silence=0.3)


@asynccontextmanager
async def origin(serve: Serve, timeouts: Timeouts = QUICK) -> AsyncIterator[tuple[Origin, list[int]]]:
    """A server that answers each request by `serve`, given its number; and the connections it saw."""
    connections: list[int] = []
    number = 0

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal number
        connections.append(0)
        mine = len(connections) - 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                connections[mine] += 1
                number += 1
                await serve(number, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    there = Origin(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", "k", timeouts)
    try:
        yield there, connections
    finally:
        await there.close()
        server.close()


async def ask(there: Origin, *, over: bool = False) -> bytes:
    async with await there.get("/models") as answer:
        if over:
            piece = await answer.read()
            answer.over = True
            return piece
        return await answer.text(longest=10_000)


async def whole(number: int, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")


async def test_a_connection_is_used_again_when_its_answer_is_complete() -> None:
    async with origin(whole) as (there, connections):
        assert [await ask(there) for _ in range(3)] == [b"ok"] * 3
        assert connections == [3]


async def test_an_answer_whose_end_is_still_to_come_keeps_its_connection_and_harms_no_later_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "ENDS_WITHIN", 0.1)

    async def late_end(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"2\r\nok\r\n")
        await asyncio.sleep(0.05 if number == 1 else 0.2)
        writer.write(b"3\r\nend\r\n0\r\n\r\n" if number > 1 else b"0\r\n\r\n")

    async with origin(late_end) as (there, connections):
        assert await ask(there, over=True) == b"ok"
        await asyncio.sleep(0.08)
        assert await ask(there) == b"okend"
        assert connections == [2]


async def test_an_answer_that_never_ends_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "ENDS_WITHIN", 0.05)

    async def endless(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"2\r\nok\r\n")

    async with origin(endless) as (there, connections):
        assert await ask(there, over=True) == b"ok"
        await asyncio.sleep(0.1)
        assert await ask(there, over=True) == b"ok"
        assert connections == [1, 1]


async def test_a_kept_connection_that_the_server_has_closed_is_not_used() -> None:
    async def closes(number: int, writer: asyncio.StreamWriter) -> None:
        await whole(number, writer)
        writer.close()

    async with origin(closes) as (there, connections):
        assert await ask(there) == b"ok"
        await asyncio.sleep(0.05)
        assert await ask(there) == b"ok"
        assert connections == [1, 1]


async def test_a_connection_closed_in_the_moment_of_asking_takes_the_other_kept_ones_with_it() -> None:
    async def closes(number: int, writer: asyncio.StreamWriter) -> None:
        if number == 3:
            writer.close()
        else:
            await asyncio.sleep(0.05)
            await whole(number, writer)

    async with origin(closes) as (there, connections):
        await asyncio.gather(ask(there), ask(there))
        with pytest.raises(UpstreamUnreachable):
            await ask(there)
        assert await ask(there) == b"ok"
        assert sorted(connections) == [1, 1, 2]


async def test_an_answer_left_early_closes_its_connection() -> None:
    async def two_parts(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"2\r\nok\r\n")

    async with origin(two_parts) as (there, connections):
        for _ in range(2):
            async with await there.get("/x") as answer:
                await answer.read()
        assert connections == [1, 1]


async def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    async def until_close(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nall of it")
        writer.close()

    async with origin(until_close) as (there, _):
        assert await ask(there) == b"all of it"


async def test_go_on_is_not_the_answer() -> None:
    async def hints(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n")
        await whole(number, writer)

    async with origin(hints) as (there, connections):
        assert [await ask(there), await ask(there)] == [b"ok", b"ok"]
        assert connections == [2]


@pytest.mark.parametrize(
    ("said", "failure"),
    [
        (b"", UpstreamTimeout),
        (HEAD, UpstreamTimeout),
        (HEAD + b"2\r\nok\r\n", UpstreamTimeout),
        (b"SSH-2.0-OpenSSH_9\r\n\r\n", UpstreamMalformed),
        (HEAD + b"zz\r\n", UpstreamMalformed),
    ],
)
async def test_silence_and_nonsense_have_their_names(said: bytes, failure: type[Exception]) -> None:
    async def speak(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(said)

    async with origin(speak) as (there, _):
        with pytest.raises(failure):
            await ask(there)


async def test_a_cut_is_not_an_end() -> None:
    async def cut(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this")
        writer.close()

    async with origin(cut) as (there, _):
        with pytest.raises(UpstreamDisconnected):
            await ask(there)


async def test_a_slow_reader_holds_the_server_back() -> None:
    written = 0

    async def flood(number: int, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(HEAD)
        for _ in range(2000):
            writer.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
            await writer.drain()
            written += 0x4000
        writer.write(b"0\r\n\r\n")

    async with origin(flood, Timeouts()) as (there, _), await there.get("/x") as answer:
        await asyncio.sleep(0.3)
        assert written < 16 * 1024 * 1024, "it stopped long before its 32 MB"
        read = 0
        while piece := await answer.read():
            read += len(piece)
        assert read == 2000 * 0x4000


async def test_no_server_is_said_so() -> None:
    with pytest.raises(UpstreamUnreachable):
        await ask(Origin("http://127.0.0.1:9/v1", None, QUICK))


def test_a_key_that_would_break_a_header_is_refused() -> None:
    with pytest.raises(Malformed):
        Origin("http://127.0.0.1/v1", "a\r\nX: y", QUICK)
