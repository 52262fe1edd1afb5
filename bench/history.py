"""What a server says of its jobs: when each ran, and what was said in its session."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from datetime import datetime
from types import TracebackType
from typing import TypeVar

import msgspec

from bench.load import Target
from bench.scenario import Broken

T = TypeVar("T")

AT_ONCE = 100
TIMEOUT_SECONDS = 30.0


class Job(msgspec.Struct):
    id: str
    last_run_at: datetime | None
    last_status: str | None


class Jobs(msgspec.Struct):
    jobs: list[Job]
    has_more: bool


class Run(msgspec.Struct):
    status: str
    scheduled_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class Runs(msgspec.Struct):
    data: list[Run]


class Session(msgspec.Struct):
    id: str
    message_count: int


class Sessions(msgspec.Struct):
    data: list[Session]
    has_more: bool


class History:
    """One connection that asks for it."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=TIMEOUT_SECONDS)

    def __enter__(self) -> History:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.connection.close()

    def get(self, path: str, kind: type[T]) -> T:
        self.connection.request("GET", path, headers={"Authorization": f"Bearer {self.target.key}"})
        reply = self.connection.getresponse()
        body = reply.read()
        if reply.status != 200:
            raise Broken(f"GET {path}: {reply.status} {body[:500].decode(errors='replace')}")
        return msgspec.json.decode(body, type=kind)

    def jobs(self) -> Iterator[Job]:
        page = self.get(f"/api/jobs?limit={AT_ONCE}", Jobs)
        yield from page.jobs
        while page.has_more:
            page = self.get(f"/api/jobs?limit={AT_ONCE}&after={page.jobs[-1].id}", Jobs)
            yield from page.jobs

    def runs(self, job: str) -> list[Run]:
        return self.get(f"/api/jobs/{job}/runs", Runs).data

    def sessions(self) -> Iterator[Session]:
        """Those in which jobs speak."""
        offset, more = 0, True
        while more:
            page = self.get(f"/api/sessions?source=job&limit={AT_ONCE}&offset={offset}", Sessions)
            yield from page.data
            offset, more = offset + AT_ONCE, page.has_more
