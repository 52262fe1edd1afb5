"""The server's own tools: a model that wants to know more than the tail shows can search, and open a turn."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from everthread.core.ids import SessionId
from everthread.core.memory import Told, View
from everthread.core.tool import Tool
from everthread.memory.rank import Question
from everthread.turns.recall import Recall

FOUND = 800  # tokens of one search's result
LONGEST_TURN = 3500  # characters of one opened turn


class MemorySearch:
    name = "memory_search"
    description = (
        "Search what was said earlier in this conversation, or under the same key, beyond what the prompt shows."
        " Returns dated quotes with their turn numbers. Use it when the answer depends on something said before."
    )
    parameters: Mapping[str, object] = {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What to look for, in a few words or a question."}},
        "required": ["query"],
        "additionalProperties": False,
    }

    def __init__(self, recall: Recall, view: View, at: datetime) -> None:
        self._recall = recall
        self._view = view
        self._at = at

    async def run(self, arguments: Mapping[str, object]) -> str:
        query = arguments.get("query")
        if not isinstance(query, str) or not query.strip():
            raise ValueError('query must be a text, as in {"query": "which database do we use?"}')
        found = await self._recall.block(self._view, Question(text=query.strip(), at=self._at), room=FOUND)
        return found.text or "Nothing was found."


class OpenTurn:
    name = "open_turn"
    description = (
        "Read one earlier turn of this conversation word for word, by the number that quotes and the log name it with."
    )
    parameters: Mapping[str, object] = {
        "type": "object",
        "properties": {
            "turn": {"type": "integer", "description": "The turn's number."},
            "session": {"type": "string", "description": "The session's id, only if the quote names another session."},
        },
        "required": ["turn"],
        "additionalProperties": False,
    }

    def __init__(self, recall: Recall, view: View) -> None:
        self._recall = recall
        self._view = view

    async def run(self, arguments: Mapping[str, object]) -> str:
        turn, session = arguments.get("turn"), arguments.get("session")
        if not isinstance(turn, int) or isinstance(turn, bool) or not isinstance(session, str | None):
            raise ValueError('turn must be a number, as in {"turn": 97}')
        told = await self._recall.opened(self._view, turn, SessionId(session) if session else None)
        return written(told) if told is not None else f"There is no turn {turn}."


def written(told: Told) -> str:
    said = "\n".join(f"{message.name or message.role}: {message.text}" for message in told.messages if message.text)
    if len(said) > LONGEST_TURN:
        said = f"{said[:LONGEST_TURN]}\n[... {len(said) - LONGEST_TURN} characters more]"
    return f"turn {told.seq}, {told.said_at:%Y-%m-%d %H:%M} UTC\n{said}"


def tools(recall: Recall, view: View, at: datetime) -> tuple[Tool, ...]:
    return (MemorySearch(recall, view, at), OpenTurn(recall, view))
