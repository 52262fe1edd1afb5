"""Jobs, as /api/jobs has them."""

from __future__ import annotations

from typing import Literal, get_args

from everthread.core.view import RunStatus
from everthread.http.schemas.common import (
    COUNT,
    FLAG,
    LABELS,
    MOMENT,
    NULLABLE_TEXT,
    NUMBER,
    OBJECT,
    TEXT,
    Schema,
    Schemas,
    const,
    many,
    nullable,
    read,
    ref,
    whole,
)
from everthread.wire.hooks import HookIn
from everthread.wire.jobs import TYPES

SETTINGS, PARTS = read({**TYPES, "deliver": Literal["none", "webhook"] | HookIn | None}, "Job")
NEEDED = ["name", "prompt", "schedule"]
GIVEN: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {**SETTINGS, "metadata": nullable(LABELS)},
}
WHEN = whole(dict.fromkeys(("kind", "expr", "display"), TEXT))

SCHEMAS: Schemas = {
    **PARTS,
    "JobCreation": {**GIVEN, "required": NEEDED},
    "JobChange": {**GIVEN, "minProperties": 1},
    "SchedulePreview": {
        "type": "object",
        "required": ["schedule"],
        "properties": {
            "schedule": {"type": "string", "minLength": 1},
            "timezone": NULLABLE_TEXT,
            "count": {"type": ["integer", "null"], "minimum": 1, "maximum": 100},
        },
    },
    "Job": whole(
        {
            **dict.fromkeys(("id", "name", "prompt", "timezone", "state", "session_id"), TEXT),
            "schedule": WHEN,
            "enabled": FLAG,
            **dict.fromkeys(("next_run_at", "last_run_at", "expires_at"), nullable(MOMENT)),
            **dict.fromkeys(("last_status", "last_error", "session_key", "model", "instructions"), NULLABLE_TEXT),
            "on_missed": TEXT,
            "on_overlap": TEXT,
            "retries": COUNT,
            "repeat": whole({"times": nullable(COUNT), "completed": COUNT}),
            "deliver": whole({"type": {"enum": ["none", "webhook"]}}, url=TEXT, secret=TEXT),
            "metadata": LABELS,
            **dict.fromkeys(("created_at", "updated_at"), MOMENT),
        },
        max_output_tokens=nullable(COUNT),
        catch_up_hours=nullable(NUMBER),
        timeout_seconds=nullable(NUMBER),
    ),
    "OneJob": whole({"job": ref("Job")}),
    "JobList": whole({"jobs": many(ref("Job")), "has_more": FLAG}),
    "JobRun": whole(
        {
            "object": const("hermes.job.run"),
            **dict.fromkeys(("id", "job_id", "session_id"), TEXT),
            "status": {"enum": list(get_args(RunStatus))},
            **dict.fromkeys(("scheduled_at", "started_at", "ended_at"), nullable(MOMENT)),
            "attempt": COUNT,
            "output": NULLABLE_TEXT,
            "usage": {"type": ["object", "null"]},
            "error": nullable(OBJECT),
        }
    ),
    "JobRuns": whole({"object": const("list"), "data": many(ref("JobRun")), "has_more": FLAG}),
    "JobStarted": whole({"run": ref("JobRun"), "run_id": TEXT}),
    "Fires": whole({"schedule": WHEN, "timezone": TEXT, "next": many(MOMENT), "next_local": many(TEXT)}),
    "Done": whole({"ok": const(value=True)}),
}
