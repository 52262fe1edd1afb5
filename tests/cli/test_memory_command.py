"""`everthread memory`, with a server and without."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from everthread.cli.main import main
from everthread.cli.memory import EXAMPLES
from front_door import KEY, Client, Everthread

pytestmark = pytest.mark.slow

Command = Callable[..., tuple[int, str, str]]
ALEX = ("--session-key", "alex")


@pytest.fixture
def command(run: Command) -> Command:
    return partial(run, "memory")


@pytest.fixture
def server(start: Callable[..., Everthread], home: Path) -> Everthread:
    return start(home)


def talk(client: Client) -> None:
    client.say("We use MySQL for the orders.", session="trip", key="alex")
    client.say("We switched from MySQL to PostgreSQL because MySQL lost writes.", session="trip")
    client.say("I live in Porto.", session="free")
    until = time.monotonic() + 30
    for scope in ("session_key=alex", "session_id=free"):
        while client.get(f"/api/memory/status?{scope}").json["behind"]:
            assert time.monotonic() < until
            time.sleep(0.02)


def claim(client: Client, words: str) -> dict[str, Any]:
    data = client.get("/api/memory?session_key=alex").json["data"]
    (found,) = [one for one in data if words in one["quote"] and one["voice"] == "user"]
    return dict(found)


def test_what_is_read_is_the_same_whether_a_server_runs_or_not(server: Everthread, command: Command) -> None:
    code, shown, _ = command("list", *ALEX)
    assert (code, shown.startswith("Nothing is remembered here yet")) == (0, True)
    talk(server.client)
    new = claim(server.client, "switched")
    run = new["source"]["run_id"]
    questions = [
        ("list", *ALEX),
        ("list", *ALEX, "--json"),
        ("list", "--session", "free"),
        ("search", "MySQL or PostgreSQL", *ALEX),
        ("search", "MySQL", *ALEX, "--json", "--as-of", "2100-01-01"),
        ("timeline", *ALEX),
        ("timeline", "mysql", *ALEX, "--json", "--limit", "1"),
        ("sources", new["id"]),
        ("sources", new["id"], "--json"),
        ("turn", run),
        ("turn", run, "--json"),
        ("status", *ALEX),
    ]
    running = [command(*words) for words in questions]
    asked = [command(*words, "--url", server.url) for words in questions]
    server.stop()
    stopped = [command(*words) for words in questions]
    for words, one, two, three in zip(questions, running, asked, stopped, strict=True):
        assert one == two == three, words
        assert (one[0], one[2]) == (0, ""), words
    shown = stopped[0][1]
    assert '"We use MySQL for the orders"' in shown or '"We use MySQL for the orders."' in shown
    assert "reversed" in shown
    assert new["id"] in shown
    assert "Porto" in stopped[2][1]
    assert "Porto" not in shown
    assert "because: " in stopped[5][1]
    assert "replaced" in stopped[5][1]
    assert "message 3 of trip" in stopped[7][1]


def test_whose_memory_must_be_said(server: Everthread, command: Command) -> None:
    for words in (("list",), ("search", "x"), ("add", "x"), ("timeline",), ("export",), ("forget", "--everything")):
        code, _, said = command(*words)
        assert (code, "--session-key KEY" in said) == (1, True)
    assert command("list", *ALEX, "--limit", "0")[0] == 1
    assert command("list", "--session", "nobody", "--url", server.url)[0] == 1
    code, _, said = command("list", "--session", "nobody")
    assert (code, "There is no such session" in said) == (1, True)


def test_a_person_adds_corrects_pins_and_retracts(server: Everthread, command: Command) -> None:
    client = server.client
    code, said, _ = command("add", "The gate code is 1234", *ALEX, "--since", "2026-01-01", server=server)
    assert (code, said.startswith("Remembered:\n2026-01-01  current     fact")) == (0, True)
    first = claim(client, "1234")
    assert f"{first['id']}  by hand" in said
    assert command("pin", first["id"], server=server)[1].rstrip().endswith("by hand, pinned")
    assert command("unpin", first["id"], server=server)[1].startswith("No longer pinned")
    command("correct", first["id"], "The gate code is 9876", "--reason", "it was changed", server=server)
    second = claim(client, "9876")
    assert (second["because"], second["supersedes"]) == ("it was changed", first["id"])
    code, said, _ = command("retract", second["id"], "--json", server=server)
    assert (code, json.loads(said)["state"]) == (0, "retracted")
    assert claim(client, "1234")["state"] == "current"
    code, _, said = command("pin", "clm_nobody", server=server)
    assert (code, "There is no such claim" in said) == (1, True)
    code, _, said = command("add", " ", *ALEX, server=server)
    assert (code, "no words" in said) == (1, True)


def test_the_file_is_taken_when_no_server_has_it(server: Everthread, command: Command) -> None:
    talk(server.client)
    code, _, said = command("add", "x", *ALEX)
    assert (code, "--url" in said) == (1, True)
    server.stop()
    assert command("add", "The gate code is 1234", *ALEX)[0] == 0
    assert "The gate code is 1234" in command("list", *ALEX)[1]
    assert "The gate code is 1234" not in command("list", *ALEX, "--tenant", "other")[1]


def test_lists_go_past_a_page(server: Everthread, command: Command) -> None:
    for number in range(205):
        server.client.post("/api/memory?session_key=alex", {"text": f"Item {number}"})
    assert len(command("list", *ALEX, "--json", "--limit", "300")[1].splitlines()) == 205
    assert len(command("list", *ALEX, "--json", "--limit", "203", "--url", server.url)[1].splitlines()) == 203
    assert len(command("timeline", *ALEX, "--json", "--limit", "300")[1].splitlines()) == 205


def test_an_export_is_the_same_from_the_file_and_from_the_server(
    server: Everthread, command: Command, tmp_path: Path
) -> None:
    talk(server.client)
    for format_ in ("jsonl", "markdown"):
        local, asked = tmp_path / "local", tmp_path / "asked"
        assert command("export", *ALEX, "--format", format_, "-o", str(local))[0] == 0
        assert command("export", *ALEX, "--format", format_, "-o", str(asked), "--url", server.url)[0] == 0
        one, two = (file.read_text().splitlines() for file in (local, asked))
        assert [line for line in one if "As of" not in line] == [line for line in two if "As of" not in line]
        assert "MySQL" in local.read_text()
    assert command("export", *ALEX, "-o", str(tmp_path / "no" / "where"))[0] == 1


def test_nothing_that_a_terminal_would_obey_is_shown(server: Everthread, command: Command) -> None:
    server.client.post("/api/memory?session_key=alex", {"text": "\x1b[31mred\nand blue"})
    assert '"[31mred and blue"' in command("list", *ALEX)[1]


def test_forgetting_shows_what_would_go_and_wants_a_yes(server: Everthread, command: Command) -> None:
    talk(server.client)
    code, shown, _ = command("forget", "--text", "lost writes", "--dry-run", *ALEX)
    assert (code, shown.startswith("This would go: ")) == (0, True)
    assert "lost writes" in shown
    code, _, said = command("forget", "--text", "lost writes", *ALEX, server=server)
    assert (code, "Say --yes to forget" in said) == (1, True)
    assert "lost writes" in json.dumps(server.client.get("/api/memory?session_key=alex").json)
    code, shown, _ = command("forget", "--text", "lost writes", *ALEX, "--yes", server=server)
    assert (code, shown.startswith("Forgotten: ")) == (0, True)
    assert "lost writes" not in json.dumps(server.client.get("/api/memory?session_key=alex").json)


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "left"), [("n\n", True), ("y\n", False)])
def test_a_person_is_asked_before_anything_is_forgotten(server: Everthread, home: Path, typed: str, left: bool) -> None:
    talk(server.client)
    ours, theirs = pty.openpty()
    environ = {**os.environ, "EVERTHREAD_HOME": str(home), "EVERTHREAD_API_KEY": KEY}
    environ["EVERTHREAD_PORT"] = str(urlsplit(server.url).port)
    asking = subprocess.Popen(
        [sys.executable, "-m", "everthread", "memory", "forget", "--text", "lost writes", *ALEX],
        env=environ,
        stdin=theirs,
        stdout=subprocess.PIPE,
    )
    os.write(ours, typed.encode())
    printed, _ = asking.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert b"This would go: " in printed
    assert b"Erase this for good? [y/N]" in printed
    assert asking.returncode == (1 if left else 0)
    assert ("lost writes" in server.client.get("/api/memory?session_key=alex").body.decode()) is left


def test_the_help_teaches_with_an_example_each(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["memory", "--help"])
    shown = capsys.readouterr().out
    for word in EXAMPLES:
        assert f"everthread memory {word}" in shown
        with pytest.raises(SystemExit):
            main(["memory", word, "--help"])
        assert f"example:\n  everthread memory {word}" in capsys.readouterr().out
