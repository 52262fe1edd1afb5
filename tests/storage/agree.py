"""A store compared with the model of it, by everything that a caller can see."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import msgspec
from tests.storage.model import Model

from everthread.core.ids import LineageId, ScopeId, Tenant, ThreadId
from everthread.core.ports import Recorded, Reserved
from everthread.core.session import Session
from everthread.core.turn import Replay
from everthread.core.view import Sort
from everthread.storage.sqlite import SqliteStore
from everthread.storage.views import SqliteViews

A, B = Tenant("a"), Tenant("b")
WORD = "word"  # in everything that is said, so that a search finds all of it


async def all_in_order(store: SqliteStore, model: Model) -> None:
    await compare(store, model)
    await compare_archive(store, model)
    await compare_index(store, model)
    await compare_views(store, model)
    assert await store.check(repair=False) == ()


async def compare(store: SqliteStore, model: Model) -> None:
    """Every id finds its tip, or nothing when it is gone; every path has its window."""
    scopes: dict[tuple[Tenant, ScopeId], str] = {}
    for name in model.ever:
        found, wanted = await store.find(*name), model.resolve(name)
        if wanted is None:
            assert found is None, f"{name} is gone, and yet it is found"
            continue
        assert found is not None, f"{name} is lost"
        assert scopes.setdefault((name[0], found.scope), wanted.scope) == wanted.scope
        assert found == alike(wanted, found)
        assert shares(model, found), f"{name} left a path that does not hold what it shares"
    assert len({(tenant, group) for (tenant, _), group in scopes.items()}) == len(scopes), "a scope has two names"
    for lineage, path in model.paths.items():
        tenant = model.threads[path.thread].tenant
        tip = await store.tip(tenant, lineage)
        assert tip == alike(model.session(lineage), tip)
        for tokens in (1000, 25, 0):
            epoch = await store.epoch(tenant, tip, tokens=tokens)
            words = [(p.seq, tuple(m.text for m in p.messages), p.tokens, p.turn) for p in epoch.past]
            assert (epoch.log, words) == (path.tip.log, path.within(tokens))


def alike(wanted: Session, found: Session) -> Session:
    """The wanted session, in the store's own words for its scope and for the path it left."""
    return msgspec.structs.replace(wanted, scope=found.scope, fork=found.fork, fork_seq=found.fork_seq)


def shares(model: Model, session: Session) -> bool:
    if session.fork is None:
        return True
    origin = model.paths.get(session.fork)
    mine = model.paths[session.lineage].steps[: session.fork_seq]
    return origin is not None and origin.steps[: session.fork_seq] == mine and len(mine) == session.fork_seq


async def compare_archive(store: SqliteStore, model: Model) -> None:
    """Transcripts, parents, trees and lists."""
    for lineage in model.paths:
        await compare_transcript(store, model, lineage)
    for thread_id in model.threads:
        await compare_tree(store, model, thread_id)
    for tenant in (A, B):
        roots = {thread.root for thread in model.threads.values() if thread.tenant == tenant}
        cards = await store.cards(tenant, limit=10_000)
        assert Counter(card.root for card in cards) == Counter(roots)
        everything = await store.cards(tenant, include_children=True, limit=10_000)
        assert Counter((tenant, card.id) for card in everything) == Counter(n for n in model.ids if n[0] == tenant)
    for tenant, key in {(thread.tenant, thread.key) for thread in model.threads.values() if thread.key}:
        current = await store.current(tenant, key)
        assert (current.thread if current else None) == model.current.get((tenant, key))


async def compare_transcript(store: SqliteStore, model: Model, lineage: LineageId) -> None:
    tenant = model.threads[model.paths[lineage].thread].tenant
    tip = await store.tip(tenant, lineage)
    page = await store.transcript(tenant, tip, limit=10_000)
    assert [(entry.turn, entry.message.text) for entry in page.entries] == model.paths[lineage].transcript()
    parents, at = 0, tip.parent
    while at is not None:
        card = await store.card(tenant, at)
        assert card is not None, f"{at} is a parent, and is not there"
        parents, at = parents + 1, card.parent
        assert parents <= len(model.ids), "parents go round in circles"


async def compare_tree(store: SqliteStore, model: Model, thread_id: ThreadId) -> None:
    thread = model.threads[thread_id]
    tree = await store.tree(thread.tenant, model.session(thread.head))
    assert {b.lineage: [card.id for card in b.sessions] for b in tree} == {
        lineage: [era.id for era in model.paths[lineage].eras] for lineage in model.lineages(thread_id)
    }
    assert [b.lineage for b in tree if b.head] == [thread.head]
    for b in tree:
        assert b.sessions[-1].messages == model.paths[b.lineage].messages()
        assert {card.session_key for card in b.sessions} == {thread.key}


async def compare_views(store: SqliteStore, model: Model) -> None:
    """Each step that was streamed is seen, in the thread that holds it; and the items are what the paths say."""
    views = SqliteViews(store, Nobody())
    for tenant in (A, B):
        alive = model.alive(tenant)
        found, more = await views.views(tenant, "completion", sort=Sort(), after=None, limit=10_000, order="asc")
        assert not more
        assert {view.id for view in found} == {name for name, (_, said) in alive.items() if said.cuts}
    for path in model.paths.values():
        tenant = model.threads[path.thread].tenant
        for said in path.steps:
            spot = await views.spot(tenant, said.id)
            assert spot is not None
            assert (spot.step.input or (spot.step.answer,)) == (said.input or (said.answer,))
            assert spot.step.cuts == said.cuts
    for lineage, path in model.paths.items():
        tenant = model.threads[path.thread].tenant
        tip = await store.tip(tenant, lineage)
        page = await views.items(tenant, tip, after=None, limit=10_000, order="asc")
        texts = [message.text for one in page.steps for _, message in one.messages]
        assert texts == [text for _, text in path.transcript()]


class Nobody:
    def new(self) -> str:
        raise AssertionError("nothing is made here")


async def compare_index(store: SqliteStore, model: Model) -> None:
    """Each message of each step is found once, in the scope of a thread that holds it."""
    for tenant in (A, B):
        found: Counter[tuple[int, str, str]] = Counter()
        for scope in {s.scope for s in [await store.find(*name) for name in model.ids if name[0] == tenant] if s}:
            for hit in await store.search(tenant, scope, WORD, limit=10_000):
                if hit.seq < 1:
                    continue  # imported
                owner = await store.find(tenant, hit.session)
                assert owner is not None
                assert owner.scope == scope
                held = [
                    path.steps[hit.seq - 1 : hit.seq] for path in model.paths.values() if path.thread == owner.thread
                ]
                assert any(hit.text == m.text for steps in held for step in steps for m in step.messages())
                found[(hit.seq, hit.role, hit.text)] += 1
        assert found == Counter(
            (number, message.role, message.text)
            for number, said in model.alive(tenant).values()
            for message in said.messages()
        )


async def compare_replays(store: SqliteStore, model: Model, now: datetime) -> None:
    for (tenant, key), step_id in model.replays.items():
        known = await store.reserve(tenant, Replay(key, b"print"), now=now)
        if model.homes[step_id] in model.threads:
            assert isinstance(known, Recorded)
            assert known.step.id == step_id
        else:
            assert known == Reserved()
            await store.release(tenant, Replay(key, b"print"))


async def left(store: SqliteStore) -> list[str]:
    """The tables that still have something to say about a conversation."""
    tables = (
        "thread",
        "lineage",
        "session",
        "step",
        "prior",
        "chunk",
        "vector",
        "claim",
        "outbox",
        "replay",
        "view",
        "scope WHERE session_key IS NULL",
    )
    with store._read() as db:
        return [table for table in tables if db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()]
