"""Ask, run what was called, ask again: an answer in rounds, told as one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from enum import Enum

import msgspec

from everthread.agent import usage
from everthread.agent.ability import What
from everthread.agent.sift import Seam, Sift
from everthread.agent.toolbox import MOST_ROUNDS, Arguments, Offer, Toolbox, arguments, within
from everthread.core.messages import Message
from everthread.core.ports import Model
from everthread.core.turn import (
    ModelEvent,
    ModelEvents,
    Opened,
    Options,
    Prompt,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    Usage,
)
from everthread.errors import Failure, ModelNotFound, RejectedUpstream, UpstreamFailed

SMALLEST_RESULT = 24  # tokens; there is room for one, or it is not asked for


class Stage(Enum):
    OFFERED = "our tools can be called"
    WITHHELD = "they are known, and may not be called"
    BARE = "as the client asked, without a word of them"


class Exchange(msgspec.Struct, frozen=True):
    """A hidden round: what the model said as it called, and what it was told."""

    text: str
    thoughts: str
    calls: tuple[tuple[ToolCall, Arguments | None], ...]
    results: tuple[Message, ...] = ()

    def messages(self, *, thoughts: bool) -> tuple[Message, ...]:
        """As the next round sees it. Arguments that are no JSON are left out: servers read them."""
        calls = [(call if read is not None else ToolCall(call.id, call.name, "{}")) for call, read in self.calls]
        body: dict[str, object] = {"role": "assistant", "content": self.text or None}
        if thoughts and self.thoughts:
            body["reasoning_content"] = self.thoughts
        body["tool_calls"] = [call.body() for call in calls]
        ids = tuple(call.id for call in calls)
        return (Message("assistant", msgspec.json.encode(body), self.text, calls=ids), *self.results)


class Rounds:
    """One answer, for which the model may call our tools.

    The client sees the words of all rounds and the calls of its own tools. `Opened` waits for the first of those, so
    that a failure before it can still be told as one."""

    def __init__(self, model: Model, prompt: Prompt, offer: Offer, toolbox: Toolbox) -> None:
        self._model = model
        self._prompt = prompt
        self._offer = offer
        self._box = toolbox
        self._left = toolbox.room - offer.weight  # tokens
        self._calls = toolbox.calls  # left
        self._stage = Stage.OFFERED
        self._past: tuple[Exchange, ...] = ()
        self._thoughts = not toolbox.ability.lacks(prompt.model, "thoughts")
        self._suspected: What | None = None  # of being why the last request was refused
        self._begun = False  # the client has seen something
        self._spoken = False  # and not only thoughts: the answer cannot begin anew
        self._words = Seam()
        self._thinking = Seam()
        self._used: Usage | None = None
        self.opened: Opened | None = None  # by the newest round

    async def stream(self) -> ModelEvents:
        """What the client sees of the answer, as it comes."""
        while True:
            sift = Sift(self._offer.tools)
            try:
                async with aclosing(self._model.stream(self._asked())) as events:
                    async for some in events:
                        if seen := self._seen(sift, some):
                            yield seen
            except (RejectedUpstream, ModelNotFound, UpstreamFailed) as failure:
                if sift.opened is not None or not self._without_what_was_refused(failure):
                    raise
                continue
            self._used = usage.added(self._used, sift.usage)
            if not await self._goes_on(sift):
                break
        closing = self._told([*sift.close(), *((self._used,) if self._used else ())])
        if closing and sift.ended is not None:
            yield closing

    # --- what is asked ---

    def _asked(self) -> Prompt:
        said = [message for past in self._past for message in past.messages(thoughts=self._thoughts)]
        messages = (*self._prompt.messages, *said)
        return msgspec.structs.replace(self._prompt, messages=messages, options=self._options())

    def _options(self) -> Options:
        match self._stage:
            case Stage.OFFERED:
                return self._offer.options
            case Stage.WITHHELD:
                return self._offer.withheld(self._prompt.options)
            case Stage.BARE:
                return self._prompt.options

    def _without_what_was_refused(self, failure: Failure) -> bool:
        """Takes out of the request what a server may not like about it; False when that is the client's own, or when
        it is too late.

        First the model's thoughts, which some servers demand to see again and some refuse; then all of ours."""
        if self._spoken or (isinstance(failure, UpstreamFailed) and "tool" not in failure.message.lower()):
            return False
        if self._thoughts and any(past.thoughts for past in self._past):
            self._thoughts = False
            self._suspected = "thoughts"
            return True
        if not self._past and (self._stage is Stage.BARE or not self._offer.alone):
            return False
        self._past = ()
        self._stage = Stage.BARE
        self._suspected = "tools"
        return True

    # --- what is seen ---

    def _seen(self, sift: Sift, some: Sequence[ModelEvent]) -> list[ModelEvent]:
        if self._suspected is not None:  # it was taken without: that was why
            self._box.ability.without(self._prompt.model, self._suspected)
            self._suspected = None
        seen: list[ModelEvent] = []
        for event in some:
            for passed in sift.feed(event):
                seen.extend(self._joined(passed))
        self.opened = sift.opened or self.opened
        return self._told(seen)

    def _joined(self, event: ModelEvent) -> Sequence[ModelEvent]:
        match event:
            case TextDelta():
                self._spoken = self._spoken or bool(event.text.strip())
                return self._words.joined(event)
            case ReasoningDelta():
                return self._thinking.joined(event)
            case _:
                self._spoken = True
                return (event,)

    def _told(self, seen: list[ModelEvent]) -> list[ModelEvent]:
        if not seen or self._begun:
            return seen
        self._begun = True
        return [self.opened, *seen] if self.opened else seen

    # --- what is run ---

    async def _goes_on(self, sift: Sift) -> bool:
        """Whether there is another round: the calls of this one were run, or must be answered for in words."""
        wanted = sift.wanted
        text = "".join(sift.text)
        answered = bool(text.strip())
        if not wanted or (self._offer.document and self._spoken):
            return False
        exchange: Exchange | None = None
        match self._stage:
            case Stage.OFFERED:
                exchange = await self._exchanged(wanted[: self._calls], text, "".join(sift.thoughts))
                if exchange is None and answered:
                    return False
            case Stage.WITHHELD:
                if answered or not self._offer.alone:
                    return False
            case Stage.BARE:
                return False
        self._box.hidden = self._box.hidden.more(len(exchange.calls) if exchange else 0, sift.usage)
        if exchange is not None:
            self._past = (*self._past, exchange)
            self._calls -= len(exchange.calls)
        if self._stage is Stage.WITHHELD:
            self._stage = Stage.BARE
        elif exchange is None or not self._calls or len(self._past) >= MOST_ROUNDS - 1:
            self._stage = Stage.WITHHELD
        self._words.next(sift.text)
        self._thinking.next(sift.thoughts)
        return True

    async def _exchanged(self, calls: Sequence[ToolCall], text: str, thoughts: str) -> Exchange | None:
        """The calls with their results, each within its share of the room; None when there is no room for them."""
        counter = self._box.counter
        read = tuple((call, arguments(call)) for call in calls)
        exchange = Exchange(text, thoughts, read)
        left = self._left - counter.per_message - counter.count(exchange.messages(thoughts=True)[0].raw.decode())
        share = left // len(calls) - counter.per_message
        if share < SMALLEST_RESULT:
            return None
        results = [within(result, share, counter) for result in await self._box.run(self._offer.tools, read)]
        self._left = left - sum(counter.per_message + counter.count(result) for result in results)
        told = tuple(answer(call, result) for call, result in zip(calls, results, strict=True))
        return msgspec.structs.replace(exchange, results=told)


def answer(call: ToolCall, result: str) -> Message:
    body = {"role": "tool", "tool_call_id": call.id, "content": result}
    return Message("tool", msgspec.json.encode(body), result, answers=call.id)
