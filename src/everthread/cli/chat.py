"""`everthread chat`: a conversation in the terminal, with a server that runs or with one in this process."""

from __future__ import annotations

import argparse
import io
import logging
import os
import secrets
import shlex
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from everthread import __version__, settings
from everthread.cli import Subparsers, terminal
from everthread.cli.inside import in_process
from everthread.cli.remote import Address, Ended, Text, Thought, Topic, Word, ask
from everthread.cli.terminal import Keyboard, Screen
from everthread.core import ids
from everthread.core.ids import SessionId, SessionKey
from everthread.errors import Failure, Malformed, Unauthenticated

log = logging.getLogger("everthread.cli.chat")

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
                                               say one thing, print the answer, end (with 1 if there is none)
  everthread chat < questions.txt              each line is a message; the answers go to standard output
  EVERTHREAD_API_KEY=et_... everthread chat --url https://chat.example.org
                                               talk to a server elsewhere

Ctrl-C while an answer comes stops listening to it; the server finishes the turn and keeps it.
A server inside this process writes its log to chat.log in EVERTHREAD_HOME.
"""
ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # where a server that listens everywhere is reached


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
    take_any_bytes()
    if args.message and not " ".join(args.message).strip():
        raise Malformed("MESSAGE is empty.")
    topic, chosen = topic_of(args), load(args)
    live = not args.message and sys.stdin.isatty() and sys.stdout.isatty()
    screen = Screen(sys.stdout, sys.stderr, live=live, colour=live and colourful())
    with reached(args, chosen) as server:
        talk = Talk(server, screen, topic)
        try:
            well = converse(talk, screen, args.message, chosen.home / "chat_history")
        except BrokenPipeError:  # a reader that has seen enough, such as head
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
    if talk.begun and sys.stderr.isatty():
        screen.note(f"Go on with: {resume(talk.topic.session_id, args.url)}")
    return 0 if well else 1


def converse(talk: Talk, screen: Screen, message: list[str], history: Path) -> bool:
    """The conversation, in the form that suits whoever is at the other end; whether all went well."""
    if message:
        talk.say(" ".join(message))
        return True
    if not screen.live:
        return talk.hold(terminal.piped(sys.stdin))
    screen.note(talk.greeting())
    talk.hold(Keyboard(history, screen.note).read)
    return True


def take_any_bytes() -> None:
    """A character that the terminal or a file cannot express is replaced, not the end of the conversation."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def load(args: argparse.Namespace) -> settings.Settings:
    """The settings. OpenAI's own variables are for a server, so they do not matter when it is elsewhere."""
    if args.url is None:
        return settings.load()
    return settings.load({name: text for name, text in os.environ.items() if name.startswith(settings.PREFIX)})


def colourful() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


# --- the conversation ---


def topic_of(args: argparse.Namespace) -> Topic:
    session_id, session_key = args.session, args.session_key
    return Topic(
        session_id=SessionId(ids.printable(session_id, what="--session")) if session_id else fresh_id(),
        session_key=SessionKey(ids.printable(session_key, what="--session-key")) if session_key else None,
        model=args.model,
    )


def fresh_id() -> SessionId:
    return SessionId(f"chat-{datetime.now(UTC).astimezone():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}")


def resume(session_id: SessionId, url: str | None) -> str:
    """The command that goes on with a session."""
    where = ["--url", url] if url else []
    return shlex.join(["everthread", "chat", *where, "--session", session_id])


class Talk:
    """Obeys commands, says messages, shows answers."""

    def __init__(self, server: Address, screen: Screen, topic: Topic) -> None:
        self.topic = topic
        self.begun = False  # the session exists, so one can go on with it
        self._server = server
        self._screen = screen
        self._answered_by: str | None = None

    def greeting(self) -> str:
        """What a person sees first; a Failure if the server would not listen to them."""
        self._server.check()
        return (
            f"Everthread {__version__}, {self._server.about}\n"
            f"session {self.topic.session_id}\n"
            "/help shows the commands, /quit or Ctrl-D ends.\n"
        )

    def hold(self, read: terminal.Read) -> bool:
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
                self._switch(fresh_id())
            case terminal.Switch(session_id=session_id):
                self._switch(session_id)
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
        try:
            self._screen.wait()
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
            case Ended(reason=reason, session_id=session_id, model=model):
                self.begun = True
                self._answered_by = model
                self.topic = msgspec.structs.replace(self.topic, session_id=session_id or self.topic.session_id)
                if reason == "length":
                    self._screen.note("(The answer reached the model's limit and ends here.)")

    def _switch(self, session_id: SessionId) -> None:
        name = SessionId(ids.printable(session_id, what="A session id"))
        self.topic = msgspec.structs.replace(self.topic, session_id=name)
        self._screen.note(f"The session is now {name}")

    def _where(self) -> str:
        return (
            f"session      {self.topic.session_id}\n"
            f"session key  {self.topic.session_key or '(none)'}\n"
            f"server       {self._server.url} ({self._server.about})\n"
            f"model        {self.topic.model or self._answered_by or '(the default)'}"
        )


# --- who answers ---


@contextmanager
def reached(args: argparse.Namespace, chosen: settings.Settings) -> Iterator[Address]:
    """The server that is named, else the one that runs here, else one that lives as long as the conversation."""
    here = f"http://{authority(chosen)}"
    if args.url is not None:
        url = checked_url(args.url)
        yield Address(url, key_of(args, chosen), url)
    elif chosen.port and Address(here, "", here).is_alive():
        yield Address(here, key_of(args, chosen), here)
    else:
        with in_process(chosen) as server:
            yield msgspec.structs.replace(server, key=args.key or server.key)


def authority(chosen: settings.Settings) -> str:
    host = ANYWHERE.get(chosen.host, chosen.host)
    return f"[{host}]:{chosen.port}" if ":" in host else f"{host}:{chosen.port}"


def checked_url(text: str) -> str:
    """A server's address without the /v1 that clients are given."""
    url = (text if "://" in text else f"http://{text}").rstrip("/").removesuffix("/v1")
    try:
        where = urlsplit(url)
        well = where.scheme in {"http", "https"} and where.hostname and where.port != 0
    except ValueError:
        well = False
    if not well or not url.isascii() or not url.isprintable() or " " in url:
        raise Malformed(f"--url is a server's address, such as http://127.0.0.1:8642, not {text!r}.")
    return url


def key_of(args: argparse.Namespace, chosen: settings.Settings) -> str:
    key = args.key or chosen.api_key
    if key is None:
        try:
            key = chosen.key_file.read_text().strip()
        except OSError as error:
            raise Unauthenticated(
                f"Say which API key to use, with --key or EVERTHREAD_API_KEY: there is none in {chosen.key_file}."
            ) from error
    return key
