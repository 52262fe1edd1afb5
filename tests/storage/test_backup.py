"""Copies of the file, and files that are damaged, foreign, replaced or gone."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contract.test_store import NOW, A, fresh, put, texts

from everthread.core.ids import SessionId
from everthread.errors import Refused, StoreDamaged, StoreInUse, StoreUnavailable
from everthread.storage import backup, opening, terms
from everthread.storage.schema import MIGRATIONS
from everthread.storage.sqlite import SqliteStore


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    """A database with two conversations, closed."""
    store = SqliteStore(tmp_path / "home" / "x.db")
    await store.open()
    session = fresh("s")
    for number in range(40):
        session = await put(store, session, f"{number}: the heron flew over the river. " * 20)
    await put(store, fresh("other"), "hello")
    await store.close()
    return tmp_path / "home" / "x.db"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_backup_is_one_private_file_that_says_what_it_has(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    found = backup.write(file, folder / "b.db")
    assert (found.conversations, found.turns, found.schema) == (2, 41, len(MIGRATIONS))
    assert found.newest is not None
    assert names(folder) == ["b.db"]
    assert stat.S_IMODE((folder / "b.db").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert backup.sealed(folder / "b.db")


async def test_a_backup_is_of_one_moment_whatever_is_written_meanwhile(file: Path, tmp_path: Path) -> None:
    store = SqliteStore(file)
    await store.open()
    session = await put(store, fresh("live"), "before")
    await put(store, fresh("long"), "many words " * 400_000)  # more than one portion
    loop = asyncio.get_running_loop()
    sizes: list[int] = []

    def told(done: int, total: int) -> None:
        nonlocal session
        session = asyncio.run_coroutine_threadsafe(put(store, session, "meanwhile " * 500), loop).result(10)
        sizes.append(total)

    found = await asyncio.to_thread(backup.write, file, tmp_path / "b.db", report=told)
    await store.close()
    assert len(sizes) > 3, "it was written to while it was copied"
    assert found.turns == 43
    copy = SqliteStore(tmp_path / "b.db")
    await copy.open()
    kept = await copy.find(A, SessionId("live"))
    assert kept is not None
    assert await texts(copy, kept) == ["before", "Noted."]
    assert await copy.check(repair=False) == ()
    await copy.close()


async def test_nothing_is_overwritten_unless_that_is_wanted(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "b.db"
    target.write_text("precious")
    with pytest.raises(Refused, match="--force"):
        backup.write(file, target)
    assert target.read_text() == "precious"
    backup.write(file, target, force=True)
    assert backup.sealed(target)


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", ".lock"])
async def test_the_database_itself_is_never_the_target(file: Path, ending: str) -> None:
    before = file.read_bytes()
    with pytest.raises(Refused, match="belongs to the database itself"):
        backup.write(file, file.with_name(file.name + ending), force=True)
    (file.parent / "link.db").symlink_to(file)
    with pytest.raises(Refused, match="belongs to the database itself"):
        backup.write(file, file.parent / "link.db", force=True)
    assert file.read_bytes() == before


async def test_a_disk_that_is_too_small_is_said_before_anything_is_written(file: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"too little room in .*: 9 MB are needed, 3 MB are free"):
        backup.write(file, tmp_path / "small" / "b.db", free=lambda _: 3_000_000)
    assert names(tmp_path / "small") == []


async def test_a_backup_that_is_cut_short_leaves_nothing(file: Path, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backup.write(file, tmp_path / "b" / "b.db", report=stop)
    assert names(tmp_path / "b") == []


@pytest.mark.parametrize("table", ["step", "job", "step_by_rolling"])
async def test_a_damaged_database_gives_no_backup(file: Path, tmp_path: Path, table: str) -> None:
    garbage_in_table(table)(file)
    with pytest.raises(StoreDamaged, match="would be no backup"):
        backup.write(file, tmp_path / "b" / "b.db")
    assert names(tmp_path / "b") == []


# --- restoring ---


async def test_a_restored_file_is_the_one_that_was_backed_up(file: Path, tmp_path: Path) -> None:
    backup.write(file, tmp_path / "b.db")
    home = tmp_path / "new" / "home"
    done = backup.restore(tmp_path / "b.db", home / "x.db", now=NOW)
    assert (done.contents.turns, done.sealed, done.aside) == (41, True, None)
    assert names(home) == ["x.db", "x.db.lock"]
    assert stat.S_IMODE((home / "x.db").stat().st_mode) == 0o600
    assert dump(home / "x.db") == dump(file)


async def test_what_was_there_is_moved_aside_with_its_log(file: Path, tmp_path: Path) -> None:
    backup.write(file, tmp_path / "b.db")
    store = SqliteStore(file)
    await store.open()
    await put(store, fresh("later"), "only in the log")
    for ending in ("", "-wal", "-shm"):  # as a killed process leaves them
        shutil.copy(file.with_name(file.name + ending), tmp_path / f"left{ending}")
    await store.close()
    for ending in ("", "-wal", "-shm"):
        shutil.copy(tmp_path / f"left{ending}", file.with_name(file.name + ending))
    with pytest.raises(Refused, match=r"has 3 conversations.*--force"):
        backup.restore(tmp_path / "b.db", file, now=NOW)
    done = backup.restore(tmp_path / "b.db", file, now=NOW, force=True)
    assert done.aside is not None
    for path, there in ((file, False), (done.aside, True)):
        opened = SqliteStore(path)
        await opened.open()
        assert (await opened.find(A, SessionId("later")) is not None) is there
        assert await opened.check(repair=False) == ()
        await opened.close()


async def test_the_log_of_a_damaged_file_goes_with_it_and_is_never_applied_to_the_backup(
    file: Path, tmp_path: Path
) -> None:
    backup.write(file, tmp_path / "b.db")
    store = SqliteStore(file)
    await store.open()
    await put(store, fresh("later"), "only in the log")
    log = file.with_name(file.name + "-wal").read_bytes()
    await store.close()
    garbage_at(0)(file)
    file.with_name(file.name + "-wal").write_bytes(log)
    done = backup.restore(tmp_path / "b.db", file, now=NOW, force=True)
    assert done.aside is not None
    assert done.aside.with_name(done.aside.name + "-wal").read_bytes() == log
    opened = SqliteStore(file)
    await opened.open()
    assert await opened.find(A, SessionId("later")) is None
    assert await opened.check(repair=False) == ()
    await opened.close()


async def test_a_server_that_runs_is_not_disturbed(file: Path, tmp_path: Path) -> None:
    backup.write(file, tmp_path / "b.db")
    store = SqliteStore(file)
    await store.open()
    with pytest.raises(StoreInUse, match="Stop it first"):
        backup.restore(tmp_path / "b.db", file, now=NOW, force=True)
    await put(store, fresh("t"), "still here")
    await store.close()


async def test_a_copy_of_a_whole_folder_is_restored_with_its_log(file: Path, tmp_path: Path) -> None:
    store = SqliteStore(file)
    await store.open()
    await put(store, fresh("later"), "only in the log")
    shutil.copytree(file.parent, tmp_path / "copy")
    await store.close()
    done = backup.restore(tmp_path / "copy" / "x.db", tmp_path / "new" / "x.db", now=NOW)
    assert (done.contents.conversations, done.sealed) == (3, False)


async def test_an_older_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "old.db") as db:
        db.executescript(
            "CREATE TABLE migration (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL);" + MIGRATIONS[0]
        )
        db.execute("INSERT INTO migration VALUES (1, 0)")
    db.close()
    assert backup.write(tmp_path / "old.db", tmp_path / "b.db").schema == 1, "a backup changes nothing"
    done = backup.restore(tmp_path / "b.db", tmp_path / "new" / "x.db", now=NOW)
    assert (done.schema, done.contents.schema) == (1, len(MIGRATIONS))
    store = SqliteStore(tmp_path / "new" / "x.db")
    await store.open()
    assert await store.check(repair=False) == ()
    await store.close()


async def test_a_backup_that_is_put_in_place_by_hand_is_a_database_again(file: Path, tmp_path: Path) -> None:
    backup.write(file, tmp_path / "b.db")
    shutil.copy(tmp_path / "b.db", tmp_path / "by-hand.db")
    store = SqliteStore(tmp_path / "by-hand.db")
    await store.open()
    await put(store, fresh("t"), "going on")
    await store.close()
    assert not backup.sealed(tmp_path / "by-hand.db")
    assert backup.restore(tmp_path / "by-hand.db", tmp_path / "new" / "x.db", now=NOW).contents.conversations == 3


# --- damage ---

Damage = Callable[[Path], None]


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 8192 * 4096)


def one_letter(path: Path) -> None:
    """What SQLite would not notice."""
    text = path.read_bytes()
    place = text.index(b"the heron flew")
    path.write_bytes(text[:place] + b"THE" + text[place + 3 :])


def garbage_at(place: int) -> Damage:
    def damage(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(place)
            file.write(b"\xa5" * 4096)

    return damage


def garbage_in_table(name: str) -> Damage:
    """The page where a table begins."""

    def damage(path: Path) -> None:
        db = sqlite3.connect(path)
        (page,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
        db.close()
        garbage_at((page - 1) * 4096)(path)

    return damage


def empty(path: Path) -> None:
    path.write_bytes(b"")


def text(path: Path) -> None:
    path.write_text("not a database\n" * 500)


def short(path: Path) -> None:
    path.write_text("short")


def foreign(path: Path) -> None:
    path.unlink()
    db = sqlite3.connect(path)
    db.executescript("CREATE TABLE migration (id TEXT); CREATE TABLE moz_places (url TEXT)")
    db.close()


def newer(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("INSERT INTO migration VALUES (?, 0)", (len(MIGRATIONS) + 1,))
    db.execute("PRAGMA application_id = 0")
    db.commit()
    db.close()


BACKUPS: dict[str, tuple[Damage, str]] = {
    "cut": (cut, "damaged, incomplete"),
    "one letter": (one_letter, "checksum does not hold"),
    "garbage in the middle": (garbage_at(20 * 4096), "checksum does not hold"),
    "garbage at the beginning": (garbage_at(0), "not a backup of Everthread"),
    "empty": (empty, "not a backup of Everthread"),
    "text": (text, "not a backup of Everthread"),
    "a few bytes": (short, "not a backup of Everthread"),
    "foreign": (foreign, "belongs to another program"),
    "newer": (newer, "newer version of Everthread"),
}


@pytest.mark.parametrize("kind", BACKUPS)
async def test_a_backup_that_is_none_is_refused_and_nothing_is_touched(file: Path, tmp_path: Path, kind: str) -> None:
    damage, says = BACKUPS[kind]
    copy = tmp_path / "b.db"
    backup.write(file, copy)
    damage(copy)
    before = file.read_bytes()
    with pytest.raises(StoreUnavailable, match=says):
        backup.restore(copy, file, now=NOW, force=True)
    assert file.read_bytes() == before
    assert names(file.parent) == ["x.db", "x.db.lock"]


async def test_a_damaged_copy_without_a_checksum_is_refused_by_its_structure(file: Path, tmp_path: Path) -> None:
    shutil.copy(file, tmp_path / "copy.db")
    garbage_in_table("step_by_id")(tmp_path / "copy.db")
    with pytest.raises(StoreDamaged, match="damaged and was not restored"):
        backup.restore(tmp_path / "copy.db", tmp_path / "new" / "x.db", now=NOW)
    assert names(tmp_path / "new") == ["x.db.lock"]


FILES: dict[str, tuple[Damage, str]] = {
    "cut": (cut, r"it is damaged .*everthread check.*everthread restore"),
    "garbage where turns begin": (garbage_in_table("step"), r"it is damaged .*everthread check.*everthread restore"),
    "garbage where sessions begin": (garbage_in_table("session"), r"it is damaged .*everthread restore"),
    "garbage at the beginning": (garbage_at(0), r"not a database, or its beginning is damaged.*everthread restore"),
    "text": (text, r"not a database.*everthread restore"),
    "a few bytes": (short, r"not a database.*everthread restore"),
    "foreign": (foreign, r"another program.*EVERTHREAD_HOME"),
    "newer": (newer, r"newer version.*Upgrade Everthread"),
}


@pytest.mark.parametrize("kind", FILES)
async def test_a_file_that_cannot_be_used_is_refused_and_left_as_it_is(file: Path, kind: str) -> None:
    damage, says = FILES[kind]
    damage(file)
    before = file.read_bytes()
    for serving in (True, False):
        with pytest.raises(StoreUnavailable, match=rf"^The database {file} .*{says}"):
            await SqliteStore(file, serving=serving).open()
    assert file.read_bytes() == before
    assert not [name for name in names(file.parent) if name.endswith(("-wal", "-journal"))]


async def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").mkdir()
    with pytest.raises(StoreDamaged, match="it is a folder"):
        await SqliteStore(tmp_path / "x.db").open()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_a_file_of_another_user_is_refused(file: Path) -> None:
    file.chmod(0o400)
    with pytest.raises(StoreUnavailable, match="may not read and write it"):
        await SqliteStore(file).open()


@pytest.mark.parametrize("state", ["missing", "empty"])
async def test_a_log_without_its_file_is_not_thrown_away(file: Path, state: str) -> None:
    log = file.with_name(file.name + "-wal")
    log.write_bytes(b"what was written last")
    file.unlink()
    if state == "empty":
        file.touch()
    with pytest.raises(StoreDamaged, match=rf"is {state}, but what was last written to it is still in x.db-wal"):
        await SqliteStore(file).open()
    assert log.read_bytes() == b"what was written last"


async def test_a_tool_changes_no_schema_under_a_server(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "x.db")
    db.executescript(
        "CREATE TABLE migration (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL);" + MIGRATIONS[0]
    )
    db.execute("INSERT INTO migration VALUES (1, 0)")
    db.commit()
    db.close()
    held = opening.take_lock(opening.lock_of(tmp_path / "x.db"))  # a server of that older version
    with pytest.raises(StoreInUse):
        await SqliteStore(tmp_path / "x.db", serving=False).open()
    os.close(held)
    store = SqliteStore(tmp_path / "x.db", serving=False)
    await store.open()
    await store.close()


# --- while it runs ---


async def moved(store: SqliteStore, path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


async def deleted(store: SqliteStore, path: Path) -> None:
    path.unlink()


async def replaced(store: SqliteStore, path: Path) -> None:
    shutil.copy(path, path.with_name("other"))
    path.with_name("other").replace(path)


async def overwritten(store: SqliteStore, path: Path) -> None:
    backup.write(path, path.with_name("b.db"))
    shutil.copyfile(path.with_name("b.db"), path)  # the same inode


async def without_log(store: SqliteStore, path: Path) -> None:
    path.with_name(path.name + "-wal").unlink()


@pytest.mark.parametrize("away", [moved, deleted, replaced, overwritten, without_log])
async def test_nothing_is_acknowledged_once_the_file_is_another(
    tmp_path: Path, away: Callable[[SqliteStore, Path], object]
) -> None:
    path = tmp_path / "x.db"
    store = SqliteStore(path)
    await store.open()
    session = await put(store, fresh("s"), "kept")
    await store.ping()
    await away(store, path)  # type: ignore[misc]
    for _ in range(2):
        with pytest.raises(StoreDamaged, match="deleted, moved or replaced while the server runs"):
            await put(store, session, "lost")
        with pytest.raises(StoreDamaged, match="everthread restore"):
            await store.ping()
    await store.close()


async def test_a_file_that_is_put_back_is_used_again(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    store = SqliteStore(path)
    await store.open()
    await put(store, fresh("s"), "kept")
    path.rename(tmp_path / "elsewhere")
    with pytest.raises(StoreDamaged):
        await store.ping()
    with pytest.raises(StoreDamaged):
        await put(store, fresh("t"), "refused")
    (tmp_path / "elsewhere").rename(path)
    await store.ping()
    await put(store, fresh("u"), "again")
    assert await store.check(repair=False) == ()
    await store.close()


async def test_damage_that_is_met_while_it_runs_is_told_to_those_who_ask_for_its_health(file: Path) -> None:
    garbage_in_table("step_by_message")(file)  # an index that is not looked at when it is opened
    store = SqliteStore(file)
    await store.open()
    await store.ping()
    session = await store.find(A, SessionId("s"))
    assert session is not None
    with pytest.raises(StoreDamaged, match="some of it cannot be read"):
        await store.said(A, session, "m", since=NOW)
    with pytest.raises(StoreDamaged, match="everthread check"):
        await store.ping()
    found = [problem.what for problem in await store.check(repair=False)]
    assert any(what.startswith("the file is damaged") for what in found)
    await store.close()


async def test_check_says_what_is_missing_and_goes_on_after_what_it_cannot_read(file: Path) -> None:
    db = sqlite3.connect(file)
    db.execute("DROP INDEX step_by_rolling")
    db.close()
    garbage_in_table("vector")(file)
    store = SqliteStore(file.with_name("none.db"))
    looked: list[str] = []
    with pytest.raises(StoreDamaged):
        await SqliteStore(file).open()
    store._path = file  # past the door
    found = [problem.what for problem in store._problems(lambda part, number: looked.append(part))]
    assert "the index step_by_rolling is missing" in found
    assert any("cannot be read to the end" in what for what in found)
    assert len(set(looked)) == 6


def dump(path: Path) -> list[str]:
    db = sqlite3.connect(path)
    terms.install(db)
    lines = list(db.iterdump())
    db.close()
    return lines
