"""Idempotency-Key: same key and request, same answer, for JSON and streams."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from datetime import datetime

from everthread.core.ids import SessionId, Tenant
from everthread.core.ports import Recorded, Store
from everthread.core.session import Session
from everthread.core.turn import Event, Finished, Replay, Started, unfold


async def once(
    store: Store,
    tenant: Tenant,
    replay: Replay,
    *,
    events: Callable[[], AsyncGenerator[Event, None]],
    permit: Callable[[Session], None],
    asked: SessionId | None,
    now: datetime,
) -> AsyncGenerator[Event, None]:
    """Runs the turn if this key is new; else tells again what it led to."""
    known = await store.reserve(tenant, replay, now=now)
    if isinstance(known, Recorded):
        permit(known.session)
        for event in replayed(known, asked=asked):
            yield event
        return
    kept = retold = False
    try:
        async with aclosing(events()) as running:
            async for event in running:
                if isinstance(event, Started):
                    retold = event.replayed  # by the client's own message id: this key was not used
                elif isinstance(event, Finished):
                    kept = not event.degraded and not retold
                yield event
    finally:
        if not kept:
            await store.release(tenant, replay)


def replayed(known: Recorded, *, asked: SessionId | None) -> Iterator[Event]:
    """A recorded turn as events."""
    yield Started(session=known.session, step=known.step.id, at=known.step.stored_at, replayed=True)
    yield from unfold(known.step.outcome)
    yield Finished(session=known.session, asked=asked, step=known.step)
