"""Long tool results and pasted blobs, as later prompts see them: their ends, and where the whole is.

By characters and not by tokens: the same message must become the same bytes on every turn, at no cost."""

from __future__ import annotations

import msgspec

from everthread.core.ids import StepId
from everthread.core.messages import Message
from everthread.core.ports import Past


class Limits(msgspec.Struct, frozen=True):
    """The longest text that stays whole, in characters."""

    said: int
    result: int  # a tool's


def limits(budget: int) -> Limits:
    """About a quarter of the budget for what people and models say, an eighth for what tools return."""
    return Limits(said=budget, result=budget // 2)


def shown(step: Past, limit: Limits) -> tuple[Message, ...]:
    """A past step's messages, the long ones shortened."""
    if step.size <= 2 * limit.result:  # none of them can be that long
        return step.messages
    return shortened(step.messages, step.turn, limit)


def shortened(messages: tuple[Message, ...], turn: StepId | None, limit: Limits) -> tuple[Message, ...]:
    return tuple(
        message if len(message.text) <= most else cut(message, turn, most)
        for message in messages
        for most in (limit.result if message.role == "tool" else limit.said,)
    )


def cut(message: Message, turn: StepId | None, most: int) -> Message:
    """The message with each long text in it cut to its beginning and its end."""
    body = msgspec.json.decode(message.raw)
    content = body.get("content")
    if isinstance(content, str):
        body["content"] = text = ends(content, turn, most)
        return msgspec.structs.replace(message, raw=msgspec.json.encode(body), text=text)
    if not isinstance(content, list):
        return message
    room = most
    words = []
    for part in content:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            part["text"] = ends(part["text"], turn, max(room, most // 8))
            room -= len(part["text"])
            words.append(part["text"])
    return msgspec.structs.replace(message, raw=msgspec.json.encode(body), text="\n".join(words))


def ends(text: str, turn: StepId | None, most: int) -> str:
    if len(text) <= most:
        return text
    first, last = most * 6 // 10, len(text) - most * 2 // 10
    where = f"turn {turn}, " if turn else ""
    return f"{text[:first]}\n[... {last - first} characters left out: {where}{first}-{last} ...]\n{text[last:]}"
