"""A server, as a conversation in the terminal sees it: where it is, and one turn with it."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

import msgspec

from everthread.cli import terminal
from everthread.core import ids
from everthread.core.ids import SessionId, SessionKey
from everthread.errors import Refused, Unauthenticated, Unavailable
from everthread.http.chat import PATH

CONNECT = 10.0  # seconds
SILENCE = 120.0  # seconds without a byte; the server sends a comment every 15
KNOCK = 2.0  # seconds for a server on this machine to say that it is there


class Address(msgspec.Struct, frozen=True):
    """Where a server is, the key to it, and what to say of it."""

    url: str
    key: str
    about: str

    def __post_init__(self) -> None:
        ids.printable(self.key, what="The API key", longest=4096)

    @contextmanager
    def answering(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        headers: Iterable[tuple[str, str]] = (),
        silence: float = SILENCE,
    ) -> Iterator[HTTPResponse]:
        """The response to a request; Unavailable when the line does not hold."""
        where = urlsplit(self.url)
        kind = HTTPSConnection if where.scheme == "https" else HTTPConnection
        with closing(kind(where.hostname or "", where.port, timeout=min(CONNECT, silence))) as line:
            try:
                line.connect()
                line.sock.settimeout(silence)
                line.request(method, where.path + path, body, {"Authorization": f"Bearer {self.key}", **dict(headers)})
                yield line.getresponse()
            except (OSError, HTTPException) as error:
                raise Unavailable(f"{self.url} does not answer: {terminal.one_line(str(error))}") from error

    def check(self) -> None:
        """A Failure if it cannot be reached, or does not know the key."""
        with self.answering("GET", "/v1/capabilities") as response:
            if response.status == 401:
                raise refused(response)

    def is_alive(self) -> bool:
        """Whether it is there, and is one of ours."""
        try:
            with self.answering("GET", "/health", silence=KNOCK) as response:
                return response.status == 200 and b'"version"' in response.read(4096)
        except Unavailable:
            return False


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """The session in force, its memory scope, and who should answer."""

    session_id: SessionId
    session_key: SessionKey | None = None
    model: str | None = None


class Text(msgspec.Struct, frozen=True):
    text: str


class Thought(msgspec.Struct, frozen=True):
    text: str


class Ended(msgspec.Struct, frozen=True):
    reason: str
    session_id: SessionId | None  # the effective one; None: the server does not say
    model: str | None


Word = Text | Thought | Ended


class Delta(msgspec.Struct, frozen=True):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None


class Choice(msgspec.Struct, frozen=True):
    delta: Delta
    finish_reason: str | None = None


class Hermes(msgspec.Struct, frozen=True):
    session_id: SessionId | None = None
    model: str | None = None


class Fault(msgspec.Struct, frozen=True):
    message: str


class Chunk(msgspec.Struct, frozen=True):
    choices: tuple[Choice, ...] = ()
    hermes: Hermes = Hermes()
    error: Fault | None = None


def ask(server: Address, text: str, topic: Topic) -> Generator[Word, None, None]:
    """Says a message and yields the answer as it comes; a Failure says why there is none, or no more of it."""
    body: dict[str, object] = {"messages": [{"role": "user", "content": text}], "stream": True}
    if topic.model:
        body["model"] = topic.model
    headers = {"Content-Type": "application/json", "X-Hermes-Session-Id": topic.session_id}
    if topic.session_key:
        headers["X-Hermes-Session-Key"] = topic.session_key
    content = json.dumps(body, ensure_ascii=False).encode(errors="replace")
    with server.answering("POST", PATH, body=content, headers=headers.items()) as response:
        if response.status != 200:
            raise refused(response)
        for data in events(response):
            yield from words(decoded(data))


def events(response: HTTPResponse) -> Iterator[bytes]:
    """The data of each server-sent event up to [DONE]; comments are left out."""
    for line in response:
        data = line[5:].strip() if line.startswith(b"data:") else b""
        if data == b"[DONE]":
            return
        if data:
            yield data
    raise Unavailable("The connection was lost before the answer was complete.")


def decoded(data: bytes) -> Chunk:
    try:
        return msgspec.json.decode(data, type=Chunk)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unavailable("The server sent something that is not a chat completion.") from error


def words(chunk: Chunk) -> Iterator[Word]:
    if chunk.error is not None:
        raise Refused(terminal.one_line(chunk.error.message))
    for choice in chunk.choices:
        if choice.delta.reasoning_content:
            yield Thought(choice.delta.reasoning_content)
        if said := choice.delta.content or choice.delta.refusal:
            yield Text(said)
        if choice.finish_reason:
            yield Ended(choice.finish_reason, chunk.hermes.session_id, chunk.hermes.model)


def refused(response: HTTPResponse) -> Refused:
    """What the server says when it does not answer."""
    try:
        fault = msgspec.json.decode(response.read(), type=Chunk).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        fault = None
    said = terminal.one_line(fault.message) if fault else f"The server answered with status {response.status}."
    if response.status == 401:
        return Unauthenticated(f"{said} Say which key to use with --key or EVERTHREAD_API_KEY.")
    return Refused(said)
