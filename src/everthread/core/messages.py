"""A message: the one internal form of what was said.

`raw` is the message as JSON, exactly as it came in, and is what is stored and sent on. The other fields are
what the rest of the house needs to know about it without reading that JSON again.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import msgspec

Role = Literal["system", "developer", "user", "assistant", "tool", "function"]


class Message(msgspec.Struct, frozen=True, gc=False):
    role: Role
    raw: bytes
    text: str = ""  # its words, without images, files or tool calls
    name: str | None = None  # the speaker, in a group
    calls: tuple[str, ...] = ()  # ids of the tool calls an assistant's message makes
    answers: str | None = None  # the call id a tool's message answers
    images: int = 0
    bulk: int = 0  # bytes of parts that are neither text nor image

    @property
    def is_instruction(self) -> bool:
        return self.role in {"system", "developer"}

    @property
    def is_silent(self) -> bool:
        """It only says what an assistant thought; no model is shown that again."""
        return self.role == "assistant" and not self.text and not self.calls and b'"thought":' in self.raw


def say(role: Role, text: str) -> Message:
    """A plain text message made by the server itself."""
    return Message(role=role, raw=msgspec.json.encode({"role": role, "content": text}), text=text)


def array(messages: tuple[Message, ...]) -> bytes:
    """The messages as one JSON array."""
    return b"[" + b",".join(message.raw for message in messages) + b"]"


def begins_with_result(messages: tuple[Message, ...]) -> bool:
    """They go on with a turn: a tool's result comes first."""
    return bool(messages) and messages[0].answers is not None


def with_continuations(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages with an answer that went on after a pause as one."""
    if not any(one.role == two.role == "assistant" for one, two in pairwise(messages)):
        return messages
    whole: list[Message] = []
    for message in messages:
        if message.role == "assistant" and whole and whole[-1].role == "assistant" and not whole[-1].calls:
            begun = whole.pop()
            body = msgspec.json.decode(message.raw)
            body["content"] = begun.text + message.text
            message = msgspec.structs.replace(message, raw=msgspec.json.encode(body), text=body["content"])  # noqa: PLW2901
        whole.append(message)
    return tuple(whole)
