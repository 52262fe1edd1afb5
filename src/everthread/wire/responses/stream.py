"""A turn's events as the Responses API tells them, one by one."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from everthread.core.cuts import recut
from everthread.core.turn import (
    ChoiceEnded,
    Finished,
    ModelEvent,
    Opened,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from everthread.core.view import Fault, View
from everthread.errors import Failure, RunFailed
from everthread.wire.responses import names, options, reply, shown
from everthread.wire.responses.growing import Calling, Frames, Growing, PartKind, Speaking, Thinking, added
from everthread.wire.responses.reply import ResponseStatus
from everthread.wire.responses.shown import Shown, Status

UNHEARD = 1 << 62  # no event has so high a number


class Events:
    """A turn's events, each ready to be written at once; the same turn is always told in the same bytes.

    With `framed=False` they are bare JSON objects; `tell` has them one by one. `starting_after` leaves out those up to
    that number. `compacted` is the history in short, if the client is to be told."""

    def __init__(
        self, view: View, *, framed: bool = True, starting_after: int | None = None, compacted: str = ""
    ) -> None:
        self._view = view
        self._frames = Frames(framed=framed, starting_after=starting_after)
        self._compacted = compacted
        self._begun = False
        self._model = ""
        self._output: list[Shown] = []  # each as it ended, or as it began
        self._open: dict[int, Growing] = {}  # by output index
        self._speaking: Speaking | None = None
        self._thinking: Thinking | None = None
        self._calls: dict[int, Calling] = {}  # those that are open, by the model's own index
        self._called: set[int] = set()  # all of them
        self._messages = 0
        self._thoughts = 0

    @property
    def begun(self) -> bool:
        """Something was told already."""
        return self._begun

    def event(self, event: ModelEvent) -> bytes:
        """What this event adds to the stream; nothing for those that are told at the end."""
        match event:
            case TextDelta(text=text, choice=0, logprobs=None) if text and self._speaking and self._speaking.texting:
                return self._speaking.say(text)
            case _:
                return b"".join(self.tell(event))

    def tell(self, event: ModelEvent) -> list[bytes]:
        """The same, each event of the stream apart."""
        return [frame for frame in self._told(event) if frame]

    def last(self, finished: Finished) -> list[bytes]:
        """The closing events: the whole Response with the effective session, [DONE]."""
        frames = list(self._ended(finished))
        body = reply.answered(self._view, finished, self._output)
        return self._closing(frames, f"response.{body['status']}", body)

    def whole(self, finished: Finished) -> Shown:
        """The Response that the events of a turn add up to."""
        for event in recut(finished.step.outcome, finished.step.cuts):
            self.tell(event)
        for _ in self._ended(finished):
            continue
        return reply.answered(self._view, finished, self._output)

    def _ended(self, finished: Finished) -> Iterator[bytes]:
        outcome = finished.step.outcome
        yield from self._begin(outcome.model)
        yield from self._end(outcome.choices[0].finish)

    def failed(self, failure: Failure, error: bytes = b"") -> list[bytes]:
        """The Response as far as it came, and why no further; [DONE]."""
        code = failure.why if isinstance(failure, RunFailed) else failure.code
        cancelled = isinstance(failure, RunFailed) and failure.status == "cancelled"
        frames = list(self._begin(""))
        for index, item in self._open.items():
            self._output[index] = item.item("incomplete")
        body = reply.failed(
            self._view,
            Fault(code, failure.message),
            status="cancelled" if cancelled else "failed",
            output=self._output,
            model=self._model,
        )
        return self._closing(frames, "response.failed", body)

    def _closing(self, frames: list[bytes], event: str, body: Shown) -> list[bytes]:
        frames.append(self._frames.write(event, {"response": body}))
        return [*(frame for frame in frames if frame), *self._frames.done()]

    # --- one event ---

    def _told(self, event: ModelEvent) -> Iterator[bytes]:
        match event:
            case TextDelta(text=text, choice=0, logprobs=logprobs) if text or logprobs:
                speaking = yield from self._speak("output_text")
                yield speaking.say(text) if logprobs is None else speaking.say_with(text, logprobs)
            case RefusalDelta(text=text, choice=0) if text:
                speaking = yield from self._speak("refusal")
                yield speaking.refuse(text)
            case ReasoningDelta(text=text, choice=0) if text:
                thinking = yield from self._think()
                yield thinking.add(text)
            case ToolCallDelta(choice=0):
                calling = yield from self._call(event)
                if calling and event.arguments:
                    yield calling.add(event.arguments)
            case ChoiceEnded(reason=reason, choice=0):
                yield from self._end(reason)
            case Opened(model=model):
                yield from self._begin(model)
            case _:
                return

    def _begin(self, model: str) -> Iterator[bytes]:
        if self._begun:
            return
        self._begun, self._model = True, model
        if self._view.keep.background:
            yield self._state("created", "queued")
            yield self._state("queued", "queued")
        else:
            yield self._state("created", "in_progress")
        yield self._state("in_progress", "in_progress")
        if self._compacted:
            yield from self._compaction(self._compacted)

    def _state(self, event: str, status: ResponseStatus) -> bytes:
        body = reply.pending(self._view, status, model=self._model)
        return self._frames.write(f"response.{event}", {"response": body})

    def _compaction(self, text: str) -> Iterator[bytes]:
        item = shown.compaction(self._view.id, text)
        yield self._frames.write("response.output_item.added", added(0, {**item, "encrypted_content": ""}))
        yield self._frames.write("response.compaction.compacting", {"item_id": item["id"], "output_index": 0})
        yield self._frames.write("response.output_item.done", added(0, item))
        self._output.append(item)

    # --- items ---

    def _speak(self, kind: PartKind) -> Generator[bytes, None, Speaking]:
        speaking = self._speaking
        if speaking is None:
            yield from self._make_room()
            self._messages += 1
            id_ = names.message_id(self._view.id, None, self._messages)
            speaking = self._speaking = Speaking(id_, len(self._output), self._frames)
            yield from self._grow(speaking)
        yield from speaking.turn_to(kind)
        return speaking

    def _think(self) -> Generator[bytes, None, Thinking]:
        thinking = self._thinking
        if thinking is None:
            yield from self._make_room()
            self._thoughts += 1
            id_ = names.reasoning_id(self._view.id, self._thoughts)
            sealed = options.seals_thoughts(self._view.keep)
            thinking = self._thinking = Thinking(id_, len(self._output), self._frames, sealed=sealed)
            yield from self._grow(thinking)
        return thinking

    def _call(self, piece: ToolCallDelta) -> Generator[bytes, None, Calling | None]:
        """The call that a piece belongs to; None for what follows one that is whole: that can be nothing but space."""
        calling = self._calls.get(piece.index)
        if calling is None and piece.index not in self._called:
            yield from self._make_room()
            self._called.add(piece.index)
            calling = self._calls[piece.index] = Calling(self._view.id, len(self._output), self._frames, piece)
            yield from self._grow(calling)
        return calling

    def _grow(self, item: Growing) -> Iterator[bytes]:
        self._open[item.index] = item
        self._output.append(item.item("in_progress"))
        yield from item.begin()

    def _make_room(self) -> Iterator[bytes]:
        """Ends what the next item follows; a call stays open until its arguments are whole, as calls may be told in
        turns."""
        for item in tuple(self._open.values()):
            if not isinstance(item, Calling) or item.complete:
                yield from self._close(item, "completed")

    def _end(self, reason: str) -> Iterator[bytes]:
        """Ends all that is open; an answer without anything in it is an empty message."""
        if all(item["type"] == "compaction" for item in self._output):
            yield from self._speak("output_text")
        newest = len(self._output) - 1
        for item in tuple(self._open.values()):
            yield from self._close(item, reply.ending(reason) if item.index == newest else "completed")

    def _close(self, item: Growing, status: Status) -> Iterator[bytes]:
        del self._open[item.index]
        if item is self._speaking:
            self._speaking = None
        elif item is self._thinking:
            self._thinking = None
        else:
            self._calls = {index: calling for index, calling in self._calls.items() if calling is not item}
        yield from item.end(status)
        self._output[item.index] = item.item(status)


def warmed_up(view: View, model: str) -> list[bytes]:
    """All that is told of a response for which the model is not asked."""
    frames = Frames(framed=False, starting_after=None)
    usage = reply.encode_usage(Usage(0, 0))
    states: tuple[tuple[str, Shown], ...] = (
        ("created", reply.pending(view, "in_progress", model=model)),
        ("in_progress", reply.pending(view, "in_progress", model=model)),
        ("completed", reply.response(view, "completed", model=model, usage=usage, completed_at=view.created_at)),
    )
    return [frames.write(f"response.{event}", {"response": body}) for event, body in states]


def whole(view: View, finished: Finished) -> Shown:
    """A Response that is answered: the same whether it was heard as it came, read at once, or looked at again."""
    return Events(view, starting_after=UNHEARD, compacted=finished.step.compacted).whole(finished)
