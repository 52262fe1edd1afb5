"""What we send, held against OpenAI's published description as its own client's types express it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import httpx2
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.conversations import Conversation, ConversationItem
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
ITEM: TypeAdapter[Any] = TypeAdapter(ConversationItem)

# A picture of one pixel.
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA"
    "WjR9awAAAABJRU5ErkJggg=="
)


def post(door: Any, path: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
    """As it stands on the wire, before a client has mended it."""
    given = {"Authorization": f"Bearer {door.key}", **headers}
    return httpx2.post(f"{door.url}{path}", json=body, headers=given, timeout=30)


def get(door: Any, path: str) -> httpx2.Response:
    return httpx2.get(f"{door.url}{path}", headers={"Authorization": f"Bearer {door.key}"}, timeout=30)


def lines(reply: httpx2.Response) -> Iterator[tuple[str | None, str]]:
    """An SSE stream's events: name and data."""
    for block in reply.text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if "data" in fields:
            yield fields.get("event"), fields["data"]


def completion(body: dict[str, Any]) -> ChatCompletion:
    return ChatCompletion.model_validate(body)


def chunks(reply: httpx2.Response) -> list[ChatCompletionChunk]:
    data = [data for _, data in lines(reply)]
    assert data[-1] == "[DONE]"
    return [ChatCompletionChunk.model_validate_json(each) for each in data[:-1]]


def response(body: dict[str, Any]) -> Response:
    """A Response that has every field of the description, null where nothing was given."""
    missing = Response.model_fields.keys() - {"user"} - body.keys()
    assert not missing, f"a Response without {sorted(missing)}"
    assert body.get("user", "") is not None, "`user` is left out, never null"
    for item in body["output"]:
        assert item.get("id"), f"an item without an id: {item}"
    return Response.model_validate(body)


def events(reply: httpx2.Response) -> list[Any]:
    """A stream of a Response: each event valid, named by its type, and in its place."""
    seen = list(lines(reply))
    assert seen[-1][1] == "[DONE]"
    decoded = [(name, json.loads(data)) for name, data in seen[:-1]]
    assert [name for name, _ in decoded] == [data["type"] for _, data in decoded]
    assert [data["sequence_number"] for _, data in decoded] == list(range(len(decoded)))
    for _, data in decoded:
        if "response" in data:
            response(data["response"])
    return [EVENT.validate_python(data) for _, data in decoded]


def conversation(body: dict[str, Any]) -> Conversation:
    return Conversation.model_validate(body)


def known(event: BaseModel) -> bool:
    """Whether the client knows this event by its type."""
    return any(isinstance(event, kind) for kind in get_args(get_args(ResponseStreamEvent)[0]))
