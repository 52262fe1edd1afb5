"""A model that says what it is told: for tests, demos and trying things out offline."""

from __future__ import annotations

import re
from collections.abc import Callable

from everthread.core.ports import ModelCard
from everthread.core.turn import (
    ChoiceEnded,
    ModelEvents,
    Opened,
    Prompt,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from everthread.errors import Failure

Line = str | ToolCall | Failure
Script = Callable[[Prompt], Line]


class Scripted:
    """Answers from a list of lines, or by a function of the prompt; remembers every prompt it was given."""

    def __init__(self, *lines: Line, script: Script | None = None) -> None:
        self._lines = list(lines)
        self._script = script
        self.prompts: list[Prompt] = []

    async def stream(self, prompt: Prompt) -> ModelEvents:
        self.prompts.append(prompt)
        line = self._script(prompt) if self._script else self._next()
        if isinstance(line, Failure):
            raise line
        yield [Opened(prompt.model or "scripted")]
        if isinstance(line, ToolCall):
            yield [ToolCallDelta(0, line.id, line.name, line.arguments), ChoiceEnded("tool_calls")]
            words = 1
        else:
            pieces = re.findall(r"\S+\s*|\s+", line)
            for piece in pieces:
                yield [TextDelta(piece)]
            words = len(pieces)
            yield [ChoiceEnded("stop")]
        yield [Usage(sum(len(m.text.split()) for m in prompt.messages), words)]

    def _next(self) -> Line:
        return self._lines.pop(0) if len(self._lines) > 1 else self._lines[0] if self._lines else "Noted."

    async def cards(self) -> tuple[ModelCard, ...]:
        return (ModelCard("scripted", "everthread"),)

    async def close(self) -> None:
        """Nothing to close."""
