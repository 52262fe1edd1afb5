"""What a request sets, in the chat form for the model's server, and as a Response shows it again."""

from __future__ import annotations

import msgspec

from everthread.core.turn import Keep, Options
from everthread.wire import json
from everthread.wire.json import NULL
from everthread.wire.responses.fields import (
    KNOWN,
    ChoiceIn,
    FormatIn,
    Includable,
    Mode,
    ReasoningIn,
    Settings,
    TextIn,
    ToolIn,
)

LOGPROBS: Includable = "message.output_text.logprobs"
SEALED_THOUGHTS: Includable = "reasoning.encrypted_content"

# Known, and the same in the chat form: they are passed on as they came.
SHARED = {
    "frequency_penalty",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "temperature",
    "top_p",
    "user",
}


def upstream(settings: Settings, fields: dict[str, msgspec.Raw]) -> Options:
    """The request's fields in the chat form; unknown ones as they came."""
    mapped: dict[str, object] = {}
    if tools := allowed(settings):
        mapped["tools"] = [chat_tool(tool) for tool in tools]
        mapped["tool_choice"] = chat_choice(settings.tool_choice)
        mapped["parallel_tool_calls"] = settings.parallel_tool_calls
    if settings.text:
        mapped["response_format"] = chat_format(settings.text.format)
        mapped["verbosity"] = settings.text.verbosity
    if settings.reasoning:
        mapped["reasoning_effort"] = settings.reasoning.effort
    mapped["max_completion_tokens"] = settings.max_output_tokens
    if LOGPROBS in (settings.include or ()) or settings.top_logprobs:
        mapped["logprobs"] = True
        mapped["top_logprobs"] = settings.top_logprobs
    passed = {name: bytes(raw) for name, raw in fields.items() if raw != NULL and passes(name)}
    return tuple(
        {**passed, **{name: msgspec.json.encode(value) for name, value in mapped.items() if value is not None}}.items()
    )


def passes(name: str) -> bool:
    return name in SHARED or name not in KNOWN


def allowed(settings: Settings) -> list[ToolIn]:
    """The tools the model may call."""
    tools, choice = settings.tools or [], settings.tool_choice
    if not isinstance(choice, ChoiceIn) or choice.type != "allowed_tools":
        return tools
    names = {tool.name for tool in choice.tools or ()}
    return [tool for tool in tools if tool.name in names]


def chat_tool(tool: ToolIn) -> dict[str, object]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": tool.strict,
    }
    return {"type": "function", "function": {name: value for name, value in function.items() if value is not None}}


def chat_choice(choice: Mode | ChoiceIn | None) -> object:
    if not isinstance(choice, ChoiceIn):
        return choice
    if choice.type == "allowed_tools":
        return choice.mode or "auto"
    return {"type": "function", "function": {"name": choice.name}}


def chat_format(form: FormatIn | None) -> dict[str, object] | None:
    if form is None or form.type == "text":
        return None
    if form.type == "json_object":
        return {"type": "json_object"}
    schema = {"name": form.name, "description": form.description, "schema": form.schema, "strict": form.strict}
    return {
        "type": "json_schema",
        "json_schema": {name: value for name, value in schema.items() if value is not None},
    }


# --- back to the client ---


class Wishes(msgspec.Struct):
    """What is kept of a request beside what is shown of it."""

    include: list[str] = []


WISHES = msgspec.json.Decoder(Wishes)


def shown_again(keep: Keep) -> dict[str, msgspec.Raw]:
    """The fields of a request that its Response shows."""
    return {name: raw for name, raw in json.FIELDS.decode(keep.request).items() if name not in Wishes.__struct_fields__}


def seals_thoughts(keep: Keep) -> bool:
    """Whether the client wants reasoning in a form that it can send back."""
    return SEALED_THOUGHTS in WISHES.decode(keep.request).include


def echo(settings: Settings, *, store: bool) -> bytes:
    """What every Response made of this request shows again, and what it is made by, as a JSON object."""
    reasoning = settings.reasoning or ReasoningIn()
    shown: dict[str, object] = {
        "instructions": settings.instructions,
        "tools": [shown_tool(tool) for tool in settings.tools or ()],
        "tool_choice": shown_choice(settings.tool_choice),
        "parallel_tool_calls": settings.parallel_tool_calls is not False,
        "temperature": given(settings.temperature, 1.0),
        "top_p": given(settings.top_p, 1.0),
        "presence_penalty": given(settings.presence_penalty, 0.0),
        "frequency_penalty": given(settings.frequency_penalty, 0.0),
        "top_logprobs": settings.top_logprobs or 0,
        "max_output_tokens": settings.max_output_tokens,
        "max_tool_calls": settings.max_tool_calls,
        "text": shown_text(settings.text or TextIn()),
        "reasoning": {"effort": reasoning.effort, "summary": reasoning.summary or reasoning.generate_summary},
        "truncation": settings.truncation or "disabled",
        "store": store,
        "background": bool(settings.background),
        "service_tier": shown_tier(settings.service_tier),
        "safety_identifier": settings.safety_identifier,
        "prompt": None,
        "prompt_cache_key": settings.prompt_cache_key,
        "prompt_cache_retention": settings.prompt_cache_retention,
    }
    if settings.model:
        shown["model"] = settings.model
    if settings.user is not None:
        shown["user"] = settings.user
    if settings.include:
        shown["include"] = settings.include
    return msgspec.json.encode(shown)


def given(value: float | None, default: float) -> float:
    return default if value is None else value


def shown_tool(tool: ToolIn) -> dict[str, object]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": tool.strict,
    }


def shown_choice(choice: Mode | ChoiceIn | None) -> object:
    if not isinstance(choice, ChoiceIn):
        return choice or "auto"
    if choice.type == "allowed_tools":
        tools = [{"type": "function", "name": tool.name} for tool in choice.tools or ()]
        return {"type": "allowed_tools", "mode": choice.mode or "auto", "tools": tools}
    return {"type": "function", "name": choice.name}


def shown_text(text: TextIn) -> dict[str, object]:
    form = text.format
    shown: dict[str, object] = {"type": form.type if form else "text"}
    if form and form.type == "json_schema":
        shown |= {
            "name": form.name,
            "description": form.description,
            "schema": form.schema,
            "strict": form.strict or False,
        }
    return {"format": shown, "verbosity": text.verbosity or "medium"}


def shown_tier(tier: str | None) -> str:
    """What the tier is called once it was used."""
    if tier is None or tier == "auto":
        return "default"
    return "priority" if tier == "fast" else tier
