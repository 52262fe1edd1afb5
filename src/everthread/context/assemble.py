"""prefix | window | message, within the budget, always."""

from __future__ import annotations

import msgspec

from everthread.context.tokens import weigh, weigh_options
from everthread.core.messages import Message
from everthread.core.ports import Past, TokenCounter
from everthread.core.turn import Context, Options
from everthread.errors import ContextTooLong

NO_RESULT = 8  # tokens of the message that stands for a missing result


class Assembled(msgspec.Struct, frozen=True):
    messages: tuple[Message, ...]
    context: Context
    message: int  # what the new messages weigh


class Frame(msgspec.Struct, frozen=True):
    """What must be sent whatever the window holds, and the room that is left."""

    instructions: tuple[Message, ...]
    input: tuple[Message, ...]
    prefix: int
    message: int
    budget: int

    @property
    def room(self) -> int:
        return self.budget - self.prefix - self.message


def frame(
    instructions: tuple[Message, ...],
    input: tuple[Message, ...],  # noqa: A002
    options: Options,
    *,
    budget: int,
    counter: TokenCounter,
) -> Frame:
    """The fixed part of a prompt; ContextTooLong when it alone is over the budget."""
    prefix = weigh(instructions, counter) + weigh_options(options, counter)
    message = weigh(input, counter)
    if prefix + message > budget:
        raise ContextTooLong(
            f"This request needs {prefix + message} tokens ({message} for its new messages, {prefix} for"
            f" instructions and tools); the budget is {budget}. Shorten it, or raise EVERTHREAD_CONTEXT_BUDGET.",
            param="messages",
        )
    return Frame(instructions, input, prefix, message, budget)


def assemble(frame: Frame, past: tuple[Past, ...]) -> Assembled:
    """The prompt: the newest of the past that fits, a tool's call and its result together."""
    window, weight = fitting(frame, past)
    if begins_with_result(frame.input) and not window:
        raise ContextTooLong(
            f"The tool call that this answers does not fit beside its result; the budget is {frame.budget} tokens.",
            param="messages",
        )
    said = [message for step in window for message in step.messages]
    return Assembled(
        messages=(*frame.instructions, *closed((*said, *frame.input))),
        context=Context(
            prompt_tokens=frame.prefix + weight + frame.message,
            budget=frame.budget,
            prefix=frame.prefix,
            window=weight,
        ),
        message=frame.message,
    )


def fitting(frame: Frame, past: tuple[Past, ...]) -> tuple[tuple[Past, ...], int]:
    """The newest steps that fit, and what they weigh."""
    weight = sum(step.tokens for step in past)
    if weight <= frame.room and not any(step.tooled for step in past):
        return past, weight
    kept: list[tuple[Past, ...]] = []
    weight = 0
    answered = {message.answers for message in frame.input}
    for unit in reversed(joined(past)):
        more = sum(step.tokens for step in unit) + NO_RESULT * unanswered(unit, answered)
        answered = set()
        if weight + more > frame.room:
            break
        weight += more
        kept.append(unit)
    return tuple(step for unit in reversed(kept) for step in unit), weight


def joined(past: tuple[Past, ...]) -> list[tuple[Past, ...]]:
    """The past in units that may not be separated: a step that begins with a tool's result joins the one before.

    Results whose call is no longer there are left out."""
    units: list[tuple[Past, ...]] = []
    for step in past:
        if not begins_with_result(step.messages):
            units.append((step,))
        elif units:
            units[-1] = (*units[-1], step)
    return units


def unanswered(unit: tuple[Past, ...], answered_next: set[str | None]) -> int:
    """How many tool calls of a unit neither it nor what follows at once answers."""
    calls = [call for step in unit for call in step.messages[-1].calls]
    if not calls:
        return 0
    answered = answered_next | {message.answers for step in unit for message in step.messages}
    return sum(call not in answered for call in calls)


def begins_with_result(messages: tuple[Message, ...]) -> bool:
    return bool(messages) and messages[0].answers is not None


def closed(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The same conversation, with every tool call answered: "[no result]" where the client went on without one."""
    if not any(message.calls for message in messages):
        return messages
    whole: list[Message] = []
    waiting: list[str] = []
    for message in messages:
        if message.answers is not None:
            if message.answers in waiting:
                waiting.remove(message.answers)
        elif waiting:
            whole.extend(no_result(call) for call in waiting)
            waiting = []
        whole.append(message)
        waiting.extend(message.calls)
    return tuple(whole)


def no_result(call: str) -> Message:
    body = {"role": "tool", "tool_call_id": call, "content": "[no result]"}
    return Message(role="tool", raw=msgspec.json.encode(body), text="[no result]", answers=call)
