"""A chat completion stream, read: bytes to events, and whether the answer is whole."""

from __future__ import annotations

import secrets
from typing import Annotated

import msgspec

from everthread.core.turn import (
    ChoiceEnded,
    ModelEvent,
    Opened,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from everthread.errors import UpstreamFailed, UpstreamFailure, UpstreamIncomplete, UpstreamMalformed

LONGEST_LINE = 16 * 1024 * 1024
NULL = msgspec.Raw(b"null")  # Raw has no place in a union with None


class Reading:
    """Turns a stream's bytes into events, and knows whether the answer is whole."""

    def __init__(self, *, model: str, secret: str | None = None) -> None:
        self._model = model  # that was asked for: some servers do not say who answers
        self._secret = secret  # our key, which no error may repeat
        self.done = False  # [DONE] was seen
        self._failed: UpstreamFailure | None = None
        self._rest = b""
        self._opened = False
        self._begun: set[int] = set()
        self._ended: set[int] = set()
        self._called: set[tuple[int, int]] = set()

    @property
    def complete(self) -> bool:
        return bool(self._ended) and self._begun <= self._ended

    def feed(self, data: bytes) -> list[ModelEvent]:
        """What these bytes add to the answer. A failure among them is raised after what came before it was told."""
        events: list[ModelEvent] = []
        if self._failed is None:
            try:
                self._lines(data, events)
            except UpstreamFailure as failure:
                self._failed = failure
        if self._failed is not None and not events:
            raise self._failed
        return events

    def _lines(self, data: bytes, events: list[ModelEvent]) -> None:
        lines = (self._rest + data).split(b"\n") if self._rest else data.split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > LONGEST_LINE:
            raise UpstreamMalformed("The model's server sent an endless line.")
        for line in lines:
            if line.startswith(b"data:"):
                payload = line[5:].strip()
                if payload == b"[DONE]":
                    self.done = True
                    break
                self._read(payload, events)
            elif line.startswith((b"{", b"<")):  # neither a field nor a comment
                raise UpstreamMalformed

    def _read(self, payload: bytes, events: list[ModelEvent]) -> None:
        try:
            if not payload.isascii():
                payload.decode()  # what is skipped is not looked at otherwise
            chunk = CHUNK.decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise UpstreamMalformed from error
        if chunk.error is not None:
            raise self._failure(chunk.error)
        if not self._opened:
            self._opened = True
            events.append(Opened(chunk.model or self._model, chunk.system_fingerprint))
        for choice in chunk.choices or ():
            said_so_far = len(events)
            choice.say(events)
            if len(events) > said_so_far:
                self._begun.add(choice.index)
                if choice.delta is not None and choice.delta.tool_calls:
                    self._name_calls(events)
            if choice.finish_reason:
                self._ended.add(choice.index)
                events.append(ChoiceEnded(choice.finish_reason, choice.index))
        if chunk.usage is not NULL and chunk.usage != NULL:
            events.append(usage(bytes(chunk.usage)))

    def _name_calls(self, events: list[ModelEvent]) -> None:
        """A call that came without an id is given one: its result must be able to name it."""
        for place, event in enumerate(events):
            if isinstance(event, ToolCallDelta) and (event.choice, event.index) not in self._called:
                self._called.add((event.choice, event.index))
                if not event.id:
                    events[place] = msgspec.structs.replace(event, id=f"call_{secrets.token_hex(12)}")

    def _failure(self, error: ErrorBody | str) -> UpstreamFailed:
        words = said(error, without=self._secret) or "no reason given"
        return UpstreamFailed(f"The model's server failed while answering: {words}"[:500])

    def close(self) -> None:
        """The stream is over: is the answer whole?"""
        if self._failed is not None:
            raise self._failed
        if self.complete:
            return
        if not self._opened and self._rest.lstrip().startswith((b"{", b"<")):
            raise UpstreamMalformed("The model's server answered without streaming.")
        raise UpstreamIncomplete


def said(error: ErrorBody | str, *, without: str | None) -> str | None:
    """A server's own words about its error, cut short and without our key in them."""
    words = error.message if isinstance(error, ErrorBody) else error
    if words and without:
        words = words.replace(without, "[key]")
    return words[:500] if words else None


def usage(raw: bytes) -> Usage:
    try:
        read = msgspec.json.decode(raw, type=UsageIn)
    except msgspec.MsgspecError as error:
        raise UpstreamMalformed from error
    cached = (read.prompt_tokens_details.cached_tokens or 0) if read.prompt_tokens_details else 0
    return Usage(read.prompt_tokens or 0, read.completion_tokens or 0, cached, raw)


# --- the shapes we read; all else is left alone ---


class FunctionIn(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class ToolCallIn(msgspec.Struct):
    index: int = 0
    id: str | None = None
    function: FunctionIn | None = None

    def event(self, choice: int) -> ToolCallDelta:
        function = self.function or FunctionIn()
        return ToolCallDelta(self.index, self.id, function.name, function.arguments or "", choice)


class DeltaIn(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[ToolCallIn] | None = None


class ChoiceIn(msgspec.Struct):
    index: int = 0
    delta: DeltaIn | None = None
    finish_reason: str | None = None
    logprobs: msgspec.Raw = NULL

    def say(self, events: list[ModelEvent]) -> None:
        """Adds what this piece of a choice says."""
        delta, number = self.delta, self.index
        if delta is None:
            return
        if delta.content:
            events.append(TextDelta(delta.content, number, self._logprobs()))
        if reasoning := delta.reasoning_content or delta.reasoning:
            events.append(ReasoningDelta(reasoning, number))
        if delta.refusal:
            events.append(RefusalDelta(delta.refusal, number))
        events.extend(call.event(number) for call in delta.tool_calls or ())

    def _logprobs(self) -> bytes | None:
        if self.logprobs is NULL or self.logprobs == NULL:  # left out, or null
            return None
        raw = bytes(self.logprobs)
        if not raw.startswith(b"{"):
            raise UpstreamMalformed
        return raw


class ErrorBody(msgspec.Struct):
    message: str | None = None


class ErrorIn(msgspec.Struct):
    error: ErrorBody | str


class ChunkIn(msgspec.Struct):
    model: str | None = None
    system_fingerprint: str | None = None
    choices: list[ChoiceIn] | None = None
    usage: msgspec.Raw = NULL
    error: ErrorBody | str | None = None


CHUNK = msgspec.json.Decoder(ChunkIn)

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class DetailsIn(msgspec.Struct):
    cached_tokens: Count | None = None


class UsageIn(msgspec.Struct):
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: DetailsIn | None = None
