"""A history that lost some words is still the same conversation."""

from __future__ import annotations

from everthread.context import reconcile, shorten
from everthread.context.tokens import O200k
from everthread.core.messages import say

COUNTER, LIMITS = O200k(), shorten.limits(2000)
BODY = (
    say("user", "one"),
    say("assistant", "re one"),
    say("user", "two"),
    say("assistant", "re two"),
    say("user", "new"),
)


def test_other_words_have_other_addresses_and_the_same_place_in_the_conversation() -> None:
    begun = reconcile.begun(BODY, COUNTER, LIMITS)
    assert begun.history == BODY[:4]
    assert reconcile.reworded(begun, begun.history, COUNTER, LIMITS) == begun
    history = (*BODY[:2], say("user", "[forgotten]"), BODY[3])
    made = reconcile.reworded(begun, history, COUNTER, LIMITS)
    assert (made.input, made.history) == (begun.input, history)
    assert [one.rolling for one in made.imported] == [one.rolling for one in begun.imported]
    assert made.imported[0] == begun.imported[0]
    assert made.imported[1].address != begun.imported[1].address


def test_nothing_of_it_may_be_left() -> None:
    begun = reconcile.begun(BODY, COUNTER, LIMITS)
    assert reconcile.reworded(begun, (), COUNTER, LIMITS) == reconcile.Reconciled(BODY[4:])
