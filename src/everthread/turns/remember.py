"""Reads what was said, after the reply: draws claims from it and makes the vectors by which it is found again.

What is to be read is on disk with the turn that said it, so nothing is lost by a crash; what cannot be read is put
aside with the reason, and never holds up the rest.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing
from datetime import timedelta

import msgspec

from everthread.core.claim import Draft
from everthread.core.embedding import Embedder
from everthread.core.ids import ScopeId, StepId, Tenant
from everthread.core.memory import Lag, Memory, Told, View, Work
from everthread.core.ports import Clock, Model, TokenCounter
from everthread.core.turn import Folding, Prompt
from everthread.core.usage import Accounts
from everthread.errors import Failure, StoreUnavailable, Unavailable
from everthread.memory import drawn, ledger, rank
from everthread.memory.notice import notice

logger = logging.getLogger("everthread.memory")

AT_ONCE = 16  # pieces of work fetched, passages embedded
NEAREST = 30  # earlier claims that a new statement is held against
BATCHES = 4  # of passages that one piece of work may have embedded before the next one's turn
MOST_ATTEMPTS = 5
AGAIN_AFTER = timedelta(seconds=2)  # doubled with every attempt
SLOWEST = 60.0  # seconds that one piece of work may take
SLOWEST_MODEL = 120.0
IDLE = 30.0  # seconds between two looks when nobody says that there is something
STAND_BACK = 0.02  # seconds after each piece while people wait for replies
LONG = 4000  # characters of a step that is read in a thread of its own
READ_BY_MODEL = 4000  # tokens of turns that a model reads at once


replace = msgspec.structs.replace


class Remembering:
    """The one who reads, one piece of work after the other."""

    def __init__(
        self,
        *,
        memory: Memory,
        embedder: Embedder,
        clock: Clock,
        busy: Callable[[], bool],
        model: Model | None = None,
        counter: TokenCounter | None = None,
        accounts: Accounts | None = None,
    ) -> None:
        self._memory = memory
        self._embedder = embedder
        self._clock = clock
        self._busy = busy
        self._model = model  # draws claims too, if there is one
        self._counter = counter
        self._accounts = accounts
        self._awake = asyncio.Event()
        self._wanted: dict[tuple[Tenant, ScopeId], int] = {}  # scopes that someone waits for
        self._read = asyncio.Condition()

    def nudge(self) -> None:
        """There is something to read."""
        self._awake.set()

    async def lag(self) -> Lag:
        return await self._memory.lag()

    async def caught_up(self, tenant: Tenant, scope: ScopeId, *, within: float) -> bool:
        """Waits until nothing of a scope is left to be read; tells whether that came about in time."""
        wanted = (tenant, scope)
        self._wanted[wanted] = self._wanted.get(wanted, 0) + 1
        self.nudge()
        try:
            async with asyncio.timeout(within), self._read:
                while await self._memory.behind(tenant, scope):
                    await self._read.wait()
            return True
        except TimeoutError:
            return False
        finally:
            self._wanted[wanted] -= 1
            if not self._wanted[wanted]:
                del self._wanted[wanted]

    async def run(self) -> None:
        """Reads for as long as the server runs."""
        while True:
            self._awake.clear()
            try:
                found = await self.read()
            except Unavailable as failure:  # the store is away for a while
                logger.warning("reading was put off: %s", failure.code)
                await asyncio.sleep(AGAIN_AFTER.total_seconds())
                continue
            if not found:
                await self._rest()

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(IDLE):
                await self._awake.wait()
        except TimeoutError:
            return

    async def read(self) -> int:
        """Reads a portion of what is waiting; tells how much that was."""
        works = await self._memory.waiting(limit=AT_ONCE, first=tuple(self._wanted), now=self._clock.now())
        for number, work in enumerate(works):
            await self._one(work)
            async with self._read:
                self._read.notify_all()
            if self._busy() and not self._wanted:
                await asyncio.sleep(STAND_BACK)
            elif self._wanted and number < len(works) - 1:
                break  # look again: theirs goes first
        return len(works)

    async def _one(self, work: Work) -> None:
        try:
            async with asyncio.timeout(SLOWEST + (SLOWEST_MODEL if self._model else 0)):
                done = await self._work(work)
        except StoreUnavailable:
            raise
        except Exception as error:  # whatever it is: it is put aside, and the rest goes on
            now = self._clock.now()
            attempts = work.attempts + 1
            again = None if attempts >= MOST_ATTEMPTS else now + AGAIN_AFTER * 2**attempts
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            logger.warning("a %s could not be read (attempt %d): %s", work.kind, attempts, type(error).__name__)
            await self._memory.failed(work, failure=said[:500], again=again, now=now)
        else:
            if done:
                await self._memory.done(work)

    async def _work(self, work: Work) -> bool:
        """Reads a piece of work; tells whether that was all of it."""
        if work.kind == "step":
            told = await self._memory.told(work.tenant, StepId(work.name))
            if told is not None:
                await self._claims(work.tenant, told)
        elif work.kind == "session" and self._model is not None:
            await self._asked(work)
        return await self._vectors(work)

    # --- vectors ------------------------------------------------------------------------------------------------

    async def _vectors(self, work: Work) -> bool:
        """Makes some of the vectors that are missing, so that others get their turn; tells whether none is left."""
        for _ in range(BATCHES):
            if not self._embedder.dimensions:
                return True
            passages = await self._memory.unembedded(work, model=self._embedder.name, limit=AT_ONCE)
            if not passages:
                return True
            vectors = await self._embedder.embed([worth_embedding(passage.text) for passage in passages])
            named = [(passage.no, vector) for passage, vector in zip(passages, vectors, strict=True)]
            await self._memory.embedded(named, model=self._embedder.name)
        return False

    # --- claims -------------------------------------------------------------------------------------------------

    async def _claims(self, tenant: Tenant, told: Told) -> None:
        """What rules find in a step, held against what is known."""
        view = View(tenant, told.scope, told.session)
        if sum(len(message.text) for message in told.messages) > LONG:
            drafts = await asyncio.to_thread(notice, told.messages, told.said_at)
        else:
            drafts = notice(told.messages, told.said_at)
        known = {claim.id for claim in await self._memory.about(view, (told.step,))}  # it was begun, and cut short
        await self._settle(view, told, [draft for draft in drafts if ledger.name_of(told.step, draft) not in known])

    async def _settle(self, view: View, told: Told, drafts: Sequence[Draft], *, by_model: bool = False) -> None:
        """One statement after the other: the next may be about the one before."""
        quotes = [draft.quote for draft in drafts]
        vectors = await self._embedder.embed(quotes) if self._embedder.dimensions else [b""] * len(drafts)
        for draft, vector in zip(drafts, vectors, strict=True):
            near = await self._memory.near(
                view,
                words=rank.words(draft.quote),
                vector=vector or None,
                model=self._embedder.name,
                limit=NEAREST,
            )
            settled = ledger.settle(
                (draft,),
                near,
                step=told.step,
                seq=told.seq,
                said_at=told.said_at,
                recorded_at=self._clock.now(),
            )
            inserted = tuple(replace(claim, author="model") if by_model else claim for claim in settled.inserted)
            if inserted or settled.changed:
                await self._memory.remember(
                    view.tenant,
                    view.scope,
                    (*inserted, *settled.changed),
                    vectors=[vector for _ in inserted] if vector else (),
                    model=self._embedder.name,
                )

    async def _asked(self, work: Work) -> None:
        """What a model finds in the turns that left the window; only what it can quote is believed."""
        evicted = await self._memory.evicted(work)
        if not evicted or self._model is None or self._counter is None:
            return
        brief = drawn.brief(evicted, room=READ_BY_MODEL, counter=self._counter)
        if not brief:
            return
        prompt = Prompt(model="", messages=brief, options=drawn.options(), auxiliary=True)
        folding = Folding()
        try:
            async with asyncio.timeout(SLOWEST_MODEL), aclosing(self._model.stream(prompt)) as events:
                async for some in events:
                    for event in some:
                        folding.add(event)
        except (Failure, TimeoutError) as failure:
            logger.info("no model drew claims (%s)", type(failure).__name__)
            return
        usage = folding.usage
        spent = usage.prompt + usage.completion if usage else self._counter.count(folding.text)
        if self._accounts is not None:
            of, now = evicted[-1].step, self._clock.now()
            await self._accounts.hidden(work.tenant, of, model=folding.model, tokens=spent, at=now)
        accepted, tally = drawn.accepted(folding.text, evicted)
        logger.info("a model drew claims: %s", tally)
        for told in evicted:
            view = View(work.tenant, told.scope, told.session)
            known = [claim.span for claim in await self._memory.about(view, (told.step,)) if claim.step == told.step]
            await self._settle(view, told, drawn.beyond(accepted.get(told.step, ()), known), by_model=True)


def worth_embedding(text: str) -> str:
    """The text; nothing of one that is a single word ("Noted."), which is like no other in any way that matters."""
    return text if len(text.split(None, 1)) > 1 else ""
