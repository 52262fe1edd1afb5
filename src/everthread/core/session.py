"""Sessions and what they belong to: thread, lineage, scope.

A client's session id names a thread: a tree of steps. A lineage is one path of that tree. A session is one epoch
of a lineage; the lineage's tip is the one that is live. Every id of a lineage resolves to its tip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from everthread.core.ids import LineageId, ScopeId, SessionId, SessionKey, ThreadId
from everthread.core.messages import Message


class Exchange(msgspec.Struct, frozen=True):
    """One imported step: what a client says was said before it came here."""

    messages: tuple[Message, ...]
    address: bytes  # hash of this exchange and all before it, byte for byte: what it is stored under
    rolling: bytes  # hash of what was said so far, as later bodies are compared with it
    tokens: int


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where in a thread's tree a turn can go on: after one of its steps, or before the first."""

    lineage: LineageId
    seq: int  # 0: before the first step, after what was imported
    session: SessionId  # the epoch it belongs to
    from_seq: int  # where that epoch's window begins
    rolling: bytes
    messages: int
    prior: bytes | None
    last: bool  # nothing follows on its lineage


class Session(msgspec.Struct, frozen=True):
    """The tip that an id resolved to, with the coordinates a turn needs."""

    id: SessionId
    root: SessionId  # the id the thread is known by
    parent: SessionId | None
    thread: ThreadId
    lineage: LineageId
    scope: ScopeId
    session_key: SessionKey | None
    from_seq: int  # the first step of this epoch's window; what was imported is 0, -1, -2 ..., the newest first
    last_seq: int  # the newest step of the lineage; 0 when there is none
    prior: bytes | None = None  # address of the last imported exchange, if history was brought along
    rolling: bytes = b""  # hash over all that was said on this path
    named: bool = True  # whether a client ever asked for it by name
    messages: int = 0  # how many were said on this path, imported ones too
    fork: LineageId | None = None  # the path this one left; None for a thread's first
    fork_seq: int = 0  # the last step shared with it
    distilled: int = 0  # tokens that writing its log took, until a reply has told so
    ended: bool = False  # said to be over; one more turn opens it again

    def advanced(self, rolling: bytes, messages: int) -> Session:
        """The same session after one more step."""
        return msgspec.structs.replace(
            self,
            last_seq=self.last_seq + 1,
            rolling=rolling,
            messages=self.messages + messages,
            distilled=0,
            ended=False,
        )

    def rotated(self, child: SessionId, *, from_seq: int, distilled: int = 0) -> Session:
        """The session that follows this one on its lineage; its window begins at `from_seq`."""
        return msgspec.structs.replace(
            self, id=child, parent=self.id, from_seq=from_seq, distilled=distilled, ended=False
        )

    def branched(self, child: SessionId, lineage: LineageId, at: Place) -> Session:
        """The first session of a new path, which leaves this thread's tree at `at`."""
        return msgspec.structs.replace(
            self,
            id=child,
            parent=at.session,
            lineage=lineage,
            from_seq=at.from_seq,
            last_seq=at.seq,
            prior=at.prior,
            rolling=at.rolling,
            messages=at.messages,
            fork=at.lineage,
            fork_seq=at.seq,
            distilled=0,
            ended=False,
        )

    def bound(self, key: SessionKey, scope: ScopeId) -> Session:
        """The same session, now belonging to a session key."""
        return msgspec.structs.replace(self, session_key=key, scope=scope)


def begin(
    id: SessionId,  # noqa: A002
    *,
    thread: ThreadId,
    lineage: LineageId,
    scope: ScopeId,
    session_key: SessionKey | None,
    named: bool,
    imported: Sequence[Exchange] = (),
) -> Session:
    """A thread's first session, before anything was said in it."""
    return Session(
        id=id,
        root=id,
        parent=None,
        thread=thread,
        lineage=lineage,
        scope=scope,
        session_key=session_key,
        from_seq=1 - len(imported),
        last_seq=0,
        prior=imported[-1].address if imported else None,
        rolling=imported[-1].rolling if imported else b"",
        named=named,
        messages=sum(len(exchange.messages) for exchange in imported),
    )


def fresh(
    id: SessionId,  # noqa: A002
    new: Callable[[], str],
    *,
    session_key: SessionKey | None,
    named: bool = True,
    imported: Sequence[Exchange] = (),
) -> Session:
    """A thread's first session; `new` names its thread, its lineage and its scope."""
    return begin(
        id,
        thread=ThreadId(new()),
        lineage=LineageId(new()),
        scope=ScopeId(new()),
        session_key=session_key,
        named=named,
        imported=imported,
    )
