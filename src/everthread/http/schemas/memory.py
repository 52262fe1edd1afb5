"""Memory, as /api/memory has it."""

from __future__ import annotations

from typing import Any

from everthread.http.schemas.common import MOMENT, NULLABLE_TEXT, TEXT, TOKENS, read
from everthread.wire.memory import KINDS, STATES, Addition, Correction, Forgetting, Pinning, Retraction

CLAIMS = {"type": "array", "items": {"$ref": "#/components/schemas/Claim"}}
BLOCK = {
    "type": "object",
    "properties": {
        "text": TEXT,
        "tokens": TOKENS,
        "claims": {"type": "array", "items": TEXT},
        "turns": {"type": "array", "items": TEXT},
    },
}

_, CHANGES = read({kind.__name__: kind for kind in (Addition, Correction, Pinning, Retraction)}, "Claim")
EXACTLY_ONE = "Exactly one of claim, session_id, text (3 characters or more), and scope with true."
_, FORGETTING = read({"what": Forgetting}, "")

SCHEMAS: dict[str, Any] = {
    "Claim": {
        "type": "object",
        "description": "A statement with its quote, its time and its links. Times are ISO 8601 in UTC.",
        "required": ["id", "object", "kind", "state", "quote", "speaker", "said_at", "author", "pinned", "source"],
        "properties": {
            **dict.fromkeys(("id", "quote", "speaker"), TEXT),
            "object": {"const": "memory.claim"},
            "kind": {"enum": list(KINDS)},
            "state": {"enum": list(STATES)},
            **dict.fromkeys(("subject", "attribute", "value", "because"), NULLABLE_TEXT),
            **dict.fromkeys(("cause", "supersedes", "superseded_by"), NULLABLE_TEXT),
            "negated": {"type": "boolean"},
            "pinned": {"type": "boolean"},
            "voice": {"enum": ["user", "assistant"]},
            "author": {"enum": ["rule", "model", "person"]},
            "confidence": {"type": "number"},
            **dict.fromkeys(("said_at", "recorded_at"), MOMENT),
            **{key: {"anyOf": [MOMENT, {"type": "null"}]} for key in ("valid_from", "valid_to", "closed_at")},
            "when": {"type": ["object", "null"], "properties": {"since": MOMENT, "until": MOMENT}},
            "source": {
                "type": ["object", "null"],
                "description": "Null: a person wrote it by hand.",
                "properties": {
                    "session_id": TEXT,
                    "turn": {"type": "integer"},
                    "run_id": TEXT,
                    "message": TOKENS,
                    "span": {"type": "array", "items": TOKENS},
                },
            },
        },
    },
    "ClaimList": {
        "type": "object",
        "required": ["object", "data", "has_more"],
        "properties": {"object": {"const": "list"}, "data": CLAIMS, "has_more": {"type": "boolean"}},
    },
    "MemoryHits": {
        "type": "object",
        "required": ["object", "query", "as_of", "data", "claims"],
        "properties": {
            "object": {"const": "list"},
            "query": TEXT,
            **dict.fromkeys(("as_of", "known_at"), NULLABLE_TEXT),
            "data": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "object": {"const": "memory.hit"},
                        "score": {"type": "number"},
                        **dict.fromkeys(("session_id", "role", "speaker", "said_at", "text"), TEXT),
                        "turn": {"type": "integer"},
                        "run_id": NULLABLE_TEXT,
                        "claims": CLAIMS,
                    },
                },
            },
            "claims": CLAIMS,
        },
    },
    "MemoryTimeline": {
        "type": "object",
        "required": ["object", "data", "has_more"],
        "properties": {
            "object": {"const": "list"},
            "data": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "object": {"const": "memory.change"},
                        "at": MOMENT,
                        "claim": {"$ref": "#/components/schemas/Claim"},
                        "replaced": CLAIMS,
                        "because": NULLABLE_TEXT,
                        "cause": {"anyOf": [{"$ref": "#/components/schemas/Claim"}, {"type": "null"}]},
                    },
                },
            },
            "has_more": {"type": "boolean"},
        },
    },
    "MemorySources": {
        "type": "object",
        "required": ["object", "id", "data"],
        "properties": {
            "object": {"const": "memory.sources"},
            "id": TEXT,
            "data": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "relation": {"enum": ["claim", "cause", "replaced"]},
                        "claim": {"$ref": "#/components/schemas/Claim"},
                        "source": {"type": ["object", "null"]},
                    },
                },
            },
        },
    },
    "MemoryGiven": {
        "type": "object",
        "required": ["object", "run_id", "session_id", "turn", "said_at", "tail", "profile"],
        "properties": {
            "object": {"const": "memory.given"},
            **dict.fromkeys(("run_id", "session_id", "root_session_id"), TEXT),
            "session_key": NULLABLE_TEXT,
            "turn": {"type": "integer"},
            "said_at": MOMENT,
            **dict.fromkeys(("tail", "profile"), BLOCK),
        },
    },
    "MemoryStatus": {
        "type": "object",
        "required": ["object", "embedder", "dimensions", "lag_seconds", "waiting", "dead"],
        "properties": {
            "object": {"const": "memory.status"},
            "embedder": TEXT,
            **dict.fromkeys(("dimensions", "waiting"), TOKENS),
            "lag_seconds": {"type": "number"},
            "behind": {"type": ["boolean", "null"]},
            "dead": {"type": "array", "items": {"type": "object"}},
        },
    },
    "MemoryForgotten": {
        "type": "object",
        "required": ["object", "dry_run", "claims", "places", "messages", "sessions"],
        "properties": {
            "object": {"const": "memory.forgotten"},
            "dry_run": {"type": "boolean"},
            "claims": CLAIMS,
            "places": {"type": "array", "items": {"type": "object"}},
            **dict.fromkeys(("messages", "sessions"), TOKENS),
        },
    },
    **CHANGES,
    "Forgetting": {**FORGETTING["Forgetting"], "description": EXACTLY_ONE},
}
