"""Stored chat completions as JSON: a step, shown as the reply that it was."""

from __future__ import annotations

from typing import Any

import msgspec

from everthread.core.ids import StepId, completion_id
from everthread.core.messages import Message
from everthread.core.turn import Step
from everthread.core.view import View
from everthread.wire import chat, json


def encode(view: View, step: Step) -> dict[str, Any]:
    """The reply, what it was asked with, and its labels."""
    asked = json.FIELDS.decode(view.keep.request)
    return {
        "id": completion_id(step.id),
        "object": "chat.completion",
        "created": int(step.stored_at.timestamp()),
        "model": step.outcome.model,
        "choices": [chat.encode_choice(number, choice) for number, choice in enumerate(step.outcome.choices)],
        "usage": chat.encode_usage(step.outcome.usage),
        "system_fingerprint": step.outcome.fingerprint,
        "service_tier": None,
        "tools": None,
        "tool_choice": None,
        "response_format": None,
        **asked,
        "metadata": dict(view.keep.metadata),
    }


def one(view: View, step: Step) -> bytes:
    return msgspec.json.encode(encode(view, step))


def message(step: StepId, number: int | None, said: Message) -> dict[str, Any]:
    """One of the messages that a completion was asked with."""
    body: dict[str, Any] = msgspec.json.decode(said.raw)
    parts = body.get("content") if isinstance(body.get("content"), list) else None
    return {
        **body,
        "id": f"{completion_id(step)}-{number}",
        "content": said.text if parts is not None else body.get("content"),
        "content_parts": parts,
    }


def deleted(step: StepId) -> bytes:
    return msgspec.json.encode({"object": "chat.completion.deleted", "id": completion_id(step), "deleted": True})
