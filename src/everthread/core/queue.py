"""What is to be done by someone, sometime: runs, and parcels, which tell what has happened.

Whoever takes something out holds it for a while and must say again and again that it is still there; what a dead one
held is taken by another. Each taking has a number (its fence), and what an earlier taker writes later is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from everthread.core.courier import Parcel
from everthread.core.ids import KeyId, StepId, Tenant
from everthread.core.job import Firing, Job, JobId, Standing
from everthread.core.transcript import Order
from everthread.core.turn import Keep, ModelEvent, Replay
from everthread.core.view import Fault, Run, RunStatus

NOBODY: Mapping[KeyId, int] = {}


class Taken(msgspec.Struct, frozen=True):
    """A run that is ours to do, until someone takes it from us."""

    tenant: Tenant
    run: Run
    fence: int


class Queue(Protocol):
    """Runs, in the order in which they are due. Every call names its tenant but those of a worker, who serves all."""

    async def enqueue(self, tenant: Tenant, run: Run, *, keep: Keep | None, replay: Replay | None) -> StepId:
        """A run that is to be done, with its view, and with its replay key. The run that this key led to before, if it
        did; raises IdempotencyMismatch."""
        ...

    async def run(self, tenant: Tenant, run: StepId) -> Run | None: ...

    # a worker's side
    async def take(
        self,
        worker: str,
        *,
        now: datetime,
        until: datetime,
        limit: int,
        at_work: Mapping[KeyId, int] = NOBODY,
        each: int | None = None,
    ) -> tuple[Taken, ...]:
        """Runs that are due and that nobody holds, or whose holder has not been heard of, at most `limit`: ours `until`
        then. Those that are not taken yet are found by asking again. Of one session there is one at a time: none while
        another one of it is held. Of one API key there are at most `each`, with those that are `at_work`: what others
        ask for passes by the rest."""
        ...

    async def hold(
        self, worker: str, held: Sequence[tuple[Tenant, StepId, int]], *, until: datetime
    ) -> tuple[tuple[Tenant, StepId], ...]:
        """Says that these are still being done; those that are not ours any more."""
        ...

    async def next_due(self) -> datetime | None:
        """When a run can be taken next: it is due and nobody holds it, or its holder's time is over."""
        ...

    async def journal(
        self, tenant: Tenant, run: StepId, events: Sequence[ModelEvent], *, fence: int, now: datetime
    ) -> bool:
        """Records some more of what a run says, while it says it; False when it is not ours any more, or over."""
        ...

    async def journalled(self, tenant: Tenant, run: StepId) -> tuple[ModelEvent, ...]:
        """What is recorded of a run that is not completed, from its beginning."""
        ...

    async def settle(
        self,
        tenant: Tenant,
        run: StepId,
        status: RunStatus,
        *,
        fence: int | None = None,
        fault: Fault | None = None,
        now: datetime,
    ) -> bool:
        """Says what has become of it, unless it is over already or, with a fence, not ours any more: then False. A run
        is completed by its step's commit and by nothing else."""
        ...

    async def put_off(
        self, tenant: Tenant, run: StepId, *, fence: int, until: datetime, fault: Fault, now: datetime
    ) -> bool:
        """Gives it back to be tried once more, not before then, and forgets what it said; False when it is not ours."""
        ...

    async def abandoned(self) -> None:
        """Nobody who held something before this process began is alive: all of it can be taken at once. For engines
        on which only one process can be."""
        ...


class Jobs(Protocol):
    """Jobs, and what their schedules led to."""

    async def add(self, tenant: Tenant, standing: Standing) -> None: ...

    async def job(self, tenant: Tenant, job: JobId) -> Standing | None: ...

    async def many(
        self, tenant: Tenant, *, after: JobId | None, limit: int, key_prefix: str | None = None
    ) -> tuple[tuple[Standing, ...], bool]:
        """The oldest first, and whether there are more; Malformed when `after` is none of them."""
        ...

    async def change(self, tenant: Tenant, job: Job, *, next_at: datetime | None, now: datetime) -> bool:
        """Puts a job in the place of the one by its name; False when there is none."""
        ...

    async def remove(self, tenant: Tenant, job: JobId) -> bool:
        """The job and its history; what it said stays in its session, what has begun goes on, what has not does not."""
        ...

    async def runs(
        self, tenant: Tenant, job: JobId, *, after: StepId | None, limit: int, order: Order = "desc"
    ) -> tuple[tuple[Run, ...], bool]:
        """A job's history, by its scheduled times, and whether there is more; Malformed when `after` is none of it."""
        ...

    async def unfinished(self, tenant: Tenant, job: JobId, *, most: int) -> int:
        """How many of a job's runs are not over; counted up to `most`."""
        ...

    async def latest(self, tenant: Tenant, jobs: Sequence[JobId]) -> Mapping[JobId, Run]:
        """Each job's newest run."""
        ...

    # the scheduler's side
    async def later(self, *, than: datetime, limit: int) -> tuple[tuple[Tenant, Standing], ...]:
        """Jobs of all tenants that fire after a moment, the latest first."""
        ...

    async def due(self, *, now: datetime, limit: int) -> tuple[tuple[Tenant, Standing], ...]:
        """The jobs of all tenants whose time has come, the most overdue first."""
        ...

    async def next_due(self) -> datetime | None: ...

    async def fire(
        self, tenant: Tenant, standing: Standing, firing: Firing, runs: Sequence[Run], *, now: datetime
    ) -> bool:
        """A job's runs, and when it fires next, in one transaction, if it still stands as it was found: else False. A
        run that exists already is not made again. Where the job does not queue up, and a run of an earlier fire is not
        over, those that were to be queued are recorded as skipped."""
        ...


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A parcel that is to be delivered, and how often that was tried."""

    tenant: Tenant
    parcel: Parcel
    run: StepId | None
    attempts: int
    fence: int
    key: KeyId | None = None  # whose webhook it goes to, if it tells of no run


class Outgoing(Protocol):
    """Parcels on their way. They are made where what they tell of is written, in the same transaction."""

    async def take(self, worker: str, *, now: datetime, until: datetime, limit: int) -> tuple[Waiting, ...]: ...

    async def delivered(self, waiting: Waiting, *, status: int, now: datetime) -> None: ...

    async def failed(self, waiting: Waiting, *, why: str, again: datetime | None, now: datetime) -> None:
        """Tried in vain; to be tried `again` then, or given up. As with `delivered`, nothing is said of one that is not
        ours any more."""
        ...

    async def again(self, tenant: Tenant, run: StepId, *, now: datetime) -> bool:
        """Delivers what a run came to once more, under the same name; False when there is nothing to deliver."""
        ...

    async def next_due(self) -> datetime | None:
        """When a parcel can be taken next."""
        ...

    async def abandoned(self) -> None: ...
