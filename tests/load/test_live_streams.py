"""A thousand streams at once on a real server: each its own session, words trickling."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from crowd import READ, Crowd, Record, Serve, is_complete, named, open_files, parsed, rss_kb, said, together
from trickle import Trickle

pytestmark = [pytest.mark.slow, pytest.mark.long]

STREAMS = 1000
MOST_KB = 40  # of memory, for a stream that is open and silent


async def test_a_thousand_streams_are_live_at_once_and_each_ends_with_what_was_said_to_it(
    serve: Serve, trickle: Trickle, record_testsuite_property: Record
) -> None:
    process = serve()
    crowd = Crowd.of(process)
    await together([partial(crowd.say, f"[warm{n}]", f"warm{n}", stream=True) for n in range(50)], most=10)
    trickle.words, trickle.pause = 8, 0.1
    trickle.hold()
    before, files = rss_kb(process), open_files(process)
    live = asyncio.Semaphore(0)

    async def listen(number: int) -> bytes:
        body = said(f"[live{number}]", stream=True)
        async with crowd.opened("POST", "/v1/chat/completions", body, named(f"live{number}")) as reader:
            received = b""
            while f"[live{number}]".encode() not in received:
                received += await reader.read(READ)
            live.release()
            return received + await reader.read()

    async with asyncio.timeout(90):
        listening = [asyncio.create_task(listen(number)) for number in range(STREAMS)]
        for _ in range(STREAMS):
            await live.acquire()
        assert trickle.talking == STREAMS
        kb_each, files_each = (rss_kb(process) - before) / STREAMS, (open_files(process) - files) / STREAMS
        trickle.release()
        answers = [parsed(received) for received in await asyncio.gather(*listening)]
    assert all(is_complete(answer) for answer in answers)
    assert [answer.text for answer in answers] == [trickle.said(f"live{number}") for number in range(STREAMS)]
    transcripts = await together([partial(crowd.transcript, f"live{n}") for n in range(STREAMS)], most=32)
    assert transcripts == [[f"[live{n}]", trickle.said(f"live{n}")] for n in range(STREAMS)]
    record_testsuite_property("kB of memory for a stream", kb_each)
    assert kb_each < MOST_KB, f"{kb_each:.0f} kB for each stream"
    assert files_each <= 2, "a socket to the client, and one to the model's server"
