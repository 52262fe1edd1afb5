"""Whose memory a request means, and what of it may be seen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from everthread.core.claim import Claim, ClaimId, Kind
from everthread.core.ids import CURRENT, SessionId
from everthread.core.memory import Kept, Memory, View
from everthread.core.ports import Store
from everthread.core.session import Session
from everthread.core.turn import Envelope
from everthread.errors import Malformed, NotFound, SessionKeyMismatch
from everthread.turns.permit import permit

AT_ONCE = 200  # claims read at a time
SLOWEST = 10.0  # seconds that someone waits until all has been read
LOOKS = 0.02  # seconds between two looks


class Scopes:
    """Finds scopes and claims for those who may see them. What may not be seen does not exist."""

    def __init__(self, *, memory: Memory, store: Store) -> None:
        self._memory = memory
        self._store = store

    async def view(self, to: Envelope) -> View | None:
        """The scope that is asked for; None: nothing was said under this key yet."""
        scope = await self._scope(to)
        if scope is not None and to.wait_for_memory:
            await self._caught_up(scope)
        return scope

    async def _scope(self, to: Envelope) -> View | None:
        if not is_named(to):
            raise Malformed(
                "Say whose memory: send the header X-Hermes-Session-Key or ?session_key=, or for a session without"
                " a key ?session_id=.",
                param="session_key",
            )
        if to.session_id is not None and to.session_id != CURRENT:
            session = await self.session(to, to.session_id)
            return View(to.tenant, session.scope)
        if to.session_key is None:
            raise Malformed(f"{CURRENT} needs a session key: send X-Hermes-Session-Key.", param="session_key")
        scope = await self._memory.scope(to.tenant, to.session_key)
        return View(to.tenant, scope) if scope is not None else None

    async def _caught_up(self, view: View) -> None:
        try:
            async with asyncio.timeout(SLOWEST):
                while await self._memory.behind(view.tenant, view.scope):  # noqa: ASYNC110
                    await asyncio.sleep(LOOKS)
        except TimeoutError:
            return  # what has been read by now must do

    async def session(self, to: Envelope, session_id: SessionId) -> Session:
        session = await self._store.find(to.tenant, session_id)
        if session is None:
            raise NotFound("There is no such session.")
        permit(to, session)
        if to.session_key is not None and session.session_key is None:
            raise SessionKeyMismatch(
                "This session has no session key yet: ask with its id alone, or talk in it once with the key."
            )
        return session

    async def kept(self, to: Envelope, claim: ClaimId) -> Kept:
        """A claim: of the scope that is named, if one is."""
        kept = await self._memory.claim(to.tenant, claim)
        if kept is None or not permitted(to, kept.session_key):
            raise missing()
        if is_named(to):
            view = await self.view(to)
            if view is None or view.scope != kept.scope:
                raise missing()
        return kept

    async def pages(self, view: View, kinds: Sequence[Kind] = ()) -> AsyncIterator[tuple[Claim, ...]]:
        """All claims of a scope, in the order in which they were said; others get their turn in between."""
        after: ClaimId | None = None
        while True:
            page = await self._memory.claims(view, kinds=kinds, after=after, limit=AT_ONCE)
            if page:
                yield page
            if len(page) < AT_ONCE:
                return
            after = page[-1].id
            await asyncio.sleep(0)

    async def last(self, view: View | None, after: ClaimId) -> Claim:
        """The claim after which a page begins."""
        kept = await self._memory.claim(view.tenant, after) if view is not None else None
        if kept is None or view is None or kept.scope != view.scope:
            raise Malformed("after must be the id of a claim of this scope: the last one of a page.", param="after")
        return kept.claim

    async def linked(self, view: View, claim: Claim) -> list[Claim]:
        """The claims that its links lead to, both ways, as they look from here."""
        await asyncio.sleep(0)  # whoever asks for many lets others in between
        known: dict[ClaimId, Claim] = {}
        if claim.step is not None:
            known = {one.id: one for one in await self._memory.about(view, (claim.step,))}
        else:  # by hand: nothing but the whole scope leads there
            async for page in self.pages(view):
                known |= {one.id: one for one in page if one.supersedes or one.superseded_by}
        if claim.cause is not None and claim.cause not in known:
            kept = await self._memory.claim(view.tenant, claim.cause)
            known |= {kept.claim.id: kept.claim} if kept is not None and kept.scope == view.scope else {}
        return [one for one in known.values() if one.id != claim.id]


def is_named(to: Envelope) -> bool:
    """Whether the request says whose memory it means."""
    return to.session_key is not None or to.session_id is not None


def permitted(to: Envelope, session_key: str | None) -> bool:
    """Whether the API key's prefix allows what belongs to this session key."""
    return to.key_prefix is None or (session_key or "").startswith(to.key_prefix)


def missing() -> NotFound:
    return NotFound("There is no such claim; GET /api/memory lists them.")
