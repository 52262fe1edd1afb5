"""`everthread sessions`, with a server and without."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from everthread.cli.main import main
from front_door import KEY, Client, Everthread
from upstream import Upstream

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(run: Command) -> Command:
    return partial(run, "sessions")


@pytest.fixture
def server(start: Callable[..., Everthread], home: Path) -> Everthread:
    return start(home)


def talk(client: Client) -> None:
    client.say("my name is Ada", session="trip", key="alex")
    client.say([{"role": "user", "name": "Bob", "content": "\x1b[31mred\nand blue"}], session="trip")
    client.say("hello", session="work")
    client.send("PATCH", "/api/sessions/trip", json.dumps({"title": "To Rome\x07 and back"}).encode())


def test_the_list_is_a_table_whether_a_server_runs_or_not(server: Everthread, command: Command) -> None:
    assert command("list") == (0, "There are no sessions yet; begin one with: everthread chat\n", "")
    talk(server.client)
    running = command("list")
    asked = command("list", "--url", server.url)
    server.stop()
    stopped = command("list")
    assert running == asked == stopped
    code, shown, _ = stopped
    head, work, trip = shown.splitlines()
    assert (code, head.split()) == (0, ["ID", "TITLE", "MESSAGES", "LAST", "ACTIVE", "SESSION", "KEY"])
    assert (work.split()[0], work.split()[1]) == ("work", "2")
    assert trip.startswith("trip  To Rome and back")
    assert trip.endswith("alex")
    assert [line.split()[0] for line in command("list", "--session-key", "alex")[1].splitlines()[1:]] == ["trip"]
    assert len(command("list", "--limit", "1")[1].splitlines()) == 2
    found = [json.loads(line) for line in command("list", "--json")[1].splitlines()]
    assert [session["id"] for session in found] == ["work", "trip"]
    assert command("list", "--tenant", "other")[1].startswith("There are no sessions")


def test_a_compressed_conversation_is_listed_under_the_id_that_people_know(
    server: Everthread, command: Command
) -> None:
    for number in range(6):
        server.client.say(f"{number} " + "many words " * 30, session="long")
    code, said, _ = command("compress", "long", server=server)
    assert code == 0
    assert "goes on as long~" in said
    assert [line.split()[0] for line in command("list")[1].splitlines()[1:]] == ["long"]
    ids = [line.split()[0] for line in command("list", "--children")[1].splitlines()[1:]]
    assert (len(ids), ids[1]) == (2, "long")
    server.client.post("/api/sessions", {"id": "empty"})
    assert command("compress", "empty", server=server) == (0, "There is nothing to compress now.\n", "")
    assert command("compress", "nobody", server=server) == (1, "", "everthread: There is no such session.\n")


def test_show_says_what_it_is_and_what_was_said_last(server: Everthread, command: Command) -> None:
    talk(server.client)
    for number in range(15):
        server.client.say(f"turn {number}", session="trip")
    local, asked = command("show", "trip"), command("show", "trip", "--url", server.url)
    assert local == asked
    _, shown, _ = local
    assert "title        To Rome and back\n" in shown
    assert "session key  alex\n" in shown
    assert "messages     34\n" in shown
    assert "my name is Ada" not in shown
    assert shown.index("turn 5") < shown.index("turn 14")
    for everything in (command("show", "trip", "--all"), command("show", "trip", "--all", "--url", server.url)):
        assert "\n  my name is Ada\n" in everything[1]
        assert "Bob, 2" in everything[1]
        assert "\n  [31mred\n  and blue\n" in everything[1], "nothing that a terminal would obey"
    assert command("show", "nobody")[:2] == (1, "")
    assert command("show", "nobody", "--url", server.url) == (1, "", "everthread: There is no such session.\n")


def test_an_export_is_the_same_from_the_file_and_from_the_server(
    server: Everthread, command: Command, tmp_path: Path
) -> None:
    for number in range(110):
        server.client.say(f"turn {number}", session="long")
    local, asked = tmp_path / "local.jsonl", tmp_path / "asked.jsonl"
    assert command("export", "long", "-o", str(local))[0] == 0
    assert command("export", "long", "-o", str(asked), "--url", server.url)[0] == 0
    assert local.read_bytes() == asked.read_bytes() == server.client.get("/api/sessions/long/export").body
    assert len(local.read_text().splitlines()) == 221
    assert command("export", "long", "-o", str(tmp_path / "no" / "where"))[0] == 1
    code, _, said = command("export", "nobody")
    assert (code, "There is no such session" in said) == (1, True)


def test_delete_goes_through_the_server_that_runs(server: Everthread, command: Command) -> None:
    talk(server.client)
    code, _, said = command("delete", "trip", server=server)
    assert (code, "Say --yes to delete To Rome and back, 4 messages" in said) == (1, True)
    assert command("delete", "trip", "--yes", server=server) == (0, "Deleted trip.\n", "")
    assert server.client.get("/api/sessions/trip").status == 404
    assert command("delete", "trip", "--yes", server=server) == (1, "", "everthread: There is no such session.\n")


def test_delete_takes_the_file_when_no_server_has_it(server: Everthread, command: Command, home: Path) -> None:
    talk(server.client)
    code, _, said = command("delete", "trip", "--yes")
    assert (code, "Another Everthread server" in said, "--url" in said) == (1, True, True)
    server.stop()
    assert command("delete", "trip", "--yes") == (0, "Deleted trip.\n", "")
    assert [line.split()[0] for line in command("list")[1].splitlines()[1:]] == ["work"]
    assert not any(b"name is Ada" in file.read_bytes() for file in home.iterdir() if file.is_file())


def test_a_server_is_not_asked_for_a_tenant_with_anothers_key(server: Everthread, command: Command) -> None:
    talk(server.client)
    for words in (("delete", "trip", "--yes"), ("compress", "trip"), ("list", "--url", server.url)):
        code, _, said = command(*words, "--tenant", "acme", server=server)
        assert (code, "knows tenants by their keys" in said) == (1, True)
    assert server.client.get("/api/sessions/trip").status == 200


def test_where_there_is_no_database_that_is_said(command: Command, home: Path) -> None:
    code, _, said = command("list")
    assert (code, f"There is no database at {home}" in said) == (1, True)
    assert not home.exists()
    assert command("list", "--limit", "0")[0] == 1


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "left"), [("n\n", 200), ("y\n", 404)])
def test_a_person_is_asked_before_anything_is_deleted(server: Everthread, home: Path, typed: str, left: int) -> None:
    talk(server.client)
    ours, theirs = pty.openpty()
    environ = {**os.environ, "EVERTHREAD_HOME": str(home), "EVERTHREAD_API_KEY": KEY}
    environ["EVERTHREAD_PORT"] = str(urlsplit(server.url).port)
    asking = subprocess.Popen(
        [sys.executable, "-m", "everthread", "sessions", "delete", "trip"],
        env=environ,
        stdin=theirs,
        stdout=subprocess.PIPE,
    )
    os.write(ours, typed.encode())
    printed, _ = asking.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert b"Delete To Rome and back, 4 messages, for good? [y/N]" in printed
    assert asking.returncode == (0 if left == 404 else 1)
    assert server.client.get("/api/sessions/trip").status == left


def test_the_help_teaches(upstream: Upstream, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["sessions", "--help"])
    shown = capsys.readouterr().out
    assert all(f"everthread sessions {word}" in shown for word in ("list", "show", "export", "compress", "delete"))
