"""One person at a time: a blocking keep-alive connection that says something and waits for the answer."""

from __future__ import annotations

import re
import socket
from time import perf_counter_ns
from types import TracebackType

import msgspec

from bench import words
from bench.load import SHOWN, STATUS_OK, Target, WrongAnswer

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
MODEL = "bench-chat"
TIMEOUT_SECONDS = 30.0


class Context(msgspec.Struct):
    prompt_tokens: int = 0
    budget: int = 0
    tail: int = 0  # tokens that were recalled


class Hermes(msgspec.Struct):
    session_id: str = ""
    root_session_id: str = ""
    context: Context = msgspec.field(default_factory=Context)


class Message(msgspec.Struct):
    content: str


class Choice(msgspec.Struct):
    message: Message


class Reply(msgspec.Struct):
    choices: list[Choice]
    hermes: Hermes = msgspec.field(default_factory=Hermes)


class Answer(msgspec.Struct, frozen=True):
    ns: int  # from the write of the request to the last byte of the answer
    text: str
    hermes: Hermes


class Talk:
    """Checks that every answer is one of those that the upstream gives."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.known = {"".join(pieces) for pieces in words.answers()}
        self.decoder = msgspec.json.Decoder(Reply)
        self.connect()

    def connect(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.target.port), TIMEOUT_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def reconnect(self) -> None:
        """After a silence in which the server may have closed the connection."""
        self.socket.close()
        self.connect()

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.socket.close()

    def say(self, text: str, session: str = "", *, recorded_as: str = "") -> Answer:
        answer = self.order(text, session, recorded_as=recorded_as)
        if answer.text not in self.known:
            raise WrongAnswer(f"{self.target.name} answered, in {session!r}: {answer.text[:SHOWN]!r}")
        return answer

    def order(self, text: str, session: str = "", *, recorded_as: str = "") -> Answer:
        """The same, for what the server itself answers."""
        said: dict[str, object] = {"model": MODEL, "messages": [{"role": "user", "content": text}]}
        request = posted(self.target, said | ({"user": recorded_as} if recorded_as else {}), session)
        began = perf_counter_ns()
        self.socket.sendall(request)
        _, body = received(self.socket, self.target.name)
        took = perf_counter_ns() - began
        reply = self.decoder.decode(body)
        return Answer(took, reply.choices[0].message.content, reply.hermes)


def posted(target: Target, said: dict[str, object], session: str) -> bytes:
    body = msgspec.json.encode(said)
    named = f"X-Hermes-Session-Id: {session}\r\n" if session else ""
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{target.port}\r\n{named}"
        f"Authorization: Bearer {target.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def received(connection: socket.socket, name: str) -> tuple[bytes, bytes]:
    """An answer's head and body."""
    data = b""
    while (end := data.find(b"\r\n\r\n")) < 0:
        data += more(connection, name)
    head, body = data[: end + 2], data[end + 4 :]
    length = LENGTH.search(head)
    if not head.startswith(STATUS_OK) or length is None:
        raise WrongAnswer(f"{name}: {data[:SHOWN].decode(errors='replace')}")
    while len(body) < int(length[1]):
        body += more(connection, name)
    return head, body


def more(connection: socket.socket, name: str) -> bytes:
    data = connection.recv(262_144)
    if not data:
        raise WrongAnswer(f"{name} closed the connection")
    return data
