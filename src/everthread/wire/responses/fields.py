"""The fields of a request beside its input: of the right type, and possible together."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

import msgspec

from everthread.errors import Malformed
from everthread.wire import chat, json
from everthread.wire.json import NULL

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Penalty = Annotated[float, msgspec.Meta(ge=-2, le=2)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Mode = Literal["none", "auto", "required"]
Includable = Literal[
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
    "web_search_call.action.sources",
    "web_search_call.results",
]


class ToolIn(msgspec.Struct):
    type: str
    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ChoiceIn(msgspec.Struct):
    type: str
    name: str | None = None
    mode: Mode | None = None
    tools: list[ToolIn] | None = None


class FormatIn(msgspec.Struct):
    type: Literal["text", "json_object", "json_schema"]
    name: str | None = None
    description: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool | None = None


class TextIn(msgspec.Struct):
    format: FormatIn | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ReasoningIn(msgspec.Struct):
    effort: str | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None
    generate_summary: Literal["auto", "concise", "detailed"] | None = None


class ManagementIn(msgspec.Struct):
    type: str
    compact_threshold: Count | None = None


class ConversationIn(msgspec.Struct):
    id: Annotated[str, msgspec.Meta(min_length=1)]


class StreamOptionsIn(msgspec.Struct):
    include_obfuscation: bool | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a request whose type we know; null and absent are the same."""

    access_programs: dict[str, Any] | None = None
    background: bool | None = None
    context_management: list[ManagementIn] | None = None
    conversation: str | ConversationIn | None = None
    frequency_penalty: Penalty | None = None
    generate: bool | None = None
    image: dict[str, Any] | None = None
    include: list[Includable] | None = None
    instructions: str | None = None
    max_output_tokens: Count | None = None
    max_tool_calls: Annotated[int, msgspec.Meta(ge=0)] | None = None
    model: str | None = None
    moderation: dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    presence_penalty: Penalty | None = None
    previous_response_id: str | None = None
    prompt: dict[str, Any] | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    reasoning: ReasoningIn | None = None
    safety_identifier: str | None = None
    seed: int | None = None
    service_tier: str | None = None
    stop: str | list[str] | None = None
    store: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptionsIn | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    text: TextIn | None = None
    tool_choice: Mode | ChoiceIn | None = None
    tools: list[ToolIn] | None = None
    top_logprobs: Annotated[int, msgspec.Meta(ge=0, le=20)] | None = None
    top_p: Share | None = None
    truncation: Literal["auto", "disabled"] | None = None
    user: str | None = None


WORDS = msgspec.json.Decoder(list[str] | None)
KNOWN = {field.name: msgspec.json.Decoder(field.type) for field in msgspec.structs.fields(Settings)}

# Fields of the chat form, and what they are called here.
MOVED = {
    "function_call": "tool_choice",
    "functions": "tools",
    "max_completion_tokens": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "messages": "input",
    "reasoning_effort": "reasoning.effort",
    "response_format": "text.format",
    "verbosity": "text.verbosity",
}


def read(fields: dict[str, msgspec.Raw]) -> Settings:
    """The known fields, each of the type it must have, and possible together."""
    for name, new in MOVED.items():
        if fields.get(name, NULL) != NULL:
            raise Malformed(f"{name} is a field of chat completions; use {new}.", param=name)
    if fields.get("n", NULL) not in (NULL, msgspec.Raw(b"1")):
        raise Malformed("A response has one answer; leave n out.", param="n")
    check_include(fields.get("include", NULL))
    known = {name: json.value(raw, KNOWN[name], name) for name, raw in fields.items() if name in KNOWN}
    settings = Settings(**known)
    check_tools(settings)
    check_format(settings)
    return settings


def in_these_names(said: str) -> str:
    """A message that begins with a field of the chat form, with the name that the field has here."""
    field, space, rest = said.partition(" ")
    return f"{MOVED.get(field, field)}{space}{rest}"


# --- checks ---


def check_include(raw: msgspec.Raw) -> None:
    known = get_args(Includable)
    for number, name in enumerate(json.value(raw, WORDS, "include") or ()):
        if name not in known:
            param = f"include[{number}]"
            raise Malformed(f"{param} is {name[:100]!r}; these are known: {', '.join(known)}.", param=param)


def check_tools(settings: Settings) -> None:
    for number, tool in enumerate(settings.tools or ()):
        check_function(tool, f"tools[{number}]")
    have = {tool.name for tool in settings.tools or ()}
    choice = settings.tool_choice
    if choice == "required" and not have:
        raise Malformed("tool_choice is required, but there are no tools.", param="tool_choice")
    if not isinstance(choice, ChoiceIn):
        return
    if choice.type == "function":
        if choice.name is None:
            raise chat.missing("tool_choice.name", "for a function")
        check_offered(choice.name, have, "tool_choice.name")
    elif choice.type == "allowed_tools":
        if not choice.tools:
            raise chat.missing("tool_choice.tools", "for allowed_tools")
        for number, tool in enumerate(choice.tools):
            check_function(tool, f"tool_choice.tools[{number}]")
            check_offered(tool.name, have, f"tool_choice.tools[{number}].name")
    else:
        raise only_functions(choice.type, "tool_choice.type")


def check_function(tool: ToolIn, param: str) -> None:
    if tool.type != "function":
        raise only_functions(tool.type, f"{param}.type")
    if not tool.name:
        raise chat.missing(f"{param}.name", "for a function")
    if len(tool.name) > 256:
        raise Malformed(f"{param}.name is {len(tool.name)} characters long; the limit is 256.", param=f"{param}.name")


def check_offered(name: str | None, have: set[str | None], param: str) -> None:
    if name not in have:
        raise Malformed(f"{param} is {name}, but tools has no such function.", param=param)


def only_functions(kind: str, param: str) -> Malformed:
    return Malformed(f"{param} is {kind}; only function tools can be run here.", param=param)


def check_format(settings: Settings) -> None:
    form = settings.text.format if settings.text else None
    if form is None or form.type != "json_schema":
        return
    if not form.name:
        raise chat.missing("text.format.name", "for json_schema")
    if form.schema is None:
        raise chat.missing("text.format.schema", "for json_schema")
