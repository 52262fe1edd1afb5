"""Conversations said again, several at a time, and read to the end."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence

from everthread.core.ids import SessionKey, StepId
from everthread.evals.house import LOOK_AGAIN, House, Line

AT_ONCE = 8  # conversations

Progress = Callable[[str, int, int], None]  # what is done, how much of it, of how much


def silent(what: str, done: int, total: int) -> None:
    """Tells nobody."""


async def replayed(
    house: House, conversations: Sequence[Sequence[Line]], progress: Progress = silent
) -> list[list[StepId]]:
    """Says every line, each conversation in its order; the steps, once all of them have been read."""
    total = sum(map(len, conversations))
    done = 0
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(lines: Sequence[Line]) -> list[StepId]:
        nonlocal done
        async with gate:
            steps: list[StepId] = []
            for number, line in enumerate(lines, start=1):
                step = await house.say(line)
                assert step.seq == number
                assert step.input[0].text == line.text
                assert step.answer.text == line.answer
                steps.append(step.id)
                done += 1
                progress("turns said", done, total)
            return steps

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(lines)) for lines in conversations]
    except ExceptionGroup as failures:  # the first one made the others stop
        raise failures.exceptions[0] from failures
    await read(house, progress)
    return [task.result() for task in tasks]


async def read(house: House, progress: Progress = silent) -> None:
    """Waits until memory has read all that was said, or has given up what it could not read."""
    total = await house.waiting()
    while left := await house.waiting():
        total = max(total, left)
        progress("turns read", total - left, total)
        await asyncio.sleep(LOOK_AGAIN)
    progress("turns read", total, total)


async def quotes(house: House, keys: Sequence[SessionKey]) -> tuple[int, int]:
    """How many claims these keys have, and how many of their quotes are literally where they say."""
    claims = literal = 0
    for key in keys:
        async for claim in house.claims((await house.view(key)).scope):
            claims += 1
            literal += await house.literal(claim)
    return claims, literal


def share(part: float, whole: float) -> float | None:
    """A share, to four places; None of nothing."""
    return round(part / whole, 4) if whole else None


def percentile(values: Sequence[float], part: float) -> float | None:
    """The least of the values that so large a part of them does not exceed."""
    ordered = sorted(values)
    return round(ordered[max(0, math.ceil(part * len(ordered)) - 1)], 2) if ordered else None
