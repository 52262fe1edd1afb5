"""prefix | log | window | tail | message, within the budget, always."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from everthread.context import shorten
from everthread.context.epoch import Sealed, shares
from everthread.context.tokens import weigh, weigh_options
from everthread.core.claim import Block
from everthread.core.messages import Message, begins_with_result, say
from everthread.core.ports import Past, TokenCounter
from everthread.core.turn import Context, Options
from everthread.errors import ContextTooLong

NOTHING = Block()
NO_RESULT = 4  # tokens of the text that stands for a missing result


class Assembled(msgspec.Struct, frozen=True):
    messages: tuple[Message, ...]
    context: Context
    message: int  # what the new messages weigh


class Frame(msgspec.Struct, frozen=True):
    """What must be sent whatever the window holds, and the room that is left."""

    preface: tuple[Message, ...]  # instructions, profile and log
    input: tuple[Message, ...]
    given: int  # what the client's instructions and tools weigh, and the profile
    log: int
    message: int
    budget: int

    @property
    def prefix(self) -> int:
        return self.given + self.log

    @property
    def room(self) -> int:
        return self.budget - self.prefix - self.message


def frame(
    instructions: tuple[Message, ...],
    input: tuple[Message, ...],  # noqa: A002
    options: Options,
    *,
    log: Callable[[int], Sealed],
    newest: int,
    budget: int,
    counter: TokenCounter,
    profile: Block | None = None,
) -> Frame:
    """The fixed part of a prompt, with as much of the log as its share allows beside the message and the newest turn;
    ContextTooLong when it is over the budget even without."""
    given = counter.per_prompt + weigh(instructions, counter) + weigh_options(options, counter)
    message = weigh(input, counter)
    if given + message > budget:
        raise ContextTooLong(
            f"This request needs {given + message} tokens ({message} for its new messages, {given} for"
            f" instructions and tools); the budget is {budget}. Shorten it, or raise EVERTHREAD_CONTEXT_BUDGET.",
            param="messages",
        )
    known = profile if profile is not None and profile.text and fits(profile, budget - given - message) else Block()
    if known.text:
        given += known.tokens + counter.per_message
    free = budget - given - message - counter.per_message
    sealed = log(min(shares(budget - given).log, free - newest if newest <= free else free))
    weight = sealed.tokens + counter.per_message if sealed.text else 0
    ours = tuple(text for text in (known.text, sealed.text) if text)
    return Frame(preface(instructions, ours), input, given, weight, message, budget)


def fits(profile: Block, room: int) -> bool:
    """A message so long that it leaves little room goes first."""
    return profile.tokens <= room // 4


def preface(instructions: tuple[Message, ...], ours: tuple[str, ...]) -> tuple[Message, ...]:
    """The client's instructions, then profile and log, as one system message: many chat templates allow no second
    one."""
    if not ours:
        return instructions
    if any(instruction.images or instruction.bulk for instruction in instructions):
        return (*instructions, say("system", "\n\n".join(ours)))
    role = instructions[0].role if instructions else "system"
    return (say(role, "\n\n".join([*(instruction.text for instruction in instructions), *ours])),)


def assemble(
    frame: Frame, past: tuple[Past, ...], counter: TokenCounter, *, tail: Block = NOTHING, distilled: int = 0
) -> Assembled:
    """The prompt: the newest of the past that fits, a tool's call and its result together; recalled memory stands
    before the new message's words."""
    limits = shorten.limits(frame.budget)
    going_on = begins_with_result(frame.input)
    new = with_tail(frame.input, tail.text)
    recalled = weigh(new, counter) - frame.message if new is not frame.input else 0
    newest: tuple[Message, ...] = ()
    weight = 0
    if (going_on or sum(step.tokens for step in past) > frame.room - recalled) and (last_units := units(past)):
        newest, weight = trimmed(frame, last_units.pop(), limits, counter, whole=going_on)
        past = tuple(step for unit in last_units for step in unit) if newest else ()
    if going_on and not newest:
        raise ContextTooLong(
            f"The tool call that this answers does not fit beside its result; the budget is {frame.budget} tokens.",
            param="messages",
        )
    window, more = fitting(past, frame.room - weight - recalled, counter)
    said = [message for step in window for message in shorten.shown(step, limits)]
    return Assembled(
        messages=(*frame.preface, *closed((*said, *newest, *new))),
        context=Context(
            prompt_tokens=frame.prefix + weight + more + recalled + frame.message,
            budget=frame.budget,
            prefix=frame.prefix,
            window=weight + more,
            tail=recalled,
            log=frame.log,
            distilled=distilled,
        ),
        message=frame.message,
    )


def with_tail(messages: tuple[Message, ...], tail: str) -> tuple[Message, ...]:
    """The messages with recalled memory in front of the words of the last one that a person said."""
    last = max((number for number, message in enumerate(messages) if message.role == "user"), default=None)
    if not tail or last is None:
        return messages
    return (*messages[:last], led(messages[last], tail), *messages[last + 1 :])


def led(message: Message, tail: str) -> Message:
    """A message whose words begin with others."""
    body = msgspec.json.decode(message.raw)
    content = body.get("content")
    if isinstance(content, list):
        body["content"] = [{"type": "text", "text": f"{tail}\n"}, *content]
    else:
        body["content"] = f"{tail}\n{content or ''}"
    return msgspec.structs.replace(message, raw=msgspec.json.encode(body), text=f"{tail}\n{message.text}")


def trimmed(
    frame: Frame, unit: tuple[Past, ...], limits: shorten.Limits, counter: TokenCounter, *, whole: bool
) -> tuple[tuple[Message, ...], int]:
    """The newest turn as far as it fits: whole while it goes on, else shortened, else without its oldest tool calls."""
    extra = (counter.per_message + NO_RESULT) * unanswered(unit, {message.answers for message in frame.input})
    short = tuple(message for step in unit for message in shorten.shown(step, limits))
    forms = [short]
    if whole:
        said = tuple(message for step in unit for message in step.messages)
        told = tuple(message for step in unit for message in with_tail(step.messages, step.tail))
        forms = [told, said, short] if told != said else [said, short]
    asked = tuple(message for message in short if message.role == "user")[:1]
    forms += [(*asked, *short[number:]) for number, message in enumerate(short) if message.calls][1:]
    if not short[-1].calls:
        forms.append((*asked, short[-1]))
    for messages in forms:
        weight = weigh(messages, counter) + extra
        if weight <= frame.room:
            return messages, weight
    return (), 0


def fitting(past: tuple[Past, ...], room: int, counter: TokenCounter) -> tuple[tuple[Past, ...], int]:
    """The newest steps that fit, and what they weigh."""
    weight = sum(step.tokens for step in past)
    if weight <= room and not any(step.tooled for step in past):
        return past, weight
    kept: list[tuple[Past, ...]] = []
    weight = 0
    for unit in reversed(units(past)):
        more = sum(step.tokens for step in unit) + (counter.per_message + NO_RESULT) * unanswered(unit, set())
        if weight + more > room:
            break
        weight += more
        kept.append(unit)
    return tuple(step for unit in reversed(kept) for step in unit), weight


def units(past: tuple[Past, ...]) -> list[tuple[Past, ...]]:
    """The past in units that may not be separated: a step that begins with a tool's result joins the one before.

    Results whose call is no longer there are left out."""
    found: list[tuple[Past, ...]] = []
    for step in past:
        if not begins_with_result(step.messages):
            found.append((step,))
        elif found:
            found[-1] = (*found[-1], step)
    return found


def unanswered(unit: tuple[Past, ...], answered_next: set[str | None]) -> int:
    """How many tool calls of a unit neither it nor what follows at once answers."""
    calls = [call for step in unit for call in step.calls]
    if not calls:
        return 0
    answered = answered_next | {message.answers for step in unit for message in step.messages}
    return sum(call not in answered for call in calls)


def closed(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The same conversation, with every tool call answered: "[no result]" where the client went on without one. A
    result whose call was taken out goes with it."""
    if not any(message.calls or message.answers for message in messages):
        return messages
    whole: list[Message] = []
    waiting: list[str] = []
    for message in messages:
        if message.answers is not None:
            if message.answers not in waiting:
                continue
            waiting.remove(message.answers)
        elif waiting:
            whole.extend(no_result(call) for call in waiting)
            waiting = []
        whole.append(message)
        waiting.extend(message.calls)
    return (*whole, *(no_result(call) for call in waiting))


def no_result(call: str) -> Message:
    body = {"role": "tool", "tool_call_id": call, "content": "[no result]"}
    return Message(role="tool", raw=msgspec.json.encode(body), text="[no result]", answers=call)
