"""Responses and conversations: what is asked, the Response with all its fields, items."""

from __future__ import annotations

from typing import Any

import msgspec

from everthread.http.schemas.common import (
    FLAG,
    LABELS,
    NULLABLE_TEXT,
    NUMBER,
    OBJECT,
    SECONDS,
    TEXT,
    TOKENS,
    Schema,
    Schemas,
    const,
    deleted,
    either,
    many,
    nullable,
    page,
    read,
    ref,
    whole,
)
from everthread.wire.conversations import MOST_AT_ONCE
from everthread.wire.responses import items
from everthread.wire.responses.fields import Settings

# --- what is asked ---

READ: dict[str, Any] = {
    "message": items.MessageIn,
    "function_call": items.CallIn,
    "function_call_output": items.ResultIn,
    "custom_tool_call": items.CustomCallIn,
    "custom_tool_call_output": items.ResultIn,
    "mcp_call": items.McpCallIn,
    "item_reference": items.ReferenceIn,
    "reasoning": items.ReasoningIn,
    "compaction": items.CompactionIn,
}
REFUSED = {"generate", "moderation", "prompt"}  # always, or but for a WebSocket
KNOWN = {field.name: field.type for field in msgspec.structs.fields(Settings) if field.name not in REFUSED}
SETTINGS, SETTINGS_PARTS = read(KNOWN, "Response")
ITEMS, ITEM_PARTS = read(READ, "Item")
INPUT = either({"type": "string", "minLength": 1}, many(ref("InputItem"), maxItems=items.MOST_ITEMS), {"type": "null"})


def input_item(kind: str, fields: Schema) -> Schema:
    """An item by its type, which a message may leave out."""
    needs = [] if kind == "message" else ["type"]
    return {"type": "object", "required": needs, "properties": {"type": const(kind)}, "allOf": [fields]}


def only(part: Schema, kind: str, **more: Schema) -> Schema:
    """A part whose type can be but one; what more it then needs."""
    needs = [*part["required"], *more]
    return {**part, "required": needs, "properties": {**part["properties"], "type": const(kind), **more}}


FUNCTION = {"type": "string", "minLength": 1, "maxLength": 256}
NARROWED: Schemas = {
    "ResponseToolIn": only(SETTINGS_PARTS["ResponseToolIn"], "function", name=FUNCTION),
    "ResponseManagementIn": only(SETTINGS_PARTS["ResponseManagementIn"], "compaction"),
}

# --- what is shown ---

NOTHING: Schema = {"type": "null"}  # fields of the specification that are never anything else here
STATUS: Schema = {"enum": ["in_progress", "completed", "incomplete"]}
CALL = {"id": TEXT, "status": STATUS, "call_id": TEXT, "name": TEXT}
OUTPUT_TEXT = whole({"type": const("output_text"), "text": TEXT, "annotations": many(OBJECT), "logprobs": many(OBJECT)})
REFUSAL = whole({"type": const("refusal"), "refusal": TEXT})
INPUT_PARTS = many(
    either(
        whole({"type": const("input_text"), "text": TEXT}),
        whole({"type": const("input_image"), "image_url": TEXT, "file_id": NULLABLE_TEXT, "detail": TEXT}),
        {"type": "object", "required": ["type"], "properties": {"type": const("input_file")}},
    )
)
SHOWN = either(
    whole(
        {
            "id": TEXT,
            "type": const("message"),
            "status": STATUS,
            "role": const("assistant"),
            "content": many(either(OUTPUT_TEXT, REFUSAL)),
        }
    ),
    whole(
        {
            "id": TEXT,
            "type": const("message"),
            "status": STATUS,
            "role": {"enum": ["user", "system", "developer"]},
            "content": INPUT_PARTS,
        }
    ),
    whole({"type": const("function_call"), **CALL, "arguments": TEXT}),
    whole({"type": const("custom_tool_call"), **CALL, "input": TEXT}),
    whole(
        {
            "id": TEXT,
            "type": const("function_call_output"),
            "status": STATUS,
            "call_id": TEXT,
            "output": either(TEXT, INPUT_PARTS),
        }
    ),
    whole({"id": TEXT, "type": const("reasoning"), "status": STATUS, "summary": many(OBJECT)}),
    whole({"id": TEXT, "type": const("compaction"), "encrypted_content": TEXT}),
)
USAGE = whole(
    {
        "input_tokens": TOKENS,
        "input_tokens_details": whole({"cached_tokens": TOKENS, "cache_write_tokens": TOKENS}),
        "output_tokens": TOKENS,
        "output_tokens_details": whole({"reasoning_tokens": TOKENS}),
        "total_tokens": TOKENS,
    }
)
TOOL = whole(
    {
        "type": const("function"),
        "name": TEXT,
        "description": NULLABLE_TEXT,
        "parameters": {"type": ["object", "null"]},
        "strict": {"type": ["boolean", "null"]},
    }
)
RESPONSE = {
    "id": TEXT,
    "object": const("response"),
    "created_at": SECONDS,
    "status": {"enum": ["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]},
    "completed_at": nullable(SECONDS),
    "error": nullable(whole({"code": TEXT, "message": TEXT})),
    "incomplete_details": nullable(whole({"reason": TEXT})),
    "model": TEXT,
    "output": many(ref("Item")),
    "usage": nullable(USAGE),
    "previous_response_id": NULLABLE_TEXT,
    "conversation": nullable(whole({"id": TEXT})),
    "instructions": NULLABLE_TEXT,
    "tools": many(TOOL),
    "tool_choice": either({"enum": ["none", "auto", "required"]}, OBJECT),
    "parallel_tool_calls": FLAG,
    "temperature": NUMBER,
    "top_p": NUMBER,
    "presence_penalty": NUMBER,
    "frequency_penalty": NUMBER,
    "top_logprobs": TOKENS,
    "max_output_tokens": nullable(TOKENS),
    "max_tool_calls": nullable(TOKENS),
    "text": whole({"format": whole({"type": TEXT}), "verbosity": TEXT}),
    "reasoning": whole({"effort": NULLABLE_TEXT, "summary": NULLABLE_TEXT}),
    "truncation": {"enum": ["auto", "disabled"]},
    "store": FLAG,
    "background": FLAG,
    "service_tier": TEXT,
    "metadata": LABELS,
    "safety_identifier": NULLABLE_TEXT,
    "prompt": NOTHING,
    "prompt_cache_key": NULLABLE_TEXT,
    "prompt_cache_retention": NULLABLE_TEXT,
    **dict.fromkeys(
        ("access_programs", "image", "moderation", "prompt_cache_diagnostics", "prompt_cache_options", "tool_usage"),
        NOTHING,
    ),
}

SCHEMAS: Schemas = {
    **SETTINGS_PARTS,
    **NARROWED,
    **ITEM_PARTS,
    "InputItem": either(
        *(input_item(kind, fields) for kind, fields in ITEMS.items()), whole({"type": const("mcp_list_tools")})
    ),
    "ResponseRequest": {
        "type": "object",
        "description": "input is needed unless only a length or a compaction of what was said is asked for. Fields"
        " that are not listed are passed to the model's server as they came.",
        "properties": {"input": INPUT, "metadata": nullable(LABELS), **SETTINGS},
    },
    "Item": SHOWN,
    "ItemList": page(ref("Item")),
    "Response": whole(RESPONSE, user=TEXT, hermes=ref("Hermes")),
    "ResponseDeleted": deleted("response"),
    "InputTokens": whole({"object": const("response.input_tokens"), "input_tokens": TOKENS}),
    "Compaction": whole(
        {
            "id": TEXT,
            "object": const("response.compaction"),
            "created_at": SECONDS,
            "output": many(ref("Item")),
            "usage": USAGE,
        }
    ),
    "ConversationCreation": {
        "type": "object",
        "properties": {
            "items": nullable(many(ref("InputItem"), maxItems=MOST_AT_ONCE)),
            "metadata": nullable(LABELS),
        },
    },
    "ItemsAddition": whole({"items": many(ref("InputItem"), minItems=1, maxItems=MOST_AT_ONCE)}),
    "Conversation": whole({"id": TEXT, "object": const("conversation"), "created_at": SECONDS, "metadata": LABELS}),
    "ConversationDeleted": deleted("conversation.deleted"),
}
