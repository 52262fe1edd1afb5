"""Who may speak in a session."""

from __future__ import annotations

from everthread.core.session import Session
from everthread.core.turn import Envelope
from everthread.errors import Malformed, NotFound, SessionKeyMismatch


def permit(envelope: Envelope, session: Session | None) -> None:
    """The session's key and the API key's prefix must allow this turn."""
    asked, prefix = envelope.session_key, envelope.key_prefix
    owned = session.session_key if session else None
    if prefix is not None:
        if session is not None and not (owned or "").startswith(prefix):
            raise NotFound("There is no such session.")
        if session is None and asked is None:
            raise Malformed(
                f"This API key is bound to session keys that begin with {prefix!r}: send X-Hermes-Session-Key.",
                param="X-Hermes-Session-Key",
            )
    if owned is not None and asked is not None and asked != owned:
        raise SessionKeyMismatch
