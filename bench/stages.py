"""Where recall's time goes: its stages one after the other, in this process, on a database nobody else has open."""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter_ns, process_time_ns
from typing import TypeVar

import msgspec

from bench import scopes
from everthread.context.tokens import O200k
from everthread.context.tokens import Remembering as CountingOnce
from everthread.core.embedding import Embedder
from everthread.core.ids import DEFAULT_TENANT, SessionId
from everthread.core.memory import View
from everthread.embed import choose
from everthread.memory import rank, render
from everthread.memory.rank import Question
from everthread.storage import index, sight
from everthread.storage.index import Index, Search
from everthread.storage.memory import SqliteMemory
from everthread.storage.sqlite import SqliteStore
from everthread.turns.recall import CONSIDERED, Recall, breadth

ROOM = 1500  # tokens of a tail
COLD = 5  # times that the vectors are read anew

T = TypeVar("T")


class Stage(msgspec.Struct, frozen=True):
    """Times in ns."""

    name: str
    wall: list[int]
    cpu: list[int]

    @property
    def p50(self) -> float:
        return statistics.median(self.wall) / 1e6

    @property
    def cpu_p50(self) -> float:
        return statistics.median(self.cpu) / 1e6


class Watch:
    """Takes the times of what it is given to do."""

    def __init__(self) -> None:
        self.stages: dict[str, Stage] = {}

    async def awaited(self, name: str, work: Awaitable[T]) -> T:
        wall, cpu = perf_counter_ns(), process_time_ns()
        done = await work
        self.took(name, wall, cpu)
        return done

    def did(self, name: str, work: Callable[[], T]) -> T:
        wall, cpu = perf_counter_ns(), process_time_ns()
        done = work()
        self.took(name, wall, cpu)
        return done

    def took(self, name: str, wall: int, cpu: int) -> None:
        stage = self.stages.setdefault(name, Stage(name, [], []))
        stage.wall.append(perf_counter_ns() - wall)
        stage.cpu.append(process_time_ns() - cpu)


def measure(path: Path, questions: list[str], rounds: int) -> list[Stage]:
    return asyncio.run(measured(path, questions, rounds))


async def measured(path: Path, questions: list[str], rounds: int) -> list[Stage]:
    store = SqliteStore(path)
    await store.open()
    embedder = choose.best()
    try:
        session = await store.find(DEFAULT_TENANT, SessionId(scopes.MAIN))
        assert session is not None
        inside = Inside(store, embedder, View(DEFAULT_TENANT, session.scope, session))
        await inside.question(questions[0], Watch())
        watch = Watch()
        for number in range(rounds):
            await inside.question(questions[number % len(questions)], watch)
        for number in range(COLD):
            store.vectors.forget()
            await inside.cold(questions[number], watch)
        return list(watch.stages.values())
    finally:
        await embedder.close()
        await store.close()


class Inside:
    """The parts of `turns/recall.py`, taken one by one."""

    def __init__(self, store: SqliteStore, embedder: Embedder, view: View) -> None:
        self.store = store
        self.embedder = embedder
        self.view = view
        self.memory = SqliteMemory(store, embedder.similarities)
        self.index = Index(store.paths, store.vectors, embedder.similarities)
        self.counter = O200k()
        self.recall = Recall(memory=self.memory, embedder=embedder, counter=CountingOnce(self.counter))

    async def question(self, text: str, watch: Watch) -> None:
        question = Question(text=text, at=datetime.now(UTC))
        await watch.awaited("all of it", self.recall.tail(self.view, question, room=ROOM, profile=None))
        names = await watch.awaited("speakers", self.memory.speakers(self.view))
        wanted = rank.sought(question, names=names)
        vector = await watch.awaited("query's vector", self.embedder.query(wanted.text))
        what = Search(wanted.words, vector, self.embedder.name, breadth(ROOM))
        await self.parts(what, watch)
        found = await watch.awaited("search", self.store.searching(lambda db: self.index.search(db, self.view, what)))
        ranked = watch.did("rank", lambda: rank.rank(found, question, names=names))
        steps = tuple(dict.fromkeys(one.passage.step for one in ranked[:CONSIDERED] if one.passage.step is not None))
        await watch.awaited("shown: claims", self.memory.about(self.view, steps))
        counter = CountingOnce(self.counter)  # what this question finds was not counted yet
        fresh = Recall(memory=self.memory, embedder=self.embedder, counter=counter)
        await watch.awaited("shown", fresh.shown(self.view, question, ranked, room=ROOM))
        standing = await watch.awaited("wishes", self.memory.standing(self.view))
        watch.did("wishes: profile", lambda: render.profile(standing, room=ROOM, counter=counter))

    async def parts(self, what: Search, watch: Watch) -> None:
        """Of the search; they run in the store's thread, as there."""
        await self.store.searching(lambda db: self._parts(db, what, watch))

    def _parts(self, db: sqlite3.Connection, what: Search, watch: Watch) -> None:
        scope = sight.scope_number(db, self.view.tenant, self.view.scope)
        assert scope is not None
        seen = watch.did("search: sight", lambda: sight.outside(db, self.store.paths, self.view, scope))
        rows, block = self.store.vectors.passages(db, scope), self.store.vectors.held(db, scope, what.model)
        found, _ = watch.did(
            "search: words",
            lambda: index.lexical(db, scope, what.words, seen, what.limit, rows=rows, block=block),
        )
        near = watch.did("search: vectors", lambda: self.index.similar(db, scope, what.vector or b"", what, seen))
        watch.did("search: vectors of what has the words", lambda: self.index.compared(db, scope, what, found))
        both = {*found, *near}
        watch.did("search: passages", lambda: list(index.passages(db, self.view.tenant, scope, both, seen)))

    async def cold(self, text: str, watch: Watch) -> None:
        """A search of a scope whose vectors are not at hand."""
        what = Search((), await self.embedder.query(text), self.embedder.name, breadth(ROOM))
        await watch.awaited(
            "search, its vectors not at hand",
            self.store.searching(lambda db: self.index.search(db, self.view, what)),
        )
