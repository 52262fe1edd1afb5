"""A schema that is being brought up to date, killed after any of its statements: old or new, never between."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from crash.migration import SAID, SCHEMA, THERE, old
from everthread.storage.opening import migrate, statements
from everthread.storage.schema import MIGRATIONS

pytestmark = pytest.mark.slow

NEWEST = len(MIGRATIONS)
KILLED = """
import os, signal, sys
from pathlib import Path
from everthread.storage import opening

left = int(sys.argv[2])
whole = opening.statements

def until(script):
    global left
    for statement in whole(script):
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        yield statement

opening.statements = until
opening.prepare(Path(sys.argv[1]), alone=True)
"""


def looked_at(path: Path) -> tuple[int, list[tuple[str, ...]], list[tuple[str, ...]]]:
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return db.execute(THERE).fetchone()[0], db.execute(SCHEMA).fetchall(), db.execute(SAID).fetchall()


@pytest.mark.parametrize("version", range(1, NEWEST))
def test_a_file_whose_migration_is_killed_is_old_or_new_and_never_between(version: int, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    old(new, version, steps=3)
    migrate(new)
    count = sum(len(list(statements(script))) for script in MIGRATIONS[version:])
    for done in {min(1, count - 1), count // 2, count - 1}:
        path = tmp_path / f"{done}.db"
        old(path, version, steps=3)
        before = looked_at(path)
        killed = subprocess.run([sys.executable, "-c", KILLED, str(path), str(done)], check=False)
        assert killed.returncode == -signal.SIGKILL
        assert looked_at(path) == before, "as it was"
        migrate(path)
        assert looked_at(path) == looked_at(new), "and as new as any"
