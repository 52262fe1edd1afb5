"""What is particular to SQLite about memory: the third schema, what is checked and mended, what a search costs."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.contract.test_archive import known, more, rotated, talk
from tests.contract.test_memory_port import MODEL, World, all_of, claim, seen, vector
from tests.contract.test_store import NOW, A, fresh, imported, put

from everthread.core.memory import View
from everthread.storage import near
from everthread.storage.near import Block
from everthread.storage.opening import statements
from everthread.storage.schema import MIGRATIONS

SAID = '[{"role":"user","content":"%s","name":"Ann"}]'
ANSWER = '{"role":"assistant","content":"%s"}'
REPLY = '{"model":"m","finish":"stop","context":{"prompt_tokens":1,"budget":1,"prefix":0,"window":0}}'


def second_schema(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("CREATE TABLE migration (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)")
    for number, script in enumerate(MIGRATIONS[:2], start=1):
        for statement in statements(script):
            db.execute(statement)
        db.execute("INSERT INTO migration VALUES (?, 0)", (number,))
    return db


def old_thread(db: sqlite3.Connection, *, key: str | None) -> None:
    """A thread as the second version wrote it: two imported exchanges, three steps, rotated once."""
    db.execute("INSERT INTO scope VALUES (1, 'a', 'scope', ?, NULL, 0)", (key,))
    both = '[{"role":"user","content":"old %s"},{"role":"assistant","content":[{"type":"text","text":"I see"}]}]'
    db.execute("INSERT INTO prior VALUES ('a', x'01', NULL, 1, ?, 10, 1, x'01', 2)", (both % "zebra",))
    db.execute("INSERT INTO prior VALUES ('a', x'02', x'01', 2, ?, 10, 1, x'02', 4)", (both % "heron",))
    db.execute("INSERT INTO thread VALUES ('a', 't', 1, 's', 'l', 1, x'02', NULL, 0, 0, 'api', NULL)")
    db.execute("INSERT INTO lineage VALUES ('a', 'l', 't', NULL, NULL, 's2', 3, x'03', x'02', 10, 3, 3, 0)")
    db.execute(
        "INSERT INTO session (tenant, session, thread, lineage, from_seq, created_at)"
        " VALUES ('a', 's', 't', 'l', -1, 0)"
    )
    db.execute(
        "INSERT INTO session (tenant, session, thread, lineage, parent, from_seq, log, created_at)"
        " VALUES ('a', 's2', 't', 'l', 's', 3, '[]', 5)"
    )
    for seq in (1, 2, 3):
        db.execute(
            "INSERT INTO step (tenant, lineage, seq, thread, session, step, turn, source, input, output, reply,"
            " said_at, stored_at, rolling, tokens, prompt_tokens, completion_tokens, cached_tokens, place)"
            " VALUES ('a', 'l', ?, 't', 's', ?, ?, 'api', ?, ?, ?, ?, ?, x'00', 10, 1, 1, 0, ?)",
            (seq, f"st{seq}", f"st{seq}", SAID % f"q{seq}", ANSWER % f"a{seq}", REPLY, seq, seq, 4 + 2 * seq),
        )
        for role, text in (("user", f"q{seq}"), ("assistant", f"a{seq}")):
            db.execute("INSERT INTO chunk VALUES (NULL, 'a', 1, 't', 'l', ?, ?, ?, ?)", (seq, role, seq, text))


@pytest.mark.parametrize("key", [None, "k"])
async def test_a_file_of_the_second_schema_is_remembered_too(tmp_path: Path, key: str | None) -> None:
    db = second_schema(tmp_path / "store.db")
    old_thread(db, key=key)
    db.close()
    world = World(tmp_path / "store.db")
    await world.store.open()
    session = await known(world.store, "s")
    assert (session.id, session.from_seq) == ("s2", 3)
    assert await world.store.check(repair=False) == ()
    assert await world.found(seen(session), "q1", "q2", "q3", "old") == {("s", n) for n in (-1, 0, 1, 2)}
    hits = await world.memory.search(seen(session), words=["q2", "a2"], vector=None, model=MODEL, limit=5)
    assert {(h.passage.step, h.passage.message, h.passage.speaker) for h in hits} == {
        ("st2", 0, "Ann"),
        ("st2", 1, "assistant"),
    }
    works = await world.read()
    kinds = [work.kind for work in works]
    assert kinds == ["step", "step", "step", "session", *(["thread"] if key else [])]
    assert ("s", -1) in await world.found(seen(session), like="old zebra")
    assert await put(world.store, session, "and on")
    await world.store.close()


async def test_a_file_that_is_as_new_as_can_be_is_left_as_it_is(tmp_path: Path) -> None:
    world = World(tmp_path / "store.db")
    await world.store.open()
    session = await talk(world.store, "s", 2, "k")
    again = await world.restart()
    assert len(await again.memory.waiting(limit=9, now=NOW)) == 2
    assert await again.found(all_of(session), "re") == {("s", 1), ("s", 2)}
    await again.store.close()


# --- check ---

DAMAGES = [
    ("DELETE FROM claim_fts_docsize", "the index covers 0 of 1 claims"),
    ("UPDATE claim SET step = 'nowhere'", "a claim was drawn from a step that is missing"),
    ("UPDATE claim SET scope = 999", "a claim is in another scope than its step"),
    ("INSERT INTO vector VALUES (1, 999, 'm', x'00')", "a vector belongs to no piece of text"),
    ("UPDATE chunk SET step = 'nowhere' WHERE seq = 1", "a piece of text belongs to no step"),
    ("UPDATE chunk SET scope = 999 WHERE seq = 1", "a piece of text belongs to no thread, or is in another scope"),
    ("DELETE FROM chunk WHERE seq <= 0", "1 imported histories are not in the index"),
    ("INSERT INTO outbox VALUES (NULL, 'a', 1, 'step', 'nowhere', 0, 0, NULL, 0, 0)", "something that is gone"),
    ("INSERT INTO outbox VALUES (NULL, 'a', 1, 'session', 'nowhere', 0, 0, NULL, 0, 0)", "something that is gone"),
    ("INSERT INTO outbox VALUES (NULL, 'a', 1, 'thread', 'nowhere', 0, 0, NULL, 0, 0)", "something that is gone"),
]


@pytest.mark.parametrize(("damage", "found"), DAMAGES)
async def test_check_finds_what_must_not_be_and_mends_it(tmp_path: Path, damage: str, found: str) -> None:
    world = World(tmp_path / "store.db")
    await world.store.open()
    exchanges = imported(("old zebra", "a1"))
    session = await world.say(fresh("s", "k", imported=exchanges), "hello there", imported=exchanges)
    await world.remember(session, claim("c", await world.last(session), 1))
    await world.read()
    assert await world.store.check(repair=False) == ()
    await world.store._write(lambda db: db.execute(damage))
    assert found in "; ".join(problem.what for problem in await world.store.check(repair=False))
    mended = await world.store.check(repair=True)
    assert mended
    assert all(problem.mended for problem in mended)
    assert await world.store.check(repair=False) == ()
    assert await world.found(all_of(session), "hello", "old") == {("s", 1), ("s", 0)}
    await world.store.close()


async def test_deleted_words_leave_the_claims_index_and_the_file(tmp_path: Path) -> None:
    world = World(tmp_path / "store.db")
    await world.store.open()
    session = await world.say(fresh("s", "k"), "the xylophone is secret")
    await world.remember(session, claim("c", await world.last(session), 1, quote="the xylophone is secret"))
    await world.store.delete(A, session, now=NOW)
    await world.store.close()
    assert b"xylophon" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


# --- terms ---


async def test_a_word_is_found_by_its_stem_without_its_marks_and_in_any_script(tmp_path: Path) -> None:
    world = World(tmp_path / "store.db")
    await world.store.open()
    session = fresh("s", "k")
    for text in (
        "we were running",
        "the r\u00e9sum\u00e9",
        "the re\u0301sume\u0301",
        "\u6211\u4eec\u4f7f\u7528\u6570\u636e\u5e93",
        "snake_case",
    ):
        session = await world.say(session, text, "x")
    view = all_of(session)
    assert await world.found(view, "run") == {("s", 1)}
    assert await world.found(view, "resume") == {("s", 2), ("s", 3)}
    assert await world.found(view, "\u6570\u636e\u5e93") == {("s", 4)}
    assert await world.found(view, "\u5e93\u6570") == set(), "a word is its characters in their order"
    assert await world.found(view, "case") == {("s", 5)}
    await world.store.close()


async def test_a_number_of_one_scope_is_no_term_of_another(tmp_path: Path) -> None:
    world = World(tmp_path / "store.db")
    await world.store.open()
    sessions = [await world.say(fresh(f"s{n}", f"k{n}"), f"room {n}{n}") for n in range(1, 13)]
    for number, session in enumerate(sessions, start=1):
        for other in range(1, 13):
            found = await world.found(all_of(session), f"{other}{other}")
            assert found == ({(f"s{number}", 1)} if other == number else set())
    await world.store.close()


async def test_a_word_weighs_by_how_rare_it_is_in_its_own_scope(tmp_path: Path) -> None:
    world = World(tmp_path / "store.db")
    await world.store.open()
    session = fresh("s", "k")
    for number in range(12):
        session = await world.say(session, f"common words {number}" if number % 3 else f"common {number}", "x")
    session = await world.say(session, "rare", "x")
    before = await world.memory.search(all_of(session), words=["words", "rare"], vector=None, model=MODEL, limit=50)
    await talk(world.store, "other", 20, "k2")
    for number in range(20):
        await world.say(fresh(f"o{number}", "k2"), "rare rare rare", "rare")
    after = await world.memory.search(all_of(session), words=["words", "rare"], vector=None, model=MODEL, limit=50)
    best = max(after, key=lambda hit: hit.lexical)
    assert best.passage.text == "rare", "it is common elsewhere only"
    assert {hit.passage.no for hit in before} == {hit.passage.no for hit in after}
    await world.store.close()


async def test_a_score_is_the_same_whatever_other_scopes_say(tmp_path: Path) -> None:
    world = World(tmp_path / "store.db")
    await world.store.open()
    session = fresh("s", "k")
    for number in range(1, 9):
        session = await world.say(session, f"heron {'heron and a lot of other birds ' * number * number}", "heron")

    async def scores() -> dict[str, float]:
        hits = await world.memory.search(all_of(session), words=["heron", "lot"], vector=None, model=MODEL, limit=50)
        return {f"{hit.passage.no}": hit.lexical for hit in hits}

    before = await scores()
    assert len(set(before.values())) > 4, "rows of different lengths fit differently"
    for number, text in enumerate(("heron " * 300, "a lot", "something else entirely " * 100)):
        for again in range(10):
            await world.say(fresh(f"o{number}-{again}", f"k{number}"), text, text)
        assert await scores() == before
    await world.store.close()


# --- what a search costs ---


async def cost(world: World, view: View) -> int:
    """Instructions that SQLite runs for one search, those of the lexical index too, when its vectors are at hand."""
    await world.store._write(lambda db: db.execute("INSERT INTO chunk_fts (chunk_fts) VALUES ('optimize')"))
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    await world.found(view, "re", like="re", limit=5)
    await world.store.searching(lambda db: db.set_progress_handler(count, 1))
    await world.found(view, "re", like="re", limit=5)
    await world.store.searching(lambda db: db.set_progress_handler(None, 0))
    return steps


async def test_a_search_costs_nothing_for_other_scopes(tmp_path: Path) -> None:
    world = World(tmp_path / "store.db")
    await world.store.open()
    session = await talk(world.store, "s", 5, "k")
    await world.read()
    alone = await cost(world, all_of(session))
    for number in range(40):
        await talk(world.store, f"other{number}", 5, f"k{number}")
    await world.read()
    assert await cost(world, all_of(session)) <= 1.05 * alone
    await world.store.close()


async def test_every_query_of_a_search_is_led_by_an_index(tmp_path: Path) -> None:
    world = World(tmp_path / "store.db")
    await world.store.open()
    session = await rotated(world.store, await talk(world.store, "s", 5, "k"), 3)
    await world.remember(session, claim("c", await world.last(session), 1), vectors=[vector("c")], model=MODEL)
    asked: set[str] = set()
    await world.read()
    await world.store.searching(lambda db: db.set_trace_callback(asked.add))
    await world.found(seen(session), "re", like="re")
    await world.memory.near(seen(session), words=["c"], vector=vector("c"), model=MODEL, limit=5)
    await world.store.searching(lambda db: db.set_trace_callback(None))
    plans = await world.store.searching(
        lambda db: {
            sql: [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}")]
            for sql in asked
            if sql.startswith("SELECT") and "_fts_" not in sql
        }
    )
    assert len(plans) > 5
    for sql, plan in plans.items():
        assert not [line for line in plan if line.startswith("SCAN") and "VIRTUAL TABLE" not in line], sql
    await world.store.close()


async def test_vectors_at_hand_are_read_once_and_added_to(tmp_path: Path) -> None:
    world = World(tmp_path / "store.db")
    await world.store.open()
    session = await talk(world.store, "s", 5, "k")
    await world.read()
    await world.found(all_of(session), like="re")
    session = await more(world.store, session, 1)
    await world.read()
    asked: list[str] = []
    await world.store.searching(lambda db: db.set_trace_callback(asked.append))
    assert ("s", 6) in await world.found(all_of(session), like="re")
    await world.store.searching(lambda db: db.set_trace_callback(None))
    assert not [sql for sql in asked if "ORDER BY vector.chunk" in sql], "not all of them again"
    await world.store.close()


def test_the_vectors_of_a_scope_are_bounded_and_the_newest_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near, "MOST_VECTORS", 10)
    monkeypatch.setattr(near, "SPARE", 5)
    block = Block(2)
    for number in range(100):
        block.add([(number, b"ab", "l", number)])
        assert len(block.vectors) == len(block.chunks) == len(block.seqs) == len(block.lineages) <= 15
    assert block.chunks[-1] == 99
    block.add([(100, b"of another length", "l", 100)])
    assert block.chunks[-1] == 99


async def test_what_was_searched_longest_ago_is_let_go_of_first(tmp_path: Path) -> None:
    world = World(tmp_path / "store.db")
    await world.store.open()
    world.store.vectors._most_bytes = 1
    one, two = await talk(world.store, "one", 1, "k1"), await talk(world.store, "two", 1, "k2")
    await world.read()
    for _ in range(2):
        assert await world.found(all_of(one), like="re") == {("one", 1)}
        assert await world.found(all_of(two), like="re") == {("two", 1)}
        assert len(world.store.vectors._blocks) == 1
    await world.store.close()


async def test_what_is_older_than_the_vectors_at_hand_is_compared_when_its_words_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near, "MOST_VECTORS", 2)
    world = World(tmp_path / "store.db")
    await world.store.open()
    session = await world.say(fresh("s", "k"), "a zebra", "x")
    session = await more(world.store, session, 3)
    await world.read()
    hits = await world.memory.search(all_of(session), words=["zebra"], vector=vector("a zebra"), model=MODEL, limit=1)
    (hit,) = (hit for hit in hits if hit.lexical)
    assert round(hit.similar, 3) == 1
    await world.store.close()


async def test_a_tool_beside_a_server_sees_what_the_server_writes(tmp_path: Path) -> None:
    server = World(tmp_path / "store.db")
    await server.store.open()
    session = await talk(server.store, "s", 1, "k")
    await server.read()
    tool = World(tmp_path / "store.db", serving=False)
    await tool.store.open()
    assert await tool.found(all_of(session), like="re") == {("s", 1)}
    await more(server.store, session, 1)
    await server.read()
    assert await tool.found(all_of(session), like="re") == {("s", 1), ("s", 2)}
    await tool.store.close()
    await server.store.close()
