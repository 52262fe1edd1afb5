"""Conversations as JSON: sessions, seen through OpenAI's eyes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from everthread.core.ids import SessionId
from everthread.core.view import Stored
from everthread.errors import Malformed
from everthread.wire import json, metadata
from everthread.wire.json import NULL
from everthread.wire.responses import items, names, shown
from everthread.wire.responses.items import Item
from everthread.wire.responses.shown import Shown

MOST_AT_ONCE = 20  # items
RAWS = msgspec.json.Decoder(list[msgspec.Raw] | None)


class Creation(msgspec.Struct, frozen=True):
    items: tuple[Item, ...]
    metadata: dict[str, str]


def decode_creation(body: bytes) -> Creation:
    """What a new conversation begins with; an empty body is nothing."""
    fields = json.fields(body) if body.strip() else {}
    return Creation(given_items(fields.get("items", NULL)), metadata.decode(fields.get("metadata", NULL)))


def decode_items(body: bytes) -> tuple[Item, ...]:
    found = given_items(json.fields(body).get("items", NULL))
    if not found:
        raise Malformed("items is required: a list of at least one item.", param="items")
    return found


def given_items(raw: msgspec.Raw) -> tuple[Item, ...]:
    raws = json.value(raw, RAWS, "items") or []
    if len(raws) > MOST_AT_ONCE:
        raise Malformed(f"items has {len(raws)} items; the limit is {MOST_AT_ONCE} at once.", param="items")
    return items.decode_items(raws)


# --- what is shown ---


def encode(id_: SessionId, created_at: datetime, labels: Mapping[str, str]) -> bytes:
    body: dict[str, Any] = {
        "id": id_,
        "object": "conversation",
        "created_at": int(created_at.timestamp()),
        "metadata": dict(labels),
    }
    return msgspec.json.encode(body)


def deleted(id_: SessionId) -> bytes:
    return msgspec.json.encode({"id": id_, "object": "conversation.deleted", "deleted": True})


def shown_items(stored: Stored) -> list[Shown]:
    """The items of one step, in their order; an answer's thoughts come before its words."""
    found: list[Shown] = []
    for number, message in stored.messages:
        if number is None and stored.reasoning:
            found.append(shown.reasoning(names.reasoning_id(stored.step), stored.reasoning))
        found += shown.shown(stored.step, number, message)
    return found
