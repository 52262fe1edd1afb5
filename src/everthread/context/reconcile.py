"""A client's history against ours: what is new, what is brought along, what is ignored."""

from __future__ import annotations

import hashlib

import msgspec

from everthread.context.tokens import weigh
from everthread.core.messages import Message
from everthread.core.ports import Exchange, TokenCounter
from everthread.errors import Malformed


class Reconciled(msgspec.Struct, frozen=True):
    input: tuple[Message, ...]  # what this turn adds
    imported: tuple[Exchange, ...] = ()  # what was said before the client came here


def continued(messages: tuple[Message, ...]) -> Reconciled:
    """A known session: the ledger has the history, the body only its new messages."""
    new = after_last_answer(messages)
    if not new:
        raise Malformed("messages ends with an assistant message; there is nothing new to answer.", param="messages")
    return Reconciled(new)


def begun(messages: tuple[Message, ...], counter: TokenCounter) -> Reconciled:
    """A new session: a history in the body is brought along."""
    new = after_last_answer(messages)
    if not new:  # the client wrote the answer's beginning; it goes on from its last question
        asked = [number for number, message in enumerate(messages) if message.role == "user"]
        new = messages[asked[-1] :] if asked else messages
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
            imported.append(Exchange(said, address, rolling, weigh(said, counter)))
            calls = message.calls
            pending = []
    refuse_unknown_calls(new, calls)
    return Reconciled(new, tuple(imported))


def after_last_answer(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    for number in range(len(messages) - 1, -1, -1):
        if messages[number].role == "assistant":
            return messages[number + 1 :]
    return messages


def refuse_unknown_calls(messages: tuple[Message, ...], calls: tuple[str, ...]) -> None:
    for message in messages:
        if message.answers is not None and message.answers not in calls:
            raise Malformed(f"There is no open tool call {message.answers!r} in this conversation.", param="messages")


def addressed(before: bytes, messages: tuple[Message, ...]) -> bytes:
    """The hash of these messages and all before them, exactly as they came: images, arguments, white space and all."""
    digest = hashlib.sha256(before)
    for message in messages:
        digest.update(b"%d:%b" % (len(message.raw), message.raw))
    return digest.digest()


def rolled(before: bytes, messages: tuple[Message, ...]) -> bytes:
    """A hash of the words up to and including these messages, white space aside. For comparing, not for storing:
    messages that differ only in their images have the same one."""
    digest = hashlib.sha256(before)
    for message in messages:
        digest.update(f"\x1e{message.role}\x1f{' '.join(message.text.split())}".encode())
        for call in message.calls:
            digest.update(f"\x1f{call}".encode())
    return digest.digest()[:16]
