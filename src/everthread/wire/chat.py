"""/v1/chat/completions: the request, the reply, the chunks."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Protocol

import msgspec

from everthread.core.ids import completion_id
from everthread.core.messages import Message, Role
from everthread.core.turn import (
    Choice,
    ChoiceEnded,
    Envelope,
    Finished,
    Keep,
    ModelEvent,
    Opened,
    ReasoningDelta,
    RefusalDelta,
    Started,
    TextDelta,
    ToolCallDelta,
    Turn,
    Usage,
)
from everthread.errors import Failure, Malformed
from everthread.wire import hermes, json, metadata

MOST_MESSAGES = 2000
NULL = msgspec.Raw(b"null")

# --- request ---


class Asked(msgspec.Struct, frozen=True):
    """A turn, and how the client wants to hear of it."""

    turn: Turn
    stream: bool
    include_usage: bool
    choices: int

    def whole(self, finished: Finished) -> bytes:
        """The reply as one JSON object."""
        return encode(finished, self)

    def telling(self, started: Started) -> Telling:
        """The reply as server-sent events."""
        return Chunks(started, self)

    def failed(self, error: bytes) -> bytes:
        """How a stream of which nothing was told yet says what went wrong."""
        return b"data: %s\n\n" % error

    @property
    def to(self) -> Envelope:
        return self.turn.envelope


class Telling(Protocol):
    """Events of a turn on their way to a client, each ready to be written at once."""

    def event(self, event: ModelEvent) -> bytes: ...

    def last(self, finished: Finished) -> list[bytes]: ...

    def failed(self, failure: Failure, error: bytes) -> list[bytes]: ...


class FunctionCall(msgspec.Struct):
    name: str
    arguments: str = ""


class ToolCallIn(msgspec.Struct):
    id: Annotated[str, msgspec.Meta(min_length=1)]
    type: str = "function"
    function: FunctionCall | None = None


class ImageUrl(msgspec.Struct):
    url: str


class Part(msgspec.Struct):
    type: str
    text: str | None = None
    image_url: ImageUrl | None = None


class MessageIn(msgspec.Struct):
    role: Role
    content: str | list[Part] | None = None
    name: str | None = None
    refusal: str | None = None
    tool_calls: list[ToolCallIn] | None = None
    tool_call_id: str | None = None


class FunctionIn(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    description: str | None = None
    parameters: dict[str, Any] | None = None


class ToolIn(msgspec.Struct):
    type: str
    function: FunctionIn | None = None


class StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class JsonSchema(msgspec.Struct):
    name: str
    schema: dict[str, Any] | None = None
    strict: bool | None = None


class ResponseFormat(msgspec.Struct):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


def bounded(kind: Any, low: float | None = None, high: float | None = None) -> Any:
    return Annotated[kind, msgspec.Meta(ge=low, le=high)] | None


# The fields whose type we know are checked at the door; every other field is passed upstream as it came.
TYPES: dict[str, Any] = {
    "frequency_penalty": bounded(float, -2, 2),
    "function_call": str | dict[str, Any] | None,
    "functions": list[FunctionIn] | None,
    "logit_bias": dict[str, float] | None,
    "logprobs": bool | None,
    "max_completion_tokens": bounded(int, 1),
    "max_tokens": bounded(int, 1),
    "metadata": dict[str, str] | None,
    "modalities": list[str] | None,
    "n": bounded(int, 1, 128),
    "parallel_tool_calls": bool | None,
    "presence_penalty": bounded(float, -2, 2),
    "reasoning_effort": str | None,
    "response_format": ResponseFormat | None,
    "seed": int | None,
    "service_tier": str | None,
    "stop": str | list[str] | None,
    "store": bool | None,
    "stream_options": StreamOptions | None,
    "temperature": bounded(float, 0, 2),
    "tool_choice": Literal["none", "auto", "required"] | dict[str, Any] | None,
    "tools": list[ToolIn] | None,
    "top_logprobs": bounded(int, 0, 20),
    "top_p": bounded(float, 0, 1),
    "user": str | None,
}


# What a stored completion says of the request it came from.
SHOWN_AGAIN = (
    "frequency_penalty",
    "presence_penalty",
    "response_format",
    "seed",
    "service_tier",
    "temperature",
    "tool_choice",
    "tools",
    "top_p",
)

KNOWN = {name: msgspec.json.Decoder(kind) for name, kind in TYPES.items()}
MODEL = msgspec.json.Decoder(str | None)
STREAM = msgspec.json.Decoder(bool | None)
RAWS = msgspec.json.Decoder(list[msgspec.Raw])
MESSAGE = msgspec.json.Decoder(MessageIn)


def decode(body: bytes, envelope: Envelope) -> Asked:
    """The turn a body asks for, or Malformed with the field's path."""
    fields = json.fields(body)
    raw_messages = fields.pop("messages", None)
    if raw_messages is None:
        raise Malformed("messages is required: a list of at least one message.", param="messages")
    model = json.value(fields.pop("model", NULL), MODEL, "model") or None
    stream = json.value(fields.pop("stream", NULL), STREAM, "stream") or False
    known = {name: json.value(raw, KNOWN[name], name) for name, raw in fields.items() if name in KNOWN}
    for old, new in (("functions", "tools"), ("function_call", "tool_choice")):
        if known.get(old) is not None:
            raise Malformed(f"{old} is no longer supported; use {new}.", param=old)
    if "audio" in (known.get("modalities") or ()):
        raise Malformed("Only text can be answered here; leave audio out of modalities.", param="modalities")
    if known.get("tool_choice") == "required" and not known.get("tools"):
        raise Malformed("tool_choice is required, but there are no tools.", param="tool_choice")
    messages = decode_messages(raw_messages)
    said = tuple(message for message in messages if not message.is_instruction)
    if not said:
        raise Malformed("messages has instructions only; a user message is needed.", param="messages")
    options = known.get("stream_options")
    keep = kept(fields) if known.get("store") else None
    fields.pop("store", None)
    return Asked(
        turn=Turn(
            envelope=envelope,
            messages=said,
            instructions=tuple(message for message in messages if message.is_instruction),
            model=model,
            options=tuple((name, bytes(raw)) for name, raw in fields.items() if raw != NULL),
            keep=keep,
        ),
        stream=stream,
        include_usage=bool(options and options.include_usage),
        choices=known.get("n") or 1,
    )


def kept(fields: dict[str, msgspec.Raw]) -> Keep:
    """What a stored completion shows again; its labels are ours, and not the upstream's."""
    labels = metadata.decode(fields.pop("metadata", NULL))
    asked = {name: raw for name, raw in fields.items() if name in SHOWN_AGAIN}
    return Keep(kind="completion", request=msgspec.json.encode(asked), metadata=labels)


def decode_messages(raw: msgspec.Raw | bytes) -> tuple[Message, ...]:
    raws = json.value(raw, RAWS, "messages")
    if not raws:
        raise Malformed("messages is empty; at least one message is needed.", param="messages")
    if len(raws) > MOST_MESSAGES:
        raise Malformed(f"messages has {len(raws)} items; the limit is {MOST_MESSAGES}.", param="messages")
    return tuple(decode_message(item, f"messages[{number}]") for number, item in enumerate(raws))


def decode_message(raw: msgspec.Raw | bytes, param: str = "message") -> Message:
    read = json.value(raw, MESSAGE, param)
    if read.content is None and read.role not in {"assistant", "function"}:
        raise missing(f"{param}.content", f"for role {read.role}")
    if read.role == "tool" and not read.tool_call_id:
        raise missing(f"{param}.tool_call_id", "for role tool")
    if read.role == "assistant" and read.content is None and not (read.tool_calls or read.refusal):
        raise Malformed(f"{param}: an assistant message needs content or tool_calls.", param=param)
    for number, part in enumerate(read.content if isinstance(read.content, list) else ()):
        if part.type == "text" and part.text is None:
            raise missing(f"{param}.content[{number}].text")
        if part.type == "image_url" and part.image_url is None:
            raise missing(f"{param}.content[{number}].image_url")
    return message_of(read, bytes(raw))


def missing(param: str, why: str = "") -> Malformed:
    return Malformed(f"{param} is required{f' {why}' if why else ''}.", param=param)


def message_of(read: MessageIn, raw: bytes) -> Message:
    text, images, bulk = read.content or "", 0, 0
    if isinstance(text, list):
        images = sum(part.type == "image_url" for part in text)
        bulk = len(raw) if any(part.type not in {"text", "image_url", "refusal"} for part in text) else 0
        text = "\n".join(part.text for part in text if part.text)
    return Message(
        role=read.role,
        raw=raw,
        text=text or read.refusal or "",
        name=read.name,
        calls=tuple(call.id for call in read.tool_calls) if read.tool_calls and read.role == "assistant" else (),
        answers=read.tool_call_id if read.role == "tool" else None,
        images=images,
        bulk=bulk,
    )


def stored_messages(array: bytes | str) -> tuple[Message, ...]:
    """Messages that were checked when they came in, from the JSON array they are kept as."""
    return tuple(message_of(MESSAGE.decode(raw), bytes(raw)) for raw in RAWS.decode(array))


# --- reply ---


def encode(finished: Finished, asked: Asked) -> bytes:
    """The whole reply as one JSON object."""
    step = finished.step
    return msgspec.json.encode(
        {
            "id": completion_id(step.id),
            "object": "chat.completion",
            "created": int(step.stored_at.timestamp()),
            "model": asked.turn.model or step.outcome.model,
            "choices": [encode_choice(number, choice) for number, choice in enumerate(step.outcome.choices)],
            "usage": encode_usage(step.outcome.usage),
            "system_fingerprint": step.outcome.fingerprint,
            "hermes": hermes.encode(finished),
        }
    )


def encode_choice(number: int, choice: Choice) -> dict[str, object]:
    message: dict[str, object] = {"role": "assistant", "content": choice.content, "refusal": choice.refusal}
    if choice.reasoning:
        message["reasoning_content"] = choice.reasoning
    if choice.tool_calls:
        message["tool_calls"] = [call.body() for call in choice.tool_calls]
    return {
        "index": number,
        "message": message,
        "logprobs": msgspec.Raw(choice.logprobs) if choice.logprobs else None,
        "finish_reason": choice.finish,
    }


def encode_usage(usage: Usage) -> msgspec.Raw | dict[str, object]:
    if usage.raw:
        return msgspec.Raw(usage.raw)
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


class Chunks:
    """A turn's events as server-sent events, each ready to be written at once."""

    def __init__(self, started: Started, asked: Asked) -> None:
        self._asked = asked
        self._head = b'data: {"id":"%s","object":"chat.completion.chunk","created":%d,' % (
            completion_id(started.step).encode(),
            int(started.at.timestamp()),
        )
        self._open = b""  # all that comes before a delta of choice 0
        self._ended: dict[int, str] = {}

    def event(self, event: ModelEvent) -> bytes:
        """What this event adds to the stream; nothing for those that are told at the end."""
        match event:
            case TextDelta(text=text, choice=0, logprobs=None):
                return b'%s"content":%s},"finish_reason":null}]}\n\n' % (
                    self._open,
                    msgspec.json.encode(text),
                )
            case TextDelta(text=text, choice=choice, logprobs=logprobs):
                return self._delta(choice, {"content": text}, logprobs)
            case ReasoningDelta(text=text, choice=choice):
                return self._delta(choice, {"reasoning_content": text})
            case RefusalDelta(text=text, choice=choice):
                return self._delta(choice, {"refusal": text})
            case ToolCallDelta(choice=choice):
                return self._delta(choice, {"tool_calls": [encode_call(event)]})
            case ChoiceEnded(reason=reason, choice=choice):
                self._ended[choice] = reason
                return b""
            case Opened(model=model):
                return self._begin(model)
            case Usage():
                return b""

    def last(self, finished: Finished) -> list[bytes]:
        """The closing chunks: finish reasons, the effective session, usage if asked for, [DONE]."""
        final = len(self._ended) - 1
        closing = [
            self._chunk(
                [{"index": choice, "delta": {}, "logprobs": None, "finish_reason": reason}],
                {"hermes": hermes.encode(finished)} if place == final else {},
            )
            for place, (choice, reason) in enumerate(sorted(self._ended.items()))
        ]
        if self._asked.include_usage:
            closing.append(self._chunk([], {"usage": encode_usage(finished.step.outcome.usage)}))
        return [*closing, b"data: [DONE]\n\n"]

    def failed(self, failure: Failure, error: bytes) -> list[bytes]:
        return [self._asked.failed(error)]

    def _begin(self, model: str) -> bytes:
        name = msgspec.json.encode(self._asked.turn.model or model)
        self._head = b'%s"model":%s,' % (self._head, name)
        self._open = self._head + b'"choices":[{"index":0,"logprobs":null,"delta":{'
        return b"".join(
            self._delta(choice, {"role": "assistant", "content": ""}) for choice in range(self._asked.choices)
        )

    def _delta(self, choice: int, delta: dict[str, object], logprobs: bytes | None = None) -> bytes:
        raw = msgspec.Raw(logprobs) if logprobs else None
        return self._chunk([{"index": choice, "delta": delta, "logprobs": raw, "finish_reason": None}], {})

    def _chunk(self, choices: list[dict[str, object]], more: dict[str, object]) -> bytes:
        body = msgspec.json.encode({"choices": choices, **more})
        return b"%s%s\n\n" % (self._head, body[1:])


def encode_call(event: ToolCallDelta) -> dict[str, object]:
    function: dict[str, object] = {"arguments": event.arguments}
    if event.name is not None:
        function["name"] = event.name
    call: dict[str, object] = {"index": event.index, "function": function}
    if event.id is not None:
        call = {"index": event.index, "id": event.id, "type": "function", "function": function}
    return call
