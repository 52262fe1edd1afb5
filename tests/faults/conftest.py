"""Fixtures: storage that fails on purpose, and a clock that jumps."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import partial

import pytest
from failing import Trouble


@pytest.fixture(scope="module")
def trouble() -> Iterator[Trouble]:
    """Every connection that is opened from now on fails when this says so."""
    trouble = Trouble()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=trouble.connection()))
        yield trouble
