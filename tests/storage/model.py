"""What a store should hold, as plain lists and dicts: threads, their paths, what was said on each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from everthread.core.ids import LineageId, ScopeId, SessionId, SessionKey, StepId, Tenant, ThreadId
from everthread.core.session import Exchange, Place, Session
from everthread.core.turn import Step
from everthread.storage.paths import SEEN_AT_LEAST

Name = tuple[Tenant, SessionId]


@dataclass
class Era:
    """One session of a path."""

    id: SessionId
    from_seq: int
    parent: SessionId | None
    log: str | None = None
    ended: bool = False
    distilled: int = 0


@dataclass
class Path:
    """One lineage, with all of its past: what it shares with others stands here too."""

    thread: ThreadId
    imported: tuple[Exchange, ...]
    steps: list[Step]
    eras: list[Era]

    @property
    def tip(self) -> Era:
        return self.eras[-1]

    @property
    def rolling(self) -> bytes:
        said = self.steps or self.imported
        return said[-1].rolling if said else b""

    @property
    def address(self) -> bytes | None:
        return self.imported[-1].address if self.imported else None

    def messages(self, steps: int | None = None) -> int:
        imported = sum(len(exchange.messages) for exchange in self.imported)
        return imported + sum(len(step.input) + 1 for step in self.steps[:steps])

    def era_at(self, seq: int) -> Era:
        """The epoch that a turn after step `seq` belongs to: one that shows some steps before it. Where none of this
        path's own reaches so far back, all that was said is given."""
        known = [era for era in self.eras if era.from_seq <= seq + 1]
        shows = [era for era in known if era.from_seq <= seq + 1 - SEEN_AT_LEAST]
        return shows[-1] if shows else known[0] if known else Era(self.tip.id, 1 - len(self.imported), None)

    def exchange(self, address: bytes | None) -> int:
        """How many imported exchanges there are up to this one."""
        return [None, *(exchange.address for exchange in self.imported)].index(address)

    def past(self) -> Iterator[tuple[int, tuple[str, ...], int, StepId | None]]:
        """The tip's epoch, the newest first: number, words, tokens, turn."""
        for number in range(len(self.steps), 0, -1):
            if number >= self.tip.from_seq:
                step = self.steps[number - 1]
                yield number, tuple(message.text for message in step.messages()), step.tokens, step.turn
        for number, exchange in enumerate(reversed(self.imported)):
            if -number >= self.tip.from_seq:
                yield -number, tuple(message.text for message in exchange.messages), exchange.tokens, None

    def within(self, tokens: int) -> list[tuple[int, tuple[str, ...], int, StepId | None]]:
        """The newest of its epoch that weigh at most `tokens`, the oldest first; at least the very newest."""
        newest: list[tuple[int, tuple[str, ...], int, StepId | None]] = []
        for past in self.past():
            tokens -= past[2]
            if tokens < 0 and newest:
                break
            newest.append(past)
        return newest[::-1]

    def transcript(self) -> list[tuple[StepId | None, str]]:
        imported = [(None, message.text) for exchange in self.imported for message in exchange.messages]
        return [*imported, *((step.id, message.text) for step in self.steps for message in step.messages())]


@dataclass
class Thread:
    tenant: Tenant
    root: SessionId
    key: SessionKey | None
    group: str  # threads of one group share a scope
    named: bool
    updated_at: datetime
    head: LineageId
    title: str | None = None


@dataclass
class Model:
    threads: dict[ThreadId, Thread] = field(default_factory=dict)
    paths: dict[LineageId, Path] = field(default_factory=dict)
    ids: dict[Name, LineageId] = field(default_factory=dict)  # every live session, and its path
    ever: dict[Name, None] = field(default_factory=dict)  # every id there ever was, in order
    current: dict[tuple[Tenant, SessionKey], ThreadId] = field(default_factory=dict)
    replays: dict[tuple[Tenant, str], StepId] = field(default_factory=dict)
    homes: dict[StepId, ThreadId] = field(default_factory=dict)  # the thread that each step was said in

    def copy(self) -> Model:
        return Model(
            {name: replace(thread) for name, thread in self.threads.items()},
            {
                name: replace(path, steps=list(path.steps), eras=[replace(era) for era in path.eras])
                for name, path in self.paths.items()
            },
            dict(self.ids),
            dict(self.ever),
            dict(self.current),
            dict(self.replays),
            dict(self.homes),
        )

    # --- what it says ---

    def lineages(self, thread: ThreadId) -> list[LineageId]:
        return [name for name, path in self.paths.items() if path.thread == thread]

    def resolve(self, name: Name) -> Session | None:
        """What an id should find; how its path is made up of others is the store's own affair."""
        lineage = self.ids.get(name)
        if lineage is None:
            return None
        thread = self.threads[self.paths[lineage].thread]
        return self.session(thread.head if thread.root == name[1] else lineage)

    def session(self, lineage: LineageId) -> Session:
        path = self.paths[lineage]
        thread = self.threads[path.thread]
        return Session(
            id=path.tip.id,
            root=thread.root,
            parent=path.tip.parent,
            thread=path.thread,
            lineage=lineage,
            scope=ScopeId(thread.group),
            session_key=thread.key,
            from_seq=path.tip.from_seq,
            last_seq=len(path.steps),
            prior=path.address,
            rolling=path.rolling,
            named=thread.named,
            messages=path.messages(),
            distilled=path.tip.distilled,
            ended=path.tip.ended,
        )

    def unmoved(self, session: Session) -> bool:
        """Whether its path and its epoch are where this value says, and what it left has not been deleted."""
        path = self.paths.get(session.lineage)
        whole = session.fork is None or session.fork in self.paths
        return path is not None and path.tip.id == session.id and whole

    def free(self, tenant: Tenant, name: SessionId) -> bool:
        return (tenant, name) not in self.ids

    def leaves(self, tenant: Tenant, session: Session) -> bool:
        """Whether what a planned path leaves is still there."""
        return session.parent is not None and self.ids.get((tenant, session.parent)) == session.fork

    # --- what changes it ---

    def begin(
        self,
        tenant: Tenant,
        session: Session,
        now: datetime,
        *,
        imported: tuple[Exchange, ...] = (),
        steps: tuple[Step, ...] = (),
        log: str | None = None,
        group: str | None = None,
    ) -> None:
        """A thread, which may share another one's steps and, without a key, its scope."""
        group = f"key {session.session_key}" if session.session_key else group or f"thread {session.thread}"
        self.threads[session.thread] = Thread(
            tenant, session.root, session.session_key, group, session.named, now, session.lineage
        )
        self.path(tenant, session, imported=imported, steps=steps, log=log)

    def path(
        self,
        tenant: Tenant,
        session: Session,
        *,
        imported: tuple[Exchange, ...],
        steps: tuple[Step, ...],
        log: str | None = None,
    ) -> None:
        era = Era(session.id, session.from_seq, session.parent, log)
        self.paths[session.lineage] = Path(session.thread, imported, list(steps), [era])
        self.know(tenant, session)

    def know(self, tenant: Tenant, session: Session) -> None:
        self.ids[(tenant, session.id)] = session.lineage
        self.ever[(tenant, session.id)] = None

    def shared(self, place: Place) -> tuple[tuple[Exchange, ...], tuple[Step, ...], str | None]:
        """What a path that leaves at this place begins with: imported history, steps, a log."""
        origin = self.paths[place.lineage]
        if place.seq:
            left = [era.log for era in origin.eras if (era.id, era.from_seq) == (place.session, place.from_seq)]
            return origin.imported, tuple(origin.steps[: place.seq]), left[0] if left else None
        return origin.imported[: origin.exchange(place.prior)], (), None

    def say(self, session: Session, step: Step, bind: SessionKey | None) -> None:
        path = self.paths[session.lineage]
        thread = self.threads[path.thread]
        path.steps.append(step)
        path.tip.ended, path.tip.distilled = False, 0
        self.homes[step.id] = path.thread
        thread.head, thread.updated_at = session.lineage, step.stored_at
        thread.named = thread.named or session.named
        if bind is not None:
            thread.key, thread.group = bind, f"key {bind}"

    def rotate(self, tenant: Tenant, parent: Session, child: Session, log: str) -> None:
        path = self.paths[parent.lineage]
        path.eras.append(Era(child.id, child.from_seq, parent.id, log, distilled=child.distilled))
        self.know(tenant, child)

    def delete(self, tenant: Tenant, thread: ThreadId) -> None:
        if self.threads.pop(thread, None) is None:
            return
        for lineage in self.lineages(thread):
            del self.paths[lineage]
        gone = {name for name, lineage in self.ids.items() if lineage not in self.paths}
        for name in gone:
            del self.ids[name]
        for path in self.paths.values():
            for era in path.eras:
                if self.threads[path.thread].tenant == tenant and (tenant, era.parent) in gone:
                    era.parent = None
        self.current = {key: kept for key, kept in self.current.items() if kept != thread}

    def alive(self, tenant: Tenant) -> dict[StepId, tuple[int, Step]]:
        """Every step that some path holds, with its number."""
        return {
            step.id: (number, step)
            for path in self.paths.values()
            if self.threads[path.thread].tenant == tenant
            for number, step in enumerate(path.steps, start=1)
        }
