"""Copies of the file: made while others write, verified before they get their name, and brought back.

A backup is one SQLite file without side files. Its application id marks it as one, and its user version is the CRC-32
of all its bytes with that number taken as zero: SQLite itself would not notice a changed byte inside a text."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path

import msgspec

from everthread.errors import NotFound, Refused, StoreDamaged, StoreUnavailable
from everthread.storage import opening
from everthread.storage.opening import beside
from everthread.storage.rows import UNFINISHED, moment

PORTION = 256  # pages: a megabyte, in some milliseconds
PAUSE = 0.002  # seconds between two portions, so that a server's writes get their turn at the disk
FLUSHED = 8  # portions: what is written reaches the disk little by little, not in one flood that others wait behind
SPARE = 8_000_000  # bytes that stay free
AT_ONCE = 1 << 20
SEAL = (60, 64)  # where in the file the checksum is
HEADER = b"SQLite format 3\0"
WAL_MODE = 2

Report = Callable[[int, int], None]  # bytes copied, of how many


class Contents(msgspec.Struct, frozen=True):
    """What is in a file."""

    bytes: int
    schema: int
    conversations: int
    turns: int
    newest: datetime | None  # when the newest turn was stored
    keys: int
    jobs: int  # that will fire
    unfinished: int  # runs that go on with the next start


class Restored(msgspec.Struct, frozen=True):
    contents: Contents
    schema: int  # of the backup, before it was brought up to date
    sealed: bool  # whether the backup had a checksum
    aside: Path | None  # where the file is that was there before


# --- writing ---


def free_space(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def write(
    database: Path,
    target: Path,
    *,
    force: bool = False,
    report: Report | None = None,
    free: Callable[[Path], int] = free_space,
) -> Contents:
    """A consistent copy of the file as it is now, while others go on; under its name only when it has been verified."""
    if not database.exists():
        raise NotFound(f"There is no database at {database}; the server makes it when it first starts.")
    opening.present(database)
    refuse_target(database, target, force=force)
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with snapshot(database) as source, partial(beside(target, f".{os.getpid()}.partial")) as copy:
            done = opening.schema(source, database)
            expected = counted(source)
            check_room(source, target.parent, free(target.parent))
            copied(source, copy, report=report)
            with closing(sqlite3.connect(copy, isolation_level=None)) as db:
                db.execute("PRAGMA journal_mode = DELETE")  # one file, without side files
                db.execute(f"PRAGMA application_id = {opening.BACKUP}")
                verify(db, expected)
                found = contents(db, done)
            seal(copy)
            name(copy, target, force=force)
            return found
    except sqlite3.Error as error:
        raise failed(database, target, error) from error
    except OSError as error:
        raise StoreUnavailable(f"The backup {target} could not be written: {error.strerror or error}.") from error


def refuse_target(database: Path, target: Path, *, force: bool) -> None:
    kin = [database, *(beside(database, ending) for ending in ("-wal", "-shm", ".lock"))]
    if any(target.absolute() == path.absolute() or same(target, path) for path in kin):
        raise Refused(f"{target} belongs to the database itself; give the backup another name.")
    if target.is_dir():
        raise Refused(f"{target} is a folder; name a file in it.")
    if target.exists() and not force:
        raise Refused(f"{target} is there already; choose another name, or replace it with --force.")


def same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


@contextmanager
def snapshot(path: Path, *, how: str = "?mode=rw") -> Iterator[sqlite3.Connection]:
    """A connection that sees the file as it is now, for as long as it lasts; writers do not wait for it."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}{how}", uri=True, isolation_level=None)) as db:
        db.execute("PRAGMA busy_timeout = 30000")
        db.execute("BEGIN")
        db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
        yield db


def at_rest(path: Path) -> str:
    """How to read a file that nobody is using: without making anything beside it, for its folder may be read-only."""
    if beside(path, "-wal").exists():
        return "?mode=rw"
    return "?mode=ro&immutable=1" if in_wal_mode(path) else "?mode=ro"


def in_wal_mode(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(20)[18:20] == bytes((WAL_MODE, WAL_MODE))


@contextmanager
def partial(path: Path) -> Iterator[Path]:
    """A file of our own, readable by its owner only, which is gone afterwards unless it got another name."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        yield path
    finally:
        for ending in ("", "-journal", "-wal", "-shm"):
            beside(path, ending).unlink(missing_ok=True)


def check_room(source: sqlite3.Connection, folder: Path, free: int) -> None:
    (need,) = source.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()
    if free < need + SPARE:
        raise StoreUnavailable(
            f"There is too little room in {folder}: {megabytes(need + SPARE)} are needed, {megabytes(free)} are free."
            " Make room there, or name a place on another disk."
        )


def copied(source: sqlite3.Connection, target: Path, *, report: Report | None, pause: float = PAUSE) -> None:
    (size,) = source.execute("PRAGMA page_size").fetchone()
    portions = 0
    handle = os.open(target, os.O_RDWR)

    def told(_: int, left: int, total: int) -> None:
        nonlocal portions
        portions += 1
        if portions % FLUSHED == 0:
            os.fsync(handle)
        if report is not None:
            report((total - left) * size, total * size)
        if left:
            time.sleep(pause)

    try:
        with closing(sqlite3.connect(target, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = OFF")  # a copy that is cut short is thrown away
            db.execute("PRAGMA synchronous = OFF")
            source.backup(db, pages=PORTION, progress=told)
        os.fsync(handle)
    finally:
        os.close(handle)


def counted(db: sqlite3.Connection) -> dict[str, int]:
    tables = sorted({"thread", "step", "session", "lineage", "chunk", "api_key"})
    return {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}  # noqa: S608


def verify(db: sqlite3.Connection, expected: dict[str, int] | None = None) -> None:
    lines = [line for (line,) in db.execute("PRAGMA quick_check(1)")]
    if lines != ["ok"]:
        raise sqlite3.DatabaseError(lines[0].splitlines()[-1])
    if expected is not None and counted(db) != expected:
        raise sqlite3.DatabaseError("the copy has not as many rows as the database")


def contents(db: sqlite3.Connection, schema: int) -> Contents:
    """What a file holds that nobody changes."""

    def one(query: str, *, since: int = 1) -> int:
        return int(db.execute(query).fetchone()[0]) if schema >= since else 0

    living = "WHERE deleted_at IS NULL" if schema >= 2 else ""
    newest = db.execute("SELECT stored_at FROM step ORDER BY no DESC LIMIT 1").fetchone() if schema else None
    return Contents(
        bytes=one("PRAGMA page_count", since=0) * one("PRAGMA page_size", since=0),
        schema=schema,
        conversations=one(f"SELECT count(*) FROM thread {living}"),  # noqa: S608
        turns=one("SELECT count(*) FROM step WHERE turn = step"),
        newest=moment(newest[0]) if newest else None,
        keys=one("SELECT count(*) FROM api_key WHERE revoked_at IS NULL"),
        jobs=one("SELECT count(*) FROM job WHERE next_at IS NOT NULL", since=5),
        unfinished=one(f"SELECT count(*) FROM run WHERE {UNFINISHED}", since=4),  # noqa: S608
    )


def name(copy: Path, target: Path, *, force: bool) -> None:
    """The copy gets its name in one step; what is there already is replaced only if that is wanted."""
    if force:
        copy.replace(target)
    else:
        try:
            target.hardlink_to(copy)
        except FileExistsError:
            raise Refused(f"{target} has appeared in the meantime; choose another name, or --force.") from None
        except OSError:  # a file system without links
            copy.rename(target)
    flush(target.parent)


def flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def failed(database: Path, target: Path, error: sqlite3.Error) -> StoreUnavailable:
    if opening.code(error) == sqlite3.SQLITE_FULL:
        return StoreUnavailable(f"The disk is full: the backup {target} was not written. Make room there first.")
    if opening.code(error) is not None and opening.damage(error) is None:
        return StoreUnavailable(f"The backup {target} was not written: {error}.")
    return StoreDamaged(
        f"The database {database} is damaged ({error}), so a copy of it would be no backup and was not kept."
        " `everthread check` says how far; keep the backups that you have."
    )


def megabytes(number: int) -> str:
    return f"{-(-number // 1_000_000):,} MB"


# --- the seal ---


def seal(path: Path) -> None:
    """Writes the checksum where it is looked for, and all of it to the disk."""
    number = checksum(path)
    with path.open("r+b") as file:
        file.seek(SEAL[0])
        file.write(number)
        file.flush()
        os.fsync(file.fileno())


def checksum(path: Path) -> bytes:
    number = 0
    with path.open("rb") as file:
        head = bytearray(file.read(AT_ONCE))
        head[SEAL[0] : SEAL[1]] = bytes(4)
        number = zlib.crc32(head)
        while piece := file.read(AT_ONCE):
            number = zlib.crc32(piece, number)
    return number.to_bytes(4, "big")


def sealed(path: Path) -> bool:
    """Whether it has a checksum; refuses one that does not hold, and what is no database at all."""
    with path.open("rb") as file:
        head = file.read(100)
    if not head.startswith(HEADER) or len(head) < 100:
        raise StoreDamaged(f"{path} is not a backup of Everthread, or its beginning is damaged.")
    if int.from_bytes(head[68:72], "big") != opening.BACKUP:
        return False
    if head[slice(*SEAL)] != checksum(path):
        raise StoreDamaged(
            f"The backup {path} is damaged, incomplete, or was changed since it was written: its checksum does not"
            " hold. Use another one, or fetch this one again from where it is kept."
        )
    return True


# --- restoring ---


def restore(
    backup: Path, database: Path, *, now: datetime, force: bool = False, report: Report | None = None
) -> Restored:
    """Puts a backup, or any other copy of a database, where the database is, whose old file is moved aside.

    Until the new file is whole, verified and of our schema, nothing is touched."""
    if not backup.is_file():
        raise NotFound(f"There is no backup at {backup}{'; that is a folder' if backup.is_dir() else ''}.")
    if same(backup, database):
        raise Refused(f"{backup} is the database itself.")
    try:
        database.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        held = opening.take_lock(opening.lock_of(database))
        try:
            if occupied(database) and not force:
                raise Refused(
                    f"{database} is there already{told_of(database)}. Replace it with --force: it is moved aside, not"
                    " deleted. Or restore into another EVERTHREAD_HOME."
                )
            return brought_back(backup, database, now=now, report=report)
        finally:
            os.close(held)
    except OSError as error:
        raise StoreUnavailable(f"{backup} could not be restored: {error.strerror or error}.") from error


def brought_back(backup: Path, database: Path, *, now: datetime, report: Report | None) -> Restored:
    has_seal = sealed(backup)
    with partial(beside(database, f".{os.getpid()}.partial")) as copy:
        try:
            with snapshot(backup, how=at_rest(backup)) as source:
                done = opening.schema(source, backup)
                if not done:
                    raise StoreDamaged(f"{backup} is empty.")
                check_room(source, database.parent, free_space(database.parent))
                copied(source, copy, report=report, pause=0)
            with closing(sqlite3.connect(copy, isolation_level=None)) as db:
                verify(db)
            opening.prepare(copy, alone=True)
            with closing(opening.connect(copy)) as db:
                found = contents(db, opening.schema(db, copy))
                db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            if opening.code(error) == sqlite3.SQLITE_FULL:
                raise StoreUnavailable(f"The disk is full: {backup} was not restored. Make room first.") from error
            raise StoreDamaged(f"{backup} is damaged and was not restored ({error}).") from error
        flush(copy)
        aside = moved_aside(database, beside(database, f".replaced-{now:%Y%m%d-%H%M%S}"))
        copy.replace(database)
        flush(database.parent)
    return Restored(contents=found, schema=done, sealed=has_seal, aside=aside)


def occupied(database: Path) -> bool:
    return any(beside(database, ending).exists() for ending in ("", "-wal"))


def told_of(database: Path) -> str:
    """What would be replaced, if it can be read."""
    with suppress(sqlite3.Error, StoreUnavailable, OSError), snapshot(database, how=at_rest(database)) as db:
        found = contents(db, opening.schema(db, database))
        return f" and has {found.conversations:,} conversations"
    return ""


def moved_aside(database: Path, aside: Path) -> Path | None:
    """What is there gets another name, as it is, with its side files. The file keeps its own name until it is replaced.

    A write-ahead log must never be left beside a file that it does not belong to: SQLite would apply it."""
    if not occupied(database):
        return None
    if database.exists():
        try:
            aside.hardlink_to(database)
        except OSError as error:
            if error.errno == errno.EEXIST:
                raise
            database.rename(aside)  # a folder, or a file system without links
    for ending in ("-wal", "-shm"):
        if beside(database, ending).exists():
            beside(database, ending).rename(beside(aside, ending))
    return aside
