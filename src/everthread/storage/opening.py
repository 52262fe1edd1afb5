"""Opens the file: looks at it before it changes anything, brings its schema up to date, or says why not."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from everthread.errors import StoreDamaged, StoreInUse, StoreUnavailable
from everthread.storage import terms
from everthread.storage.rows import stamp
from everthread.storage.schema import MIGRATIONS

BACKUP = 0x45765468  # the application id of a backup; its user version is then its checksum
OURS = {"tenant", "api_key", "scope", "thread", "lineage", "session", "step", "prior", "chunk", "replay"}
DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
RESTORE = "Go back to a backup with `everthread restore PATH --force`; it moves this file aside and deletes nothing."
ELSEWHERE = "Move it away, or name another place with EVERTHREAD_HOME or EVERTHREAD_STORE."


def connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256, timeout=5)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
    db.execute("PRAGMA cache_size = -4000")  # kB: what a turn touches is little
    terms.install(db)
    return db


def prepare(path: Path, *, alone: bool) -> None:
    """Makes the file if there is none, else looks whether it can be ours, and brings its schema up to date.

    What is seen here costs a millisecond, whatever the size: `everthread check` reads everything. A schema is changed
    only by one who is `alone` with the file or, for that moment, takes its lock."""
    try:
        if not present(path):
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        with closing(sqlite3.connect(path, isolation_level=None, timeout=5)) as db:
            done = schema(db, path)
            tour(db)
            (mark,) = db.execute("PRAGMA application_id").fetchone()
        if done == len(MIGRATIONS) and mark != BACKUP:
            return
        held = None if alone else take_lock(lock_of(path))
        try:
            migrate(path)
        finally:
            if held is not None:
                os.close(held)
    except (sqlite3.Error, OSError) as error:
        raise refusal(path, error) from error


def present(path: Path) -> bool:
    """Whether there is a file that may be read and written; False when one is to be made."""
    if path.is_dir():
        raise StoreDamaged(f"The database {path} cannot be opened: it is a folder, not a file. {ELSEWHERE}")
    there = path.exists() and path.stat().st_size > 0
    log = beside(path, "-wal")
    if not there and log.exists() and log.stat().st_size > 0:
        raise StoreDamaged(
            f"The database {path} is {'empty' if path.exists() else 'missing'}, but what was last written to it is"
            f" still in {log.name}: put the file back. Or go back to a backup with `everthread restore PATH --force`;"
            " it moves what is there aside."
        )
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):
        raise StoreUnavailable(
            f"The database {path} cannot be opened: this user may not read and write it. Start as the user it"
            " belongs to, or give it to this one with chown."
        )
    return there


def schema(db: sqlite3.Connection, path: Path) -> int:
    """The number of its schema, 0 for an empty file; refuses what is not ours or newer than we are."""
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not names:
        return 0
    columns = {row[1] for row in db.execute("PRAGMA table_info (migration)")}
    if columns != {"number", "applied_at"} or not OURS & names:
        raise StoreDamaged(f"The database {path} cannot be opened: it belongs to another program. {ELSEWHERE}")
    done = int(db.execute("SELECT coalesce(max(number), 0) FROM migration").fetchone()[0])
    if done > len(MIGRATIONS):
        raise StoreUnavailable(
            f"The database {path} was written by a newer version of Everthread (schema {done};"
            f" this version knows {len(MIGRATIONS)}). Upgrade Everthread, or use another EVERTHREAD_HOME."
        )
    if not names >= OURS:
        raise StoreDamaged(
            f"The database {path} cannot be opened: it has no table {', '.join(sorted(OURS - names))}. {RESTORE}"
        )
    return done


def tour(db: sqlite3.Connection) -> None:
    """Steps into every table, and reads the newest turn."""
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
    names = [name for (name,) in db.execute(tables)]
    for name in names:
        db.execute(f'SELECT * FROM "{name}" NOT INDEXED LIMIT 1').fetchone()  # noqa: S608
    if "step" in names:
        db.execute("SELECT * FROM step ORDER BY no DESC LIMIT 1").fetchone()


def migrate(path: Path) -> None:
    with closing(connect(path)) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)")
        done = db.execute("SELECT coalesce(max(number), 0) FROM migration").fetchone()[0]
        for number, script in enumerate(MIGRATIONS[done:], start=done + 1):
            for statement in statements(script):
                db.execute(statement)
            db.execute("INSERT INTO migration VALUES (?, ?)", (number, stamp(datetime.now(UTC))))
        db.execute("PRAGMA application_id = 0")  # from here on it is no backup any more
        db.execute("PRAGMA user_version = 0")
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint (TRUNCATE)")


def statements(script: str) -> Iterator[str]:
    """A script's statements one by one, so that all of them run in one transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def refusal(path: Path, error: Exception) -> StoreUnavailable:
    """Why the file cannot be used, and what to do."""
    match damage(error):
        case sqlite3.SQLITE_NOTADB:
            return StoreDamaged(
                f"The database {path} cannot be opened: it is not a database, or its beginning is damaged. {RESTORE}"
            )
        case sqlite3.SQLITE_CORRUPT:
            return StoreDamaged(
                f"The database {path} cannot be opened: it is damaged ({error}). `everthread check` says how far."
                f" {RESTORE}"
            )
        case _ if isinstance(error, PermissionError):
            return StoreUnavailable(
                f"The database {path} cannot be opened: this user may not write in {path.parent}. Start as the user it"
                " belongs to, or give it to this one with chown."
            )
        case _:
            return StoreUnavailable(f"The database {path} cannot be opened: {error}.")


def damage(error: BaseException | None) -> int | None:
    """The code by which SQLite says that the file itself is not sound; None for any other failure."""
    found = code(error)
    return found if found in DAMAGE else None


def code(error: BaseException | None) -> int | None:
    """SQLite's own code for a failure; None for those that the Python module raises by itself."""
    if not isinstance(error, sqlite3.Error) or "sqlite_errorcode" not in vars(error):
        return None
    return error.sqlite_errorcode & 0xFF


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def lock_of(path: Path) -> Path:
    return beside(path, ".lock")


def take_lock(path: Path) -> int:
    """An exclusive lock that the kernel releases when this process ends, however it ends."""
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = path.read_text().strip() or "unknown"
        os.close(handle)
        raise StoreInUse(
            f"Another Everthread server (process {holder}) is using {path.with_suffix('')}."
            " Stop it first, or give this one a data folder of its own with EVERTHREAD_HOME."
        ) from error
    os.truncate(handle, 0)
    os.write(handle, str(os.getpid()).encode())
    return handle
