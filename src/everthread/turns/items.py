"""What is put into a conversation, or taken out of it, without asking a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from everthread.context import shorten
from everthread.context.tokens import weigh
from everthread.core.ids import SessionId, StepId
from everthread.core.messages import Message
from everthread.core.ports import Clock, Ids, Store, TokenCounter
from everthread.core.session import Session
from everthread.core.turn import Envelope
from everthread.core.view import Views
from everthread.errors import NotFound
from everthread.turns.permit import permit


class Items:
    def __init__(
        self,
        *,
        store: Store,
        views: Views,
        clock: Clock,
        ids: Ids,
        counter: TokenCounter,
        budget: int,
        changed: Callable[[], None],
    ) -> None:
        self._store = store
        self._views = views
        self._clock = clock
        self._ids = ids
        self._counter = counter
        self._limits = shorten.limits(budget)
        self._changed = changed  # is told when there is something new to remember

    async def append(self, to: Envelope, messages: Sequence[Message]) -> tuple[Session, tuple[StepId, ...]]:
        """Messages that nobody is to answer, at the end of a session."""
        name = to.session_id or SessionId("")
        async with self._store.claim(to.tenant, name, by=StepId(self._ids.new()), on_busy=to.on_busy) as claim:
            session = self._permitted(to, claim.session)
            weights = [self._weight((message,)) for message in messages]
            steps = await self._views.append(to.tenant, session, messages, tokens=weights, now=self._clock.now())
        self._changed()
        return session, steps

    async def remove(self, to: Envelope, step: StepId, number: int | None, call: str | None) -> bool:
        """Takes one message, or one tool call of it, out of a session for good; False when it is not there."""
        name = to.session_id or SessionId("")
        async with self._store.claim(to.tenant, name, by=StepId(self._ids.new()), on_busy=to.on_busy) as claim:
            session = self._permitted(to, claim.session)
            gone = await self._views.remove(
                to.tenant, session, step, number, call, weigh=self._weight, now=self._clock.now()
            )
        self._changed()
        return gone

    def _permitted(self, to: Envelope, session: Session | None) -> Session:
        if session is None:
            raise NotFound("There is no such conversation.")
        permit(to, session)
        return session

    def _weight(self, messages: Sequence[Message]) -> int:
        """What they weigh in later prompts; instructions are weighed where they are given."""
        said = tuple(message for message in messages if not (message.is_instruction or message.is_silent))
        return weigh(shorten.shortened(said, None, self._limits), self._counter) if said else 0
