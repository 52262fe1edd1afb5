"""A Response object, whole: as it is answered, shown again, listed, deleted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from everthread.core.ids import StepId, response_id
from everthread.core.turn import Finished, Usage
from everthread.core.view import Fault, View
from everthread.wire import hermes
from everthread.wire.responses import options, shown
from everthread.wire.responses.fields import in_these_names
from everthread.wire.responses.shown import Shown, Status

ResponseStatus = Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]

# Finish reasons that leave an answer incomplete, and why that is.
INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}

# The codes that a Response may fail with are few.
RATE_LIMITED = {"upstream_rate_limited", "overloaded", "rate_limit_exceeded"}
BAD_PROMPT = {"context_length_exceeded", "upstream_rejected", "invalid_value", "invalid_prompt"}


# --- the object ---


def pending(view: View, status: ResponseStatus, *, model: str = "") -> Shown:
    """One that is not answered yet, or never will be; `model` is shown when the request named none."""
    return response(view, status, model=model)


def answered(view: View, finished: Finished, output: Sequence[Shown]) -> Shown:
    """One that is answered, with the items that its events led to."""
    step = finished.step
    finish = step.outcome.choices[0].finish
    body = response(
        view,
        "incomplete" if finish in INCOMPLETE else "completed",
        model=step.outcome.model,
        output=output,
        usage=encode_usage(step.outcome.usage),
        incomplete=INCOMPLETE.get(finish),
        completed_at=step.stored_at + timedelta(seconds=step.took),
    )
    return {**body, "hermes": hermes.encode(finished)}


def failed(
    view: View,
    fault: Fault,
    *,
    status: Literal["failed", "cancelled"] = "failed",
    output: Sequence[Shown] = (),
    model: str = "",
) -> Shown:
    """One that came to nothing, with what was said until then."""
    return response(view, status, model=model, output=output, fault=fault)


def response(
    view: View,
    status: ResponseStatus,
    *,
    model: str = "",
    output: Sequence[Shown] = (),
    usage: Shown | None = None,
    incomplete: str | None = None,
    fault: Fault | None = None,
    completed_at: datetime | None = None,
) -> Shown:
    """The object with every field of the specification."""
    keep = view.keep
    return {
        "id": response_id(view.id),
        "object": "response",
        "created_at": int(view.created_at.timestamp()),
        "status": status,
        "completed_at": int(completed_at.timestamp()) if completed_at and status == "completed" else None,
        "error": {"code": error_code(fault.code), "message": in_these_names(fault.message)} if fault else None,
        "incomplete_details": {"reason": incomplete} if incomplete else None,
        "model": model,
        "output": list(output),
        "usage": usage,
        "previous_response_id": response_id(keep.previous) if keep.previous else None,
        "conversation": {"id": keep.conversation} if keep.conversation else None,
        "access_programs": None,
        "image": None,
        "moderation": None,
        "prompt_cache_diagnostics": None,
        "prompt_cache_options": None,
        "tool_usage": None,
        **options.shown_again(keep),
        "background": keep.background,
        "metadata": dict(keep.metadata),
    }


def error_code(code: str) -> str:
    """The nearest of the codes that a Response may fail with."""
    if code in RATE_LIMITED:
        return "rate_limit_exceeded"
    return "invalid_prompt" if code in BAD_PROMPT else "server_error"


def ending(finish: str) -> Status:
    """The status of the item that an answer ended with."""
    return "incomplete" if finish in INCOMPLETE else "completed"


def logprobs(raw: bytes | None) -> list[Shown]:
    """A chat completion's log probabilities as a Response has them."""
    found = msgspec.json.decode(raw) if raw else None
    tokens = found.get("content") if isinstance(found, dict) else None
    return [
        {**token(each), "top_logprobs": [token(top) for top in each.get("top_logprobs") or ()]} for each in tokens or ()
    ]


def token(each: dict[str, Any]) -> Shown:
    return {"token": each.get("token", ""), "logprob": each.get("logprob", 0.0), "bytes": each.get("bytes") or []}


def encode_usage(usage: Usage) -> Shown:
    """Token counts; the details as the model's server told them."""
    told = msgspec.json.decode(usage.raw) if usage.raw else {}
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {
            "cached_tokens": detail(told, "prompt_tokens_details", "cached_tokens") or usage.cached,
            "cache_write_tokens": detail(told, "prompt_tokens_details", "cache_write_tokens"),
        },
        "output_tokens": usage.completion,
        "output_tokens_details": {
            "reasoning_tokens": detail(told, "completion_tokens_details", "reasoning_tokens"),
        },
        "total_tokens": usage.prompt + usage.completion,
    }


def detail(told: dict[str, Any], group: str, name: str) -> int:
    details = told.get(group)
    count = details.get(name) if isinstance(details, dict) else None
    return count if isinstance(count, int) else 0


# --- its kin ---


def item_page(items: Sequence[Shown], *, more: bool) -> bytes:
    """One page of items."""
    return msgspec.json.encode(
        {
            "object": "list",
            "data": items,
            "first_id": items[0]["id"] if items else None,
            "last_id": items[-1]["id"] if items else None,
            "has_more": more,
        }
    )


def deleted(step: StepId) -> bytes:
    return msgspec.json.encode({"id": response_id(step), "object": "response", "deleted": True})


def input_tokens(count: int) -> bytes:
    return msgspec.json.encode({"object": "response.input_tokens", "input_tokens": count})


def compacted(step: StepId, text: str, *, users: Sequence[Shown], created_at: datetime, usage: Usage) -> bytes:
    """What /compact answers: the user's messages, and the one item that stands for them and all else that was said."""
    return msgspec.json.encode(
        {
            "id": response_id(step),
            "object": "response.compaction",
            "created_at": int(created_at.timestamp()),
            "output": [*users, shown.compaction(step, text)],
            "usage": encode_usage(usage),
        }
    )
