"""What a claim becomes when another one that had replaced it, or put it in doubt, is gone."""

from __future__ import annotations

import msgspec

from everthread.core.claim import Claim

replace = msgspec.structs.replace


def restored(claim: Claim) -> Claim:
    """It holds again: nothing took its place."""
    return replace(claim, state="current", superseded_by=None, valid_to=None, closed_at=None)


def freed(claim: Claim) -> Claim:
    """It holds: what it was in conflict with is gone."""
    return replace(claim, state="current", supersedes=None, closed_at=None)


def without(claim: Claim, gone: Claim, heir: Claim | None) -> Claim:
    """A claim that had a link to one that is gone; `heir` is what had replaced that one in its turn, if it stays."""
    if claim.superseded_by == gone.id:
        if heir is not None and heir.id != claim.id and claim.state == "reversed":
            claim = replace(claim, superseded_by=heir.id)
        else:
            claim = restored(claim)
    if claim.supersedes == gone.id:
        claim = freed(claim) if claim.state == "unresolved" else replace(claim, supersedes=None)
    if claim.cause == gone.id:
        claim = replace(claim, cause=None)
    return claim
