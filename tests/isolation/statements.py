"""What a store is asked: the statements of all its connections, without what is in them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from everthread.core.cause import CAUSE
from everthread.storage import opening

VALUE = re.compile(r"'(?:[^']|'')*'|[Xx]'[0-9a-fA-F]*'|\b\d+(\.\d+)?\b")


class Statements:
    """Each connection tells of its statements from its first one on: to ask for that later, while another thread is
    in the middle of one, can bring both to a halt."""

    def __init__(self) -> None:
        self._request: str | None = None
        self._heard: list[str] = []

    @classmethod
    @contextmanager
    def of_all_connections(cls) -> Iterator[Statements]:
        """Of a store that is opened meanwhile."""
        statements, connect = cls(), opening.connect

        def connected(path: Path) -> sqlite3.Connection:
            db = connect(path)
            db.set_trace_callback(statements._hear)
            return db

        with pytest.MonkeyPatch.context() as patching:
            patching.setattr(opening, "connect", connected)
            yield statements

    def of(self, request: str, work: Callable[[], object]) -> list[str]:
        """The statements that this request was the cause of while this was done, in their order."""
        self._request, self._heard = request, []
        try:
            work()
        finally:
            self._request = None
        return self._heard

    def _hear(self, statement: str) -> None:
        if self._request is not None and (cause := CAUSE.get()) is not None and cause.name == self._request:
            self._heard.append(VALUE.sub("?", statement))
