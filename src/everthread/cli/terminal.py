"""What is typed and what is shown: commands, lines with a history, answers as they come."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TextIO

import msgspec

from everthread.core.ids import SessionId

try:
    from readline import add_history, parse_and_bind
except ImportError:  # some builds of Python lack it; input() then has neither editing nor history

    def add_history(string: str, /) -> None:
        """Nothing to add it to."""

    def parse_and_bind(string: str, /) -> None:
        """Nothing to bind it to."""


HELP = """\
/new, /reset     begin a new session; the memory scope stays
/session         show the session, the memory scope, the server and the model
/session ID      go on with another session
/help            show this list
/quit, /exit     end (so does Ctrl-D)

A line that ends in \\ goes on in the next. Ctrl-C stops listening to an answer, or clears the line.
To send a message that begins with a slash, put a space or another slash before it."""
LONGEST_HISTORY = 1000  # lines
HINT = "..."
CONTROLS = dict.fromkeys({*range(32), *range(127, 160)} - {ord("\n"), ord("\t")})

# --- commands ---


class Say(msgspec.Struct, frozen=True):
    text: str


class Begin(msgspec.Struct, frozen=True):
    """A new session."""


class Switch(msgspec.Struct, frozen=True):
    session_id: SessionId


class Show(msgspec.Struct, frozen=True):
    """Where we are."""


class Help(msgspec.Struct, frozen=True):
    pass


class Quit(msgspec.Struct, frozen=True):
    pass


class Unknown(msgspec.Struct, frozen=True):
    line: str


Command = Say | Begin | Switch | Show | Help | Quit | Unknown


def command(line: str) -> Command | None:
    """What a line asks for; None when it is blank."""
    if not line.strip():
        return None
    if line.startswith("//"):
        return Say(line[1:].strip())
    if not line.startswith("/"):
        return Say(line.strip())
    word, *rest = line.split(maxsplit=1)
    match word.lower(), rest:
        case "/new" | "/reset", []:
            return Begin()
        case "/session", []:
            return Show()
        case "/session", [name]:
            return Switch(SessionId(name.strip()))
        case "/help", []:
            return Help()
        case "/quit" | "/exit", []:
            return Quit()
        case _:
            return Unknown(line.strip())


def one_line(text: str) -> str:
    """Without anything that could do more than be read."""
    return " ".join(text.split()).translate(CONTROLS)


def unknown(line: str) -> str:
    return (
        f"There is no command {textwrap.shorten(line, 40, placeholder=' ...')!r}, only /new, /reset, /session, /help,"
        " /quit and /exit. To send it as a message, put a space before it."
    )


# --- what is typed ---

Read = Callable[[str], str]  # a prompt -> a line without its end; EOFError after the last


def message(read: Read) -> str:
    """One message: a line, and those after it for as long as each ends in a backslash."""
    lines = [read("you> ")]
    while lines[-1].endswith("\\"):
        lines[-1] = lines[-1][:-1]
        try:
            lines.append(read("  ... "))
        except EOFError:
            break
    return "\n".join(lines)


def piped(source: TextIO) -> Read:
    """Reads lines that a program writes: without a prompt."""

    def read(prompt: str) -> str:
        line = source.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")

    return read


class Keyboard:
    """Reads lines that a person types: with editing, and a history that outlives the process."""

    def __init__(self, history: Path, note: Callable[[str], None]) -> None:
        self._history: Path | None = history
        self._note = note
        parse_and_bind("set enable-bracketed-paste on")  # what is pasted is one message, however many lines it has
        with self._keeping() as file:
            for line in trimmed(file):
                add_history(line)

    def read(self, prompt: str) -> str:
        line = input(prompt)
        if line.strip() and self._history is not None:
            with self._keeping() as file:
                append(file, line.splitlines())
        return line

    @contextmanager
    def _keeping(self) -> Iterator[Path]:
        """The history's file; if it cannot be used, that is said once."""
        assert self._history is not None
        try:
            yield self._history
        except OSError as error:
            self._note(f"What you type is not kept in {self._history}: {error.strerror}.")
            self._history = None


def trimmed(file: Path) -> list[str]:
    """The history's last lines, which are all that stays in its file; only its owner can read that."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    append(file, [])
    file.chmod(0o600)
    lines = file.read_text(errors="replace").splitlines()
    if len(lines) > LONGEST_HISTORY:
        lines = lines[-LONGEST_HISTORY:]
        file.write_text("".join(f"{line}\n" for line in lines))
    return lines


def append(file: Path, lines: list[str]) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w", errors="replace") as handle:
        handle.writelines(f"{line}\n" for line in lines)


# --- what is shown ---


class Screen:
    """Answers go to `out`, each piece at once; whatever else is said goes to `notes`.

    A person (`live`) also sees that we wait, and what the model thinks; control characters of a model do not
    reach the terminal. A program gets the answer and nothing else."""

    def __init__(self, out: TextIO, notes: TextIO, *, live: bool, colour: bool) -> None:
        self.live = live
        self._out = out
        self._notes = notes
        self._colour = colour
        self._shown: Literal["nothing", "hint", "thought", "text"] = "nothing"
        self._mid_line = False

    def wait(self) -> None:
        if self.live:
            self._write(HINT)
            self._shown = "hint"

    def thought(self, text: str) -> None:
        if not self.live:
            return
        if self._shown != "thought":
            self._erase_hint()
            self._write("" if self._colour else "(thinking) ")
            self._shown = "thought"
        clean = text.translate(CONTROLS)
        self._write(clean, f"\x1b[2m{clean}\x1b[0m" if self._colour else clean)

    def text(self, text: str) -> None:
        if self._shown != "text":
            text = text.lstrip("\n")
            if not text:
                return
            self._erase_hint()
            self._write("\n\n" if self._shown == "thought" else "")
            self._shown = "text"
        self._write(text.translate(CONTROLS) if self.live else text)

    def end(self) -> None:
        """The cursor is at the beginning of a line again."""
        self._erase_hint()
        if self._mid_line:
            self._write("\n\n" if self.live else "\n")
        self._shown = "nothing"

    def note(self, text: str) -> None:
        self.end()
        print(text, file=self._notes, flush=True)

    def leave_prompt(self) -> None:
        """Goes to a new line where a person's line was left without one."""
        if self.live:
            self.note("")

    def _erase_hint(self) -> None:
        if self._shown == "hint":
            self._out.write(f"\r{' ' * len(HINT)}\r")
            self._shown = "nothing"
            self._mid_line = False

    def _write(self, text: str, as_shown: str | None = None) -> None:
        if text:
            self._out.write(text if as_shown is None else as_shown)
            self._out.flush()
            self._mid_line = not text.endswith("\n")
