"""What every keeper of parcels promises: what is over is told, in the same breath, until it has arrived."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from tests.contract.test_jobs_port import J, made, standing
from tests.contract.test_store import NOW, A, B, fresh
from tests.contract.test_views_port import FAULT, finish, run

from everthread.core.ids import StepId, Tenant
from everthread.core.job import Fire, Firing
from everthread.core.queue import Waiting
from everthread.core.turn import Choice, Outcome, Usage
from everthread.core.view import Hook, RunKind, RunStatus
from everthread.errors import SessionMoved
from everthread.storage.jobs import SqliteJobs
from everthread.storage.parcels import SqliteOutgoing
from everthread.storage.queue import SqliteQueue
from everthread.storage.sqlite import SqliteStore

HOOK = Hook("https://example.com/hook", "whsec_c2VjcmV0")
LEASE = timedelta(seconds=60)
R = StepId("r")


@pytest.fixture
def outgoing(store: SqliteStore) -> SqliteOutgoing:
    return SqliteOutgoing(store)


async def took(outgoing: SqliteOutgoing, worker: str = "w", *, at: timedelta = timedelta()) -> list[Waiting]:
    return list(await outgoing.take(worker, now=NOW + at, until=NOW + at + LEASE, limit=9))


async def over(
    queue: SqliteQueue, name: str = "r", status: RunStatus = "failed", *, tenant: Tenant = A, **more: object
) -> None:
    """A run that has come to nothing, and of which somebody wants to hear."""
    await queue.enqueue(tenant, run(name, **{"hook": HOOK, **more}), keep=None, replay=None)
    assert await queue.settle(tenant, StepId(name), status, fault=FAULT, now=NOW)


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


# --- how they come to be ---


async def test_a_parcel_is_made_with_the_step_that_completes_a_run(
    store: SqliteStore, queue: SqliteQueue, outgoing: SqliteOutgoing
) -> None:
    await queue.enqueue(A, run("r", hook=HOOK), keep=None, replay=None)
    assert await outgoing.next_due() is None
    (taken,) = await queue.take("w", now=NOW, until=NOW, limit=1)
    with pytest.raises(SessionMoved):
        await finish(store, fresh("s"), "r", fence=0)
    assert await outgoing.next_due() is None, "nothing has come of that"
    await finish(store, fresh("s"), "r", fence=taken.fence)
    assert await outgoing.next_due() == NOW + seconds(1)
    (waiting,) = await took(outgoing, at=seconds(1))
    assert (waiting.tenant, waiting.run, waiting.attempts, waiting.fence) == (A, R, 0, 1)
    parcel = waiting.parcel
    assert (parcel.id, parcel.kind, parcel.url, parcel.secret) == ("msg_r", "run.completed", HOOK.url, HOOK.secret)
    assert parcel.body == b"", "it tells of a run"


@pytest.mark.parametrize(
    ("kind", "status", "called"),
    [
        ("run", "failed", "run.failed"),
        ("run", "interrupted", "run.failed"),
        ("run", "cancelled", "run.cancelled"),
        ("response", "failed", "response.failed"),
        ("response", "cancelled", "response.cancelled"),
        ("job", "failed", "job.run.failed"),
        ("job", "cancelled", "job.run.failed"),
        ("job", "interrupted", "job.run.failed"),
        ("job", "missed", None),
        ("job", "skipped", None),
    ],
)
async def test_a_parcel_is_made_with_the_end_of_a_run_that_came_to_nothing(
    queue: SqliteQueue, outgoing: SqliteOutgoing, kind: RunKind, status: RunStatus, called: str | None
) -> None:
    await over(queue, "r", status, kind=kind)
    assert not await queue.settle(A, R, status, now=NOW), "once"
    assert [one.parcel.kind for one in await took(outgoing)] == ([called] if called else [])
    assert await outgoing.again(A, R, now=NOW) == (called is not None)


@pytest.mark.parametrize(
    ("kind", "finished", "called"),
    [
        ("run", "length", "run.completed"),
        ("job", "stop", "job.run.completed"),
        ("response", "stop", "response.completed"),
        ("response", "length", "response.incomplete"),
        ("response", "content_filter", "response.incomplete"),
    ],
)
async def test_a_parcel_is_called_by_what_has_ended_and_how(
    store: SqliteStore, outgoing: SqliteOutgoing, kind: RunKind, finished: str, called: str
) -> None:
    await SqliteQueue(store).enqueue(A, run("r", kind=kind, hook=HOOK), keep=None, replay=None)
    outcome = Outcome(model="m", choices=(Choice(content="so", finish=finished),), usage=Usage(1, 1))
    await finish(store, fresh("s"), "r", outcome=outcome)
    assert [one.parcel.kind for one in await took(outgoing, at=LEASE)] == [called]
    tidied = await store.tidy(unnamed_before=NOW, replays_before=NOW, parcels_before=NOW + timedelta(days=99), limit=9)
    assert tidied == 0, "it has not arrived yet"
    assert await outgoing.again(A, R, now=NOW)
    assert [one.parcel.kind for one in await took(outgoing)] == [called]


async def test_nobody_is_told_of_what_nobody_wants_to_hear_of(
    store: SqliteStore, queue: SqliteQueue, outgoing: SqliteOutgoing
) -> None:
    await over(queue, "r", hook=None)
    await queue.enqueue(A, run("r2"), keep=None, replay=None)
    await finish(store, fresh("s"), "r2")
    await queue.enqueue(A, run("r3", hook=HOOK), keep=None, replay=None)
    await queue.settle(A, StepId("r3"), "running", now=NOW)
    (taken,) = await queue.take("w", now=NOW, until=NOW, limit=9)
    await queue.put_off(A, StepId("r3"), fence=taken.fence, until=NOW, fault=FAULT, now=NOW)
    assert await took(outgoing, at=LEASE) == []
    for name in ("r", "r2", "r3", "nothing"):
        assert not await outgoing.again(A, StepId(name), now=NOW)


async def test_what_a_schedule_missed_or_skipped_is_not_told(store: SqliteStore, outgoing: SqliteOutgoing) -> None:
    jobs = SqliteJobs(store)
    await jobs.add(A, standing(hook=HOOK))
    found = await jobs.job(A, J)
    assert found is not None
    runs = [made(found, NOW, hook=HOOK, status="missed"), made(found, NOW + LEASE, hook=HOOK)]
    assert await jobs.fire(A, found, Firing((Fire(NOW), Fire(NOW + LEASE)), NOW), runs, now=NOW)
    again = await jobs.job(A, J)
    assert again is not None
    skipped = made(again, NOW + 2 * LEASE, hook=HOOK)
    assert await jobs.fire(A, again, Firing((Fire(NOW + 2 * LEASE),), None), [skipped], now=NOW)
    assert await outgoing.next_due() is None


# --- taking, delivering, failing ---


async def test_parcels_are_taken_by_one_at_a_time_in_the_order_in_which_they_are_due(
    queue: SqliteQueue, outgoing: SqliteOutgoing
) -> None:
    for name, tenant in (("r2", A), ("r1", B), ("r3", A)):
        await over(queue, name, tenant=tenant)
    found = await asyncio.gather(*(outgoing.take(f"w{n}", now=NOW, until=NOW + LEASE, limit=2) for n in range(3)))
    assert [[(one.tenant, one.run) for one in some] for some in found] == [[(B, "r1"), (A, "r2")], [(A, "r3")], []]
    assert await outgoing.next_due() == NOW + LEASE
    assert len(await took(outgoing, at=LEASE - seconds(1))) == 0
    assert [one.fence for one in await took(outgoing, "another", at=LEASE)] == [2, 2, 2]


async def test_what_has_arrived_is_not_sent_again(queue: SqliteQueue, outgoing: SqliteOutgoing) -> None:
    await over(queue)
    (waiting,) = await took(outgoing)
    await outgoing.delivered(waiting, status=204, now=NOW)
    assert await took(outgoing, at=LEASE) == []
    assert await outgoing.next_due() is None


async def test_what_was_tried_in_vain_is_tried_again_then_and_given_up_in_the_end(
    queue: SqliteQueue, outgoing: SqliteOutgoing
) -> None:
    await over(queue)
    (first,) = await took(outgoing)
    await outgoing.failed(first, why="timeout", again=NOW + seconds(5), now=NOW)
    assert await outgoing.next_due() == NOW + seconds(5)
    assert await took(outgoing, at=seconds(4)) == []
    (second,) = await took(outgoing, at=seconds(5))
    assert (second.attempts, second.parcel) == (1, first.parcel), "the same parcel, under the same name"
    await outgoing.failed(second, why="gone (410)", again=None, now=NOW)
    assert await outgoing.next_due() is None


async def test_whoever_lost_a_parcel_says_nothing_of_it(queue: SqliteQueue, outgoing: SqliteOutgoing) -> None:
    await over(queue)
    (late,) = await took(outgoing, "one")
    (ours,) = await took(outgoing, "two", at=LEASE)
    await outgoing.delivered(late, status=200, now=NOW)
    await outgoing.failed(late, why="timeout", again=None, now=NOW)
    assert await outgoing.next_due() == NOW + 2 * LEASE, "it is still ours"
    await outgoing.failed(ours, why="busy (429)", again=NOW, now=NOW)
    (again,) = await took(outgoing)
    assert again.attempts == 1


async def test_what_a_dead_process_held_is_free_at_once(queue: SqliteQueue, outgoing: SqliteOutgoing) -> None:
    await over(queue)
    assert len(await took(outgoing)) == 1
    assert await took(outgoing) == []
    await outgoing.abandoned()
    assert len(await took(outgoing)) == 1


@pytest.mark.parametrize("became", ["delivered", "dead", "waiting", "held", "tidied away"])
async def test_what_a_run_came_to_can_be_sent_once_more(
    store: SqliteStore, queue: SqliteQueue, outgoing: SqliteOutgoing, became: str
) -> None:
    await over(queue)
    (first,) = await took(outgoing)
    match became:
        case "delivered" | "tidied away":
            await outgoing.delivered(first, status=200, now=NOW)
        case "dead" | "waiting":
            again = None if became == "dead" else NOW + timedelta(hours=9)
            await outgoing.failed(first, why="timeout", again=again, now=NOW)
    if became == "tidied away":
        kept = {"unnamed_before": NOW, "replays_before": NOW, "limit": 9}
        assert await store.tidy(parcels_before=NOW, **kept) == 0  # type: ignore[arg-type]
        assert await store.tidy(parcels_before=NOW + seconds(1), **kept) == 1  # type: ignore[arg-type]
    assert not await outgoing.again(B, R, now=NOW)
    assert await outgoing.again(A, R, now=NOW + seconds(2))
    if became == "held":
        await outgoing.delivered(first, status=200, now=NOW)
    assert await outgoing.next_due() == NOW + seconds(2)
    (second,) = await took(outgoing, at=seconds(2))
    assert (second.attempts, second.parcel) == (0, first.parcel)


# --- what goes ---


async def test_parcels_go_with_what_they_tell_of(
    store: SqliteStore, queue: SqliteQueue, outgoing: SqliteOutgoing
) -> None:
    await queue.enqueue(A, run("r", hook=HOOK), keep=None, replay=None)
    session = await finish(store, fresh("s"), "r")
    await over(queue, "r2")
    await over(queue, "elsewhere", session="other")
    await store.delete(A, session, now=NOW)
    assert [one.run for one in await took(outgoing, at=LEASE)] == ["elsewhere"]
    later = NOW + timedelta(days=1)
    assert await store.tidy(unnamed_before=NOW, replays_before=NOW, runs_before=later, limit=9) == 1
    assert await outgoing.next_due() is None


async def test_a_removed_job_is_told_of_before_its_last_run_goes(
    store: SqliteStore, queue: SqliteQueue, outgoing: SqliteOutgoing
) -> None:
    jobs = SqliteJobs(store)
    await jobs.add(A, standing())
    await over(queue, "r", kind="job", job=J, scheduled_at=NOW)
    assert await jobs.remove(A, J)
    assert await jobs.job(A, J) is None
    (waiting,) = await took(outgoing)
    assert await queue.run(A, R) is not None
    await outgoing.delivered(waiting, status=200, now=NOW)
    assert await store.tidy(unnamed_before=NOW, replays_before=NOW, limit=9) == 1
    assert await queue.run(A, R) is None
