"""Sessions and what they belong to: thread, lineage, scope.

A client's session id names a thread: a tree of steps. A lineage is one path of that tree. A session is one epoch
of a lineage; the lineage's tip is the one that is live. Every id of a lineage resolves to its tip.
"""

from __future__ import annotations

import msgspec

from everthread.core.ids import LineageId, ScopeId, SessionId, SessionKey, ThreadId


class Session(msgspec.Struct, frozen=True):
    """The tip that an id resolved to, with the coordinates a turn needs."""

    id: SessionId
    root: SessionId  # the id the thread is known by
    parent: SessionId | None
    thread: ThreadId
    lineage: LineageId
    scope: ScopeId
    session_key: SessionKey | None
    from_seq: int  # the first step of this epoch's window
    last_seq: int  # the newest step of the lineage; 0 when there is none
    prior: bytes | None = None  # address of the last imported exchange, if history was brought along
    rolling: bytes = b""  # hash over all that was said on this path
    named: bool = True  # whether a client ever asked for it by name

    def advanced(self, rolling: bytes) -> Session:
        """The same session after one more step."""
        return msgspec.structs.replace(self, last_seq=self.last_seq + 1, rolling=rolling)

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
    prior: bytes | None = None,
    rolling: bytes = b"",
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
        from_seq=1,
        last_seq=0,
        prior=prior,
        rolling=rolling,
        named=named,
    )
