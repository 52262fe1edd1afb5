"""API keys, and what they took."""

from __future__ import annotations

from typing import Any, get_args

from everthread.core.key import RIGHTS
from everthread.core.usage import By
from everthread.http.schemas.common import (
    FLAG,
    MOMENT,
    NULLABLE_TEXT,
    NUMBER,
    TEXT,
    TOKENS,
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
from everthread.wire.keys import TYPES
from everthread.wire.usage import NAMES

GIVEN: dict[str, Any] = {**TYPES, "webhook": HookIn | None}
SETTINGS, PARTS = read(GIVEN, "Key")
SOME_RIGHTS: Schema = many({"enum": list(RIGHTS)}, minItems=1)
MOST: Schema = {"type": ["integer", "null"], "minimum": 1}
DAY: Schema = {"type": "string", "format": "date"}
SHOWN: dict[str, Schema] = {
    "object": const("hermes.key"),
    **dict.fromkeys(("id", "name", "tenant"), TEXT),
    "rights": SOME_RIGHTS,
    "state": {"enum": ["valid", "expired", "revoked"]},
    "session_key_prefix": NULLABLE_TEXT,
    "limits": whole(dict.fromkeys(("requests_per_minute", "tokens_per_day", "concurrent"), MOST)),
    "webhook": whole({"type": {"enum": ["none", "webhook"]}}, url=TEXT, secret=TEXT),
    "created_at": MOMENT,
    **dict.fromkeys(("expires_at", "revoked_at"), nullable(MOMENT)),
}
TOOK: dict[str, Schema] = {
    **dict.fromkeys(("requests", "prompt_tokens", "completion_tokens", "cached_tokens"), TOKENS),
    "hidden_tokens": whole(dict.fromkeys(("distilling", "searching"), TOKENS)),
    "total_tokens": TOKENS,
    "cost": nullable(NUMBER),
    "unpriced_requests": nullable(TOKENS),
}

SCHEMAS: Schemas = {
    **PARTS,
    "KeyCreation": {
        "type": "object",
        "additionalProperties": False,
        "properties": {**SETTINGS, "rights": nullable(SOME_RIGHTS)},
    },
    "Key": whole(SHOWN),
    "NewKey": {
        **whole({**SHOWN, "key": TEXT}),
        "description": "The key itself is shown in this answer, and never again.",
    },
    "KeyList": whole({"object": const("list"), "data": many(ref("Key")), "has_more": FLAG}),
    "Usage": whole({"object": const("hermes.usage"), **TOOK}, **dict.fromkeys(NAMES.values(), NULLABLE_TEXT)),
    "UsageList": whole(
        {
            "object": const("list"),
            "by": {"enum": list(get_args(By))},
            "since": DAY,
            "until": DAY,
            "data": many(ref("Usage")),
            "total": whole(TOOK),
            "has_more": FLAG,
        }
    ),
}
