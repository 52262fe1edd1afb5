"""What a person can say to the server itself: /new, /reset, /compress. None of it is sent to a model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from everthread.core.ids import CURRENT, LineageId, ScopeId, SessionId, StepId, ThreadId
from everthread.core.ports import Clock, Ids, Store
from everthread.core.session import Session, begin
from everthread.core.transcript import Archive
from everthread.core.turn import (
    Choice,
    Context,
    Envelope,
    Event,
    Events,
    Finished,
    Outcome,
    Started,
    Step,
    Turn,
    Usage,
    unfold,
)
from everthread.errors import Malformed, NotFound
from everthread.turns.permit import permit
from everthread.turns.rotate import Rotations

Command = Literal["/new", "/reset", "/compress"]


class Commands:
    def __init__(self, *, store: Store, archive: Archive, rotations: Rotations, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._archive = archive
        self._rotations = rotations
        self._clock = clock
        self._ids = ids

    async def run(self, turn: Turn, told: Command) -> Events:
        """The server itself answers, and nothing is added to a transcript."""
        envelope = turn.envelope
        known = await self._store.find(envelope.tenant, envelope.session_id) if envelope.session_id else None
        permit(envelope, known)
        if told == "/compress":
            session, answer = await self._compressed(envelope, known)
        else:
            session = await self._begun(envelope, known)
            answer = f"This is a new session: {session.id}"
        yield list(answered(turn, session, answer, StepId(self._ids.new()), self._clock.now()))

    async def current(self, envelope: Envelope) -> Session:
        """What @current means; of several who want a first one at once, the first makes it."""
        tenant, key = envelope.tenant, envelope.session_key
        if key is None:
            raise Malformed(
                "@current is the current session of a session key: send X-Hermes-Session-Key with it.",
                param="X-Hermes-Session-Id",
            )
        if known := await self._archive.current(tenant, key):
            return known
        async with self._store.claim(tenant, SessionId(f"{CURRENT} {key}"), by=StepId(self._ids.new())):
            if known := await self._archive.current(tenant, key):
                return known
            empty = new_session(Envelope(tenant=tenant, session_key=key), None, self._ids)
            return await self._archive.begin(tenant, empty, now=self._clock.now(), current=True)

    async def _begun(self, envelope: Envelope, known: Session | None) -> Session:
        empty = new_session(envelope, known, self._ids)
        return await self._store.find(envelope.tenant, empty.id) or await self._archive.begin(
            envelope.tenant, empty, now=self._clock.now(), current=empty.session_key is not None
        )

    async def _compressed(self, envelope: Envelope, known: Session | None) -> tuple[Session, str]:
        if known is None:
            raise NotFound("There is no session to compress: send X-Hermes-Session-Id.")
        session = await self._rotations.now(envelope.tenant, known.id)
        if session.id == known.id:
            return session, "There is nothing to compress yet."
        return session, f"Compressed. The session goes on as {session.id}"


def command(turn: Turn) -> Command | None:
    """The command that the last message is, if it is nothing but one."""
    last = turn.messages[-1]
    if last.role != "user" or len(last.text) > 16:
        return None
    match last.text.strip().lower():
        case "/new":
            return "/new"
        case "/reset":
            return "/reset"
        case "/compress":
            return "/compress"
        case _:
            return None


def new_session(envelope: Envelope, known: Session | None, ids: Ids) -> Session:
    """An empty session under the same key. Told twice under one message id or Idempotency-Key, it is the same one."""
    once = envelope.message_id or (envelope.replay.key if envelope.replay else None)
    if once is None:
        name = ids.new()
    else:
        told = "\0".join((envelope.tenant, envelope.session_key or envelope.session_id or "", once))
        name = hashlib.sha256(told.encode()).hexdigest()[:27]
    key = envelope.session_key or (known.session_key if known else None)
    return begin(
        SessionId(f"ses_{name}"),
        thread=ThreadId(ids.new()),
        lineage=LineageId(ids.new()),
        scope=ScopeId(ids.new()),
        session_key=key,
        named=True,
    )


def answered(turn: Turn, session: Session, text: str, name: StepId, now: datetime) -> Iterator[Event]:
    """The server's own answer, as the events of a turn that nothing was kept of."""
    outcome = Outcome(model="everthread", choices=(Choice(content=text, finish="stop"),), usage=Usage(0, 0))
    step = Step(
        id=name,
        turn=name,
        seq=0,
        source=turn.source,
        input=turn.messages[-1:],
        outcome=outcome,
        answer=outcome.choices[0].message(),
        context=Context(0, 0, 0, 0),
        said_at=now,
        stored_at=now,
        tokens=0,
    )
    yield Started(session=session, step=name, at=now)
    yield from unfold(outcome)
    yield Finished(session=session, asked=turn.envelope.session_id, step=step)
