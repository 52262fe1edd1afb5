"""What a key may use: requests a minute, requests at once, tokens a day. Only keys that have limits are looked at."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta

from everthread.core.ids import KeyId
from everthread.core.key import ApiKey, Limits
from everthread.core.ports import Clock
from everthread.core.usage import Accounts
from everthread.errors import LimitReached

Pairs = list[tuple[bytes, bytes]]

MOST_KEYS = 10_000  # with limits, that are remembered; one that was idle for longest is forgotten first
MINUTE = 60.0


class Allowance:
    """What a key has left for now: requests that come back with time, and how many it has running."""

    def __init__(self, now: float, full: int) -> None:
        self.left = float(full)
        self.at = now
        self.running = 0

    def refill(self, now: float, full: int) -> None:
        self.left = min(float(full), self.left + max(0.0, now - self.at) * full / MINUTE)
        self.at = now


class Admitted:
    """A request of a key with limits, past the door."""

    def __init__(self) -> None:
        self.spent: LimitReached | None = None  # why no model may be asked

    def afford(self) -> None:
        if self.spent is not None:
            raise self.spent


class Quotas:
    def __init__(self, accounts: Accounts, clock: Clock, monotonic: Callable[[], float]) -> None:
        self._accounts = accounts
        self._clock = clock
        self._monotonic = monotonic
        self._known: OrderedDict[KeyId, Allowance] = OrderedDict()

    async def enter(self, key: ApiKey, limits: Limits, told: Pairs) -> Admitted:
        """One request more, until it leaves; LimitReached when there are too many. What is left is told in headers."""
        admitted = await self.again(key, limits, told, beside=1)
        self._known[key.id].running += 1
        return admitted

    def leave(self, key: ApiKey) -> None:
        self._known[key.id].running -= 1

    async def again(self, key: ApiKey, limits: Limits, told: Pairs, *, beside: int = 0) -> Admitted:
        """One request more on a connection that is open already, or `beside` it."""
        admitted = Admitted()
        if limits.tokens_per_day is not None:
            admitted.spent = await self._tokens(key, limits.tokens_per_day, told)
        allowance = self._allowance(key, limits)
        crowded = limits.concurrent is not None and beside and allowance.running >= limits.concurrent
        if (most := limits.requests_per_minute) is not None:
            allowance.refill(self._monotonic(), most)
            enough = allowance.left >= 1
            if enough and not crowded:
                allowance.left -= 1
            full_in = (most - allowance.left) * MINUTE / most
            told += headers(b"requests", most, int(allowance.left), full_in)
            if not enough:
                wait = (1 - allowance.left) * MINUTE / most
                raise LimitReached(f"This API key may send {most} requests a minute.", retry_after=wait)
        if crowded:
            raise LimitReached(f"This API key may have {limits.concurrent} requests at once, and has them.")
        return admitted

    async def _tokens(self, key: ApiKey, most: int, told: Pairs) -> LimitReached | None:
        now = self._clock.now()
        used = await self._accounts.tokens(key.tenant, key.id, now.astimezone(UTC).date())
        rest = (tomorrow(now) - now).total_seconds()
        told += headers(b"tokens", most, max(0, most - used), rest)
        if used < most:
            return None
        return LimitReached(
            f"This API key may use {most} tokens a day (UTC), and has used {used}.",
            retry_after=rest,
            final=True,
        )

    def _allowance(self, key: ApiKey, limits: Limits) -> Allowance:
        allowance = self._known.get(key.id)
        if allowance is None:
            self._forget()
            allowance = self._known[key.id] = Allowance(self._monotonic(), limits.requests_per_minute or 0)
        self._known.move_to_end(key.id)
        return allowance

    def _forget(self) -> None:
        """Lets go of keys that have nothing running, once there are too many."""
        if len(self._known) >= MOST_KEYS:
            idle = next((name for name, one in self._known.items() if not one.running), None)
            if idle is not None:
                del self._known[idle]


def headers(what: bytes, most: int, left: int, reset: float) -> Pairs:
    """As OpenAI names them."""
    return [
        (b"x-ratelimit-limit-%b" % what, b"%d" % most),
        (b"x-ratelimit-remaining-%b" % what, b"%d" % left),
        (b"x-ratelimit-reset-%b" % what, span(reset).encode()),
    ]


def span(seconds: float) -> str:
    """A length of time as OpenAI writes it: 120ms, 6s, 1h2m3s."""
    if seconds < 1:
        return f"{math.ceil(max(0.0, seconds) * 1000)}ms"
    whole = math.ceil(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + f"{rest}s"


def tomorrow(now: datetime) -> datetime:
    """When the next day begins, UTC."""
    return datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), UTC)
