"""What was used lately, at hand: sessions and their epochs.

This process alone writes the file's sessions, so what is remembered here is what the database says; a commit compares
once more, and a session that moved is looked up anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic

import msgspec

from everthread.core.claim import Block
from everthread.core.ids import LineageId, SessionId, Tenant, ThreadId
from everthread.core.ports import Epoch, Past
from everthread.core.session import Session

MOST_BYTES = 6 * 1024 * 1024  # dozens of full windows, hundreds of short ones; what is not here is read with one query
LONGEST_IDLE = 300.0  # seconds that an epoch is kept without being used: few come back after that
MOST_SESSIONS = 10_000


class Sessions:
    """The tip that each id resolved to."""

    def __init__(self, *, most: int = MOST_SESSIONS) -> None:
        self._lineages: dict[tuple[Tenant, SessionId], tuple[Tenant, LineageId]] = {}
        self._tips: dict[tuple[Tenant, LineageId], Session] = {}
        self._most = most

    def get(self, tenant: Tenant, session_id: SessionId) -> Session | None:
        lineage = self._lineages.get((tenant, session_id))
        return self._tips.get(lineage) if lineage is not None else None

    def put(self, tenant: Tenant, session_id: SessionId, session: Session) -> None:
        """Keeps it, unless it has no name yet: then it is seldom asked for again, and the next to ask names it."""
        if not session.named:
            self._lineages.pop((tenant, session_id), None)
            self.drop(tenant, session)
            return
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

    def answered(self, tenant: Tenant, session: Session) -> None:
        """Its lineage is the thread's head now: the root's id means it."""
        known = self._lineages.get((tenant, session.root))
        if known is None or known[1] != session.lineage or not session.named:
            self.put(tenant, session.root, session)
        else:
            self._tips[known] = session

    def drop(self, tenant: Tenant, session: Session) -> None:
        self._tips.pop((tenant, session.lineage), None)

    def forget(self, tenant: Tenant, thread: ThreadId) -> None:
        """Something changed that all paths of the thread have in common."""
        for name in [name for name, tip in self._tips.items() if name[0] == tenant and tip.thread == thread]:
            del self._tips[name]

    def clear(self) -> None:
        self._lineages.clear()
        self._tips.clear()


class Kept(msgspec.Struct, eq=False):
    """The newest steps of one epoch of a lineage, its log and its profile."""

    log: str | None
    steps: list[Past]  # oldest first
    from_seq: int
    last_seq: int
    room: int  # tokens it was read for: there is nothing older within them
    used: float  # when it was used last
    tokens: int
    bytes: int
    profile: Block | None = None


class Epochs:
    """The epochs of sessions that are spoken in; the one used longest ago goes first."""

    def __init__(self, *, most_bytes: int = MOST_BYTES, monotonic: Callable[[], float] = monotonic) -> None:
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        self._most_bytes = most_bytes
        self._monotonic = monotonic
        self.bytes = 0  # about

    def get(self, name: Hashable, session: Session, tokens: int) -> Epoch | None:
        """The epoch, if it is here and reaches far enough back."""
        kept = self._kept.get(name)
        if kept is None or kept.room < tokens:
            return None
        if (kept.from_seq, kept.last_seq) != (session.from_seq, session.last_seq):
            return None
        kept.used = self._monotonic()
        self._kept.move_to_end(name)
        return Epoch(kept.log, newest(kept.steps, tokens), kept.profile)

    def put(self, name: Hashable, session: Session, tokens: int, epoch: Epoch) -> None:
        self.drop(name)
        size = sum(step.size for step in epoch.past) + len(epoch.log or "")
        size += len(epoch.profile.text) if epoch.profile else 0
        weight = sum(step.tokens for step in epoch.past)
        self._kept[name] = Kept(
            epoch.log,
            list(epoch.past),
            session.from_seq,
            session.last_seq,
            tokens,
            self._monotonic(),
            weight,
            size,
            epoch.profile,
        )
        self.bytes += size
        self._shrink()

    def rotated(self, name: Hashable, child: Session, log: str, profile: Block | None = None) -> None:
        """The older steps went to the log."""
        kept = self._kept.get(name)
        if kept is None or kept.last_seq != child.last_seq or (kept.steps and kept.steps[0].seq > child.from_seq):
            self.drop(name)
            return
        steps = tuple(step for step in kept.steps if step.seq >= child.from_seq)
        self.put(name, child, kept.room, Epoch(log, steps, profile))

    def append(self, name: Hashable, seq: int, step: Past) -> None:
        """One step more, if the epoch is here and ends just before it."""
        kept = self._kept.get(name)
        if kept is None or kept.last_seq != seq - 1:
            return
        kept.steps.append(step)
        kept.last_seq = seq
        kept.tokens += step.tokens
        self._grow(kept, step.size)
        while kept.tokens > kept.room and len(kept.steps) > 1:
            oldest = kept.steps.pop(0)
            kept.tokens -= oldest.tokens
            self._grow(kept, -oldest.size)
        self._shrink()

    def drop(self, name: Hashable) -> None:
        kept = self._kept.pop(name, None)
        if kept is not None:
            self.bytes -= kept.bytes

    def clear(self) -> None:
        self._kept.clear()
        self.bytes = 0

    def _grow(self, kept: Kept, size: int) -> None:
        kept.bytes += size
        self.bytes += size

    def _shrink(self) -> None:
        long_ago = self._monotonic() - LONGEST_IDLE
        while self._kept and (self.bytes > self._most_bytes or next(iter(self._kept.values())).used < long_ago):
            _, kept = self._kept.popitem(last=False)
            self.bytes -= kept.bytes


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
