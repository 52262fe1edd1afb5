"""`everthread chat`: a conversation in the terminal, with a server that runs or with one in this process."""

from __future__ import annotations

import argparse
import io
import logging
import os
import secrets
import shlex
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, redirect_stdout
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import assert_never
from urllib.parse import urlsplit

import msgspec
import uvloop

from everthread import __version__, settings, wiring
from everthread.cli import Subparsers, terminal
from everthread.cli.serve import fetch_weights
from everthread.cli.terminal import Keyboard, Screen
from everthread.core import ids
from everthread.core.ids import SessionId, SessionKey
from everthread.errors import Failure, Malformed, Refused, StoreInUse, Unauthenticated, Unavailable
from everthread.http.app import App
from everthread.http.chat import PATH
from everthread.http.server import Server, bind, configured

DESCRIPTION = """\
A conversation in the terminal. It is held with the server at --url; without that, with the one that runs on this
machine (EVERTHREAD_HOST, EVERTHREAD_PORT); and if none does, with one inside this process, on the same data.

The session is kept: the last line says how to go on with it. Type /help to see the commands.
"""
EPILOG = """\
examples:
  everthread chat                              talk; arrow-up brings back what you typed, /quit ends
  everthread chat --session trip               begin the session `trip`, or go on with it
  everthread chat --session-key alex           remember and recall under the memory scope `alex`
  everthread chat "What is the capital of Peru?"
                                               say one thing, print the answer, end; 1 if there is none
  everthread chat < questions.txt              each line is a message; the answers go to standard output
  EVERTHREAD_API_KEY=et_... everthread chat --url https://chat.example.org
                                               talk to a server elsewhere

Ctrl-C while an answer comes stops listening; the server finishes the turn and keeps it.
A server inside this process writes its log to chat.log in EVERTHREAD_HOME.
"""
CONNECT = 10.0  # seconds
SILENCE = 120.0  # seconds without a byte; the server sends a comment every 15
KNOCK = 2.0  # seconds


def register(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "chat",
        help="talk in the terminal",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("message", metavar="MESSAGE", nargs="*", help="say this one thing, print the answer and end")
    parser.add_argument("--url", help="a server's address, such as http://127.0.0.1:8642")
    parser.add_argument("--key", help="its API key (default: EVERTHREAD_API_KEY, else the one in EVERTHREAD_HOME)")
    parser.add_argument("--session", metavar="ID", help="the session to begin or go on with (default: a new one)")
    parser.add_argument("--session-key", metavar="KEY", help="the memory scope (default: none)")
    parser.add_argument("--model", metavar="NAME", help="the model that answers (default: the server's)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    chosen = load(args)
    live = not args.message and sys.stdin.isatty() and sys.stdout.isatty()
    screen = Screen(sys.stdout, sys.stderr, live=live, colour=live and colourful())
    topic = topic_of(args)
    text = " ".join(args.message)
    if args.message and not text.strip():
        raise Malformed("MESSAGE is empty.")
    with closing_pipe(), reached(args, chosen) as server:
        talk = Talk(server, screen, topic)
        if live:
            check_key(server)
            screen.note(banner(server, topic))
            talk.held(Keyboard(chosen.home / "chat_history").read)
        well = live or (talk.say(text) if text else talk.held(terminal.piped(sys.stdin)))
    if talk.begun and sys.stderr.isatty():
        screen.note(f"Go on with: {resume(talk.topic, args.url)}")
    return 0 if well else 1


def load(args: argparse.Namespace) -> settings.Settings:
    """The settings; what only concerns a server's own upstream does not matter when the server is elsewhere."""
    if args.url is None:
        return settings.load()
    return settings.load({name: text for name, text in os.environ.items() if name.startswith(settings.PREFIX)})


def colourful() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@contextmanager
def closing_pipe() -> Iterator[None]:
    """A reader that has seen enough, such as head, is no failure."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# --- what the conversation is about ---


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """The session in force, its memory scope, and who should answer."""

    session_id: SessionId
    session_key: SessionKey | None = None
    model: str | None = None


def topic_of(args: argparse.Namespace) -> Topic:
    scope = ids.printable(args.session_key, what="--session-key") if args.session_key else None
    return Topic(
        session_id=SessionId(ids.printable(args.session, what="--session")) if args.session else fresh_id(),
        session_key=SessionKey(scope) if scope else None,
        model=args.model,
    )


def fresh_id() -> SessionId:
    return SessionId(f"chat-{datetime.now(UTC).astimezone():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}")


def resume(topic: Topic, url: str | None) -> str:
    """The command that goes on with this conversation."""
    options = {"--url": url, "--session": topic.session_id}
    return shlex.join(["everthread", "chat", *(word for pair in options.items() if pair[1] for word in pair if word)])


def banner(server: Address, topic: Topic) -> str:
    return (
        f"Everthread {__version__}: {topic.model or 'the default model'} on {server.about}\n"
        f"session {topic.session_id}\n"
        "/help shows the commands, /quit or Ctrl-D ends.\n"
    )


class Talk:
    """A conversation: obeys commands, says messages, shows answers."""

    def __init__(self, server: Address, screen: Screen, topic: Topic) -> None:
        self.topic = topic
        self.begun = False  # the session exists, so one can go on with it
        self._server = server
        self._screen = screen
        self._answered_by: str | None = None

    def held(self, read: terminal.Read) -> bool:
        """Obeys until the end, whatever fails; whether nothing did."""
        well = True
        while not isinstance(command := self._next(read), terminal.Quit):
            try:
                self._obey(command)
            except Failure as failure:
                self._screen.note(f"everthread: {failure.message}")
                well = False
        return well

    def _next(self, read: terminal.Read) -> terminal.Command:
        while True:
            try:
                if command := terminal.command(terminal.message(read)):
                    return command
            except EOFError:
                self._screen.leave_prompt()
                return terminal.Quit()
            except KeyboardInterrupt:
                if not self._screen.live:
                    raise
                self._screen.leave_prompt()

    def _obey(self, command: terminal.Command) -> None:
        match command:
            case terminal.Say(text=text):
                self.say(text)
            case terminal.Begin():
                self._switch(fresh_id(), "A new session begins")
            case terminal.Switch(session_id=session_id):
                self._switch(session_id, "The session in force is now")
            case terminal.Show():
                self._screen.note(self._where())
            case terminal.Help():
                self._screen.note(terminal.HELP)
            case terminal.Unknown(line=line):
                self._screen.note(terminal.unknown(line))
            case terminal.Quit():
                return

    def say(self, text: str) -> None:
        """One turn, shown as it comes."""
        self._screen.wait()
        try:
            with closing(ask(self._server, text, self.topic)) as words:
                for word in words:
                    self._hear(word)
        except KeyboardInterrupt:
            if not self._screen.live:
                raise
            self.begun = True
            self._screen.note("Stopped listening; the server finishes this turn and keeps it.")
        finally:
            self._screen.end()

    def _hear(self, word: Word) -> None:
        match word:
            case Text(text=text):
                self._screen.text(text)
            case Thought(text=text):
                self._screen.thought(text)
            case Ended(session_id=session_id, model=model, reason=reason):
                self.begun = True
                self._answered_by = model or self._answered_by
                self.topic = msgspec.structs.replace(self.topic, session_id=session_id or self.topic.session_id)
                if reason == "length":
                    self._screen.note("(The answer ends here because it reached the model's limit.)")

    def _switch(self, session_id: SessionId, what: str) -> None:
        name = SessionId(ids.printable(session_id, what="A session id"))
        self.topic = msgspec.structs.replace(self.topic, session_id=name)
        self._screen.note(f"{what}: {name}")

    def _where(self) -> str:
        return (
            f"session      {self.topic.session_id}\n"
            f"session key  {self.topic.session_key or '(none)'}\n"
            f"server       {self._server.url} ({self._server.about})\n"
            f"model        {self._answered_by or self.topic.model or '(the default)'}"
        )


# --- one turn over HTTP ---


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


def ask(server: Address, text: str, topic: Topic) -> Iterator[Word]:
    """Says a message and yields the answer as it comes; a Failure says why there is none, or no more."""
    body = {"messages": [{"role": "user", "content": text}], "stream": True}
    given = {"X-Hermes-Session-Id": topic.session_id, "X-Hermes-Session-Key": topic.session_key}
    with closing(connection(server)) as line:
        response = send(
            line,
            server,
            "POST",
            PATH,
            body={**body, "model": topic.model} if topic.model else body,
            headers={name: value for name, value in given.items() if value},
        )
        for data in events(response):
            yield from words(decoded(data))


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


def decoded(data: bytes) -> Chunk:
    try:
        return msgspec.json.decode(data, type=Chunk)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unavailable("The server sent something that is not a chat completion.") from error


def events(response: HTTPResponse) -> Iterator[bytes]:
    """The data of each server-sent event up to [DONE]; comments are left out."""
    with lost_line("The connection was lost before the answer was complete"):
        for line in response:
            data = line[5:].strip() if line.startswith(b"data:") else b""
            if data == b"[DONE]":
                return
            if data:
                yield data
    raise Unavailable("The server ended its answer before it was complete.")


def send(
    line: HTTPConnection, method: str, path: str, *, body: object = None, headers: Mapping[str, str] | None = None
) -> HTTPResponse:
    """The response, if its status is 200; else a Refused with what the server says."""
    content = json.dumps(body, ensure_ascii=False).encode(errors="replace") if body is not None else None
    with lost_line(f"Nothing answers at {line.host} port {line.port}"):
        line.connect()
        line.sock.settimeout(SILENCE)
        line.request(method, path, content, {"Content-Type": "application/json", **(headers or {})})
        response = line.getresponse()
        if response.status == 200:
            return response
        raise Refused(refusal(response.status, response.read()))


def refusal(status: int, body: bytes) -> str:
    try:
        fault = msgspec.json.decode(body, type=Chunk).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        fault = None
    said = terminal.one_line(fault.message) if fault else f"The server answered with status {status}."
    return f"{said} Say which one to use with --key or EVERTHREAD_API_KEY." if status == 401 else said


@contextmanager
def lost_line(what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, HTTPException) as error:
        raise Unavailable(f"{what}: {getattr(error, 'strerror', None) or error}.") from error


# --- who answers ---


class Address(msgspec.Struct, frozen=True):
    """A server, and what to say of it."""

    url: str
    key: str
    about: str

    def connection(self, timeout: float = CONNECT) -> HTTPConnection:
        where = urlsplit(self.url)
        kind = HTTPSConnection if where.scheme == "https" else HTTPConnection
        return kind(where.hostname or "", where.port, timeout=timeout)
