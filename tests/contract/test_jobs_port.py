"""What every keeper of jobs promises: each fires once per time, and nothing that it came to is forgotten."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import msgspec
import pytest
from tests.contract.test_store import NOW, A, B, fresh
from tests.contract.test_views_port import FAULT, finish, run

from everthread.core import job as core
from everthread.core.ids import SessionId, SessionKey, StepId, Tenant
from everthread.core.job import Fire, Firing, Job, JobId, Standing, run_name
from everthread.core.schedule import Cron, Every, Once, Schedule
from everthread.core.turn import Replay
from everthread.core.view import Hook, Run
from everthread.errors import Malformed
from everthread.storage.jobs import SqliteJobs
from everthread.storage.queue import SqliteQueue
from everthread.storage.sqlite import SqliteStore

HOUR = timedelta(hours=1)
J = JobId("j")


@pytest.fixture
def jobs(store: SqliteStore) -> SqliteJobs:
    return SqliteJobs(store)


def job(name: str = "j", **more: object) -> Job:
    given = {
        "name": "the news",
        "schedule": Cron("0 * * * *"),
        "prompt": "What is new?",
        "session_id": SessionId(f"job:{name}"),
        "created_at": NOW,
        **more,
    }
    return Job(id=JobId(name), **given)  # type: ignore[arg-type]


def standing(name: str = "j", next_at: datetime | None = NOW, **more: object) -> Standing:
    return Standing(job=job(name, **more), next_at=next_at, updated_at=NOW)


def made(given: Standing, at: datetime, tenant: Tenant = A, **more: object) -> Run:
    """The run of a job at one of its times."""
    about = {"kind": "job", "job": given.job.id, "scheduled_at": at, "session": given.job.session_id, **more}
    return run(run_name(tenant, given.job.id, at), **about)  # type: ignore[arg-type]


async def fire(jobs: SqliteJobs, given: Standing, *ats: datetime, next_at: datetime | None, **more: object) -> bool:
    firing = Firing(tuple(Fire(at) for at in ats), next_at)
    return await jobs.fire(A, given, firing, [made(given, at, **more) for at in ats], now=NOW)


async def stands(jobs: SqliteJobs, name: str = "j") -> Standing:
    found = await jobs.job(A, JobId(name))
    assert found is not None
    return found


async def history(jobs: SqliteJobs, name: str = "j") -> list[tuple[datetime | None, str]]:
    found, more = await jobs.runs(A, JobId(name), after=None, limit=99, order="asc")
    assert not more
    return [(one.scheduled_at, one.status) for one in found]


async def end(queue: SqliteQueue, *names: str) -> None:
    for name in names:
        assert await queue.settle(A, StepId(name), "failed", fault=FAULT, now=NOW)


# --- by their owners ---


@pytest.mark.parametrize(
    "schedule",
    [
        Cron("0 9 * * MON", "Europe/Berlin"),
        Every("every 90m", timedelta(minutes=90), NOW, "Asia/Tokyo"),
        Once("2030-12-24T18:00:00", NOW + HOUR),
    ],
)
async def test_a_job_comes_back_whole(jobs: SqliteJobs, schedule: Schedule) -> None:
    given = Standing(
        job=job(
            schedule=schedule,
            session_key=SessionKey("k"),
            model="m",
            instructions="Be brief.",
            max_output_tokens=7,
            on_missed="run_all",
            catch_up_hours=1.5,
            on_overlap="queue",
            retries=3,
            timeout_seconds=2.5,
            hook=Hook("https://example.com/", "whsec_x"),
            enabled=False,
            repeat=9,
            expires_at=NOW + 2 * HOUR,
            metadata={"a": "b"},
            key_prefix="team:",
        ),
        next_at=NOW + HOUR,
        fired=4,
        updated_at=NOW + timedelta(microseconds=1),
    )
    await jobs.add(A, given)
    assert await jobs.job(A, J) == given
    assert await jobs.job(B, J) is None
    assert await jobs.job(A, JobId("nothing")) is None


async def test_a_job_that_is_told_little_comes_back_as_little(jobs: SqliteJobs) -> None:
    await jobs.add(A, standing(next_at=None))
    assert await jobs.job(A, J) == standing(next_at=None)
    assert await jobs.next_due() is None


async def test_jobs_are_listed_by_age_in_pages_and_by_the_keys_one_may_touch(jobs: SqliteJobs) -> None:
    for number in (3, 1, 2):
        key = SessionKey(f"team:{number}") if number != 2 else None
        await jobs.add(A, standing(f"j{number}", created_at=NOW + number * HOUR, session_key=key))
    await jobs.add(B, standing("theirs"))

    async def page(tenant: Tenant = A, **wanted: object) -> tuple[list[str], bool]:
        asked = {"after": None, "limit": 9, **wanted}
        found, more = await jobs.many(tenant, **asked)  # type: ignore[arg-type]
        return [one.job.id for one in found], more

    assert await page() == (["j1", "j2", "j3"], False)
    assert await page(limit=2) == (["j1", "j2"], True)
    assert await page(limit=2, after="j2") == (["j3"], False)
    assert await page(key_prefix="team:") == (["j1", "j3"], False)
    assert await page(key_prefix="team:", limit=1, after="j1") == (["j3"], False)
    assert await page(key_prefix="team:%") == ([], False)
    assert await page(B) == (["theirs"], False)
    for after, prefix in (("theirs", None), ("nothing", None), ("j2", "team:")):
        with pytest.raises(Malformed):
            await page(after=after, key_prefix=prefix)


async def test_a_job_is_put_in_the_place_of_another(jobs: SqliteJobs) -> None:
    await jobs.add(A, standing(session_key=SessionKey("k")))
    await fire(jobs, await stands(jobs), NOW, next_at=NOW + HOUR)
    other = job(prompt="What else?", session_key=SessionKey("other"))
    assert await jobs.change(A, other, next_at=NOW + 5 * HOUR, now=NOW + HOUR)
    assert await stands(jobs) == Standing(job=other, next_at=NOW + 5 * HOUR, fired=1, updated_at=NOW + HOUR)
    assert [one.job.id for one in (await jobs.many(A, after=None, limit=9, key_prefix="other"))[0]] == [J]
    assert await jobs.change(A, other, next_at=None, now=NOW + HOUR)
    assert await jobs.next_due() is None
    assert not await jobs.change(B, other, next_at=NOW, now=NOW)
    assert not await jobs.change(A, job("nothing"), next_at=NOW, now=NOW)


async def test_a_job_goes_with_its_history_and_what_it_said_stays(
    store: SqliteStore, jobs: SqliteJobs, queue: SqliteQueue
) -> None:
    await jobs.add(A, standing(on_overlap="queue"))
    given = await stands(jobs)
    ats = [NOW + number * HOUR for number in range(4)]
    await fire(jobs, given, *ats, next_at=NOW + 9 * HOUR)
    done, failed, going, waiting = (run_name(A, J, at) for at in ats)
    session = await finish(store, fresh("job:j"), done)
    await end(queue, failed)
    (taken,) = await queue.take("w", now=NOW, until=NOW + HOUR, limit=1)
    assert taken.run.id == going
    assert await jobs.remove(A, J)
    assert await jobs.job(A, J) is None
    assert await jobs.next_due() is None
    assert not await jobs.remove(A, J)
    assert not await jobs.change(A, given.job, next_at=NOW, now=NOW)
    assert await jobs.many(A, after=None, limit=9) == ((), False)
    assert [await queue.run(A, name) for name in (done, failed, waiting)] == [None, None, None]
    assert await store.find(A, session.id) == session, "what it said stays"
    left = await queue.run(A, going)
    assert left is not None
    assert left.status == "queued", "what runs goes on"
    await finish(store, session, going, fence=taken.fence)
    assert await store.tidy(unnamed_before=NOW, replays_before=NOW, limit=9) == 1
    assert await queue.run(A, going) is None
    await jobs.add(A, standing())
    assert await stands(jobs) == standing(), "its name is free again"


async def test_another_tenants_job_is_not_removed(jobs: SqliteJobs) -> None:
    await jobs.add(A, standing())
    assert not await jobs.remove(B, J)
    assert await jobs.job(A, J) is not None


async def test_a_long_history_goes_as_a_whole_with_the_keys_that_led_to_it(
    store: SqliteStore, jobs: SqliteJobs, queue: SqliteQueue
) -> None:
    await jobs.add(A, standing(on_overlap="queue"))
    given = await stands(jobs)
    ats = [NOW + number * HOUR for number in range(250)]
    await fire(jobs, given, *ats, next_at=None)
    await end(queue, *(run_name(A, J, at) for at in ats))
    by_hand = made(given, NOW, status="queued")
    by_hand = msgspec.structs.replace(by_hand, id=StepId("by hand"))
    await queue.enqueue(A, by_hand, keep=None, replay=Replay("k", b"f"))
    await end(queue, "by hand")
    assert await jobs.remove(A, J)
    assert await history(jobs) == []
    assert await queue.enqueue(A, run("again"), keep=None, replay=Replay("k", b"another")) == "again"
    assert await store.tidy(unnamed_before=NOW, replays_before=NOW, limit=9) == 0, "nothing was left to tidy"


# --- history ---


async def test_a_history_is_paged_by_its_scheduled_times(jobs: SqliteJobs) -> None:
    for name in ("j", "other"):
        await jobs.add(A, standing(name, on_overlap="queue"))
    ats = [NOW + number * HOUR for number in range(5)]
    await fire(jobs, await stands(jobs), *reversed(ats), next_at=None)
    await fire(jobs, await stands(jobs, "other"), NOW, next_at=None)
    names = [run_name(A, J, at) for at in ats]

    async def page(tenant: Tenant = A, **wanted: object) -> tuple[list[str], bool]:
        asked = {"after": None, "limit": 2, **wanted}
        found, more = await jobs.runs(tenant, J, **asked)  # type: ignore[arg-type]
        return [one.id for one in found], more

    assert await page() == ([names[4], names[3]], True)
    assert await page(after=names[3]) == ([names[2], names[1]], True)
    assert await page(after=names[1]) == ([names[0]], False)
    assert await page(order="asc", after=names[1], limit=3) == (names[2:], False)
    assert await page(B) == ([], False)
    for after in ("nothing", run_name(A, JobId("other"), NOW)):
        with pytest.raises(Malformed):
            await page(after=after)


async def test_each_jobs_newest_run_is_found_at_once(jobs: SqliteJobs, queue: SqliteQueue) -> None:
    for name in ("j", "other", "never"):
        await jobs.add(A, standing(name, on_overlap="queue"))
    await fire(jobs, await stands(jobs), NOW, NOW + HOUR, next_at=None)
    await fire(jobs, await stands(jobs, "other"), NOW, next_at=None)
    await end(queue, run_name(A, J, NOW))
    names = [JobId(name) for name in ("j", "other", "never", "nothing")]
    found = await jobs.latest(A, names)
    assert {name: one.id for name, one in found.items()} == {
        "j": run_name(A, J, NOW + HOUR),
        "other": run_name(A, JobId("other"), NOW),
    }
    assert found[J] == await queue.run(A, found[J].id)
    assert await jobs.latest(B, names) == {}
    assert await jobs.latest(A, []) == {}


async def test_a_history_outlives_other_runs_that_came_to_nothing(
    store: SqliteStore, jobs: SqliteJobs, queue: SqliteQueue
) -> None:
    await jobs.add(A, standing())
    await fire(jobs, await stands(jobs), NOW, next_at=None)
    await queue.enqueue(A, run("plain"), keep=None, replay=None)
    await end(queue, "plain", run_name(A, J, NOW))
    later = NOW + timedelta(days=99)
    assert await store.tidy(unnamed_before=NOW, replays_before=NOW, runs_before=later, limit=9) == 1
    assert await history(jobs) == [(NOW, "failed")]


async def test_a_job_outlives_its_session_and_begins_anew(
    store: SqliteStore, jobs: SqliteJobs, queue: SqliteQueue
) -> None:
    await jobs.add(A, standing())
    await fire(jobs, await stands(jobs), NOW, next_at=NOW + HOUR)
    session = await finish(store, fresh("job:j"), run_name(A, J, NOW))
    await store.delete(A, session, now=NOW)
    assert await history(jobs) == []
    assert (await stands(jobs)).next_at == NOW + HOUR
    assert await fire(jobs, await stands(jobs), NOW + HOUR, next_at=None)
    again = await finish(store, fresh("job:j"), run_name(A, J, NOW + HOUR))
    assert again.last_seq == 1


# --- firing ---


async def test_jobs_are_due_in_the_order_of_their_times_whoever_owns_them(jobs: SqliteJobs) -> None:
    await jobs.add(A, standing("second", NOW))
    await jobs.add(B, standing("first", NOW - HOUR))
    await jobs.add(A, standing("later", NOW + HOUR))
    await jobs.add(A, standing("never", None))
    assert await jobs.next_due() == NOW - HOUR
    found = await jobs.due(now=NOW, limit=9)
    assert [(tenant, one.job.id) for tenant, one in found] == [(B, "first"), (A, "second")]
    assert found[1][1] == standing("second", NOW)
    assert len(await jobs.due(now=NOW, limit=1)) == 1
    assert await jobs.due(now=NOW - 2 * HOUR, limit=9) == ()


async def test_a_fire_makes_a_run_and_the_next_time_at_once(jobs: SqliteJobs, queue: SqliteQueue) -> None:
    await jobs.add(A, standing())
    given = await stands(jobs)
    assert await fire(jobs, given, NOW, next_at=NOW + HOUR)
    assert await stands(jobs) == msgspec.structs.replace(given, next_at=NOW + HOUR, fired=1)
    assert await queue.run(A, run_name(A, J, NOW)) == made(given, NOW)
    assert await jobs.due(now=NOW, limit=9) == ()
    assert [one.run.job for one in await queue.take("w", now=NOW, until=NOW, limit=9)] == [J]


async def test_a_job_that_is_fired_by_many_at_once_fires_once(jobs: SqliteJobs, queue: SqliteQueue) -> None:
    await jobs.add(A, standing())
    given = await stands(jobs)
    results = await asyncio.gather(*(fire(jobs, given, NOW, next_at=NOW + HOUR) for _ in range(9)))
    assert sorted(results) == [False] * 8 + [True]
    assert await history(jobs) == [(NOW, "queued")]
    assert (await stands(jobs)).fired == 1


async def test_a_job_that_was_changed_or_removed_meanwhile_does_not_fire_as_it_was(jobs: SqliteJobs) -> None:
    await jobs.add(A, standing())
    given = await stands(jobs)
    assert await jobs.change(A, job(prompt="What else?"), next_at=NOW, now=NOW), "in this very moment"
    assert not await fire(jobs, given, NOW, next_at=NOW + HOUR)
    assert await history(jobs) == []
    changed = await stands(jobs)
    assert await jobs.remove(A, J)
    assert not await fire(jobs, changed, NOW, next_at=NOW + HOUR)
    assert not await jobs.fire(B, given, Firing((), None), [], now=NOW)


async def test_a_run_that_was_made_for_a_time_is_not_made_again(jobs: SqliteJobs, queue: SqliteQueue) -> None:
    await jobs.add(A, standing())
    await fire(jobs, await stands(jobs), NOW, next_at=NOW + HOUR)
    await end(queue, run_name(A, J, NOW))
    await jobs.change(A, job(), next_at=NOW, now=NOW + HOUR)
    assert await fire(jobs, await stands(jobs), NOW, next_at=NOW + HOUR), "the clock was set back"
    assert await history(jobs) == [(NOW, "failed")]
    assert (await stands(jobs)).fired == 1


async def test_while_a_run_is_not_over_the_next_is_skipped(jobs: SqliteJobs, queue: SqliteQueue) -> None:
    await jobs.add(A, standing())
    await fire(jobs, await stands(jobs), NOW, next_at=NOW + HOUR)
    assert await fire(jobs, await stands(jobs), NOW + HOUR, next_at=NOW + 2 * HOUR)
    skipped = await queue.run(A, run_name(A, J, NOW + HOUR))
    assert skipped is not None
    assert (skipped.status, skipped.turn, skipped.ended_at) == ("skipped", b"", NOW)
    assert skipped.fault is not None
    assert skipped.fault.code == "skipped"
    assert (await stands(jobs)).fired == 2, "its schedule has fired"
    await end(queue, run_name(A, J, NOW))
    await fire(jobs, await stands(jobs), NOW + 2 * HOUR, next_at=None)
    assert await history(jobs) == [(NOW, "failed"), (NOW + HOUR, "skipped"), (NOW + 2 * HOUR, "queued")]


async def test_a_job_that_queues_up_skips_nothing(jobs: SqliteJobs) -> None:
    await jobs.add(A, standing(on_overlap="queue"))
    await fire(jobs, await stands(jobs), NOW, next_at=NOW + HOUR)
    await fire(jobs, await stands(jobs), NOW + HOUR, next_at=None)
    assert await history(jobs) == [(NOW, "queued"), (NOW + HOUR, "queued")]


async def test_what_is_made_up_for_at_once_does_not_skip_itself(jobs: SqliteJobs) -> None:
    await jobs.add(A, standing(on_missed="run_all"))
    assert await fire(jobs, await stands(jobs), NOW, NOW + HOUR, next_at=NOW + 2 * HOUR)
    assert await history(jobs) == [(NOW, "queued"), (NOW + HOUR, "queued")]
    assert (await stands(jobs)).fired == 2


async def test_what_was_missed_is_recorded_and_does_not_count(jobs: SqliteJobs, queue: SqliteQueue) -> None:
    await jobs.add(A, standing(on_missed="skip"))
    given = await stands(jobs)
    missed = made(given, NOW, status="missed", turn=b"", fault=FAULT, ended_at=NOW)
    assert await jobs.fire(A, given, Firing((Fire(NOW, "missed"),), NOW + HOUR), [missed], now=NOW)
    assert await history(jobs) == [(NOW, "missed")]
    assert (await stands(jobs)).fired == 0
    assert await queue.next_due() is None


async def test_two_tenants_jobs_of_one_name_do_not_meet(jobs: SqliteJobs, queue: SqliteQueue) -> None:
    for tenant in (A, B):
        await jobs.add(tenant, standing())
    for tenant, given in await jobs.due(now=NOW, limit=9):
        runs = [made(given, NOW, tenant)]
        assert await jobs.fire(tenant, given, core.due(given, NOW), runs, now=NOW)
    assert {one.tenant for one in await queue.take("w", now=NOW, until=NOW, limit=9)} == {A, B}
    for tenant in (A, B):
        assert len((await jobs.runs(tenant, J, after=None, limit=9))[0]) == 1
