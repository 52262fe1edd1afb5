"""A clock that goes with the real one, until it jumps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from front_door import Everthread


class Jumping:
    def __init__(self) -> None:
        self._ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def jump(self, by: timedelta, server: Everthread) -> None:
        """It is another time now, and everybody who sleeps looks at the clock."""
        self._ahead += by
        assert server.running is not None
        site = server.running.site
        for look in (site.timetable.changed, site.runs.wake, site.post.wake):
            server.loop.call_soon_threadsafe(look)
