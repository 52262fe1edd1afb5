"""Keeps the embedded model's process alive."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import sys
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from everthread.errors import Stopping, UpstreamTimeout, UpstreamUnreachable
from everthread.models.embedded.orders import Failed, Listening, Order

log = logging.getLogger("everthread.models.embedded.local")

State = Literal["loading", "ready", "restarting", "failing", "closed"]

LOADING = 300.0  # seconds until a child must have loaded its weights
SETTLED = 60.0  # seconds after which a death is not one of a series
SERIES = 3  # deaths in a row that make us tell those who wait
LONGEST_PAUSE = 30.0  # seconds between two starts
LAST_WORDS = 20  # lines of a child's stderr that are kept
LONGEST_WORD = 500
DECODER: msgspec.json.Decoder[Listening | Failed] = msgspec.json.Decoder(Listening | Failed)


class Address(msgspec.Struct, frozen=True):
    """Where a child answers, and to whom."""

    url: str
    key: str


class Supervisor:
    """Starts the child, and starts it again when it dies, at a growing distance when it keeps dying."""

    def __init__(self, *, weights: Path, name: str, threads: int, context: int) -> None:
        self.state: State = "loading"
        self._order = Order(str(weights), name, context, threads, key="")
        self._address: Address | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._keep(), name=f"embedded model {self._order.name}")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        await self._become("closed", None)

    async def address(self) -> Address:
        """Where the running child answers, as soon as there is one."""
        try:
            async with asyncio.timeout(LOADING), self._changed:
                await self._changed.wait_for(lambda: self.state not in {"loading", "restarting"})
        except TimeoutError as error:
            raise UpstreamTimeout("The embedded model is still being loaded; try again later.") from error
        if self.state == "closed":
            raise Stopping
        if self._address is None:
            raise UpstreamUnreachable(
                "The embedded model does not start; the server's log says why.", retry_after=LONGEST_PAUSE
            )
        return self._address

    async def doubt(self, address: Address) -> None:
        """A child that broke an answer off is not asked again: it ends now, if it has not ended by itself."""
        if address is self._address:
            await self._become("restarting", None)
            if self._process is not None:
                kill(self._process)

    async def _keep(self) -> None:
        deaths = 0
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            await self._live()
            deaths = 1 if loop.time() - began > SETTLED else deaths + 1
            await self._become("failing" if deaths >= SERIES else "restarting", None)
            await asyncio.sleep(min(LONGEST_PAUSE, 0.25 * 4 ** (deaths - 1)))

    async def _live(self) -> None:
        """One life of a child, from its start to its end."""
        order = msgspec.structs.replace(self._order, key=secrets.token_urlsafe(32))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "everthread.models.embedded.child"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us: answers under way are finished first
        )
        self._process = process
        words: deque[str] = deque(maxlen=LAST_WORDS)
        listening = asyncio.create_task(listen(process, words))
        try:
            url = await greet(process, order, words)
            if url is not None:
                await self._become("ready", Address(url, order.key))
                log.info("the embedded model %s is ready (process %d)", order.name, process.pid)
                await process.wait()
        finally:
            await end(process, listening)
            self._process = None
        log.error(
            "the embedded model's process %d ended with %s; its last words:\n%s",
            *(process.pid, process.returncode, "\n".join(words) or "(none)"),
        )

    async def _become(self, state: State, address: Address | None) -> None:
        async with self._changed:
            self.state, self._address = state, address
            self._changed.notify_all()


async def greet(process: asyncio.subprocess.Process, order: Order, words: deque[str]) -> str | None:
    """Tells a child what to run and returns where it listens; None if it does not come up."""
    assert process.stdin is not None
    assert process.stdout is not None
    answer: Listening | Failed
    try:
        process.stdin.write(msgspec.json.encode(order) + b"\n")
        async with asyncio.timeout(LOADING):
            await process.stdin.drain()
            line = await process.stdout.readline()
        answer = DECODER.decode(line) if line else Failed("it said nothing")
    except TimeoutError:
        answer = Failed(f"it did not load its weights within {LOADING:.0f} s")
    except (ConnectionError, ValueError) as error:
        answer = Failed(f"it could not be spoken to: {error}")
    match answer:
        case Listening(url=url):
            return url
        case Failed(reason=reason):
            words.append(reason[:LONGEST_WORD])
            return None


async def listen(process: asyncio.subprocess.Process, words: deque[str]) -> None:
    """Passes a child's stderr to the log, and keeps its end."""
    assert process.stderr is not None
    rest = b""
    while data := await process.stderr.read(4096):
        *lines, rest = (rest[-LONGEST_WORD:] + data).split(b"\n")
        for line in lines:
            word = line[:LONGEST_WORD].decode(errors="replace").strip()
            if word:
                words.append(word)
                log.debug("%s", word)
    if rest.strip():
        words.append(rest[:LONGEST_WORD].decode(errors="replace"))


async def end(process: asyncio.subprocess.Process, listening: asyncio.Task[None]) -> None:
    """Ends a child that is ours and waits until it is gone."""
    assert process.stdin is not None
    process.stdin.close()
    kill(process)
    await process.wait()
    await listening


def kill(process: asyncio.subprocess.Process) -> None:
    """Ends a child, which holds nothing that could be lost."""
    if process.returncode is None:
        with suppress(ProcessLookupError):  # it was quicker
            os.kill(process.pid, signal.SIGKILL)  # process.kill() would reap it before asyncio does
