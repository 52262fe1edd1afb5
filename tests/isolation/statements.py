"""What a store is asked: the statements of all its connections, without what is in them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from everthread.core.cause import CAUSE
from everthread.storage import opening

VALUE = re.compile(r"'(?:[^']|'')*'|[Xx]'[0-9a-fA-F]*'|\b\d+(\.\d+)?\b")


class Statements:
    def __init__(self) -> None:
        self._connections: list[sqlite3.Connection] = []

    @classmethod
    @contextmanager
    def of_all_connections(cls) -> Iterator[Statements]:
        """Of a store that is opened meanwhile."""
        statements, connect = cls(), opening.connect

        def connected(path: Path) -> sqlite3.Connection:
            db = connect(path)
            statements._connections.append(db)
            return db

        with pytest.MonkeyPatch.context() as patching:
            patching.setattr(opening, "connect", connected)
            yield statements

    def of(self, request: str, work: Callable[[], object]) -> list[str]:
        """The statements that this request was the cause of while this was done, in their order."""
        heard: list[str] = []

        def hear(statement: str) -> None:
            if (cause := CAUSE.get()) is not None and cause.name == request:
                heard.append(VALUE.sub("?", statement))

        self._tell(hear)
        try:
            work()
        finally:
            self._tell(None)
        return heard

    def _tell(self, hear: Callable[[str], object] | None) -> None:
        for db in self._connections:
            with suppress(sqlite3.ProgrammingError):  # it is closed
                db.set_trace_callback(hear)
