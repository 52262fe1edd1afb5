"""The ids of items: made of the step they belong to, so that each can be found again.

    msg_{step}_{n}      message n of a step's input        msg_{step}_o       the answer's words
    fc_{step}_{n}_{k}   a call that message n makes        fc_{step}_o_{k}    a call that the answer makes
    rs_{step}_i{n}      a thought, message n               rs_{step}          the answer's reasoning
    fco_{step}_{n}      a tool's result, message n         cmp_{step}         a compaction

`k` is a short hash of the call's own id. When an answer's words or thoughts come in several pieces, the later ones
are `msg_{step}_o2` and `rs_{step}_2` and so on; each of them names the whole.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Literal

import msgspec

from everthread.core.ids import LONGEST_NAME, StepId

ItemKind = Literal["message", "call", "result", "reasoning", "compaction"]

PATTERNS: tuple[tuple[ItemKind, re.Pattern[str]], ...] = (
    ("message", re.compile(r"msg_([A-Za-z0-9]+)_(?:(\d{1,9})|o\d{0,9})()", re.ASCII)),
    ("call", re.compile(r"(?:fc|ctc)_([A-Za-z0-9]+)_(?:(\d{1,9})|o)_([0-9a-f]{12})", re.ASCII)),
    ("result", re.compile(r"fco_([A-Za-z0-9]+)_(\d{1,9})()", re.ASCII)),
    ("reasoning", re.compile(r"rs_([A-Za-z0-9]+)(?:_i(\d{1,9})|_\d{1,9})?()", re.ASCII)),
    ("compaction", re.compile(r"cmp_([A-Za-z0-9]+)()()", re.ASCII)),
)


class ItemName(msgspec.Struct, frozen=True):
    """What an item's id says: which step, which of its messages, which of that message's calls."""

    kind: ItemKind
    step: StepId
    number: int | None = None  # of the input's messages; None: the answer
    call: str | None = None  # the hash of a call's id


def parse_item_id(text: str) -> ItemName | None:
    """The item that an id names; None when it does not look like one of ours."""
    if len(text) > LONGEST_NAME + 32:
        return None
    for kind, pattern in PATTERNS:
        if found := pattern.fullmatch(text):
            step, number, call = found.groups()
            return ItemName(kind, StepId(step), int(number) if number else None, call or None)
    return None


def message_id(step: StepId, number: int | None, piece: int = 1) -> str:
    return f"msg_{step}_{place(number)}{piece if piece > 1 else ''}"


def call_item_id(step: StepId, number: int | None, call: str, *, custom: bool = False) -> str:
    return f"{'ctc' if custom else 'fc'}_{step}_{place(number)}_{call_hash(call)}"


def result_id(step: StepId, number: int) -> str:
    return f"fco_{step}_{number}"


def reasoning_id(step: StepId, piece: int = 1) -> str:
    return f"rs_{step}{f'_{piece}' if piece > 1 else ''}"


def thought_id(step: StepId, number: int) -> str:
    return f"rs_{step}_i{number}"


def compaction_id(step: StepId) -> str:
    return f"cmp_{step}"


def call_hash(call: str) -> str:
    return blake2b(call.encode(), digest_size=6).hexdigest()


def place(number: int | None) -> str:
    return "o" if number is None else str(number)
