"""Brings what is over to those who wanted to hear of it, by webhook; tries again, and gives up in the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta

import msgspec

from everthread.core.courier import Courier, Delivered
from everthread.core.ids import StepId, Tenant
from everthread.core.ports import Clock
from everthread.core.queue import Outgoing, Waiting
from everthread.errors import Failure
from everthread.turns.alarm import LONGEST_SLEEP, Alarm, until

log = logging.getLogger("everthread.post")

AT_ONCE = 64
HELD = timedelta(seconds=60)  # longer than a delivery may take

Written = Callable[
    [Waiting], Awaitable[bytes | None]
]  # a parcel's body as it is now; None: it tells of nothing any more
Unhook = Callable[[Waiting], Awaitable[None]]  # nothing more is wanted there
Pause = Callable[[int, str], timedelta | None]  # before the next attempt; None: there is none


class Post:
    def __init__(
        self,
        *,
        outgoing: Outgoing,
        courier: Courier,
        clock: Clock,
        worker: str,
        written: Written,
        pause: Pause,
        unhook: Unhook,
    ) -> None:
        self._outgoing = outgoing
        self._courier = courier
        self._clock = clock
        self._worker = worker
        self._written = written
        self._pause = pause
        self._unhook = unhook
        self._alarm = Alarm()
        self._going: set[asyncio.Task[None]] = set()

    async def again(self, tenant: Tenant, run: StepId) -> bool:
        """Delivers what a run came to once more; False when there is nothing to deliver."""
        found = await self._outgoing.again(tenant, run, now=self._clock.now())
        self.wake()
        return found

    def wake(self) -> None:
        """There is something to deliver."""
        self._alarm.ring()

    async def work(self) -> None:
        """Delivers what is due, for as long as the server runs."""
        while True:
            self._alarm.reset()
            try:
                pause = await self._deliver()
            except Failure as failure:
                log.warning("parcels cannot be taken now: %s", failure.code)
                pause = 1.0
            except Exception:  # the task's boundary: one bad parcel must not keep all others for ever
                log.exception("the post stumbled")
                pause = 1.0
            await self._alarm.sleep(pause)

    async def _deliver(self) -> float:
        """Takes what there is room for; one that is slow keeps no other waiting."""
        now = self._clock.now()
        room = AT_ONCE - len(self._going)
        if not room:
            return LONGEST_SLEEP
        waiting = await self._outgoing.take(self._worker, now=now, until=now + HELD, limit=room)
        for each in waiting:
            task = asyncio.create_task(self._one(each))
            self._going.add(task)
            task.add_done_callback(self._gone)
        if waiting:
            return 0.0
        return until(await self._outgoing.next_due(), self._clock.now())

    def _gone(self, task: asyncio.Task[None]) -> None:
        self._going.discard(task)
        if not task.cancelled() and task.exception() is not None:  # it is ours for a while yet, and then tried again
            log.error("a parcel could not be seen to", exc_info=task.exception())
        self.wake()

    async def _one(self, waiting: Waiting) -> None:
        body = await self._written(waiting)
        if body is None:
            await self._outgoing.failed(
                waiting, why="gone: what it told of was deleted", again=None, now=self._clock.now()
            )
            return
        parcel = msgspec.structs.replace(waiting.parcel, body=body)
        receipt = await self._courier.deliver(parcel, now=self._clock.now())
        now = self._clock.now()
        if isinstance(receipt, Delivered):
            await self._outgoing.delivered(waiting, status=receipt.status, now=now)
            return
        pause = self._pause(waiting.attempts + 1, parcel.id) if receipt.then == "again" else None
        if pause is not None and receipt.after is not None:
            pause = max(pause, receipt.after)
        why = receipt.reason if receipt.status is None else f"{receipt.reason} ({receipt.status})"
        await self._outgoing.failed(waiting, why=why, again=now + pause if pause is not None else None, now=now)
        if receipt.then == "disable":
            await self._unhook(waiting)
        if pause is None:
            log.warning("%r was given up: %s", parcel, why)
