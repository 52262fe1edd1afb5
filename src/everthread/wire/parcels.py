"""What a webhook is told: {"type", "timestamp", "data"}, as Standard Webhooks recommends."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from everthread.core.claim import Claim, ClaimId, claim_id
from everthread.core.ids import response_id
from everthread.core.session import Session
from everthread.core.turn import Step
from everthread.core.view import Run
from everthread.wire import jobs, memory, runs

ROTATED = "session.rotated"
REVERSED = "memory.reversed"


def body(kind: str, run: Run, step: Step | None, at: datetime) -> bytes:
    """What became of a run."""
    if run.kind == "job":
        data: dict[str, Any] = jobs.encode_run(run, step)
    else:
        data = msgspec.json.decode(runs.encode(run, step, run.session))
        if run.kind == "response":
            data["id"] = response_id(run.id)
    return msgspec.json.encode({"type": kind, "timestamp": jobs.stamp(at), "data": data})


def rotation(child: Session, at: datetime) -> bytes:
    """A session goes on under another id."""
    data = {
        "session_id": child.id,
        "parent_session_id": child.parent,
        "root_session_id": child.root,
        "session_key": child.session_key,
    }
    return msgspec.json.encode({"type": ROTATED, "timestamp": jobs.stamp(at), "data": data})


class Turned(msgspec.Struct, frozen=True):
    claim_id: str
    supersedes: str
    session_key: str | None


class Reversal(msgspec.Struct, frozen=True):
    """What is kept of a reversal until it is told: the names of its claims. Their words stay where they were said."""

    type: str
    timestamp: str | None
    data: Turned

    @property
    def claims(self) -> tuple[ClaimId, ClaimId]:
        """The one that holds, and the one that does not any more."""
        return memory.decode_id(self.data.claim_id), memory.decode_id(self.data.supersedes)


def reversal(new: ClaimId, old: ClaimId, session_key: str | None, at: datetime) -> bytes:
    """A claim took the place of another."""
    turned = Turned(claim_id(new), claim_id(old), session_key)
    return msgspec.json.encode(Reversal(REVERSED, jobs.stamp(at), turned))


def decode_reversal(body: bytes) -> Reversal:
    return msgspec.json.decode(body, type=Reversal)


def quoted(told: Reversal, new: Claim, old: Claim, cause: Claim | None) -> bytes:
    """A reversal with its words, as they are kept now."""
    data = {
        **msgspec.to_builtins(told.data),
        "session_id": new.session,
        "said_at": jobs.stamp(new.said_at),
        "quote": new.quote,
        "superseded_quote": old.quote,
        "because": new.because or (cause.quote if cause is not None else None),
    }
    return msgspec.json.encode({"type": told.type, "timestamp": told.timestamp, "data": data})
