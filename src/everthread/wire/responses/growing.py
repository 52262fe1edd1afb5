"""Items of a Response while they grow: what is told of each, from its first event to its last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Protocol

import msgspec

from everthread.core.ids import StepId
from everthread.core.turn import ToolCallDelta
from everthread.wire import json
from everthread.wire.responses import names, reply, shown
from everthread.wire.responses.shown import Shown, Status

PartKind = Literal["output_text", "refusal"]

encode = msgspec.json.encode


class Frames:
    """Writes events, each with the next number, as server-sent events or as bare JSON.

    Those up to `starting_after` are counted and not written: who asks has them already."""

    def __init__(self, *, framed: bool, starting_after: int | None) -> None:
        self._framed = framed
        self._after = -1 if starting_after is None else starting_after
        self._next = 0

    def write(self, kind: str, body: Shown) -> bytes:
        if self._next <= self._after:
            self._next += 1
            return b""
        return self.rest(self.opening(kind), encode(body)[1:])

    def opening(self, kind: str, body: Shown | None = None) -> bytes:
        """The beginning of an event, for many of its kind; its number and what differs follow."""
        head = encode({"type": kind, **(body or {})})[:-1] + b',"sequence_number":'
        return b"event: %s\ndata: %s" % (kind.encode(), head) if self._framed else head

    def rest(self, opening: bytes, rest: bytes) -> bytes:
        """An event that began with `opening`, with its number and the `rest` of its fields."""
        number = self._next
        self._next = number + 1
        if number <= self._after:
            return b""
        return b"%s%d,%s%s" % (opening, number, rest, b"\n\n" if self._framed else b"")

    def done(self) -> list[bytes]:
        return [b"data: [DONE]\n\n"] if self._framed else []


class Growing(Protocol):
    """An item that is being told."""

    index: int  # in the output

    def begin(self) -> Iterator[bytes]: ...

    def end(self, status: Status) -> Iterator[bytes]: ...

    def item(self, status: Status) -> Shown:
        """The item as it stands."""
        ...


class Thinking:
    """A reasoning item that is being told."""

    def __init__(self, id_: str, index: int, frames: Frames, *, sealed: bool) -> None:
        self._id, self.index, self._frames, self._sealed = id_, index, frames, sealed
        self._at: Shown = {"item_id": id_, "output_index": index, "summary_index": 0}
        self._text: list[str] = []
        self._delta = frames.opening("response.reasoning_summary_text.delta", self._at)

    def begin(self) -> Iterator[bytes]:
        yield self._frames.write("response.output_item.added", added(self.index, self.item("in_progress")))
        yield self._frames.write("response.reasoning_summary_part.added", {**self._at, "part": shown.summary_part("")})

    def add(self, text: str) -> bytes:
        self._text.append(text)
        return self._frames.rest(self._delta, b'"delta":%s}' % encode(text))

    def end(self, status: Status) -> Iterator[bytes]:
        text = "".join(self._text)
        yield self._frames.write("response.reasoning_summary_text.done", {**self._at, "text": text})
        part = shown.summary_part(text)
        yield self._frames.write("response.reasoning_summary_part.done", {**self._at, "part": part})
        yield self._frames.write("response.output_item.done", added(self.index, self.item(status)))

    def item(self, status: Status) -> Shown:
        sealed = self._sealed and status != "in_progress"
        return shown.reasoning(self._id, "".join(self._text), status, sealed=sealed)


class Speaking:
    """A message that is being told: texts and refusals, one part after the other."""

    def __init__(self, id_: str, index: int, frames: Frames) -> None:
        self._id, self.index, self._frames = id_, index, frames
        self._parts: list[Shown] = []  # those that are complete
        self._kind: PartKind | None = None
        self._text: list[str] = []
        self._logprobs: list[Shown] = []
        self._delta = b""

    def begin(self) -> Iterator[bytes]:
        yield self._frames.write("response.output_item.added", added(self.index, self.item("in_progress")))

    def turn_to(self, kind: PartKind) -> Iterator[bytes]:
        """Goes on with a part of this kind."""
        if self._kind == kind:
            return
        yield from self._end_part()
        self._kind = kind
        event = "response.output_text.delta" if kind == "output_text" else "response.refusal.delta"
        self._delta = self._frames.opening(event, self._at())
        yield self._frames.write("response.content_part.added", {**self._at(), "part": self._part()})

    @property
    def texting(self) -> bool:
        """A text is what it is in the middle of."""
        return self._kind == "output_text"

    def say(self, text: str) -> bytes:
        """A piece of text, without log probabilities: most are so."""
        self._text.append(text)
        return self._frames.rest(self._delta, b'"logprobs":[],"delta":%s}' % encode(text))

    def say_with(self, text: str, logprobs: bytes) -> bytes:
        told = reply.logprobs(logprobs)
        self._text.append(text)
        self._logprobs += told
        return self._frames.rest(self._delta, b'"logprobs":%s,"delta":%s}' % (encode(told), encode(text)))

    def refuse(self, text: str) -> bytes:
        self._text.append(text)
        return self._frames.rest(self._delta, b'"delta":%s}' % encode(text))

    def end(self, status: Status) -> Iterator[bytes]:
        yield from self._end_part()
        yield self._frames.write("response.output_item.done", added(self.index, self.item(status)))

    def item(self, status: Status) -> Shown:
        parts = self._parts if self._kind is None else [*self._parts, self._part()]
        return shown.output_message(self._id, list(parts), status)

    def _end_part(self) -> Iterator[bytes]:
        if self._kind is None:
            return
        at, part = self._at(), self._part()
        if self._kind == "output_text":
            said: Shown = {"text": part["text"], "logprobs": part["logprobs"]}
            yield self._frames.write("response.output_text.done", {**at, **said})
        else:
            yield self._frames.write("response.refusal.done", {**at, "refusal": part["refusal"]})
        yield self._frames.write("response.content_part.done", {**at, "part": part})
        self._parts.append(part)
        self._kind, self._text, self._logprobs = None, [], []

    def _at(self) -> Shown:
        return {"item_id": self._id, "output_index": self.index, "content_index": len(self._parts)}

    def _part(self) -> Shown:
        text = "".join(self._text)
        return shown.refusal_part(text) if self._kind == "refusal" else shown.output_text(text, self._logprobs)


class Calling:
    """A function call that is being told."""

    def __init__(self, step: StepId, index: int, frames: Frames, call: ToolCallDelta) -> None:
        self._call_id, self._name = call.id or "", call.name or ""
        self._id = names.call_item_id(step, None, self._call_id)
        self.index, self._frames = index, frames
        self._at: Shown = {"item_id": self._id, "output_index": index}
        self._arguments: list[str] = []
        self._delta = frames.opening("response.function_call_arguments.delta", self._at)

    def begin(self) -> Iterator[bytes]:
        yield self._frames.write("response.output_item.added", added(self.index, self.item("in_progress")))

    def add(self, arguments: str) -> bytes:
        self._arguments.append(arguments)
        return self._frames.rest(self._delta, b'"delta":%s}' % encode(arguments))

    @property
    def complete(self) -> bool:
        """Its arguments are whole: nothing can follow."""
        try:
            json.FIELDS.decode("".join(self._arguments))
        except (msgspec.DecodeError, RecursionError):
            return False
        return True

    def end(self, status: Status) -> Iterator[bytes]:
        told: Shown = {**self._at, "name": self._name, "arguments": "".join(self._arguments)}
        yield self._frames.write("response.function_call_arguments.done", told)
        yield self._frames.write("response.output_item.done", added(self.index, self.item(status)))

    def item(self, status: Status) -> Shown:
        return shown.function_call(self._id, self._call_id, self._name, "".join(self._arguments), status)


def added(index: int, item: Shown) -> Shown:
    return {"output_index": index, "item": item}
