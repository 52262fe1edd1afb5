"""Sessions, their messages and their trees as JSON; a turn of one, in Hermes Agent's words."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

import msgspec

from everthread.core.ids import SessionId, run_id
from everthread.core.transcript import Branch, Card, Entry
from everthread.core.turn import (
    Choice,
    ChoiceEnded,
    Envelope,
    Finished,
    ModelEvent,
    Opened,
    ReasoningDelta,
    RefusalDelta,
    Started,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from everthread.errors import Failure, Malformed
from everthread.wire import chat, hermes, json

NULL = msgspec.Raw(b"null")
LONGEST_TITLE = 256

# --- what is shown ---


def seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment is not None else None


def encode(card: Card) -> dict[str, object]:
    """One session. Times are seconds since 1970, twice where Hermes Agent has a name of its own for them."""
    shown: dict[str, object] = {
        "id": card.id,
        "title": card.title,
        "model": card.model,
        "source": card.source,
        "session_key": card.session_key,
        "created_at": seconds(card.created_at),
        "updated_at": seconds(card.updated_at),
        "started_at": seconds(card.created_at),
        "last_active": seconds(card.updated_at),
        "ended_at": seconds(card.ended_at),
        "end_reason": card.end_reason,
        "message_count": card.messages,
        "input_tokens": card.prompt_tokens,
        "output_tokens": card.completion_tokens,
        "cache_read_tokens": card.cached_tokens,
        "distilling_tokens": card.distilled_tokens,
        "parent_session_id": card.parent,
        "root_session_id": card.root,
        "tip_session_id": card.tip,
        "branch": card.branch,
    }
    if card.id != card.root:
        shown["_lineage_root_id"] = card.root
    return shown


def one(card: Card) -> bytes:
    return msgspec.json.encode({"object": "hermes.session", "session": encode(card)})


def many(cards: Iterable[Card], *, limit: int, offset: int, more: bool) -> bytes:
    data = [encode(card) for card in cards]
    return msgspec.json.encode({"object": "list", "data": data, "limit": limit, "offset": offset, "has_more": more})


def deleted(session_id: SessionId) -> bytes:
    return msgspec.json.encode({"object": "hermes.session.deleted", "id": session_id, "deleted": True})


class Kept(msgspec.Struct):
    """A stored message, its parts still as they came."""

    role: str
    content: msgspec.Raw = NULL
    name: str | None = None
    refusal: str | None = None
    tool_calls: msgspec.Raw = NULL
    tool_call_id: str | None = None


def encode_entry(entry: Entry, root: SessionId) -> dict[str, object]:
    """One message of a transcript; what was imported was said before its thread's first session."""
    kept = msgspec.json.decode(entry.message.raw, type=Kept)
    return {
        "id": entry.id,
        "session_id": entry.session or root,
        "role": kept.role,
        "content": kept.content if kept.refusal is None else kept.refusal,
        "name": kept.name,
        "tool_call_id": kept.tool_call_id,
        "tool_calls": kept.tool_calls,
        "tool_name": kept.name if kept.role in {"tool", "function"} else None,
        "timestamp": seconds(entry.said_at),
        "token_count": entry.tokens,
        "finish_reason": entry.finish,
        "reasoning": entry.reasoning,
        "model": entry.model,
        "source": entry.source,
        "run_id": f"run_{entry.turn}" if entry.turn else None,
    }


def messages(tip: SessionId, root: SessionId, entries: Iterable[Entry], *, more: bool) -> bytes:
    data = [encode_entry(entry, root) for entry in entries]
    return msgspec.json.encode({"object": "list", "session_id": tip, "data": data, "has_more": more})


def lines(root: SessionId, entries: Iterable[Entry]) -> bytes:
    """Messages as they are exported: one to a line."""
    return b"".join(
        msgspec.json.encode({"object": "hermes.message", **encode_entry(entry, root)}) + b"\n" for entry in entries
    )


def tree(tip: SessionId, root: SessionId, branches: Iterable[Branch]) -> bytes:
    return msgspec.json.encode(
        {
            "object": "hermes.session.lineage",
            "session_id": tip,
            "root_session_id": root,
            "branches": [
                {
                    "id": branch.lineage,
                    "forked_from": branch.fork,
                    "shared_messages": branch.fork_messages,
                    "head": branch.head,
                    "sessions": [encode(card) for card in branch.sessions],
                }
                for branch in branches
            ],
        }
    )


# --- what is asked for ---

Title = Annotated[str, msgspec.Meta(max_length=LONGEST_TITLE)]


class Creation(msgspec.Struct):
    """Fields that a client of Hermes Agent may send besides (model, system_prompt, metadata) are left out."""

    id: str | None = None
    session_id: str | None = None
    title: Title | None = None
    session_key: str | None = None


class Change(msgspec.Struct):
    title: Title | msgspec.UnsetType | None = msgspec.UNSET
    end: bool | None = None
    end_reason: Annotated[str, msgspec.Meta(max_length=64)] | None = None

    @property
    def new_title(self) -> str | None:
        """None: as it is; "": none any more."""
        return None if self.title is msgspec.UNSET else (self.title or "")

    @property
    def why_ended(self) -> str | None:
        """None: it is not over."""
        return self.end_reason or ("user_exit" if self.end else None)


class Forking(msgspec.Struct):
    id: str | None = None
    session_id: str | None = None
    title: Title | None = None
    at: str | None = None


CREATION = msgspec.json.Decoder(Creation)
CHANGE = msgspec.json.Decoder(Change)
FORKING = msgspec.json.Decoder(Forking)


def decode_creation(body: bytes) -> Creation:
    return json.value(checked(body), CREATION, "body")


def decode_change(body: bytes) -> Change:
    change = json.value(checked(body), CHANGE, "body")
    if change.new_title is None and change.why_ended is None:
        raise Malformed("There is nothing to change: send title, or end with true, or end_reason.", param="title")
    if change.why_ended == "compression":
        raise Malformed('end_reason "compression" is the server\'s own.', param="end_reason")
    return change


def decode_forking(body: bytes) -> Forking:
    return json.value(checked(body), FORKING, "body")


def checked(body: bytes) -> bytes:
    """A JSON object at the door; none at all is an empty one."""
    if not body.strip():
        return b"{}"
    json.fields(body)
    return body


# --- a turn ---


class Asked(chat.Asked, frozen=True):
    """A turn whose client speaks as Hermes Agent's clients do."""

    def whole(self, finished: Finished) -> bytes:
        first = finished.step.outcome.choices[0]
        return msgspec.json.encode(
            {
                "object": "hermes.session.chat.completion",
                "session_id": finished.session.id,
                "message": spoken(first),
                "finish_reason": first.finish,
                "model": self.turn.model or finished.step.outcome.model,
                "usage": usage(finished.step.outcome.usage),
                "hermes": hermes.encode(finished),
            }
        )

    def telling(self, started: Started) -> chat.Telling:
        return Events(started, self)

    def failed(self, error: bytes) -> bytes:
        body = msgspec.json.decode(error)["error"]
        return sse("error", {"message": body["message"], "error": body}) + sse("done", {})


def decode_turn(body: bytes, envelope: Envelope, *, stream: bool) -> Asked:
    """The turn that a body asks for: `message` or `input`, and whatever a chat completion may have besides."""
    fields = json.fields(body)
    name = "message" if fields.get("message", NULL) != NULL else "input"
    given = fields.pop(name, NULL)
    for other in ("message", "input", "messages", "stream"):
        fields.pop(other, None)
    if given == NULL:
        raise Malformed("message is required: what to say, as text, content parts or messages.", param="message")
    instructions = [fields.pop(field, NULL) for field in ("system_message", "instructions")]
    said = [message("system", text) for text in instructions[:1] if text != NULL] or [
        message("system", text) for text in instructions[1:] if text != NULL
    ]
    translated = {**fields, "messages": [*said, *spoken_by_client(given, name)], "stream": stream}
    asked = chat.decode(msgspec.json.encode(translated), envelope)
    return Asked(asked.turn, asked.stream, asked.include_usage, asked.choices)


def message(role: str, content: msgspec.Raw) -> dict[str, object]:
    return {"role": role, "content": content}


def spoken_by_client(given: msgspec.Raw, name: str) -> list[object]:
    """Text, content parts, one message or several, as messages."""
    value: Any = json.value(given, json.ANYTHING, name)
    if value in ("", [], {}):
        raise Malformed(f"{name} is empty; there is nothing to say.", param=name)
    if isinstance(value, list) and all(isinstance(item, dict) and "role" in item for item in value):
        return list(value)
    if isinstance(value, dict) and "role" in value:
        return [value]
    if not isinstance(value, str | list):
        raise Malformed(f"{name} must be text, content parts or messages.", param=name)
    return [message("user", given)]


def spoken(choice: Choice) -> dict[str, object]:
    body: dict[str, object] = {"role": "assistant", "content": choice.content or choice.refusal or ""}
    if choice.reasoning:
        body["reasoning"] = choice.reasoning
    if choice.tool_calls:
        body["tool_calls"] = [call.body() for call in choice.tool_calls]
    return body


def usage(used: Usage) -> dict[str, int]:
    return {
        "input_tokens": used.prompt,
        "output_tokens": used.completion,
        "total_tokens": used.prompt + used.completion,
        "cache_read_tokens": used.cached,
    }


def sse(event: str, data: dict[str, object]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event.encode(), msgspec.json.encode(data))


class Events:
    """A turn's events under the names that Hermes Agent's clients listen for; `done` is always the last."""

    def __init__(self, started: Started, asked: Asked) -> None:
        self._asked = asked
        self._message_id = f"msg_{started.step}"
        self._always: dict[str, object] = {
            "session_id": started.session.id,
            "run_id": run_id(started.step),
            "ts": started.at.timestamp(),
        }
        self._seq = 0

    def event(self, event: ModelEvent) -> bytes:
        match event:
            case TextDelta(text=text, choice=0) | RefusalDelta(text=text, choice=0):
                return self._sse("assistant.delta", {"message_id": self._message_id, "delta": text})
            case ReasoningDelta(text=text, choice=0):
                told = {"message_id": self._message_id, "tool_name": "_thinking", "delta": text}
                return self._sse("tool.progress", told)
            case Opened():
                said = self._asked.turn.messages[-1]
                begun = self._sse("run.started", {"user_message": {"role": said.role, "content": said.text}})
                return begun + self._sse("message.started", {"message": {"id": self._message_id, "role": "assistant"}})
            case TextDelta() | RefusalDelta() | ReasoningDelta() | ToolCallDelta() | ChoiceEnded() | Usage():
                return b""

    def last(self, finished: Finished) -> list[bytes]:
        first = finished.step.outcome.choices[0]
        self._always["session_id"] = finished.session.id
        whole = spoken(first)
        completed = {
            "message_id": self._message_id,
            "content": whole["content"],
            "completed": True,
            "partial": False,
            "interrupted": False,
        }
        ran = {
            "message_id": self._message_id,
            "completed": True,
            "messages": [whole],
            "finish_reason": first.finish,
            "usage": usage(finished.step.outcome.usage),
            "hermes": hermes.encode(finished),
        }
        return [self._sse("assistant.completed", completed), self._sse("run.completed", ran), self._sse("done", {})]

    def failed(self, failure: Failure, error: bytes) -> list[bytes]:
        return [self._asked.failed(error)]

    def _sse(self, event: str, data: dict[str, Any]) -> bytes:
        self._seq += 1
        return sse(event, {**self._always, "seq": self._seq, **data})
