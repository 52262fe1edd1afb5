"""No statement of a turn walks over what grows: each finds its rows by an index that leads to the thread, the scope or
the step, and not by the tenant alone."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from everthread.storage import opening, terms
from front_door import Everthread

WALKS = re.compile(r"^SCAN|\(tenant=\?\)$")
BOUNDED = re.compile(  # a portion in the order of an index, values that are given, what is few or soon gone
    r"USING INDEX outbox_waiting|USING INDEX parcel_waiting|CONSTANT|VIRTUAL TABLE"
    r"|^SCAN (?:heard|best|reached|json_each|\(sub)|_fts_config|usage_new|migration|api_key"
)
READS = re.compile(r"^\s*(?:SELECT|UPDATE|DELETE|INSERT|WITH)\b", re.IGNORECASE)


@pytest.fixture
def asked() -> Iterator[set[str]]:
    """The statements of all connections that are opened meanwhile."""
    heard: set[str] = set()
    connect = opening.connect

    def connected(path: Path) -> sqlite3.Connection:
        db = connect(path)
        db.set_trace_callback(heard.add)
        return db

    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(opening, "connect", connected)
        yield heard


def test_no_statement_of_a_turn_walks_over_what_grows(
    asked: set[str], start: Callable[..., Everthread], name: str, tmp_path: Path
) -> None:
    client = start(tmp_path / "home", context_budget="1500").client
    for session, key in ((f"{name} alone", None), (f"{name} keyed", f"{name} key")):
        asked.clear()
        for turn in range(12):  # it rotates, and recalls
            said = f"Turn {turn}: we moved the harbour lights to pier {turn} because of the fog. " * 5
            assert client.say(said, session=session, key=key).status == 200
        assert client.say("Where are the harbour lights?", session=session, key=key).hermes["rotated"] is not None
        assert len(asked) > 50
        assert walking(tmp_path / "home" / "everthread.db", asked) == {}


def walking(file: Path, statements: set[str]) -> dict[str, str]:
    """The statements that walk, and over what."""
    found: dict[str, str] = {}
    with closing(sqlite3.connect(file)) as db:
        terms.install(db)
        for statement in tuple(statements):
            if not READS.match(statement):
                continue
            for row in db.execute(f"EXPLAIN QUERY PLAN {statement}"):
                if WALKS.search(row[3]) and not BOUNDED.search(row[3]):
                    found[statement[:400]] = row[3]
    return found
