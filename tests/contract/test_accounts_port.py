"""What every keeper of accounts promises: each turn is counted once, for its tenant alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date, timedelta
from pathlib import Path

import msgspec
import pytest
from tests.contract.test_store import NOW, A, B, fresh, put, step

from everthread.core.ids import KeyId, StepId
from everthread.core.turn import Context
from everthread.core.usage import Spent, Wanted
from everthread.storage import tally
from everthread.storage.sqlite import SqliteStore
from everthread.storage.usage import SqliteAccounts

TODAY = NOW.date()
K, L = KeyId("k"), KeyId("l")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "store.db")
    await opened.open()
    yield opened
    assert await opened.check(repair=False) == ()
    await opened.close()


@pytest.fixture
def accounts(store: SqliteStore) -> SqliteAccounts:
    return SqliteAccounts(store)


def wanted(**more: object) -> Wanted:
    given = {"by": "key", "since": TODAY, "until": TODAY + timedelta(days=1), **more}
    return Wanted(**given)  # type: ignore[arg-type]


def plain(found: tuple[Spent, ...]) -> list[tuple[str, int, int, int]]:
    return [(spent.of, spent.requests, spent.prompt, spent.completion) for spent in found]


async def test_a_step_is_counted_when_it_is_committed(store: SqliteStore, accounts: SqliteAccounts) -> None:
    session = await put(store, fresh("s"), "one", key=K)
    await put(store, session, "two", key=K, job="j")
    await put(store, fresh("t"), "three", key=L)
    assert plain((await accounts.spent(A, wanted()))[0]) == [("k", 2, 22, 14), ("l", 1, 11, 7)]
    assert plain((await accounts.spent(A, wanted(by="session")))[0]) == [("s", 2, 22, 14), ("t", 1, 11, 7)]
    assert plain((await accounts.spent(A, wanted(by="job")))[0]) == [("j", 1, 11, 7)]
    assert plain((await accounts.spent(A, wanted(by="model")))[0]) == [("m", 3, 33, 21)]
    assert plain((await accounts.spent(A, wanted(by="day")))[0]) == [(TODAY.isoformat(), 3, 33, 21)]
    assert plain(await accounts.total(A, wanted(keys=(K,), job="j"))) == [("m", 1, 11, 7)]
    assert plain(await accounts.total(A, wanted(session="t"))) == [("m", 1, 11, 7)]
    assert (await accounts.spent(B, wanted()))[0] == ()
    assert await accounts.total(B, wanted()) == ()


async def test_a_turn_that_is_not_kept_is_counted_for_no_session(store: SqliteStore, accounts: SqliteAccounts) -> None:
    told = msgspec.structs.replace(step(fresh("s"), "hm"), context=Context(1, 1, 0, 0, distilled=30, searching=4))
    await accounts.add(A, K, told)
    await accounts.add(A, None, told)
    found, _ = await accounts.spent(A, wanted())
    assert [(each.of, each.distilling, each.searching, each.hidden) for each in found] == [
        ("", 30, 4, 34),
        ("k", 30, 4, 34),
    ]
    assert (await accounts.spent(A, wanted(by="session")))[0] == ()


async def test_the_tokens_of_a_day_are_there_before_and_after_they_are_added_up(
    store: SqliteStore, accounts: SqliteAccounts
) -> None:
    session = await put(store, fresh("s"), "one", key=K)
    assert await accounts.tokens(A, K, TODAY) == 18
    await accounts.spent(A, wanted())
    assert await accounts.tokens(A, K, TODAY) == 18
    await put(store, session, "two", key=K)
    assert await accounts.tokens(A, K, TODAY) == 36
    assert await accounts.tokens(A, K, TODAY + timedelta(days=1)) == 0
    assert await accounts.tokens(B, K, TODAY) == 0
    assert await accounts.tokens(A, L, TODAY) == 0


async def test_a_hidden_call_is_counted_where_its_words_were_said(store: SqliteStore, accounts: SqliteAccounts) -> None:
    session = fresh("s")
    said = step(session, "one")
    await put(store, session, "one", key=K, step=said)
    await accounts.hidden(A, said.id, model="small", tokens=50, at=NOW)
    await accounts.hidden(A, StepId("gone"), model="small", tokens=5, at=NOW)
    found, _ = await accounts.spent(A, wanted())
    assert [(each.of, each.model, each.requests, each.distilling) for each in found] == [
        ("", "small", 0, 5),
        ("k", "m", 1, 0),
        ("k", "small", 0, 50),
    ]
    by_session, _ = await accounts.spent(A, wanted(by="session"))
    assert [(each.of, each.distilling) for each in by_session] == [("s", 0), ("s", 50)]


async def test_what_is_waiting_to_be_added_up_stays_short(store: SqliteStore, accounts: SqliteAccounts) -> None:
    session = fresh("s")
    for _ in range(3 * tally.ADD_UP_EVERY):
        session = await put(store, session, "hm", key=K)
    with store.reading() as db:
        assert db.execute("SELECT count(*) FROM usage_new").fetchone()[0] <= tally.ADD_UP_EVERY + 1
    assert plain((await accounts.spent(A, wanted()))[0]) == [("k", 384, 384 * 11, 384 * 7)]


async def test_pages_follow_each_other(store: SqliteStore, accounts: SqliteAccounts) -> None:
    for number in range(5):
        await put(store, fresh(f"s{number}"), "hm", key=K)
    first, more = await accounts.spent(A, wanted(by="session", limit=3))
    assert ([each.of for each in first], more) == (["s0", "s1", "s2"], True)
    rest, more = await accounts.spent(A, wanted(by="session", limit=3, after="s2"))
    assert ([each.of for each in rest], more) == (["s3", "s4"], False)
    assert await accounts.spent(A, wanted(by="session", after="s4")) == ((), False)


async def test_a_deleted_session_is_gone_by_name_and_its_sums_stay(
    store: SqliteStore, accounts: SqliteAccounts
) -> None:
    session = await put(store, fresh("s"), "one", key=K)
    await store.delete(A, session, now=NOW)
    assert (await accounts.spent(A, wanted(by="session")))[0] == ()
    assert plain((await accounts.spent(A, wanted()))[0]) == [("k", 1, 11, 7)]
    with store.reading() as db:
        assert db.execute("SELECT 1 FROM usage_of_session UNION ALL SELECT 1 FROM usage_new").fetchone() is None


async def test_what_an_older_file_holds_is_counted(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "old.db")
    await store.open()
    session = await put(store, fresh("s"), "one")
    await put(store, session, "two")
    await store.writing(undone)
    await store.close()
    again = SqliteStore(tmp_path / "old.db")
    await again.open()
    accounts = SqliteAccounts(again)
    everything = wanted(since=date(1970, 1, 1))
    assert plain(await accounts.total(A, everything)) == [("m", 2, 22, 14)]
    assert plain((await accounts.spent(A, msgspec.structs.replace(everything, by="session")))[0]) == [("s", 2, 22, 14)]
    await again.close()


def undone(db: object) -> None:
    """The file as it was before usage was kept."""
    for statement in (
        "DROP INDEX run_waiting",
        "ALTER TABLE run DROP COLUMN api_key",
        "CREATE INDEX run_waiting ON run (due_at)",
        "CREATE TRIGGER chunk_added AFTER INSERT ON chunk BEGIN SELECT 1; END",
        "DROP TABLE usage_new",
        "DROP TABLE usage",
        "DROP TABLE usage_of_session",
        "ALTER TABLE step DROP COLUMN api_key",
        "ALTER TABLE api_key DROP COLUMN requests_per_minute",
        "ALTER TABLE api_key DROP COLUMN tokens_per_day",
        "ALTER TABLE api_key DROP COLUMN concurrent",
        "DROP TABLE kin",
        "DELETE FROM migration WHERE number >= 6",
    ):
        db.execute(statement)  # type: ignore[attr-defined]
