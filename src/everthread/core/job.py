"""A job: a prompt that fires on a schedule, inside a session's accumulated memory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal, NewType

import msgspec

from everthread.core.ids import KeyId, SessionId, SessionKey, StepId, Tenant
from everthread.core.schedule import Schedule, fires, last
from everthread.core.view import Hook

JobId = NewType("JobId", str)

OnMissed = Literal["run_once", "skip", "run_all"]
OnOverlap = Literal["skip", "queue"]
Became = Literal["queued", "missed", "skipped"]

IN_TIME = timedelta(seconds=60)  # a fire that is not later than that was not missed
MOST_AT_ONCE = 1000  # fires that are made up for


class Job(msgspec.Struct, frozen=True, kw_only=True):
    id: JobId
    name: str
    schedule: Schedule
    prompt: str
    session_id: SessionId  # its own, unless it was told another
    created_at: datetime
    session_key: SessionKey | None = None
    model: str | None = None
    instructions: str | None = None
    max_output_tokens: int | None = None
    on_missed: OnMissed = "run_once"
    catch_up_hours: float = 24
    on_overlap: OnOverlap = "skip"
    retries: int = 0
    timeout_seconds: float = 600
    hook: Hook | None = None
    enabled: bool = True
    repeat: int | None = None  # how often it fires in all; None: for ever
    expires_at: datetime | None = None
    metadata: Mapping[str, str] = {}
    key_prefix: str | None = None  # the API key that made it may only touch session keys that begin so
    key: KeyId | None = None  # the API key that made it: what it takes is counted there


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """A job, and how it stands."""

    job: Job
    next_at: datetime | None  # when it fires next; None: it does not
    fired: int = 0  # how often it did, by its schedule
    updated_at: datetime


class Fire(msgspec.Struct, frozen=True):
    """A moment at which a job was to fire, and what becomes of it."""

    at: datetime
    became: Became = "queued"


class Firing(msgspec.Struct, frozen=True):
    """What a job does now, and when it does something again."""

    fires: tuple[Fire, ...]
    next_at: datetime | None


def run_name(tenant: Tenant, job: JobId, at: datetime) -> StepId:
    """The run of a job at a scheduled time has one name, whoever makes it: it can happen once only."""
    digest = hashlib.blake2b(f"{tenant}\0{job}\0{at.timestamp():.6f}".encode(), digest_size=8).hexdigest()
    return StepId(f"{int(at.timestamp() * 1000):011x}{digest}")


def first(job: Job, now: datetime) -> datetime | None:
    """When it fires for the first time from now on."""
    return after(job, now, fired=0) if job.enabled else None


def after(job: Job, moment: datetime, *, fired: int) -> datetime | None:
    """When it fires next after a moment; None when it is over."""
    if job.repeat is not None and fired >= job.repeat:
        return None
    coming = job.schedule.next(moment)
    if coming is None or (job.expires_at is not None and coming > job.expires_at):
        return None
    return coming


def due(standing: Standing, now: datetime) -> Firing:
    """What a job whose time has come does: it fires once, or makes up for what was missed as it is told to."""
    job, next_at = standing.job, standing.next_at
    if next_at is None or next_at > now:
        return Firing((), next_at)
    until = now if job.expires_at is None else min(now, job.expires_at)
    times = made_up(job, next_at, until, now) if job.on_missed == "run_all" else newest(job, next_at, until)
    if job.repeat is not None:
        times = times[: job.repeat - standing.fired]
    made = tuple(Fire(at, became(job, at, now)) for at in times)
    fired = standing.fired + sum(fire.became == "queued" for fire in made)
    return Firing(made, after(job, now, fired=fired))


def newest(job: Job, next_at: datetime, until: datetime) -> tuple[datetime, ...]:
    """The last of the times that have come: of those before it nothing is said any more."""
    return (last(job.schedule, next_at, until) or next_at,)


def made_up(job: Job, next_at: datetime, until: datetime, now: datetime) -> tuple[datetime, ...]:
    """All times that have come and are not too long ago."""
    since = now - timedelta(hours=job.catch_up_hours)
    first_one = (next_at,) if next_at >= since else ()
    return (*first_one, *fires(job.schedule, max(next_at, since), until, MOST_AT_ONCE)) or newest(job, next_at, until)


def became(job: Job, at: datetime, now: datetime) -> Became:
    """Whether a fire still happens, this late."""
    if now - at <= IN_TIME:
        return "queued"
    match job.on_missed:
        case "run_once":
            return "queued"
        case "skip":
            return "missed"
        case "run_all":
            return "queued" if now - at <= timedelta(hours=job.catch_up_hours) else "missed"
