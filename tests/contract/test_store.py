"""What every store promises. A new engine is one more parameter of the `store` fixture."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import msgspec
import pytest

from everthread.core.ids import KeyId, LineageId, ScopeId, SessionId, SessionKey, StepId, Tenant, ThreadId
from everthread.core.key import ApiKey
from everthread.core.messages import say
from everthread.core.ports import Commit, Recorded, Reserved, Store
from everthread.core.session import Exchange, Session, begin
from everthread.core.turn import Choice, Context, Outcome, Replay, Step, ToolCall, Usage
from everthread.errors import (
    IdempotencyInProgress,
    IdempotencyMismatch,
    SessionBusy,
    SessionMoved,
    StoreUnavailable,
)
from everthread.storage.sqlite import SqliteStore

A, B = Tenant("a"), Tenant("b")
ME = StepId("me")
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
number = count(1)

Engine = Callable[[], Store]


@pytest.fixture(params=["sqlite"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """Opens the same state each time it is called."""
    engines: dict[str, Engine] = {"sqlite": lambda: SqliteStore(tmp_path / "store.db", longest_wait=0.3)}
    return engines[request.param]


@pytest.fixture
async def store(engine: Engine) -> AsyncIterator[Store]:
    opened = engine()
    await opened.open()
    yield opened
    await opened.close()


def fresh(name: str, key: str | None = None, *, named: bool = True, imported: Sequence[Exchange] = ()) -> Session:
    unique = next(number)
    return begin(
        SessionId(name),
        thread=ThreadId(f"t{unique}"),
        lineage=LineageId(f"l{unique}"),
        scope=ScopeId(f"s{unique}"),
        session_key=SessionKey(key) if key else None,
        named=named,
        imported=imported,
    )


def step(session: Session, question: str, answer: str = "Noted.", **more: object) -> Step:
    given: dict[str, object] = {
        "id": StepId(f"step{next(number)}"),
        "seq": session.last_seq + 1,
        "source": "api",
        "input": (say("user", question),),
        "outcome": Outcome(
            model="m",
            fingerprint="fp",
            choices=(Choice(content=answer, finish="stop", reasoning="thinking", logprobs=b'{"content":[]}'),),
            usage=Usage(11, 7, 5, b'{"prompt_tokens":11,"completion_tokens":7}'),
        ),
        "context": Context(11, 1000, 1, 2),
        "said_at": NOW,
        "stored_at": NOW + timedelta(seconds=1),
        "tokens": 10,
        "rolling": b"rolling",
        **more,
    }
    outcome = given["outcome"]
    assert isinstance(outcome, Outcome)
    return Step(**{"turn": given["id"], "answer": outcome.choices[0].message(), **given})  # type: ignore[arg-type]


async def put(store: Store, session: Session, question: str, answer: str = "Noted.", **more: object) -> Session:
    """One committed step; returns the session as it is then."""
    commit = Commit(session=session, step=step(session, question, answer), begins=session.last_seq == 0)
    return await store.commit(A, msgspec.structs.replace(commit, **more))


async def texts(store: Store, session: Session, tokens: int = 1000, tenant: Tenant = A) -> list[str]:
    return [m.text for past in (await store.epoch(tenant, session, tokens=tokens)).past for m in past.messages]


# --- steps ---


async def test_an_unknown_id_finds_nothing(store: Store) -> None:
    assert await store.find(A, SessionId("nobody")) is None


async def test_a_committed_step_comes_back_whole(store: Store, engine: Engine) -> None:
    session = fresh("whole", "key")
    written = step(
        session,
        "What is 2+2? \u00e9\u4e16\U0001f600",
        message_id="m1",
        parent_message_id="m0",
        outcome=Outcome(
            model="m",
            choices=(
                Choice(
                    content=None,
                    finish="tool_calls",
                    tool_calls=(ToolCall("c1", "add", '{"a":2}'), ToolCall("c2", "x", "")),
                ),
                Choice(content="other", finish="stop"),
            ),
            usage=Usage(1, 2, 0),
        ),
    )
    await store.commit(A, Commit(session=session, step=written, begins=True))
    await store.close()
    again = engine()
    await again.open()
    found = await again.find(A, SessionId("whole"))
    assert found is not None
    assert (found.id, found.root, found.parent, found.last_seq) == ("whole", "whole", None, 1)
    assert (found.session_key, found.rolling, found.named) == ("key", b"rolling", True)
    assert await again.said(A, found, "m1", since=NOW) == written
    await again.close()


async def test_steps_are_read_oldest_first_and_within_the_weight(store: Store) -> None:
    session = fresh("window")
    for word in ("one", "two", "three"):
        session = await put(store, session, word, f"re {word}")
    assert await texts(store, session) == ["one", "re one", "two", "re two", "three", "re three"]
    assert await texts(store, session, tokens=20) == ["two", "re two", "three", "re three"]
    assert await texts(store, session, tokens=19) == ["three", "re three"]


async def test_the_very_newest_step_is_always_there(store: Store) -> None:
    session = await put(store, await put(store, fresh("newest"), "old"), "new")
    assert await texts(store, session, tokens=0) == ["new", "Noted."]


async def test_a_step_from_a_session_that_moved_is_refused_whole(store: Store) -> None:
    before = await put(store, fresh("moved"), "first")
    after = await put(store, before, "second")
    with pytest.raises(SessionMoved):
        await put(store, before, "late")
    with pytest.raises(SessionMoved):
        await put(store, fresh("moved"), "twice begun")
    assert await texts(store, after) == ["first", "Noted.", "second", "Noted."]
    assert await store.search(A, after.scope, "late begun", limit=5) == ()


async def test_parallel_commits_all_count_or_are_refused(store: Store) -> None:
    sessions = [fresh(f"p{i}") for i in range(40)]
    results = await asyncio.gather(*(put(store, s, "x") for s in [*sessions, *sessions]), return_exceptions=True)
    assert sum(isinstance(r, Session) for r in results) == 40
    assert sum(isinstance(r, SessionMoved) for r in results) == 40


# --- tenants and scopes ---


async def test_tenants_do_not_meet(store: Store) -> None:
    mine = await put(store, fresh("same", "key"), "secret of A")
    assert await store.find(B, SessionId("same")) is None
    theirs = await store.commit(B, Commit(session=(s := fresh("same", "key")), step=step(s, "of B"), begins=True))
    assert await texts(store, mine) == ["secret of A", "Noted."]
    assert await texts(store, theirs, tenant=B) == ["of B", "Noted."]
    assert await texts(store, mine, tenant=B) == []
    assert await store.search(B, mine.scope, "secret", limit=5) == ()
    assert await store.said(B, mine, "m1", since=NOW) is None


async def test_a_search_stays_in_its_scope(store: Store) -> None:
    one = await put(store, fresh("one", "k1"), "we use PostgreSQL on RDS")
    two = await put(store, fresh("two", "k2"), "we use SQLite files")
    also = await put(store, fresh("three", "k1"), "PostgreSQL has replicas")
    assert one.scope == also.scope != two.scope
    found = await store.search(A, one.scope, "PostgreSQL?", limit=5)
    assert {(hit.session, hit.seq, hit.role) for hit in found} == {("one", 1, "user"), ("three", 1, "user")}
    assert await store.search(A, two.scope, "postgresql", limit=5) == ()
    assert await store.search(A, two.scope, '")(*&^ OR NEAR', limit=5) == ()


async def test_an_unkeyed_session_joins_the_first_key_it_meets_with_its_past(store: Store) -> None:
    keyed = await put(store, fresh("keyed", "k"), "the budget is 500 euros")
    unkeyed = await put(store, fresh("unkeyed"), "the deadline is Friday")
    assert unkeyed.scope != keyed.scope
    joined = await put(store, unkeyed, "hello", bind=SessionKey("k"))
    assert (joined.session_key, joined.scope) == ("k", keyed.scope)
    assert await store.find(A, SessionId("unkeyed")) == joined
    found = await store.search(A, keyed.scope, "deadline budget", limit=5)
    assert {hit.session for hit in found} == {"keyed", "unkeyed"}
    assert await store.search(A, unkeyed.scope, "deadline", limit=5) == ()
    alone = await put(store, await put(store, fresh("alone"), "it rains"), "hi", bind=SessionKey("new"))
    assert alone.session_key == "new"
    assert len(await store.search(A, alone.scope, "rains", limit=5)) == 1


# --- claims ---


async def test_a_claim_is_held_by_one_at_a_time_in_the_order_of_asking(store: Store) -> None:
    order: list[int] = []
    inside = 0

    async def turn(which: int) -> None:
        nonlocal inside
        async with store.claim(A, SessionId("busy"), by=ME) as claim:
            inside += 1
            assert inside == 1
            await asyncio.sleep(0.001)
            await put(store, claim.session or fresh("busy"), f"turn {which}")
            order.append(which)
            inside -= 1

    await asyncio.gather(*(turn(which) for which in range(20)))
    assert order == list(range(20))
    session = await store.find(A, SessionId("busy"))
    assert session is not None
    assert [t for t in await texts(store, session) if t != "Noted."] == [f"turn {n}" for n in range(20)]


async def test_a_claim_of_another_session_or_tenant_does_not_wait(store: Store) -> None:
    async with (
        store.claim(A, SessionId("x"), by=ME),
        store.claim(A, SessionId("y"), by=ME),
        store.claim(B, SessionId("x"), by=ME),
    ):
        pass


async def test_who_does_not_want_to_wait_is_told_at_once(store: Store) -> None:
    async with store.claim(A, SessionId("x"), by=ME):
        with pytest.raises(SessionBusy) as busy:
            async with store.claim(A, SessionId("x"), by=ME, on_busy="reject"):
                pass
    assert busy.value.final
    assert busy.value.run == "run_me", "it says who holds the session"


async def test_a_wait_is_bounded_in_time_and_in_number(store: Store) -> None:
    async def wait() -> None:
        async with store.claim(A, SessionId("x"), by=ME):
            pass

    async with store.claim(A, SessionId("x"), by=ME):
        waiting = [asyncio.create_task(wait()) for _ in range(64)]
        await asyncio.sleep(0.01)
        with pytest.raises(SessionBusy, match="64"):
            await wait()
        results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(result, SessionBusy) for result in results)


async def test_who_leaves_the_line_does_not_block_it(store: Store) -> None:
    entered = asyncio.Event()

    async def wait() -> None:
        async with store.claim(A, SessionId("x"), by=ME):
            entered.set()

    async with store.claim(A, SessionId("x"), by=ME):
        leaver, stayer = asyncio.create_task(wait()), asyncio.create_task(wait())
        await asyncio.sleep(0.01)
        leaver.cancel()
        await asyncio.sleep(0.01)
    await asyncio.wait_for(stayer, 1)
    assert entered.is_set()


async def test_a_claim_is_released_when_its_turn_fails(store: Store) -> None:
    with pytest.raises(RuntimeError):
        async with store.claim(A, SessionId("x"), by=ME):
            raise RuntimeError
    async with store.claim(A, SessionId("x"), by=ME, on_busy="reject"):
        pass


# --- imported history ---


def imported(*pairs: tuple[str, str]) -> tuple[Exchange, ...]:
    exchanges: list[Exchange] = []
    for place, (question, answer) in enumerate(pairs):
        rolling = b"|".join(f"{q}{a}".encode() for q, a in pairs[: place + 1])
        exchanges.append(Exchange((say("user", question), say("assistant", answer)), rolling, b"", 10))
    return tuple(exchanges)


async def bring(store: Store, name: str, *pairs: tuple[str, str], named: bool = True) -> Session:
    exchanges = imported(*pairs)
    session = fresh(name, named=named, imported=exchanges)
    return await put(store, session, "and now?", imported=exchanges)


async def test_imported_history_comes_before_the_first_step(store: Store) -> None:
    session = await bring(store, "moved in", ("q1", "a1"), ("q2", "a2"))
    assert await texts(store, session) == ["q1", "a1", "q2", "a2", "and now?", "Noted."]
    assert await texts(store, session, tokens=20) == ["q2", "a2", "and now?", "Noted."]
    found = await store.find(A, SessionId("moved in"))
    assert found is not None
    assert await texts(store, found) == await texts(store, session)


async def test_imported_history_that_two_threads_share_outlives_either(store: Store) -> None:
    one = await bring(store, "one", ("q1", "a1"), ("q2", "a2"), named=False)
    two = await bring(store, "two", ("q1", "a1"), ("q2", "a2"), ("q3", "a3"))
    three = await bring(store, "three", ("q1", "a1"), ("other", "way"), named=False)
    later = NOW + timedelta(days=8)
    assert await store.tidy(unnamed_before=later, replays_before=NOW, limit=10) == 2
    assert await store.find(A, one.id) is None
    assert await store.find(A, three.id) is None
    assert await texts(store, two) == ["q1", "a1", "q2", "a2", "q3", "a3", "and now?", "Noted."]
    assert await store.check(repair=False) == ()
    again = await bring(store, "four", ("q1", "a1"), ("other", "way"))
    assert (await texts(store, again))[2:4] == ["other", "way"]


async def test_a_key_whose_release_failed_is_not_stuck(store: Store, engine: Engine) -> None:
    """A store that fails at the end of a turn fails to release its key too; a retry must run all the same."""
    await store.reserve(A, ONCE, now=NOW)
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.release(A, ONCE)
    await store.open()
    assert await store.reserve(A, ONCE, now=NOW) == Reserved()


# --- tidying ---


async def test_only_unnamed_threads_that_nobody_continued_expire(store: Store) -> None:
    await put(store, fresh("named"), "keep me")
    unnamed = await put(store, fresh("unnamed", named=False), "drop the zebra")
    taken = await put(store, fresh("taken", named=False), "keep me too")
    await put(store, msgspec.structs.replace(taken, named=True), "I came back")
    await put(store, fresh("keyed", "k", named=False), "gone as well")
    assert await store.tidy(unnamed_before=NOW, replays_before=NOW, limit=10) == 0
    assert await store.tidy(unnamed_before=NOW + timedelta(hours=1), replays_before=NOW, limit=10) == 2
    left = [name for name in ("named", "unnamed", "taken", "keyed") if await store.find(A, SessionId(name))]
    assert left == ["named", "taken"]
    assert await store.search(A, unnamed.scope, "zebra", limit=5) == ()
    reused = await put(store, fresh("unnamed"), "a new life")
    assert await texts(store, reused) == ["a new life", "Noted."]


# --- paths ---


async def go_on(store: Store, session: Session, question: str, **more: object) -> Session:
    """One step whose words can be matched later."""
    given = step(session, question, rolling=session.rolling + question.encode(), **more)
    begins = await store.find(A, session.root) is None
    return await store.commit(A, Commit(session=session, step=given, begins=begins))


async def depart(store: Store, session: Session, after: bytes, question: str, **more: object) -> Session:
    """A new path that leaves the session's thread after these words."""
    found = await store.matching(A, session, [after])
    assert found is not None
    unique = next(number)
    planned = session.branched(SessionId(f"{session.root}~{unique}"), LineageId(f"l{unique}"), found[1])
    given = step(planned, question, rolling=planned.rolling + question.encode(), **more)
    return await store.commit(A, Commit(session=planned, step=given, branches=True))


async def test_every_path_of_a_thread_knows_the_key_that_one_of_them_joined(store: Store) -> None:
    first = await go_on(store, await go_on(store, fresh("tree"), "a"), "b")
    other = await depart(store, first, b"a", "c")
    third = await depart(store, first, b"a", "d")
    for path in (first, other, third):
        assert await store.find(A, path.id) is not None, "looked up, and so at hand"
    joined = await put(store, other, "hello", bind=SessionKey("k"))
    for path in (first, other, third):
        found = await store.find(A, path.id)
        assert found is not None
        assert (found.session_key, found.scope) == ("k", joined.scope)


async def test_a_thread_joins_one_key_only(store: Store) -> None:
    first = await go_on(store, await go_on(store, fresh("tree"), "a"), "b")
    other = await depart(store, first, b"a", "c")
    await put(store, first, "hello", bind=SessionKey("k1"))
    with pytest.raises(SessionMoved):
        await put(store, other, "hello", bind=SessionKey("k2"))
    found = await store.find(A, other.id)
    assert found is not None
    assert found.session_key == "k1"


async def test_words_that_are_written_together_with_a_bind_come_along(store: Store) -> None:
    await put(store, fresh("keyed", "k"), "known")
    first = await go_on(store, await go_on(store, fresh("tree"), "a"), "b")
    other = await depart(store, first, b"a", "c")
    _, joined = await asyncio.gather(put(store, first, "the zebra"), put(store, other, "hello", bind=SessionKey("k")))
    assert [hit.text for hit in await store.search(A, joined.scope, "zebra", limit=5)] == ["the zebra"]


async def test_a_thread_that_was_asked_for_by_name_once_stays_named(store: Store) -> None:
    first = await go_on(store, await go_on(store, fresh("tree", named=False), "a"), "b")
    other = await depart(store, first, b"a", "c")
    assert await store.find(A, first.id) is not None
    await put(store, msgspec.structs.replace(other, named=True), "by name")
    await put(store, first, "not by name")
    found = await store.find(A, first.id)
    assert found is not None
    assert found.named
    assert await store.tidy(unnamed_before=NOW + timedelta(days=8), replays_before=NOW, limit=10) == 0


async def test_who_looks_while_a_thread_is_tidied_away_does_not_bring_it_back(store: Store) -> None:
    sessions = [await put(store, fresh(f"s{n}", named=False), "gone soon") for n in range(3)]
    tidying = asyncio.create_task(store.tidy(unnamed_before=NOW + timedelta(days=8), replays_before=NOW, limit=10))
    while not tidying.done():
        for session in sessions:
            await store.find(A, session.id)
        await asyncio.sleep(0)
    assert [await store.find(A, session.id) for session in sessions] == [None, None, None]


async def test_words_said_on_several_paths_are_found_on_the_sessions_own(store: Store) -> None:
    first = await go_on(store, await go_on(store, await go_on(store, fresh("tree"), "a"), "b"), "c")
    edited = await depart(store, first, b"ab", "d")
    again = await depart(store, first, b"a", "b")
    assert again.rolling == b"ab", "the same answer again"
    for path, lineage in ((edited, first.lineage), (first, first.lineage), (again, again.lineage)):
        found = await store.matching(A, path, [b"ab"])
        assert found is not None
        assert (found[1].lineage, found[1].seq) == (lineage, 2)


async def test_a_path_that_leaves_among_imported_exchanges_has_no_log_of_later_ones(store: Store) -> None:
    exchanges = tuple(
        msgspec.structs.replace(exchange, rolling=exchange.address)
        for exchange in imported(*((f"q{n}", f"a{n}") for n in range(1, 6)))
    )
    session = await put(store, fresh("brought", imported=exchanges), "and now?", imported=exchanges)
    child = await store.rotate(A, session, session.rotated(SessionId("c"), from_seq=-1), log="q1 to q3", now=NOW)
    found = await store.matching(A, child, [exchanges[1].rolling])
    assert found is not None
    planned = child.branched(SessionId("early"), LineageId("early"), found[1])
    assert (await store.epoch(A, planned, tokens=1000)).log is None
    early = await store.commit(A, Commit(session=planned, step=step(planned, "instead"), branches=True))
    assert (await store.epoch(A, early, tokens=1000)).log is None
    assert await texts(store, early) == ["q1", "a1", "q2", "a2", "instead", "Noted."]


# --- replays ---

ONCE = Replay("key-1", b"print")


async def test_a_replay_key_is_ours_then_in_progress_then_recorded(store: Store, engine: Engine) -> None:
    assert await store.reserve(A, ONCE, now=NOW) == Reserved()
    with pytest.raises(IdempotencyInProgress):
        await store.reserve(A, ONCE, now=NOW)
    assert await store.reserve(B, ONCE, now=NOW) == Reserved(), "another tenant's key is another key"
    session = await put(store, fresh("once"), "do it", "Done.", replay=ONCE)
    known = await store.reserve(A, ONCE, now=NOW)
    assert isinstance(known, Recorded)
    assert known.session == session
    assert known.step.outcome.choices[0].content == "Done."
    with pytest.raises(IdempotencyMismatch):
        await store.reserve(A, Replay("key-1", b"other"), now=NOW)
    await store.close()
    again = engine()
    await again.open()
    assert await again.reserve(A, ONCE, now=NOW) == known
    assert await again.reserve(B, ONCE, now=NOW) == Reserved(), "what a dead process left unfinished may run again"
    await again.close()


async def test_a_released_key_may_run_again_and_a_recorded_one_is_not_released(store: Store) -> None:
    await store.reserve(A, ONCE, now=NOW)
    await store.release(A, ONCE)
    assert await store.reserve(A, ONCE, now=NOW) == Reserved()
    await put(store, fresh("kept"), "x", replay=ONCE)
    await store.release(A, ONCE)
    assert isinstance(await store.reserve(A, ONCE, now=NOW), Recorded)


async def test_old_replays_are_forgotten(store: Store) -> None:
    await store.reserve(A, ONCE, now=NOW)
    await put(store, fresh("old"), "x", replay=ONCE)
    assert await store.tidy(unnamed_before=NOW, replays_before=NOW + timedelta(seconds=1), limit=5) == 1
    assert await store.reserve(A, ONCE, now=NOW) == Reserved()


async def test_a_message_id_is_known_in_its_own_thread_and_for_a_while(store: Store) -> None:
    session = fresh("bridge")
    given = step(session, "hello", message_id="m1")
    session = await store.commit(A, Commit(session=session, step=given, begins=True))
    other = await put(store, fresh("other"), "hello")
    assert await store.said(A, session, "m1", since=NOW) == given
    assert await store.said(A, session, "m2", since=NOW) is None
    assert await store.said(A, other, "m1", since=NOW) is None
    assert await store.said(A, session, "m1", since=NOW + timedelta(hours=1)) is None


# --- keys ---


async def test_keys_are_added_listed_and_revoked(store: Store) -> None:
    mine = ApiKey(id=KeyId("k1"), tenant=A, name="one", digest=b"1" * 32, created_at=NOW, session_key_prefix="u:")
    theirs = ApiKey(id=KeyId("k2"), tenant=B, name="two", digest=b"2" * 32, created_at=NOW, expires_at=NOW)
    await store.add_key(mine)
    await store.add_key(theirs)
    assert await store.key(KeyId("k1")) == mine
    assert await store.key(KeyId("k3")) is None
    assert await store.keys() == (mine, theirs)
    assert await store.keys(B) == (theirs,)
    assert await store.revoke_key(KeyId("k1"), NOW)
    assert not await store.revoke_key(KeyId("k1"), NOW), "only once"
    revoked = await store.key(KeyId("k1"))
    assert revoked is not None
    assert not revoked.valid(NOW)
    assert not theirs.valid(NOW)


async def test_keys_that_have_ended_are_found_among_some(store: Store) -> None:
    for name, expires in (("good", None), ("later", NOW + timedelta(seconds=1)), ("past", NOW), ("revoked", None)):
        key = ApiKey(id=KeyId(name), tenant=A, name="", digest=name.encode(), created_at=NOW, expires_at=expires)
        await store.add_key(key)
    await store.revoke_key(KeyId("revoked"), NOW)
    some = [KeyId(name) for name in ("good", "later", "past", "revoked", "nobody's")]
    assert set(await store.ended_keys(some, NOW)) == {"past", "revoked"}
    assert await store.ended_keys(some[:2], NOW) == ()
    assert await store.ended_keys([], NOW) == ()


# --- trouble ---


async def test_a_closed_store_says_so(store: Store) -> None:
    await store.close()
    for call in (store.find(A, SessionId("x")), store.ping(), store.keys(), put(store, fresh("x"), "hi")):
        with pytest.raises(StoreUnavailable):
            await call


async def test_a_store_in_order_has_no_problems(store: Store) -> None:
    session = await bring(store, "s", ("q", "a"))
    await put(store, session, "more", replay=None)
    await store.ping()
    assert await store.check(repair=False) == ()
