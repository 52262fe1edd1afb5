"""When a session is full, what is kept, what goes to the log."""

from __future__ import annotations

import msgspec

from everthread.context import log
from everthread.core.ids import StepId
from everthread.core.ports import Past, TokenCounter

MOST_TAIL = 1500


class Shares(msgspec.Struct, frozen=True):
    """How the room that a client's instructions and tools leave is divided, in tokens."""

    log: int  # all sealed blocks together
    block: int  # one new block
    tail: int  # recalled memory
    window: int  # the mark: a window beyond it is halved
    message: int  # kept free for the next one


def shares(room: int) -> Shares:
    return Shares(log=room // 4, block=room // 16, tail=min(MOST_TAIL, room // 4), window=room // 2, message=room // 16)


def mark(part: Shares, room: int, message: int) -> int:
    """How far a window may grow, when this turn left `room` tokens for it beside a message of this weight."""
    return max(0, min(part.window, room + message - part.tail - max(message, part.message)))


def turns(past: tuple[Past, ...]) -> list[tuple[Past, ...]]:
    """The past in whole turns: steps that share one, and an imported tool's result with its call."""
    units: list[list[Past]] = []
    last: StepId | None = None
    for step in past:
        goes_on = step.messages[0].answers is not None or (step.turn is not None and step.turn == last)
        if units and goes_on:
            units[-1].append(step)
        else:
            units.append([step])
        last = step.turn
    return [tuple(unit) for unit in units]


def split(past: tuple[Past, ...], keep: int) -> tuple[tuple[Past, ...], tuple[Past, ...]]:
    """The older turns, and the newest ones that weigh at most `keep` tokens."""
    kept = 0
    weight = 0
    for unit in reversed(turns(past)):
        weight += sum(step.tokens for step in unit)
        if weight > keep:
            break
        kept += len(unit)
    return past[: len(past) - kept], past[len(past) - kept :]


def open_call(past: tuple[Past, ...]) -> bool:
    """The last answer called a tool and has no result yet."""
    return bool(past) and bool(past[-1].messages[-1].calls)


class Sealed(msgspec.Struct, frozen=True):
    """A log as it stands in a prompt."""

    text: str = ""
    tokens: int = 0


def sealed(stored: str, counter: TokenCounter) -> Sealed:
    """A stored log, rendered and weighed."""
    text = log.render(log.decode(stored))
    return Sealed(text, counter.count(text))
