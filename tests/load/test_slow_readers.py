"""Clients that ask for a long stream and do not read it: what is kept for them is bounded, and so is the patience."""

from __future__ import annotations

import asyncio
import re
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

import pytest
from crowd import READ, Crowd, Record, Times, deaf, established, named, open_files, peak_kb, said
from impatient import STALL, Impatient
from trickle import LONG, Trickle

from bench.load import Target
from bench.server import Process as Seen

pytestmark = pytest.mark.slow

READERS = 200  # of 1.5 MB each
KEPT = 10  # of them in named sessions: their turns are finished without them
LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
MOST_KB = 1200  # of memory for each, at the peak: what is read ahead, and what waits to be sent


@pytest.fixture
def process(trickle: Trickle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Impatient]:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent), prepend=":")
    process = Impatient(tmp_path / "home", upstream_url=trickle.url, memory="off", distil="rules")
    yield process
    assert process.stop() == 0, process.printed


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


async def spoken(crowd: Crowd, name: str) -> float:
    """What a turn takes: the middle of some, one after the other."""
    times = Times()
    for number in range(20):
        told = await crowd.say(f"[{name}{number}]", name, stream=True)
        assert told.answer.status == 200
        times.taken.append(told.took)
    return times.share(0.5)


def was_cut_off(reader: socket.socket) -> bool:
    """Whether what was sent ends in the middle: before the length that was announced, or the last chunk."""
    sent = bytearray()
    try:
        while some := reader.recv(READ):
            sent += some
    except ConnectionResetError:
        return True
    head, _, body = sent.partition(b"\r\n\r\n")
    if announced := LENGTH.search(head):
        return len(body) < int(announced[1])
    return not body.endswith(b"\r\n0\r\n\r\n")


async def until(true: Callable[[], bool], seconds: float) -> bool:
    deadline = monotonic() + seconds
    while not (done := true()) and monotonic() < deadline:
        await asyncio.sleep(0.05)
    return done


async def kept(crowd: Crowd, session: str, seconds: float = 20) -> None:
    """Returns when its turn, which nobody hears any more, is over."""
    deadline = monotonic() + seconds
    while (await crowd.send("GET", f"/api/sessions/{session}")).answer.status == 404 and monotonic() < deadline:
        await asyncio.sleep(0.05)


async def test_readers_that_do_not_read_cost_little_harm_nobody_and_are_cut_off_in_the_end(
    process: Impatient, stack: ExitStack, trickle: Trickle, tmp_path: Path, record_testsuite_property: Record
) -> None:
    crowd = Crowd.of(process)
    alone = await spoken(crowd, "alone")
    before, asked = peak_kb(process), len(trickle.requests)
    readers: list[socket.socket] = []
    for number in range(READERS):
        reader = stack.enter_context(deaf(crowd.port))
        readers.append(reader)
        body = said(f"[{LONG}{number}]", stream=True)
        headers = named(f"{LONG}{number}") if number < KEPT else {}
        reader.sendall(crowd.head("POST", "/v1/chat/completions", body, headers) + body)
    began = monotonic()
    assert await until(lambda: len(trickle.requests) >= asked + READERS, 60), "all of them are let in"
    await asyncio.to_thread(Seen(Target("everthread", crowd.port, crowd.key), process.running, tmp_path).rest)
    kb_each = (peak_kb(process) - before) / READERS
    record_testsuite_property("kB of memory for a reader that does not read", kb_each)
    assert kb_each < MOST_KB, f"{kb_each:.0f} kB for each reader"
    beside = await spoken(crowd, "beside")
    assert beside < 3 * alone + 0.5, "others are answered as ever"

    assert await until(lambda: established(crowd.port) == 0, 30), "they are cut off"
    assert monotonic() - began > STALL, "but not at once"
    assert all(was_cut_off(reader) for reader in readers)
    for number in range(KEPT):
        await kept(crowd, f"{LONG}{number}")
        assert await crowd.transcript(f"{LONG}{number}") == [f"[{LONG}{number}]", trickle.said(f"{LONG}{number}")]


@pytest.mark.skipif(sys.platform != "linux", reason="the system is asked to hang up; others have no such option")
@pytest.mark.parametrize("path", ["messages", "export"])
async def test_a_long_body_that_nobody_takes_in_is_not_kept_for_ever(
    process: Impatient, stack: ExitStack, path: str
) -> None:
    crowd = Crowd.of(process)
    assert (await crowd.say(f"[{LONG}]", "talk")).answer.status == 200
    before = open_files(process)
    reader = stack.enter_context(deaf(crowd.port))
    reader.sendall(crowd.head("GET", f"/api/sessions/talk/{path}", b""))
    assert await until(lambda: open_files(process) > before, 5)
    assert await until(lambda: open_files(process) <= before, 4 * STALL)
    assert was_cut_off(reader)
