"""One timer for all jobs: wakes when the next one is due, or when somebody changed something."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from everthread.core.ports import Clock
from everthread.errors import Failure
from everthread.turns.alarm import Alarm, until
from everthread.turns.jobs import Timetable

log = logging.getLogger("everthread.scheduler")

AFTER_TROUBLE = 1.0
FAR_AHEAD = timedelta(days=32)  # few jobs wait so long; perhaps the clock was wrong when they fired
SET_BACK = timedelta(seconds=1)  # less than that is a clock that is being kept right


class Scheduler:
    def __init__(self, *, timetable: Timetable, clock: Clock) -> None:
        self._timetable = timetable
        self._clock = clock
        self._alarm = Alarm()
        timetable.changed = self.wake

    def wake(self) -> None:
        """Something is to be looked at now: a job was made or changed."""
        self._alarm.ring()

    async def run(self) -> None:
        """For as long as the server runs."""
        seen: datetime | None = None
        while True:
            self._alarm.reset()
            try:
                now = self._clock.now()
                if seen is None:
                    await self._timetable.look_again(FAR_AHEAD)
                elif now < seen - SET_BACK:
                    await self._timetable.look_again()
                seen = now
                await self._timetable.fire()
                pause = await self._pause()
            except Failure as failure:
                log.warning("jobs cannot be fired now: %s", failure)
                pause = AFTER_TROUBLE
            except Exception:  # the task's boundary: one bad job must not stop all others for ever
                log.exception("the scheduler stumbled")
                pause = AFTER_TROUBLE
            await self._alarm.sleep(pause)

    async def _pause(self) -> float:
        return until(await self._timetable.next_due(), self._clock.now())
