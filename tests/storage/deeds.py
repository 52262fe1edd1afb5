"""What can be asked of a store: how to ask it, whether the model allows it, and what it changes there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from tests.storage.model import Model

from everthread.core.ids import LineageId, SessionKey, Tenant
from everthread.core.ports import Commit, Reserved
from everthread.core.session import Exchange, Place, Session
from everthread.core.turn import Keep, Replay, Step
from everthread.storage.sqlite import SqliteStore
from everthread.storage.views import SqliteViews


@dataclass
class Deed:
    tenant: Tenant
    run: Callable[[SqliteStore], Awaitable[Any]]
    allowed: Callable[[Model], bool]
    change: Callable[[Model], None]
    lineage: LineageId | None = None  # whose session is returned
    commits: int = 1  # until it counts


def committed(tenant: Tenant, commit: Commit) -> Callable[[SqliteStore], Awaitable[Any]]:
    return lambda store: store.commit(tenant, msgspec.structs.replace(commit, keep=kept(commit.step)))


def kept(given: Step) -> Keep | None:
    """A step that was streamed is to be seen as a completion, too."""
    return Keep(kind="completion", request=b"{}") if given.cuts else None


def named(session: Session, given: Step) -> Session:
    """What is seen so has a name."""
    return msgspec.structs.replace(session, named=session.named or bool(given.cuts))


def item(tenant: Tenant, session: Session, given: Step) -> Deed:
    """A message that nobody answered."""

    class Given:
        def new(self) -> str:
            return given.id

    async def run(store: SqliteStore) -> None:
        views = SqliteViews(store, Given())
        steps = await views.append(tenant, session, given.messages(), tokens=[given.tokens], now=given.stored_at)
        assert steps == (given.id,)

    def allowed(model: Model) -> bool:
        return model.unmoved(session) and len(model.paths[session.lineage].steps) == session.last_seq

    return Deed(tenant, run, allowed, lambda model: model.say(session, given, None))


def append(
    tenant: Tenant,
    session: Session,
    given: Step,
    *,
    bind: SessionKey | None = None,
    replay: Replay | None = None,
) -> Deed:
    async def run(store: SqliteStore) -> Session:
        if replay is not None:
            assert await store.reserve(tenant, replay, now=given.said_at) == Reserved()
        commit = Commit(session=session, step=given, bind=bind, replay=replay, keep=kept(given))
        return await store.commit(tenant, commit)

    def allowed(model: Model) -> bool:
        if not model.unmoved(session) or len(model.paths[session.lineage].steps) != session.last_seq:
            return False
        return bind is None or model.threads[session.thread].key is None

    def change(model: Model) -> None:
        model.say(named(session, given), given, bind)
        if replay is not None:
            model.replays[(tenant, replay.key)] = given.id

    return Deed(tenant, run, allowed, change, session.lineage, 1 if replay is None else 2)


def start(tenant: Tenant, session: Session, given: Step, imported: tuple[Exchange, ...]) -> Deed:
    def change(model: Model) -> None:
        model.begin(tenant, session, given.stored_at, imported=imported)
        model.say(named(session, given), given, None)

    return Deed(
        tenant,
        committed(tenant, Commit(session=session, step=given, begins=True, imported=imported)),
        lambda model: model.free(tenant, session.id),
        change,
        session.lineage,
    )


def branch(tenant: Tenant, session: Session, given: Step, at: Place) -> Deed:
    def allowed(model: Model) -> bool:
        known = session.thread in model.threads and model.leaves(tenant, session)
        return known and model.free(tenant, session.id)

    def change(model: Model) -> None:
        imported, steps, log = model.shared(at)
        model.path(tenant, session, imported=imported, steps=steps, log=log)
        model.say(named(session, given), given, None)

    run = committed(tenant, Commit(session=session, step=given, branches=True))
    return Deed(tenant, run, allowed, change, session.lineage)


def opened(
    tenant: Tenant,
    session: Session,
    now: datetime,
    *,
    at: Place | None = None,
    group: str | None = None,
    current: bool = False,
) -> Deed:
    """A thread without a step of its own: empty, or a fork."""

    def allowed(model: Model) -> bool:
        return model.free(tenant, session.id) and (at is None or model.leaves(tenant, session))

    def change(model: Model) -> None:
        imported, steps, log = model.shared(at) if at else ((), (), None)
        model.begin(tenant, session, now, imported=imported, steps=steps, log=log, group=group)
        if current and session.session_key is not None:
            model.current[(tenant, session.session_key)] = session.thread

    return Deed(
        tenant,
        lambda store: store.begin(tenant, session, now=now, current=current),
        allowed,
        change,
        session.lineage,
    )


def rotate(tenant: Tenant, parent: Session, child: Session, now: datetime) -> Deed:
    log = f"log of {child.id}"

    def allowed(model: Model) -> bool:
        reaches = model.unmoved(parent) and len(model.paths[parent.lineage].steps) >= child.from_seq - 1
        return reaches and model.free(tenant, child.id)

    return Deed(
        tenant,
        lambda store: store.rotate(tenant, parent, child, log=log, now=now),
        allowed,
        lambda model: model.rotate(tenant, parent, child, log),
        parent.lineage,
    )


def delete(tenant: Tenant, session: Session, now: datetime) -> Deed:
    return Deed(
        tenant,
        lambda store: store.delete(tenant, session, now=now),
        lambda model: True,
        lambda model: model.delete(tenant, session.thread),
    )


def tidy(tenant: Tenant, before: datetime, replays_before: datetime) -> Deed:
    def change(model: Model) -> None:
        for name, thread in list(model.threads.items()):
            if not thread.named and thread.updated_at < before:
                model.delete(thread.tenant, name)

    return Deed(
        tenant,
        lambda store: store.tidy(unnamed_before=before, replays_before=replays_before, limit=1000),
        lambda model: True,
        change,
    )


def end(tenant: Tenant, session: Session, now: datetime) -> Deed:
    def allowed(model: Model) -> bool:
        path = model.paths.get(session.lineage)
        return path is not None and path.tip.id == session.id

    def change(model: Model) -> None:
        model.paths[session.lineage].tip.ended = True

    return Deed(tenant, lambda store: store.amend(tenant, session, now=now, end="user_exit"), allowed, change)
