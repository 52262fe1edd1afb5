"""Idempotency-Key: same key and request, same answer, for JSON and streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import aclosing
from datetime import datetime

from everthread.core.cuts import recut
from everthread.core.ids import SessionId, Tenant
from everthread.core.ports import Recorded, Store
from everthread.core.session import Session
from everthread.core.turn import Event, Events, Finished, Replay, Started


async def once(
    store: Store,
    tenant: Tenant,
    replay: Replay,
    *,
    events: Callable[[], Events],
    permit: Callable[[Session], None],
    asked: SessionId | None,
    now: datetime,
) -> Events:
    """Runs the turn if this key is new; else tells again what it led to."""
    known = await store.reserve(tenant, replay, now=now)
    if isinstance(known, Recorded):
        permit(known.session)
        yield list(replayed(known, asked=asked))
        return
    kept = retold = False
    try:
        async with aclosing(events()) as running:
            async for some in running:
                first, last = some[0], some[-1]
                if isinstance(first, Started):
                    retold = first.replayed  # by the client's own message id: this key was not used
                if isinstance(last, Finished):
                    kept = not last.degraded and not retold
                yield some
    finally:
        if not kept:
            await store.release(tenant, replay)


def replayed(known: Recorded, *, asked: SessionId | None) -> Iterator[Event]:
    """A recorded turn as events."""
    step = known.step
    yield Started(session=known.session, step=step.id, at=step.stored_at, replayed=True, compacted=step.compacted)
    yield from recut(known.step.outcome, known.step.cuts)
    yield Finished(session=known.session, asked=asked, step=known.step)
