"""A store that is in order when a test has done with it, and its queue."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from everthread.storage.queue import SqliteQueue
from everthread.storage.sqlite import SqliteStore


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "store.db", longest_wait=0.3)
    await opened.open()
    yield opened
    assert await opened.check(repair=False) == ()
    await opened.close()


@pytest.fixture
def queue(store: SqliteStore) -> SqliteQueue:
    return SqliteQueue(store)
