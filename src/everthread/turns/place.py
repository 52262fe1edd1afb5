"""Where a turn goes on: at the tip, at another place of its thread's tree, or where a new path begins."""

from __future__ import annotations

import msgspec

from everthread.context import reconcile
from everthread.context.reconcile import Body
from everthread.core.ids import LineageId, StepId, Tenant, child_id, response_id
from everthread.core.messages import Message, begins_with_result
from everthread.core.ports import Clock, Ids, Store
from everthread.core.session import Place, Session
from everthread.core.turn import Turn
from everthread.core.view import Views
from everthread.errors import Malformed, PreviousNotFound


class Placed(msgspec.Struct, frozen=True):
    session: Session
    input: tuple[Message, ...]
    branches: bool = False  # the session is the first of a new path, and is not stored yet


class Placing:
    """Compares what a client sends with the ledger. When in doubt the ledger wins, and the new words are appended."""

    def __init__(self, store: Store, views: Views, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._views = views
        self._clock = clock
        self._ids = ids

    async def place(self, turn: Turn, session: Session) -> Placed:
        tenant = turn.envelope.tenant
        if turn.after is not None:
            return await self._after(tenant, session, turn.after, turn.messages)
        if turn.appends:
            return Placed(session, turn.messages)
        body = reconcile.read(turn.messages)
        new = body.new
        if not begins_with_result(new):
            named = await self._by_ids(turn, session)
            if named is not None:
                return await self._at(tenant, session, named, body.after(named))
        if body.goes_on:
            return await self._continued(tenant, session, body)
        hashes = body.hashes()
        if not hashes or hashes[0] == session.rolling:
            return Placed(session, new)
        known = await self._by_words(tenant, session, body, hashes)
        if known is None and not turn.store and begins_with_result(new):  # of a call that was not kept either
            new = reconcile.newest_turn(turn.messages)
        return known or Placed(session, new)

    async def _after(self, tenant: Tenant, session: Session, step: StepId, new: tuple[Message, ...]) -> Placed:
        """After a step that the client named, and nowhere else."""
        spot = await self._views.spot(tenant, step)
        if spot is None:
            raise PreviousNotFound(f"Previous response with id '{response_id(step)}' not found.")
        if spot.session.thread != session.thread:
            raise Malformed(
                f"previous_response_id is of another conversation than {session.root!r}.", param="previous_response_id"
            )
        return await self._at(tenant, session, spot.place, new)

    async def _by_ids(self, turn: Turn, session: Session) -> Place | None:
        """The place that a client's own message ids name."""
        envelope = turn.envelope
        if envelope.parent_message_id:
            return await self._store.following(envelope.tenant, session, envelope.parent_message_id)
        if envelope.parent_message_id == "" and envelope.message_id is not None:
            return await self._store.opening(envelope.tenant, session)
        return None

    async def _by_words(self, tenant: Tenant, session: Session, body: Body, hashes: list[bytes]) -> Placed | None:
        """The deepest place that the body's history leads to, if what follows there is clear."""
        found = await self._store.matching(tenant, session, hashes)
        if found is None:
            return None
        number, place = found
        follows = body.follows(number)
        if place.last or reconcile.forks(follows):
            return await self._at(tenant, session, place, follows)
        return None

    async def _continued(self, tenant: Tenant, session: Session, body: Body) -> Placed:
        """An answer that is to go on: another path, which leaves before it."""
        hashes = body.hashes()
        whole = reconcile.rolled(hashes[0] if hashes else b"", body.new)
        found = await self._store.matching(tenant, session, [whole])
        if found is None or found[1].seq < 1:
            raise Malformed(
                "messages ends with an assistant message that this session does not have; there is nothing to answer.",
                param="messages",
            )
        return await self._at(tenant, session, await self._store.before(tenant, found[1]), body.new)

    async def _at(self, tenant: Tenant, session: Session, place: Place, new: tuple[Message, ...]) -> Placed:
        if not place.last:
            now = self._clock.now()
            child = child_id(session.root, now, self._ids.new())
            return Placed(session.branched(child, LineageId(self._ids.new()), place), new, branches=True)
        if place.lineage == session.lineage:
            return Placed(session, new)
        return Placed(await self._store.tip(tenant, place.lineage), new)
