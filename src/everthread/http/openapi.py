"""The API's description, made from the table of endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from everthread import __version__
from everthread.http.site import Endpoint

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
NULLABLE_TEXT = {"type": ["string", "null"]}

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


def operation(endpoint: Endpoint, path: str) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "security": [] if endpoint.open else [{"key": []}],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in re.findall(r"{(\w+)}", path)
        ],
        "responses": {"200": answer(endpoint), "default": failure()},
    }
    if endpoint.name == "chat_completions":
        described["parameters"] += [
            {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}
            for name, text in SESSION_HEADERS.items()
        ]
        described["requestBody"] = {"required": True, "content": {"application/json": ref("ChatRequest")}}
    return described


def answer(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.name == "chat_completions":
        content = {
            "application/json": ref("ChatCompletion"),
            "text/event-stream": {"schema": {"type": "string"}},
        }
    elif endpoint.name == "docs":
        content = {"text/html": {"schema": {"type": "string"}}}
    else:
        content = {"application/json": {"schema": {"type": "object"}}}
    return {"description": "The answer.", "content": content}


def failure() -> dict[str, Any]:
    return {"description": "What went wrong, in four fields.", "content": {"application/json": ref("Error")}}


def ref(name: str) -> dict[str, Any]:
    return {"schema": {"$ref": f"#/components/schemas/{name}"}}
