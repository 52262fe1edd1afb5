"""What a store has at hand of a scope: it saves reading, and never says anything that the file does not."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from tests.contract.test_archive import branch, entry, more, talk
from tests.contract.test_memory_port import MODEL, World, all_of, claim, reversal, seen, similarities, vector
from tests.contract.test_store import NOW, A, fresh

from everthread.core.claim import ClaimId
from everthread.core.ids import SessionKey
from everthread.core.memory import Forget, View
from everthread.storage import near, terms
from everthread.storage import seen as claims_seen
from everthread.storage.near import Block


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    opened = World(tmp_path / "store.db")
    await opened.store.open()
    yield opened
    await opened.store.close()


# --- vectors ---


def block_of(*texts: str) -> Block:
    block = Block(len(vector("")))
    block.add((number, vector(text), "l", number) for number, text in enumerate(texts))
    return block


def test_a_chunk_whose_vector_is_written_again_is_there_once() -> None:
    block = block_of("aaa", "bbb")
    assert block.nearest(similarities, vector("ccc"), lambda *_: True, 5) == {}
    block.add([(0, vector("ccc"), "l", 0)])
    assert len(block.vectors) == len(block.chunks) == 2
    assert list(block.nearest(similarities, vector("ccc"), lambda *_: True, 5)) == [0]


def test_what_is_not_seen_takes_no_place_from_what_is() -> None:
    block = block_of(*(["ab"] * 300), "abc")
    found = block.nearest(similarities, vector("ab"), lambda _, seq: seq == 300, 1)
    assert list(found) == [300], "it is the least similar of all"


def test_chunks_are_found_where_they_went_when_the_oldest_are_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near, "MOST_VECTORS", 3)
    monkeypatch.setattr(near, "SPARE", 1)
    block = block_of("a", "b", "c", "d", "e")
    assert [block.place(number) for number in range(5)] == [None, None, ("l", 2), ("l", 3), ("l", 4)]
    assert block.compared(similarities, vector("d"), range(5)) == {2: 0.0, 3: 1.0, 4: 0.0}


async def test_vectors_of_another_model_are_not_compared_and_do_not_disturb(world: World) -> None:
    session = await talk(world.store, "s", 2, "k")
    await world.read()
    assert await world.found(all_of(session), like="re") == {("s", 1), ("s", 2)}
    short = await world.memory.search(all_of(session), words=["re"], vector=b"\1\1", model="another", limit=5)
    assert {hit.similar for hit in short} == {0.0}
    no = short[0].passage.no
    await world.memory.embedded([(no, b"\1\2")], model="another")
    hits = await world.memory.search(all_of(session), words=["re"], vector=b"\1\2", model="another", limit=5)
    assert [hit.passage.no for hit in hits if hit.similar] == [no]
    assert await world.found(all_of(session), like="re") == {("s", 1), ("s", 2)}


async def test_words_and_vectors_agree_on_what_came_after_the_scope_was_at_hand(world: World) -> None:
    session = await talk(world.store, "s", 3, "k")
    await world.read()
    await world.found(all_of(session), "re", like="re")
    session = await more(world.store, session, 2)
    assert await world.found(all_of(session), "re") == {("s", n) for n in range(1, 6)}, "without vectors yet"
    await world.read()
    hits = await world.memory.search(all_of(session), words=["re"], vector=vector("re"), model=MODEL, limit=50)
    assert {hit.passage.seq for hit in hits if hit.lexical and hit.similar} == {1, 2, 3, 4, 5}


async def test_a_scope_that_is_gone_is_not_at_hand(world: World) -> None:
    session, other = await talk(world.store, "s", 2, "k"), await talk(world.store, "t", 1, "k")
    await world.read()
    assert await world.found(all_of(session), "re", like="re") == {("s", 1), ("s", 2), ("t", 1)}
    await world.store.delete(A, session, now=NOW)
    assert await world.found(all_of(other), "re", like="re") == {("t", 1)}
    await world.store.delete(A, other, now=NOW)
    assert await world.found(all_of(other), "re", like="re") == set()


@pytest.mark.parametrize("seed", range(6))
async def test_what_is_at_hand_finds_exactly_what_the_file_has(world: World, seed: int) -> None:
    """A second store of the same file reads all of it anew for each search."""
    chance = random.Random(seed)
    beside = World(world.path, serving=False)
    await beside.store.open()
    sessions = [await talk(world.store, f"s{number}", 2, f"k{number % 2}") for number in range(4)]
    for number in range(25):
        at = chance.randrange(len(sessions))
        match chance.choice(("say", "say", "read", "branch", "delete", "forget")):
            case "say":
                sessions[at] = await more(world.store, sessions[at], chance.randint(1, 3))
            case "read":
                await world.read()
            case "branch":
                where = await world.store.place(A, sessions[at], await entry(world.store, sessions[at], 1))
                sessions.append(await branch(world.store, sessions[at], where, "re another way"))
            case "delete":
                gone = sessions[at]
                await world.store.delete(A, gone, now=NOW)
                sessions = [session for session in sessions if session.thread != gone.thread]
                sessions += [await talk(world.store, f"new {each}{number}", 1, f"k{number % 2}") for each in "st"]
            case "forget":
                what = Forget(text=f"s{chance.randint(0, 3)} {chance.randint(1, 3)}")
                await world.memory.forget(A, sessions[at].scope, what, now=NOW, dry_run=False)
        for session in chance.sample(sessions, 2):
            view = chance.choice((seen(session), all_of(session)))
            asked = {"words": ["re", "s1", "2"], "vector": vector("re s"), "model": MODEL, "limit": 200}
            ours = await world.memory.search(view, **asked)  # type: ignore[arg-type]
            theirs = await beside.memory.search(view, **asked)  # type: ignore[arg-type]
            assert {hit.passage.no: hit for hit in ours} == {hit.passage.no: hit for hit in theirs}
    await beside.store.close()


# --- how many passages a scope has ---


async def counts(world: World) -> tuple[set[int], set[int]]:
    """What is at hand for each scope, and what the file says."""
    scopes = await world.store.searching(lambda db: [no for (no,) in db.execute("SELECT no FROM scope")])
    return (
        {await world.store.searching(lambda db, no=no: world.store.vectors.passages(db, no)) for no in scopes},
        {await world.store.searching(lambda db, no=no: terms.counted(db, "chunk_fts", no)[0]) for no in scopes},
    )


async def test_a_scope_is_counted_on_and_counted_anew_when_something_left_it(world: World) -> None:
    session, other = await talk(world.store, "s", 3, "k"), await talk(world.store, "t", 1)
    assert await counts(world) == ({6, 2}, {6, 2})
    session = await more(world.store, session, 2)
    assert await counts(world) == ({10, 2}, {10, 2})
    other = await world.say(other, "mine now", bind=SessionKey("k"))
    at_hand, in_file = await counts(world)
    assert at_hand == in_file
    await world.store.delete(A, session, now=NOW)
    at_hand, in_file = await counts(world)
    assert at_hand == in_file
    await talk(world.store, "u", 2, "k")
    at_hand, in_file = await counts(world)
    assert at_hand == in_file, "also when numbers are used again"


async def test_only_so_many_scopes_are_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near, "MOST_COUNTED", 2)
    for number in range(5):
        session = await talk(world.store, f"s{number}", 1, f"k{number}")
        assert await world.found(all_of(session), "re") == {(f"s{number}", 1)}
        assert len(world.store.vectors._counted) <= 2


# --- standing claims ---


async def standing(world: World, view: View) -> list[str]:
    """Asked twice: the second time it is at hand."""
    first = await world.memory.standing(view)
    queries: list[str] = []
    await world.store.searching(lambda db: db.set_trace_callback(queries.append))
    assert await world.memory.standing(view) == first
    await world.store.searching(lambda db: db.set_trace_callback(None))
    assert not [query for query in queries if "FROM claim" in query]
    return [one.id for one in first]


async def test_what_stands_is_known_anew_after_every_change_of_a_claim(world: World) -> None:
    session = await world.say(fresh("s", "k"), "x")
    step = await world.last(session)
    view = seen(session)
    assert await standing(world, view) == []
    old = claim("old", step, 1)
    await world.remember(session, old)
    assert await standing(world, view) == ["old"]
    closed = msgspec.structs.replace(old, state="reversed", superseded_by=ClaimId("new"))
    await world.remember(session, closed, claim("new", step, 2, supersedes=old.id))
    assert await standing(world, view) == ["new"]
    await world.remember(session, claim("new", step, 2, supersedes=old.id, quote="as corrected"))
    (corrected,) = await world.memory.standing(view)
    assert corrected.quote == "as corrected"
    await world.remember(session, claim("by hand", None, 0))
    assert set(await standing(world, view)) == {"new", "by hand"}
    await world.memory.forget(A, session.scope, Forget(claim=ClaimId("by hand")), now=NOW, dry_run=False)
    assert await standing(world, view) == ["new"]
    await world.remember(session, claim("new", step, 2, supersedes=old.id, state="retracted"))
    assert await standing(world, view) == []


async def test_what_stands_is_told_apart_by_path(world: World) -> None:
    first = await world.say(fresh("s", "k"), "hello")
    two, _, _ = await reversal(world, first)
    assert await standing(world, seen(two)) == ["new"]
    assert await standing(world, all_of(two)) == ["new"]
    other = await world.say(fresh("t", "k"), "hello")
    assert await standing(world, seen(other)) == ["new"]
    place = await world.store.place(A, two, (await world.store.transcript(A, two, limit=100)).entries[3].id)
    edited = await branch(world.store, two, place, "we stay with microservices")
    assert await standing(world, seen(edited)) == ["old"]
    assert await standing(world, seen(two)) == ["new"]
    assert await standing(world, seen(other)) == ["old"], "the other thread goes on where it was edited"
    assert await standing(world, all_of(two)) == ["old"]


async def test_what_stands_changes_with_a_thread_that_comes_or_goes(world: World) -> None:
    session = await world.say(fresh("s", "k"), "x")
    alone = await world.say(fresh("t"), "y")
    await world.remember(session, claim("mine", await world.last(session), 1))
    await world.remember(alone, claim("theirs", await world.last(alone), 2))
    assert await standing(world, seen(session)) == ["mine"]
    joined = await world.say(alone, "hello", bind=SessionKey("k"))
    assert await standing(world, seen(session)) == ["theirs", "mine"]
    await world.store.delete(A, joined, now=NOW)
    assert await standing(world, seen(session)) == ["mine"]


async def test_what_another_scope_is_told_leaves_what_is_at_hand(world: World) -> None:
    session, other = await world.say(fresh("s", "k"), "x"), await world.say(fresh("t", "k2"), "y")
    await world.remember(session, claim("mine", await world.last(session), 1))
    assert await standing(world, seen(session)) == ["mine"]
    kept = await world.memory.standing(seen(session))
    await world.remember(other, claim("theirs", await world.last(other), 1))
    await world.say(session, "and on")
    await world.read()
    assert await world.memory.standing(seen(session)) is kept


async def test_a_claim_written_for_somebody_who_left_is_seen_all_the_same(world: World) -> None:
    session = await world.say(fresh("s", "k"), "x")
    step = await world.last(session)
    for number in range(20):
        writing = asyncio.ensure_future(world.remember(session, claim(f"c{number}", step, number)))
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await world.memory.standing(seen(session))
    await world.store.ping()
    await asyncio.sleep(0.01)
    listed = [name for name, _ in await world.listed(seen(session))]
    assert sorted(await standing(world, seen(session))) == sorted(listed)


async def test_only_so_many_views_are_at_hand(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims_seen, "MOST_HELD", 2)
    for number in range(5):
        session = await world.say(fresh(f"s{number}", f"k{number}"), "x")
        await world.remember(session, claim(f"c{number}", await world.last(session), 1))
        assert [one.id for one in await world.memory.standing(seen(session))] == [f"c{number}"]
        assert sum(map(len, world.store.standing._known.values())) <= 2


async def test_a_tool_beside_a_server_sees_what_the_server_learns(world: World) -> None:
    session = await world.say(fresh("s", "k"), "x")
    tool = World(world.path, serving=False)
    await tool.store.open()
    assert await tool.memory.standing(seen(session)) == ()
    await world.remember(session, claim("c", await world.last(session), 1))
    assert [one.id for one in await tool.memory.standing(seen(session))] == ["c"]
    await tool.store.close()
