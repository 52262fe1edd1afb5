"""What was used lately is at hand, and what nobody uses any more is not."""

from __future__ import annotations

from tests.contract.test_store import fresh

from everthread.core.messages import say
from everthread.core.ports import Epoch, past_of
from everthread.storage.recent import LONGEST_IDLE, Epochs


def test_an_epoch_that_nobody_uses_for_a_while_is_let_go_of() -> None:
    now = 0.0
    epochs, session = Epochs(monotonic=lambda: now), fresh("s")
    epoch = Epoch(None, (past_of((say("user", "hello"),), 5, seq=1),))
    epochs.put("idle", session, 100, epoch)
    epochs.put("used", session, 100, epoch)
    now = LONGEST_IDLE
    assert epochs.get("used", session, 100) == epoch
    now += 1
    epochs.put("new", session, 100, epoch)
    assert epochs.get("idle", session, 100) is None
    assert epochs.get("used", session, 100) == epoch
    assert epochs.bytes == 2 * epoch.past[0].size
