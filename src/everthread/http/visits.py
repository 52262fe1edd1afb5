"""What came of each request: one line in the log, and sums for /metrics. Never what was said, nor in which session."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from everthread.core.cause import Cause
from everthread.core.ids import StepId, run_id
from everthread.core.key import ApiKey

log = logging.getLogger("everthread.requests")

QUIET = frozenset({"/health", "/health/ready", "/version", "/metrics"})  # asked again and again, by machines


class Visit(Protocol):
    """What is known of a request that is over."""

    status: int
    code: str | None  # of what went wrong
    route: str  # its template; "" when there is none
    key: ApiKey | None
    run: StepId | None  # the turn that it asked for


class Turn:
    """A turn that was asked for on an open WebSocket."""

    def __init__(self, route: str, key: ApiKey) -> None:
        self.status = 200
        self.code: str | None = None
        self.route = route
        self.key: ApiKey | None = key
        self.run: StepId | None = None


class Figure(NamedTuple):
    """A figure as Prometheus has it."""

    name: str
    value: float
    labels: str = ""


class Visits:
    def __init__(self) -> None:
        self._answers: dict[tuple[str, str, int], int] = {}  # by method, route and status
        self._seconds: dict[tuple[str, str], float] = {}  # by method and route
        self._all = Cause("all")  # what was spent

    def add(self, visit: Visit, method: str, cause: Cause, seconds: float) -> None:
        """A request that is over."""
        route = visit.route
        if not route:
            method = ""  # anybody can make one up
        answered = (method, route, visit.status)
        self._answers[answered] = self._answers.get(answered, 0) + 1
        asked = (method, route)
        self._seconds[asked] = self._seconds.get(asked, 0.0) + seconds
        if cause.upstream:
            self.spent(cause)
        level = logging.DEBUG if route in QUIET else logging.INFO
        if log.isEnabledFor(level):
            log.handle(line(level, visit, method, cause, seconds))

    def spent(self, cause: Cause) -> None:
        self._all.upstream += cause.upstream
        self._all.spend(cause.prompt, cause.completion)

    def figures(self) -> Iterator[Figure]:
        """All sums since the start; none by key, tenant or session."""
        for (method, route, status), count in self._answers.items():
            yield Figure("everthread_requests_total", count, f'method="{method}",route="{route}",status="{status}"')
        for (method, route), seconds in self._seconds.items():
            yield Figure("everthread_request_seconds_total", seconds, f'method="{method}",route="{route}"')
        yield Figure("everthread_upstream_seconds_total", self._all.upstream)
        yield Figure("everthread_prompt_tokens_total", self._all.prompt)
        yield Figure("everthread_completion_tokens_total", self._all.completion)


class Line(logging.LogRecord):
    """A record that is made once per request: without looking for what nobody asks of it."""

    ALWAYS = logging.LogRecord(log.name, logging.INFO, "", 0, "request", None, None).__dict__

    def __init__(self, level: int, fields: Mapping[str, object]) -> None:
        now = time.time()
        self.__dict__ = {
            **self.ALWAYS,
            "levelno": level,
            "levelname": logging.getLevelName(level),
            "created": now,
            "msecs": int(now % 1 * 1000),
            "fields": fields,
        }


def line(level: int, visit: Visit, method: str, cause: Cause, seconds: float) -> Line:
    fields: dict[str, object] = {
        "request_id": cause.name,
        "method": method,
        "route": visit.route,
        "status": visit.status,
        "ms": round(seconds * 1000, 1),
    }
    if visit.key is not None:
        fields["key"], fields["tenant"] = visit.key.id, visit.key.tenant
    if visit.code is not None:
        fields["code"] = visit.code
    if visit.run is not None:
        fields["run"] = run_id(visit.run)
    if cause.upstream:
        fields["prompt_tokens"], fields["completion_tokens"] = cause.prompt, cause.completion
        fields["upstream_ms"] = round(cause.upstream * 1000, 1)
    return Line(level, fields)
