"""A client's history against ours: what is new, what is brought along, what is ignored."""

from __future__ import annotations

import hashlib

import msgspec

from everthread.context.shorten import Limits, shortened
from everthread.context.tokens import weigh
from everthread.core.bare import bare
from everthread.core.messages import Message, with_continuations
from everthread.core.ports import TokenCounter
from everthread.core.session import Exchange, Place
from everthread.errors import Malformed


class Reconciled(msgspec.Struct, frozen=True):
    input: tuple[Message, ...]  # what this turn adds
    imported: tuple[Exchange, ...] = ()  # what was said before the client came here

    @property
    def history(self) -> tuple[Message, ...]:
        return tuple(message for exchange in self.imported for message in exchange.messages)


class Body(msgspec.Struct, frozen=True):
    """A request's conversation, cut after each answer in it."""

    messages: tuple[Message, ...]
    answers: tuple[int, ...]  # where each of its answers ends; one that is to be continued is none
    goes_on: bool  # it ends with an answer, which is to be continued

    @property
    def new(self) -> tuple[Message, ...]:
        return self.messages[self.answers[-1] :] if self.answers else self.messages

    def hashes(self) -> list[bytes]:
        """What was said up to each answer, the last one first."""
        digest, start, known = b"", 0, []
        for end in self.answers:
            digest = rolled(digest, self.messages[start:end])
            known.append(digest)
            start = end
        return known[::-1]

    def follows(self, number: int) -> tuple[Message, ...]:
        """What comes after the answer that has the hash of this number."""
        return self.messages[self.answers[-1 - number] :]

    def after(self, place: Place) -> tuple[Message, ...]:
        """What comes after a place that a client named; when its words are others there, after the last answer."""
        if place.rolling == b"":
            return self.messages
        hashes = self.hashes()
        return self.follows(hashes.index(place.rolling)) if place.rolling in hashes else self.new


def read(messages: tuple[Message, ...]) -> Body:
    """The body of a turn in a known session."""
    answers = tuple(number + 1 for number, message in enumerate(messages) if message.role == "assistant")
    goes_on = bool(answers) and answers[-1] == len(messages)
    return Body(messages, answers[:-1] if goes_on else answers, goes_on)


def newest_turn(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """From the last question on that was asked before the last answer."""
    answered = max((number for number, message in enumerate(messages) if message.role == "assistant"), default=0)
    asked = max((number for number, message in enumerate(messages[:answered]) if message.role == "user"), default=0)
    return messages[asked:]


def forks(follows: tuple[Message, ...]) -> bool:
    """What follows an earlier place is another question, or the same one again: exactly one."""
    return len(follows) == 1 and follows[0].role == "user"


def begun(messages: tuple[Message, ...], counter: TokenCounter, limits: Limits) -> Reconciled:
    """A new session: a history in the body is brought along."""
    new = read(messages).new  # an answer that the client began goes on from its question
    history = messages[: len(messages) - len(new)]
    imported: list[Exchange] = []
    pending: list[Message] = []
    rolling = address = b""
    calls: tuple[str, ...] = ()
    for message in history:
        pending.append(message)
        if message.role == "assistant":
            refuse_unknown_calls(tuple(pending[:-1]), calls)
            said = tuple(pending)
            address, rolling = addressed(address, said), rolled(rolling, said)
            weight = weigh(shortened(said, None, limits), counter)
            imported.append(Exchange(said, address, rolling, weight))
            calls = message.calls
            pending = []
    refuse_unknown_calls(new, calls)
    return Reconciled(new, tuple(imported))


def reworded(begun: Reconciled, history: tuple[Message, ...], counter: TokenCounter, limits: Limits) -> Reconciled:
    """The same with other words in its history, or with none of it. By what was said it is still known again."""
    imported: list[Exchange] = []
    address, start = b"", 0
    for exchange in begun.imported if history else ():
        said = history[start : start + len(exchange.messages)]
        start += len(said)
        address = addressed(address, said)
        imported.append(Exchange(said, address, exchange.rolling, weigh(shortened(said, None, limits), counter)))
    return Reconciled(begun.input, tuple(imported))


def refuse_unknown_calls(messages: tuple[Message, ...], calls: tuple[str, ...]) -> None:
    """Results come first, each for a call that was just made, and each once."""
    waiting = list(calls)
    for message in messages:
        if message.answers is None:
            waiting = list(message.calls)
        elif message.answers in waiting:
            waiting.remove(message.answers)
        else:
            raise Malformed(f"There is no open tool call {message.answers!r} in this conversation.", param="messages")


def addressed(before: bytes, messages: tuple[Message, ...]) -> bytes:
    """The hash of these messages and all before them, exactly as they came: images, arguments, white space and all."""
    digest = hashlib.sha256(before)
    for message in messages:
        digest.update(b"%d:%b" % (len(message.raw), message.raw))
    return digest.digest()


def rolled(before: bytes, messages: tuple[Message, ...]) -> bytes:
    """A hash of the words up to and including these messages. For comparing, not for storing: white space, images, a
    model's thoughts and a UI's template around a question make no difference."""
    digest = hashlib.sha256(before)
    answered = False
    for message in with_continuations(messages):
        if message.is_instruction:
            continue
        if answered:  # each answer ends a link of the chain, also where several came in at once
            digest = hashlib.sha256(digest.digest()[:16])
        answered = message.role == "assistant"
        digest.update(f"\x1e{message.role}\x1f{' '.join(bare(message).split())}".encode())
        for call in message.calls:
            digest.update(f"\x1f{call}".encode())
    return digest.digest()[:16]
