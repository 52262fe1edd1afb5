"""Two statements read together: what is about the same thing and gives another value is told from what does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from everthread.core.memory import Chances
from everthread.embed import runtime, together
from everthread.embed.encoder import Unloadable
from everthread.embed.together import Together
from everthread.errors import Stopping

pytestmark = pytest.mark.slow

REPLACED = [
    ("All my notes are in Joplin.", "My notes are kept in Obsidian, synced to the phone."),
    ("We're committed to microservices.", "We merged all services back into a monolith."),
    ("The standup is at 9:30.", "Standup at 10:15 from Monday, please tell the others."),
    ("Our accountant is Bjarte Lunde.", "Bjarte has retired, Ms. Okafor does our books."),
]
APART = [
    ("All my notes are in Joplin.", "Should I keep my notes in Evernote?"),
    ("All my notes are in Joplin.", "The cat is asleep on the radiator."),
    ("The standup is at 9:30.", "My sister's standup is at 8, poor her."),
    ("Our accountant is Bjarte Lunde.", "Our lawyer is Ms. Okafor."),
]


@pytest.fixture
async def reader() -> AsyncIterator[Together]:
    reader = Together()
    yield reader
    await reader.close()


async def test_a_statement_that_gives_another_value_goes_with_the_one_it_replaces(reader: Together) -> None:
    for pair, found in zip(REPLACED, await reader.compare(REPLACED), strict=True):
        assert found.replaces > 0.6, pair
        assert found.repeats < 0.3, pair


async def test_a_question_another_s_thing_and_another_thing_go_with_nothing(reader: Together) -> None:
    for pair, found in zip(APART, await reader.compare(APART), strict=True):
        assert found.either < 0.35, pair


async def test_what_is_said_again_is_told_from_what_changes(reader: Together) -> None:
    (same,) = await reader.compare([("All my notes are in Joplin.", "Yes, my notes are still in Joplin, as always.")])
    assert same.repeats > same.replaces


async def test_texts_of_any_kind_and_length_can_be_read(reader: Together) -> None:
    odd = ["", " \n", "🎉" * 300, "word " * 5000, "日本語のテキスト", "\x00\ud7ff"]
    for found in await reader.compare([(one, other) for one in odd for other in odd]):
        assert 0 <= found.either <= 1.001


async def test_a_model_that_nobody_needs_is_put_away_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    whole = runtime.opened

    def counted(name: str) -> object:
        loads.append(name)
        return whole(name)

    monkeypatch.setattr(runtime, "opened", counted)
    reader = Together(idle=0.05)
    first = await reader.compare(REPLACED[:1])
    await asyncio.sleep(0.3)
    assert await reader.compare(REPLACED[:1]) == first
    assert loads == ["pairs.onnx"] * 2
    await reader.close()


async def test_after_closing_it_says_so(reader: Together) -> None:
    await reader.close()
    with pytest.raises(Stopping):
        await reader.compare(REPLACED)


async def test_without_its_model_nothing_goes_together_and_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise Unloadable(name)

    monkeypatch.setattr(runtime, "opened", missing)
    reader = Together()
    assert await reader.compare(REPLACED) == [Chances(0.0, 0.0)] * len(REPLACED)
    assert reader.name == "none"
    await reader.close()


def test_where_its_packages_are_missing_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "NEEDS", ("no_such_package",))
    assert together.best() is None
