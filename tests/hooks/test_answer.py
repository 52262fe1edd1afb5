"""What a receiver's status and its Retry-After mean."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from receiver import NOW

from everthread.core.courier import Delivered, Reason, Then, Undelivered
from everthread.hooks.answer import LONGEST_PAUSE, Answer, receipt


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_a_delivery(status: int) -> None:
    assert receipt(Answer(status), NOW) == Delivered(status)


@pytest.mark.parametrize(
    ("status", "reason", "then"),
    [
        (300, "redirected", "give_up"),
        (301, "redirected", "give_up"),
        (304, "redirected", "give_up"),
        (308, "redirected", "give_up"),
        (400, "rejected", "give_up"),
        (401, "rejected", "give_up"),
        (404, "rejected", "give_up"),
        (422, "rejected", "give_up"),
        (408, "busy", "again"),
        (409, "busy", "again"),
        (425, "busy", "again"),
        (429, "busy", "again"),
        (410, "gone", "disable"),
        (500, "failed", "again"),
        (503, "failed", "again"),
        (599, "failed", "again"),
        (600, "malformed", "again"),
        (999, "malformed", "again"),
    ],
)
def test_any_other_status_says_why_and_whether_to_try_again(status: int, reason: Reason, then: Then) -> None:
    found = receipt(Answer(status), NOW)
    assert found == Undelivered(reason, status)
    assert found.then == then


@pytest.mark.parametrize(
    ("text", "pause"),
    [
        ("0", timedelta()),
        ("120", timedelta(seconds=120)),
        (" 7 ", timedelta(seconds=7)),
        ("86400", timedelta(days=1)),
        ("86401", timedelta(days=1)),
        ("9" * 5000, timedelta(days=1)),
        ("Sun, 01 Mar 2026 12:00:30 GMT", timedelta(seconds=30)),
        ("Sun, 01 Mar 2026 12:00:30 -0000", timedelta(seconds=30)),
        ("Sun, 01 Mar 2026 13:01:00 +0100", timedelta(seconds=60)),
        ("Sun, 01 Mar 2020 12:00:00 GMT", timedelta()),
        ("Sun, 01 Mar 2099 12:00:00 GMT", timedelta(days=1)),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("Sun, 99 Mar 2026 12:00:00 GMT", None),
        ("Sun, 01 Mar 2026 12:00:00 +9999999999", None),
    ],
)
def test_retry_after_is_a_hint_within_bounds(text: str, pause: timedelta | None) -> None:
    assert receipt(Answer(503, text), NOW) == Undelivered("failed", 503, pause)


def test_a_pause_is_not_told_where_there_is_no_next_time() -> None:
    assert receipt(Answer(404, "5"), NOW) == Undelivered("rejected", 404)
    assert receipt(Answer(410, "5"), NOW) == Undelivered("gone", 410)


@given(st.text(max_size=60))
def test_whatever_a_receiver_says_is_a_pause_within_bounds_or_none(text: str) -> None:
    found = receipt(Answer(429, text), NOW)
    assert isinstance(found, Undelivered)
    assert found.after is None or timedelta() <= found.after <= LONGEST_PAUSE
