"""When a session is full, what is kept, what goes to the log."""

from __future__ import annotations

import msgspec

from everthread.context import log
from everthread.core.ids import StepId
from everthread.core.messages import begins_with_result
from everthread.core.ports import Past, TokenCounter

MOST_TAIL = 1500
MOST_PROFILE = 800


class Shares(msgspec.Struct, frozen=True):
    """How the room that a client's instructions and tools leave is divided, in tokens."""

    log: int  # all sealed blocks together
    block: int  # one new block
    tail: int  # recalled memory
    profile: int  # what is known of people and their wishes
    window: int  # the mark: a window beyond it is halved
    message: int  # kept free for the next one


def shares(room: int) -> Shares:
    return Shares(
        log=room // 4,
        block=room // 16,
        tail=min(MOST_TAIL, room // 4),
        profile=min(MOST_PROFILE, room // 16),
        window=room // 2,
        message=room // 16,
    )


class Room(msgspec.Struct, frozen=True):
    """What a session may hold, in tokens."""

    mark: int  # a window beyond it is rotated
    most: int  # or beyond this one, when its turns are so heavy that a rotation would leave only one
    keep: int  # what a rotation leaves of it
    log: int  # all blocks together
    block: int  # one more


def room(budget: int, *, given: int, log: int, beside: int | None = None) -> Room:
    """Room beside instructions and tools that usually weigh `given`, and the log as it is; `beside` is what one message
    leaves for the window."""
    part = shares(budget - given)
    most = max(0, budget - given - log - part.tail - part.message)
    mark = min(part.window, most)
    keep = mark // 2 if beside is None else max(0, min(mark // 2, beside - part.block))
    return Room(mark, most, keep, part.log, part.block)


def turns(past: tuple[Past, ...]) -> list[tuple[Past, ...]]:
    """The past in whole turns: steps that share one, and an imported tool's result with its call."""
    units: list[list[Past]] = []
    last: StepId | None = None
    for step in past:
        goes_on = begins_with_result(step.messages) or (step.turn is not None and step.turn == last)
        if units and goes_on:
            units[-1].append(step)
        else:
            units.append([step])
        last = step.turn
    return [tuple(unit) for unit in units]


def split(past: tuple[Past, ...], keep: int) -> tuple[tuple[Past, ...], tuple[Past, ...]]:
    """The older turns, and the newest ones that weigh at most `keep` tokens: the very newest, whatever it weighs."""
    kept = 0
    weight = 0
    for unit in reversed(turns(past)):
        weight += sum(step.tokens for step in unit)
        if kept and weight > keep:
            break
        kept += len(unit)
    return past[: len(past) - kept], past[len(past) - kept :]


def full(past: tuple[Past, ...], to: Room) -> bool:
    """The window has passed its mark, and it is worth a rotation."""
    weight = sum(step.tokens for step in past)
    return weight > to.mark and (weight > to.most or len(turns(split(past, to.keep)[1])) > 1)


def open_call(past: tuple[Past, ...]) -> bool:
    """The last answer called a tool and has no result yet."""
    return bool(past) and bool(past[-1].calls)


class Sealed(msgspec.Struct, frozen=True):
    """A log as it stands in a prompt."""

    text: str = ""
    tokens: int = 0


def sealed(stored: str, counter: TokenCounter, most: int) -> Sealed:
    """The newest blocks of a stored log that fit, rendered and weighed."""
    blocks = log.decode(stored)
    while blocks:
        text = log.render(blocks)
        tokens = counter.count(text)
        if tokens <= most:
            return Sealed(text, tokens)
        blocks = blocks[1:]
    return Sealed()
