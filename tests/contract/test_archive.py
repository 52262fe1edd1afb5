"""What every archive promises: threads listed, read, forked and deleted as a whole."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from tests.contract.test_store import NOW, A, B, fresh, imported, put, step, texts

from everthread.core.ids import LineageId, SessionId, SessionKey, StepId, Tenant, ThreadId
from everthread.core.ports import Commit, Reserved
from everthread.core.session import Place, Session
from everthread.core.transcript import Card
from everthread.core.turn import Keep, Replay, TextDelta
from everthread.core.view import Run
from everthread.errors import Malformed, SessionExists, SessionMoved
from everthread.storage import ledger
from everthread.storage.queue import SqliteQueue
from everthread.storage.sqlite import SqliteStore
from everthread.storage.views import SqliteViews

number = itertools.count(1)


class Counted:
    """Ids that can be told apart."""

    def new(self) -> str:
        return f"made{next(number)}"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "store.db", longest_wait=0.3)
    await opened.open()
    yield opened
    await opened.close()


async def talk(store: SqliteStore, name: str, turns: int, key: str | None = None) -> Session:
    """A session in which `name 1`, `name 2` ... were said."""
    return await more(store, fresh(name, key), turns)


async def more(store: SqliteStore, session: Session, turns: int) -> Session:
    for _ in range(turns):
        unique = f"{session.root} {session.last_seq + 1}"
        begins = session.last_seq == 0 and await store.find(A, session.id) is None
        given = step(session, unique, f"re {unique}", rolling=unique.encode())
        session = await store.commit(A, Commit(session=session, step=given, begins=begins))
    return session


async def branch(store: SqliteStore, session: Session, at: Place, text: str) -> Session:
    unique = next(number)
    branched = session.branched(SessionId(f"{session.root}~{unique}"), LineageId(f"x{unique}"), at)
    given = step(branched, text, f"re {text}")
    return await store.commit(A, Commit(session=branched, step=given, branches=True))


async def rotated(store: SqliteStore, session: Session, from_seq: int) -> Session:
    child = session.rotated(SessionId(f"{session.root}~r{next(number)}"), from_seq=from_seq)
    return await store.rotate(A, session, child, log=f"log before {from_seq}", now=NOW + timedelta(minutes=from_seq))


async def fork(store: SqliteStore, session: Session, name: str, *, seq: int | None = None) -> Session:
    """A thread of its own that shares the session's steps up to number `seq`."""
    entry = None
    if seq is not None:
        page = await store.transcript(A, session, limit=1000)
        entry = [e.id for e in page.entries if e.message.role == "assistant"][seq - 1]
    place = await store.place(A, session, entry)
    unique = next(number)
    forked = session.branched(SessionId(name), LineageId(f"f{unique}"), place)
    forked = msgspec.structs.replace(forked, root=SessionId(name), thread=ThreadId(f"ft{unique}"))
    return await store.begin(A, forked, now=NOW)


async def said(store: SqliteStore, session: Session, tenant: Tenant = A) -> list[str]:
    """Everything, read in pages of three."""
    texts: list[str] = []
    after = None
    while True:
        page = await store.transcript(tenant, session, after=after, limit=3)
        texts += [entry.message.text for entry in page.entries]
        if not page.more:
            return texts
        after = page.entries[-1].id


def turns(name: str, first: int, last: int) -> list[str]:
    return [text for seq in range(first, last + 1) for text in (f"{name} {seq}", f"re {name} {seq}")]


async def listed(store: SqliteStore, **wanted: object) -> list[str]:
    return [card.id for card in await store.cards(A, **{"limit": 100, **wanted})]  # type: ignore[arg-type]


async def known(store: SqliteStore, name: str) -> Session:
    found = await store.find(A, SessionId(name))
    assert found is not None
    return found


async def shown(store: SqliteStore, name: str) -> Card:
    found = await store.card(A, SessionId(name))
    assert found is not None
    return found


# --- lists and cards ---


async def test_the_newest_thread_comes_first_and_pages_follow_each_other(store: SqliteStore) -> None:
    for minute, name in enumerate(["one", "two", "three"]):
        session = fresh(name)
        at = NOW + timedelta(minutes=minute)
        await store.commit(A, Commit(session=session, step=step(session, "hi", stored_at=at), begins=True))
    assert await listed(store) == ["three", "two", "one"]
    assert await listed(store, limit=2) == ["three", "two"]
    assert await listed(store, limit=2, offset=2) == ["one"]
    one = await known(store, "one")
    late = step(one, "again", stored_at=NOW + timedelta(hours=1))
    await store.commit(A, Commit(session=one, step=late))
    assert await listed(store) == ["one", "three", "two"]
    assert await store.cards(B, limit=5) == ()


async def test_lists_can_be_of_a_key_of_keys_that_begin_so_or_of_a_source(store: SqliteStore) -> None:
    await talk(store, "mine", 1, "user:1")
    await talk(store, "also", 1, "user:1")
    await talk(store, "other", 1, "user:2")
    await talk(store, "team", 1, "team:1")
    await talk(store, "alone", 1)
    session = fresh("nightly", "user:1")
    await store.commit(A, Commit(session=session, step=step(session, "report", source="job"), begins=True))
    assert set(await listed(store, session_key="user:1")) == {"mine", "also", "nightly"}
    assert set(await listed(store, key_prefix="user:")) == {"mine", "also", "other", "nightly"}
    assert await listed(store, key_prefix="us_r:") == [], "a prefix is no pattern"
    assert await listed(store, key_prefix="team:", session_key="user:1") == []
    assert await listed(store, source="job") == ["nightly"]
    assert await listed(store, session_key="nobody") == []


async def test_a_lineage_is_listed_as_its_tip_which_stands_for_all_of_it(store: SqliteStore) -> None:
    session = await talk(store, "long", 4, "k")
    child = await more(store, await rotated(store, session, 3), 2)
    tip = await more(store, await rotated(store, child, 5), 1)
    (card,) = await store.cards(A, limit=5)
    assert (card.id, card.root, card.tip, card.parent) == (tip.id, "long", tip.id, child.id)
    assert (card.messages, card.prompt_tokens, card.completion_tokens, card.cached_tokens) == (14, 77, 49, 35)
    assert (card.model, card.session_key, card.source, card.branch) == ("m", "k", "api", False)
    assert (card.end_reason, card.ended_at) == (None, None)
    assert await store.card(A, tip.id) == card
    own = await shown(store, "long")
    assert (own.messages, own.prompt_tokens, own.tip) == (8, 44, tip.id)
    assert (own.end_reason, own.parent) == ("compression", None)
    assert own.ended_at is not None
    middle = await shown(store, child.id)
    assert (middle.messages, middle.prompt_tokens, middle.tip, middle.root) == (4, 22, tip.id, "long")
    assert await listed(store, include_children=True) == [tip.id, child.id, "long"]
    assert await store.card(A, SessionId("nobody")) is None
    assert await store.card(B, tip.id) is None


async def test_a_thread_is_listed_as_the_path_last_answered(store: SqliteStore) -> None:
    first = await talk(store, "tree", 3)
    other = await branch(store, first, await store.place(A, first, await entry(store, first, 2)), "another way")
    (card,) = await store.cards(A, limit=5)
    assert (card.id, card.branch, card.messages, card.parent) == (other.id, True, 6, "tree")
    assert (await shown(store, "tree")).tip == other.id, "the root's id leads to the path last answered"
    assert set(await listed(store, include_children=True)) == {"tree", other.id}
    main, side = await store.tree(A, first)
    assert (main.fork, main.head, [card.id for card in main.sessions]) == (None, False, ["tree"])
    assert (side.fork, side.head, side.fork_messages) == (main.lineage, True, 4)
    assert [(card.id, card.messages) for card in side.sessions] == [(other.id, 6)]


async def entry(store: SqliteStore, session: Session, seq: int) -> str:
    page = await store.transcript(A, session, limit=1000)
    return [e.id for e in page.entries if e.message.role == "assistant"][seq - 1]


# --- transcripts ---


async def test_a_transcript_spans_the_whole_path_in_either_order_and_in_any_pages(store: SqliteStore) -> None:
    exchanges = imported(("q1", "a1"), ("q2", "a2"))
    session = fresh("long", imported=exchanges)
    session = await put(store, session, "long 1", "re long 1", imported=exchanges)
    session = await more(store, session, 3)
    session = await more(store, await rotated(store, session, 3), 2)
    session = await branch(store, session, await store.place(A, session, await entry(store, session, 7)), "edited")
    expected = ["q1", "a1", "q2", "a2", *turns("long", 1, 5), "edited", "re edited"]
    for order, wanted in (("asc", expected), ("desc", expected[::-1])):
        page = await store.transcript(A, session, limit=100, order=order)  # type: ignore[arg-type]
        assert [e.message.text for e in page.entries] == wanted
        assert not page.more
        assert len({e.id for e in page.entries}) == len(expected)
        for size in (1, 3, 4):
            found: list[str] = []
            after = None
            for _ in range(100):
                page = await store.transcript(A, session, after=after, limit=size, order=order)  # type: ignore[arg-type]
                assert len(page.entries) <= size
                found += [e.message.text for e in page.entries]
                if not page.more:
                    break
                after = page.entries[-1].id
            assert found == wanted
    last = page.entries[-1]
    page = await store.transcript(A, session, after=last.id, limit=3, order=order)  # type: ignore[arg-type]
    assert (page.entries, page.more) == ((), False)


async def test_an_entry_says_who_said_it_when_and_where(store: SqliteStore) -> None:
    session = await talk(store, "s", 1)
    question, answer = (await store.transcript(A, session, limit=5)).entries
    assert (question.session, question.source, question.said_at, question.finish) == ("s", "api", NOW, None)
    assert (answer.finish, answer.reasoning, answer.tokens, answer.model) == ("stop", "thinking", 7, "m")
    assert question.turn == answer.turn


@pytest.mark.parametrize(
    "after", ["", "msg", "msg_x", "msg_x_1", "msg_import_1_0", "msg_import_99999999999_0", "step1", "msg__0", "msg_1_²"]
)
async def test_what_is_no_message_of_the_path_is_refused(store: SqliteStore, after: str) -> None:
    session = await talk(store, "s", 2)
    with pytest.raises(Malformed) as refused:
        await store.transcript(A, session, after=after, limit=5)
    assert refused.value.param == "after"
    with pytest.raises(Malformed) as refused:
        await store.place(A, session, after)
    assert refused.value.param == "at"


async def test_a_message_of_another_session_is_none_of_this_path(store: SqliteStore) -> None:
    session, other = await talk(store, "s", 2), await talk(store, "other", 2)
    theirs = (await store.transcript(A, other, limit=1)).entries[0].id
    beyond = (await store.transcript(A, session, limit=1, order="desc")).entries[0].id
    early = await fork(store, session, "fork", seq=1)
    for path, after in ((session, theirs), (early, beyond)):
        with pytest.raises(Malformed):
            await store.transcript(A, path, after=after, limit=5)


async def test_a_page_is_bounded_in_bytes_too(store: SqliteStore) -> None:
    session = fresh("big")
    for _ in range(4):
        session = await put(store, session, "x" * 3_000_000)
    page = await store.transcript(A, session, limit=100)
    assert page.more
    assert sum(len(e.message.raw) for e in page.entries) < 8_000_000
    assert len(await said(store, session)) == 8


# --- beginning, amending, @current ---


async def test_a_session_can_begin_before_anything_is_said(store: SqliteStore) -> None:
    begun = await store.begin(A, fresh("empty", "k"), now=NOW, title="Plans")
    assert await known(store, "empty") == begun
    card = await shown(store, "empty")
    assert (card.title, card.messages, card.model, card.session_key) == ("Plans", 0, None, "k")
    assert await said(store, begun) == []
    with pytest.raises(SessionExists):
        await store.begin(A, fresh("empty"), now=NOW)
    await store.begin(B, fresh("empty"), now=NOW)
    later = await more(store, begun, 2)
    assert await said(store, later) == turns("empty", 1, 2)
    with pytest.raises(SessionExists):
        await store.begin(A, fresh("empty"), now=NOW)
    assert await store.check(repair=False) == ()


async def test_a_new_session_shares_the_scope_of_its_key(store: SqliteStore) -> None:
    old = await talk(store, "old", 1, "k")
    assert (await store.begin(A, fresh("new", "k"), now=NOW)).scope == old.scope


async def test_current_is_what_was_last_made_so_until_it_is_deleted(store: SqliteStore) -> None:
    key = SessionKey("k")
    assert await store.current(A, key) is None
    await store.begin(A, fresh("one", "k"), now=NOW, current=True)
    await store.begin(A, fresh("aside", "k"), now=NOW)
    assert (await store.current(A, key) or fresh("none")).id == "one"
    two = await store.begin(A, fresh("two", "k"), now=NOW, current=True)
    assert await store.current(A, key) == two
    assert await store.current(B, key) is None
    child = await rotated(store, await more(store, two, 3), 2)
    assert await store.current(A, key) == child
    await store.delete(A, child, now=NOW)
    assert await store.current(A, key) is None


async def test_a_title_belongs_to_the_thread_and_an_end_to_the_session(store: SqliteStore) -> None:
    session = await talk(store, "s", 3)
    tip = await rotated(store, session, 3)
    await store.amend(A, tip, now=NOW, title="Trip to Rome")
    assert (await shown(store, "s")).title == (await shown(store, tip.id)).title == "Trip to Rome"
    await store.amend(A, tip, now=NOW, end="user_exit")
    card = await shown(store, tip.id)
    assert (card.title, card.end_reason, card.ended_at) == ("Trip to Rome", "user_exit", NOW)
    assert (await shown(store, "s")).end_reason == "compression"
    with pytest.raises(SessionMoved):
        await store.amend(A, session, now=NOW, end="user_exit")
    again = await more(store, await known(store, "s"), 1)
    assert (await shown(store, again.id)).end_reason is None, "one more turn opens it again"
    await store.amend(A, again, now=NOW, title="")
    assert (await shown(store, "s")).title is None


# --- forks ---


async def test_a_fork_has_all_that_was_said_before_it_and_nothing_after(store: SqliteStore) -> None:
    session = await talk(store, "origin", 4, "k")
    whole, early = await fork(store, session, "whole"), await fork(store, session, "early", seq=2)
    assert (whole.scope, whole.session_key, whole.parent) == (session.scope, "k", "origin")
    session, early = await more(store, session, 1), await more(store, early, 2)
    assert await said(store, session) == turns("origin", 1, 5)
    assert await said(store, await known(store, "whole")) == turns("origin", 1, 4)
    assert await said(store, early) == [*turns("origin", 1, 2), *turns("early", 3, 4)]
    assert await texts(store, early) == await said(store, early)
    assert ((await shown(store, "whole")).messages, (await shown(store, "early")).messages) == (8, 8)
    assert (await shown(store, "early")).branch is False
    assert set(await listed(store)) == {"origin", "whole", "early"}
    assert await store.check(repair=False) == ()


async def test_a_fork_begins_with_the_log_of_the_epoch_it_leaves(store: SqliteStore) -> None:
    session = await more(store, await rotated(store, await talk(store, "origin", 4), 3), 2)
    forked = await fork(store, session, "fork")
    epoch = await store.epoch(A, forked, tokens=1000)
    assert (epoch.log, [past.seq for past in epoch.past]) == ("log before 3", [3, 4, 5, 6])
    early = await fork(store, session, "early", seq=1)
    epoch = await store.epoch(A, early, tokens=1000)
    assert (epoch.log, [past.seq for past in epoch.past]) == (None, [1])


async def test_an_unkeyed_origin_that_joins_a_key_does_not_take_its_fork_along(store: SqliteStore) -> None:
    session = await talk(store, "origin", 1)
    forked = await fork(store, session, "fork")
    session = await put(store, session, "hello", bind=SessionKey("k1"))
    assert (await known(store, "fork")).session_key is None
    forked = await put(store, forked, "hello", bind=SessionKey("k2"))
    assert (session.session_key, forked.session_key) == ("k1", "k2")
    await store.delete(A, session, now=NOW)
    assert {hit.session for hit in await store.search(A, forked.scope, "origin", limit=9)} == {"fork"}
    assert await store.check(repair=False) == ()


async def test_what_is_gone_is_not_read_as_empty(store: SqliteStore) -> None:
    session = await talk(store, "s", 2)
    await store.delete(A, session, now=NOW)
    with pytest.raises(SessionMoved):
        await store.transcript(A, session, limit=5)
    with pytest.raises(SessionMoved):
        await store.place(A, session)


async def test_a_fork_of_what_is_gone_is_refused(store: SqliteStore) -> None:
    session = await talk(store, "origin", 2)
    place = await store.place(A, session)
    await store.delete(A, session, now=NOW)
    forked = session.branched(SessionId("late"), LineageId("late"), place)
    with pytest.raises(SessionMoved):
        await store.begin(A, msgspec.structs.replace(forked, thread=ThreadId("late")), now=NOW)


# --- deletion ---


async def test_what_is_deleted_is_gone_and_its_id_starts_empty(store: SqliteStore) -> None:
    once = Replay("key-1", b"print")
    await store.reserve(A, once, now=NOW)
    session = await put(store, fresh("s", "k"), "the zebra", replay=once)
    other = await talk(store, "other", 1, "k")
    tip = await more(store, await rotated(store, await more(store, session, 3), 3), 1)
    await store.delete(A, tip, now=NOW)
    for name in ("s", tip.id):
        assert await store.find(A, SessionId(name)) is None
        assert await store.card(A, SessionId(name)) is None
    assert await listed(store, include_children=True) == ["other"]
    assert await store.search(A, other.scope, "zebra", limit=5) == ()
    assert await store.reserve(A, once, now=NOW) == Reserved()
    with pytest.raises(SessionMoved):
        await more(store, tip, 1)
    assert await said(store, await talk(store, "s", 1)) == turns("s", 1, 1)
    assert await store.check(repair=False) == ()


async def test_late_writers_to_a_condemned_thread_are_refused_before_its_rows_are_gone(store: SqliteStore) -> None:
    session = await talk(store, "s", 500)
    at = await store.place(A, session, await entry(store, session, 2))

    async def late() -> None:
        while await store.find(A, SessionId("s")) is not None:
            await asyncio.sleep(0)
        for attempt in (more(store, session, 1), rotated(store, session, 400), branch(store, session, at, "late")):
            with pytest.raises(SessionMoved):
                await attempt
        assert await store.check(repair=False) == (), "half erased is in order"

    await asyncio.gather(store.delete(A, session, now=NOW), late())
    assert await store.check(repair=False) == ()


async def test_imported_history_goes_with_the_last_that_stands_on_it(store: SqliteStore) -> None:
    exchanges = imported(("q1", "a1"), ("q2", "a2"), ("q3", "a3"))
    session = await put(store, fresh("s", imported=exchanges), "s 1", "re s 1", imported=exchanges)
    forked = await fork(store, session, "fork")
    early = await store.place(A, session, "msg_import_2_0")
    half = msgspec.structs.replace(
        session.branched(SessionId("half"), LineageId("half"), early), root=SessionId("half"), thread=ThreadId("half")
    )
    half = await store.begin(A, half, now=NOW)
    assert await said(store, half) == ["q1", "a1", "q2", "a2"]
    await store.delete(A, session, now=NOW)
    assert await said(store, await known(store, "fork")) == ["q1", "a1", "q2", "a2", "q3", "a3", "s 1", "re s 1"]
    assert await store.check(repair=False) == ()
    await store.delete(A, await known(store, forked.id), now=NOW)
    half = await known(store, "half")
    assert (await said(store, half), half.parent) == (["q1", "a1", "q2", "a2"], None)
    await store.delete(A, half, now=NOW)
    assert await store.check(repair=False) == ()


@pytest.mark.parametrize("order", list(itertools.permutations(["origin", "five", "three", "deep"])))
async def test_forks_stay_whole_in_whatever_order_threads_are_deleted(
    store: SqliteStore, order: tuple[str, ...]
) -> None:
    """Two forks of one thread at different places, and a fork of a fork; each goes on by itself."""
    origin = await talk(store, "origin", 6)
    five = await more(store, await fork(store, origin, "five", seq=5), 2)
    three = await more(store, await fork(store, origin, "three", seq=3), 1)
    deep = await more(store, await fork(store, five, "deep", seq=6), 2)
    expected = {
        "origin": turns("origin", 1, 6),
        "five": [*turns("origin", 1, 5), *turns("five", 6, 7)],
        "three": [*turns("origin", 1, 3), *turns("three", 4, 4)],
        "deep": [*turns("origin", 1, 5), *turns("five", 6, 6), *turns("deep", 7, 8)],
    }
    assert {s.root: await said(store, s) for s in (origin, five, three, deep)} == expected
    for gone in order:
        await store.delete(A, await known(store, gone), now=NOW)
        del expected[gone]
        for name, wanted in expected.items():
            session = await known(store, name)
            assert await said(store, session) == wanted
            assert await texts(store, session) == wanted
            assert (await shown(store, name)).messages == len(wanted)
            for seq in range(1, session.last_seq + 1):
                assert (await store.place(A, session, await entry(store, session, seq))).seq == seq
        assert await store.check(repair=False) == ()
    assert await listed(store, include_children=True) == []


async def test_a_fork_of_a_branch_after_rotations_outlives_its_origin(store: SqliteStore) -> None:
    origin = await rotated(store, await talk(store, "origin", 6), 4)
    side = await branch(store, origin, await store.place(A, origin, await entry(store, origin, 2)), "side 3")
    side = await more(store, side, 3)
    forked = await more(store, await fork(store, side, "fork"), 1)
    late = await fork(store, forked, "late", seq=2)
    expected = [*turns("origin", 1, 2), "side 3", "re side 3", *turns("origin", 4, 6), *turns("fork", 7, 7)]
    assert await said(store, forked) == expected
    await store.delete(A, origin, now=NOW)
    forked = await known(store, "fork")
    assert (await said(store, forked), forked.parent) == (expected, None)
    assert await said(store, await known(store, "late")) == turns("origin", 1, 2)
    again = await branch(store, forked, await store.place(A, forked, await entry(store, forked, 1)), "edited")
    assert await said(store, again) == [*turns("origin", 1, 1), "edited", "re edited"]
    assert await store.check(repair=False) == ()
    await store.delete(A, late, now=NOW)
    assert await said(store, await known(store, "fork")) == [*turns("origin", 1, 1), "edited", "re edited"]
    assert await store.check(repair=False) == ()


async def test_a_fork_that_a_turn_holds_while_its_origin_goes_must_be_looked_up_again(store: SqliteStore) -> None:
    origin = await talk(store, "origin", 3)
    held = await more(store, await fork(store, origin, "fork"), 1)
    await store.delete(A, origin, now=NOW)
    with pytest.raises(SessionMoved):
        await more(store, held, 1)
    assert await said(store, await more(store, await known(store, "fork"), 1)) == [
        *turns("origin", 1, 3),
        *turns("fork", 4, 5),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_random_trees_stay_in_order(store: SqliteStore, seed: int) -> None:
    """Turns, branches, rotations, forks and deletions by chance, against a plain model of what was said."""
    chance = random.Random(seed)
    paths: dict[str, list[str]] = {}
    for number in range(150):
        name = f"t{number}"
        match chance.choice(["new", "turn", "turn", "turn", "branch", "rotate", "fork", "fork", "delete"]):
            case "new":
                paths[name] = await said(store, await talk(store, name, 2))
            case "delete" if len(paths) > 4:
                gone = chance.choice(sorted(paths))
                await store.delete(A, await known(store, gone), now=NOW)
                del paths[gone]
            case kind if paths:
                chosen = chance.choice(sorted(paths))
                session = await known(store, chosen)
                seq = chance.randint(1, session.last_seq)
                if kind == "turn":
                    paths[chosen] += turns(chosen, session.last_seq + 1, session.last_seq + 1)
                    await more(store, session, 1)
                elif kind == "fork":
                    paths[name] = paths[chosen][: 2 * seq]
                    await fork(store, session, name, seq=seq)
                elif kind == "rotate" and session.from_seq < session.last_seq:
                    await rotated(store, session, chance.randint(session.from_seq + 1, session.last_seq))
                elif kind == "branch" and seq < session.last_seq:
                    place = await store.place(A, session, await entry(store, session, seq))
                    paths[chosen] = [*paths[chosen][: 2 * seq], name, f"re {name}"]
                    await branch(store, session, place, name)
        for name, wanted in paths.items():
            session = await known(store, name)
            assert await said(store, session) == wanted
            assert (await shown(store, session.id)).messages == len(wanted)
    assert await store.check(repair=False) == ()
    assert sorted({card.root for card in await store.cards(A, limit=1000)}) == sorted(paths)


async def test_not_a_word_of_a_deleted_session_is_left_in_the_files(store: SqliteStore, tmp_path: Path) -> None:
    """Among other sessions, with a log, a title, a fork, imported history, views, a run and steps that span many
    pages."""
    exchanges = imported(("secretaxolotl asked", "secretaxolotl answered"))
    doomed = fresh("doomed", "k", imported=exchanges)
    doomed = await put(store, doomed, "secretaxolotl first", imported=exchanges)
    kept = await talk(store, "kept", 1, "k")
    for number in range(60):
        doomed = await put(store, doomed, f"secretaxolotl{number} " + "words and more words " * (number * 10))
        kept = await put(store, kept, f"harmless{number} " + "words and more words " * (number * 10))
    forked = await fork(store, kept, "forked", seq=3)
    child = doomed.rotated(SessionId("child"), from_seq=30)
    doomed = await store.rotate(A, doomed, child, log="secretaxolotl in the log", now=NOW)
    await store.amend(A, doomed, now=NOW, title="Of the secretaxolotl")
    kept_as = Keep(kind="response", request=b'{"instructions":"secretaxolotl"}', metadata={"secretaxolotl": "yes"})
    doomed = await put(store, doomed, "seen", keep=kept_as)
    views = SqliteViews(store, Counted())
    queue = SqliteQueue(store)
    await views.describe(A, doomed, {"of": "secretaxolotl"})
    going = Run(
        id=StepId("going"),
        kind="response",
        session=SessionId("doomed"),
        status="queued",
        created_at=NOW,
        updated_at=NOW,
        turn=b'{"say":"secretaxolotl"}',
    )
    await queue.enqueue(A, going, keep=kept_as, replay=None)
    await queue.journal(A, going.id, [TextDelta("secretaxolotl")], fence=0, now=NOW)

    def left() -> int:
        files = [path for path in tmp_path.iterdir() if path.name.startswith("store.db")]
        return sum(path.read_bytes().lower().count(b"secretaxolotl") for path in files)

    assert left() > 100
    await store.delete(A, doomed, now=NOW)
    assert left() == 0
    assert len(await said(store, kept)) == 122
    assert await said(store, forked) == (await said(store, kept))[:6]
    assert len(await store.search(A, kept.scope, "harmless59", limit=5)) == 1
    assert await store.check(repair=False) == ()


async def test_not_a_word_of_an_expired_session_is_left_in_the_files(store: SqliteStore, tmp_path: Path) -> None:
    await put(store, fresh("unnamed", named=False), "secretaxolotl " * 20)
    await talk(store, "kept", 5)
    later = NOW + timedelta(days=8)
    assert await store.tidy(unnamed_before=later, replays_before=NOW, limit=10) == 1
    files = [path for path in tmp_path.iterdir() if path.name.startswith("store.db")]
    assert not [path for path in files if b"secretaxolotl" in path.read_bytes()]


async def test_a_thread_can_be_deleted_twice_at_once(store: SqliteStore) -> None:
    session = await talk(store, "s", 30)
    await asyncio.gather(store.delete(A, session, now=NOW), store.delete(A, session, now=NOW))
    await store.delete(A, session, now=NOW)
    assert await store.find(A, SessionId("s")) is None
    assert await store.check(repair=False) == ()


async def test_a_fork_of_a_fork_stays_whole_when_both_others_are_dropped_together(store: SqliteStore) -> None:
    origin = await talk(store, "origin", 5)
    fork_of_it = await more(store, await fork(store, origin, "fork"), 1)
    await fork(store, fork_of_it, "deep", seq=3)
    for name in ("origin", "fork"):
        await store._write(lambda db, name=name: db.execute("UPDATE thread SET named = 0 WHERE root = ?", (name,)))
    assert await store.tidy(unnamed_before=NOW + timedelta(days=8), replays_before=NOW, limit=10) == 2
    assert await said(store, await known(store, "deep")) == turns("origin", 1, 3)
    assert await store.check(repair=False) == ()


async def test_a_branch_before_the_first_epoch_of_a_fork_has_all_that_was_said(store: SqliteStore) -> None:
    exchanges = imported(("q1", "a1"), ("q2", "a2"))
    session = await put(store, fresh("s", imported=exchanges), "s 1", "re s 1", imported=exchanges)
    session = await rotated(store, await more(store, session, 3), 4)
    forked = await fork(store, session, "fork")
    await store.delete(A, session, now=NOW)
    forked = await known(store, "fork")
    early = await branch(store, forked, await store.place(A, forked, await entry(store, forked, 3)), "other way")
    assert await texts(store, early) == ["q1", "a1", "q2", "a2", "s 1", "re s 1", "other way", "re other way"]


async def test_a_branch_is_refused_when_what_it_leaves_is_gone_and_its_id_is_anothers(store: SqliteStore) -> None:
    origin = await talk(store, "origin", 3)
    forked = await more(store, await fork(store, origin, "fork"), 1)
    at = await store.place(A, forked, await entry(store, forked, 2))
    late = msgspec.structs.replace(
        forked.branched(SessionId("late"), LineageId("late"), at), root=SessionId("late"), thread=ThreadId("late")
    )
    await store.delete(A, origin, now=NOW)
    await talk(store, "origin", 1)
    for attempt in (branch(store, forked, at, "late"), store.begin(A, late, now=NOW)):
        with pytest.raises(SessionMoved):
            await attempt
    assert await store.check(repair=False) == ()


async def test_a_turn_that_was_under_way_when_its_session_was_ended_opens_it_again(store: SqliteStore) -> None:
    held = await talk(store, "s", 1)
    await store.amend(A, held, now=NOW, end="user_exit")
    session = await more(store, held, 1)
    assert (await shown(store, "s")).end_reason is None
    assert not (await known(store, "s")).ended
    assert not session.ended


async def test_an_end_that_comes_too_late_does_not_end_another_session_of_that_name(store: SqliteStore) -> None:
    held = await talk(store, "s", 1)
    await store.delete(A, held, now=NOW)
    await talk(store, "s", 1)
    with pytest.raises(SessionMoved):
        await store.amend(A, held, now=NOW, end="user_exit")
    assert (await shown(store, "s")).end_reason is None


async def test_a_deletion_that_was_interrupted_hides_everything_at_once(store: SqliteStore) -> None:
    """A process that dies right after the ids are gone leaves rows behind, until they are tidied away."""
    once = Replay("key-1", b"print")
    await store.reserve(A, once, now=NOW)
    session = await put(store, fresh("s", "k"), "the zebra", replay=once)
    await store._write(lambda db: ledger.condemn(db, A, session.thread, 0))
    await store.close()
    await store.open()
    again = await talk(store, "s", 1, "k")
    assert await store.search(A, again.scope, "zebra", limit=5) == ()
    assert await store.reserve(A, once, now=NOW) == Reserved()
    assert await store.tidy(unnamed_before=NOW, replays_before=NOW, limit=10) == 1
    assert await said(store, again) == turns("s", 1, 1)
    assert await store.check(repair=False) == ()


# --- places of a fork ---


async def test_a_fork_opens_where_its_own_path_does(store: SqliteStore) -> None:
    origin = await talk(store, "origin", 2)
    forked = await more(store, await fork(store, origin, "fork"), 1)
    later = step(origin, "a new topic", parent_message_id="")
    await store.commit(A, Commit(session=origin, step=later))
    assert await store.opening(A, forked) is None, "that was said after the fork, in another thread"
    deep = await more(store, await fork(store, forked, "deep"), 1)
    first = fresh("first")
    first = await store.commit(A, Commit(session=first, step=step(first, "hi", parent_message_id=""), begins=True))
    second = await fork(store, await more(store, first, 1), "second")
    second = await store.commit(A, Commit(session=second, step=step(second, "again", parent_message_id="")))
    third = await fork(store, second, "third")
    opening = await store.opening(A, third)
    assert opening is not None
    assert (opening.seq, await store.opening(A, deep)) == (0, None)


async def test_the_deepest_words_are_found_though_they_are_shared_and_earlier_ones_are_not(store: SqliteStore) -> None:
    origin = await talk(store, "origin", 4)
    forked = await more(store, await fork(store, origin, "fork"), 1)
    side = await store.place(A, forked, await entry(store, forked, 2))
    planned = forked.branched(SessionId("side"), LineageId("side"), side)
    job = step(planned, "tick", source="job", rolling=planned.rolling)
    await store.commit(A, Commit(session=planned, step=job, branches=True))
    found = await store.matching(A, forked, [b"origin 4", b"origin 3", b"origin 2"])
    assert found is not None
    assert (found[0], found[1].seq) == (0, 4)
    found = await store.matching(A, forked, [b"origin 2"])
    assert found is not None
    assert (found[1].lineage, found[1].seq) == (origin.lineage, 2), "the one on its own path"


async def test_the_place_before_words_is_found_behind_what_others_said_since_they_were_forked(
    store: SqliteStore,
) -> None:
    forked = await fork(store, await talk(store, "origin", 3), "fork")
    job = step(forked, "tick", source="job", rolling=forked.rolling)
    forked = await store.commit(A, Commit(session=forked, step=job))
    found = await store.matching(A, forked, [b"origin 3"])
    assert found is not None
    assert (found[1].seq, (await store.before(A, found[1])).seq) == (4, 2)


async def test_who_holds_a_fork_while_its_origin_goes_is_not_given_less_than_was_said(store: SqliteStore) -> None:
    origin = await talk(store, "origin", 2)
    held = await more(store, await fork(store, origin, "fork"), 1)
    await store._write(lambda db: ledger.condemn(db, A, origin.thread, 0))
    with pytest.raises(SessionMoved):
        await store.epoch(A, held, tokens=1000)
    assert await texts(store, await store.tip(A, held.lineage)) == [*turns("origin", 1, 2), *turns("fork", 3, 3)]


async def test_words_that_a_fork_shares_on_several_paths_are_found_on_the_sessions_own(store: SqliteStore) -> None:
    origin = await talk(store, "origin", 2)
    job = step(origin, "tick", source="job", rolling=origin.rolling)
    later = await store.commit(A, Commit(session=origin, step=job))
    early = await fork(store, later, "fork", seq=2)
    at = await store.place(A, later)
    side = await store.commit(
        A,
        Commit(
            session=(planned := early.branched(SessionId("side"), LineageId("side"), at)),
            step=step(planned, "side", rolling=b"side"),
            branches=True,
        ),
    )
    for path, seq in ((early, 2), (side, 3)):
        found = await store.matching(A, path, [b"origin 2"])
        assert found is not None
        assert found[1].seq == seq
