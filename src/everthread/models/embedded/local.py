"""The embedded model: llama.cpp in a child process, asked like any other upstream, one request at a time."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import msgspec

from everthread.core.ports import Model, ModelCard
from everthread.core.turn import ChoiceEnded, ModelEvent, ModelEvents, Prompt, TextDelta
from everthread.errors import (
    ModelNotFound,
    RejectedUpstream,
    UpstreamDisconnected,
    UpstreamIncomplete,
    UpstreamTimeout,
    UpstreamUnreachable,
)
from everthread.models.embedded import machine, union
from everthread.models.embedded.answer import Reading
from everthread.models.embedded.line import Line
from everthread.models.embedded.retell import disarmed, is_text
from everthread.models.embedded.supervisor import State, Supervisor
from everthread.models.openai import OpenAI, Timeouts

CONTEXT = 8192  # tokens
PATIENCE = Timeouts(connect=5, first_byte=900, silence=300)  # one core reads a long prompt for minutes
BROKEN_OFF = (UpstreamUnreachable, UpstreamDisconnected, UpstreamIncomplete, UpstreamTimeout)


def over_http(url: str, key: str) -> Model:
    return OpenAI(url, key, timeouts=PATIENCE)


class Local:
    """Answers with the weights of a file on this machine."""

    def __init__(
        self,
        *,
        weights: Path,
        name: str,
        threads: int | None = None,
        context: int = CONTEXT,
        connect: Callable[[str, str], Model] = over_http,
        longest_line: int = 64,
    ) -> None:
        self.weights = weights
        self.name = name
        self.context = context
        self._connect = connect
        self._line = Line(longest=longest_line)
        self._supervisor = Supervisor(
            weights=weights,
            name=name,
            threads=threads or max(1, machine.cores() - 1),  # a thread that must wait for its core stalls all
            context=context,
        )

    @property
    def state(self) -> State:
        return self._supervisor.state

    @property
    def pid(self) -> int | None:
        """The child's process, while there is one."""
        return self._supervisor.pid

    @property
    def waiting(self) -> int:
        """Requests in the line."""
        return self._line.waiting

    async def start(self) -> None:
        """Begins to load the weights; requests wait until that is done."""
        self._supervisor.start()

    async def ready(self) -> None:
        """Returns when the model is loaded; raises an UpstreamFailure if it does not start."""
        await self._supervisor.address()

    async def stream(self, prompt: Prompt) -> ModelEvents:
        if prompt.model != self.name:
            raise ModelNotFound(f"There is no model {prompt.model!r} here, only {self.name!r}.", param="model")
        if prompt.messages and not is_text(prompt.messages[-1]):
            raise RejectedUpstream(
                f"{self.name} reads text; it can neither see, hear nor open files.", param="messages"
            )
        allowed = union.union(prompt.options)
        asked = union.prompt_for(msgspec.structs.replace(prompt, messages=disarmed(prompt.messages)), allowed)
        async with self._line.place(auxiliary=prompt.auxiliary), aclosing(self._ask(asked)) as events:
            async for some in events if allowed is None else read(events, allowed):
                yield some

    async def _ask(self, prompt: Prompt) -> ModelEvents:
        """Asks the child, over a new connection: llama.cpp closes one after a stream without saying so."""
        address = await self._supervisor.address()
        model = self._connect(address.url, address.key)
        try:
            async for some in model.stream(prompt):
                yield some
        except BROKEN_OFF as failure:
            await self._supervisor.doubt(address)
            if isinstance(failure, UpstreamIncomplete):
                raise UpstreamDisconnected from failure
            raise
        finally:
            await model.close()

    async def cards(self) -> tuple[ModelCard, ...]:
        return (ModelCard(self.name, "everthread", 0, self.context),)

    async def close(self) -> None:
        await self._supervisor.close()


async def read(events: ModelEvents, allowed: union.Union) -> ModelEvents:
    """The model's JSON as what it means."""
    reading = Reading(allowed, call_id=f"call_{secrets.token_hex(12)}")
    async for some in events:
        meant: list[ModelEvent] = []
        for event in some:
            match event:
                case TextDelta(text=text):
                    meant.extend(reading.feed(text))
                case ChoiceEnded(reason=reason):
                    meant.extend(reading.end(reason))
                case _:
                    meant.append(event)
        if meant:
            yield meant
