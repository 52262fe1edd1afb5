"""One round of a model's answer, sifted: what is for the client, and the calls that are for us."""

from __future__ import annotations

from collections.abc import Container, Sequence

from everthread.core.turn import (
    ChoiceEnded,
    ModelEvent,
    Opened,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)

CALLED = {"tool_calls", "function_call"}  # finish reasons


class Call:
    """A call on its way. Whose it is shows with its name."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.number: int | None = None  # the client's count of it, once it was passed on

    def take(self, piece: ToolCallDelta) -> None:
        self.id = self.id or piece.id or ""
        self.name = self.name or piece.name or ""
        self.arguments.append(piece.arguments)


class Sift:
    """Reads the events of one round and says which of them the client sees.

    When a round calls the client's tools, calls of ours in it come to nothing: the client must answer its own before
    the model can go on, and it cannot answer ours; the model can ask for them again after that."""

    def __init__(self, ours: Container[str]) -> None:
        self._ours = ours
        self._at: dict[int, Call] = {}  # the newest call of each index
        self._calls: list[Call] = []
        self._passed = 0  # calls of the client
        self._over = False  # the client was told how it ended
        self.opened: Opened | None = None
        self.usage: Usage | None = None
        self.ended: str | None = None
        self.text: list[str] = []
        self.thoughts: list[str] = []

    def feed(self, event: ModelEvent) -> Sequence[ModelEvent]:
        """What the client sees of an event. Choices other than the first were not asked for and are left out."""
        match event:
            case TextDelta(choice=0):
                self.text.append(event.text)
                return (event,)
            case ReasoningDelta(choice=0):
                self.thoughts.append(event.text)
                return (event,)
            case RefusalDelta(choice=0):
                return (event,)
            case ToolCallDelta(choice=0):
                return self._piece(event) if self.ended is None else ()
            case ChoiceEnded(choice=0):
                return self._end(event) if self.ended is None else ()
            case Opened():
                self.opened = event
            case Usage():
                self.usage = event
            case _:
                pass
        return ()

    @property
    def wanted(self) -> tuple[ToolCall, ...]:
        """The calls of ours that the model waits for, when the round is whole."""
        if self.ended is None or self._over:
            return ()
        seen: set[str] = set()
        wanted: list[ToolCall] = []
        for number, call in enumerate(self._calls):
            name = call.id if call.id and call.id not in seen else f"call_{number}"  # a result must find its call
            seen.add(name)
            wanted.append(ToolCall(name, call.name, "".join(call.arguments)))
        return tuple(wanted)

    def close(self) -> Sequence[ModelEvent]:
        """How the answer ends when calls of ours are left unanswered."""
        if self.ended is None or self._over:
            return ()
        self._over = True
        return (ChoiceEnded("stop" if self.ended in CALLED else self.ended),)

    def _piece(self, piece: ToolCallDelta) -> Sequence[ModelEvent]:
        call = self._at.get(piece.index)
        if call is None or (call.name and piece.name and piece.id and piece.id != call.id):  # some count no indexes
            call = self._at[piece.index] = Call()
            self._calls.append(call)
        call.take(piece)
        if call.number is not None:
            return (ToolCallDelta(call.number, arguments=piece.arguments),)
        return self._released(call) if call.name and call.name not in self._ours else ()

    def _released(self, call: Call) -> Sequence[ModelEvent]:
        call.number = self._passed
        self._passed += 1
        return (ToolCallDelta(call.number, call.id or None, call.name or None, "".join(call.arguments)),)

    def _end(self, event: ChoiceEnded) -> Sequence[ModelEvent]:
        self.ended = event.reason
        nameless = [piece for call in self._calls if not call.name for piece in self._released(call)]
        if self._calls and not self._passed:
            return ()
        self._over = True
        return (*nameless, event)


class Seam:
    """Joins what several rounds said: a blank line where the words of one follow those of another."""

    def __init__(self) -> None:
        self._end = ""  # of what was said; empty while that is blank
        self._due = False

    def next(self, said: list[str]) -> None:
        """Another round begins, after one that said this."""
        words = "".join(said)
        if self._end or words.strip():
            self._end = (self._end + words)[-2:]
        self._due = bool(self._end)

    def joined(self, event: TextDelta | ReasoningDelta) -> Sequence[ModelEvent]:
        if not self._due or not event.text:
            return (event,)
        self._due = False
        gap = "\n" * (2 - newlines(self._end[::-1]) - newlines(event.text[:2]))
        if not gap:
            return (event,)
        return (TextDelta(gap) if isinstance(event, TextDelta) else ReasoningDelta(gap), event)


def newlines(text: str) -> int:
    """How many it begins with."""
    return len(text) - len(text.lstrip("\n"))
