"""The loop: ask the model and pass on what it says, until the answer is whole."""

from __future__ import annotations

import asyncio

from everthread.agent.rounds import Rounds
from everthread.agent.toolbox import Toolbox
from everthread.core.ports import Model
from everthread.core.turn import Folding, ModelEvents, Opened, Prompt
from everthread.errors import UpstreamIncomplete


class Interruption:
    """Ends an answer before it is whole. What was said until then stands."""

    def __init__(self) -> None:
        self.wanted = False
        self.waiting: asyncio.Task[object] | None = None  # for the model and our tools, and for nothing else

    def want(self) -> None:
        self.wanted = True
        if self.waiting is not None:
            self.waiting.cancel()


async def run(
    model: Model,
    prompt: Prompt,
    folding: Folding,
    interruption: Interruption | None = None,
    toolbox: Toolbox | None = None,
) -> ModelEvents:
    """The answer's events, each already added to `folding`.

    The model may call what is in the toolbox; nothing of that is among the events, only what came of it in words."""
    add = folding.add
    stopping = interruption or Interruption()
    offer = toolbox.offer(prompt) if toolbox is not None else None
    rounds = Rounds(model, prompt, offer, toolbox) if toolbox is not None and offer is not None else None
    events = model.stream(prompt) if rounds is None else rounds.stream()
    task = asyncio.current_task()
    try:
        while not stopping.wanted:
            stopping.waiting = task
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
        if not (folding.model or folding.text):
            add(opened := (rounds and rounds.opened) or Opened(prompt.model))
            yield [opened]
        yield folding.cut()
    if not folding.complete:
        raise UpstreamIncomplete
    if rounds is not None and rounds.opened is not None:
        add(rounds.opened)  # what is kept names the model that had the last word
