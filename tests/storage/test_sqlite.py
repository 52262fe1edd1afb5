"""What is particular to SQLite: the lock, the schema, repair, group commit."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.test_archive import Counted
from tests.contract.test_store import NOW, A, fresh, put, step, texts

from everthread.core.ids import SessionId, StepId
from everthread.core.ports import Commit, Recorded
from everthread.core.turn import Keep, Replay
from everthread.errors import StoreInUse, StoreUnavailable
from everthread.storage import check, terms
from everthread.storage.opening import statements
from everthread.storage.queue import SqliteQueue
from everthread.storage.schema import MIGRATIONS
from everthread.storage.sqlite import SqliteStore
from everthread.storage.views import SqliteViews
from everthread.storage.watch import Watch
from everthread.storage.writer import Later, Writer, portions


async def test_a_second_server_on_the_same_file_is_refused_in_plain_words(tmp_path: Path) -> None:
    first, second = SqliteStore(tmp_path / "x.db"), SqliteStore(tmp_path / "x.db")
    await first.open()
    with pytest.raises(StoreInUse, match=r"Another Everthread server .* EVERTHREAD_HOME"):
        await second.open()
    tool = SqliteStore(tmp_path / "x.db", serving=False)
    await tool.open()
    await tool.close()
    await first.close()
    await second.open()
    await second.close()


async def test_a_file_from_a_newer_version_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "x.db")
    await store.open()
    await store.close()
    with sqlite3.connect(tmp_path / "x.db") as db:
        db.execute("INSERT INTO migration VALUES (?, 0)", (len(MIGRATIONS) + 1,))
    db.close()
    with pytest.raises(StoreUnavailable, match="newer version"):
        await store.open()


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"not a database, but long enough to be read as one" * 100)
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        await SqliteStore(tmp_path / "x.db").open()


async def test_the_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "deep" / "x.db")
    await store.open()
    await put(store, fresh("s"), "secret")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "deep").iterdir()}
    await store.close()
    assert set(modes.values()) == {0o600}, modes


async def test_every_commit_waits_for_the_disk(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "x.db")
    await store.open()
    db = store._connect()
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("PRAGMA synchronous").fetchone() == (2,), "FULL"
    db.close()
    await store.close()


async def test_check_finds_a_damaged_index_and_repairs_it(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "x.db")
    await store.open()
    session = await put(store, fresh("s"), "the zebra crossed")
    await store._write(lambda db: db.execute("INSERT INTO chunk_fts (chunk_fts) VALUES ('delete-all')"))
    assert await store.search(A, session.scope, "zebra", limit=5) == ()
    assert [p.what for p in await store.check(repair=False)] == ["the index covers 0 of 2 pieces of text"]
    assert [p.mended for p in await store.check(repair=True)] == [True]
    assert await store.check(repair=False) == ()
    assert len(await store.search(A, session.scope, "zebra", limit=5)) == 1
    await store.close()


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("DELETE FROM step WHERE seq = 2", "newest step"),
        ("UPDATE lineage SET tip = 'nowhere'", "tip is missing"),
        ("UPDATE thread SET head = 'nowhere'", "head is missing"),
        ("DELETE FROM step WHERE seq = 2 AND lineage IN (SELECT lineage FROM lineage WHERE last_seq = 3)", "gap"),
        ("UPDATE step SET session = 'nowhere'", "belongs to no session"),
        ("UPDATE thread SET prior = x'00'", "imported history is missing"),
        ("INSERT INTO replay VALUES ('a', 'k', x'00', 'gone', 0)", "missing step"),
        ("DELETE FROM chunk WHERE seq = 1", "not in the index"),
        (
            "INSERT INTO view SELECT 'a', 'response', 'gone', thread, '{}', '{}', NULL, NULL, NULL, 0, 0 FROM thread",
            "a view shows a step that is missing",
        ),
        (
            "INSERT INTO view VALUES ('a', 'response', 'never', NULL, '{}', '{}', NULL, NULL, NULL, 1, 0)",
            "a view shows a step that is missing",
        ),
        (
            "INSERT INTO view SELECT 'a', 'completion', step, 'other', '{}', '{}', NULL, NULL, NULL, 0, 0 FROM step",
            "a view is of another thread than its step",
        ),
        (
            "INSERT INTO run (tenant, run, kind, session, status, turn, told, metadata, ticket, created_at, updated_at)"
            " VALUES ('a', 'r', 'run', 's', 'completed', '', 0, '{}', x'', 0, 0)",
            "a run is completed, and its step is missing",
        ),
        ("INSERT INTO journal VALUES ('a', 'r', 1, '[]')", "what a run said is kept without it"),
        (
            "INSERT INTO run (tenant, run, kind, session, status, turn, told, metadata, ticket, created_at, updated_at,"
            " held_until) VALUES ('a', 'r', 'run', 's', 'failed', '', 0, '{}', x'', 0, 0, 1)",
            "a run is over, and somebody holds it",
        ),
        ("INSERT INTO job VALUES ('a', 'j', '', NULL, '', 1, 0, 0, 0, 1)", "a job is removed, and is still to fire"),
        ("INSERT INTO job VALUES ('a', 'j', '', NULL, '{', 1, 0, 0, 0, 0)", "a job cannot be read"),
        (
            "INSERT INTO parcel VALUES ('a', 'p', 'r', 'k', 'u', 's', '', 'waiting', 0, 0, NULL, NULL, 0, NULL, NULL,"
            " 0, 0, NULL, NULL)",
            "a parcel tells of a run that is missing",
        ),
    ],
)
async def test_check_finds_what_must_not_be(tmp_path: Path, damage: str, found: str) -> None:
    store = SqliteStore(tmp_path / "x.db")
    await store.open()
    session = fresh("s")
    for word in ("one", "two", "three")[: 3 if found == "gap" else 2]:
        session = await put(store, session, word)
    await store._write(lambda db: db.execute(damage))
    problems = "; ".join(problem.what for problem in await store.check(repair=False))
    if found in check.DERIVED:
        assert [problem.mended for problem in await store.check(repair=True)] == [True]
    await store.close()
    assert found in problems


async def test_repair_indexes_what_the_ledger_has_and_the_index_has_not(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "x.db")
    await store.open()
    session = await put(store, await put(store, fresh("s", "k"), "the zebra crossed"), "the heron flew")
    await store._write(lambda db: db.execute("DELETE FROM chunk WHERE seq = 1"))
    assert [p.mended for p in await store.check(repair=True)] == [True]
    assert await store.check(repair=False) == ()
    assert [hit.seq for hit in await store.search(A, session.scope, "zebra", limit=5)] == [1]
    await store.close()


async def test_a_check_does_not_hold_up_a_server_that_writes(tmp_path: Path) -> None:
    server, tool = SqliteStore(tmp_path / "x.db"), SqliteStore(tmp_path / "x.db", serving=False)
    await server.open()
    await tool.open()
    db = tool._connect()
    db.execute("BEGIN")
    db.execute("SELECT count(*) FROM step").fetchone()  # a check in the middle of its snapshot
    await asyncio.wait_for(put(server, fresh("s"), "hello"), 2)
    db.close()
    assert await tool.check(repair=False) == ()
    await tool.close()
    await server.close()


def beside(file: Path) -> tuple[sqlite3.Connection, Writer]:
    """A table `t` in a file, seen by a connection, and a writer there."""
    db, written = (sqlite3.connect(file, isolation_level=None, check_same_thread=False) for _ in range(2))
    db.execute("CREATE TABLE t (v)")
    return db, Writer(written, Watch(file))


async def test_a_failing_job_leaves_the_others_of_its_transaction_alone(tmp_path: Path) -> None:
    def insert(value: int) -> object:
        def job(db: sqlite3.Connection) -> int:
            db.execute("INSERT INTO t VALUES (?)", (value,))
            if value % 3 == 0:
                raise ValueError(value)
            if value % 5 == 0:
                db.execute("SELECT * FROM no_such_table")
            return value

        return job

    db, writer = beside(tmp_path / "w.db")
    results = await asyncio.gather(*(writer.run(insert(v)) for v in range(1, 200)), return_exceptions=True)  # type: ignore[arg-type]
    kept = [v for (v,) in db.execute("SELECT v FROM t ORDER BY v")]
    await writer.stop()
    db.close()
    assert kept == [v for v in range(1, 200) if v % 3 and v % 5]
    assert all(isinstance(r, ValueError) for v, r in zip(range(1, 200), results, strict=True) if v % 3 == 0)
    assert all(
        isinstance(r, StoreUnavailable) for v, r in zip(range(1, 200), results, strict=True) if v % 5 == 0 and v % 3
    )


async def test_what_a_failed_job_put_off_is_not_inserted(tmp_path: Path) -> None:
    def put_off(value: int) -> Callable[[sqlite3.Connection, Later], None]:
        def job(_: sqlite3.Connection, later: Later) -> None:
            later.insert("t", (value,))
            if value % 3 == 0:
                raise ValueError(value)

        return job

    db, writer = beside(tmp_path / "w.db")
    await asyncio.gather(*(writer.put(put_off(v)) for v in range(1, 100)), return_exceptions=True)
    kept = [v for (v,) in db.execute("SELECT v FROM t ORDER BY v")]
    await writer.stop()
    db.close()
    assert kept == [v for v in range(1, 100) if v % 3]


async def test_a_file_of_the_first_schema_goes_on(tmp_path: Path) -> None:
    """What the first version wrote: a thread with imported history and two steps."""
    db = sqlite3.connect(tmp_path / "x.db")
    db.executescript(
        "CREATE TABLE migration (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL);" + MIGRATIONS[0]
    )
    db.execute("INSERT INTO migration VALUES (1, 0)")
    said = '[{"role":"user","content":"q%d"},{"role":"assistant","content":"a%d"}]'
    db.execute("INSERT INTO scope VALUES (1, 'a', 'scope', NULL, NULL, 0)")
    db.execute("INSERT INTO prior VALUES ('a', x'01', NULL, 1, ?, 10, 1)", (said % (1, 1),))
    db.execute("INSERT INTO prior VALUES ('a', x'02', x'01', 2, ?, 10, 1)", (said % (2, 2),))
    db.execute("INSERT INTO thread VALUES ('a', 't', 1, 's', 'l', 1, x'02', NULL, 0, 0)")
    db.execute("INSERT INTO lineage VALUES ('a', 'l', 't', NULL, NULL, 's', 2, x'00')")
    db.execute("INSERT INTO session VALUES ('a', 's', 't', 'l', NULL, 1, NULL, NULL, NULL, 0)")
    reply = '{"model":"m","finish":"stop","context":{"prompt_tokens":1,"budget":1,"prefix":0,"window":0}}'
    for seq in (1, 2):
        db.execute(
            "INSERT INTO step VALUES (NULL, 'a', 'l', ?, 't', 's', ?, ?, 'api', ?, ?, ?, 0, 0, NULL, NULL, x'00',"
            " 10, 1, 1, 0, NULL)",
            (
                seq,
                f"step{seq}",
                f"step{seq}",
                '[{"role":"user","content":"hi"}]',
                '{"role":"assistant","content":"ho"}',
                reply,
            ),
        )
    db.commit()
    db.close()
    store = SqliteStore(tmp_path / "x.db")
    await store.open()
    session = await store.find(A, SessionId("s"))
    assert session is not None
    assert await texts(store, session) == ["q1", "a1", "q2", "a2", "hi", "ho", "hi", "ho"]
    assert (session.messages, session.last_seq, session.from_seq) == (4, 2, -1)
    session = await put(store, session, "and on")
    assert (await texts(store, session))[-2:] == ["and on", "Noted."]
    await store.close()


async def test_a_file_of_the_third_schema_has_views_from_now_on(tmp_path: Path) -> None:
    """What the third version wrote: a thread with one step, and a replay key that led to it."""
    db = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    terms.install(db)
    db.execute("CREATE TABLE migration (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)")
    for number, script in enumerate(MIGRATIONS[:3], start=1):
        for statement in statements(script):
            db.execute(statement)
        db.execute("INSERT INTO migration VALUES (?, 0)", (number,))
    db.execute("INSERT INTO scope VALUES (1, 'a', 'scope', NULL, NULL, 0)")
    db.execute("INSERT INTO thread VALUES ('a', 't', 1, 's', 'l', 1, NULL, NULL, 0, 0, 'api', NULL)")
    db.execute("INSERT INTO lineage VALUES ('a', 'l', 't', NULL, NULL, 's', 1, x'00', NULL, 2, 1, 1, 0)")
    db.execute(
        "INSERT INTO session (tenant, session, thread, lineage, from_seq, created_at) VALUES ('a', 's', 't', 'l', 1, 0)"
    )
    reply = '{"model":"m","finish":"stop","context":{"prompt_tokens":1,"budget":1,"prefix":0,"window":0}}'
    db.execute(
        "INSERT INTO step VALUES (NULL, 'a', 'l', 1, 't', 's', 'st1', 'st1', 'api', ?, ?, ?, 0, 0, NULL, NULL, x'00',"
        " 10, 1, 1, 0, NULL, 2, NULL)",
        ('[{"role":"user","content":"hi"}]', '{"role":"assistant","content":"ho"}', reply),
    )
    for role, text, message in (("user", "hi", 0), ("assistant", "ho", 1)):
        db.execute(
            "INSERT INTO chunk VALUES (NULL, 'a', 1, 't', 'l', 1, ?, 0, ?, 'st1', NULL, ?, 0)", (role, text, message)
        )
    db.execute("INSERT INTO replay VALUES ('a', 'k', x'00', 'st1', 0)")
    db.close()
    store = SqliteStore(tmp_path / "x.db")
    await store.open()
    views = SqliteViews(store, Counted())
    assert await store.check(repair=False) == ()
    session = await store.find(A, SessionId("s"))
    assert session is not None
    assert isinstance(await store.reserve(A, Replay("k", b"\0"), now=NOW), Recorded)
    spot = await views.spot(A, StepId("st1"))
    assert spot is not None
    assert (spot.session, spot.step.cuts) == (session, ())
    given = step(session, "and on")
    session = await store.commit(A, Commit(session=session, step=given, keep=Keep(kind="response", request=b"{}")))
    assert await views.drop(A, given.id, "response", now=NOW)
    assert await texts(store, session) == ["hi", "ho", "and on", "Noted."], "an old thread's id was used"
    await store.close()


async def test_a_file_of_the_fourth_schema_has_a_queue_from_now_on(tmp_path: Path) -> None:
    """What the fourth version wrote: a run that waits, one that was cut short, one that failed."""
    db = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    terms.install(db)
    db.execute("CREATE TABLE migration (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)")
    for number, script in enumerate(MIGRATIONS[:4], start=1):
        for statement in statements(script):
            db.execute(statement)
        db.execute("INSERT INTO migration VALUES (?, 0)", (number,))
    for number, status in enumerate(("queued", "running", "failed")):
        db.execute(
            "INSERT INTO run VALUES ('a', ?1, 'run', ?1, NULL, ?1, '{}', 0, NULL, '{}', NULL, NULL, x'', NULL, ?2, 5)",
            (status, number),
        )
    db.close()
    store = SqliteStore(tmp_path / "x.db")
    await store.open()
    queue = SqliteQueue(store)
    assert await store.check(repair=False) == ()
    taken = await queue.take("w", now=NOW, until=NOW, limit=9)
    assert [(one.run.id, one.fence, one.run.attempt) for one in taken] == [("queued", 1, 1), ("running", 1, 1)]
    failed = await queue.run(A, StepId("failed"))
    assert failed is not None
    assert failed.ended_at == failed.updated_at
    await store.close()


@given(st.integers(0, 3000), st.integers(1, 1000))
def test_rows_are_inserted_in_few_portions_of_few_sizes(count: int, most: int) -> None:
    parts = list(portions(list(range(count)), most))
    assert [row for part in parts for row in part] == list(range(count))
    assert all(1 <= len(part) <= most for part in parts)
    assert len({len(part) for part in portions(list(range(count)), 10**6)}) <= 6


def test_all_sizes_of_portions_up_to_a_thousand_rows_are_few() -> None:
    sizes = {len(part) for count in range(1000) for part in portions(list(range(count)), 10**6)}
    assert len(sizes) == 19
