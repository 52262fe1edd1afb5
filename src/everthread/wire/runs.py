"""Runs as JSON: what starts one, how it stands, what is heard of it."""

from __future__ import annotations

from typing import Any

import msgspec

from everthread.core.ids import SessionId, printable, response_id, run_id
from everthread.core.turn import (
    ChoiceEnded,
    Envelope,
    Finished,
    ModelEvent,
    Opened,
    ReasoningDelta,
    RefusalDelta,
    Started,
    Step,
    TextDelta,
    ToolCallDelta,
    Turn,
    Usage,
)
from everthread.core.view import Hook, Run
from everthread.errors import Failure, Malformed, RunFailed
from everthread.wire import hermes, hooks, json, metadata, sessions

NULL = msgspec.Raw(b"null")
NAME = msgspec.json.Decoder(str | None)

# --- what is asked for ---


class Asked(msgspec.Struct, frozen=True):
    turn: Turn
    metadata: dict[str, str]
    hook: Hook | None  # its secret is "" when it was left to us


def decode(body: bytes, envelope: Envelope) -> Asked:
    """The turn to be run: `input`, `instructions`, `model`, and whatever a chat completion may have besides."""
    fields = json.fields(body)
    named = json.value(fields.pop("session_id", NULL), NAME, "session_id")
    labels = metadata.decode(fields.pop("metadata", NULL))
    hook = hooks.decode(fields.pop("webhook", NULL), "webhook")
    if fields.get("input", NULL) == NULL and fields.get("message", NULL) == NULL:
        raise Malformed("input is required: what to say, as text or messages.", param="input")
    if named:
        named = printable(named.strip(" "), what="session_id")
        if envelope.session_id is not None and named != envelope.session_id:
            raise Malformed("session_id is not the one in X-Hermes-Session-Id.", param="session_id")
        envelope = msgspec.structs.replace(envelope, session_id=SessionId(named))
    asked = sessions.decode_turn(msgspec.json.encode(fields), envelope, stream=True)
    return Asked(msgspec.structs.replace(asked.turn, source="run"), labels, hook)


# --- what is shown ---


def started(run: Run, events_url: str) -> bytes:
    return msgspec.json.encode(
        {
            "object": "hermes.run",
            "run_id": run_id(run.id),
            "status": "started",
            "session_id": run.session,
            "events_url": events_url,
        }
    )


def encode(run: Run, step: Step | None, session: SessionId) -> bytes:
    """How a run stands; its answer, once there is one."""
    shown: dict[str, Any] = {
        "object": "hermes.run",
        "run_id": run_id(run.id),
        "status": run.status,
        "created_at": run.created_at.timestamp(),
        "updated_at": run.updated_at.timestamp(),
        "session_id": session,
        "model": run.model,
        "last_event": last_event(run),
        "output": None,
        "usage": None,
        "error": {"code": run.fault.code, "message": run.fault.message} if run.fault else None,
        "metadata": dict(run.metadata),
        "response_id": response_id(run.id) if run.kind == "response" else None,
    }
    if step is not None:
        first = step.outcome.choices[0]
        shown["model"] = run.model or step.outcome.model
        shown["output"] = first.content if first.content is not None else first.refusal
        shown["usage"] = sessions.usage(step.outcome.usage)
        if first.tool_calls:
            shown["tool_calls"] = [call.body() for call in first.tool_calls]
    return msgspec.json.encode(shown)


def last_event(run: Run) -> str | None:
    match run.status:
        case "completed":
            return "run.completed"
        case "cancelled":
            return "run.cancelled"
        case "failed" | "interrupted":
            return "run.failed"
        case "missed" | "skipped":
            return None
        case "running" | "stopping":
            return "message.delta" if run.told else "run.started"
        case "queued":
            return None


# --- what is heard ---


class Listening(msgspec.Struct, frozen=True):
    """A reader of a run's events; `after`: the number of the last one that it has."""

    after: int = 0
    to: Envelope | None = None

    def telling(self, started: Started) -> Telling:
        return Telling(started, self.after)

    def failed(self, error: bytes) -> bytes:
        return b'data: {"event":"run.failed",%s\n\n' % error[1:]


class Telling:
    """A run's events, numbered from 1 on; the same run is told in the same way to everyone."""

    def __init__(self, started: Started, after: int) -> None:
        self._after = after
        self._number = 0
        self._always: dict[str, object] = {
            "run_id": run_id(started.step),
            "session_id": started.session.id,
            "timestamp": started.at.timestamp(),
        }
        self._begun = False

    def event(self, event: ModelEvent) -> bytes:
        match event:
            case TextDelta(text=text, choice=0) | RefusalDelta(text=text, choice=0):
                return self._begin() + self._sse("message.delta", {"delta": text})
            case ReasoningDelta(text=text, choice=0):
                return self._begin() + self._sse("reasoning.delta", {"delta": text})
            case Opened():
                return self._begin()
            case TextDelta() | RefusalDelta() | ReasoningDelta() | ToolCallDelta() | ChoiceEnded() | Usage():
                return b""

    def last(self, finished: Finished) -> list[bytes]:
        first = finished.step.outcome.choices[0]
        told = [self._begin()]
        if finished.rotated:
            told.append(self._sse("session.rotated", {"session_id": finished.session.id, "from": finished.asked}))
        ran: dict[str, object] = {
            "session_id": finished.session.id,
            "output": first.content if first.content is not None else first.refusal,
            "usage": sessions.usage(finished.step.outcome.usage),
            "finish_reason": first.finish,
            "hermes": hermes.encode(finished),
        }
        if first.tool_calls:
            ran["tool_calls"] = [call.body() for call in first.tool_calls]
        told.append(self._sse("run.completed", ran))
        return [each for each in told if each]

    def failed(self, failure: Failure, error: bytes) -> list[bytes]:
        begun = self._begin()
        if isinstance(failure, RunFailed):
            cancelled = failure.status == "cancelled"
            why = {"status": failure.status, "error": {"code": failure.why, "message": failure.message}}
            told = self._sse("run.cancelled" if cancelled else "run.failed", why)
        else:
            told = self._sse("run.failed", {"status": "failed", **msgspec.json.decode(error)})
        return [each for each in (begun, told) if each]

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        return self._sse("run.started", {})

    def _sse(self, event: str, data: dict[str, Any]) -> bytes:
        self._number += 1
        if self._number <= self._after:
            return b""
        body = msgspec.json.encode({"event": event, **self._always, **data})
        return b"id: %d\ndata: %s\n\n" % (self._number, body)
