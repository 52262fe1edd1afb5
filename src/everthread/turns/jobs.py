"""Jobs: made, changed, and fired when their time has come."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfoNotFoundError

import msgspec

from everthread.core import job as jobs
from everthread.core.ids import NO_KEY, StepId, Tenant
from everthread.core.job import Became, Job, JobId, Standing
from everthread.core.messages import say
from everthread.core.ports import Clock, Ids
from everthread.core.queue import Jobs, Queue
from everthread.core.turn import Envelope, Options, Turn
from everthread.core.view import Fault, Run
from everthread.errors import Failure, Malformed, NotFound, Overloaded

log = logging.getLogger("everthread.jobs")

AT_ONCE = 100  # jobs that are looked at in one go
MOST_AHEAD = 10_000
MOST_WAITING = 64  # runs of one job that are not over, if another one is asked for

MISSED = Fault("missed", "The server was not running at that time, and the job does not make up for it.")


class Timetable:
    """What is done with jobs, by their owners and by the clock."""

    def __init__(self, *, jobs: Jobs, queue: Queue, clock: Clock, ids: Ids, wake: Callable[[], None]) -> None:
        self.changed: Callable[[], None] = lambda: None  # is told when a job may fire at another time than before
        self._jobs = jobs
        self._queue = queue
        self._clock = clock
        self._ids = ids
        self._wake = wake  # tells that there is something to run

    # --- by their owners ----------------------------------------------------------------------------------------

    async def add(self, tenant: Tenant, job: Job) -> Standing:
        now = self._clock.now()
        standing = Standing(job=job, next_at=jobs.first(job, now), updated_at=now)
        await self._jobs.add(tenant, standing)
        self.changed()
        return standing

    async def change(self, tenant: Tenant, before: Standing, job: Job) -> Standing:
        """Puts a job in the place of another; when it fires next is found anew if that may have changed."""
        now = self._clock.now()
        same = (job.schedule, job.enabled, job.repeat, job.expires_at) == (
            before.job.schedule,
            before.job.enabled,
            before.job.repeat,
            before.job.expires_at,
        )
        next_at = before.next_at if same else jobs.after(job, now, fired=before.fired) if job.enabled else None
        if not await self._jobs.change(tenant, job, next_at=next_at, now=now):
            raise NotFound("There is no such job.")
        self.changed()
        return Standing(job=job, next_at=next_at, fired=before.fired, updated_at=now)

    async def run_now(self, tenant: Tenant, job: Job) -> Run:
        """One run that no schedule asked for; Overloaded when many of the job's are not over."""
        if await self._jobs.unfinished(tenant, job.id, most=MOST_WAITING) == MOST_WAITING:
            raise Overloaded(f"{MOST_WAITING} runs of this job are not over yet; try again later.", retry_after=5)
        now = self._clock.now()
        run = asked(tenant, job, now, StepId(self._ids.new()), now)
        await self._queue.enqueue(tenant, run, keep=None, replay=None)
        self._wake()
        return run

    # --- by the clock -------------------------------------------------------------------------------------------

    async def fire(self) -> int:
        """Fires all jobs whose time has come; how many there were.

        Not in a task group: before Python 3.11.4, one that failed leaves its task marked as cancelled, and the next
        timeout ends it."""
        fired = 0
        while found := await self._jobs.due(now=self._clock.now(), limit=AT_ONCE):
            fires = (self._fire(tenant, standing) for tenant, standing in found)  # in one commit, or in a few
            failures = [failed for failed in await asyncio.gather(*fires, return_exceptions=True) if failed is not None]
            self._wake()
            if failures:
                raise failures[0]
            fired += len(found)
        return fired

    async def _fire(self, tenant: Tenant, standing: Standing) -> None:
        now, job = self._clock.now(), standing.job
        try:
            firing = jobs.due(standing, now)
        except (Malformed, ZoneInfoNotFoundError) as broken:  # a zone that is no more: others must not wait for it
            log.error("job %s cannot be fired any more, and is paused: %s", job.id, broken)
            await self._jobs.change(tenant, msgspec.structs.replace(job, enabled=False), next_at=None, now=now)
            return
        runs = [scheduled(tenant, job, fire.at, fire.became, now) for fire in firing.fires]
        try:
            if not await self._jobs.fire(tenant, standing, firing, runs, now=now):
                log.info("job %s was changed, or fired by someone else, meanwhile", job.id)
        except Failure as failure:
            log.warning("job %s could not be fired (%s); it is tried again", job.id, failure.code)
            raise

    async def look_again(self, beyond: timedelta = timedelta()) -> None:
        """Finds out anew when jobs fire that have gone ahead of a clock that was set back: of those that seem to have
        nothing to do until then. A time for which one has run already is not run again."""
        now = self._clock.now()
        for tenant, standing in await self._jobs.later(than=now + beyond, limit=MOST_AHEAD):
            next_at = jobs.after(standing.job, now, fired=standing.fired)
            if next_at is not None and standing.next_at is not None and next_at < standing.next_at:
                await self._jobs.change(tenant, standing.job, next_at=next_at, now=now)
            await asyncio.sleep(0)

    async def next_due(self) -> datetime | None:
        return await self._jobs.next_due()


def scheduled(tenant: Tenant, job: Job, at: datetime, became: Became, now: datetime) -> Run:
    """What a job's schedule leads to at one of its times."""
    run = asked(tenant, job, at, jobs.run_name(tenant, job.id, at), now)
    if became == "queued":
        return run
    return msgspec.structs.replace(run, status=became, turn=b"", fault=MISSED, ended_at=now)


def asked(tenant: Tenant, job: Job, at: datetime, name: StepId, now: datetime) -> Run:
    """A job's turn, to be run."""
    options: Options = ()
    if job.max_output_tokens is not None:
        options = (("max_completion_tokens", b"%d" % job.max_output_tokens),)
    turn = Turn(
        envelope=Envelope(
            tenant=tenant,
            session_id=job.session_id,
            session_key=job.session_key,
            key_prefix=job.key_prefix,
            key=job.key,
        ),
        messages=(say("user", job.prompt),),
        instructions=(say("system", job.instructions),) if job.instructions else (),
        model=job.model,
        options=options,
        source="job",
        appends=True,
        name=name,
        job=job.id,
    )
    return Run(
        id=name,
        kind="job",
        session=job.session_id,
        session_key=job.session_key,
        status="queued",
        created_at=now,
        updated_at=now,
        turn=msgspec.json.encode(turn),
        model=job.model,
        metadata=job.metadata,
        retries=job.retries,
        timeout=job.timeout_seconds,
        hook=job.hook,
        job=job.id,
        scheduled_at=at,
        key=job.key or NO_KEY,
    )


def own_session(job: JobId) -> str:
    """The session of a job that was told no other: kept from run to run."""
    return f"job:{job}"
