"""What a webhook is told: {"type", "timestamp", "data"}, as Standard Webhooks recommends."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from everthread.core.ids import response_id
from everthread.core.turn import Step
from everthread.core.view import Run
from everthread.wire import jobs, runs


def body(kind: str, run: Run, step: Step | None, at: datetime) -> bytes:
    """What became of a run."""
    if run.kind == "job":
        data: dict[str, Any] = jobs.encode_run(run, step)
    else:
        data = msgspec.json.decode(runs.encode(run, step, run.session))
        if run.kind == "response":
            data["id"] = response_id(run.id)
    return msgspec.json.encode({"type": kind, "timestamp": jobs.stamp(at), "data": data})
