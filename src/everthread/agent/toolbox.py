"""Which of our tools a turn may call, and the limits of that."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

import msgspec

from everthread.agent.ability import Ability
from everthread.core.ports import TokenCounter
from everthread.core.tool import Tool
from everthread.core.turn import Options, Prompt, ToolCall, Usage
from everthread.errors import Failure

log = logging.getLogger("everthread.tools")

MOST_ROUNDS = 4  # requests; in the last one the model must answer
MOST_CALLS = 8
PATIENCE = 5.0  # seconds that a call may take
LONGEST_RESULT = 4000  # characters
LEAST_ROOM = 300  # tokens; with less there is nothing to offer
CUT = " … [cut]"
GIVEN_UP = "Error: the tool gave up."

Arguments = dict[str, object]


class Hidden(msgspec.Struct, frozen=True):
    """What a turn did that its client does not see: calls of ours, and what the requests that made them used."""

    calls: int = 0
    rounds: int = 0
    prompt: int = 0
    completion: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion

    def more(self, calls: int, usage: Usage | None) -> Hidden:
        used = usage or Usage(0, 0)
        return Hidden(self.calls + calls, self.rounds + 1, self.prompt + used.prompt, self.completion + used.completion)


class Offer(msgspec.Struct, frozen=True):
    """A turn's request with our tools in it."""

    tools: Mapping[str, Tool]  # those of ours that do not bear the name of a client's
    options: Options
    alone: bool  # the client has no tools of its own
    document: bool  # the answer must be one JSON document: nothing can follow it
    weight: int  # tokens of the tools

    def withheld(self, given: Options) -> Options:
        """The request's options when the model must come to an end. What it knows of our tools stays, where the
        client has none: servers want to know the tools whose calls they are shown."""
        if not self.alone:
            return given
        return (*(each for each in self.options if each[0] != "tool_choice"), ("tool_choice", b'"none"'))


class Toolbox:
    """The tools of one turn: what may be offered, what came of it. `room` is what all of it may weigh."""

    def __init__(
        self,
        tools: Sequence[Tool],
        *,
        room: int,
        counter: TokenCounter,
        ability: Ability,
        patience: float = PATIENCE,
        calls: int = MOST_CALLS,
    ) -> None:
        self._tools = tools
        self._patience = patience
        self.calls = calls  # at most
        self.room = room
        self.counter = counter
        self.ability = ability
        self.hidden = Hidden()
        self.weight = 0  # of what was offered

    def offer(self, prompt: Prompt) -> Offer | None:
        """How this prompt is asked with our tools; None when it cannot be."""
        if not self._tools or self.room < LEAST_ROOM or self.ability.lacks(prompt.model, "tools"):
            return None
        found = offered(self._tools, prompt.options, self.counter)
        if found is None or self.room - found.weight < LEAST_ROOM:
            return None
        self.weight = found.weight
        return found

    async def run(self, tools: Mapping[str, Tool], calls: Sequence[tuple[ToolCall, Arguments | None]]) -> list[str]:
        """The calls' results, in their order; of one that failed, a few words that say so."""
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(self._result(tools[call.name], read)) for call, read in calls]
        return [GIVEN_UP if task.cancelled() else task.result() for task in running]  # by itself: we were not

    async def _result(self, tool: Tool, arguments: Arguments | None) -> str:
        if arguments is None:
            return "Error: the arguments are not a JSON object."
        try:
            async with asyncio.timeout(self._patience):
                return shortened(await tool.run(arguments))
        except TimeoutError:
            return f"Error: {tool.name} took too long."
        except Failure as failure:
            return shortened(f"Error: {failure.message}")
        except ValueError as error:
            return shortened(f"Error: {error}")
        except Exception:  # ours, and worth a look; the model can answer without
            log.exception("tool %s failed", tool.name)
            return f"Error: {tool.name} failed."


# --- what is offered ---


class Named(msgspec.Struct):
    name: str = ""


class Given(msgspec.Struct):
    """A client's tool."""

    function: Named | None = None
    custom: Named | None = None


class Format(msgspec.Struct):
    type: str = "text"


GIVEN = msgspec.json.Decoder(list[Given] | None)
RAWS = msgspec.json.Decoder(list[msgspec.Raw] | None)
CHOICES = msgspec.json.Decoder(int | None)
FORMAT = msgspec.json.Decoder(Format | None)
NULL = b"null"


def offered(tools: Sequence[Tool], options: Options, counter: TokenCounter) -> Offer | None:
    """The request's options with our tools after the client's.

    None when every name is taken, when several answers were asked for, or when the answer must be a call of the
    client's tools or none at all."""
    fields = dict(options)
    if msgspec.json.decode(fields.get("tool_choice", NULL)) not in (None, "auto"):
        return None
    if (CHOICES.decode(fields.get("n", NULL)) or 1) > 1:
        return None
    raw = fields.get("tools", NULL)
    taken = {named.name for given in GIVEN.decode(raw) or () for named in (given.function, given.custom) if named}
    free = {tool.name: tool for tool in tools if tool.name not in taken}
    if not free:
        return None
    theirs = [bytes(each) for each in RAWS.decode(raw) or ()]
    ours = b",".join(definition(tool) for tool in free.values())
    whole = ("tools", b"[" + b",".join((*theirs, ours)) + b"]")
    merged = tuple(whole if each[0] == "tools" else each for each in options)
    form = FORMAT.decode(fields.get("response_format", NULL))
    return Offer(
        tools=free,
        options=merged if "tools" in fields else (*options, whole),
        alone=not theirs,
        document=form is not None and form.type != "text",
        weight=counter.count(f"[{ours.decode()}]"),
    )


def definition(tool: Tool) -> bytes:
    """As OpenAI writes it."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return msgspec.json.encode({"type": "function", "function": function})


# --- what comes of it ---


def arguments(call: ToolCall) -> Arguments | None:
    """What a model wrote, if it can be read."""
    try:
        return msgspec.json.decode(call.arguments.strip() or "{}", type=Arguments)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def shortened(text: str) -> str:
    """As much of a result as a model is shown, in characters that can be written."""
    short = text if len(text) <= LONGEST_RESULT else text[: LONGEST_RESULT - len(CUT)] + CUT
    return short.encode("utf-8", "replace").decode()


def within(text: str, tokens: int, counter: TokenCounter) -> str:
    """As much of a result as weighs no more than that."""
    weight = counter.count(text)
    if weight <= tokens:
        return text
    while text and weight > tokens:
        text = text[: min(len(text) - 1, len(text) * tokens // weight)]
        weight = counter.count(text + CUT)
    return text + CUT
