"""What a receiver's answer means."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import msgspec

from everthread.core.courier import Delivered, Reason, Receipt, Undelivered

LONGEST_PAUSE = timedelta(hours=24)  # that a receiver can ask for
BUSY = {408, 409, 425, 429}  # 409: a receiver that is still at work on the same id says so
BY_CLASS: dict[int, Reason] = {3: "redirected", 4: "rejected", 5: "failed"}


class Answer(msgspec.Struct, frozen=True):
    """The head of one; its body is nobody's business."""

    status: int
    retry_after: str | None = None


def receipt(answer: Answer, now: datetime) -> Receipt:
    if 200 <= answer.status < 300:
        return Delivered(answer.status)
    undelivered = Undelivered(reason(answer.status), answer.status)
    if undelivered.then != "again" or answer.retry_after is None:
        return undelivered
    return Undelivered(undelivered.reason, answer.status, wait(answer.retry_after, now))


def reason(status: int) -> Reason:
    if status == 410:
        return "gone"
    if status in BUSY:
        return "busy"
    return BY_CLASS.get(status // 100, "malformed")


def wait(text: str, now: datetime) -> timedelta | None:
    """The pause that a Retry-After header asks for, in seconds or as a date; None when it cannot be read."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text[:9]), LONGEST_PAUSE.total_seconds()))
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return min(max(at - now, timedelta()), LONGEST_PAUSE)
