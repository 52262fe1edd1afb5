"""`everthread chat`, as a person and as a script use it."""

from __future__ import annotations

import asyncio
import io
import os
import re
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from everthread.cli import terminal
from everthread.cli.chat import checked_url
from everthread.cli.terminal import Begin, Help, Quit, Say, Screen, Show, Switch, Unknown
from everthread.core.ids import SessionId
from everthread.errors import Malformed
from front_door import KEY, Everthread
from upstream import HEAD, Upstream, chunk, cuts, end, error_in_stream, event, says, status, streams

pytestmark = pytest.mark.slow

FRESH = re.compile(r"chat-\d{8}-\d{6}-[0-9a-f]{4}")


# --- what a line asks for ---


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("hello", Say("hello")),
        ("  hello  ", Say("hello")),
        ("/new", Begin()),
        ("/reset", Begin()),
        ("/NEW ", Begin()),
        ("/session", Show()),
        ("/session trip", Switch(SessionId("trip"))),
        ("/help", Help()),
        ("/quit", Quit()),
        ("/exit", Quit()),
        ("/sesion trip", Unknown("/sesion trip")),
        ("/new idea", Unknown("/new idea")),
        ("/", Unknown("/")),
        (" /etc/hosts is what?", Say("/etc/hosts is what?")),
        ("//etc/hosts is what?", Say("/etc/hosts is what?")),
        ("", None),
        ("   ", None),
    ],
)
def test_a_line_is_a_command_or_a_message(line: str, asked: terminal.Command | None) -> None:
    assert terminal.command(line) == asked


def test_an_unknown_command_is_answered_with_those_there_are() -> None:
    said = terminal.unknown("/nwe")
    assert "'/nwe'" in said
    assert all(word in said for word in ("/new", "/reset", "/session", "/help", "/quit", "/exit"))


@pytest.mark.parametrize(
    ("typed", "messages"),
    [
        ("one\ntwo\n", ["one", "two"]),
        ("one\\\ntwo\\\nthree\nfour\n", ["one\ntwo\nthree", "four"]),
        ("one\\\n", ["one"]),
        ("last without an end", ["last without an end"]),
        ("from Windows\r\n", ["from Windows"]),
    ],
)
def test_a_backslash_at_the_end_of_a_line_joins_the_next(typed: str, messages: list[str]) -> None:
    read = terminal.piped(io.StringIO(typed))
    assert [terminal.message(read) for _ in messages] == messages
    with pytest.raises(EOFError):
        terminal.message(read)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://127.0.0.1:8642", "http://127.0.0.1:8642"),
        ("http://127.0.0.1:8642/v1/", "http://127.0.0.1:8642"),
        ("https://example.org/chat/v1", "https://example.org/chat"),
        ("localhost:8642", "http://localhost:8642"),
        ("http://[::1]:8642", "http://[::1]:8642"),
    ],
)
def test_an_address_may_be_given_as_any_client_knows_it(given: str, url: str) -> None:
    assert checked_url(given) == url


@pytest.mark.parametrize("given", ["", "ftp://example.org", "http://", "http://host:port", "http://a b"])
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(Malformed, match="--url is a server's address"):
        checked_url(given)


# --- what is shown ---


def shown(*, live: bool = True, colour: bool = False) -> tuple[Screen, io.StringIO, io.StringIO]:
    out, notes = io.StringIO(), io.StringIO()
    return Screen(out, notes, live=live, colour=colour), out, notes


def test_the_hint_is_erased_when_the_first_word_comes() -> None:
    screen, out, _ = shown()
    screen.wait()
    assert out.getvalue() == "..."
    screen.text("Hi")
    screen.end()
    assert out.getvalue() == "...\r   \rHi\n\n"


def test_thoughts_are_dim_where_there_is_colour_and_marked_where_there_is_none() -> None:
    for colour, seen in (
        (True, "\x1b[2mhm\x1b[0m\x1b[2m, so\x1b[0m\n\nYes.\n\n"),
        (False, "(thinking) hm, so\n\nYes.\n\n"),
    ):
        screen, out, _ = shown(colour=colour)
        for thought in ("hm", ", so"):
            screen.thought(thought)
        for text in ("\n\n", "Yes", "."):
            screen.text(text)
        screen.end()
        assert out.getvalue() == seen


def test_a_program_gets_the_answer_and_nothing_else() -> None:
    screen, out, notes = shown(live=False)
    screen.wait()
    screen.thought("hm")
    screen.text("a\x1b[31mb")
    screen.note("a note")
    assert out.getvalue() == "a\x1b[31mb\n", "as the model said it"
    assert notes.getvalue() == "a note\n"


def test_a_model_cannot_steer_the_terminal() -> None:
    screen, out, _ = shown()
    screen.text("a\x1b]0;title\x07b\x9b2Jc\td\n")
    assert out.getvalue() == "a]0;titleb2Jc\td\n"
    assert terminal.one_line("two\nlines \x1b[31mred") == "two lines [31mred"


# --- a script ---


def everthread(home: Path, *args: str, typed: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "everthread", "chat", *args],
        input=typed,
        env=environ(home, **more),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def environ(home: Path, **more: str) -> dict[str, str]:
    mine = {name: text for name, text in os.environ.items() if not name.startswith(("EVERTHREAD_", "OPENAI_"))}
    return {**mine, "EVERTHREAD_HOME": str(home), "EVERTHREAD_PORT": "0", **more}


Script = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def chat(server: Everthread, upstream: Upstream, tmp_path: Path) -> Script:
    """Talks to the running server."""

    def talking(*args: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        return everthread(tmp_path, "--url", server.url, *args, typed=typed, EVERTHREAD_API_KEY=KEY)

    return talking


def test_a_message_as_an_argument_is_answered_on_standard_output(chat: Script, upstream: Upstream) -> None:
    done = chat("hello", "there")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "You said 'hello there'. I know nobody. I see 1 messages.\n"
    assert upstream.requests[-1]["stream"] is True


@pytest.mark.slow
def test_the_session_its_key_and_the_model_can_be_named(chat: Script, upstream: Upstream, name: str) -> None:
    chat("--session", name, "--session-key", "alex", "--model", "other-model", "My name is Alex.")
    assert "I know Alex" in chat("--session", name, "And?").stdout
    other = chat("--session", name, "--session-key", "sam", "Who am I?")
    assert (other.returncode, other.stdout) == (1, "")
    assert other.stderr == "everthread: This session belongs to another session key.\n"
    assert upstream.requests[0]["model"] == "other-model"


def test_lines_on_standard_input_share_a_session_until_new_begins_another(chat: Script) -> None:
    done = chat(typed="My name is Alex.\n\nWho am I?\n/new\nWho am I?\n")
    first, second, third = done.stdout.splitlines()
    assert "I know Alex. I see 1 messages" in first
    assert "I know Alex. I see 3 messages" in second
    assert "I know nobody. I see 1 messages" in third
    assert re.fullmatch(rf"The session is now {FRESH.pattern}\n", done.stderr)
    assert done.returncode == 0


def test_session_shows_where_we_are_and_switches(chat: Script, server: Everthread, name: str) -> None:
    done = chat(
        "--session", name, "--session-key", "alex", typed=f"hello\n/session\n/session {name}-2\n/session \x7f\n"
    )
    assert f"session      {name}\nsession key  alex\nserver       {server.url}" in done.stderr
    assert "model        fake-model" in done.stderr
    assert f"The session is now {name}-2\n" in done.stderr
    assert "everthread: A session id may only contain printable ASCII characters.\n" in done.stderr


def test_quit_ends_before_the_lines_do(chat: Script, upstream: Upstream) -> None:
    assert chat(typed="/quit\nhello\n").returncode == 0
    assert upstream.requests == []


def test_a_failure_is_said_in_one_line_and_the_conversation_goes_on(chat: Script, upstream: Upstream) -> None:
    upstream.plan = [status(400), error_in_stream]
    done = chat(typed="one\ntwo\nthree\n")
    partial, third = done.stdout.splitlines()
    assert (partial, third) == ("Hm", "You said 'three'. I know nobody. I see 1 messages.")
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["everthread", "everthread"]
    assert done.returncode == 1, "a script can tell that not all went well"


def test_an_answer_at_the_limit_says_so(chat: Script, upstream: Upstream) -> None:
    upstream.plan = [streams(chunk({"content": "Once upon"}), chunk({}, "length"), "[DONE]")]
    done = chat("a story")
    assert done.stdout == "Once upon\n"
    assert "limit" in done.stderr


def test_bytes_that_are_no_text_and_text_of_any_kind_get_through(chat: Script, upstream: Upstream) -> None:
    upstream.plan = [says("Grüß Gott 🧵")]
    assert chat("ça va, 🧵? \udcff").stdout == "Grüß Gott 🧵\n"
    assert upstream.prompts[-1][-1]["content"] == "ça va, 🧵? ?"


def test_the_session_that_the_server_says_is_in_force_is_followed(upstream: Upstream, tmp_path: Path) -> None:
    rotated = {**chunk({}, "stop"), "hermes": {"session_id": "child", "model": "m"}}
    upstream.plan = [
        streams(b": keep-alive\n\n", chunk({"reasoning_content": "hm"}), chunk({"content": "Yes."}), rotated, "[DONE]")
    ]
    done = everthread(
        tmp_path, "--url", upstream.url, "--key", "k", "--session", "parent", typed="one\n/session\ntwo\n"
    )
    assert done.stdout.splitlines()[0] == "Yes.", "neither comments nor thoughts"
    assert "session      child\n" in done.stderr
    assert [headers["x-hermes-session-id"] for headers in upstream.headers] == ["parent", "child"]


def test_an_answer_that_breaks_off_is_no_answer(upstream: Upstream, tmp_path: Path) -> None:
    upstream.plan = [cuts, streams(chunk({"content": "and so"})), streams("{not json")]
    done = everthread(tmp_path, "--url", upstream.url, "--key", "k", typed="one\ntwo\nthree\n")
    assert done.returncode == 1
    first, second, third = done.stderr.splitlines()
    assert "lost before the answer was complete" in first
    assert "lost before the answer was complete" in second
    assert "not a chat completion" in third


def test_a_reader_that_leaves_early_is_no_disaster(upstream: Upstream, server: Everthread, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as closed:  # noqa: PTH123
        left = subprocess.run(
            [sys.executable, "-m", "everthread", "chat", "--url", server.url, "hello"],
            env=environ(tmp_path, EVERTHREAD_API_KEY=KEY),
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (left.returncode, left.stderr) == (1, b"")


def test_a_wrong_key_says_how_to_give_another(chat: Script) -> None:
    done = chat("--key", "et_wrong", "hello")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "everthread: This API key is not valid. Say which key to use with --key or EVERTHREAD_API_KEY.\n"
    )


def test_no_key_at_all_says_how_to_give_one(server: Everthread, tmp_path: Path) -> None:
    done = everthread(tmp_path, "--url", server.url, "hello")
    assert done.returncode == 1
    assert done.stderr.startswith("everthread: Say which API key to use, with --key or EVERTHREAD_API_KEY")


def test_the_key_in_the_home_folder_is_used(server: Everthread, upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    assert everthread(tmp_path, "--url", server.url, "hello").returncode == 0


def test_an_address_where_nothing_listens_is_said_in_one_line(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    done = everthread(tmp_path, "--url", url, "--key", KEY, "hello", OPENAI_API_KEY="of no interest here")
    assert done.returncode == 1
    assert done.stderr == f"everthread: {url} does not answer: [Errno 111] Connection refused\n"


@pytest.mark.parametrize(
    ("args", "why"),
    [(["--session", "ümlaut", "x"], "--session"), (["--url", "ftp://x", "x"], "--url"), ([" "], "MESSAGE")],
)
def test_what_makes_no_sense_is_refused_before_anything_starts(tmp_path: Path, args: list[str], why: str) -> None:
    done = everthread(tmp_path, *args)
    assert done.returncode == 1
    assert done.stderr.startswith(f"everthread: {why}")
    assert list(tmp_path.iterdir()) == []


def test_help_teaches_by_examples(tmp_path: Path) -> None:
    done = everthread(tmp_path, "--help")
    assert done.returncode == 0
    assert "everthread chat --session trip" in done.stdout


# --- a server that runs here, or one in this process ---


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_server_that_runs_here_is_found(server: Everthread, upstream: Upstream, tmp_path: Path) -> None:
    port = server.url.rpartition(":")[2]
    done = everthread(tmp_path, "hello", EVERTHREAD_PORT=port, EVERTHREAD_API_KEY=KEY)
    assert done.stdout.startswith("You said 'hello'.")
    assert not (tmp_path / "everthread.db").exists()


@pytest.mark.slow
def test_without_a_server_one_in_this_process_answers_and_what_was_said_is_kept(
    upstream: Upstream, tmp_path: Path
) -> None:
    here = {"EVERTHREAD_UPSTREAM_URL": upstream.url, "EVERTHREAD_PORT": str(free_port())}
    first = everthread(tmp_path, "--session", "s", "My name is Alex.", **here)
    assert (first.returncode, first.stderr) == (0, "")
    assert "I know Alex" in everthread(tmp_path, "--session", "s", "Who am I?", **here).stdout
    upstream.plan = [status(500), status(500), status(500)]
    failed = everthread(tmp_path, "hello", **here)
    assert failed.stderr.count("\n") == 1, "retries are told to the log"
    assert "trying again" in (tmp_path / "chat.log").read_text()


@pytest.mark.slow
def test_a_home_that_another_server_uses_says_how_to_talk_to_that_one(
    start: Callable[..., Everthread], upstream: Upstream, tmp_path: Path
) -> None:
    start(tmp_path / "home")
    done = everthread(tmp_path / "home", "hello", EVERTHREAD_UPSTREAM_URL=upstream.url)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "everthread chat --url http://HOST:PORT" in done.stderr


# --- a person ---

BECOME_THE_TERMINALS = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Person:
    """At a terminal of their own."""

    def __init__(self, home: Path, *args: str, **more: str) -> None:
        self._terminal, theirs = os.openpty()
        command = [sys.executable, "-m", "everthread", "chat", *args]
        self._process = subprocess.Popen(
            [sys.executable, "-c", BECOME_THE_TERMINALS, *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environ(home, TERM="xterm", **more),
            start_new_session=True,
        )
        os.close(theirs)
        self._seen = ""

    def types(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def sees(self, expected: str, within: float = 20) -> str:
        """What came up to and including the expected text."""
        until = time.monotonic() + within
        while expected not in self._seen:
            ready, _, _ = select.select([self._terminal], [], [], max(0, until - time.monotonic()))
            assert ready, f"{expected!r} is not in {self._seen!r}"
            self._seen += os.read(self._terminal, 4096).decode(errors="replace")
        before, _, self._seen = self._seen.partition(expected)
        return before + expected

    def interrupts(self, expected: str) -> None:
        """Presses Ctrl-C, and again if nothing happens: readline may miss one that comes while it handles a key."""
        for _ in range(9):
            self.types("\x03")
            with suppress(AssertionError):
                self.sees(expected, within=2)
                return
        raise AssertionError(f"Ctrl-C does not lead to {expected!r}")

    def ends(self) -> int:
        return self._process.wait(30)

    def leaves(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(10)
        os.close(self._terminal)


@pytest.fixture
def person(server: Everthread, upstream: Upstream, tmp_path: Path) -> Iterator[Person]:
    someone = Person(tmp_path, "--url", server.url, EVERTHREAD_API_KEY=KEY)
    yield someone
    someone.leaves()


def until(released: threading.Event) -> Any:
    """Says one word, and the rest when it is released."""

    async def behave(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        await event(writer, chunk({"role": "assistant", "content": "Well,"}))
        while not released.is_set():
            await asyncio.sleep(0.01)
        await event(writer, chunk({"content": " my name is Bo."}))
        await event(writer, chunk({}, "stop"))
        await event(writer, "[DONE]")
        await end(writer)

    return behave


def test_a_person_is_greeted_answered_and_told_how_to_go_on(person: Person, server: Everthread) -> None:
    session = FRESH.search(person.sees("you> "))
    assert session is not None
    person.types("hello\r")
    person.sees("You said 'hello'. I know nobody. I see 1 messages.")
    person.sees("you> ")
    person.types("\x04")
    person.sees(f"Go on with: everthread chat --url {server.url} --session {session[0]}")
    assert person.ends() == 0


def test_ctrl_c_stops_listening_and_the_turn_is_finished_and_kept(person: Person, upstream: Upstream) -> None:
    released = threading.Event()
    upstream.plan = [until(released)]
    person.sees("you> ")
    person.types("who are you?\r")
    person.sees("Well,")
    person.types("\x03")
    person.sees("Stopped listening; the server finishes this turn and keeps it.")
    person.sees("you> ")
    released.set()
    person.types("and?\r")
    person.sees("I see 3 messages.")
    assert upstream.prompts[-1][1]["content"] == "Well, my name is Bo."


def test_ctrl_c_at_the_prompt_clears_the_line(person: Person, upstream: Upstream) -> None:
    person.sees("you> ")
    person.types("nonsense")
    person.sees("nonsense")
    person.interrupts("you> ")
    person.types("hello\r")
    person.sees("You said 'hello'.")
    assert len(upstream.requests) == 1


def test_what_is_pasted_is_one_message(person: Person, upstream: Upstream) -> None:
    person.sees("you> ")
    person.types("\x1b[200~line one\rline two\x1b[201~\r")
    person.sees("I see 1 messages.")
    assert upstream.prompts[0][-1]["content"] == "line one\nline two"


@pytest.mark.slow
def test_what_was_typed_comes_back_with_arrow_up_in_the_next_conversation(
    person: Person, server: Everthread, tmp_path: Path
) -> None:
    person.sees("you> ")
    person.types("remember me\r")
    person.sees("I see 1 messages.")
    person.types("/quit\r")
    assert person.ends() == 0
    history = tmp_path / "chat_history"
    assert history.read_text() == "remember me\n/quit\n"
    assert history.stat().st_mode & 0o777 == 0o600
    later = Person(tmp_path, "--url", server.url, EVERTHREAD_API_KEY=KEY)
    try:
        later.sees("you> ")
        later.types("\x1b[A\x1b[A, please\r")
        later.sees("You said 'remember me, please'.")
    finally:
        later.leaves()


def test_a_person_with_a_wrong_key_is_told_at_once(server: Everthread, tmp_path: Path) -> None:
    someone = Person(tmp_path, "--url", server.url, "--key", "et_wrong")
    try:
        someone.sees("everthread: This API key is not valid.")
        assert someone.ends() == 1
    finally:
        someone.leaves()


def test_the_history_is_bounded(tmp_path: Path) -> None:
    history = tmp_path / "chat_history"
    history.write_text("".join(f"line {number}\n" for number in range(1500)))
    assert terminal.trimmed(history)[0] == "line 500"
    lines = history.read_text().splitlines()
    assert (len(lines), lines[0], lines[-1]) == (1000, "line 500", "line 1499")


def test_a_history_that_cannot_be_kept_is_said_once_and_does_no_harm(server: Everthread, tmp_path: Path) -> None:
    (tmp_path / "chat_history").mkdir()
    someone = Person(tmp_path, "--url", server.url, EVERTHREAD_API_KEY=KEY)
    try:
        someone.sees("What you type is not kept")
        someone.sees("you> ")
        someone.types("hello\r")
        assert "not kept" not in someone.sees("You said 'hello'.")
    finally:
        someone.leaves()
