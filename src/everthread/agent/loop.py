"""The loop: ask the model and pass on what it says, until the answer is whole."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from everthread.core.ports import Model
from everthread.core.turn import Folding, ModelEvent, Prompt
from everthread.errors import UpstreamIncomplete


async def run(model: Model, prompt: Prompt, folding: Folding) -> AsyncGenerator[ModelEvent, None]:
    """The answer's events, each already added to `folding`."""
    add = folding.add
    async with aclosing(model.stream(prompt)) as events:
        async for event in events:
            add(event)
            yield event
    if not folding.complete:
        raise UpstreamIncomplete
