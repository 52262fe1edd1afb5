"""The SQLite store against a plain model of it: by chance, with late writers, and with a crash at every commit point.

A longer search: MODEL_EXAMPLES=5000 .venv/bin/python -m pytest tests/storage/test_against_model.py --timeout 0
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from pathlib import Path as Folder
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from tests.contract.test_store import step
from tests.storage.agree import WORD, A, B, alike, all_in_order, compare, compare_replays, left
from tests.storage.deeds import Deed, append, branch, delete, end, item, opened, rotate, start, tidy
from tests.storage.model import Model, Path

from everthread.core.ids import LineageId, ScopeId, SessionId, SessionKey, StepId, Tenant, ThreadId
from everthread.core.messages import say
from everthread.core.session import Exchange, Place, Session, begin
from everthread.core.turn import Cut, Replay, Source, Step
from everthread.errors import SessionExists, SessionMoved
from everthread.storage.sqlite import SqliteStore

T = TypeVar("T")
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LONG_AGO = START - timedelta(days=1)
MEMORY = Folder("/dev/shm")  # a disk that is never waited for; a copy of it is what a kill leaves, not a power cut
FILES = ("store.db", "store.db-wal", "store.db-shm")

# --- what a crash leaves behind ---


class Recorder:
    """Copies the database's files just before each COMMIT: what a process leaves that is killed there."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.copies: list[Folder] = []
        self.on = False

    def heard(self, sql: str) -> None:
        if self.on and sql == "COMMIT":
            self.copy()

    def copy(self) -> None:
        copy = self.folder.with_name(f"{self.folder.name}-{len(self.copies)}")
        copy.mkdir()
        for name in FILES:
            if (self.folder / name).exists():
                shutil.copyfile(self.folder / name, copy / name)
        self.copies.append(copy)


class RecordedStore(SqliteStore):
    """A store that can be copied at each commit point."""

    def __init__(self, folder: Folder, *, serving: bool = True) -> None:
        super().__init__(folder / "store.db", serving=serving)
        self.recorder = Recorder(folder)

    def _connect(self) -> sqlite3.Connection:
        db = super()._connect()
        db.set_trace_callback(self.recorder.heard)
        return db

    async def record(self) -> None:
        """From here on the commits are those of deeds: what earlier steps took is added up first."""
        if self._counting is not None:
            await asyncio.wait([self._counting])
        self._uncounted = 0
        self.recorder.on = True


# --- chance ---

PICK = st.integers(0, 2**16)
PLACES = ("entry", "words", "message", "opening")
CRASH = st.sampled_from([None] * 6 + [0, 1, 2])  # the commit point at which the process dies
NAMES = st.sampled_from([SessionId(f"n{number}") for number in range(8)])
KEYS = st.sampled_from([None, SessionKey("k1"), SessionKey("k2")])
TENANTS = st.sampled_from([A, A, A, B])


@dataclass
class Words:
    question: tuple[str, ...]
    answer: str
    tokens: int
    source: Source
    message_id: str | None
    parent_message_id: str | None
    named: bool
    replay: bool
    streamed: bool


WORDS = st.builds(
    Words,
    question=st.sampled_from([(f"hi {WORD}",), (f"why {WORD}",), (f"{WORD} one", f"{WORD} two")]),
    answer=st.sampled_from([f"yes {WORD}", f"no {WORD}"]),
    tokens=st.sampled_from([10, 1, 30, 0]),
    source=st.sampled_from(["api", "api", "api", "job"]),
    message_id=st.sampled_from(["m1", "m2", None]),
    parent_message_id=st.sampled_from([None, "m1", "m2", None, ""]),
    named=st.booleans(),
    replay=st.sampled_from([False, False, True]),
    streamed=st.sampled_from([False, False, True]),
)


def digest(before: bytes, *texts: str) -> bytes:
    return hashlib.sha256(before + "|".join(texts).encode()).digest()[:8]


def history(pairs: list[tuple[str, str]]) -> tuple[Exchange, ...]:
    exchanges: list[Exchange] = []
    rolling = b""
    for question, answer in pairs:
        rolling = digest(rolling, question, answer)
        exchanges.append(Exchange((say("user", question), say("assistant", answer)), b"at" + rolling, rolling, 10))
    return tuple(exchanges)


HISTORY = st.lists(
    st.tuples(st.sampled_from([f"q1 {WORD}", f"q2 {WORD}"]), st.sampled_from(["a1", "a2"])), max_size=4
).map(history)


@dataclass
class Planned:
    """A path that is planned and not begun yet, as it was when it was looked for."""

    tenant: Tenant
    session: Session
    place: Place
    group: str


class Conversations(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.home = Folder(tempfile.mkdtemp(prefix="everthread-model-", dir=MEMORY if MEMORY.is_dir() else None))
        self.model = Model()
        self.held: list[tuple[Tenant, Session]] = []  # values that were true once
        self.planned: list[Planned] = []
        self.number = 0
        self.sound = True
        self.store = RecordedStore(self.folder())
        self.open = [self.store]
        self.runner.run(self.store.open())

    # --- running ------------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        try:
            self.runner.run(self.finish())
        finally:
            self.runner.close()
            shutil.rmtree(self.home)

    async def finish(self) -> None:
        try:
            if self.sound:
                await all_in_order(self.store, self.model)
                await self.again()
                await all_in_order(self.store, self.model)
                await compare_replays(self.store, self.model, self.now)
                await self.emptied()
        finally:
            for store in self.open:
                await store.close()

    async def emptied(self) -> None:
        """What is deleted leaves nothing behind, not even what threads shared."""
        for thread in self.model.threads.values():
            session = self.model.session(thread.head)
            await self.store.delete(thread.tenant, session, now=self.now)
            assert await self.store.check(repair=False) == ()
        await self.store.tidy(unnamed_before=self.now, replays_before=self.now + timedelta(days=1), limit=1000)
        assert await left(self.store) == []

    def folder(self) -> Folder:
        folder = self.home / self.unique("f")
        folder.mkdir()
        return folder

    def unique(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number:05}"

    @property
    def now(self) -> datetime:
        return START + timedelta(seconds=self.number)

    async def again(self) -> None:
        """Closes the store and opens its file once more."""
        await self.store.close()
        self.store = await self.opened(self.store.recorder.folder)

    async def opened(self, folder: Folder, *, serving: bool = True) -> RecordedStore:
        store = RecordedStore(folder, serving=serving)
        self.open.append(store)
        await store.open()
        return store

    def do(self, *deeds: Deed, crash: int | None = None) -> None:
        """Asks for all of them at once, while others read; then store and model must agree.

        With a crash, what is on disk at each commit point is looked at, and one of these goes on."""
        self.sound = False
        before, after = self.model, self.model.copy()
        expected: list[Session | bool] = []
        for deed in deeds:
            allowed = deed.allowed(after)
            if allowed:
                deed.change(after)
            expected.append(after.session(deed.lineage) if allowed and deed.lineage else allowed)
        results = self.runner.run(self.asked(deeds, recording=crash is not None))
        self.told(deeds, expected, results)
        self.model = after
        if crash is not None:
            self.runner.run(self.died(before, after, max(deed.commits for deed in deeds), crash))
        if self.model is after:
            self.held += [(d.tenant, s) for d, s in zip(deeds, results, strict=True) if isinstance(s, Session)]
        self.runner.run(self.compared())
        self.sound = True

    async def asked(self, deeds: tuple[Deed, ...], *, recording: bool) -> list[Any]:
        if recording:
            await self.store.record()
        readers = asyncio.create_task(self.read())
        results = await asyncio.gather(*(deed.run(self.store) for deed in deeds), return_exceptions=True)
        self.store.recorder.on = False
        readers.cancel()
        (done,) = await asyncio.gather(readers, return_exceptions=True)
        assert isinstance(done, asyncio.CancelledError), done
        return results

    @staticmethod
    def told(deeds: tuple[Deed, ...], expected: list[Session | bool], results: list[Any]) -> None:
        for wanted, result in zip(expected, results, strict=True):
            if wanted is False:
                assert isinstance(result, SessionMoved | SessionExists), f"not refused: {result!r}"
                continue
            if isinstance(result, BaseException):
                raise result
            if isinstance(wanted, Session):
                assert result == alike(msgspec.structs.replace(wanted, named=result.named), result)

    async def read(self) -> None:
        """Someone who looks at everything all the time, and so fills what is kept at hand."""
        names = list(self.model.ever)
        for pause in chain([0.0] * 5, repeat(0.001)):
            for name in names:
                session = await self.store.find(*name)
                if session is not None:
                    with contextlib.suppress(SessionMoved):  # its origin was deleted just now
                        await self.store.epoch(name[0], session, tokens=1000)
            await asyncio.sleep(pause)

    async def died(self, before: Model, after: Model, commits: int, crash: int) -> None:
        """The process is gone; each copy is what the next one may find."""
        recorder = self.store.recorder
        recorder.copy()
        await self.store.close()
        for number, copy in enumerate(recorder.copies):
            store, model = await self.opened(copy), after if number >= commits else before
            await all_in_order(store, model)
            if number == min(crash, len(recorder.copies) - 1):
                self.store, self.model = store, model
            else:
                await store.close()
                shutil.rmtree(copy)
        shutil.rmtree(recorder.folder)

    async def compared(self) -> None:
        await compare(self.store, self.model)
        for lineage, path in self.model.paths.items():
            tenant = self.model.threads[path.thread].tenant
            session = await self.store.tip(tenant, lineage)
            for how in PLACES:
                await self.place(how, tenant, session, self.number)
        if self.number % 5 == 0:
            tool = await self.opened(self.store.recorder.folder, serving=False)
            await all_in_order(tool, self.model)
            await tool.close()

    # --- choosing -----------------------------------------------------------------------------------------------

    def seen(self, pick: int) -> tuple[Tenant, Session]:
        """A session as it is now, by an id or by its path."""
        by_path = pick % 3 == 0
        name = one(list(self.model.ids), pick // 3)
        tenant = name[0]
        if by_path:
            return tenant, self.runner.run(self.store.tip(tenant, self.model.ids[name]))
        found = self.runner.run(self.store.find(*name))
        assert found is not None
        return tenant, found

    def usable(self, session: Session) -> bool:
        """Turns of one thread come one after the other, so none holds a session without its thread's key."""
        thread = self.model.threads.get(session.thread)
        return thread is None or thread.key == session.session_key

    def said(self, session: Session, words: Words) -> Step:
        texts = (*words.question, words.answer)
        return step(
            session,
            "",
            words.answer,
            id=StepId(self.unique("s")),
            input=tuple(say("user", text) for text in words.question),
            said_at=self.now,
            stored_at=self.now,
            tokens=words.tokens,
            source=words.source,
            rolling=digest(session.rolling, *texts) if words.source == "api" else session.rolling,
            message_id=words.message_id,
            parent_message_id=words.parent_message_id,
            cuts=(Cut("text", 0, 0, (len(words.answer),)),) if words.streamed else (),
        )

    def added(self, session: Session, words: Words) -> Step:
        """A message that nobody answers: the model has it as an answer to nothing."""
        alone = replace(words, source="job", message_id=None, parent_message_id=None, streamed=False)
        given = self.said(session, alone)
        message = say("user", words.question[0])
        return msgspec.structs.replace(given, source="import", input=(), answer=message)

    def first_said(self, session: Session, words: Words) -> Step:
        """What a path begins with: it is a client that leaves another one, never a job."""
        return self.said(session, replace(words, source="api"))

    def fresh(
        self, name: SessionId, key: SessionKey | None, *, named: bool, imported: tuple[Exchange, ...] = ()
    ) -> Session:
        return begin(
            name,
            thread=ThreadId(self.unique("t")),
            lineage=LineageId(self.unique("l")),
            scope=ScopeId(self.unique("c")),
            session_key=key,
            named=named,
            imported=imported,
        )

    def name(self, tenant: Tenant, name: SessionId, pick: int) -> SessionId:
        """One of a few names, or one that is taken or was."""
        known = [known for owner, known in self.model.ever if owner == tenant]
        return one(known, pick) if known and pick % 4 == 0 else name

    def child(self, tenant: Tenant, session: Session, pick: int) -> SessionId:
        """An id for a session's child, as a rule one that is free."""
        return self.name(tenant, SessionId(f"{session.root}~{self.unique('r')}"), pick)

    # --- places -------------------------------------------------------------------------------------------------

    async def place(self, how: str, tenant: Tenant, session: Session, pick: int) -> Place | None:
        """A place where a turn could go on, found in one of several ways, and compared with the model."""
        path = self.model.paths[session.lineage]
        place: Place | None
        match how:
            case "entry":
                seq, entry = one(list(entries(path)), pick)
                place = await self.store.place(tenant, session, entry)
                assert (place.seq, self.before(place)) == (max(seq, 0), path.steps[: place.seq])
                assert seq > 0 or place.prior == (path.imported[seq - 1].address if path.imported else None)
            case "words":
                place = await self.matching(tenant, session, pick)
            case "message":
                place = await self.following(tenant, session, one(["m1", "m2"], pick))
            case _:
                place = await self.opening(tenant, session)
        if place is not None:
            self.check(tenant, session, place)
        return place

    def before(self, place: Place) -> list[Step]:
        return self.model.paths[place.lineage].steps[: place.seq]

    def check(self, tenant: Tenant, session: Session, place: Place) -> None:
        path = self.model.paths[place.lineage]
        assert self.model.threads[path.thread].tenant == tenant
        assert self.model.ids[(tenant, place.session)] == place.lineage
        before = self.before(place)
        assert len(before) == place.seq
        thread = [self.model.paths[lineage].steps for lineage in self.model.lineages(session.thread)]
        assert any(steps[: place.seq] == before for steps in thread), "it is a place of another thread"
        assert not place.last or (len(path.steps) == place.seq and place.prior == path.address)
        if place.seq:
            era = path.era_at(place.seq)
            assert (place.session, place.from_seq) == (era.id, era.from_seq)
            assert place.messages == path.messages(place.seq)
            assert place.rolling == before[-1].rolling
            assert place.prior == path.address
            return
        imported = path.imported[: path.exchange(place.prior)]
        assert place.from_seq == 1 - len(imported)
        assert place.messages == sum(len(exchange.messages) for exchange in imported)
        assert place.rolling == (imported[-1].rolling if imported else b"")

    def said_in(self, thread: ThreadId) -> dict[StepId, tuple[int, Step]]:
        """Each step of the thread's paths, with its number."""
        return {
            said.id: (seq, said)
            for lineage in self.model.lineages(thread)
            for seq, said in enumerate(self.model.paths[lineage].steps, start=1)
        }

    async def matching(self, tenant: Tenant, session: Session, pick: int) -> Place | None:
        """Asks for all that was said up to some place of some thread, the newest first, as who resends it does."""
        path = one(list(self.model.paths.values()), pick)
        known = {said.rolling for _, said in self.said_in(session.thread).values()} | {
            exchange.rolling for exchange in self.model.paths[session.lineage].imported
        }
        said: list[Exchange | Step] = [*path.imported, *path.steps]
        hashes = list(dict.fromkeys(step.rolling for step in said[len(said) - pick % (len(said) + 1) :: -1]))
        hashes = [b"nobody said that", *(wanted for wanted in hashes if wanted)]
        number = next((n for n, wanted in enumerate(hashes) if wanted in known), None)
        found = await self.store.matching(tenant, session, hashes)
        if found is None:
            assert number is None
            return None
        place = found[1]
        assert (found[0], place.rolling) == (number, hashes[found[0]])
        steps = self.model.paths[session.lineage].steps
        own = [seq for seq, step in enumerate(steps, start=1) if step.rolling == place.rolling]
        if own:
            assert place.seq == own[-1]
            assert self.before(place) == steps[: place.seq]
        if place.seq:
            await self.unsaid(tenant, session, place)
        return place

    async def unsaid(self, tenant: Tenant, session: Session, place: Place) -> None:
        """The place before these words, and before what others said since."""
        before = self.before(place)
        while before and before[-1].rolling == place.rolling:
            before.pop()
        earlier = await self.store.before(tenant, place)
        self.check(tenant, session, earlier)
        assert self.before(earlier) == before

    async def following(self, tenant: Tenant, session: Session, message_id: str) -> Place | None:
        said = [step for _, (_, step) in sorted(self.said_in(session.thread).items()) if step.message_id == message_id]
        place = await self.store.following(tenant, session, message_id)
        if place is None:
            assert not said
            return None
        before = self.before(place)
        while before[-1].source != "api" and before[-1].message_id != message_id:
            before.pop()
        assert before[-1].message_id == message_id
        mine = [step for step in said if self.model.homes[step.id] == session.thread]
        assert not mine or mine[-1] in self.before(place)[len(before) - 1 :]
        path = self.model.paths[place.lineage]
        assert path.thread != session.thread or all(step.source == "api" for step in path.steps[place.seq :][:1])
        return place

    async def opening(self, tenant: Tenant, session: Session) -> Place | None:
        said = [seq for seq, step in self.said_in(session.thread).values() if step.parent_message_id == ""]
        place = await self.store.opening(tenant, session)
        assert (place.seq if place else None) == (min(said) - 1 if said else None)
        assert place is None or not place.last
        return place

    def plan(self, tenant: Tenant, session: Session, place: Place) -> Planned:
        lineage = LineageId(self.unique("l"))
        planned = session.branched(SessionId(f"{session.root}~{lineage}"), lineage, place)
        return Planned(tenant, planned, place, self.model.threads[session.thread].group)

    def forked(self, planned: Planned, name: SessionId) -> Deed:
        session = msgspec.structs.replace(planned.session, id=name, root=name, thread=ThreadId(self.unique("t")))
        return opened(planned.tenant, session, self.now, at=planned.place, group=planned.group)

    # --- rules --------------------------------------------------------------------------------------------------

    @initialize(imported=HISTORY, words=st.lists(WORDS, max_size=6), named=st.booleans())
    def there_is_a_thread(self, imported: tuple[Exchange, ...], words: list[Words], named: bool) -> None:
        session = self.fresh(SessionId("n0"), None, named=named, imported=imported)
        for some in words:
            begins = session.last_seq == 0
            given = self.said(session, some)
            self.do(start(A, session, given, imported) if begins else append(A, session, given))
            session = self.held[-1][1]

    @rule(tenant=TENANTS, name=NAMES, key=KEYS, imported=HISTORY, words=WORDS, crash=CRASH)
    def a_thread_begins(
        self,
        *,
        tenant: Tenant,
        name: SessionId,
        key: SessionKey | None,
        imported: tuple[Exchange, ...],
        words: Words,
        crash: int | None,
    ) -> None:
        name = self.name(tenant, name, self.number)
        session = self.fresh(name, key, named=words.named, imported=imported)
        self.do(start(tenant, session, self.said(session, words), imported), crash=crash)

    @rule(tenant=TENANTS, name=NAMES, key=KEYS, current=st.booleans(), crash=CRASH)
    def an_empty_thread_begins(
        self, tenant: Tenant, name: SessionId, key: SessionKey | None, current: bool, crash: int | None
    ) -> None:
        session = self.fresh(name, key, named=True)
        self.do(opened(tenant, session, self.now, current=current and key is not None), crash=crash)

    @precondition(lambda self: self.model.ids)
    @rule(pick=PICK, words=st.lists(WORDS, min_size=1, max_size=4))
    def turns_are_said(self, pick: int, words: list[Words]) -> None:
        tenant, session = self.seen(pick)
        for some in words:
            self.do(append(tenant, session, self.said(session, some)))
            session = self.held[-1][1]

    @precondition(lambda self: self.model.ids)
    @rule(pick=PICK, words=WORDS, bind=KEYS, crash=CRASH)
    def a_turn_is_said(self, pick: int, words: Words, bind: SessionKey | None, crash: int | None) -> None:
        tenant, session = self.seen(pick)
        session = msgspec.structs.replace(session, named=session.named or words.named)
        bind = bind if session.session_key is None else None
        replay = Replay(self.unique("r"), b"print") if words.replay else None
        self.do(append(tenant, session, self.said(session, words), bind=bind, replay=replay), crash=crash)

    @precondition(lambda self: self.model.ids)
    @rule(pick=PICK, words=WORDS, crash=CRASH)
    def an_item_is_added(self, pick: int, words: Words, crash: int | None) -> None:
        tenant, session = self.seen(pick)
        self.do(item(tenant, session, self.added(session, words)), crash=crash)

    @precondition(lambda self: self.held)
    @rule(pick=PICK, kind=PICK, upto=PICK, words=WORDS, bind=KEYS)
    def a_late_writer_comes(self, pick: int, kind: int, upto: int, words: Words, bind: SessionKey | None) -> None:
        """With a session that was true once; it may have moved since, or be gone."""
        tenant, session = one(self.held[-20:], pick)
        bind = bind if session.session_key is None else None
        match kind % 5:
            case 0 if session.thread not in self.model.threads:
                self.do(delete(tenant, session, self.now))
            case 1 if self.usable(session):
                from_seq = one(range(session.from_seq + 1, session.last_seq + 4), upto)
                child = session.rotated(self.child(tenant, session, upto), from_seq=from_seq)
                self.do(rotate(tenant, session, child, self.now))
            case 2:
                self.do(end(tenant, session, self.now))
            case 3 if self.usable(session):
                self.do(item(tenant, session, self.added(session, words)))
            case _:
                if self.usable(session) or bind:
                    self.do(append(tenant, session, self.said(session, words), bind=bind))

    @precondition(lambda self: self.model.ids)
    @rule(pick=PICK, upto=PICK, crash=CRASH)
    def a_session_rotates(self, pick: int, upto: int, crash: int | None) -> None:
        tenant, session = self.seen(pick)
        if session.from_seq <= session.last_seq:
            from_seq = one(range(session.from_seq + 1, session.last_seq + 2), upto)
            child = session.rotated(self.child(tenant, session, 1), from_seq=from_seq, distilled=upto % 3)
            self.do(rotate(tenant, session, child, self.now), crash=crash)

    @precondition(lambda self: self.model.ids)
    @rule(pick=PICK, how=st.sampled_from(PLACES), at=PICK, words=WORDS, crash=CRASH)
    def a_path_branches(self, pick: int, how: str, at: int, words: Words, crash: int | None) -> None:
        tenant, session = self.seen(pick)
        place = self.runner.run(self.place(how, tenant, session, at))
        if place is None:
            return
        if place.last and how != "entry":  # it is that path's tip which goes on
            tip = self.runner.run(self.store.tip(tenant, place.lineage))
            self.do(append(tenant, tip, self.said(tip, words)), crash=crash)
            return
        planned = self.plan(tenant, session, place)
        self.do(branch(tenant, planned.session, self.first_said(planned.session, words), place), crash=crash)

    @precondition(lambda self: self.model.ids)
    @rule(pick=PICK, at=PICK, words=WORDS, same=st.booleans(), crash=CRASH)
    def an_answer_is_regenerated(self, pick: int, at: int, words: Words, same: bool, crash: int | None) -> None:
        tenant, session = self.seen(pick)
        steps = self.model.paths[session.lineage].steps
        if not steps:
            return
        number = at % len(steps)
        before = self.store.place(tenant, session, entry_of(steps[number - 1])) if number else None
        place = self.runner.run(before or self.store.opening(tenant, session))
        if place is None:
            return
        planned = self.plan(tenant, session, place)
        words = replace(words, question=tuple(message.text for message in steps[number].input))
        if same:
            words = replace(words, answer=steps[number].answer.text)
        self.do(branch(tenant, planned.session, self.first_said(planned.session, words), place), crash=crash)

    @precondition(lambda self: self.model.ids)
    @rule(pick=PICK, how=st.sampled_from(PLACES), at=PICK)
    def a_path_is_planned(self, pick: int, how: str, at: int) -> None:
        tenant, session = self.seen(pick)
        place = self.runner.run(self.place(how, tenant, session, at))
        if place is not None:
            self.planned.append(self.plan(tenant, session, place))

    @precondition(lambda self: self.planned)
    @rule(pick=PICK, words=WORDS, fork=st.booleans())
    def a_late_path_begins(self, pick: int, words: Words, fork: bool) -> None:
        """What it leaves was there when it was planned."""
        planned = self.planned.pop(pick % len(self.planned))
        tenant, session = planned.tenant, planned.session
        if not fork and self.usable(session):
            session = msgspec.structs.replace(session, id=self.child(tenant, session, pick))
            self.do(branch(tenant, session, self.first_said(session, words), planned.place))
        there = session.thread in self.model.threads and self.usable(session)
        if fork and (there or not self.model.leaves(tenant, session)):
            self.do(self.forked(planned, SessionId(self.unique("fork"))))

    @precondition(lambda self: self.model.ids)
    @rule(pick=PICK, at=PICK, name=NAMES, crash=CRASH)
    def a_thread_is_forked(self, pick: int, at: int, name: SessionId, crash: int | None) -> None:
        tenant, session = self.seen(pick)
        place = self.runner.run(self.place("entry", tenant, session, at))
        assert place is not None
        unique = SessionId(self.unique("fork"))
        self.do(self.forked(self.plan(tenant, session, place), name if pick % 2 else unique), crash=crash)

    @precondition(lambda self: len(self.model.threads) > 1)
    @rule(pick=PICK, crash=CRASH)
    def a_thread_is_deleted(self, pick: int, crash: int | None) -> None:
        tenant, session = self.seen(pick)
        self.do(delete(tenant, session, self.now), crash=crash)

    @precondition(lambda self: self.model.ids)
    @rule(pick=PICK, crash=CRASH)
    def it_is_tidied(self, pick: int, crash: int | None) -> None:
        self.do(tidy(A, START + timedelta(seconds=pick % (2 * self.number)), LONG_AGO), crash=crash)

    @precondition(lambda self: self.model.ids)
    @rule(pick=PICK, crash=CRASH)
    def a_session_is_ended(self, pick: int, crash: int | None) -> None:
        tenant, session = self.seen(pick)
        self.do(end(tenant, session, self.now), crash=crash)

    @precondition(lambda self: self.model.ids)
    @rule(picks=st.lists(st.tuples(PICK, PICK, WORDS), min_size=2, max_size=4), bind=KEYS, crash=CRASH)
    def many_come_at_once(
        self, picks: list[tuple[int, int, Words]], bind: SessionKey | None, crash: int | None
    ) -> None:
        deeds: list[Deed] = []
        for pick, kind, words in picks:
            tenant, session = self.seen(pick)
            match kind % 8:
                case 0:
                    deeds.append(delete(tenant, session, self.now))
                case 1 if session.from_seq <= session.last_seq:
                    child = session.rotated(self.child(tenant, session, 1), from_seq=session.last_seq + 1)
                    deeds.append(rotate(tenant, session, child, self.now))
                case 2:
                    place = self.runner.run(self.store.place(tenant, session))
                    planned = self.plan(tenant, session, place)
                    deeds.append(branch(tenant, planned.session, self.first_said(planned.session, words), place))
                case 3:
                    begun = self.fresh(SessionId("n0"), None, named=words.named)
                    deeds.append(start(tenant, begun, self.said(begun, words), ()))
                case 4:
                    deeds.append(item(tenant, session, self.added(session, words)))
                case _:
                    deeds.append(append(tenant, session, self.said(session, words)))
        if bind is not None and session.session_key is None:  # the last one
            deeds.append(append(tenant, session, self.said(session, words), bind=bind))
        self.do(*deeds, crash=crash)

    @precondition(lambda self: self.model.ids)
    @rule()
    def it_is_closed_and_opened(self) -> None:
        self.sound = False
        self.runner.run(self.again())
        self.runner.run(self.compared())
        self.sound = True


def one(items: Sequence[T], pick: int) -> T:
    return items[pick % len(items)]


def entry_of(said: Step) -> str:
    return f"msg_{said.id}_0"


def entries(path: Path) -> Iterator[tuple[int, str | None]]:
    """Each place of a path, and the message it is named by. What was imported is 0, -1 ..., the newest first."""
    for number in range(len(path.imported)):
        yield number + 1 - len(path.imported), f"msg_import_{number + 1}_0"
    for seq, said in enumerate(path.steps, start=1):
        yield seq, entry_of(said)
    yield len(path.steps), None


EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "0"))


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.long
def test_the_store_holds_what_a_plain_model_says_whoever_comes_late_and_wherever_it_dies() -> None:
    run_state_machine_as_test(
        Conversations,
        settings=settings(
            max_examples=EXAMPLES or 20,
            stateful_step_count=40,
            derandomize=not EXAMPLES,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
