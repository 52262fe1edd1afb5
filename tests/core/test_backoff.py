"""When a parcel is sent again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.core.backoff import MOST_ATTEMPTS, PAUSES, pause

ATTEMPTS = st.integers(1, MOST_ATTEMPTS - 1)


@given(ATTEMPTS, st.text(max_size=40))
def test_a_pause_is_as_long_as_planned_or_up_to_a_fifth_longer(attempt: int, parcel: str) -> None:
    found = pause(attempt, parcel)
    assert found is not None
    assert PAUSES[attempt - 1] <= found <= PAUSES[attempt - 1] * 1.2
    assert found == pause(attempt, parcel)


@given(ATTEMPTS, st.timedeltas(timedelta(), timedelta(hours=24)))
def test_it_is_never_shorter_than_the_receiver_asked_for(attempt: int, asked: timedelta) -> None:
    found = pause(attempt, "msg_1", asked=asked)
    assert found is not None
    assert found >= asked


def test_parcels_that_failed_together_come_back_apart() -> None:
    assert len({pause(3, f"msg_{number}") for number in range(100)}) == 100


def test_after_the_last_attempt_there_is_none_and_that_is_days_later() -> None:
    assert pause(MOST_ATTEMPTS, "msg_1") is None
    assert pause(MOST_ATTEMPTS + 5, "msg_1", asked=timedelta(hours=1)) is None
    assert timedelta(days=2) < sum(PAUSES, timedelta()) < timedelta(days=4)
    assert list(PAUSES) == sorted(PAUSES)


@pytest.mark.parametrize("attempt", [0, -1])
def test_attempts_are_counted_from_one(attempt: int) -> None:
    with pytest.raises(ValueError, match="from 1"):
        pause(attempt, "msg_1")
