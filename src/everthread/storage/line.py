"""Who holds a session: one turn at a time, first come, first served, in lines of bounded length."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from functools import partial

import msgspec

from everthread.core.ids import SessionId, StepId, Tenant, run_id
from everthread.core.ports import Hold
from everthread.core.session import Session
from everthread.core.turn import OnBusy
from everthread.errors import SessionBusy

LONGEST_LINE = 64
LONGEST_WAIT = 60.0  # seconds


class Line(msgspec.Struct, eq=False):
    """A session that is held, and who waits for it."""

    holder: StepId
    waiting: deque[tuple[StepId, asyncio.Future[None]]]
    stop: Callable[[], None] | None = None  # ends the holder's turn early
    unwanted: bool = False  # someone asked for that already


class Lines:
    """Held by one process; several processes need leases in their database instead."""

    def __init__(self, *, longest_wait: float = LONGEST_WAIT) -> None:
        self._lines: dict[Hashable, Line] = {}
        self._longest_wait = longest_wait

    async def take(self, name: Hashable, by: StepId, on_busy: OnBusy, *, patient: bool = False) -> bool:
        """Ours until it is released; a patient one waits for as long as it takes. Tells whether we had to wait."""
        line = self._lines.get(name)
        if line is None:
            self._lines[name] = Line(by, deque())
            return False
        await self._wait(name, line, by, on_busy, patient=patient)
        return True

    def held(self, name: Hashable) -> bool:
        return name in self._lines

    def listen(self, name: Hashable, stop: Callable[[], None]) -> None:
        """The holder says how it can be ended early."""
        line = self._lines[name]
        line.stop = stop
        if line.unwanted:
            stop()

    async def _wait(self, name: Hashable, line: Line, by: StepId, on_busy: OnBusy, *, patient: bool) -> None:
        if on_busy == "reject":
            raise SessionBusy(final=True, run=run_id(line.holder))
        if len(line.waiting) >= LONGEST_LINE and not patient:
            raise SessionBusy(f"{LONGEST_LINE} turns of this session are waiting already.", run=run_id(line.holder))
        if on_busy == "interrupt":
            line.unwanted = True
            if line.stop is not None:
                line.stop()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.waiting.append((by, turn))
        try:
            async with asyncio.timeout(None if patient else self._longest_wait):
                await turn
        except BaseException as reason:
            if turn.done() and not turn.cancelled():
                self.release(name)  # it became ours in the very moment we left
            elif (by, turn) in line.waiting:
                line.waiting.remove((by, turn))
            if isinstance(reason, TimeoutError):
                busy = f"The session stayed busy for {self._longest_wait:.0f} s."
                raise SessionBusy(busy, run=run_id(line.holder)) from reason
            raise

    def release(self, name: Hashable) -> None:
        line = self._lines[name]
        line.stop, line.unwanted = None, False
        while line.waiting:
            line.holder, turn = line.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        del self._lines[name]


class Claim:
    """A session that is held for as long as this is entered. No generator: each turn would pay for it."""

    def __init__(
        self,
        lines: Lines,
        find: Callable[[Tenant, SessionId], Session | None],
        asked: tuple[Tenant, SessionId],
        *,
        by: StepId,
        on_busy: OnBusy,
        patient: bool,
    ) -> None:
        self._lines = lines
        self._find = find
        self._asked = asked
        self._by = by
        self._on_busy = on_busy
        self._patient = patient

    async def __aenter__(self) -> Hold:
        tenant, session_id = self._asked
        session = self._find(tenant, session_id)
        self._name = (tenant, session.root if session else session_id)
        if await self._lines.take(self._name, self._by, self._on_busy, patient=self._patient):
            try:
                session = self._find(tenant, session_id)  # it has moved on meanwhile
            except BaseException:
                self._lines.release(self._name)
                raise
        return Hold(tenant, session_id, session, partial(self._lines.listen, self._name))

    async def __aexit__(self, *_: object) -> None:
        self._lines.release(self._name)
