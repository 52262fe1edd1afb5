"""Which model answers: names, retries, fallbacks."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import msgspec

from everthread.core.cause import CAUSE
from everthread.core.ports import Clock, Model, ModelCard
from everthread.core.turn import ModelEvents, Prompt
from everthread.errors import (
    Failure,
    ModelNotFound,
    UpstreamFailed,
    UpstreamFailure,
    UpstreamRateLimited,
    UpstreamUnreachable,
)

log = logging.getLogger("everthread.models")

ALIASES = ("hermes", "hermes-agent")
RETRIES = 2
LONGEST_PAUSE = 10.0  # seconds; a server that asks for more gets no retry from us
CARDS_KEPT = 5.0  # seconds: readiness asks for them
WORTH_A_RETRY = (UpstreamUnreachable, UpstreamRateLimited, UpstreamFailed)


class Pool:
    """A model that tries again, and then tries another.

    Nothing is tried again once a single event has been passed on."""

    def __init__(
        self,
        model: Model,
        *,
        clock: Clock,
        default: str | None = None,
        fallbacks: tuple[str, ...] = (),
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._model = model
        self._clock = clock
        self._default = default
        self._fallbacks = fallbacks
        self._pause = pause
        self._chance = chance
        self._cards: tuple[float, tuple[ModelCard, ...]] | None = None

    async def stream(self, prompt: Prompt) -> ModelEvents:
        """What the model says; how long it took is put down to what it was asked for."""
        with Call(prompt) as call:
            call.model = name = await self._upstream_name(prompt.model)
            tries = [name] * (1 + RETRIES) + [other for other in self._fallbacks if other != name]
            while True:
                begun = False
                try:
                    async with aclosing(self._model.stream(msgspec.structs.replace(prompt, model=tries[0]))) as events:
                        async for some in events:
                            begun = True
                            yield some
                    return
                except WORTH_A_RETRY as failure:
                    pause = self._before_next(failure, number=1 + RETRIES - tries.count(name))
                    left = tries[1:] if pause is not None else [other for other in tries[1:] if other != tries[0]]
                    if begun or not left or (isinstance(failure, UpstreamFailed) and failure.final):
                        raise
                    log.warning("upstream model %s: %s; trying again with %s", tries[0], failure.code, left[0])
                if left[0] == tries[0]:
                    await self._pause(pause or 0.0)
                tries = left

    def _before_next(self, failure: UpstreamFailure, number: int) -> float | None:
        """How long to wait before the next try; None when it asks for longer than anyone should wait."""
        if failure.retry_after is not None:
            return failure.retry_after if failure.retry_after <= LONGEST_PAUSE else None
        return float((0.2 * 2**number) * (0.5 + self._chance()))

    async def _upstream_name(self, asked: str) -> str:
        if asked and asked not in ALIASES:
            return asked
        if self._default is None:
            cards = await self._known()
            if not cards:
                raise ModelNotFound("The model's server lists no models; name one with EVERTHREAD_MODEL.")
            self._default = cards[0].id
        return self._default

    async def cards(self) -> tuple[ModelCard, ...]:
        known = await self._known()
        length = next((card.context_length for card in known if card.id == self._default), None)
        if length is None and known and self._default is None:
            length = known[0].context_length
        return tuple(ModelCard(alias, "everthread", 0, length) for alias in ALIASES) + known

    async def _known(self) -> tuple[ModelCard, ...]:
        now = self._clock.now().timestamp()
        if self._cards is None or abs(now - self._cards[0]) > CARDS_KEPT:
            self._cards = (now, await self._model.cards())
        return self._cards[1]

    async def close(self) -> None:
        await self._model.close()


class Call:
    """Puts a call down to its cause when it is over; those that no client sees are told of in the log."""

    def __init__(self, prompt: Prompt) -> None:
        self._hidden = prompt.auxiliary
        self._began = time.perf_counter()
        self.model = ""

    def __enter__(self) -> Call:
        return self

    def __exit__(self, _: object, why: BaseException | None, __: object) -> None:
        seconds = time.perf_counter() - self._began
        if (cause := CAUSE.get()) is not None:
            cause.upstream += seconds
        level = logging.INFO if self._hidden else logging.DEBUG
        if log.isEnabledFor(level):
            fields: dict[str, object] = {"model": self.model, "ms": round(seconds * 1000, 1)}
            if why is not None:
                fields["code"] = why.code if isinstance(why, Failure) else "interrupted"
            log.log(level, "a hidden call" if self._hidden else "a call", extra={"fields": fields})
