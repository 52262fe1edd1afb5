"""The shipped parts in a home of their own, put together as `wiring.site` does; the model says what it is told."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from pathlib import Path
from time import perf_counter

import msgspec

from everthread.context.tokens import O200k
from everthread.context.tokens import Remembering as CountingOnce
from everthread.core.claim import Claim
from everthread.core.embedding import Embedder
from everthread.core.ids import DEFAULT_TENANT, ScopeId, SessionId, SessionKey
from everthread.core.memory import Memory, View
from everthread.core.messages import Message
from everthread.core.pairing import Pairing
from everthread.core.turn import Envelope, Finished, Opened, Prompt, Step, Turn
from everthread.turns.recall import Recall
from everthread.turns.remember import Remembering
from everthread.turns.run import Turns
from everthread.wiring import (  # type: ignore[attr-defined]  # the one place that names adapters
    DEFAULT_BUDGET,
    RandomIds,
    Scripted,
    SqliteMemory,
    SqliteStore,
    SqliteViews,
    SystemClock,
    embedders,
    together,
)

DATABASE = "everthread.db"
PAGE = 500  # claims
LOOK_AGAIN = 0.2  # seconds


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody says in a session, and what the model is to answer: nothing, mostly."""

    key: SessionKey
    session: SessionId
    said_at: datetime
    text: str
    speaker: str | None = None
    answer: str = ""


class Voice:
    """What the model is to say to which turn; what it was asked last, and how often."""

    def __init__(self) -> None:
        self.answers: dict[str, str] = {}  # by the name that a turn calls its model
        self.calls = 0
        self.heard: Prompt | None = None

    def __call__(self, prompt: Prompt) -> str:
        self.calls += 1
        self.heard = prompt
        return self.answers.pop(prompt.model, "")


class Metered:
    """An embedder whose work is counted. Each text is embedded once, and not behind all other work of the machine."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, bytes] = {}
        self.texts = 0
        self.seconds = 0.0
        self.late = 0  # queries that somebody stopped waiting for

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def per_second(self) -> float:
        return self.texts / self.seconds if self.seconds else 0.0

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        began = perf_counter()
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for text in new:
            self._known[text] = await self._embedder.query(text)
        self.seconds += perf_counter() - began
        self.texts += len(new)
        return [self._known[text] for text in texts]

    async def query(self, text: str) -> bytes:
        try:
            return await self._embedder.query(text)
        except asyncio.CancelledError:
            self.late += 1
            raise

    def similarities(self, query: bytes, vectors: Sequence[bytes]) -> Sequence[float]:
        return self._embedder.similarities(query, vectors)

    async def close(self) -> None:
        await self._embedder.close()


class House:
    """Where conversations are replayed and questions asked."""

    def __init__(self, store: SqliteStore, embedder: Metered, pairing: Pairing | None) -> None:
        clock, counter = SystemClock(), CountingOnce(O200k())
        self.voice = Voice()
        self.questions = 0  # turns of which nothing was kept
        self.embedder = embedder
        self.memory: Memory = SqliteMemory(store, embedder.similarities)
        self.recall = Recall(memory=self.memory, embedder=embedder, counter=counter)
        self.remembering = Remembering(
            memory=self.memory,
            embedder=embedder,
            pairing=pairing,
            clock=clock,
            resting=lambda: math.inf,
            counter=counter,
        )
        self._model = Scripted(script=self.voice)
        self._names = RandomIds()
        self.turns = Turns(
            store=store,
            views=SqliteViews(store, self._names),
            archive=store,
            model=self._model,
            clock=clock,
            ids=RandomIds(),
            counter=counter,
            budget=DEFAULT_BUDGET,
            commands=False,
            recall=self.recall,
            remembering=self.remembering,
        )

    async def say(self, line: Line) -> Step:
        """One turn, answered as the line says; the step it became."""
        turn = self._turn(line)
        async with aclosing(self.turns.run(turn)) as events:
            async for some in events:
                for event in some:
                    if isinstance(event, Finished):
                        self._model.prompts.clear()
                        return event.step
        raise AssertionError("A turn's last event is Finished.")

    async def asked(self, line: Line) -> Prompt:
        """What the model is given for a line. Nobody waits for its answer, so nothing is kept of the turn."""
        self.questions += 1
        async with aclosing(self.turns.run(self._turn(line))) as events:
            async for some in events:
                if any(isinstance(event, Opened) for event in some):
                    break
        self._model.prompts.clear()
        assert self.voice.heard is not None
        return self.voice.heard

    def _turn(self, line: Line) -> Turn:
        name = self._names.new()
        self.voice.answers[name] = line.answer
        envelope = Envelope(tenant=DEFAULT_TENANT, session_id=line.session, session_key=line.key, said_at=line.said_at)
        return Turn(envelope=envelope, messages=(spoken(line.text, line.speaker),), model=name)

    async def view(self, key: SessionKey) -> View:
        """A key's memory, seen from a session that is yet to begin."""
        scope = await self.recall.scope(DEFAULT_TENANT, key)
        assert scope is not None, f"Nothing was said under {key}."
        return View(DEFAULT_TENANT, scope)

    async def waiting(self) -> int:
        """How much is yet to be read."""
        return (await self.memory.lag()).waiting

    async def unread(self) -> int:
        """How much was given up."""
        return (await self.memory.lag()).dead

    async def claims(self, scope: ScopeId) -> AsyncIterator[Claim]:
        after = None
        while True:
            page = await self.memory.claims(View(DEFAULT_TENANT, scope), after=after, limit=PAGE)
            for claim in page:
                yield claim
            if len(page) < PAGE:
                return
            after = page[-1].id

    async def literal(self, claim: Claim) -> bool:
        """Whether a claim's quote is what stands at its span."""
        source = await self.memory.source(DEFAULT_TENANT, claim)
        return source is not None and source.text[claim.span.start : claim.span.end] == claim.quote


def spoken(text: str, speaker: str | None) -> Message:
    """A person's message, as a client would send it."""
    body = {"role": "user", "content": text} | ({"name": speaker} if speaker else {})
    return Message(role="user", raw=msgspec.json.encode(body), text=text, name=speaker)


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[House]:
    """A house whose reader reads what is said, as the server's does."""
    store = SqliteStore(home / DATABASE)
    await store.open()
    try:
        embedder, pairing = Metered(embedders.best()), together.best()
        try:
            await embedder.query("loaded before anybody waits for it")
            house = House(store, embedder, pairing)
            reading = asyncio.create_task(house.remembering.run())
            try:
                yield house
            finally:
                reading.cancel()
                await asyncio.wait([reading])
                await house.turns.rotations.close()
        finally:
            await embedder.close()
            if pairing is not None:
                await pairing.close()
    finally:
        await store.close()
