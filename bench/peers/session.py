"""One conversation of many turns, the same through each server: what a turn takes, and what the upstream gets."""

from __future__ import annotations

import gc
import itertools
import re
import socket
import time
from collections.abc import Callable, Sequence
from functools import cache
from time import perf_counter_ns

import msgspec

from bench import endless, prompts, upstream, words
from bench.load import SHOWN, Target, WrongAnswer
from bench.peers.results import DIRECT, Failure, Turn
from bench.peers.rounds import alone
from bench.peers.servers import About, session_model
from bench.recorder import Heard
from bench.scenario import Broken
from bench.server import Process
from bench.talk import posted, received

TIMEOUT_SECONDS = 60.0
ACCEPT_SECONDS = 0.005  # until the connection is the server's too: that is no part of a turn
SESSION = "bench:peers"
NAMED = re.compile(rb"\r\nx-hermes-session-id: *([^\r]+)", re.IGNORECASE)


class Said(msgspec.Struct):
    role: str
    content: str | list[msgspec.Raw] | None = None


class Choice(msgspec.Struct):
    message: Said


class Reply(msgspec.Struct):
    choices: list[Choice]


class Person:
    """Talks to one server: says only what is new in a named session, or everything to a server that keeps nothing."""

    def __init__(self, target: Target, *, stateless: bool, session: str = SESSION) -> None:
        self.target = target
        self.stateless = stateless
        self.session = session
        self.history: list[dict[str, str]] = []
        self.turns: list[Turn] = []
        self.seconds = 0.0  # that it took in all

    def say(self, text: str) -> Turn:
        """The turn's time; the answer is checked word by word."""
        request = self.request(text)
        with socket.create_connection(("127.0.0.1", self.target.port), TIMEOUT_SECONDS) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            time.sleep(ACCEPT_SECONDS)
            began = perf_counter_ns()
            connection.sendall(request)
            head, body = received(connection, self.target.name)
            took = perf_counter_ns() - began
        self.note(text, head, body)
        return Turn(took)

    def request(self, text: str) -> bytes:
        messages = [*self.history, {"role": "user", "content": text}]
        said: dict[str, object] = {"model": session_model(self.target.name), "messages": messages}
        return posted(self.target, said, "" if self.stateless else self.session)

    def note(self, text: str, head: bytes, body: bytes) -> None:
        answer = msgspec.json.decode(body, type=Reply).choices[0].message.content
        expected = "".join(words.answers()[upstream.answer_to(text)])
        if not isinstance(answer, str) or answer.strip() != expected.strip():
            raise WrongAnswer(f"{self.target.name} answered {str(answer)[:SHOWN]!r} instead of {expected[:SHOWN]!r}")
        if self.stateless:
            self.history += [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]
        elif named := NAMED.search(head):
            self.session = named[1].decode()  # where the conversation goes on, if it says so


# --- what the upstream got ------------------------------------------------------------------------


@cache
def weight(message: bytes) -> int:
    content = msgspec.json.decode(message, type=Said).content
    return prompts.weigh(content if isinstance(content, str) else message.decode())


class Prompt(msgspec.Struct, frozen=True):
    tokens: int
    messages: int


def prompt(heard: Heard) -> Prompt:
    messages = [bytes(message) for message in heard.more]
    return Prompt(sum(map(weight, messages)) + prompts.weight_of(bytes(heard.tools)), len(messages))


def asks(heard: Heard, text: str) -> bool:
    """Whether the prompt is for an answer to this, and not for something that a server wants to know by the way."""
    content = msgspec.json.decode(heard.more[-1], type=Said).content
    return text in (content if isinstance(content, str) else str(content))


def weighed(turn: Turn, text: str, heard: Sequence[Heard]) -> Turn:
    found = [prompt(each) for each in heard if asks(each, text)]
    if not found:
        raise Broken(f"the upstream was not asked {text[:80]!r} but got {len(heard)} other prompts")
    largest = max(found, key=lambda each: each.tokens)
    return Turn(turn.ns, largest.tokens, largest.messages, len(heard))


# --- the conversation -----------------------------------------------------------------------------


class Conversation:
    """Each server hears the same message before the next is said. One that fails, or takes too long, leaves."""

    def __init__(self, source: Process, servers: dict[str, Process], about: Sequence[About], share: float) -> None:
        self.source = source
        self.servers = servers
        self.share = share  # seconds for one server
        stateless = {each.name for each in about if each.stateless}
        self.people = {name: Person(each.target, stateless=name in stateless) for name, each in servers.items()}
        self.people[DIRECT] = Person(source.target, stateless=False)
        self.failures: list[Failure] = []

    def run(self, turns: int, say: Callable[[str], None]) -> dict[str, list[Turn]]:
        endless.heard_of(self.source)
        gc.collect()
        gc.disable()
        try:
            for number, text in enumerate(itertools.islice(words.messages(), turns), 1):
                for name in list(self.talking()):
                    self.turn(name, number, text)
                if number % 50 == 0:
                    say(f"session: turn {number}")
        finally:
            gc.enable()
        return {name: person.turns for name, person in self.people.items()}

    def talking(self) -> list[str]:
        gone = {failure.name for failure in self.failures}
        return [name for name, person in self.people.items() if name not in gone and person.seconds < self.share]

    def turn(self, name: str, number: int, text: str) -> None:
        person = self.people[name]
        server = self.servers.get(name, self.source)
        began = time.perf_counter()
        try:
            with alone(server, list(self.servers.values())):
                turn = person.say(text)
                server.rest()
                heard = endless.heard_of(self.source).get(name, [])
            person.turns.append(weighed(turn, text, heard))
        except (WrongAnswer, Broken, OSError, msgspec.MsgspecError) as error:
            if name == DIRECT:
                raise
            self.failures.append(Failure(name, f"turn {number} of a session", f"{type(error).__name__}: {error}"))
        person.seconds += time.perf_counter() - began
