"""What a webhook is told, as JSON."""

from __future__ import annotations

import msgspec
import pytest
from tests.contract.test_memory_port import claim
from tests.contract.test_store import NOW

from everthread.core.claim import Claim, ClaimId
from everthread.core.ids import SessionId
from everthread.wire import parcels

OLD = claim("old", None, 0, quote="We use Redis")
NEW = claim("new", None, 1, quote="We removed Redis")
WHY = claim("why", None, 0, quote="the cache was never hit")


@pytest.mark.parametrize(
    ("because", "cause", "told"),
    [(None, None, None), ("of the cost", WHY, "of the cost"), (None, WHY, "the cache was never hit")],
)
def test_a_reversal_is_kept_by_its_names_and_told_in_its_words(
    because: str | None, cause: Claim | None, told: str | None
) -> None:
    kept = parcels.reversal(NEW.id, OLD.id, "user:ann", NOW)
    assert b"Redis" not in kept
    decoded = parcels.decode_reversal(kept)
    assert decoded.claims == (ClaimId("new"), ClaimId("old"))
    new = msgspec.structs.replace(NEW, because=because, session=SessionId("s"))
    assert msgspec.json.decode(parcels.quoted(decoded, new, OLD, cause)) == {
        "type": "memory.reversed",
        "timestamp": "2026-03-02T09:00:00Z",
        "data": {
            "claim_id": "clm_new",
            "supersedes": "clm_old",
            "session_key": "user:ann",
            "session_id": "s",
            "said_at": "2026-03-02T09:01:00Z",
            "quote": "We removed Redis",
            "superseded_quote": "We use Redis",
            "because": told,
        },
    }
