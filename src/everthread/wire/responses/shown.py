"""Items, shown: messages that were kept, as the Responses and Conversations APIs list them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from everthread.core.ids import StepId
from everthread.core.messages import Message
from everthread.wire.responses import items, names, opaque
from everthread.wire.responses.names import ItemName

Shown = dict[str, object]
Status = Literal["in_progress", "completed", "incomplete"]

DETAILS = {"low", "high", "auto", "original"}


class Part(msgspec.Struct):
    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: Any = None
    file: Any = None


class Call(msgspec.Struct):
    id: str = ""
    type: str = "function"
    function: Any = None
    custom: Any = None


class Kept(msgspec.Struct):
    """A message as it is kept: checked when it came in, in the chat form."""

    role: str
    content: str | list[Part] | None = None
    name: str | None = None
    refusal: str | None = None
    tool_calls: list[Call] | None = None
    tool_call_id: str | None = None
    thought: Any = None


KEPT = msgspec.json.Decoder(Kept)


def shown(step: StepId, number: int | None, message: Message) -> list[Shown]:
    """The items of one kept message; `number` is its place in the step's input, None says it is the answer."""
    kept = KEPT.decode(message.raw)
    match message.role:
        case "assistant" if message.is_silent and isinstance(kept.thought, dict):
            return [thought(step, number, kept.thought)]
        case "assistant":
            return answer(step, number, kept)
        case "tool" | "function":
            return [result(step, number or 0, kept)]
        case "user" | "system" | "developer":
            return [with_name(said(names.message_id(step, number), kept), kept.name)]


def named(message: Message, name: ItemName) -> Message | None:
    """The part of a kept message that an item's id names: its words alone, or one of its calls."""
    if message.role != "assistant":
        return message if name.call is None else None
    if message.is_silent:
        return None
    body = msgspec.json.decode(message.raw)
    calls = body.pop("tool_calls", None) or []
    if name.call is None:
        return items.message_of(body) if body.get("content") or body.get("refusal") or not calls else None
    calls = [call for call in calls if names.call_hash(call["id"]) == name.call]
    return items.message_of(items.calling(calls[0])) if calls else None


# --- one message ---


def answer(step: StepId, number: int | None, kept: Kept) -> list[Shown]:
    parts = answer_parts(kept)
    calls = kept.tool_calls or []
    words = [] if calls and not parts else [output_message(names.message_id(step, number), parts or [output_text("")])]
    return [*(with_name(item, kept.name) for item in words), *(call_item(step, number, call) for call in calls)]


def thought(step: StepId, number: int | None, kept: dict[str, Any]) -> Shown:
    id_ = names.reasoning_id(step) if number is None else names.thought_id(step, number)
    item: Shown = {**reasoning(id_, ""), "summary": [summary_part(text) for text in texts_of(kept, "summary")]}
    if content := texts_of(kept, "content"):
        item["content"] = [{"type": "reasoning_text", "text": text} for text in content]
    if sealed := text_of(kept, "sealed"):
        item["encrypted_content"] = opaque.seal(sealed, "reasoning")
    elif content_of_others := text_of(kept, "encrypted_content"):
        item["encrypted_content"] = content_of_others
    return item


def answer_parts(kept: Kept) -> list[Shown]:
    content = kept.content
    parts: list[Shown] = [output_text(content)] if isinstance(content, str) and content else []
    for part in content if isinstance(content, list) else ():
        if part.refusal is not None:
            parts.append(refusal_part(part.refusal))
        else:
            parts.append(output_text(part.text or f"[{part.type}]"))
    return [*parts, refusal_part(kept.refusal)] if kept.refusal is not None else parts


def said(id_: str, kept: Kept) -> Shown:
    return {
        "id": id_,
        "type": "message",
        "status": "completed",
        "role": kept.role,
        "content": input_parts(kept.content),
    }


def with_name(item: Shown, name: str | None) -> Shown:
    return item if name is None else {**item, "name": name}


def result(step: StepId, number: int, kept: Kept) -> Shown:
    content = kept.content
    return {
        "id": names.result_id(step, number),
        "type": "function_call_output",
        "status": "completed",
        "call_id": kept.tool_call_id or kept.name or "",
        "output": content if isinstance(content, str) else input_parts(content),
    }


def call_item(step: StepId, number: int | None, call: Call) -> Shown:
    if call.type == "custom" and isinstance(call.custom, dict):
        return {
            "id": names.call_item_id(step, number, call.id, custom=True),
            "type": "custom_tool_call",
            "status": "completed",
            "call_id": call.id,
            "name": text_of(call.custom, "name"),
            "input": text_of(call.custom, "input"),
        }
    function = call.function if isinstance(call.function, dict) else {}
    return function_call(
        names.call_item_id(step, number, call.id), call.id, text_of(function, "name"), text_of(function, "arguments")
    )


def input_parts(content: str | list[Part] | None) -> list[Shown]:
    if isinstance(content, list):
        return [input_part(part) for part in content]
    return [input_text(content or "")]


def input_part(part: Part) -> Shown:
    match part.type:
        case "image_url":
            image = part.image_url if isinstance(part.image_url, dict) else {}
            detail = image.get("detail")
            return {
                "type": "input_image",
                "image_url": text_of(image, "url"),
                "file_id": None,
                "detail": detail if detail in DETAILS else "auto",
            }
        case "file" if isinstance(part.file, dict):
            known = {name: part.file[name] for name in ("filename", "file_data", "file_id") if part.file.get(name)}
            return {"type": "input_file", **known}
        case _:
            return input_text(part.text if part.text is not None else f"[{part.type}]")


def text_of(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""


def texts_of(body: dict[str, Any], name: str) -> list[str]:
    parts = body.get(name)
    return [text_of(part, "text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


# --- the shapes ---


def input_text(text: str) -> Shown:
    return {"type": "input_text", "text": text}


def output_text(text: str, logprobs: list[Any] | None = None) -> Shown:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs or []}


def refusal_part(text: str) -> Shown:
    return {"type": "refusal", "refusal": text}


def summary_part(text: str) -> Shown:
    return {"type": "summary_text", "text": text}


def output_message(id_: str, parts: list[Shown], status: Status = "completed") -> Shown:
    return {"id": id_, "type": "message", "status": status, "role": "assistant", "content": parts}


def function_call(id_: str, call_id: str, name: str, arguments: str, status: Status = "completed") -> Shown:
    return {
        "id": id_,
        "type": "function_call",
        "status": status,
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
    }


def reasoning(id_: str, text: str, status: Status = "completed", *, sealed: bool = False) -> Shown:
    item: Shown = {"id": id_, "type": "reasoning", "status": status, "summary": [summary_part(text)] if text else []}
    return {**item, "encrypted_content": opaque.seal(text, "reasoning")} if sealed else item


def compaction(step: StepId, text: str) -> Shown:
    return {
        "id": names.compaction_id(step),
        "type": "compaction",
        "encrypted_content": opaque.seal(text, "compaction"),
    }
