"""Whole conversations by authors who each wrote a generator of their own: what is said, and what is true of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from everthread.evals.conversation import Conversation, Question, Said

AFTER = timedelta(days=2)  # the last turn, questions are asked


@dataclass(frozen=True)
class Line:
    """What a person said. It may tell of a thing; then the value that it has from there on."""

    speaker: str
    text: str
    thing: str = ""
    value: str = ""


@dataclass(frozen=True)
class Story:
    said: tuple[Line, ...]
    conversation: Conversation


def known(data: Path) -> Mapping[str, tuple[Story, ...]]:
    """By their authors ("stories/a"), as they are now: some may be added while others are learned."""
    return {f"stories/{path.stem}": read(path) for path in sorted((data / "stories").glob("*.jsonl"))}


@cache
def read(path: Path) -> tuple[Story, ...]:
    """A line of the file is a conversation."""
    with path.open() as lines:
        return tuple(story(json.loads(line)) for line in lines)


def line(turn: Mapping[str, Any]) -> Line:
    """Upper and lower case do not make another value."""
    thing, value = turn.get("tells", ("", ""))
    return Line(turn["speaker"], turn["text"], thing, value.casefold())


def story(given: Mapping[str, Any]) -> Story:
    lines = [line(turn) for turn in given["turns"][::2]]
    turns = [
        Said(datetime.fromisoformat(turn["at"]), turn["speaker"], turn["role"], turn["text"]) for turn in given["turns"]
    ]
    questions = [
        Question(
            text=asked["text"],
            at=turns[-1].at + AFTER,
            subject=f"{asked['subject']} ({asked['thing']})",
            current=asked["current"],
            current_turn=asked["current_turn"],
            stale=tuple((value, turn) for value, turn in asked["stale"]),
            cause=asked.get("cause"),
            cause_turn=asked.get("cause_turn"),
            asked_by=asked["asked_by"],
        )
        for asked in given["questions"]
    ]
    return Story(tuple(lines), Conversation(given["name"], 0, tuple(turns), tuple(questions)))
