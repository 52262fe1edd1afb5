"""The names of things, and what a valid one looks like."""

from __future__ import annotations

from typing import NewType

from everthread.errors import Malformed

Tenant = NewType("Tenant", str)  # who owns data; nothing crosses tenants
KeyId = NewType("KeyId", str)  # the public part of an API key
SessionId = NewType("SessionId", str)  # names a transcript
SessionKey = NewType("SessionKey", str)  # names a memory scope
ScopeId = NewType("ScopeId", str)  # a scope's own name: keyed or not
ThreadId = NewType("ThreadId", str)
LineageId = NewType("LineageId", str)
StepId = NewType("StepId", str)  # bare; runs and completions are the same step under their own prefix

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


def run_id(step: StepId) -> str:
    return f"run_{step}"


def completion_id(step: StepId) -> str:
    return f"chatcmpl-{step}"
