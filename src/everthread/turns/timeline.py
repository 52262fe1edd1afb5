"""What changed in a scope, when and why: read from its beginning, shown a page at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from heapq import nsmallest

import msgspec

from everthread.core.claim import Claim, ClaimId
from everthread.core.memory import View
from everthread.memory import ledger
from everthread.memory.ledger import Change
from everthread.memory.wording import stems
from everthread.turns.scopes import Scopes

Place = tuple[datetime, datetime, int, int, int, str]  # in a timeline


class Era(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of a timeline."""

    about: str = ""
    since: datetime | None = None
    until: datetime | None = None
    after: ClaimId | None = None
    limit: int


async def page(scopes: Scopes, view: View, era: Era) -> tuple[tuple[Change, ...], bool]:
    """The changes of an era, the oldest first, and whether more follow. All claims are read, few are held."""
    start = place(await scopes.last(view, era.after)) if era.after is not None else None
    chosen: list[Claim] = []
    async for claims in concerning(scopes.pages(view), era.about):
        fitting = (claim for claim in claims if within(claim, era) and (start is None or place(claim) > start))
        chosen = nsmallest(era.limit + 1, (*chosen, *fitting), key=place)
    shown = chosen[: era.limit]
    replaced = await replaced_by_hand(scopes, view, shown)
    return tuple([await change(scopes, view, claim, replaced) for claim in shown]), len(chosen) > era.limit


async def concerning(pages: AsyncIterator[tuple[Claim, ...]], about: str) -> AsyncIterator[tuple[Claim, ...]]:
    """The claims that have these words, or took the place of one that has them, or have such a cause."""
    wanted = stems(about)
    touched: set[ClaimId] = set()

    def concerns(claim: Claim) -> bool:
        if not wanted <= stems(words(claim)):
            return claim.id in touched or claim.cause in touched
        touched.update(name for name in (claim.id, claim.superseded_by) if name is not None)
        return True

    async for claims in pages:
        yield tuple(claim for claim in claims if concerns(claim)) if wanted else claims


def words(claim: Claim) -> str:
    return " ".join(filter(None, (claim.subject, claim.attribute, claim.value, claim.quote, claim.because)))


def within(claim: Claim, era: Era) -> bool:
    """Whether it is a change, and of that time."""
    if claim.state == "retracted" or claim.kind == "cause":
        return False
    at = moment(claim)
    return (era.since is None or at >= era.since) and (era.until is None or at < era.until)


def moment(claim: Claim) -> datetime:
    return claim.valid_from or claim.said_at


def place(claim: Claim) -> Place:
    return (moment(claim), claim.said_at, claim.seq, claim.span.message, claim.span.start, claim.id)


async def replaced_by_hand(scopes: Scopes, view: View, claims: list[Claim]) -> list[Claim]:
    """What claims by hand replaced: no step leads there, so all are read once more."""
    by_hand = {claim.id for claim in claims if claim.step is None and claim.supersedes is not None}
    if not by_hand:
        return []
    return [one async for page in scopes.pages(view) for one in page if one.superseded_by in by_hand]


async def change(scopes: Scopes, view: View, claim: Claim, replaced: list[Claim]) -> Change:
    """A claim with what it replaced and its cause."""
    linked = replaced
    if claim.step is not None:
        linked = await scopes.linked(view, claim) if claim.supersedes or claim.cause else []
    return next(one for one in ledger.timeline([*linked, claim]) if one.claim.id == claim.id)
