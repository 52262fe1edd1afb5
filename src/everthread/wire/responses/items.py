"""Input items, read: what the client brings, as messages of the one internal form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from everthread.core.messages import Message, say
from everthread.errors import Malformed
from everthread.wire import chat, json
from everthread.wire.responses import opaque
from everthread.wire.responses.parts import PartIn, answer_body, parts_body

MOST_ITEMS = 5000


# --- what an item is ---


class Said(msgspec.Struct, frozen=True):
    """Messages of the conversation: mostly one; a call that was answered elsewhere is two, and what is of no use here
    is none."""

    messages: tuple[Message, ...]


class Referred(msgspec.Struct, frozen=True):
    """An item the server knows: it is named instead of said."""

    id: str
    param: str


class Thought(msgspec.Struct, frozen=True):
    """A model's reasoning: kept in a conversation, and never sent to a model."""

    read: ReasoningIn


class Compacted(msgspec.Struct, frozen=True):
    """All that came before, in short."""

    text: str


Item = Said | Referred | Thought | Compacted

# --- what a client writes ---

Named = Annotated[str, msgspec.Meta(min_length=1)]


class Kind(msgspec.Struct):
    type: str | None = None
    role: str | None = None
    id: str | None = None


class MessageIn(msgspec.Struct):
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[PartIn]
    name: str | None = None
    phase: str | None = None


class CallIn(msgspec.Struct):
    call_id: Named
    name: Named
    arguments: str


class CustomCallIn(msgspec.Struct):
    call_id: Named
    name: Named
    input: str


class ResultIn(msgspec.Struct):
    call_id: Named
    output: str | list[PartIn]


class McpCallIn(msgspec.Struct):
    id: Named
    name: Named
    arguments: str
    output: str | None = None
    error: Any = None


class ReferenceIn(msgspec.Struct):
    id: Named


class ThoughtIn(msgspec.Struct):
    text: str = ""


class ReasoningIn(msgspec.Struct):
    id: str | None = None
    summary: list[ThoughtIn] | None = None
    content: list[ThoughtIn] | None = None
    encrypted_content: str | None = None


class CompactionIn(msgspec.Struct):
    encrypted_content: str


KIND = msgspec.json.Decoder(Kind)
MESSAGE = msgspec.json.Decoder(MessageIn)
CALL = msgspec.json.Decoder(CallIn)
CUSTOM_CALL = msgspec.json.Decoder(CustomCallIn)
RESULT = msgspec.json.Decoder(ResultIn)
MCP_CALL = msgspec.json.Decoder(McpCallIn)
REFERENCE = msgspec.json.Decoder(ReferenceIn)
REASONING = msgspec.json.Decoder(ReasoningIn)
COMPACTION = msgspec.json.Decoder(CompactionIn)
INPUT = msgspec.json.Decoder(str | list[msgspec.Raw] | None)


def decode_input(raw: msgspec.Raw | bytes, param: str = "input") -> tuple[Item, ...]:
    """The items of an `input` field: a text is one user message."""
    said = json.value(raw, INPUT, param)
    if isinstance(said, str):
        return (Said((say("user", said),)),) if said else ()
    return decode_items(said or (), param)


def decode_items(raws: Sequence[msgspec.Raw | bytes], param: str = "items") -> tuple[Item, ...]:
    if len(raws) > MOST_ITEMS:
        raise Malformed(f"{param} has {len(raws)} items; the limit is {MOST_ITEMS}.", param=param)
    return tuple(decode(raw, f"{param}[{number}]") for number, raw in enumerate(raws))


def decode(raw: msgspec.Raw | bytes, param: str = "item") -> Item:
    """One item, or Malformed with the field's path."""
    kind = json.value(raw, KIND, param)
    name = kind.type or ("message" if kind.role is not None or kind.id is None else "item_reference")
    read = READERS.get(name)
    if read is None:
        raise Malformed(
            f"{param}.type is {name}; an item of this type cannot be used here. Leave it out, or send what it says "
            "as a message.",
            param=f"{param}.type",
        )
    return read(raw, param)


def decode_message(raw: msgspec.Raw | bytes, param: str) -> Item:
    read = json.value(raw, MESSAGE, param)
    body: dict[str, object] = {"role": read.role}
    if isinstance(read.content, str):
        body["content"] = read.content
    elif read.role == "assistant":
        body |= answer_body(read.content, f"{param}.content")
    else:
        if not read.content:
            raise Malformed(f"{param}.content is empty; at least one part is needed.", param=f"{param}.content")
        body["content"] = parts_body(read.content, f"{param}.content")
    if read.name is not None:
        body["name"] = read.name
    return said(body)


def decode_call(raw: msgspec.Raw | bytes, param: str) -> Item:
    read = json.value(raw, CALL, param)
    return said(calling(function_call(read.call_id, read.name, read.arguments)))


def decode_custom_call(raw: msgspec.Raw | bytes, param: str) -> Item:
    read = json.value(raw, CUSTOM_CALL, param)
    return said(calling({"id": read.call_id, "type": "custom", "custom": {"name": read.name, "input": read.input}}))


def decode_result(raw: msgspec.Raw | bytes, param: str) -> Item:
    read = json.value(raw, RESULT, param)
    output = read.output if isinstance(read.output, str) else parts_body(read.output, f"{param}.output")
    return said({"role": "tool", "tool_call_id": read.call_id, "content": output})


def decode_mcp_call(raw: msgspec.Raw | bytes, param: str) -> Item:
    """A call that a server ran: the model is shown the call and what it gave."""
    read = json.value(raw, MCP_CALL, param)
    failed = "" if read.error is None else msgspec.json.encode(read.error).decode()
    return said(
        calling(function_call(read.id, read.name, read.arguments)),
        {"role": "tool", "tool_call_id": read.id, "content": read.output if read.output is not None else failed},
    )


def decode_reference(raw: msgspec.Raw | bytes, param: str) -> Item:
    return Referred(json.value(raw, REFERENCE, param).id, param)


def decode_reasoning(raw: msgspec.Raw | bytes, param: str) -> Item:
    return Thought(json.value(raw, REASONING, param))


def decode_compaction(raw: msgspec.Raw | bytes, param: str) -> Item:
    read = json.value(raw, COMPACTION, param)
    return Compacted(opaque.unseal(read.encrypted_content, "compaction", f"{param}.encrypted_content"))


READERS: dict[str, Callable[[msgspec.Raw | bytes, str], Item]] = {
    "compaction": decode_compaction,
    "custom_tool_call": decode_custom_call,
    "custom_tool_call_output": decode_result,
    "function_call": decode_call,
    "function_call_output": decode_result,
    "item_reference": decode_reference,
    "mcp_call": decode_mcp_call,
    "mcp_list_tools": lambda _raw, _param: Said(()),
    "message": decode_message,
    "reasoning": decode_reasoning,
}


def function_call(call_id: str, name: str, arguments: str) -> dict[str, object]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(call: dict[str, object]) -> dict[str, object]:
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def said(*bodies: dict[str, object]) -> Said:
    return Said(tuple(message_of(body) for body in bodies))


def message_of(body: dict[str, object]) -> Message:
    raw = msgspec.json.encode(body)
    return chat.message_of(chat.MESSAGE.decode(raw), raw)


# --- items as a conversation ---


def current(items: Sequence[Item]) -> Sequence[Item]:
    """The items from the newest compaction on: what came before it is in it."""
    starts = [number for number, item in enumerate(items) if isinstance(item, Compacted)]
    return items[starts[-1] :] if starts else items


def references(items: Sequence[Item]) -> tuple[str, ...]:
    """The ids of items that the server must look up, each once."""
    return tuple(dict.fromkeys(item.id for item in current(items) if isinstance(item, Referred)))


def messages(
    items: Sequence[Item], resolved: Mapping[str, Sequence[Message]], *, thoughts: bool = False
) -> tuple[Message, ...]:
    """The items as messages; calls that stand together are one assistant's message, with the words beside them.

    `thoughts`: those are messages too, which no model is shown."""
    told: list[list[Message]] = []
    spoken = 0  # the place of the last that is not silent
    for item in current(items):
        for message in told_by(item, resolved, thoughts=thoughts):
            if told and is_part(told[spoken], message, beside=spoken == len(told) - 1):
                told[spoken].append(message)
                continue
            if not message.is_silent:
                spoken = len(told)
            told.append([message])
    return tuple(joined(together) if len(together) > 1 else together[0] for together in told)


def told_by(item: Item, resolved: Mapping[str, Sequence[Message]], *, thoughts: bool) -> Sequence[Message]:
    match item:
        case Said(messages=said_there):
            return said_there
        case Referred(id=id_, param=param):
            if id_ not in resolved:
                raise Malformed(f"There is no item {id_!r} here; send the item itself.", param=f"{param}.id")
            return resolved[id_]
        case Compacted(text=text):
            return (say("system", text),)
        case Thought(read=read):
            return (thought(read),) if thoughts else ()


def thought(read: ReasoningIn) -> Message:
    """A message that says nothing but what was thought. What was sealed here is kept open, like all words."""
    body: dict[str, object] = {"summary": read.summary or []}
    if read.content:
        body["content"] = read.content
    if read.encrypted_content:
        try:
            body["sealed"] = opaque.unseal(read.encrypted_content, "reasoning")
        except Malformed:  # another server's, or none's: it is kept as it came
            body["encrypted_content"] = read.encrypted_content
    return message_of({"role": "assistant", "content": "", "thought": body})


def is_part(together: Sequence[Message], message: Message, *, beside: bool) -> bool:
    """Whether a message is a part of the one that is told already. Thoughts do not part an assistant's calls from what
    follows them: their results would not come next."""
    first = together[0]
    if not message.role == first.role == "assistant" or message.is_silent or first.is_silent:
        return False
    return bool(len(together) > 1 or first.calls or (beside and message.calls))


def joined(together: Sequence[Message]) -> Message:
    """Messages of an assistant as one: the words of all, the calls of all."""
    bodies: list[dict[str, Any]] = [msgspec.json.decode(message.raw) for message in together]
    body = dict(bodies[0])
    for each in bodies[1:]:
        body |= {name: value for name, value in each.items() if value is not None}
    parts = [part for each in bodies for part in content_parts(each.get("content"))]
    body["content"] = parts[0]["text"] if len(parts) == 1 and parts[0].get("type") == "text" else parts or None
    body["tool_calls"] = [call for each in bodies for call in each.get("tool_calls") or ()]
    if refusals := [each["refusal"] for each in bodies if each.get("refusal")]:
        body["refusal"] = "\n".join(refusals)
    return message_of(body)


def content_parts(content: str | list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content or []
