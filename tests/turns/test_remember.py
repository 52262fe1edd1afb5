"""The reader: what was cut short is finished, what cannot be read is put aside, and nothing holds up the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from everthread.core.claim import Claim
from everthread.core.ids import ScopeId, SessionId, SessionKey, Tenant
from everthread.core.memory import View
from everthread.evals.house import House, Line, opened
from everthread.turns import remember

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
