"""What every memory promises. A new engine is one more parameter of the `world` fixture."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from tests.contract.test_archive import branch, fork, known, more, rotated, talk
from tests.contract.test_store import NOW, A, B, bring, fresh, imported, put, step, texts

from everthread.core.claim import Block, Claim, ClaimId, Span
from everthread.core.ids import ScopeId, SessionId, SessionKey, StepId, Tenant, ThreadId
from everthread.core.memory import Chances, Forget, Kin, Kindred, Passage, View, Work
from everthread.core.messages import Message
from everthread.core.ports import Commit
from everthread.core.session import Session
from everthread.errors import StoreUnavailable
from everthread.storage.memory import SqliteMemory
from everthread.storage.sqlite import SqliteStore

MODEL = "letters"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def vector(text: str) -> bytes:
    """How often each letter occurs: a space in which texts with the same letters are near."""
    return bytes(min(255, text.lower().count(letter)) for letter in LETTERS)


def similarities(query: bytes, vectors: Sequence[bytes]) -> list[float]:
    def length(one: bytes) -> float:
        return float(sum(value * value for value in one)) ** 0.5

    def cosine(one: bytes) -> float:
        norms = length(query) * length(one)
        return sum(a * b for a, b in zip(query, one, strict=True)) / norms if norms else 0.0

    return [cosine(one) if len(one) == len(query) else 0.0 for one in vectors]


class World:
    """A store and the memory beside it."""

    def __init__(self, path: Path, *, serving: bool = True) -> None:
        self.path = path
        self.store = SqliteStore(path, serving=serving, longest_wait=0.3)
        self.memory = SqliteMemory(self.store, similarities)

    async def restart(self) -> World:
        await self.store.close()
        again = World(self.path)
        await again.store.open()
        return again

    async def found(self, view: View, *words: str, like: str | None = None, limit: int = 50) -> set[tuple[str, int]]:
        """The sessions and numbers of what a search finds."""
        hits = await self.memory.search(
            view, words=words, vector=vector(like) if like is not None else None, model=MODEL, limit=limit
        )
        return {(hit.passage.session, hit.passage.seq) for hit in hits}

    async def read(self) -> list[Work]:
        """Gives all that is waiting its vectors; what it was."""
        works = list(await self.memory.waiting(limit=1000, now=NOW + timedelta(days=1)))
        for work in works:
            while passages := await self.memory.unembedded(work, model=MODEL, limit=3):
                await self.memory.embedded([(one.no, vector(one.text)) for one in passages], model=MODEL)
            await self.memory.done(work)
        return works

    async def covered(self, work: Work) -> set[tuple[int, str]]:
        return {(p.seq, p.text) for p in await self.memory.unembedded(work, model=MODEL, limit=1000)}

    async def say(self, session: Session, text: str, answer: str = "Noted.", **more: object) -> Session:
        return await put(self.store, session, text, answer, **more)

    async def last(self, session: Session, tenant: Tenant = A) -> StepId:
        """The id of a path's newest step."""
        told = await self.memory.opened(View(tenant, session.scope, session), session.last_seq)
        assert told is not None
        return told.step

    async def remember(self, session: Session, *claims: Claim, **more: object) -> None:
        await self.memory.remember(A, session.scope, claims, **more)  # type: ignore[arg-type]

    async def listed(self, view: View, **wanted: object) -> list[tuple[str, str]]:
        found = await self.memory.claims(view, **{"limit": 100, **wanted})  # type: ignore[arg-type]
        return [(claim.id, claim.state) for claim in found]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    opened = World(tmp_path / "store.db")
    await opened.store.open()
    yield opened
    await opened.store.close()


def seen(session: Session) -> View:
    return View(A, session.scope, session)


def all_of(session: Session) -> View:
    return View(A, session.scope)


def claim(name: str, step: StepId | None, seq: int, **more: object) -> Claim:
    given: dict[str, object] = {
        "id": ClaimId(name),
        "kind": "fact",
        "quote": name,
        "step": step,
        "seq": seq,
        "span": Span(0, 0, len(name)),
        "speaker": "user",
        "said_at": NOW + timedelta(minutes=seq),
        "recorded_at": NOW + timedelta(minutes=seq),
    }
    return Claim(**{**given, **more})  # type: ignore[arg-type]


async def reversal(world: World, session: Session) -> tuple[Session, Claim, Claim]:
    """Two steps, the second of which reverses what the first says."""
    one = await world.say(session, "we use microservices")
    old = claim("old", await world.last(one), 1, quote="we use microservices")
    two = await world.say(one, "we merged them back into a monolith")
    new = claim("new", await world.last(two), 2, quote="merged back into a monolith", supersedes=old.id)
    old = msgspec.structs.replace(old, state="reversed", superseded_by=new.id, valid_to=NOW, closed_at=NOW)
    await world.remember(two, old, new)
    return two, old, new


# --- what is waiting to be read ---


async def test_every_step_waits_to_be_read_once_and_across_a_restart(world: World) -> None:
    session = await world.say(await world.say(fresh("s", "k"), "one"), "two")
    again = await world.restart()
    works = await again.memory.waiting(limit=10, now=NOW)
    assert [work.kind for work in works] == ["step", "step"]
    told = [await again.memory.told(A, StepId(work.name)) for work in works]
    assert [(t.seq, [m.text for m in t.messages], t.session_key) for t in told if t] == [
        (1, ["one", "Noted."], "k"),
        (2, ["two", "Noted."], "k"),
    ]
    assert all(t is not None and t.session == session and t.said_at == NOW for t in told)
    assert await again.memory.behind(A, session.scope)
    for work in works:
        await again.memory.done(work)
    assert await again.memory.waiting(limit=10, now=NOW) == ()
    assert not await again.memory.behind(A, session.scope)
    await again.store.close()


async def test_the_scopes_that_are_asked_for_come_first_then_the_oldest(world: World) -> None:
    await world.say(fresh("one", "k1"), "x")
    wanted = await world.say(fresh("two", "k2"), "y")
    await world.say(fresh("three", "k3"), "z")
    works = await world.memory.waiting(limit=10, now=NOW, first=[(A, wanted.scope), (B, wanted.scope)])
    told = [await world.memory.told(A, StepId(work.name)) for work in works]
    assert [t.session.root for t in told if t] == ["two", "one", "three"]
    assert len(await world.memory.waiting(limit=2, now=NOW)) == 2


async def test_what_fails_is_tried_again_at_its_time_and_given_up_with_the_reason(world: World) -> None:
    session = await world.say(fresh("s"), "x")
    (work,) = await world.memory.waiting(limit=10, now=NOW)
    later = NOW + timedelta(minutes=5)
    await world.memory.failed(work, failure="no encoder", again=later, now=NOW)
    assert await world.memory.waiting(limit=10, now=NOW) == ()
    (again,) = await world.memory.waiting(limit=10, now=later)
    assert (again.no, again.attempts) == (work.no, 1)
    lag = await world.memory.lag()
    assert (lag.waiting, lag.oldest, lag.dead) == (1, NOW + timedelta(seconds=1), 0)
    await world.memory.failed(again, failure="still none", again=None, now=later)
    assert await world.memory.waiting(limit=10, now=later) == ()
    assert not await world.memory.behind(A, session.scope)
    (dead,) = await world.memory.dead(A, limit=10)
    assert (dead.work.name, dead.work.attempts, dead.failure, dead.at) == (work.name, 2, "still none", later)
    assert await world.memory.dead(B, limit=10) == ()
    assert len(await world.memory.dead(limit=10)) == 1
    lag = await world.memory.lag()
    assert (lag.waiting, lag.oldest, lag.dead) == (0, None, 1)


async def test_what_is_deleted_is_not_read(world: World) -> None:
    session = await talk(world.store, "s", 3)
    session = await rotated(world.store, session, 3)
    assert len(await world.memory.waiting(limit=10, now=NOW)) == 4
    step = await world.last(session)
    await world.store.delete(A, session, now=NOW)
    assert await world.memory.waiting(limit=10, now=NOW) == ()
    assert await world.memory.told(A, step) is None
    assert await world.store.check(repair=False) == ()


async def test_a_step_under_a_key_is_embedded_at_once_one_without_when_it_leaves_the_window(world: World) -> None:
    keyed = await talk(world.store, "keyed", 1, "k")
    alone = await talk(world.store, "alone", 4)
    alone = await rotated(world.store, alone, 3)
    works = await world.memory.waiting(limit=10, now=NOW)
    assert [(w.kind, len(await world.covered(w))) for w in works] == [
        ("step", 2), ("step", 0), ("step", 0), ("step", 0), ("step", 0), ("session", 4),
    ]  # fmt: skip
    assert {seq for seq, _ in await world.covered(works[-1])} == {1, 2}
    assert works[-1].name == alone.id
    evicted = await world.memory.evicted(works[-1])
    assert [(told.seq, told.messages[0].text, told.session.id) for told in evicted] == [
        (1, "alone 1", alone.id),
        (2, "alone 2", alone.id),
    ]
    assert await world.memory.evicted(works[0]) == ()
    again = await rotated(world.store, await more(world.store, alone, 2), 5)
    newest = (await world.memory.waiting(limit=20, now=NOW))[-1]
    assert newest.name == again.id
    assert {seq for seq, _ in await world.covered(newest)} == {3, 4}
    assert keyed.session_key == "k"


async def test_vectors_of_another_model_do_not_count(world: World) -> None:
    session = await talk(world.store, "s", 1, "k")
    (work,) = await world.memory.waiting(limit=1, now=NOW)
    passages = await world.memory.unembedded(work, model=MODEL, limit=10)
    await world.memory.embedded([(p.no, vector(p.text)) for p in passages], model="another")
    assert await world.memory.unembedded(work, model="another", limit=10) == ()
    assert len(await world.memory.unembedded(work, model=MODEL, limit=10)) == 2
    assert await world.found(all_of(session), like="s 1") == set()
    await world.read()
    assert await world.found(all_of(session), like="s 1") == {("s", 1)}


async def test_a_vector_of_something_deleted_is_left_out(world: World) -> None:
    session = await talk(world.store, "s", 1, "k")
    (work,) = await world.memory.waiting(limit=1, now=NOW)
    passages = await world.memory.unembedded(work, model=MODEL, limit=10)
    await world.store.delete(A, session, now=NOW)
    await world.memory.embedded([(p.no, vector(p.text)) for p in passages], model=MODEL)
    assert await world.store.check(repair=False) == ()


# --- searching ---


async def test_a_passage_says_where_it_stands(world: World) -> None:
    long = "The heron flew. " * 100
    given = Message(
        role="user", raw=b'{"role":"user","content":"%s","name":"Ann"}' % long.encode(), text=long, name="Ann"
    )
    session = fresh("s", "k")
    said = step(session, "ignored", "I see the zebra.", input=(given,))
    session = await world.store.commit(A, Commit(session=session, step=said, begins=True))
    found = await world.memory.search(all_of(session), words=["heron"], vector=None, model=MODEL, limit=10)
    passages = sorted((hit.passage for hit in found), key=lambda p: p.start)
    assert "".join(p.text for p in passages) == long
    assert [p.start for p in passages] == [sum(len(p.text) for p in passages[:at]) for at in range(len(passages))]
    assert {(p.step, p.speaker, p.role, p.message, p.said_at) for p in passages} == {(said.id, "Ann", "user", 0, NOW)}
    assert all(hit.lexical > 0 and hit.similar == 0 for hit in found)
    (answer,) = await world.memory.search(all_of(session), words=["zebra"], vector=None, model=MODEL, limit=10)
    assert (answer.passage.message, answer.passage.speaker, answer.passage.start) == (1, "assistant", 0)
    assert (answer.passage.session, answer.passage.thread, answer.passage.lineage) == (
        "s", session.thread, session.lineage,
    )  # fmt: skip


async def test_words_and_vectors_each_find_their_own_and_both_scores_are_told(world: World) -> None:
    session = fresh("s", "k")
    for text in ("zebra zebra", "zzeebbrraa", "qqq"):
        session = await world.say(session, text, "x")
    await world.read()
    hits = await world.memory.search(all_of(session), words=["zebra"], vector=vector("zebra"), model=MODEL, limit=2)
    scores = {hit.passage.text: (hit.lexical > 0, round(hit.similar, 2)) for hit in hits}
    assert scores["zebra zebra"] == (True, 1.0)
    assert scores["zzeebbrraa"][0] is False
    assert scores["zzeebbrraa"][1] > 0.9
    assert "qqq" not in scores


async def numbered(world: World, session: Session) -> dict[str, Passage]:
    """The passages of a scope by their texts."""
    hits = await world.memory.search(all_of(session), words=["zebra"], vector=vector(LETTERS), model=MODEL, limit=50)
    return {hit.passage.text: hit.passage for hit in hits}


async def related(world: World, session: Session) -> tuple[Session, dict[str, Passage]]:
    """Three things that a person said, the last two of which are about the same as the first."""
    for text in ("zebra zoo", "zebra bazaar", "zebra azure"):
        session = await world.say(session, text, "Noted, zebra.")
    await world.read()
    known = await numbered(world, session)
    links = [("zebra zoo", "zebra bazaar"), ("zebra bazaar", "zebra azure")]
    kin = [Kin(known[one].no, known[other].no, Chances(0.75, 0.125)) for one, other in links]
    await world.memory.embedded([], model=MODEL, kin=kin)
    return session, known


async def test_what_is_to_be_compared_was_said_in_the_same_role_and_scope(world: World) -> None:
    session, other = fresh("s", "k"), fresh("o", "another")
    for text in ("zebra zoo", "zzeebbrraa", "qqq"):
        session = await world.say(session, text, "zebra")
    other = await world.say(other, "zebra", "x")
    await world.read()
    known = await numbered(world, session)
    near = await world.memory.nearest(known["zebra zoo"], vector("zebra zoo"), model=MODEL, limit=5)
    assert [passage.text for _, passage in near] == ["zzeebbrraa"]
    assert near[0][0] > 0.7
    assert not await world.memory.nearest(known["zebra zoo"], vector("zebra zoo"), model="another", limit=5)
    assert not await world.memory.nearest(known["zebra zoo"], vector(""), model=MODEL, limit=5)


async def test_what_a_person_said_just_before_is_known(world: World) -> None:
    _, known = await related(world, fresh("s", "k"))
    await world.say(fresh("o", "another"), "zebra", "x")
    earlier = await world.memory.just_before(known["zebra azure"])
    assert earlier is not None
    assert earlier.text == "zebra bazaar"
    assert await world.memory.just_before(known["zebra zoo"]) is None
    elsewhere = msgspec.structs.replace(known["zebra azure"], thread=ThreadId("another"))
    assert await world.memory.just_before(elsewhere) is None, "its number was given to another meanwhile"


async def test_what_somebody_said_long_before_is_not_just_before(world: World) -> None:
    session = fresh("s", "k")
    said = [("Ann", "zebra zoo"), *(("Ben", f"zebra {number}") for number in range(4)), ("Ann", "zebra azure")]
    for name, text in said:
        raw = msgspec.json.encode({"role": "user", "name": name, "content": text})
        named = step(session, text, input=(Message("user", raw, text, name),))
        session = await world.say(session, text, step=named)
    await world.read()
    known = await numbered(world, session)
    assert await world.memory.just_before(known["zebra azure"]) is None
    earlier = await world.memory.just_before(known["zebra 3"])
    assert earlier is not None
    assert earlier.text == "zebra 2"


async def test_what_goes_together_is_found_from_one_to_the_next(world: World) -> None:
    session, known = await related(world, fresh("s", "k"))
    found = await world.memory.kindred(all_of(session), [known["zebra azure"].no])
    assert {passage.text for passage in found.passages} == {"zebra zoo", "zebra bazaar", "zebra azure"}
    assert {(one.earlier, one.later) for one in found.kin} == {
        (known["zebra zoo"].no, known["zebra bazaar"].no),
        (known["zebra bazaar"].no, known["zebra azure"].no),
    }
    assert found.kin[0].chances == Chances(0.75, 0.125)


async def test_what_goes_together_is_found_from_a_step(world: World) -> None:
    session, _ = await related(world, fresh("s", "k"))
    found = await world.memory.kindred(all_of(session), steps=[await world.last(session)])
    assert {passage.text for passage in found.passages} == {"zebra zoo", "zebra bazaar", "zebra azure"}


async def test_kin_of_another_scope_or_tenant_is_not_seen(world: World) -> None:
    session, known = await related(world, fresh("s", "k"))
    other = await world.say(fresh("o", "another"), "zebra", "x")
    asked = [passage.no for passage in known.values()]
    assert await world.memory.kindred(all_of(other), asked) == Kindred()
    assert await world.memory.kindred(View(B, session.scope), asked) == Kindred()
    assert await world.memory.kindred(all_of(session), []) == Kindred()


async def test_kin_of_what_was_edited_away_is_not_seen(world: World) -> None:
    session, passages = await related(world, fresh("s", "k"))
    page = await world.store.transcript(A, session, limit=4)
    other = await branch(world.store, session, await world.store.place(A, session, page.entries[-1].id), "zebra opera")
    found = await world.memory.kindred(seen(other), [passages["zebra zoo"].no])
    assert {passage.text for passage in found.passages} == {"zebra zoo", "zebra bazaar"}


async def test_a_thread_that_joins_a_key_has_no_kin_in_what_it_leaves_behind(world: World) -> None:
    session, known = await related(world, fresh("s"))
    forked = await world.say(await fork(world.store, session, "forked"), "zebra fjord")
    await world.read()
    later = (await numbered(world, forked))["zebra fjord"]
    kin = [Kin(known["zebra zoo"].no, later.no, Chances(0.9, 0.0))]
    await world.memory.embedded([], model=MODEL, kin=kin)
    joined = await world.say(session, "hello", bind=SessionKey("k"))
    assert await world.store.check(repair=False) == ()
    found = await world.memory.kindred(all_of(joined), [known["zebra azure"].no])
    assert [len(found.passages), len(found.kin)] == [3, 2], "its own came along"
    await world.store.delete(A, joined, now=NOW)
    assert await world.store.check(repair=False) == (), "the fork has what it shared"


async def test_what_a_person_took_back_or_put_right_is_kin_of_nothing(world: World) -> None:
    session, known = await related(world, fresh("s", "k"))
    bazaar, azure = known["zebra bazaar"], known["zebra azure"]
    asked = [passage.no for passage in known.values() if passage.role == "user"]
    wrong = claim("wrong", azure.step or StepId(""), azure.seq)
    await world.remember(session, wrong)
    assert len((await world.memory.kindred(all_of(session), asked)).passages) == 3
    right = msgspec.structs.replace(claim("right", None, 0), supersedes=wrong.id, author="person")
    wrong = msgspec.structs.replace(wrong, state="reversed", superseded_by=right.id)
    await world.remember(session, right, wrong)
    found = await world.memory.kindred(all_of(session), asked)
    assert {passage.text for passage in found.passages} == {"zebra zoo", "zebra bazaar"}
    back = msgspec.structs.replace(claim("back", bazaar.step or StepId(""), bazaar.seq), state="retracted")
    await world.remember(session, back)
    assert (await world.memory.kindred(all_of(session), asked)).kin == ()


async def test_kin_of_what_is_forgotten_is_gone(world: World) -> None:
    session, known = await related(world, fresh("s", "k"))
    await world.memory.forget(A, session.scope, Forget(text="bazaar"), now=NOW, dry_run=False)
    assert (await world.memory.kindred(all_of(session), [one.no for one in known.values()])).kin == ()
    await world.memory.embedded([], model=MODEL, kin=[Kin(known["zebra zoo"].no, 999_999, Chances(1.0, 0.0))])
    assert (await world.memory.kindred(all_of(session), [known["zebra zoo"].no])).kin == (), "there is no such passage"


async def test_a_search_in_two_halves_finds_what_a_whole_one_does(world: World) -> None:
    session = await talk(world.store, "s", 6, "k")
    await world.read()
    what = {"words": ["re", "2"], "model": MODEL, "limit": 3}
    worded = await world.memory.worded(all_of(session), **what)  # type: ignore[arg-type]
    halves = await world.memory.search(all_of(session), vector=vector("re"), worded=worded, **what)  # type: ignore[arg-type]
    whole = await world.memory.search(all_of(session), vector=vector("re"), **what)  # type: ignore[arg-type]
    assert {hit.passage.no: hit for hit in halves} == {hit.passage.no: hit for hit in whole}
    assert len(whole) >= 3


async def test_what_goes_between_the_halves_of_a_search_is_not_found_nor_what_came_in_its_place(world: World) -> None:
    kept, gone = await talk(world.store, "kept", 1, "k"), await talk(world.store, "gone", 2, "k")
    worded = await world.memory.worded(all_of(kept), words=["re"], model=MODEL, limit=50)
    await world.store.delete(A, gone, now=NOW)
    theirs = fresh("theirs", "k")
    for number in range(2):
        given = Commit(session=theirs, step=step(theirs, f"re theirs {number}", "re"), begins=number == 0)
        theirs = await world.store.commit(B, given)
    hits = await world.memory.search(all_of(kept), words=["re"], vector=None, model=MODEL, limit=50, worded=worded)
    assert len(worded.found) > len(hits)
    assert {hit.passage.session for hit in hits} == {"kept"}


async def test_words_are_words_whatever_they_look_like(world: World) -> None:
    session = await world.say(fresh("s", "k"), 'a "quoted" zebra')
    view = all_of(session)
    assert await world.found(view, '"', "NEAR(", "zebra*", "_", "") == {("s", 1)}
    assert await world.found(view, "OR", '"') == set()
    assert await world.found(view) == set()
    assert await world.found(View(A, ScopeId("nowhere")), "zebra", like="zebra") == set()


async def test_a_session_searches_what_left_its_window_and_other_threads(world: World) -> None:
    session = await talk(world.store, "s", 4, "k")
    other = await talk(world.store, "other", 2, "k")
    await talk(world.store, "stranger", 2, "k2")
    await world.read()
    assert await world.found(seen(session), "re", like="re") == {("other", 1), ("other", 2)}
    session = await rotated(world.store, session, 3)
    assert await world.found(seen(session), "re") == {("s", 1), ("s", 2), ("other", 1), ("other", 2)}
    assert await world.found(seen(session), like="re s") == {("s", 1), ("s", 2), ("other", 1), ("other", 2)}
    assert await world.found(all_of(other), "re") == {
        (n, s) for n, last in (("s", 4), ("other", 2)) for s in range(1, last + 1)
    }


async def test_tenants_do_not_remember_each_other(world: World) -> None:
    mine = await talk(world.store, "s", 2, "k")
    await world.read()
    assert await world.found(View(B, mine.scope), "re", like="re") == set()
    assert await world.memory.scope(B, SessionKey("k")) is None
    assert await world.memory.scope(A, SessionKey("k")) == mine.scope
    step_id = await world.last(mine)
    await world.remember(mine, claim("c", step_id, 2))
    assert await world.memory.claim(B, ClaimId("c")) is None
    assert await world.memory.told(B, step_id) is None
    assert await world.memory.given(B, step_id) is None
    assert await world.memory.source(B, claim("c", step_id, 2)) is None
    assert not await world.memory.elsewhere(View(B, mine.scope))
    assert await world.memory.claims(View(B, mine.scope), limit=10) == ()


async def test_what_was_edited_away_is_not_found_from_anywhere(world: World) -> None:
    session = await talk(world.store, "s", 4, "k")
    old = session
    place = await world.store.place(A, session, (await world.store.transcript(A, session, limit=100)).entries[3].id)
    edited = await branch(world.store, session, place, "edited zebra")
    other = await talk(world.store, "other", 1, "k")
    await world.read()
    whole = {("s", 1), ("s", 2), ("s", 3), ("other", 1)}
    assert await world.found(all_of(other), "re") == whole
    assert await world.found(all_of(other), like="re s") == whole
    assert await world.found(seen(other), "re") == whole - {("other", 1)}
    texts_found = {
        hit.passage.text
        for hit in await world.memory.search(seen(other), words=["re"], vector=None, model=MODEL, limit=50)
    }
    assert "re edited zebra" in texts_found
    assert "re s 3" not in texts_found
    back = await more(world.store, old, 1)  # the first path is gone on with: it is the head again
    assert await world.found(seen(other), "edited") == set()
    assert await world.found(seen(other), "re") == {("s", n) for n in range(1, 6)}
    assert back.last_seq == 5
    assert await world.found(seen(edited), "re") == {("other", 1)}


async def test_a_path_that_is_not_the_head_still_sees_itself(world: World) -> None:
    session = await rotated(world.store, await talk(world.store, "s", 4), 4)
    place = await world.store.place(A, session, (await world.store.transcript(A, session, limit=100)).entries[3].id)
    await branch(world.store, session, place, "elsewhere")
    assert await world.found(seen(session), "re") == {("s", 1), ("s", 2), ("s", 3)}


async def test_a_branch_that_is_only_planned_searches_the_path_it_leaves(world: World) -> None:
    session = await rotated(world.store, await talk(world.store, "s", 9), 7)
    entry = (await world.store.transcript(A, session, limit=100)).entries[15].id
    place = await world.store.place(A, session, entry)
    planned = session.branched(SessionId("planned"), session.lineage, place)
    planned = msgspec.structs.replace(planned, lineage="planned", from_seq=7)
    assert await world.found(seen(planned), "re") == {("s", n) for n in range(1, 7)}


async def test_a_fork_and_its_origin_see_each_other_but_never_their_own_window(world: World) -> None:
    origin = await rotated(world.store, await talk(world.store, "o", 8), 3)
    forked = await more(world.store, await fork(world.store, origin, "f"), 2)
    assert forked.scope == origin.scope
    await world.read()
    assert forked.from_seq == 3
    assert await world.found(seen(forked), "re") == {("o", 1), ("o", 2)}
    origin = await more(world.store, await known(world.store, "o"), 1)
    assert await world.found(seen(forked), "re") == {("o", 1), ("o", 2), ("o", 9)}
    assert await world.found(seen(origin), "re") == {("o", 1), ("o", 2), ("f", 9), ("f", 10)}
    await world.store.delete(A, origin, now=NOW)
    forked = await known(world.store, "f")
    assert await world.found(seen(forked), "re", like="re o") == {("f", 1), ("f", 2)}
    assert await world.store.check(repair=False) == ()


async def test_a_search_is_cut_after_what_is_not_seen_was_left_out(world: World) -> None:
    await talk(world.store, "s", 1, "k")
    window = fresh("w", "k")
    for _ in range(30):
        window = await world.say(window, "re re re s 1", "re re s")
    await world.read()
    assert await world.found(seen(window), "re", like="re s", limit=1) == {("s", 1)}


async def test_imported_history_is_found_when_it_has_left_the_window(world: World) -> None:
    session = await bring(world.store, "s", ("old zebra", "a1"), ("old heron", "a2"), ("old ibis", "a3"))
    assert session.from_seq == -2
    assert await world.found(seen(session), "old") == set()
    assert not await world.memory.elsewhere(seen(session))
    session = await rotated(world.store, session, 0)
    assert await world.memory.elsewhere(seen(session))
    assert await world.found(seen(session), "old") == {("s", -1), ("s", -2)}
    works = await world.read()
    assert [work.kind for work in works] == ["step", "session"]
    hits = await world.memory.search(seen(session), words=[], vector=vector("old zebra"), model=MODEL, limit=1)
    assert [(hit.passage.text, hit.passage.step, hit.passage.seq) for hit in hits] == [("old zebra", None, -2)]


async def test_imported_history_under_a_key_is_found_from_elsewhere(world: World) -> None:
    exchanges = imported(("old zebra", "a1"), ("old heron", "a2"))
    one = fresh("one", "k", imported=exchanges)
    one = await world.say(one, "and now?", imported=exchanges)
    other = await talk(world.store, "other", 1, "k")
    await world.read()
    assert await world.found(seen(other), "old") == {("one", 0), ("one", -1)}
    assert ("one", -1) in await world.found(seen(other), like="old zebra")
    assert await world.found(seen(one), "old") == set()


async def test_a_path_that_begins_at_an_earlier_exchange_counts_from_there(world: World) -> None:
    session = await bring(world.store, "s", ("old zebra", "a1"), ("old heron", "a2"))
    entry = (await world.store.transcript(A, session, limit=100)).entries[1].id
    place = await world.store.place(A, session, entry)
    edited = await branch(world.store, session, place, "another way")
    other = await talk(world.store, "other", 1)
    assert await world.found(all_of(edited), "old") == {("s", 0)}, "the heron was edited away"
    edited = await rotated(world.store, edited, 1)
    assert await world.found(seen(edited), "old") == {("s", 0)}
    assert other.scope != edited.scope


async def test_forks_of_something_imported_keep_it_when_the_origin_goes(world: World) -> None:
    origin = await bring(world.store, "o", ("old zebra", "a1"), ("old heron", "a2"))
    one = await more(world.store, await fork(world.store, origin, "f1"), 1)
    assert await world.found(all_of(one), "old") == {("o", 0), ("o", -1)}
    await world.store.delete(A, origin, now=NOW)
    one = await known(world.store, "f1")
    assert await world.found(all_of(one), "old") == {("f1", 0), ("f1", -1)}
    assert await texts(world.store, one) == [
        "old zebra",
        "a1",
        "old heron",
        "a2",
        "and now?",
        "Noted.",
        "f1 2",
        "re f1 2",
    ]
    assert await world.store.check(repair=False) == ()
    await world.store.delete(A, one, now=NOW)
    assert await world.found(all_of(one), "old") == set()
    assert await world.store.check(repair=False) == ()


async def test_an_unnamed_thread_is_indexed_with_its_past_when_somebody_asks_for_it(world: World) -> None:
    session = await bring(world.store, "s", ("old zebra", "a1"), named=False)
    assert await world.found(all_of(session), "old") == set()
    session = await world.say(msgspec.structs.replace(session, named=True), "I came back")
    assert await world.found(all_of(session), "old") == {("s", 0)}
    session = await world.say(session, "and again")
    assert len(await world.memory.search(all_of(session), words=["old"], vector=None, model=MODEL, limit=9)) == 1


async def test_what_joins_a_key_brings_its_memory_along(world: World) -> None:
    keyed = await talk(world.store, "keyed", 1, "k")
    alone, old, new = await reversal(world, fresh("alone"))
    await world.read()
    assert await world.found(all_of(keyed), like="keyed monolith") == {("keyed", 1)}
    joined = await world.say(alone, "hello", bind=SessionKey("k"))
    assert joined.scope == keyed.scope
    works = await world.memory.waiting(limit=10, now=NOW)
    assert sorted(work.kind for work in works) == ["step", "thread"]
    await world.read()
    assert await world.found(seen(keyed), "monolith", like="monolith") >= {("alone", 2)}
    assert await world.listed(all_of(keyed)) == [("old", "reversed"), ("new", "current")]
    kept = await world.memory.claim(A, new.id)
    assert kept is not None
    assert (kept.scope, kept.session_key, kept.claim.session) == (keyed.scope, "k", "alone")
    assert await world.listed(View(A, alone.scope)) == []
    assert await world.store.check(repair=False) == ()
    lone = await world.say(await world.say(fresh("lone"), "it rains"), "hi", bind=SessionKey("new"))
    assert {work.kind for work in await world.memory.waiting(limit=10, now=NOW)} == {"step", "thread"}
    await world.read()
    assert ("lone", 1) in await world.found(all_of(lone), like="it rains")
    assert old.superseded_by == new.id


async def test_vectors_that_come_after_a_search_are_found_by_the_next(world: World) -> None:
    session = await talk(world.store, "s", 2, "k")
    await world.read()
    assert await world.found(all_of(session), like="s") == {("s", 1), ("s", 2)}
    session = await more(world.store, session, 2)
    await world.read()
    assert await world.found(all_of(session), like="s") == {("s", n) for n in range(1, 5)}
    await world.store.delete(A, session, now=NOW)
    other = await talk(world.store, "other", 1, "k")
    await world.read()
    assert await world.found(all_of(other), like="others") == {("other", 1)}


async def test_many_may_search_and_speak_at_once(world: World) -> None:
    session = await talk(world.store, "s", 3, "k")
    await world.read()

    async def speak(name: str) -> None:
        await talk(world.store, name, 3, "k")
        await world.read()

    await asyncio.gather(
        *(speak(f"n{n}") for n in range(5)), *(world.found(all_of(session), "re", like="re") for _ in range(20))
    )
    await world.read()
    assert len(await world.found(all_of(session), like="re", limit=100)) == 18


async def test_elsewhere_is_what_a_search_could_find(world: World) -> None:
    session = await talk(world.store, "s", 3, "k")
    assert not await world.memory.elsewhere(seen(session))
    assert await world.memory.elsewhere(all_of(session))
    other = await talk(world.store, "other", 1, "k")
    assert await world.memory.elsewhere(seen(session))
    await world.store.delete(A, other, now=NOW)
    assert not await world.memory.elsewhere(seen(session))
    assert await world.memory.elsewhere(seen(await rotated(world.store, session, 2)))
    assert not await world.memory.elsewhere(View(A, ScopeId("nowhere")))


async def test_a_closed_memory_says_so(world: World) -> None:
    session = await talk(world.store, "s", 1)
    await world.store.close()
    with pytest.raises(StoreUnavailable):
        await world.found(all_of(session), "re")
    with pytest.raises(StoreUnavailable):
        await world.memory.elsewhere(all_of(session))


# --- claims ---


async def test_a_claim_comes_back_as_it_was_with_the_session_it_was_said_in(world: World) -> None:
    session, old, new = await reversal(world, fresh("s", "k"))
    kept = await world.memory.claim(A, old.id)
    assert kept is not None
    assert kept.claim == msgspec.structs.replace(old, session="s")
    assert (kept.scope, kept.session_key) == (session.scope, "k")
    by_hand = claim("by hand", None, 0, author="person", pinned=True)
    await world.remember(session, by_hand)
    assert await world.listed(all_of(session)) == [("by hand", "current"), ("old", "reversed"), ("new", "current")]
    await world.remember(session, msgspec.structs.replace(new, pinned=True))
    assert await world.listed(all_of(session), pinned=True) == [("by hand", "current"), ("new", "current")]
    assert await world.listed(all_of(session), states=["reversed"]) == [("old", "reversed")]
    assert await world.listed(all_of(session), kinds=["cause"]) == []
    assert await world.listed(all_of(session), limit=1, after=ClaimId("by hand")) == [("old", "reversed")]
    assert await world.memory.claim(A, ClaimId("nobody")) is None


async def test_claims_are_listed_in_the_order_in_which_they_were_said(world: World) -> None:
    session = await world.say(fresh("s", "k"), "x")
    step_id = await world.last(session)
    spans = [(1, 0), (0, 10), (0, 2)]
    await world.remember(
        session, *(claim(f"c{m}.{start}", step_id, 1, span=Span(m, start, start + 1)) for m, start in spans)
    )
    pages: list[str] = []
    while page := await world.memory.claims(all_of(session), after=ClaimId(pages[-1]) if pages else None, limit=1):
        pages += [one.id for one in page]
    assert pages == ["c0.2", "c0.10", "c1.0"]


async def test_a_claim_of_a_step_that_was_deleted_meanwhile_is_not_kept(world: World) -> None:
    session = await world.say(fresh("s", "k"), "x")
    late = claim("late", await world.last(session), 1)
    await world.store.delete(A, session, now=NOW)
    await world.remember(session, late)
    assert await world.memory.claim(A, late.id) is None
    assert await world.store.check(repair=False) == ()


async def test_links_are_followed_both_ways(world: World) -> None:
    session, old, new = await reversal(world, fresh("s", "k"))
    session = await world.say(session, "deploys took two hours")
    cause = claim("cause", await world.last(session), 3, kind="cause")
    await world.remember(session, cause, msgspec.structs.replace(new, cause=cause.id))
    for name in (old, new, cause):
        assert name.step is not None
        found = await world.memory.about(all_of(session), [name.step])
        assert {one.id for one in found} == {"old", "new", "cause"}
        assert found[0].id == name.id
        assert {one.session for one in found} == {"s"}
    assert await world.memory.about(all_of(session), [StepId("nowhere")]) == ()


async def test_what_links_lead_to_is_bounded(world: World) -> None:
    session = await world.say(fresh("s", "k"), "x")
    step_id = await world.last(session)
    other = await world.last(await world.say(session, "y"))
    chain = [
        claim(f"c{n}", step_id if n == 0 else other, 1, supersedes=ClaimId(f"c{n - 1}") if n else None)
        for n in range(400)
    ]
    await world.remember(session, *chain)
    assert len(await world.memory.about(all_of(session), [step_id])) == 300


async def test_a_reversal_on_a_path_that_is_not_seen_has_not_happened(world: World) -> None:
    first = await world.say(fresh("s", "k"), "hello")
    two, old, new = await reversal(world, first)
    place = await world.store.place(A, two, (await world.store.transcript(A, two, limit=100)).entries[3].id)
    edited = await branch(world.store, two, place, "we stay with microservices")
    assert old.step is not None
    (held,) = await world.memory.about(seen(edited), [old.step])
    assert (held.id, held.state, held.superseded_by, held.valid_to) == ("old", "current", None, None)
    assert await world.listed(seen(edited)) == [("old", "current")]
    assert [one.id for one in await world.memory.standing(seen(edited))] == ["old"]
    near = await world.memory.near(seen(edited), words=["microservices"], vector=None, model=MODEL, limit=5)
    assert [one.claim.id for one in near] == ["old"]
    assert {one.id for one in await world.memory.about(seen(two), [old.step])} == {"old", "new"}
    assert [one.id for one in await world.memory.standing(seen(two))] == ["new"]
    assert new.supersedes == old.id


async def test_a_claim_in_the_window_counts_as_near_one_in_another_scope_does_not(world: World) -> None:
    session = await world.say(fresh("s", "k"), "the deadline is Friday")
    stranger = await world.say(fresh("t", "k2"), "the deadline is Monday")
    mine = claim("mine", await world.last(session), 1, quote="the deadline is Friday")
    await world.remember(session, mine, vectors=[vector(mine.quote)], model=MODEL)
    await world.remember(stranger, claim("theirs", await world.last(stranger), 1, quote="the deadline is Monday"))
    near = await world.memory.near(
        seen(session), words=["deadline"], vector=vector("the deadline"), model=MODEL, limit=5
    )
    assert [one.claim.id for one in near] == ["mine"]
    assert near[0].similar > 0.8
    (other,) = await world.memory.near(seen(session), words=[], vector=vector("x"), model="another", limit=5)
    assert (other.claim.id, other.similar) == ("mine", 0.0), "recent, and not compared"


async def test_the_nearest_claims_come_first_and_closed_ones_not_at_all(world: World) -> None:
    session = fresh("s", "k")
    for quote in ("zebra", "zebrb", "qqqqq"):
        session = await world.say(session, quote)
        given = claim(quote, await world.last(session), session.last_seq)
        await world.remember(session, given, vectors=[vector(quote)], model=MODEL)
    shut = claim("zebras", await world.last(session), 9, state="retracted")
    await world.remember(session, shut, vectors=[vector("zebra")], model=MODEL)
    near = await world.memory.near(seen(session), words=["zebra"], vector=vector("zebra"), model=MODEL, limit=2)
    assert [one.claim.id for one in near] == ["zebra", "zebrb"]
    later = msgspec.structs.replace(claim("zebra", StepId("x"), 1), state="retracted", step=near[0].claim.step)
    await world.remember(session, later)
    near = await world.memory.near(seen(session), words=["zebra"], vector=vector("zebra"), model=MODEL, limit=2)
    assert [one.claim.id for one in near] == ["zebrb", "qqqqq"]


async def test_what_stands_is_what_holds_the_newest_first(world: World) -> None:
    session = await world.say(fresh("s", "k"), "x")
    step_id = await world.last(session)
    await world.remember(
        session,
        claim("wish", step_id, 1, kind="instruction"),
        claim("fact", step_id, 2),
        claim("gone", step_id, 3, state="retracted"),
        claim("event", step_id, 4, kind="event"),
        claim("pinned event", step_id, 5, kind="event", pinned=True),
        claim("contested", step_id, 6, state="unresolved", superseded_by=ClaimId("other side")),
        claim("other side", step_id, 7, state="unresolved", supersedes=ClaimId("contested")),
    )
    assert [one.id for one in await world.memory.standing(all_of(session))] == ["pinned event", "fact", "wish"]


# --- deleting ---


async def test_what_a_deleted_session_had_reversed_holds_again(world: World) -> None:
    keep = await world.say(fresh("keep", "k"), "we use microservices")
    drop = await world.say(fresh("drop", "k"), "no more")
    old = claim("old", await world.last(keep), 1, state="reversed", superseded_by=ClaimId("new"), valid_to=NOW)
    doubted = claim("doubted", await world.last(keep), 1, state="unresolved", superseded_by=ClaimId("doubt"))
    effect = claim("effect", await world.last(keep), 1, cause=ClaimId("new"))
    gone = await world.last(drop)
    await world.remember(
        keep,
        old,
        doubted,
        effect,
        claim("new", gone, 1, supersedes=old.id),
        claim("doubt", gone, 1, state="unresolved", supersedes=doubted.id),
    )
    await world.store.delete(A, drop, now=NOW)
    assert sorted(await world.listed(all_of(keep))) == [
        ("doubted", "current"), ("effect", "current"), ("old", "current"),
    ]  # fmt: skip
    kept = [await world.memory.claim(A, ClaimId(name)) for name in ("old", "doubted", "effect")]
    assert all(
        k is not None and (k.claim.superseded_by, k.claim.valid_to, k.claim.cause) == (None, None, None) for k in kept
    )
    assert await world.store.check(repair=False) == ()


async def test_what_a_deleted_claim_had_replaced_gives_way_to_what_replaced_that_one(world: World) -> None:
    """Mysql, then Postgres, then SQLite: without Postgres, MySQL is still over."""
    keep = await world.say(fresh("keep", "k"), "MySQL, SQLite")
    drop = await world.say(fresh("drop", "k"), "Postgres")
    here, gone = await world.last(keep), await world.last(drop)
    await world.remember(
        keep,
        claim("mysql", here, 1, state="reversed", superseded_by=ClaimId("postgres")),
        claim("postgres", gone, 1, state="reversed", supersedes=ClaimId("mysql"), superseded_by=ClaimId("sqlite")),
        claim("sqlite", here, 2, supersedes=ClaimId("postgres")),
    )
    await world.store.delete(A, drop, now=NOW)
    assert await world.listed(all_of(keep)) == [("mysql", "reversed"), ("sqlite", "current")]
    kept = await world.memory.claim(A, ClaimId("mysql"))
    assert kept is not None
    assert kept.claim.superseded_by == "sqlite"


async def test_claims_of_shared_steps_live_on_in_the_fork(world: World) -> None:
    origin, old, new = await reversal(world, fresh("o"))
    forked = await more(world.store, await fork(world.store, origin, "f", seq=1), 1)
    assert await world.listed(seen(forked)) == [("old", "reversed"), ("new", "current")], "the origin is seen too"
    await world.store.delete(A, origin, now=NOW)
    forked = await known(world.store, "f")
    assert await world.listed(seen(forked)) == [("old", "current")]
    kept = await world.memory.claim(A, old.id)
    assert kept is not None
    assert kept.claim.session == "f"
    assert await world.memory.claim(A, new.id) is None
    assert await world.store.check(repair=False) == ()


# --- looking ---


async def test_a_source_is_told_down_to_the_place_in_the_transcript(world: World) -> None:
    session = await bring(world.store, "s", ("q1", "a1"))
    session = await rotated(world.store, session, 1)
    session = await world.say(session, "the deadline is Friday")
    given = claim("c", await world.last(session), 2, span=Span(0, 0, 3))
    source = await world.memory.source(A, given)
    assert source is not None
    assert (source.root, source.session, source.seq, source.role) == ("s", session.id, 2, "user")
    assert source.text == "the deadline is Friday"
    entries = (await world.store.transcript(A, session, limit=100)).entries
    assert entries[source.place - 1].message.text == source.text
    assert await world.memory.source(A, claim("by hand", None, 0)) is None
    assert await world.memory.source(A, claim("odd", given.step, 2, span=Span(9, 0, 1))) is None


async def test_what_a_reply_was_given_is_told_exactly(world: World) -> None:
    profile, tail = Block("likes tea", 3, (ClaimId("c"),)), Block("[memory: ...]", 9, (), (StepId("x"),))
    session = fresh("s", "k")
    first = step(session, "hello", tail=tail)
    session = await world.store.commit(A, Commit(session=session, step=first, begins=True, profile=profile))
    given = await world.memory.given(A, first.id)
    assert given is not None
    assert (given.tail, given.profile, given.seq, given.session_key) == (tail, profile, 1, "k")
    epoch = await world.store.epoch(A, session, tokens=100)
    assert (epoch.profile, [past.tail for past in epoch.past]) == (profile, [tail.text])
    session = await world.say(session, "more")
    child = session.rotated(SessionId("s~2"), from_seq=2)
    session = await world.store.rotate(A, session, child, log="log", now=NOW, profile=Block("likes coffee"))
    assert (await world.store.epoch(A, session, tokens=100)).profile == Block("likes coffee")
    session = await world.say(session, "still more")
    given = await world.memory.given(A, await world.last(session))
    assert given is not None
    assert (given.tail, given.profile) == (Block(), Block("likes coffee"))
    again = await world.restart()
    assert (await again.store.epoch(A, session, tokens=100)).profile == Block("likes coffee")
    recorded = await again.store.said(A, session, "none", since=NOW)
    assert recorded is None
    assert await again.memory.given(A, StepId("nowhere")) is None
    await again.store.close()


async def test_a_branch_and_a_fork_begin_with_the_profile_of_the_epoch_they_leave(world: World) -> None:
    profile = Block("likes tea", 3)
    session = await world.say(fresh("s"), "one", profile=profile)
    session = await more(world.store, session, 2)
    entry = (await world.store.transcript(A, session, limit=100)).entries[3].id
    edited = await branch(world.store, session, await world.store.place(A, session, entry), "other")
    assert (await world.store.epoch(A, edited, tokens=100)).profile == profile
    forked = await fork(world.store, session, "f")
    assert (await world.store.epoch(A, forked, tokens=100)).profile == profile


async def test_a_thread_that_was_begun_without_words_gets_its_profile_with_the_first(world: World) -> None:
    begun = await world.store.begin(A, fresh("s"), now=NOW)
    assert (await world.store.epoch(A, begun, tokens=100)).profile is None
    commit = Commit(session=begun, step=step(begun, "hello"), profile=Block("likes tea"))
    session = await world.store.commit(A, commit)
    assert (await world.store.epoch(A, session, tokens=100)).profile == Block("likes tea")


async def test_turn_n_is_the_one_that_the_prompt_means(world: World) -> None:
    session = await talk(world.store, "s", 4, "k")
    entry = (await world.store.transcript(A, session, limit=100)).entries[3].id
    edited = await branch(world.store, session, await world.store.place(A, session, entry), "edited")
    other = await talk(world.store, "other", 2, "k")
    stranger = await talk(world.store, "stranger", 2, "k2")

    async def opened(view: View, seq: int, name: str | None = None) -> str | None:
        told = await world.memory.opened(view, seq, SessionId(name) if name else None)
        return told.messages[0].text if told else None

    assert await opened(seen(session), 3) == "s 3"
    assert await opened(seen(edited), 3) == "edited"
    assert await opened(seen(edited), 1) == "s 1"
    assert await opened(seen(edited), 4) is None
    assert await opened(seen(edited), 0) is None
    assert await opened(seen(other), 3, "s") == "edited", "of another thread its newest path"
    assert await opened(seen(other), 4, "s") is None
    assert await opened(seen(session), 3, "s") == "s 3"
    assert await opened(seen(other), 1, "stranger") is None
    assert await opened(seen(other), 1, "nobody") is None
    assert await opened(all_of(other), 1) is None
    assert await opened(all_of(other), 2, "other") == "other 2"
    assert stranger.scope != other.scope
