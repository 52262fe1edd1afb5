"""A model that plays rounds of events, tools that do as they are told, and a turn with both."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from everthread.agent import loop
from everthread.agent.ability import Ability
from everthread.agent.loop import Interruption
from everthread.agent.toolbox import Toolbox
from everthread.core.messages import say
from everthread.core.ports import Model, ModelCard
from everthread.core.tool import Tool
from everthread.core.turn import (
    Choice,
    ChoiceEnded,
    Folding,
    ModelEvent,
    ModelEvents,
    Opened,
    Outcome,
    Prompt,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from everthread.errors import Failure

Round = Sequence[ModelEvent] | Failure


class Rehearsed:
    """Plays its rounds one after the other, the last one again and again; remembers what it was asked."""

    def __init__(self, *rounds: Round) -> None:
        self._rounds = list(rounds)
        self.prompts: list[Prompt] = []

    async def stream(self, prompt: Prompt) -> ModelEvents:
        self.prompts.append(prompt)
        played = self._rounds.pop(0) if len(self._rounds) > 1 else self._rounds[0]
        if isinstance(played, Failure):
            raise played
        for event in played:
            await asyncio.sleep(0)
            yield [event]

    async def cards(self) -> tuple[ModelCard, ...]:
        return ()

    async def close(self) -> None: ...


class Counter:
    """Four characters are a token."""

    per_prompt, per_message = 0, 4

    def count(self, text: str) -> int:
        return (len(text) + 3) // 4


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def later(self, by: timedelta) -> None:
        self.time += by


class Search:
    """Finds what it was given, or fails with it."""

    description = "Searches earlier conversations."
    parameters = {"type": "object", "properties": {"query": {"type": "string"}}}  # noqa: RUF012

    def __init__(
        self, found: str | BaseException = "Alex likes tea.", *, name: str = "search", takes: float = 0
    ) -> None:
        self.name = name
        self._found = found
        self._takes = takes
        self.asked: list[Mapping[str, object]] = []
        self.began = asyncio.Event()

    async def run(self, arguments: Mapping[str, object]) -> str:
        self.asked.append(arguments)
        self.began.set()
        await asyncio.sleep(self._takes)
        if isinstance(self._found, BaseException):
            raise self._found
        return self._found


def speaks(text: str, *, usage: Usage | None = None, model: str = "m", reason: str = "stop") -> list[ModelEvent]:
    used = [usage] if usage else []
    return [Opened(model), *(TextDelta(word) for word in text.split("|")), ChoiceEnded(reason), *used]


def calls(
    *names: str, text: str = "", usage: Usage | None = None, arguments: str = '{"query":"tea"}'
) -> list[ModelEvent]:
    """Says the text, then calls the tools, the arguments in two pieces."""
    events: list[ModelEvent] = [Opened("m"), *([TextDelta(text)] if text else [])]
    half = len(arguments) // 2
    for index, name in enumerate(names):
        events += [ToolCallDelta(index, f"c{index}", name, arguments[:half])]
        events += [ToolCallDelta(index, arguments=arguments[half:])]
    return [*events, ChoiceEnded("tool_calls"), *([usage] if usage else [])]


class Asked:
    """One turn: what the client saw of it, and what was kept."""

    def __init__(
        self,
        model: Model,
        *tools: Tool,
        room: int = 10_000,
        ability: Ability | None = None,
        patience: float = 5.0,
        name: str = "m",
        **options: Any,
    ) -> None:
        self.model = model
        self.box = Toolbox(tools, room=room, counter=Counter(), ability=ability or Ability(Clock()), patience=patience)
        self.folding = Folding()
        self.interruption = Interruption()
        self.prompt = Prompt(
            model=name,
            messages=(say("user", "What do I like?"),),
            options=tuple((option, msgspec.json.encode(value)) for option, value in options.items()),
        )
        self.seen: list[ModelEvent] = []

    async def ends(self) -> Asked:
        async for some in loop.run(self.model, self.prompt, self.folding, self.interruption, self.box):
            assert some, "nothing is passed on as nothing"
            self.seen.extend(some)
        return self

    @property
    def outcome(self) -> Outcome:
        return self.folding.outcome(lambda: Usage(0, 0))

    @property
    def choice(self) -> Choice:
        (choice,) = self.outcome.choices
        return choice


def option(prompt: Prompt, name: str) -> Any:
    found = dict(prompt.options).get(name)
    return None if found is None else msgspec.json.decode(found)


def offered(prompt: Prompt) -> list[str]:
    """The names of the tools a prompt offers."""
    return [tool["function"]["name"] for tool in option(prompt, "tools") or ()]


def sent(prompt: Prompt) -> list[dict[str, Any]]:
    return [msgspec.json.decode(message.raw) for message in prompt.messages]
