"""Chat completions: what is asked, what is answered, what is stored."""

from __future__ import annotations

from everthread.http.schemas.common import (
    COUNT,
    LABELS,
    NULLABLE_TEXT,
    OBJECT,
    TEXT,
    TOKENS,
    Schemas,
    const,
    deleted,
    many,
    nullable,
    page,
    read,
    ref,
    whole,
)
from everthread.wire.chat import MOST_MESSAGES, TYPES, MessageIn

SETTINGS, PARTS = read({**TYPES, "message": MessageIn}, "Chat")
MESSAGE = SETTINGS.pop("message")
for refused in ("functions", "function_call"):
    del SETTINGS[refused]

CHOICE = whole(
    {
        "index": TOKENS,
        "message": whole({"role": const("assistant"), "content": NULLABLE_TEXT, "refusal": NULLABLE_TEXT}),
        "logprobs": {"type": ["object", "null"]},
        "finish_reason": TEXT,
    }
)
COMPLETION = {
    "id": TEXT,
    "object": const("chat.completion"),
    "created": COUNT,
    "model": TEXT,
    "choices": many(CHOICE, minItems=1),
    "usage": OBJECT,
    "system_fingerprint": NULLABLE_TEXT,
}

SCHEMAS: Schemas = {
    **PARTS,
    "ChatRequest": {
        "type": "object",
        "required": ["messages"],
        "description": "Any further field of OpenAI's API, known or not, is passed to the model's server as it came.",
        "properties": {
            "messages": many(MESSAGE, minItems=1, maxItems=MOST_MESSAGES),
            "model": {**NULLABLE_TEXT, "description": "hermes, hermes-agent, or an upstream model's name."},
            "stream": {"type": ["boolean", "null"]},
            **SETTINGS,
        },
    },
    "ChatCompletion": whole({**COMPLETION, "hermes": ref("Hermes")}),
    "StoredCompletion": whole(
        {
            **COMPLETION,
            "service_tier": NULLABLE_TEXT,
            "tools": {"type": ["array", "null"]},
            "tool_choice": {},
            "response_format": {"type": ["object", "null"]},
            "metadata": LABELS,
        }
    ),
    "CompletionList": page(ref("StoredCompletion")),
    "CompletionDeleted": deleted("chat.completion.deleted"),
    "CompletionMessages": page(
        whole(
            {
                "id": TEXT,
                "role": TEXT,
                "content": NULLABLE_TEXT,
                "content_parts": {"type": ["array", "null"], "items": OBJECT},
            }
        )
    ),
    "Labelling": whole({"metadata": nullable(LABELS)}),
}
