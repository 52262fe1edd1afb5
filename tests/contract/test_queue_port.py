"""What every queue promises: runs are done by one at a time, in the order in which they are due."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from tests.contract.test_archive import Counted
from tests.contract.test_store import NOW, A, B, fresh
from tests.contract.test_views_port import FAULT, finish, keep, run

from everthread.core.ids import KeyId, SessionId, SessionKey, StepId
from everthread.core.ports import Recorded, Reserved
from everthread.core.queue import Queue, Taken
from everthread.core.turn import (
    ChoiceEnded,
    ModelEvent,
    Opened,
    ReasoningDelta,
    RefusalDelta,
    Replay,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from everthread.core.view import Fault, Hook, RunStatus, Sort
from everthread.errors import Bug, IdempotencyInProgress, IdempotencyMismatch, SessionMoved
from everthread.storage.queue import SqliteQueue
from everthread.storage.sqlite import SqliteStore
from everthread.storage.views import SqliteViews

LEASE = timedelta(seconds=30)
R = StepId("r")


@pytest.fixture
def views(store: SqliteStore) -> SqliteViews:
    return SqliteViews(store, Counted())


async def took(queue: Queue, worker: str = "w", *, at: timedelta = timedelta(), limit: int = 9) -> list[Taken]:
    """What a worker takes at some time after NOW."""
    return list(await queue.take(worker, now=NOW + at, until=NOW + at + LEASE, limit=limit))


async def names(queue: Queue, worker: str = "w", *, at: timedelta = timedelta(), limit: int = 9) -> list[str]:
    return [one.run.id for one in await took(queue, worker, at=at, limit=limit)]


async def put(queue: Queue, name: str = "r", **more: object) -> None:
    """A run, of a session of its own unless it is said otherwise."""
    await queue.enqueue(A, run(name, **{"session": f"of {name}", **more}), keep=None, replay=None)


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


# --- taking and holding ---


async def test_runs_are_taken_in_the_order_in_which_they_are_due(queue: SqliteQueue) -> None:
    await put(queue, "third", due_at=NOW - seconds(1), created_at=NOW - seconds(99))
    await put(queue, "second", created_at=NOW - seconds(2))
    await put(queue, "not yet", due_at=NOW + seconds(5), created_at=NOW - seconds(99))
    await put(queue, "first", due_at=NOW - seconds(3))
    await queue.enqueue(B, run("another's", created_at=NOW - seconds(1.5)), keep=None, replay=None)
    assert await names(queue, limit=2) == ["first", "second"]
    assert await names(queue) == ["another's", "third"]
    assert await names(queue) == []
    assert await names(queue, at=seconds(4)) == []
    assert await names(queue, at=seconds(5)) == ["not yet"]


async def test_a_run_without_a_time_is_due_at_once_whatever_the_clock_has_done(queue: SqliteQueue) -> None:
    await put(queue, created_at=NOW + timedelta(hours=1))
    assert await names(queue) == ["r"]


async def test_what_is_taken_says_so(queue: SqliteQueue) -> None:
    await put(queue, retries=2, timeout=9.5)
    (taken,) = await took(queue, at=seconds(1))
    assert (taken.tenant, taken.fence) == (A, 1)
    assert taken.run == await queue.run(A, R)
    assert (taken.run.started_at, taken.run.ended_at, taken.run.status) == (NOW + seconds(1), None, "queued")
    assert taken.run.turn == b'{"say":"hi"}'
    assert await queue.journal(A, R, [], fence=1, now=NOW)
    going = await queue.run(A, R)
    assert going is not None
    assert (going.status, going.retries, going.timeout, going.attempt) == ("running", 2, 9.5, 1)


async def test_runs_of_one_session_follow_each_other_and_keep_no_other_session_waiting(queue: SqliteQueue) -> None:
    for number in range(300):
        await put(queue, f"flood{number:03}", session="flood")
    await put(queue, "other")
    assert await names(queue) == ["flood000"]
    assert await names(queue) == ["other"]
    assert await names(queue) == []
    assert await queue.settle(A, StepId("flood000"), "failed", fault=FAULT, now=NOW)
    assert await names(queue) == ["flood001"]
    assert await names(queue, "two", at=LEASE) == ["flood001"], "what a dead one held is taken again"
    assert await names(queue, "two", at=LEASE) == ["other"]


async def test_what_one_key_asks_for_leaves_room_for_others(queue: SqliteQueue) -> None:
    for number in range(300):
        await put(queue, f"flood{number:03}", key=KeyId("one"))
    await put(queue, "other", key=KeyId("two"))
    at_work: Counter[KeyId] = Counter()

    async def taken() -> list[str]:
        found = await queue.take("w", now=NOW, until=NOW + LEASE, limit=99, at_work=at_work, each=56)
        at_work.update(one.run.key for one in found)
        return [one.run.id for one in found]

    first = [*await taken(), *await taken()]
    assert first == [f"flood{number:03}" for number in range(56)]
    assert await taken() == ["other"]
    assert await taken() == []
    at_work[KeyId("one")] -= 1
    assert await taken() == ["flood056"]


async def test_two_workers_never_take_the_same_run(queue: SqliteQueue) -> None:
    for number in range(40):
        await put(queue, f"r{number:02}")
    found = await asyncio.gather(*(names(queue, f"w{worker}", limit=7) for worker in range(8)))
    assert sorted(name for some in found for name in some) == [f"r{number:02}" for number in range(40)]


async def test_what_is_held_stays_ours_and_what_a_dead_one_held_is_taken_by_another(queue: SqliteQueue) -> None:
    await put(queue)
    (mine,) = await took(queue, "one")
    assert await names(queue, "two", at=seconds(29)) == []
    assert await queue.hold("one", [(A, R, mine.fence)], until=NOW + seconds(60)) == ()
    assert await names(queue, "two", at=seconds(59)) == []
    (theirs,) = await took(queue, "two", at=seconds(60))
    assert (theirs.run.id, theirs.fence) == (R, mine.fence + 1)
    assert await queue.hold("one", [(A, R, mine.fence)], until=NOW + seconds(99)) == ((A, R),)
    assert await queue.hold("two", [(A, R, theirs.fence)], until=NOW + seconds(99)) == ()


async def test_a_worker_that_takes_what_it_lost_itself_holds_it_anew(queue: SqliteQueue) -> None:
    await put(queue)
    (first,) = await took(queue)
    (second,) = await took(queue, at=LEASE)
    assert await queue.hold("w", [(A, R, first.fence)], until=NOW + 9 * LEASE) == ((A, R),)
    assert await queue.hold("w", [(A, R, second.fence)], until=NOW + 9 * LEASE) == ()


async def test_what_is_over_or_another_tenants_or_never_was_cannot_be_held(queue: SqliteQueue) -> None:
    await put(queue)
    await put(queue, "other")
    assert await names(queue) == ["other", "r"]
    assert await queue.settle(A, R, "cancelled", now=NOW)
    held = [(A, R, 1), (B, StepId("other"), 1), (A, StepId("nothing"), 1), (A, StepId("other"), 1)]
    assert await queue.hold("w", held, until=NOW + LEASE) == tuple((tenant, name) for tenant, name, _ in held[:3])
    assert await queue.hold("w", [], until=NOW + LEASE) == ()


async def test_the_next_time_to_look_is_when_something_is_due_or_a_holder_is_late(queue: SqliteQueue) -> None:
    assert await queue.next_due() is None
    await put(queue, "later", due_at=NOW + timedelta(minutes=20))
    assert await queue.next_due() == NOW + timedelta(minutes=20)
    await put(queue)
    assert await queue.next_due() == NOW
    (taken,) = await took(queue)
    assert await queue.next_due() == NOW + LEASE
    assert await names(queue, "two", at=LEASE) == ["r"], "then it can be taken"
    await queue.settle(A, R, "failed", fault=FAULT, now=NOW)
    assert await queue.next_due() == NOW + timedelta(minutes=20)
    assert taken.run.id == R


async def test_nobody_writes_for_a_run_that_another_has_taken(store: SqliteStore, queue: SqliteQueue) -> None:
    await put(queue)
    (late,) = await took(queue, "one")
    (ours,) = await took(queue, "two", at=LEASE)
    before = await queue.run(A, R)
    assert not await queue.journal(A, R, [TextDelta("late")], fence=late.fence, now=NOW)
    assert not await queue.settle(A, R, "failed", fence=late.fence, fault=FAULT, now=NOW)
    assert not await queue.put_off(A, R, fence=late.fence, until=NOW, fault=FAULT, now=NOW)
    with pytest.raises(SessionMoved):
        await finish(store, fresh("s"), "r", fence=late.fence)
    assert await queue.run(A, R) == before
    assert await queue.journalled(A, R) == ()
    assert await store.find(A, SessionId("s")) is None, "nothing of it is in the conversation"
    assert await queue.journal(A, R, [TextDelta("ours")], fence=ours.fence, now=NOW)
    await finish(store, fresh("s"), "r", fence=ours.fence)
    done = await queue.run(A, R)
    assert done is not None
    assert (done.status, done.ended_at) == ("completed", NOW + seconds(1))


async def test_of_two_that_hold_a_run_one_after_the_other_exactly_one_commits(
    store: SqliteStore, queue: SqliteQueue
) -> None:
    for number in range(10):
        name, session = StepId(f"r{number}"), fresh(f"s{number}")
        await put(queue, name)
        (first,) = await took(queue, "one", at=number * 3 * LEASE)
        (second,) = await took(queue, "two", at=number * 3 * LEASE + LEASE)
        racing = [finish(store, session, name, fence=one.fence) for one in (first, second)]
        results = await asyncio.gather(*racing, return_exceptions=True)
        assert [isinstance(one, SessionMoved) for one in results] == [True, False]


async def test_what_is_put_off_is_tried_once_more_and_has_said_nothing(queue: SqliteQueue) -> None:
    await put(queue, retries=1)
    (first,) = await took(queue)
    await queue.journal(A, R, [TextDelta("so far")], fence=first.fence, now=NOW)
    until = NOW + seconds(10)
    assert not await queue.put_off(B, R, fence=first.fence, until=until, fault=FAULT, now=NOW)
    assert await queue.put_off(A, R, fence=first.fence, until=until, fault=FAULT, now=NOW + seconds(2))
    waiting = await queue.run(A, R)
    assert waiting is not None
    assert (waiting.status, waiting.attempt, waiting.due_at, waiting.told) == ("queued", 2, until, False)
    assert (waiting.fault, waiting.turn, waiting.updated_at) == (FAULT, b'{"say":"hi"}', NOW + seconds(2))
    assert await queue.journalled(A, R) == ()
    assert not await queue.journal(A, R, [TextDelta("late")], fence=first.fence, now=NOW), "it is nobody's now"
    assert await queue.next_due() == until
    assert await names(queue, at=seconds(9)) == []
    (second,) = await took(queue, at=seconds(10))
    assert second.fence > first.fence
    assert second.run.started_at == NOW + seconds(10)


async def test_a_wish_to_stop_outlives_the_one_who_runs_it(queue: SqliteQueue) -> None:
    await put(queue)
    (taken,) = await took(queue)
    assert await queue.settle(A, R, "stopping", now=NOW)
    assert not await queue.put_off(A, R, fence=taken.fence, until=NOW, fault=FAULT, now=NOW)
    assert await queue.hold("w", [(A, R, taken.fence)], until=NOW + LEASE) == (), "until it has ended"
    (again,) = await took(queue, "two", at=LEASE)
    assert (again.run.status, again.run.started_at) == ("stopping", NOW), "it did not begin once more"
    assert await queue.settle(A, R, "cancelled", fence=again.fence, now=NOW + LEASE)
    over = await queue.run(A, R)
    assert over is not None
    assert (over.ended_at, over.turn) == (NOW + LEASE, b"")


async def test_a_run_with_all_that_it_can_have_comes_back_whole(queue: SqliteQueue) -> None:
    given = run(
        "r",
        kind="job",
        session_key=SessionKey("k"),
        due_at=NOW + seconds(1),
        attempt=2,
        retries=3,
        timeout=1.5,
        hook=Hook("https://example.com/hook", "whsec_secret"),
        started_at=NOW + seconds(2),
        ended_at=NOW + seconds(3),
        job="j",
        scheduled_at=NOW - seconds(4),
        fault=Fault("a", "b"),
    )
    await queue.enqueue(A, given, keep=None, replay=None)
    assert await queue.run(A, R) == given


# --- a run and what becomes of it ---


async def test_a_run_comes_back_whole(store: SqliteStore, queue: SqliteQueue, views: SqliteViews) -> None:
    given = run(
        "r",
        model="m",
        metadata={"a": "b"},
        ticket=b"digest",
        ticket_until=NOW + timedelta(hours=1),
        fault=FAULT,
        told=True,
    )
    assert await queue.enqueue(A, given, keep=None, replay=None) == "r"
    assert await queue.run(A, StepId("r")) == given
    assert await queue.run(B, StepId("r")) is None
    assert await views.view(A, StepId("r"), "response") is None


EVENTS: tuple[ModelEvent, ...] = (
    Opened("m", "fp"),
    ReasoningDelta("thinking", 1),
    TextDelta("he"),
    TextDelta("llo", 1, b'{"content":[]}'),
    RefusalDelta("no"),
    ToolCallDelta(0, "c1", "look", '{"a"'),
    ToolCallDelta(0, arguments=":1}", choice=1),
    ChoiceEnded("stop", 1),
    Usage(1, 2, 3, b'{"prompt_tokens":1}'),
)


async def test_what_a_run_says_is_recorded_until_its_step_says_it(
    store: SqliteStore, queue: SqliteQueue, views: SqliteViews
) -> None:
    name = StepId("r")
    await queue.enqueue(A, run("r", kind="response"), keep=keep(background=True), replay=None)
    assert await views.view(A, name, "response") is not None
    await queue.journal(A, name, EVENTS[:4], fence=0, now=NOW + timedelta(seconds=1))
    await queue.journal(A, name, EVENTS[4:], fence=0, now=NOW + timedelta(seconds=2))
    await queue.journal(B, name, EVENTS, fence=0, now=NOW)
    assert await queue.journalled(A, name) == EVENTS
    assert await queue.journalled(B, name) == ()
    going = await queue.run(A, name)
    assert going is not None
    assert (going.status, going.told, going.updated_at) == ("running", True, NOW + timedelta(seconds=2))
    await finish(store, fresh("s"), "r", keep=keep(background=True))
    done = await queue.run(A, name)
    assert done is not None
    assert (done.status, done.turn, done.fault) == ("completed", b"", None)
    assert await queue.journalled(A, name) == ()
    assert [view.id for view in (await views.views(
        A, "response", sort=Sort(model="m"), after=None, limit=9, order="asc"))[0]] == ["r"]  # fmt: skip
    await queue.journal(A, name, EVENTS, fence=0, now=NOW)
    assert await queue.journalled(A, name) == (), "it is over"
    assert await took(queue) == []


async def test_a_run_is_running_before_it_has_said_anything(queue: SqliteQueue) -> None:
    await queue.enqueue(A, run("r"), keep=None, replay=None)
    await queue.journal(A, StepId("r"), (), fence=0, now=NOW)
    going = await queue.run(A, StepId("r"))
    assert going is not None
    assert (going.status, going.told) == ("running", False)


@pytest.mark.parametrize("status", ["failed", "cancelled", "interrupted"])
async def test_a_run_that_came_to_nothing_stays_so(store: SqliteStore, queue: SqliteQueue, status: RunStatus) -> None:
    name = StepId("r")
    await queue.enqueue(A, run("r"), keep=None, replay=None)
    await queue.journal(A, name, [TextDelta("so far")], fence=0, now=NOW)
    assert not await queue.settle(B, name, status, now=NOW)
    assert await queue.settle(A, name, status, fault=FAULT, now=NOW + timedelta(seconds=3))
    over = await queue.run(A, name)
    assert over is not None
    assert (over.status, over.fault, over.turn) == (status, FAULT, b"")
    assert not await queue.settle(A, name, "running", now=NOW)
    assert await queue.journalled(A, name) == (TextDelta("so far"),)
    with pytest.raises(SessionMoved):
        await finish(store, fresh("s"), "r")
    assert await store.find(A, SessionId("s")) is None, "nothing of it is in the conversation"
    assert not await queue.settle(A, StepId("nothing"), status, now=NOW)


async def test_a_wish_to_stop_is_not_taken_back_and_nobody_says_that_a_run_is_completed(queue: SqliteQueue) -> None:
    name = StepId("r")
    await queue.enqueue(A, run("r"), keep=None, replay=None)
    assert await queue.settle(A, name, "running", now=NOW)
    assert await queue.settle(A, name, "stopping", now=NOW)
    assert not await queue.settle(A, name, "running", now=NOW)
    await queue.journal(A, name, [TextDelta("more")], fence=0, now=NOW)
    stopping = await queue.run(A, name)
    assert stopping is not None
    assert (stopping.status, stopping.turn) == ("stopping", b'{"say":"hi"}')
    with pytest.raises(Bug):
        await queue.settle(A, name, "completed", now=NOW)
    assert await queue.settle(A, name, "cancelled", now=NOW)


async def test_of_an_end_and_a_commit_that_race_exactly_one_wins(store: SqliteStore, queue: SqliteQueue) -> None:
    for turn in range(20):
        name = StepId(f"r{turn}")
        await queue.enqueue(A, run(name, f"s{turn}"), keep=None, replay=None)
        racing = [queue.settle(A, name, "cancelled", now=NOW), finish(store, fresh(f"s{turn}"), name)]
        if turn % 2:
            racing.reverse()
        results = await asyncio.gather(*racing, return_exceptions=True)
        cancelled = next(one for one in results if isinstance(one, bool))
        refused = any(isinstance(one, SessionMoved) for one in results)
        assert cancelled == refused
        over = await queue.run(A, name)
        assert over is not None
        assert over.status == ("cancelled" if cancelled else "completed")
        assert (await store.find(A, SessionId(f"s{turn}")) is None) == cancelled


async def test_a_response_that_is_deleted_while_it_runs_commits_nothing(
    store: SqliteStore, queue: SqliteQueue, views: SqliteViews
) -> None:
    await queue.enqueue(A, run("r", kind="response"), keep=keep(background=True), replay=None)
    await queue.journal(A, StepId("r"), [TextDelta("so far")], fence=0, now=NOW)
    assert await views.drop(A, StepId("r"), "response", now=NOW)
    with pytest.raises(SessionMoved):
        await finish(store, fresh("s"), "r")
    assert await queue.run(A, StepId("r")) is None
    assert await queue.journalled(A, StepId("r")) == ()


async def test_a_run_that_has_its_key_before_is_the_same_run(store: SqliteStore, queue: SqliteQueue) -> None:
    key = Replay("k", b"body")
    assert await queue.enqueue(A, run("r1"), keep=None, replay=key) == "r1"
    assert await queue.enqueue(A, run("r2"), keep=keep(), replay=key) == "r1"
    assert await queue.run(A, StepId("r2")) is None
    assert await queue.enqueue(B, run("r3"), keep=None, replay=key) == "r3", "another's key"
    with pytest.raises(IdempotencyMismatch):
        await queue.enqueue(A, run("r4"), keep=None, replay=Replay("k", b"another body"))
    with pytest.raises(IdempotencyInProgress):
        await store.reserve(A, key, now=NOW)
    session = await finish(store, fresh("s"), "r1")
    assert await queue.enqueue(A, run("r5"), keep=None, replay=key) == "r1"
    recorded = await store.reserve(A, key, now=NOW)
    assert isinstance(recorded, Recorded)
    assert recorded.step.id == "r1"
    await store.delete(A, session, now=NOW)
    assert await queue.enqueue(A, run("r6"), keep=None, replay=key) == "r6", "what it led to is gone"


async def test_two_that_come_with_the_same_key_at_once_are_one_run(queue: SqliteQueue, views: SqliteViews) -> None:
    key = Replay("k", b"body")
    names = await asyncio.gather(*(queue.enqueue(A, run(f"r{n}"), keep=None, replay=key) for n in range(9)))
    assert len(set(names)) == 1
    assert [one.run.id for one in await took(queue)] == [names[0]]


async def test_a_key_that_a_turn_holds_is_in_progress_for_a_run(store: SqliteStore, queue: SqliteQueue) -> None:
    key = Replay("k", b"body")
    assert await store.reserve(A, key, now=NOW) == Reserved()
    with pytest.raises(IdempotencyInProgress):
        await queue.enqueue(A, run("r"), keep=None, replay=key)
    await store.release(A, key)
    assert await queue.enqueue(A, run("r"), keep=None, replay=key) == "r"


async def test_a_key_whose_run_was_dropped_is_free(store: SqliteStore, queue: SqliteQueue, views: SqliteViews) -> None:
    key = Replay("k", b"body")
    await queue.enqueue(A, run("r", kind="response"), keep=keep(background=True), replay=key)
    await views.drop(A, StepId("r"), "response", now=NOW)
    assert await store.reserve(A, key, now=NOW) == Reserved()


async def test_what_a_process_left_behind_is_taken_by_the_next(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / "left.db")
    await first.open()
    before = SqliteQueue(first)
    for name, tenant in (("r0", A), ("r1", B), ("r2", B)):
        await before.enqueue(tenant, run(name, session=name), keep=None, replay=Replay(name, b"f"))
    await before.settle(A, StepId("r0"), "failed", now=NOW)
    assert [one.run.id for one in await took(before, "first")] == ["r1", "r2"]
    await before.journal(B, StepId("r2"), [TextDelta("so far")], fence=1, now=NOW)
    await first.close()
    second = SqliteStore(tmp_path / "left.db")
    await second.open()
    queue = SqliteQueue(second)
    assert await took(queue, "second") == []
    await queue.abandoned()
    assert await queue.next_due() == NOW
    taken = await took(queue, "second")
    assert [(one.tenant, one.run.id, one.run.status, one.run.told, one.fence) for one in taken] == [
        ("b", "r1", "queued", False, 2),
        ("b", "r2", "running", True, 2),
    ]
    assert await queue.enqueue(B, run("again"), keep=None, replay=Replay("r1", b"f")) == "r1", "its key survived"
    await second.close()


async def test_runs_that_came_to_nothing_are_tidied_away_in_time(
    store: SqliteStore, queue: SqliteQueue, views: SqliteViews
) -> None:
    key = Replay("k", b"f")
    await queue.enqueue(A, run("old", kind="response"), keep=keep(background=True), replay=key)
    await queue.journal(A, StepId("old"), [TextDelta("so far")], fence=0, now=NOW)
    await queue.settle(A, StepId("old"), "failed", now=NOW)
    await queue.enqueue(A, run("new"), keep=None, replay=None)
    await queue.settle(A, StepId("new"), "cancelled", now=NOW + timedelta(days=2))
    await queue.enqueue(A, run("going"), keep=None, replay=None)
    await queue.enqueue(A, run("done"), keep=None, replay=None)
    await finish(store, fresh("s"), "done")
    before = NOW + timedelta(days=1)
    assert await store.tidy(unnamed_before=NOW, replays_before=NOW, runs_before=before, limit=9) == 1
    assert await queue.run(A, StepId("old")) is None
    assert await views.view(A, StepId("old"), "response") is None
    assert await queue.journalled(A, StepId("old")) == ()
    for name in ("new", "going", "done"):
        assert await queue.run(A, StepId(name)) is not None
