"""Turns that run now, for those who come to listen while they do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from everthread.core.cuts import Cutting
from everthread.core.ids import StepId, Tenant
from everthread.core.turn import Cuts, Event, Events, Finished, Started
from everthread.errors import Failure, Stopping


class Live:
    """One turn, from its first event on: any number of listeners, each at its own pace."""

    def __init__(self) -> None:
        self._told: list[Sequence[Event]] = []
        self._over = False
        self._failure: Failure | None = None
        self._waiting: list[asyncio.Future[None]] = []
        self._heard = False
        self.stop: Callable[[], None] | None = None  # ends it where it stands

    @property
    def cuts(self) -> Cuts:
        """How it was streamed, if somebody listened who may come back for the rest."""
        if not self._heard:
            return ()
        cutting = Cutting()
        for some in self._told:
            for event in some:
                if not isinstance(event, Started | Finished):
                    cutting.add(event)
        return cutting.cuts()

    @property
    def started(self) -> Started | None:
        first = self._told[0][0] if self._told else None
        return first if isinstance(first, Started) else None

    def tell(self, some: Sequence[Event]) -> None:
        self._told.append(some)
        if self._waiting:
            self._wake()

    def end(self, failure: Failure | None = None) -> None:
        """Nothing follows; why, if it came to nothing."""
        self._over, self._failure = True, failure
        self._wake()

    async def events(self) -> Events:
        """All of it, as it comes."""
        self._heard = True
        seen = 0
        while True:
            for some in self._told[seen:]:
                seen += 1
                yield some
            if seen < len(self._told):
                continue
            if self._over:
                break
            await self._more()
        if self._failure is not None:
            raise self._failure

    async def ended(self) -> None:
        """Returns when nothing follows."""
        while not self._over:
            await self._more()

    async def _more(self) -> None:
        more = asyncio.get_running_loop().create_future()
        self._waiting.append(more)
        await more

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)


Lives = dict[tuple[Tenant, StepId], Live]


class Listened:
    """A turn that others can listen to for as long as this is entered."""

    def __init__(self, lives: Lives, name: tuple[Tenant, StepId]) -> None:
        self._lives = lives
        self._name = name
        self._live = Live()

    def __enter__(self) -> Live:
        self._lives[self._name] = self._live
        return self._live

    def __exit__(self, _: object, why: BaseException | None, __: object) -> None:
        del self._lives[self._name]
        self._live.end(why if why is None or isinstance(why, Failure) else Stopping())
