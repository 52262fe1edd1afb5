"""What several requests used, as one."""

from __future__ import annotations

import msgspec

from everthread.core.turn import Usage


def added(one: Usage | None, two: Usage | None) -> Usage | None:
    """The sum of both; a single one stays exactly as it came."""
    if one is None or two is None:
        return one or two
    return Usage(
        one.prompt + two.prompt,
        one.completion + two.completion,
        one.cached + two.cached,
        raw(one.raw, two.raw) if one.raw and two.raw else b"",
    )


def raw(one: bytes, two: bytes) -> bytes:
    """Two servers' usage objects with all their numbers added; none when one of them cannot be read."""
    try:
        return msgspec.json.encode(merged(msgspec.json.decode(one), msgspec.json.decode(two)))
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError):
        return b""


def merged(one: object, two: object) -> object:
    match one, two:
        case (dict(), dict()):
            return {**one, **{name: merged(one.get(name), value) for name, value in two.items()}}
        case (bool(), _) | (_, bool()) | (_, None) | (None, _):
            return one if two is None else two
        case (int() | float(), int() | float()):
            return one + two
        case _:
            return two
