"""What a job does when its time has come, or has come and gone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from everthread.core import schedule
from everthread.core.ids import SessionId, Tenant
from everthread.core.job import MOST_AT_ONCE, Job, JobId, Standing, after, due, first, run_name

CREATED = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def job(expr: str = "0 * * * *", **more: Any) -> Job:
    return Job(
        id=JobId("job_1"),
        name="report",
        schedule=schedule.parse(expr, "UTC", now=CREATED),
        prompt="Report.",
        session_id=SessionId("s"),
        created_at=CREATED,
        **more,
    )


def standing(one: Job, next_at: str, fired: int = 0) -> Standing:
    return Standing(job=one, next_at=at(next_at), fired=fired, updated_at=CREATED)


def fired(found: Any) -> list[tuple[str, str]]:
    return [(f"{fire.at:%m-%d %H:%M}", fire.became) for fire in found.fires]


def test_a_job_fires_in_time_and_is_due_again_at_the_next_time() -> None:
    found = due(standing(job(), "2026-03-02T10:00"), at("2026-03-02T10:00:01"))
    assert fired(found) == [("03-02 10:00", "queued")]
    assert found.next_at == at("2026-03-02T11:00")


def test_a_job_whose_time_has_not_come_does_nothing() -> None:
    found = due(standing(job(), "2026-03-02T10:00"), at("2026-03-02T09:59:59"))
    assert found.fires == ()
    assert found.next_at == at("2026-03-02T10:00")


@pytest.mark.parametrize(
    ("on_missed", "expected"),
    [
        ("run_once", [("03-02 14:00", "queued")]),
        ("skip", [("03-02 14:00", "missed")]),
        ("run_all", [(f"03-02 {hour}:00", "queued") for hour in (10, 11, 12, 13, 14)]),
    ],
)
def test_after_a_downtime_over_several_fires_it_does_as_it_is_told(on_missed: Any, expected: Any) -> None:
    found = due(standing(job(on_missed=on_missed), "2026-03-02T10:00"), at("2026-03-02T14:30"))
    assert fired(found) == expected
    assert found.next_at == at("2026-03-02T15:00")


def test_what_lies_too_far_back_is_not_made_up_for() -> None:
    one = job(on_missed="run_all", catch_up_hours=2)
    found = due(standing(one, "2026-03-02T10:00"), at("2026-03-02T14:30"))
    assert fired(found) == [("03-02 13:00", "queued"), ("03-02 14:00", "queued")]
    late = due(
        standing(job("0 9 * * 1", on_missed="run_all", catch_up_hours=2), "2026-03-02T09:00"), at("2026-03-05T09:00")
    )
    assert fired(late) == [("03-02 09:00", "missed")]


def test_after_a_long_downtime_of_a_busy_job_the_newest_time_counts_and_nothing_is_unbounded() -> None:
    once = due(standing(job("every 10s"), "2026-03-02T10:00"), at("2026-03-09T10:00:05"))
    assert fired(once) == [("03-09 10:00", "queued")]
    assert once.next_at == at("2026-03-09T10:00:10")
    every = due(standing(job("every 10s", on_missed="run_all"), "2026-03-02T10:00"), at("2026-03-09T10:00:05"))
    assert len(every.fires) <= MOST_AT_ONCE + 1


def test_a_job_that_fires_so_often_and_no_more_is_over_then() -> None:
    one = job(repeat=3)
    second = due(standing(one, "2026-03-02T10:00", fired=1), at("2026-03-02T10:00"))
    assert second.next_at == at("2026-03-02T11:00")
    third = due(standing(one, "2026-03-02T11:00", fired=2), at("2026-03-02T11:00"))
    assert fired(third) == [("03-02 11:00", "queued")]
    assert third.next_at is None
    caught_up = due(standing(job(repeat=3, on_missed="run_all"), "2026-03-02T10:00"), at("2026-03-02T20:30"))
    assert len(caught_up.fires) == 3
    assert caught_up.next_at is None


def test_a_job_expires() -> None:
    one = job(expires_at=at("2026-03-02T11:30"))
    found = due(standing(one, "2026-03-02T10:00"), at("2026-03-02T14:30"))
    assert fired(found) == [("03-02 11:00", "queued")]
    assert found.next_at is None
    assert after(one, at("2026-03-02T11:00"), fired=0) is None


def test_a_job_that_is_paused_is_not_due() -> None:
    assert first(job(enabled=False), CREATED) is None
    assert first(job(), CREATED) == at("2026-03-02T10:00")


def test_a_job_for_once_is_over_after_it() -> None:
    one = job("2026-03-02T12:00:00")
    assert first(one, CREATED) == at("2026-03-02T12:00")
    found = due(standing(one, "2026-03-02T12:00"), at("2026-03-02T12:00"))
    assert fired(found) == [("03-02 12:00", "queued")]
    assert found.next_at is None


def test_a_clock_that_jumps_back_fires_nothing_twice() -> None:
    one = job()
    found = due(standing(one, "2026-03-02T10:00"), at("2026-03-02T10:00"))
    again = msgspec.structs.replace(standing(one, "2026-03-02T10:00"), next_at=found.next_at)
    assert due(again, at("2026-03-02T10:00")).fires == ()
    assert due(again, at("2026-03-02T09:30")).fires == ()


def test_a_run_has_one_name_per_job_and_time() -> None:
    names = {
        run_name(Tenant(tenant), JobId(name), CREATED + timedelta(minutes=minutes))
        for tenant in "ab"
        for name in ("job_1", "job_2")
        for minutes in range(3)
    }
    assert len(names) == 12
    assert run_name(Tenant("a"), JobId("job_1"), CREATED) in names
    assert all(name.isalnum() for name in names)
