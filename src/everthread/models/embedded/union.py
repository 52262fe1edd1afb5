"""Tools for a model without a working tool template: it answers in one JSON union of reply or call.

The tools become a schema that the model's grammar enforces, and a few lines of instruction."""

from __future__ import annotations

import json

import msgspec

from everthread.core.turn import Options, Prompt
from everthread.errors import RejectedUpstream
from everthread.models.embedded.retell import retold

OURS = {"tools", "tool_choice", "parallel_tool_calls"}
REPLACED = {*OURS, "response_format", "logprobs", "top_logprobs"}
ANY_OBJECT: dict[str, object] = {"type": "object"}


class Function(msgspec.Struct, frozen=True):
    name: str
    description: str | None = None
    parameters: dict[str, object] | None = None

    @property
    def accepts(self) -> dict[str, object]:
        return self.parameters or {"type": "object", "properties": {}}


class Tool(msgspec.Struct, frozen=True):
    function: Function
    type: str = "function"


class Named(msgspec.Struct, frozen=True):
    name: str


class Chosen(msgspec.Struct, frozen=True):
    """A tool_choice that names a function."""

    function: Named


class JsonSchema(msgspec.Struct, frozen=True):
    schema: dict[str, object] = {}


class Format(msgspec.Struct, frozen=True):
    """A response_format."""

    type: str
    json_schema: JsonSchema = JsonSchema()

    def reply(self) -> dict[str, object]:
        match self.type:
            case "json_schema":
                return self.json_schema.schema
            case "json_object":
                return ANY_OBJECT
            case _:
                return {"type": "string"}


class Union(msgspec.Struct, frozen=True):
    """What the model may answer: a reply of a certain form, or a call of one of these functions."""

    functions: tuple[Function, ...]
    reply: dict[str, object] | None  # None: it must call

    @property
    def replies_in_words(self) -> bool:
        return self.reply == {"type": "string"}

    def schema(self) -> dict[str, object]:
        """Each tool's own schema stands whole under `$defs`, its references moved along with it."""
        definitions: dict[str, object] = {}
        options: list[dict[str, object]] = []
        if self.reply is not None:
            definitions["reply"] = moved(self.reply, "#/$defs/reply")
            options.append(record(reply={"$ref": "#/$defs/reply"}))
        for number, function in enumerate(self.functions):
            place = f"#/$defs/tool{number}"
            definitions[f"tool{number}"] = moved(function.accepts, place)
            options.append(record(call={"const": function.name}, arguments={"$ref": place}))
        return {"anyOf": options, "$defs": definitions}

    def instruction(self) -> str:
        """What the model is told; its order and words were chosen by trying them on Qwen2.5-Coder-1.5B."""
        lines = ["Tools:"]
        for each in self.functions:
            about = f" {each.description}" if each.description else ""
            lines.append(f"- {each.name}:{about} Parameters: {json.dumps(each.accepts, ensure_ascii=False)}")
        call = '{"call": "<tool>", "arguments": {...}}'
        if self.reply is None:
            lines.append(f"Answer with one JSON object that calls a tool: {call}.")
        else:
            lines.append(
                "Answer with one JSON object. To answer from your own knowledge or from a tool's result that "
                'you already have: {"reply": "<your answer>"}. To use a tool, only when the user asks for '
                f"exactly what it does: {call}."
            )
        return "\n".join(lines)


class Request(msgspec.Struct, frozen=True):
    """The fields of a request that decide what may be answered."""

    tools: list[Tool] | None = None
    tool_choice: str | Chosen | None = None
    response_format: Format | None = None


def union(options: Options) -> Union | None:
    """What the request's tools and tool_choice allow; None when there is nothing to call."""
    asked = _request(options)
    functions = tuple(tool.function for tool in asked.tools or () if tool.type == "function")
    choice = asked.tool_choice
    if not functions or choice == "none":
        return None
    if choice in {None, "auto"}:
        return Union(functions, (asked.response_format or Format("text")).reply())
    if choice == "required":
        return Union(functions, None)
    wanted = choice.function.name if isinstance(choice, Chosen) else None
    named = tuple(each for each in functions if each.name == wanted)
    if not named:
        raise RejectedUpstream("tool_choice must be none, auto, required or a function of tools.", param="tool_choice")
    return Union(named, None)


def _request(options: Options) -> Request:
    fields = {name: msgspec.Raw(raw) for name, raw in options if name in Request.__struct_fields__}
    try:
        return msgspec.json.decode(msgspec.json.encode(fields), type=Request)
    except msgspec.ValidationError as error:
        raise RejectedUpstream(f"The embedded model cannot use this request's tools: {error}") from error


def prompt_for(prompt: Prompt, allowed: Union | None) -> Prompt:
    """The prompt as the embedded model is asked it: without tools, or with the union in their place."""
    options = prompt.options
    if allowed is None:
        options = tuple(each for each in options if each[0] not in OURS)
    else:
        form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": allowed.schema()}}
        kept = tuple(each for each in options if each[0] not in REPLACED)
        options = (*kept, ("response_format", msgspec.json.encode(form)))
    messages = retold(prompt.messages, allowed.instruction() if allowed else "")
    return msgspec.structs.replace(prompt, messages=messages, options=options)


def record(**fields: object) -> dict[str, object]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def moved(value: object, place: str) -> dict[str, object]:
    """A schema as it stands at another place of a document; one that allows anything allows any object."""
    there = _moved(value, place)
    return there if isinstance(there, dict) and there else ANY_OBJECT


def _moved(value: object, place: str) -> object:
    match value:
        case {"$ref": str(pointer), **others} if pointer.startswith("#"):
            beside = {name: _moved(part, place) for name, part in others.items()}  # what it refers to may be among them
            return {**beside, "$ref": f"{place}{pointer.removeprefix('#')}"}
        case {"properties": dict(properties), **others}:
            known = {name: _moved({} if part is True else part, place) for name, part in properties.items()}
            return {**{name: _moved(part, place) for name, part in others.items()}, "properties": known}
        case dict():
            return {name: _moved(part, place) for name, part in value.items()}
        case list():
            return [_moved(part, place) for part in value]
        case _:
            return value
