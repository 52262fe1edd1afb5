"""The names of things, and what a valid one looks like."""

from __future__ import annotations

from datetime import datetime
from typing import NewType

from everthread.errors import Malformed

Tenant = NewType("Tenant", str)  # who owns data; nothing crosses tenants
KeyId = NewType("KeyId", str)  # the public part of an API key
NO_KEY = KeyId("")  # of what no key asked for
SessionId = NewType("SessionId", str)  # names a transcript
SessionKey = NewType("SessionKey", str)  # names a memory scope
ScopeId = NewType("ScopeId", str)  # a scope's own name: keyed or not
ThreadId = NewType("ThreadId", str)
LineageId = NewType("LineageId", str)
StepId = NewType("StepId", str)  # bare; runs and completions are the same step under their own prefix

CURRENT = SessionId("@current")  # stands for a session key's current session
DEFAULT_TENANT = Tenant("default")
LONGEST_NAME = 256


def printable(text: str, *, what: str, longest: int = LONGEST_NAME) -> str:
    """The text, if it is 1 to `longest` printable ASCII characters; else Malformed."""
    if len(text) > longest:
        raise Malformed(f"{what} is {len(text)} characters long; the limit is {longest}.", param=what)
    if not text.isascii() or not text.isprintable():
        raise Malformed(f"{what} may only contain printable ASCII characters.", param=what)
    return text


def tenant(text: str) -> Tenant:
    """A tenant's name: letters, digits and a few separators, so that it is safe in logs and file names."""
    if not text or len(text) > 64 or not all(c.isascii() and (c.isalnum() or c in "-_.") for c in text):
        raise Malformed("A tenant's name is 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.'.", param="tenant")
    return Tenant(text)


def child_id(root: SessionId, at: datetime, chance: str) -> SessionId:
    """The id of a thread's later session: says whose it is, sorts by time."""
    return SessionId(f"{root[:220]}~{at:%Y%m%d_%H%M%S}_{chance[-6:]}")


def is_ephemeral(session_id: SessionId | None) -> bool:
    """Open WebUI's temporary chats: they live in the browser, and nothing of them is kept."""
    return session_id is not None and session_id.startswith(("temporary:", "local:"))


def run_id(step: StepId) -> str:
    return f"run_{step}"


def completion_id(step: StepId) -> str:
    return f"chatcmpl-{step}"


def response_id(step: StepId) -> str:
    return f"resp_{step}"


def step_of(name: str, prefix: str) -> StepId | None:
    """The step that an id of this kind names; None when it does not look like one."""
    bare = name.removeprefix(prefix)
    well_formed = bare != name and len(bare) <= LONGEST_NAME and bare.isascii() and bare.isalnum()
    return StepId(bare) if well_formed else None
