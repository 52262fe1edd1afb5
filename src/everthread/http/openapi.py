"""The API's description, made from the table of endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from everthread import __version__
from everthread.http.site import Endpoint
from everthread.wire.memory import KINDS, LONGEST_TEXT, STATES

SESSION_HEADERS = {
    "X-Hermes-Session-Id": "Names a transcript. With it the conversation goes on where it stopped; without it a fresh"
    " session is made. 1 to 256 printable ASCII characters.",
    "X-Hermes-Session-Key": "Names a memory scope that outlives sessions. Same rules.",
    "X-Hermes-Message-Id": "Your own id of this message: sent again within 24 hours, it gets its recorded reply.",
    "X-Hermes-Parent-Message-Id": "The client's own id of the message this one follows.",
    "X-Hermes-Message-Time": "When the message was really said: ISO 8601 with a zone; default now.",
    "X-Hermes-Task": "Not blank: an auxiliary request (a title, tags). It reads the session and leaves no trace.",
    "X-Hermes-On-Busy": "queue (default) or reject: what to do while another turn of the session runs.",
    "Idempotency-Key": "The same key and request take effect once; a repeat gets the recorded reply.",
}

TOKENS = {"type": "integer", "minimum": 0}
TEXT = {"type": "string"}
NULLABLE_TEXT = {"type": ["string", "null"]}
MOMENT = {"type": "string", "format": "date-time"}
WORDS = {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}
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

SCHEMAS: dict[str, Any] = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["message", "type", "param", "code"],
                "properties": {
                    "message": {"type": "string"},
                    "type": {"type": "string"},
                    "param": NULLABLE_TEXT,
                    "code": {"type": "string"},
                },
            }
        },
    },
    "Message": {
        "type": "object",
        "required": ["role"],
        "properties": {
            "role": {"enum": ["system", "developer", "user", "assistant", "tool", "function"]},
            "content": {
                "anyOf": [
                    {"type": "string"},
                    {"type": "array", "items": {"type": "object"}},
                    {"type": "null"},
                ]
            },
            "name": NULLABLE_TEXT,
            "tool_calls": {"type": ["array", "null"], "items": {"type": "object"}},
            "tool_call_id": NULLABLE_TEXT,
        },
    },
    "ChatRequest": {
        "type": "object",
        "required": ["messages"],
        "description": "Any further field of OpenAI's API, known or not, is passed to the model's server as it came.",
        "properties": {
            "messages": {
                "type": "array",
                "minItems": 1,
                "maxItems": 2000,
                "items": {"$ref": "#/components/schemas/Message"},
            },
            "model": {
                "type": ["string", "null"],
                "description": "hermes, hermes-agent, or an upstream model's name.",
            },
            "stream": {"type": ["boolean", "null"]},
        },
    },
    "Hermes": {
        "type": "object",
        "description": "The effective session of a reply.",
        "required": ["session_id", "root_session_id", "rotated", "run_id", "context", "degraded"],
        "properties": {
            "session_id": {"type": "string"},
            "parent_session_id": NULLABLE_TEXT,
            "root_session_id": {"type": "string"},
            "rotated": {"type": "boolean"},
            "session_key": NULLABLE_TEXT,
            "run_id": {"type": "string"},
            "context": {
                "type": "object",
                "properties": dict.fromkeys(("prompt_tokens", "budget", "prefix", "window", "tail", "cached"), TOKENS),
            },
            "memory": {"type": "array", "items": {"type": "string"}},
            "usage": {"type": "object", "properties": {"answer": TOKENS, "distilling": TOKENS}},
            "model": {"type": "string"},
            "degraded": {"type": "boolean"},
        },
    },
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
            "message": {"description": "Text, content parts or messages; also under the name input."},
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
    "ClaimAddition": {
        "type": "object",
        "required": ["text"],
        "additionalProperties": False,
        "properties": {
            "text": WORDS,
            "kind": {"enum": list(KINDS), "default": "fact"},
            "pinned": {"type": "boolean", "default": False},
            "valid_from": NULLABLE_TEXT,
            "speaker": NULLABLE_TEXT,
        },
    },
    "ClaimCorrection": {
        "type": "object",
        "required": ["text"],
        "additionalProperties": False,
        "properties": {"text": WORDS, "valid_from": NULLABLE_TEXT, "reason": NULLABLE_TEXT},
    },
    "ClaimPinning": {
        "type": "object",
        "additionalProperties": False,
        "properties": {"pinned": {"type": "boolean", "default": True}},
    },
    "ClaimRetraction": {
        "type": "object",
        "additionalProperties": False,
        "properties": {"reason": NULLABLE_TEXT},
    },
    "Forgetting": {
        "type": "object",
        "description": "Exactly one of claim, session_id, text, and scope with true.",
        "additionalProperties": False,
        "properties": {
            **dict.fromkeys(("claim", "session_id"), NULLABLE_TEXT),
            "text": {"type": ["string", "null"], "minLength": 3, "maxLength": 2000},
            "scope": {"type": "boolean", "default": False},
            "dry_run": {"type": "boolean", "default": False},
        },
    },
    "ChatCompletion": {
        "type": "object",
        "required": ["id", "object", "created", "model", "choices", "usage", "hermes"],
        "properties": {
            "id": {"type": "string"},
            "object": {"const": "chat.completion"},
            "created": {"type": "integer"},
            "model": {"type": "string"},
            "choices": {"type": "array", "items": {"type": "object"}},
            "usage": {"type": "object"},
            "hermes": {"$ref": "#/components/schemas/Hermes"},
        },
    },
}


def describe(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        path = re.sub(r":path}", "}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = operation(endpoint, path)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Everthread",
            "version": __version__,
            "description": "A server for conversations that never end. It speaks the OpenAI API.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": SCHEMAS,
        },
    }


BODIES = {
    "chat_completions": "ChatRequest",
    "session_create": "SessionCreation",
    "session_update": "SessionChange",
    "session_fork": "SessionFork",
    "session_chat": "SessionTurn",
    "session_chat_stream": "SessionTurn",
    "memory_add": "ClaimAddition",
    "memory_correct": "ClaimCorrection",
    "memory_pin": "ClaimPinning",
    "memory_retract": "ClaimRetraction",
    "memory_forget": "Forgetting",
}
OPTIONAL_BODIES = {"session_create", "session_fork", "memory_pin", "memory_retract"}
ANSWERS = {
    "chat_completions": "ChatCompletion",
    "sessions": "SessionList",
    "session_create": "OneSession",
    "session": "OneSession",
    "session_update": "OneSession",
    "session_delete": "SessionDeleted",
    "session_messages": "MessageList",
    "session_fork": "OneSession",
    "session_compress": "OneSession",
    "session_lineage": "Lineage",
    "session_chat": "SessionAnswer",
    "memory": "ClaimList",
    "memory_add": "Claim",
    "memory_search": "MemoryHits",
    "memory_timeline": "MemoryTimeline",
    "memory_status": "MemoryStatus",
    "memory_forget": "MemoryForgotten",
    "memory_given": "MemoryGiven",
    "memory_claim": "Claim",
    "memory_correct": "Claim",
    "memory_pin": "Claim",
    "memory_retract": "Claim",
    "memory_sources": "MemorySources",
}
OTHER_ANSWERS = {
    "chat_completions": ["application/json", "text/event-stream"],
    "session_chat_stream": ["text/event-stream"],
    "session_export": ["application/x-ndjson"],
    "memory_export": ["application/x-ndjson", "text/markdown"],
    "docs": ["text/html"],
}
CREATES = {"session_create", "session_fork", "memory_add", "memory_correct"}
TURNS = {"chat_completions", "session_chat", "session_chat_stream"}
QUERIES = {
    "sessions": {
        "limit": "At most so many: 1 to 200, default 50.",
        "offset": "Leaves out so many of the newest.",
        "session_key": "Only those of this memory scope. The header X-Hermes-Session-Key does the same.",
        "source": "Only those that began so: api, job, run or import.",
        "include_children": "true: every session, not only the tip of each thread.",
    },
    "session_messages": {
        "limit": "At most so many: 1 to 1000, default 200.",
        "after": "A message's id: those that follow it.",
        "order": "asc (default): the oldest first; desc: the newest first.",
    },
    "memory": {
        "kind": f"Only these, with commas: {', '.join(KINDS)}.",
        "state": f"Only these, with commas: {', '.join(STATES)}. Default: all but retracted.",
        "pinned": "true or false: only those that are, or are not.",
        "limit": "At most so many: 1 to 200, default 50.",
        "after": "A claim's id: those that follow it.",
    },
    "memory_search": {
        "q": "What to look for.",
        "as_of": "A date or a moment: what was said up to then, and what held then.",
        "known_at": "A date or a moment: by what was known then.",
        "limit": "At most so many: 1 to 50, default 10.",
    },
    "memory_timeline": {
        "about": "Only changes that have these words.",
        "since": "A date or a moment: changes from then on.",
        "until": "A date or a moment: changes before it.",
        "limit": "At most so many: 1 to 200, default 50.",
        "after": "A claim's id: changes that follow its own.",
    },
    "memory_export": {"format": "jsonl (default) or markdown."},
}
SCOPE = {
    "session_key": "Whose memory. The header X-Hermes-Session-Key does the same.",
    "session_id": "A session without a key, whose memory is its own. The header X-Hermes-Session-Id does the same.",
}


def operation(endpoint: Endpoint, path: str) -> dict[str, Any]:
    name = endpoint.name
    described: dict[str, Any] = {
        "operationId": name,
        "summary": endpoint.summary,
        "security": [] if endpoint.open else [{"key": []}],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": TEXT} for name in re.findall(r"{(\w+)}", path)
        ]
        + [parameter("query", query, text) for query, text in queries(name).items()]
        + [
            parameter("header", header, text)
            for header, text in (SESSION_HEADERS.items() if name in TURNS else ())
            if header != "X-Hermes-Session-Id" or "{session_id}" not in path
        ],
        "responses": {"201" if name in CREATES else "200": answer(endpoint), "default": failure()},
    }
    if name in BODIES:
        body = {"application/json": ref(BODIES[name])}
        described["requestBody"] = {"required": name not in OPTIONAL_BODIES, "content": body}
    return described


def queries(name: str) -> dict[str, str]:
    own = QUERIES.get(name, {})
    return {**SCOPE, **own} if name.startswith("memory") else own


def parameter(where: str, name: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": where, "description": text, "schema": TEXT}


def answer(endpoint: Endpoint) -> dict[str, Any]:
    kinds = OTHER_ANSWERS.get(endpoint.name, ["application/json"])
    known = ref(ANSWERS[endpoint.name]) if endpoint.name in ANSWERS else {"schema": {"type": "object"}}
    content = {kind: known if kind == "application/json" else {"schema": TEXT} for kind in kinds}
    return {"description": "The answer.", "content": content}


def failure() -> dict[str, Any]:
    return {"description": "What went wrong, in four fields.", "content": {"application/json": ref("Error")}}


def ref(name: str) -> dict[str, Any]:
    return {"schema": {"$ref": f"#/components/schemas/{name}"}}
