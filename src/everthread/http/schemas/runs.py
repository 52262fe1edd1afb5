"""Runs: what starts one, how it stands."""

from __future__ import annotations

from typing import get_args

from everthread.core.view import RunStatus
from everthread.http.schemas.common import (
    LABELS,
    NAME,
    NULLABLE_TEXT,
    NUMBER,
    OBJECT,
    SAID,
    TEXT,
    TOKENS,
    Schemas,
    const,
    many,
    nullable,
    whole,
)

SCHEMAS: Schemas = {
    "RunRequest": {
        "type": "object",
        "required": ["input"],
        "description": "Any field of a chat completion, such as tools, may be sent besides.",
        "properties": {
            "input": {**SAID, "description": "Text, content parts or messages; also under the name message."},
            "instructions": NULLABLE_TEXT,
            "model": NULLABLE_TEXT,
            "session_id": nullable(NAME),
            "metadata": nullable(LABELS),
        },
    },
    "RunStarted": whole(
        {
            "object": const("hermes.run"),
            "run_id": TEXT,
            "status": const("started"),
            "session_id": TEXT,
            "events_url": TEXT,
        }
    ),
    "Run": whole(
        {
            "object": const("hermes.run"),
            "run_id": TEXT,
            "status": {"enum": list(get_args(RunStatus))},
            "created_at": NUMBER,
            "updated_at": NUMBER,
            "session_id": TEXT,
            "model": NULLABLE_TEXT,
            "last_event": NULLABLE_TEXT,
            "output": NULLABLE_TEXT,
            "usage": nullable(
                whole(dict.fromkeys(("input_tokens", "output_tokens", "total_tokens", "cache_read_tokens"), TOKENS))
            ),
            "error": nullable(whole({"code": TEXT, "message": TEXT})),
            "metadata": LABELS,
            "response_id": NULLABLE_TEXT,
        },
        tool_calls=many(OBJECT),
    ),
}
