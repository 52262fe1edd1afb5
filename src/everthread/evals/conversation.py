"""The values an evaluation conversation is made of.

A turn number is the index into ``Conversation.turns``, counted from 0, user and assistant turns alike.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Role = Literal["user", "assistant"]
FAMILIES = ("independent", "former", "working", "held-out")  # whose wording


@dataclass(frozen=True, slots=True)
class Said:
    """One turn."""

    at: datetime
    speaker: str
    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """Asks for the value that holds after the last turn, without naming it.

    ``current`` occurs verbatim in turn ``current_turn``; every value in ``stale`` verbatim in its turn, ``cause``
    verbatim in ``cause_turn``. When a fact returns to an earlier value, that value is both stale (in its old turn) and
    current. A change statement may name the value it ends, so what is shown as current is judged by its turn.
    """

    text: str
    at: datetime
    subject: str
    current: str
    current_turn: int
    stale: tuple[tuple[str, int], ...]
    cause: str | None
    cause_turn: int | None
    asked_by: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in order, user and assistant alternating, and the questions asked after the last of them."""

    id: str
    seed: int
    turns: tuple[Said, ...]
    questions: tuple[Question, ...]
