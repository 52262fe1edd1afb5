"""A conversation retold for a small model: only roles that every chat template knows, calls as JSON."""

from __future__ import annotations

import json

import msgspec

from everthread.core.messages import Message, say
from everthread.errors import RejectedUpstream


class PastFunction(msgspec.Struct, frozen=True):
    name: str
    arguments: str = "{}"


class PastCall(msgspec.Struct, frozen=True):
    function: PastFunction
    id: str = ""


class Past(msgspec.Struct, frozen=True):
    """What there may be to retell in a message."""

    tool_calls: list[PastCall] | None = None
    name: str | None = None


UNSEEN = "[something that is not text]"
CONTROL = "<|"  # how the control tokens of every model here begin: <|im_start|>, <|im_end|>, <|endoftext|>
DISARMED = "<\u200b|"


def is_text(message: Message) -> bool:
    return not message.images and not message.bulk


def disarmed(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The same words, in which nothing is taken for a control token: a quoted one could speak in another's name."""
    return tuple(_disarmed(message) if CONTROL in message.text else message for message in messages)


def _disarmed(message: Message) -> Message:
    body = msgspec.json.decode(message.raw)
    if isinstance(body["content"], str):
        body["content"] = body["content"].replace(CONTROL, DISARMED)
    else:
        for part in body["content"]:
            if isinstance(part.get("text"), str):
                part["text"] = part["text"].replace(CONTROL, DISARMED)
    text = message.text.replace(CONTROL, DISARMED)
    return msgspec.structs.replace(message, raw=msgspec.json.encode(body), text=text)


def retold(messages: tuple[Message, ...], instruction: str) -> tuple[Message, ...]:
    """The messages in the roles that every chat template knows, with one system message at the head."""
    start = next((at for at, each in enumerate(messages) if not each.is_instruction), len(messages))
    head = "\n\n".join(text for text in (*(each.text for each in messages[:start]), instruction) if text)
    names: dict[str, str] = {}  # call id -> the function's name
    told = [say("system", head)] if head else []
    told.extend(_retold(each, names) for each in messages[start:])
    return tuple(told)


def _retold(message: Message, names: dict[str, str]) -> Message:
    match message.role:
        case "user" | "system":
            return message if is_text(message) else say(message.role, f"{message.text}\n{UNSEEN}".strip())
        case "developer":
            return say("system", message.text)
        case "assistant":
            calls = _past(message).tool_calls or []
            names.update((call.id, call.function.name) for call in calls)
            lines = [message.text] if message.text else []
            lines += [call_text(call.function.name, call.function.arguments) for call in calls]
            return say("assistant", "\n".join(lines)) if calls else message
        case "tool" | "function":
            name = _past(message).name or names.get(message.answers or "", "tool")
            call = f" ({message.answers})" if message.answers else ""
            return say("user", f"[result of {name}{call}]: {message.text}")


def _past(message: Message) -> Past:
    try:
        return msgspec.json.decode(message.raw, type=Past)
    except msgspec.ValidationError as error:
        raise RejectedUpstream(f"A message with tool calls cannot be read: {error}", param="messages") from error


def call_text(name: str, arguments: str) -> str:
    """A call as the model itself would have said it."""
    try:
        values: object = json.loads(arguments or "{}")
    except ValueError:
        values = arguments
    return json.dumps({"call": name, "arguments": values}, ensure_ascii=False)
