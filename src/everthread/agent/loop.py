"""The loop: ask the model and pass on what it says, until the answer is whole."""

from __future__ import annotations

import asyncio

from everthread.core.ports import Model
from everthread.core.turn import Folding, ModelEvents, Prompt
from everthread.errors import UpstreamIncomplete


class Interruption:
    """Ends an answer before it is whole. What was said until then stands."""

    def __init__(self) -> None:
        self.wanted = False
        self.waiting: asyncio.Task[object] | None = None  # for the model, and for nothing else

    def want(self) -> None:
        self.wanted = True
        if self.waiting is not None:
            self.waiting.cancel()


async def run(model: Model, prompt: Prompt, folding: Folding, interruption: Interruption | None = None) -> ModelEvents:
    """The answer's events, each already added to `folding`."""
    add = folding.add
    stopping = interruption or Interruption()
    events = model.stream(prompt)
    try:
        while not stopping.wanted:
            stopping.waiting = task = asyncio.current_task()
            try:
                some = await anext(events, None)
            except asyncio.CancelledError:
                if not stopping.wanted or task is None or task.uncancel():
                    raise
                break
            finally:
                stopping.waiting = None
            if some is None:
                break
            for event in some:
                add(event)
            yield some
    finally:
        await events.aclose()
    if stopping.wanted and not folding.complete:
        yield folding.cut()
    if not folding.complete:
        raise UpstreamIncomplete
