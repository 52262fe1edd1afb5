"""The reader: what was cut short is finished, what cannot be read is put aside, and nothing holds up the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from everthread.core.claim import Claim
from everthread.core.ids import ScopeId, SessionId, SessionKey, Tenant
from everthread.core.memory import View, Work
from everthread.evals.house import House, Line, Metered, opened
from everthread.memory import series
from everthread.turns import remember
from everthread.wiring import SqliteStore, embedders  # type: ignore[attr-defined]

TENANT = Tenant("default")
KEY = SessionKey("k")


def line(text: str, session: str = "s") -> Line:
    return Line(key=KEY, session=SessionId(session), said_at=datetime(2026, 1, 1, tzinfo=UTC), text=text)


async def claims(house: House) -> Sequence[Claim]:
    scope = await house.memory.scope(TENANT, KEY)
    assert scope is not None
    return await house.memory.claims(View(TENANT, ScopeId(scope)), limit=200)


async def read(house: House) -> None:
    async with asyncio.timeout(30):
        while await house.remembering.read():
            pass


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with opened(tmp_path) as house:
        yield house


@asynccontextmanager
async def failing(house: House, after: int) -> AsyncIterator[None]:
    """The store takes so many claims and then no more."""
    left = after
    whole = house.memory.remember

    async def some(*given: object, **named: object) -> None:
        nonlocal left
        if left == 0:
            raise RuntimeError("cut short")
        left -= 1
        await whole(*given, **named)  # type: ignore[arg-type]

    house.memory.remember = some  # type: ignore[method-assign]
    try:
        yield
    finally:
        house.memory.remember = whole  # type: ignore[method-assign]


TEXT = "We use PostgreSQL. My dentist is Dr. Ravn. Our office is in Oslo. The deadline is Friday."


async def test_a_step_whose_reading_was_cut_short_is_read_to_its_end(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remember, "AGAIN_AFTER", remember.AGAIN_AFTER * 0)
    await house.say(line(TEXT))
    async with failing(house, after=1):
        await house.remembering.read()
    assert len(await claims(house)) == 1
    await read(house)
    assert len(await claims(house)) == 4
    assert len({claim.quote for claim in await claims(house)}) == 4


async def test_what_cannot_be_read_is_a_dead_letter_and_the_rest_is_read(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remember, "AGAIN_AFTER", remember.AGAIN_AFTER * 0)
    whole = remember.notice
    monkeypatch.setattr(
        remember, "notice", lambda messages, at: 1 / 0 if "poison" in messages[0].text else whole(messages, at)
    )
    await house.say(line("This is poison."))
    await house.say(line("Our office is in Oslo.", "t"))
    await read(house)
    assert [claim.quote for claim in await claims(house)] == ["Our office is in Oslo"]
    (dead,) = await house.memory.dead(TENANT, limit=10)
    assert "ZeroDivisionError" in dead.failure
    assert (await house.memory.lag()).dead == 1
    assert (await house.memory.lag()).waiting == 0


@asynccontextmanager
async def counting(house: House) -> AsyncIterator[list[int]]:
    """How many texts are embedded, each time that some are."""
    calls: list[int] = []
    whole = house.embedder.embed

    async def some(texts: Sequence[str]) -> list[bytes]:
        calls.append(len(texts))
        return await whole(texts)

    house.embedder.embed = some  # type: ignore[method-assign]
    try:
        yield calls
    finally:
        house.embedder.embed = whole  # type: ignore[method-assign]


@pytest.fixture
async def unread(tmp_path: Path) -> AsyncIterator[House]:
    """A house in which nobody reads unless he is told to."""
    store, embedder = SqliteStore(tmp_path / "everthread.db"), embedders.best()
    await store.open()
    yield House(store, Metered(embedder), None)
    await embedder.close()
    await store.close()


async def test_turns_that_wait_together_are_embedded_together_and_each_text_once(unread: House) -> None:
    house = unread
    for number in range(5):
        await house.say(line(f"Our office number {number} is in Oslo."))
        await house.say(line("Our office number 0 is in Oslo."))
    async with counting(house) as calls:
        await read(house)
    assert len(calls) == 1
    assert calls[0] <= 2 * 5 + 1, "a claim's quote may lack the full stop; an answer is nothing"
    assert await house.waiting() == 0


async def test_a_turn_with_more_passages_than_its_share_is_read_to_its_end(
    unread: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remember, "MOST_TEXTS", 8)
    house = unread
    long = "\n".join(f"Paragraph {number} tells of {'this and that ' * 50}." for number in range(15))
    await house.say(line(long))
    await house.say(line("The heron stands in the reeds.", "t"))
    async with counting(house) as calls:
        await read(house)
    assert len(calls) == 3, "it had a share of the first portion, and all of the others"
    assert await house.waiting() == 0
    scope = await house.memory.scope(TENANT, KEY)
    assert scope is not None
    vector = await house.embedder.query("Which bird is in the reeds?")
    found = await house.memory.search(
        View(TENANT, scope), words=(), vector=vector, model=house.embedder.name, limit=300
    )
    assert max(found, key=lambda one: one.similar).passage.text == "The heron stands in the reeds."
    assert len([one for one in found if one.similar]) >= 15


async def test_what_is_said_in_two_sessions_of_a_key_and_read_at_once_is_compared(house: House) -> None:
    texts = {"a": "All my notes are in Joplin.", "b": "My notes are kept in Obsidian.", "c": "My notes are in Logseq."}
    await asyncio.gather(*(house.say(line(text, session)) for session, text in texts.items()))
    scope = await house.memory.scope(TENANT, KEY)
    view = View(TENANT, ScopeId(scope or ""))
    assert await house.remembering.caught_up(TENANT, view.scope, within=30)
    found = await house.memory.search(view, words=["notes"], vector=None, model="", limit=9)
    kindred = await house.memory.kindred(view, [one.passage.no for one in found])
    assert len(kindred.kin) == 3, "each two of them"


@pytest.mark.parametrize("slip", ["Oops, Wednesday.", "Wait, no: Wednesday evenings.", "Rather Wednesday, sorry."])
async def test_what_puts_a_slip_right_is_about_what_was_said_just_before(house: House, slip: str) -> None:
    practice = "Choir practice is on Tuesday evenings."
    for text in ("The retro of our team is on Monday.", "Band practice is on Thursday evenings.", practice, slip):
        await house.say(line(text))
        await read(house)
    scope = await house.memory.scope(TENANT, KEY)
    view = View(TENANT, ScopeId(scope or ""))
    found = await house.memory.search(view, words=["on", "wednesday"], vector=None, model="", limit=9)
    kindred = await house.memory.kindred(view, [one.passage.no for one in found])
    [known] = series.series(kindred)
    assert [passage.text for passage in (known.holds, *known.earlier)] == [slip, practice]


async def test_what_a_person_only_says_after_a_statement_changes_nothing(house: House) -> None:
    for text in ("Choir practice is on Tuesday evenings.", "Wait, why?", "No, thanks.", "Sorry, got to run."):
        await house.say(line(text))
        await read(house)
    scope = await house.memory.scope(TENANT, KEY)
    view = View(TENANT, ScopeId(scope or ""))
    found = await house.memory.search(view, words=["choir"], vector=None, model="", limit=9)
    kindred = await house.memory.kindred(view, [one.passage.no for one in found])
    assert series.series(kindred) == []


async def test_what_is_read_twice_in_one_portion_is_no_kin_of_itself(house: House) -> None:
    await house.say(line("All my notes are in Joplin.", "a"))
    scope = await house.memory.scope(TENANT, KEY)
    view = View(TENANT, ScopeId(scope or ""))
    assert await house.remembering.caught_up(TENANT, view.scope, within=30)
    (found, *_) = await house.memory.search(view, words=["notes"], vector=None, model="", limit=1)
    work = Work(no=1, tenant=TENANT, kind="thread", name=found.passage.thread, scope=1)
    piece = remember.Piece(work, None, (), (found.passage,), whole=True)
    vectors = dict(zip(piece.wanted, await house.embedder.embed(piece.wanted), strict=True))
    again = msgspec.structs.replace(piece)
    pairing = house.remembering._pairing
    assert pairing is not None
    assert await house.remembering._compared(pairing, piece, [again, piece], vectors) == []
