"""A store that is closed while others still ask it: they are told so, and nothing breaks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from everthread.errors import StoreUnavailable
from everthread.storage.sqlite import SqliteStore


async def test_those_who_ask_while_it_closes_are_told(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "e.db")
    await store.open()

    async def asking() -> None:
        while True:
            await store.searching(lambda db: db.execute("SELECT count(*) FROM migration").fetchone())

    async def writing() -> None:
        while True:
            await store.writing(lambda db: db.execute("DELETE FROM outbox").rowcount)

    busy = [asyncio.create_task(work()) for work in (asking, asking, writing, writing)]
    await asyncio.sleep(0.05)
    await store.close()
    for task in busy:
        with pytest.raises(StoreUnavailable):
            await asyncio.wait_for(task, 5)
