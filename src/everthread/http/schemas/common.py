"""Pieces that the schemas are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from everthread.wire.metadata import LONGEST_LABEL, LONGEST_VALUE, MOST_LABELS

Schema = dict[str, Any]
Schemas = dict[str, Schema]

TEXT: Schema = {"type": "string"}
NULLABLE_TEXT: Schema = {"type": ["string", "null"]}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer"}
TOKENS: Schema = {"type": "integer", "minimum": 0}
SECONDS: Schema = {"type": "integer", "minimum": 0, "description": "Since 1970."}
MOMENT: Schema = {"type": "string", "format": "date-time"}
OBJECT: Schema = {"type": "object"}
NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[ -~]+$"}
LABELS: Schema = {
    "type": "object",
    "maxProperties": MOST_LABELS,
    "propertyNames": {"minLength": 1, "maxLength": LONGEST_LABEL},
    "additionalProperties": {"type": "string", "maxLength": LONGEST_VALUE},
}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def const(value: str | bool) -> Schema:
    return {"const": value}


def either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def nullable(schema: Schema) -> Schema:
    return either(schema, {"type": "null"})


def many(schema: Schema, **more: int) -> Schema:
    return {"type": "array", "items": schema, **more}


def whole(fields: Mapping[str, Schema], **more: Schema) -> Schema:
    """An object that has all of these fields, and perhaps some more."""
    return {"type": "object", "required": list(fields), "properties": {**fields, **more}}


SAID = either(
    {"type": "string", "minLength": 1},
    many(ref("Message"), minItems=1),
    many(whole({"type": const("text"), "text": TEXT}), minItems=1),
    ref("Message"),
)


def page(item: Schema) -> Schema:
    """A list as OpenAI turns its pages."""
    return whole(
        {
            "object": const("list"),
            "data": many(item),
            "first_id": NULLABLE_TEXT,
            "last_id": NULLABLE_TEXT,
            "has_more": FLAG,
        }
    )


def deleted(kind: str) -> Schema:
    return whole({"id": TEXT, "object": const(kind), "deleted": const(value=True)})


def read(types: Mapping[str, Any], family: str) -> tuple[dict[str, Schema], Schemas]:
    """The schemas of types that requests are read with, and of the types these consist of, named after a family."""
    found, parts = msgspec.json.schema_components(types.values(), ref_template=f"#/components/schemas/{family}{{name}}")
    named = {f"{family}{name}": plain(part) for name, part in parts.items()}
    return {name: plain(schema) for name, schema in zip(types, found, strict=True)}, named


def plain(schema: Any) -> Any:
    """Without titles, and without defaults that are null."""
    if isinstance(schema, list):
        return [plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: value for name, value in schema.items() if (name, value) != ("default", None)}
    if isinstance(kept.get("title"), str):
        del kept["title"]
    return {name: plain(value) for name, value in kept.items()}


SCHEMAS: Schemas = {
    "Error": whole(
        {"error": whole({"message": TEXT, "type": TEXT, "param": NULLABLE_TEXT, "code": TEXT})},
    ),
    "Event": {
        "type": "object",
        "description": "One event of a stream; its data is JSON, or [DONE].",
        "properties": {"event": TEXT, "data": TEXT, "id": TEXT},
    },
    "Message": {
        "type": "object",
        "required": ["role"],
        "properties": {
            "role": {"enum": ["system", "developer", "user", "assistant", "tool", "function"]},
            "content": either(TEXT, many(OBJECT), {"type": "null"}),
            "name": NULLABLE_TEXT,
            "tool_calls": {"type": ["array", "null"], "items": OBJECT},
            "tool_call_id": NULLABLE_TEXT,
        },
    },
    "Hermes": {
        "type": "object",
        "description": "The effective session of a reply.",
        "required": ["session_id", "root_session_id", "rotated", "run_id", "context", "degraded"],
        "properties": {
            "session_id": TEXT,
            "parent_session_id": NULLABLE_TEXT,
            "root_session_id": TEXT,
            "rotated": FLAG,
            "session_key": NULLABLE_TEXT,
            "run_id": TEXT,
            "context": {
                "type": "object",
                "properties": dict.fromkeys(
                    ("prompt_tokens", "budget", "prefix", "window", "tail", "message", "log", "cached"), TOKENS
                ),
            },
            "memory": many(TEXT),
            "usage": {"type": "object", "properties": dict.fromkeys(("answer", "distilling", "searching"), TOKENS)},
            "model": TEXT,
            "degraded": FLAG,
        },
    },
}
