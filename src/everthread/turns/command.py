"""What a person can say to the server itself: /new, /reset, /compress. None of it is sent to a model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Literal

import msgspec

from everthread.core.ids import CURRENT, SessionId, SessionKey, StepId, Tenant
from everthread.core.messages import Message
from everthread.core.ports import Clock, Ids, Store
from everthread.core.session import Session, fresh
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
NEW_SESSION = "This is a new session: "
COMPRESSED = "Compressed. The session goes on as "
NOTHING_TO_COMPRESS = "There is nothing to compress now."


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
        if envelope.session_id == CURRENT:
            known = await self.known(envelope.tenant, required(envelope))
        else:
            known = await self._store.find(envelope.tenant, envelope.session_id) if envelope.session_id else None
        permit(envelope, known)
        if told == "/compress":
            session, answer = await self._compressed(envelope, known)
        else:
            session = await self._begun(envelope, known)
            answer = f"{NEW_SESSION}{session.id}"
        yield list(answered(turn, session, answer, StepId(self._ids.new()), self._clock.now()))

    async def known(self, tenant: Tenant, key: SessionKey) -> Session | None:
        """What @current means, if it means anything yet."""
        return await self._archive.current(tenant, key)

    async def current(self, envelope: Envelope) -> Session | None:
        """What @current means; of several who want a first one at once, the first makes it.

        For a request that leaves no trace none is made."""
        tenant, key = envelope.tenant, required(envelope)
        known = await self.known(tenant, key)
        if known is not None or envelope.auxiliary:
            return known
        line = SessionId(f"\0{key}")  # no session has such a name
        async with self._store.claim(tenant, line, by=StepId(self._ids.new())):
            empty = new_session(Envelope(tenant=tenant, session_key=key), None, self._ids)
            return await self.known(tenant, key) or await self._archive.begin(
                tenant, empty, now=self._clock.now(), current=True
            )

    async def _begun(self, envelope: Envelope, known: Session | None) -> Session:
        empty = new_session(envelope, known, self._ids)
        return await self._store.find(envelope.tenant, empty.id) or await self._archive.begin(
            envelope.tenant, empty, now=self._clock.now(), current=empty.session_key is not None
        )

    async def _compressed(self, envelope: Envelope, known: Session | None) -> tuple[Session, str]:
        if known is None:
            raise NotFound("There is no such session to compress.")
        session = await self._rotations.now(envelope.tenant, known.id)
        if session.id == known.id:
            return session, NOTHING_TO_COMPRESS
        return session, f"{COMPRESSED}{session.id}"


def command(turn: Turn) -> Command | None:
    """The command that the last message is, if it is nothing but one."""
    return told(turn.messages[-1])


def told(message: Message) -> Command | None:
    if message.role != "user" or len(message.text) > 16 or message.images or message.bulk:
        return None
    match message.text.strip().lower():
        case "/new":
            return "/new"
        case "/reset":
            return "/reset"
        case "/compress":
            return "/compress"
        case _:
            return None


def without_commands(turn: Turn) -> Turn:
    """The turn without the commands in its history: nobody but the server has answered them."""
    ours = (NEW_SESSION, COMPRESSED, NOTHING_TO_COMPRESS)
    messages = turn.messages
    gone = {
        place
        for number, (asked, answer) in enumerate(pairwise(messages))
        if answer.role == "assistant" and answer.text.startswith(ours) and told(asked)
        for place in (number, number + 1)
    }
    if not gone:
        return turn
    if len(messages) - 1 in gone:
        raise Malformed(
            "messages ends with the server's own answer to a command; there is nothing new.", param="messages"
        )
    left = tuple(message for number, message in enumerate(messages) if number not in gone)
    return msgspec.structs.replace(turn, messages=left)


def required(envelope: Envelope) -> SessionKey:
    if envelope.session_key is None:
        raise Malformed(
            "@current is the current session of a session key: send X-Hermes-Session-Key with it.",
            param="X-Hermes-Session-Id",
        )
    return envelope.session_key


def new_session(envelope: Envelope, known: Session | None, ids: Ids) -> Session:
    """An empty session under the same key. Told twice under one message id or Idempotency-Key, it is the same one."""
    once = envelope.message_id or (envelope.replay.key if envelope.replay else None)
    if once is None or envelope.session_id is None:
        name = ids.new()
    else:
        where = (envelope.tenant, envelope.session_key or "", envelope.session_id, once)
        name = hashlib.sha256("\0".join(where).encode()).hexdigest()[:27]
    key = envelope.session_key or (known.session_key if known else None)
    return fresh(SessionId(f"ses_{name}"), ids.new, session_key=key)


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
