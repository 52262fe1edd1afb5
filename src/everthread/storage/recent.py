"""What was used lately, at hand: sessions and their windows.

This process alone writes the file's sessions, so what is remembered here is what the database says; a commit compares
once more, and a session that moved is looked up anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

import msgspec

from everthread.core.ids import SessionId, Tenant
from everthread.core.ports import Past
from everthread.core.session import Session

MOST_BYTES = 32 * 1024 * 1024
MOST_SESSIONS = 10_000


class Sessions:
    """The tip that each id resolved to."""

    def __init__(self, *, most: int = MOST_SESSIONS) -> None:
        self._lineages: OrderedDict[Hashable, Hashable] = OrderedDict()  # (tenant, session id) -> (tenant, lineage)
        self._tips: dict[Hashable, Session] = {}
        self._most = most

    def get(self, tenant: Tenant, session_id: SessionId) -> Session | None:
        lineage = self._lineages.get((tenant, session_id))
        return self._tips.get(lineage) if lineage is not None else None

    def put(self, tenant: Tenant, session_id: SessionId, session: Session) -> None:
        if len(self._lineages) >= self._most:
            self.clear()
        lineage = (tenant, session.lineage)
        self._lineages[(tenant, session_id)] = lineage
        self._tips[lineage] = session

    def moved(self, tenant: Tenant, session: Session) -> None:
        """The same lineage, one step further."""
        lineage = (tenant, session.lineage)
        if lineage in self._tips:
            self._tips[lineage] = session

    def drop(self, tenant: Tenant, session: Session) -> None:
        self._tips.pop((tenant, session.lineage), None)

    def clear(self) -> None:
        self._lineages.clear()
        self._tips.clear()


class Window(msgspec.Struct, eq=False):
    """The newest steps of one epoch of a lineage."""

    steps: list[Past]  # oldest first
    from_seq: int
    last_seq: int
    room: int  # tokens it was read for: there is nothing older within them
    tokens: int
    bytes: int


class Windows:
    """A bounded number of windows; the one used longest ago goes first."""

    def __init__(self, *, most_bytes: int = MOST_BYTES) -> None:
        self._windows: OrderedDict[Hashable, Window] = OrderedDict()
        self._most_bytes = most_bytes
        self._bytes = 0

    def get(self, name: Hashable, session: Session, tokens: int) -> tuple[Past, ...] | None:
        """The window, if it is here and reaches far enough back."""
        window = self._windows.get(name)
        if window is None or window.room < tokens:
            return None
        if (window.from_seq, window.last_seq) != (session.from_seq, session.last_seq):
            return None
        self._windows.move_to_end(name)
        return newest(window.steps, tokens)

    def put(self, name: Hashable, session: Session, tokens: int, steps: tuple[Past, ...]) -> None:
        self.drop(name)
        size = sum(step.size for step in steps)
        weight = sum(step.tokens for step in steps)
        self._windows[name] = Window(list(steps), session.from_seq, session.last_seq, tokens, weight, size)
        self._bytes += size
        self._shrink()

    def append(self, name: Hashable, seq: int, step: Past) -> None:
        """One step more, if the window is here and ends just before it."""
        window = self._windows.get(name)
        if window is None or window.last_seq != seq - 1:
            return
        window.steps.append(step)
        window.last_seq = seq
        window.tokens += step.tokens
        self._grow(window, step.size)
        while window.tokens > window.room and len(window.steps) > 1:
            oldest = window.steps.pop(0)
            window.tokens -= oldest.tokens
            self._grow(window, -oldest.size)
        self._shrink()

    def drop(self, name: Hashable) -> None:
        window = self._windows.pop(name, None)
        if window is not None:
            self._bytes -= window.bytes

    def clear(self) -> None:
        self._windows.clear()
        self._bytes = 0

    def _grow(self, window: Window, size: int) -> None:
        window.bytes += size
        self._bytes += size

    def _shrink(self) -> None:
        while self._bytes > self._most_bytes and self._windows:
            _, window = self._windows.popitem(last=False)
            self._bytes -= window.bytes


def newest(steps: list[Past], tokens: int) -> tuple[Past, ...]:
    """The newest steps whose weights add up to at most `tokens`; always at least the very newest."""
    room = tokens
    first = len(steps)
    while first > 0:
        room -= steps[first - 1].tokens
        if room < 0 and first < len(steps):
            break
        first -= 1
    return tuple(steps[first:])
