"""A database of many jobs, written through the store's own parts: what a server finds when it starts."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from everthread.core import schedule
from everthread.core.ids import DEFAULT_TENANT, SessionId
from everthread.core.job import Job, JobId, Standing, first
from everthread.core.schedule import Schedule
from everthread.storage.jobs import SqliteJobs
from everthread.storage.sqlite import SqliteStore
from everthread.turns.jobs import own_session

AT_ONCE = 500  # jobs that are handed to the store together
FAR = timedelta(minutes=15)  # a job that is not to fire while it is looked at is at least that far from it
SECOND = timedelta(seconds=1)
MODEL = "bench-4"
CRONS = (
    "{minute} {hour} * * *",
    "{minute} {hour} * * MON-FRI",
    "{minute} {hour} * * {weekday}",
    "{minute} {hour} {day} * *",
    "{minute} {hour} L * *",
    "{minute} {hour} * * MON#2",
    "{minute} {hour},18 1-15 * *",
    "{minute} {hour}/6 * * *",
    "{minute} {hour} {day} JAN,APR,JUL,OCT *",
    "@monthly",
)
INTERVALS = ("every 1h", "every 90m", "every 6h", "every 1d", "every 2d12h", "every 1w", "every 30d")
ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Asia/Tokyo",
    "America/Sao_Paulo", "Africa/Cairo", "Pacific/Auckland", "Asia/Kathmandu", "America/St_Johns",
)  # fmt: skip


def write(home: Path, standings: Iterable[Standing]) -> None:
    """Makes the database of a home and puts these jobs into it."""
    asyncio.run(written(home / "everthread.db", standings))


async def written(path: Path, standings: Iterable[Standing]) -> None:
    store = SqliteStore(path)
    await store.open()
    try:
        jobs = SqliteJobs(store)
        left = iter(standings)
        while some := list(itertools.islice(left, AT_ONCE)):
            await asyncio.gather(*(jobs.add(DEFAULT_TENANT, standing) for standing in some))
    finally:
        await store.close()


def various(count: int, now: datetime) -> Iterator[Standing]:
    """Half of them by cron, of many kinds and in many zones, half at intervals; none is due for a while."""
    crons, intervals = coming(cron_jobs(now), now), coming(interval_jobs(now), now)
    yield from itertools.islice(crons, count // 2)
    yield from itertools.islice(intervals, count - count // 2)


def coming(jobs: Iterable[Job], now: datetime) -> Iterator[Standing]:
    for job in jobs:
        next_at = first(job, now)
        if next_at is not None and next_at > now + FAR:
            yield Standing(job=job, next_at=next_at, updated_at=now)


def cron_jobs(now: datetime) -> Iterator[Job]:
    for number in itertools.count():
        cron = CRONS[number % len(CRONS)].format(
            minute=number * 7 % 60, hour=number // 60 % 18, day=number // 7 % 28 + 1, weekday=number // 11 % 7
        )
        yield job_of(f"cron-{number}", schedule.restore(cron, ZONES[number // 3 % len(ZONES)], now), now)


def interval_jobs(now: datetime) -> Iterator[Job]:
    for number in itertools.count():
        anchor = now - timedelta(seconds=number * 37 % 3_000)
        yield job_of(f"interval-{number}", schedule.restore(INTERVALS[number % len(INTERVALS)], "UTC", anchor), now)


def punctual(moments: Iterable[datetime], step: timedelta, *, now: datetime) -> Iterator[Standing]:
    """Jobs of one interval, each with a next time of its own."""
    for number, at in enumerate(moments):
        every = schedule.restore(f"every {step // SECOND}s", "UTC", at - step)
        yield Standing(job=job_of(f"punctual-{number:05}", every, now), next_at=at, updated_at=now)


def job_of(name: str, when: Schedule, now: datetime) -> Job:
    id_ = JobId(f"job_{name}")
    return Job(
        id=id_,
        name=name,
        schedule=when,
        prompt=f"Job {name}: what is new about the harbour lights?",
        session_id=SessionId(own_session(id_)),
        created_at=now,
        model=MODEL,
    )


def whole_second(seconds_from_now: float) -> datetime:
    """Schedules know whole seconds only."""
    return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds_from_now)
