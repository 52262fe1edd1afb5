"""The loop: ask the model and pass on what it says, until the answer is whole."""

from __future__ import annotations

from contextlib import aclosing

from everthread.core.ports import Model
from everthread.core.turn import Folding, ModelEvents, Prompt
from everthread.errors import UpstreamIncomplete


async def run(model: Model, prompt: Prompt, folding: Folding) -> ModelEvents:
    """The answer's events, each already added to `folding`."""
    add = folding.add
    async with aclosing(model.stream(prompt)) as events:
        async for some in events:
            for event in some:
                add(event)
            yield some
    if not folding.complete:
        raise UpstreamIncomplete
