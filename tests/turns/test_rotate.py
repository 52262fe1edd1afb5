"""Rotation when the world does not help: nothing of it may fail or delay a turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from everthread.context.tokens import O200k
from everthread.core.ids import SessionId, Tenant
from everthread.core.messages import say
from everthread.core.session import Session
from everthread.core.turn import Envelope, Finished, Turn
from everthread.errors import SessionMoved, StoreUnavailable
from everthread.models.scripted import Scripted
from everthread.storage.sqlite import SqliteStore
from everthread.storage.views import SqliteViews
from everthread.turns.run import Turns

A = Tenant("a")
BUDGET = 1000


class Ticking:
    """A clock that moves on by a minute whenever it is asked."""

    def __init__(self) -> None:
        self._minutes = count()

    def now(self) -> datetime:
        return datetime(2026, 3, 2, 9, 0, tzinfo=UTC) + timedelta(minutes=next(self._minutes))


class Numbered:
    def __init__(self) -> None:
        self._numbers = count(1)

    def new(self) -> str:
        return f"{next(self._numbers):016x}"


class Stubborn(SqliteStore):
    """Takes steps, and refuses to rotate."""

    refuses: type[Exception] | None = StoreUnavailable

    async def rotate(self, *args: Any, **more: Any) -> Session:
        if self.refuses is not None:
            raise self.refuses
        return await super().rotate(*args, **more)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Stubborn]:
    opened = Stubborn(tmp_path / "x.db")
    await opened.open()
    yield opened
    await opened.close()


def turns(store: SqliteStore, model: Scripted, *, budget: int = BUDGET) -> Turns:
    return Turns(
        store=store,
        views=SqliteViews(store, Numbered()),
        archive=store,
        model=model,
        clock=Ticking(),
        ids=Numbered(),
        counter=O200k(),
        budget=budget,
    )


async def ask(turns: Turns, text: str) -> Finished:
    envelope = Envelope(tenant=A, session_id=SessionId("s"))
    events = [
        event async for some in turns.run(Turn(envelope=envelope, messages=(say("user", text),))) for event in some
    ]
    assert isinstance(events[-1], Finished)
    return events[-1]


async def test_a_store_that_cannot_rotate_fails_no_turn_and_is_asked_again(store: Stubborn) -> None:
    model = Scripted("Noted. " * 20)
    engine = turns(store, model)
    for number in range(30):
        finished = await ask(engine, f"Order {number} costs ${number}. " + "And so on. " * 10)
        assert finished.session.id == "s"
        assert finished.step.context.prompt_tokens <= BUDGET
        assert model.prompts[-1].messages[-1].text.startswith(f"Order {number} ")
    store.refuses = None
    await ask(engine, "Now it can.")
    await engine.rotations.settle()
    finished = await ask(engine, "And did.")
    assert finished.session.id != "s"
    assert finished.session.root == "s"


async def test_the_loser_of_two_rotations_discards_its_block(store: Stubborn) -> None:
    store.refuses = None
    engine = turns(store, Scripted("Noted. " * 20))
    for number in range(4):
        await ask(engine, f"Order {number} costs ${number}. " + "And so on. " * 10)
    old = await store.find(A, SessionId("s"))
    assert old is not None
    await engine.rotations.settle()
    child = await engine.rotations.now(A, SessionId("s"))
    with pytest.raises(SessionMoved):
        await store.rotate(A, old, old.rotated(SessionId("late"), from_seq=3), log="[]", now=Ticking().now())
    assert await store.find(A, SessionId("late")) is None
    assert await store.find(A, SessionId("s")) == child


async def test_turns_that_came_while_a_block_was_written_are_in_the_childs_window(store: Stubborn) -> None:
    store.refuses = None
    model = Scripted("Noted. " * 20)
    engine = turns(store, model)
    for number in range(12):
        await ask(engine, f"Order {number} costs ${number}. " + "And so on. " * 10)
    await engine.rotations.settle()
    finished = await ask(engine, "The end.")
    session = finished.session
    seen = [message.text for message in model.prompts[-1].messages]
    assert session.id != "s"
    assert session.last_seq == 13
    assert [text.split(" costs")[0] for text in seen[1:-1:2]] == [
        f"Order {number}" for number in range(session.from_seq - 1, 12)
    ]


async def test_heavy_turns_do_not_rotate_each_time(store: Stubborn) -> None:
    store.refuses = None
    engine = turns(store, Scripted("Noted. " * 1100), budget=12_000)
    sessions = set()
    for number in range(16):
        sessions.add((await ask(engine, f"Order {number}. " + "And so on. " * 230)).session.id)
        await engine.rotations.settle()
    assert 2 < len(sessions) < 12
