"""POST /v1/responses and its kin: the body, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from everthread.core.ids import SessionId, StepId
from everthread.core.messages import Message, say
from everthread.core.turn import Envelope, Keep, Options, Turn
from everthread.core.view import Hook
from everthread.errors import Malformed
from everthread.wire import hooks, json, metadata
from everthread.wire.json import NULL
from everthread.wire.responses import fields as known
from everthread.wire.responses import items, options
from everthread.wire.responses.fields import ConversationIn, Settings
from everthread.wire.responses.items import Item

Purpose = Literal["create", "socket", "count", "compact"]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a client asks for, before it is known what it goes on from."""

    purpose: Purpose
    items: tuple[Item, ...]
    instructions: str | None
    model: str | None
    stream: bool
    store: bool
    background: bool
    generate: bool  # False: nothing is asked of the model; the items are only kept
    previous: str | None  # the id of the response it goes on from, as it was sent
    conversation: str | None
    max_tool_calls: int | None
    compacts: bool  # it asked for compaction
    compact_threshold: int | None  # in tokens; None: the server decides
    metadata: dict[str, str]
    references: tuple[str, ...]  # ids of items that are named instead of said
    tools_off: bool  # no tool at all may be called
    options: Options
    echo: bytes  # JSON object: what the Response shows again
    hook: Hook | None = None  # to be told when a background one is over

    def turn(self, envelope: Envelope, resolved: Mapping[str, Sequence[Message]] | None = None) -> Turn:
        """The turn it is; the caller says what it goes on from and how it is kept.

        `resolved` has the messages that each of `references` stands for."""
        told = items.messages(self.items, resolved or {})
        said = tuple(message for message in told if not message.is_instruction)
        carried = tuple(message for message in told if message.is_instruction)
        if not said and self.purpose in {"create", "socket"} and self.generate:
            raise Malformed("input has instructions only; a message of the user is needed.", param="input")
        own = (say("system", self.instructions),) if self.instructions else ()
        return Turn(
            envelope=msgspec.structs.replace(envelope, server_tools=False) if self.tools_off else envelope,
            messages=said,
            instructions=(*own, *carried),
            carried=carried,
            model=self.model,
            options=self.options,
            store=self.store,
            searches=self.max_tool_calls,
        )

    def keep(self, previous: StepId | None = None, conversation: SessionId | None = None) -> Keep:
        """How the step is to be seen again."""
        return Keep(
            kind="response",
            request=self.echo,
            metadata=self.metadata,
            previous=previous,
            conversation=conversation,
            background=self.background,
        )


def read(body: bytes, purpose: Purpose = "create") -> Request:
    """The request a body makes, or Malformed with the field's path.

    `socket` is a WebSocket's `response.create`, `count` is /input_tokens, `compact` is /compact."""
    fields = json.fields(body)
    raw_input = fields.pop("input", NULL)
    labels = metadata.decode(fields.pop("metadata", NULL))
    hook = hooks.decode(fields.pop("webhook", NULL), "webhook")
    if purpose == "socket":
        fields = {name: raw for name, raw in fields.items() if name not in {"type", "stream_id"}}
    settings = known.read(fields)
    check(settings, purpose)
    if hook is not None and not settings.background:
        raise Malformed("webhook tells of a background response; set background to true.", param="webhook")
    conversation = settings.conversation
    told = items.decode_input(raw_input)
    check_input(told, settings, purpose)
    store = settings.store is not False
    return Request(
        purpose=purpose,
        items=told,
        instructions=settings.instructions or None,
        model=settings.model or None,
        stream=purpose == "socket" or bool(settings.stream),
        store=store,
        background=bool(settings.background),
        generate=purpose != "socket" or settings.generate is not False,
        previous=settings.previous_response_id or None,
        conversation=conversation.id if isinstance(conversation, ConversationIn) else conversation or None,
        max_tool_calls=settings.max_tool_calls,
        compacts=bool(settings.context_management),
        compact_threshold=threshold(settings),
        metadata=labels,
        references=items.references(told),
        tools_off=settings.tool_choice == "none",
        options=options.upstream(settings, fields),
        echo=options.echo(settings, store=store),
        hook=hook,
    )


def check(settings: Settings, purpose: Purpose) -> None:
    """Raises Malformed for what cannot be had, or not together."""
    if settings.previous_response_id and settings.conversation:
        raise Malformed(
            "previous_response_id and conversation both say what to go on from; send one of them.",
            param="previous_response_id",
        )
    if settings.background and settings.store is False:
        raise Malformed("A background response must be stored; leave store out or set it to true.", param="background")
    if settings.background and purpose == "socket":
        raise Malformed("A WebSocket does not run responses in the background; leave it out.", param="background")
    if settings.prompt is not None:
        raise Malformed("There are no stored prompts here; send instructions and input.", param="prompt")
    if settings.moderation is not None:
        raise Malformed("Moderation cannot be asked for here; leave it out.", param="moderation")
    for number, managed in enumerate(settings.context_management or ()):
        if managed.type != "compaction":
            param = f"context_management[{number}].type"
            raise Malformed(f"{param} is {managed.type}; only compaction is known.", param=param)


def check_input(told: tuple[Item, ...], settings: Settings, purpose: Purpose) -> None:
    """Raises Malformed when there is nothing to speak of."""
    if told:
        return
    goes_on = settings.previous_response_id or settings.conversation
    if purpose in {"count", "compact"} and (goes_on or settings.instructions):
        return
    if purpose == "socket" and settings.generate is False:
        return
    raise Malformed("input is required: a text, or a list of at least one item.", param="input")


def threshold(settings: Settings) -> int | None:
    found = [managed.compact_threshold for managed in settings.context_management or () if managed.compact_threshold]
    return found[0] if found else None
