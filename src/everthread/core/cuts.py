"""How an answer was streamed, kept as lengths: its words are in the step, and are not kept twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from everthread.core.turn import (
    ChoiceEnded,
    Cut,
    Cuts,
    ModelEvent,
    Opened,
    Outcome,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallDelta,
    unfold,
)

What = Literal["text", "thought", "refusal", "call"]
Part = tuple[What, int, int]  # what it is a part of: which choice, which of its tool calls


class Cutting:
    """Follows an answer as it is streamed."""

    def __init__(self) -> None:
        self._cuts: list[tuple[Part, list[int]]] = []

    def add(self, event: ModelEvent) -> None:
        match event:
            case TextDelta(text=text, choice=choice):
                self._cut(("text", choice, 0), len(text))
            case ReasoningDelta(text=text, choice=choice):
                self._cut(("thought", choice, 0), len(text))
            case RefusalDelta(text=text, choice=choice):
                self._cut(("refusal", choice, 0), len(text))
            case ToolCallDelta(index=index, arguments=arguments, choice=choice):
                self._cut(("call", choice, index), len(arguments))
            case _:
                return

    def _cut(self, part: Part, length: int) -> None:
        if not self._cuts or self._cuts[-1][0] != part:
            self._cuts.append((part, []))
        self._cuts[-1][1].append(length)

    def cuts(self) -> Cuts:
        return tuple(Cut(*part, tuple(lengths)) for part, lengths in self._cuts)


def recut(outcome: Outcome, cuts: Cuts) -> Iterator[ModelEvent]:
    """The answer's events once more, piece by piece as they were; each part in one piece where that is not known."""
    if not cuts:
        yield from unfold(outcome)
        return
    yield Opened(outcome.model, outcome.fingerprint)
    told: dict[Part, int] = {}  # how much of each part
    calls: dict[int, dict[int, int]] = {}  # choice -> index -> its place among the calls
    for cut in cuts:
        if cut.what == "call":
            calls.setdefault(cut.choice, {}).setdefault(cut.call, 0)
    for indices in calls.values():
        indices.update({index: place for place, index in enumerate(sorted(indices))})
    for cut in cuts:
        part: Part = (cut.what, cut.choice, cut.call)
        for length in cut.lengths:
            start = told.get(part)
            told[part] = (start or 0) + length
            yield piece(outcome, cut, calls, start, length)
    for number, choice in enumerate(outcome.choices):
        yield ChoiceEnded(choice.finish, number)
    yield outcome.usage


def piece(outcome: Outcome, cut: Cut, calls: dict[int, dict[int, int]], start: int | None, length: int) -> ModelEvent:
    """One piece of a part; its first one has all that is told once."""
    choice = outcome.choices[cut.choice]
    begin = start or 0
    match cut.what:
        case "text":
            logprobs = choice.logprobs if start is None else None
            return TextDelta((choice.content or "")[begin : begin + length], cut.choice, logprobs)
        case "thought":
            return ReasoningDelta(choice.reasoning[begin : begin + length], cut.choice)
        case "refusal":
            return RefusalDelta((choice.refusal or "")[begin : begin + length], cut.choice)
        case "call":
            call = choice.tool_calls[calls[cut.choice][cut.call]]
            said = call.arguments[begin : begin + length]
            if start is None:
                return ToolCallDelta(cut.call, call.id, call.name, said, cut.choice)
            return ToolCallDelta(cut.call, None, None, said, cut.choice)
