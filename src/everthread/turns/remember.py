"""Reads what was said, after the reply: draws claims from it and makes the vectors by which it is found again.

What is to be read is on disk with the turn that said it, so nothing is lost by a crash; what cannot be read is put
aside with the reason, and never holds up the rest.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from datetime import timedelta
from typing import Any, TypeVar

import msgspec

from everthread.core.cause import CAUSE, Cause
from everthread.core.claim import Draft
from everthread.core.embedding import Embedder
from everthread.core.ids import ScopeId, StepId, Tenant, run_id
from everthread.core.memory import Kin, Lag, Memory, Passage, Told, View, Work
from everthread.core.pairing import Pairing
from everthread.core.ports import Clock, Model, TokenCounter
from everthread.core.turn import Folding, Prompt
from everthread.core.usage import Accounts
from everthread.errors import Failure, StoreUnavailable, Unavailable
from everthread.memory import drawn, ledger, rank, series
from everthread.memory.notice import notice

logger = logging.getLogger("everthread.memory")

AT_ONCE, FEW = 16, 4  # pieces of work that are read together; and while somebody waits: theirs goes first
NEAREST = 30  # earlier claims that a new statement is held against
COMPARED = 12  # other messages that a message is read together with
MOST_TEXTS = 64  # passages whose vectors are made together
MOST_ATTEMPTS = 5
AGAIN_AFTER = timedelta(seconds=2)  # doubled with every attempt
SLOWEST = 60.0  # seconds that one piece of work may take
SLOWEST_MODEL = 120.0
IDLE = 30.0  # seconds between two looks when nobody says that there is something
CALM = 0.02  # seconds in which nothing is heard of any turn: then there is time to read
MOST_WAITS = 12  # for that; whatever goes on, something is read
LONG = 4000  # characters of a step that is read in a thread of its own
READ_BY_MODEL = 4000  # tokens of turns that a model reads at once


replace = msgspec.structs.replace
T = TypeVar("T")
Vectors = dict[str, bytes]  # by their texts


class Piece(msgspec.Struct, frozen=True):
    """A piece of work, opened."""

    work: Work
    told: Told | None  # the step, if it is one
    drafts: Sequence[Draft]
    passages: Sequence[Passage]  # that have no vector
    whole: bool  # these are all of them

    @property
    def wanted(self) -> list[str]:
        """The passages' texts, as they are embedded."""
        return [worth_embedding(passage.text) for passage in self.passages]

    @property
    def texts(self) -> list[str]:
        return [*(draft.quote for draft in self.drafts), *self.wanted]


class Remembering:
    """The one who reads, one piece of work after the other."""

    def __init__(
        self,
        *,
        memory: Memory,
        embedder: Embedder,
        pairing: Pairing | None = None,
        clock: Clock,
        resting: Callable[[], float],
        model: Model | None = None,
        counter: TokenCounter | None = None,
        accounts: Accounts | None = None,
    ) -> None:
        self._memory = memory
        self._embedder = embedder
        self._pairing = pairing
        self._clock = clock
        self._resting = resting  # seconds since anything of a turn was heard
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
        limit = FEW if self._wanted else AT_ONCE
        works = await self._memory.waiting(limit=limit, first=tuple(self._wanted), now=self._clock.now())
        pieces = await self._begun(works)
        vectors = await self._ahead(pieces)
        ended: list[Piece] = []
        kin: list[Kin] = []
        for piece in pieces:
            found = await self._guarded(piece.work, self._ended(piece, vectors, ended))
            if found is not None:
                ended.append(piece)
                kin += found
        if ended:
            await self._keep(ended, vectors, kin)
        async with self._read:
            self._read.notify_all()
        return len(works)

    async def _begun(self, works: Sequence[Work]) -> list[Piece]:
        """Those that could be opened."""
        pieces: list[Piece] = []
        share = MOST_TEXTS // max(1, len(works))
        for work in works:
            await self._calm()
            piece = await self._guarded(work, self._opened(work, share))
            if piece is not None:
                pieces.append(piece)
        return pieces

    async def _calm(self) -> None:
        """Lets turns go first: they share the interpreter with us. Not those that wait for their model."""
        for _ in range(MOST_WAITS):
            if self._wanted or self._resting() >= CALM:
                return
            await asyncio.sleep(CALM)

    async def _guarded(self, work: Work, reading: Coroutine[Any, Any, T]) -> T | None:
        """What reading it comes to. What cannot be read is put aside, and the rest goes on."""
        CAUSE.set(Cause(run_id(StepId(work.name)) if work.kind == "step" else work.kind))
        try:
            async with asyncio.timeout(SLOWEST + (SLOWEST_MODEL if self._model else 0)):
                return await reading
        except StoreUnavailable:
            raise
        except Exception as error:  # whatever it is
            now = self._clock.now()
            attempts = work.attempts + 1
            again = None if attempts >= MOST_ATTEMPTS else now + AGAIN_AFTER * 2**attempts
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            logger.warning("a %s could not be read (attempt %d): %s", work.kind, attempts, type(error).__name__)
            await self._memory.failed(work, failure=said[:500], again=again, now=now)
            return None

    async def _opened(self, work: Work, share: int) -> Piece:
        """What is there to be read, and what rules find in it; of its passages so many, that others get their turn."""
        told = await self._memory.told(work.tenant, StepId(work.name)) if work.kind == "step" else None
        drafts = await self._drafts(work.tenant, told) if told is not None else ()
        passages = await self._unembedded(work, share + 1)
        return Piece(work, told, drafts, passages[:share], whole=len(passages) <= share)

    async def _ended(self, piece: Piece, vectors: Vectors, before: Sequence[Piece]) -> list[Kin]:
        """Keeps the claims of a piece, and sees to it that its passages have their vectors; what its messages have to
        do with others, those of the pieces read just before among them."""
        work = piece.work
        if piece.told is not None:
            await self._settle(
                View(work.tenant, piece.told.scope, piece.told.session), piece.told, piece.drafts, vectors
            )
        elif work.kind == "session" and self._model is not None and piece.whole:
            await self._asked(work)
        await self._made(piece.wanted, vectors)
        if self._pairing is None or self._pairing.name == "none" or not self._embedder.dimensions:
            return []
        return await self._compared(self._pairing, piece, [*before, piece], vectors)

    # --- vectors ------------------------------------------------------------------------------------------------

    async def _unembedded(self, work: Work, limit: int) -> tuple[Passage, ...]:
        """Some of its passages that have no vector."""
        if not self._embedder.dimensions:
            return ()
        return await self._memory.unembedded(work, model=self._embedder.name, limit=limit)

    async def _ahead(self, pieces: Sequence[Piece]) -> Vectors:
        """The vectors of all their texts, made together: that takes less than one after the other."""
        vectors: Vectors = {}
        try:
            async with asyncio.timeout(SLOWEST):
                await self._made([text for piece in pieces for text in piece.texts], vectors)
        except (Unavailable, TimeoutError):
            logger.info("vectors could not be made together")
        return vectors

    async def _made(self, texts: Sequence[str], vectors: Vectors) -> list[bytes]:
        """The vectors of some texts; those that are missing are made."""
        if not self._embedder.dimensions:
            return [b""] * len(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        if missing:
            vectors.update(zip(missing, await self._embedder.embed(missing), strict=True))
        return [vectors[text] for text in texts]

    async def _compared(self, pairing: Pairing, piece: Piece, read: Sequence[Piece], vectors: Vectors) -> list[Kin]:
        """What each message of a piece has to do with those that are like it, by reading two of them together. Those
        read just now are not found in the store yet."""
        fresh = [
            (one, vectors[text], other is piece)
            for other in read
            if other.work.scope == piece.work.scope
            for one, text in zip(other.passages, other.wanted, strict=True)
        ]
        pairs: list[tuple[Passage, Passage]] = []
        slips: dict[int, int] = {}  # what may put right what was said just before, and that
        for passage, text in zip(piece.passages, piece.wanted, strict=True):
            if series.may_tell(passage):
                likely = await self._like(passage, vectors[text], fresh)
                slip = await self._memory.just_before(passage) if series.may_put_right(passage) else None
                if slip is not None and series.may_tell(slip):
                    likely = [slip, *(one for one in likely if one.no != slip.no)]
                    slips[passage.no] = slip.no
                pairs += [(one, passage) if series.before(one, passage) else (passage, one) for one in likely]
        try:
            async with asyncio.timeout(SLOWEST / 2):
                chances = await pairing.compare([series.read_as(earlier, later) for earlier, later in pairs])
        except (Unavailable, TimeoutError) as failure:  # it is found again all the same
            logger.warning("messages could not be read together: %s", type(failure).__name__)
            return []
        found = [Kin(earlier.no, later.no, one) for (earlier, later), one in zip(pairs, chances, strict=True)]
        return series.put_right(found, slips)

    async def _like(
        self, passage: Passage, vector: bytes, fresh: Sequence[tuple[Passage, bytes, bool]]
    ) -> list[Passage]:
        """The messages most like one. Of its own piece those before it: the others will be compared with it."""
        known = await self._memory.nearest(passage, vector, model=self._embedder.name, limit=COMPARED)
        beside = [
            (one, own) for one, own, same in fresh if one.no != passage.no and (not same or series.before(one, passage))
        ]
        cosines = self._embedder.similarities(vector, [own for _, own in beside])
        near = [*known, *((cosine, one) for cosine, (one, _) in zip(cosines, beside, strict=True))]
        near.sort(key=lambda pair: -pair[0])
        found = {one.no: one for _, one in near if series.may_tell(one)}
        return list(found.values())[:COMPARED]

    async def _keep(self, pieces: Sequence[Piece], vectors: Vectors, kin: Sequence[Kin]) -> None:
        """Writes the vectors, and what has to do with what; what was read as a whole is done."""
        named = [
            (passage.no, vectors[text])
            for piece in pieces
            for passage, text in zip(piece.passages, piece.wanted, strict=True)
            if text in vectors
        ]
        if named:
            await self._memory.embedded(named, model=self._embedder.name, kin=kin)
        await self._memory.done(*(piece.work for piece in pieces if piece.whole))

    # --- claims -------------------------------------------------------------------------------------------------

    async def _drafts(self, tenant: Tenant, told: Told) -> Sequence[Draft]:
        """What rules find in a step and is not known yet."""
        if sum(len(message.text) for message in told.messages) > LONG:
            drafts = await asyncio.to_thread(notice, told.messages, told.said_at)
        else:
            drafts = notice(told.messages, told.said_at)
        if not drafts:
            return ()
        view = View(tenant, told.scope, told.session)
        known = {claim.id for claim in await self._memory.about(view, (told.step,))}  # it was begun, and cut short
        return [draft for draft in drafts if ledger.name_of(told.step, draft) not in known]

    async def _settle(
        self, view: View, told: Told, drafts: Sequence[Draft], vectors: Vectors, *, by_model: bool = False
    ) -> None:
        """One statement after the other, held against what is known: the next may be about the one before."""
        made = await self._made([draft.quote for draft in drafts], vectors)
        for draft, vector in zip(drafts, made, strict=True):
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
        CAUSE.set(Cause(run_id(evicted[-1].step)))
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
            await self._settle(view, told, drawn.beyond(accepted.get(told.step, ()), known), {}, by_model=True)


def worth_embedding(text: str) -> str:
    """The text; nothing of one that is a single word ("Noted."), which is like no other in any way that matters."""
    return text if len(text.split(None, 1)) > 1 else ""
