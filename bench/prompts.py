"""What prompts weigh and cost, counted from what the upstream was really sent."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from bench.recorder import NOTHING, Heard
from everthread.context.tokens import O200k

READ = 0.1  # the price of a prompt token that the provider's prefix cache has, against one without a cache
WRITE = 1.25  # of one that is new to it


class Prompt(msgspec.Struct, frozen=True):
    tokens: int
    cached: int  # of them, those of the beginning that is the same, byte by byte, as in the session's prompt before

    @property
    def cost(self) -> float:
        return READ * self.cached + WRITE * (self.tokens - self.cached)


class Message(msgspec.Struct, frozen=True):
    role: str
    content: str


@cache
def counter() -> O200k:
    return O200k()


def weigh(text: str) -> int:
    return counter().per_message + counter().count(text)


class Sent(msgspec.Struct, frozen=True):
    message: Message
    tokens: int


def sent(raw: msgspec.Raw) -> Sent:
    message = msgspec.json.decode(raw, type=Message)
    return Sent(message, weigh(message.content))


@cache
def weight_of(tools: bytes) -> int:
    """What tools weigh that are offered beside the messages."""
    return 0 if tools == bytes(NOTHING) else counter().count(tools.decode())


def received(heard: Sequence[Heard]) -> Iterator[Prompt]:
    """The prompts of one session."""
    before: list[Sent] = []
    offered = 0
    for prompt in heard:
        same = before[: prompt.same]
        more = [sent(raw) for raw in prompt.more]
        cached = sum(each.tokens for each in same)
        if more and len(before) > prompt.same:
            cached += shared(before[prompt.same].message, more[0].message)
        before = same + more
        tools = weight_of(bytes(prompt.tools))
        known, offered = offered, tools
        yield Prompt(tools + sum(each.tokens for each in before), cached + (tools if tools == known else 0))


def shared(one: Message, other: Message) -> int:
    """Tokens of the beginning that two messages share."""
    if one.role != other.role:
        return 0
    pairs = enumerate(zip(one.content, other.content, strict=False))
    length = min(len(one.content), len(other.content))
    return counter().count(one.content[: next((place for place, (a, b) in pairs if a != b), length)])


def everything(asked: Sequence[str], answered: Sequence[str]) -> Iterator[Prompt]:
    """The prompts of the same conversation if each had all that was said before."""
    before = history = 0
    for question, answer in zip(asked, answered, strict=True):
        tokens = history + weigh(question)
        yield Prompt(tokens, before)
        before, history = tokens, tokens + weigh(answer)


def cost_per_turn(prompts: Sequence[Prompt], turns: int) -> float:
    return sum(prompt.cost for prompt in prompts[:turns]) / turns


def cached_share(prompts: Sequence[Prompt]) -> float:
    return sum(prompt.cached for prompt in prompts) / sum(prompt.tokens for prompt in prompts)


def first_beyond(prompts: Sequence[Prompt], tokens: int) -> int | None:
    """The turn whose prompt is the first to have more tokens than that."""
    beyond = itertools.compress(itertools.count(1), (prompt.tokens > tokens for prompt in prompts))
    return next(beyond, None)
