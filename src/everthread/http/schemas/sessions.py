"""Sessions, as /api/sessions has them."""

from __future__ import annotations

from typing import Any

from everthread.http.schemas.common import NULLABLE_TEXT, SAID, TEXT, TOKENS

SCHEMAS: dict[str, Any] = {
    "Session": {
        "type": "object",
        "description": "One session. As its lineage's tip it stands for all of it. Times are seconds since 1970.",
        "required": ["id", "created_at", "updated_at", "message_count", "root_session_id", "tip_session_id"],
        "properties": {
            **dict.fromkeys(("id", "source", "root_session_id", "tip_session_id", "_lineage_root_id"), TEXT),
            **dict.fromkeys(("title", "model", "session_key", "end_reason", "parent_session_id"), NULLABLE_TEXT),
            **{key: {"type": "number"} for key in ("created_at", "updated_at", "started_at", "last_active")},
            "ended_at": {"type": ["number", "null"]},
            "message_count": TOKENS,
            **dict.fromkeys(("input_tokens", "output_tokens", "cache_read_tokens", "distilling_tokens"), TOKENS),
            "branch": {"type": "boolean"},
        },
    },
    "OneSession": {
        "type": "object",
        "required": ["object", "session"],
        "properties": {"object": {"const": "hermes.session"}, "session": {"$ref": "#/components/schemas/Session"}},
    },
    "SessionList": {
        "type": "object",
        "required": ["object", "data", "limit", "offset", "has_more"],
        "properties": {
            "object": {"const": "list"},
            "data": {"type": "array", "items": {"$ref": "#/components/schemas/Session"}},
            "limit": TOKENS,
            "offset": TOKENS,
            "has_more": {"type": "boolean"},
        },
    },
    "SessionDeleted": {
        "type": "object",
        "required": ["object", "id", "deleted"],
        "properties": {"object": {"const": "hermes.session.deleted"}, "id": TEXT, "deleted": {"const": True}},
    },
    "MessageList": {
        "type": "object",
        "required": ["object", "session_id", "data", "has_more"],
        "properties": {
            "object": {"const": "list"},
            "session_id": TEXT,
            "data": {"type": "array", "items": {"type": "object"}},
            "has_more": {"type": "boolean"},
        },
    },
    "Lineage": {
        "type": "object",
        "required": ["object", "session_id", "root_session_id", "branches"],
        "properties": {
            "object": {"const": "hermes.session.lineage"},
            "session_id": TEXT,
            "root_session_id": TEXT,
            "branches": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": TEXT,
                        "forked_from": NULLABLE_TEXT,
                        "shared_messages": TOKENS,
                        "head": {"type": "boolean"},
                        "sessions": {"type": "array", "items": {"$ref": "#/components/schemas/Session"}},
                    },
                },
            },
        },
    },
    "SessionCreation": {
        "type": "object",
        "properties": {"id": NULLABLE_TEXT, "title": NULLABLE_TEXT, "session_key": NULLABLE_TEXT},
    },
    "SessionChange": {
        "type": "object",
        "properties": {"title": NULLABLE_TEXT, "end": {"type": ["boolean", "null"]}, "end_reason": NULLABLE_TEXT},
    },
    "SessionFork": {
        "type": "object",
        "properties": {
            "id": NULLABLE_TEXT,
            "title": NULLABLE_TEXT,
            "at": {"type": ["string", "null"], "description": "A message's id: the last that is shared. Default: all."},
        },
    },
    "SessionTurn": {
        "type": "object",
        "required": ["message"],
        "description": "Any field of a chat completion, such as tools, may be sent besides.",
        "properties": {
            "message": {**SAID, "description": "Text, content parts or messages; also under the name input."},
            "instructions": {"type": ["string", "null"], "description": "Also under the name system_message."},
            "model": NULLABLE_TEXT,
        },
    },
    "SessionAnswer": {
        "type": "object",
        "required": ["object", "session_id", "message", "usage", "hermes"],
        "properties": {
            "object": {"const": "hermes.session.chat.completion"},
            "session_id": TEXT,
            "message": {"$ref": "#/components/schemas/Message"},
            "usage": {"type": "object"},
            "hermes": {"$ref": "#/components/schemas/Hermes"},
        },
    },
}
