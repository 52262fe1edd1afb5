"""A claim: a statement drawn from a step, with its quote, its time and its links."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NewType

import msgspec

from everthread.core.ids import SessionId, StepId

ClaimId = NewType("ClaimId", str)

Kind = Literal["fact", "preference", "instruction", "decision", "cause", "event"]
Author = Literal["rule", "model", "person"]
State = Literal["current", "reversed", "unresolved", "retracted"]
Voice = Literal["user", "assistant"]
Turning = Literal["none", "soft", "hard"]


def claim_id(claim: ClaimId) -> str:
    """As clients know it."""
    return f"clm_{claim}"


class Interval(msgspec.Struct, frozen=True):
    """When something was so, or happened: a whole day, month, year or moment; UTC."""

    since: datetime
    until: datetime  # exclusive


class Span(msgspec.Struct, frozen=True):
    """Where a quote stands: characters of one message of a step."""

    message: int  # which of the step's messages, its input first
    start: int
    end: int


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A statement as it was noticed, before it is held against what is known."""

    kind: Kind
    quote: str  # literally what stands at `span`
    span: Span
    speaker: str  # who said it: a person's name in a group, else the role
    voice: Voice = "user"  # a person's own words, or the model's
    subject: str | None = (
        None  # what it is about, as it was said ("my daughter", "we", "the deadline"), if that is clear
    )
    attribute: str | None = None  # what is said about it: a verb and its preposition ("use", "live in", "is")
    value: str | None = None
    negated: bool = False
    when: Interval | None = None  # the time it speaks of ("last Friday"), if it says one
    valid_from: datetime | None = None  # None: nobody said since when
    valid_to: datetime | None = None  # None: still so
    because: str | None = None  # the quoted cause, if it was said with it
    refers: bool = (
        False  # its cause ("that's why ..."), or what it is the cause of ("it was because ..."), was said before
    )
    turning: Turning = "none"  # soft: "now", "actually"; hard: it says itself that something is over
    replaces: str | None = None  # what it says was so before ("switched from X"), literally
    corrects: bool = False  # it says only what is otherwise than was just said: "make that Friday"
    confidence: float = 1.0


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    id: ClaimId
    kind: Kind
    quote: str  # literally what stands at `span`
    step: StepId | None  # None: a person added it by hand
    seq: int  # the step's number, as the prompt names it
    span: Span
    speaker: str
    said_at: datetime
    recorded_at: datetime
    voice: Voice = "user"
    subject: str | None = None
    attribute: str | None = None
    value: str | None = None
    negated: bool = False
    when: Interval | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    closed_at: datetime | None = None  # when it was recorded that it is reversed, unresolved or retracted
    because: str | None = None
    cause: ClaimId | None = None  # the claim that is its cause
    supersedes: ClaimId | None = None  # the nearest of those it replaces, or is in conflict with while unresolved
    superseded_by: ClaimId | None = None
    state: State = "current"
    author: Author = "rule"
    confidence: float = 1.0
    pinned: bool = False
    session: SessionId | None = None  # the id of the thread it was said in; told by the store


class Block(msgspec.Struct, frozen=True):
    """Part of a prompt that was made from memory: its words, and what stands in it."""

    text: str = ""
    tokens: int = 0
    claims: tuple[ClaimId, ...] = ()
    steps: tuple[StepId, ...] = ()
