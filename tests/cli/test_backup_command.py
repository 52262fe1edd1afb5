"""`everthread backup`, `restore` and `check`, beside a server that runs; and what a server does with a damaged file."""

from __future__ import annotations

import json
import os
import pty
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from everthread.cli.main import main
from everthread.storage.schema import MIGRATIONS
from front_door import Client, Everthread
from process import Process
from upstream import Upstream

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(run: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("EVERTHREAD_UPSTREAM_URL", "http://127.0.0.1:9/v1")
    return run


@pytest.fixture
def kept(start: Callable[..., Everthread], home: Path) -> Path:
    """The database of a server that has been talked to, and stopped."""
    server = start(home)
    server.client.say("My name is Alex.", session="trip", key="alex")
    server.client.say("I live in Porto.", session="trip")
    server.client.say("hello", session="work")
    server.stop()
    return home / "everthread.db"


# --- with a real process, under load ---


@pytest.fixture
def processes(upstream: Upstream, tmp_path: Path) -> Iterator[Callable[[str], Process]]:
    with ExitStack() as running:

        def started(name: str) -> Process:
            return running.enter_context(Process(tmp_path / name, upstream_url=upstream.url, context_budget="1000000"))

        yield started


def everthread(process: Process, *words: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    environ = {**process._environ, **({"EVERTHREAD_HOME": str(home)} if home else {})}
    return subprocess.run(
        [sys.executable, "-m", "everthread", *words], env=environ, capture_output=True, text=True, check=False
    )


def said(client: Client, session: str) -> list[str]:
    found: list[str] = []
    after = ""
    while True:
        page = client.get(f"/api/sessions/{session}/messages?limit=200{after}").json
        found += [message["content"] for message in page["data"]]
        if not page["has_more"]:
            return found
        after = f"&after={page['data'][-1]['id']}"


def everything(client: Client, sessions: list[str]) -> dict[str, Any]:
    """What a client can see of it all."""
    return {
        "sessions": client.get("/api/sessions?limit=200&include_children=true").json["data"],
        "messages": {session: client.get(f"/api/sessions/{session}/messages?limit=200").json for session in sessions},
        "claims": client.get("/api/memory?limit=200", x_hermes_session_key="alex").json["data"],
        "found": client.get("/api/memory/search?q=orders", x_hermes_session_key="alex").json["data"],
        "jobs": client.get("/api/jobs").json["jobs"],
    }


@pytest.mark.slow
def test_a_backup_under_load_has_every_turn_acknowledged_before_it_began(
    processes: Callable[[str], Process], tmp_path: Path
) -> None:
    process = processes("home")
    sessions = [f"s{number}" for number in range(6)]
    acknowledged: dict[str, list[str]] = {session: [] for session in sessions}
    refused: list[int] = []
    over = threading.Event()

    def talk(session: str) -> None:
        number = 0
        while not over.is_set():
            number += 1
            words = f"{session} turn {number}: we use MySQL for the orders of customer {number}."
            answer = process.client.say(words, session=session, key="alex", stream=number % 2 == 0)
            if answer.status != 200:
                refused.append(answer.status)
                return
            acknowledged[session].append(words)

    threads = [threading.Thread(target=talk, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    time.sleep(1)
    before = {session: list(words) for session, words in acknowledged.items()}
    done = everthread(process, "backup", str(tmp_path / "b.db"))
    over.set()
    for thread in threads:
        thread.join()
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path / 'b.db'}\n"
    assert "6 conversations" in done.stderr
    assert refused == [], "nobody was refused meanwhile"
    assert everthread(process, "restore", str(tmp_path / "b.db"), home=tmp_path / "new").returncode == 0
    other = processes("new")
    for session in sessions:
        original, restored = said(process.client, session), said(other.client, session)
        assert before[session], "something was said before"
        assert restored == original[: len(restored)], "no half turn, nothing else"
        assert set(before[session]) <= set(restored[::2])
    assert everthread(other, "check").returncode == 0
    assert other.client.say("and on", session="s0").status == 200


@pytest.mark.slow
def test_a_restored_server_shows_what_the_first_one_showed(processes: Callable[[str], Process], tmp_path: Path) -> None:
    process = processes("home")
    talk = process.client
    sessions = ["trip", "work"]
    talk.say("We use MySQL for the orders.", session="trip", key="alex")
    talk.say("We switched from MySQL to PostgreSQL because MySQL lost writes.", session="trip")
    talk.say("hello", session="work", key="alex")
    talk.send("PATCH", "/api/sessions/trip", json.dumps({"title": "To Rome"}).encode())
    job = {"name": "daily", "prompt": "What is new?", "schedule": "0 7 * * *", "timezone": "UTC"}
    assert talk.post("/api/jobs", job).status == 201
    second = everthread(process, "keys", "create", "--name", "second").stdout.strip()
    until = time.monotonic() + 30
    while talk.get("/health/ready").json["checks"]["memory"]["memory_waiting"] and time.monotonic() < until:
        time.sleep(0.1)
    done = everthread(process, "backup")
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.strip())
    assert path.parent == tmp_path / "home" / "backups"
    shown = everything(talk, sessions)
    assert shown["claims"]
    assert shown["jobs"]
    restored = everthread(process, "restore", str(path), home=tmp_path / "new")
    assert restored.returncode == 0, restored.stderr
    assert "everthread serve" in restored.stdout
    assert "1 job will fire" in restored.stdout
    other = processes("new")
    assert everything(other.client, sessions) == shown
    other.client.key = second
    assert other.client.get("/api/sessions").status == 200, "keys are in it"


@pytest.mark.slow
def test_a_server_is_not_restored_over_while_it_runs(processes: Callable[[str], Process], tmp_path: Path) -> None:
    process = processes("home")
    process.client.say("hello", session="s")
    assert everthread(process, "backup", str(tmp_path / "b.db")).returncode == 0
    done = everthread(process, "restore", str(tmp_path / "b.db"), "--force")
    assert done.returncode == 1
    assert "Another Everthread server" in done.stderr
    assert "Traceback" not in done.stderr
    assert process.client.say("still here?", session="s").status == 200
    assert process.client.get("/health/ready").status == 200


@pytest.mark.slow
def test_a_person_sees_how_far_a_backup_is(kept: Path, home: Path) -> None:
    leader, follower = pty.openpty()
    environ = {**os.environ, "EVERTHREAD_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-m", "everthread", "backup"], env=environ, stdout=subprocess.PIPE, stderr=follower, check=True
    )
    os.close(follower)
    shown = os.read(leader, 65536).decode()
    os.close(leader)
    assert "[########################] 100 %" in shown
    assert Path(done.stdout.decode().strip()).exists()


# --- the commands ---


def test_a_backup_says_what_it_has_and_how_to_bring_it_back(kept: Path, home: Path, command: Command) -> None:
    code, out, err = command("backup")
    path = Path(out.strip())
    assert code == 0
    assert path.parent == home / "backups"
    assert path.name.startswith("everthread-20")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "2 conversations, 3 turns (the newest of 20" in err
    assert f"everthread restore {path}" in err


def test_a_folder_gets_a_dated_file_and_a_file_its_own_name(kept: Path, tmp_path: Path, command: Command) -> None:
    (tmp_path / "usb").mkdir()
    assert Path(command("backup", tmp_path / "usb")[1].strip()).parent == tmp_path / "usb"
    assert command("backup", tmp_path / "mine.db")[1].strip() == str(tmp_path / "mine.db")
    code, out, err = command("backup", tmp_path / "mine.db")
    assert (code, out) == (1, "")
    assert "is there already; choose another name, or replace it with --force" in err
    assert command("backup", tmp_path / "mine.db", "--force")[0] == 0


def test_there_is_nothing_to_back_up_or_check_in_an_empty_home(home: Path, command: Command) -> None:
    for words in (("backup",), ("check",)):
        code, _, err = command(*words)
        assert code == 1
        assert "There is no database" in err
    assert not (home / "everthread.db").exists()


def test_a_restore_over_a_database_needs_force_and_deletes_nothing(
    kept: Path, home: Path, tmp_path: Path, command: Command, start: Callable[..., Everthread]
) -> None:
    command("backup", tmp_path / "b.db")
    server = start(home)
    server.client.say("later", session="later")
    server.stop()
    code, _, err = command("restore", tmp_path / "b.db")
    assert code == 1
    assert "and has 3 conversations. Replace it with --force: it is moved aside, not deleted." in err
    code, out, _ = command("restore", tmp_path / "b.db", "--force")
    assert code == 0
    assert "2 conversations, 3 turns" in out
    (aside,) = home.glob("everthread.db.replaced-*")
    assert str(aside) in out
    assert {card["id"] for card in listed(command)} == {"trip", "work"}
    (tmp_path / "old").mkdir()
    aside.rename(tmp_path / "old" / "everthread.db")
    assert {card["id"] for card in listed(command, into=tmp_path / "old")} == {"trip", "work", "later"}


def listed(command: Command, into: Path | None = None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in command("sessions", "list", "--json", into=into)[1].splitlines()]


def test_a_restore_names_the_backups_there_are(kept: Path, command: Command) -> None:
    name = Path(command("backup")[1].strip()).name
    code, _, err = command("restore", "nowhere.db")
    assert code == 1
    assert f"is {name}." in err


def test_a_damaged_backup_is_refused_in_one_sentence(kept: Path, tmp_path: Path, command: Command) -> None:
    copy = tmp_path / "b.db"
    command("backup", copy)
    whole = copy.read_bytes()
    for damaged, says in (
        (whole[:-4096], "damaged, incomplete, or was changed"),
        (whole.replace(b"Porto", b"Lagos"), "damaged, incomplete, or was changed"),
        (b"", "not a backup"),
        (b"hello" * 1000, "not a backup"),
    ):
        copy.write_bytes(damaged)
        code, out, err = command("restore", copy, into=tmp_path / "new")
        assert (code, out) == (1, "")
        assert says in err
        assert err.count("\n") == 1
        assert not (tmp_path / "new" / "everthread.db").exists()


def test_help_says_what_a_backup_holds_and_what_not(capsys: pytest.CaptureFixture[str]) -> None:
    for name, says in (("backup", "Not in it: EVERTHREAD_HOME/key"), ("restore", "Stop the server first")):
        with pytest.raises(SystemExit):
            main([name, "--help"])
        assert says in capsys.readouterr().out


# --- check ---


def test_check_says_what_it_looked_at(kept: Path, command: Command) -> None:
    code, out, _ = command("check")
    assert code == 0
    assert [line.split(":")[0].strip() for line in out.splitlines() if line.endswith("ok")][:4] == [
        "the file",
        "the schema",
        "conversations",
        "memory",
    ]
    assert out.endswith("Everything is in order.\n")


def test_check_works_beside_a_server_and_names_the_way_out(
    home: Path, start: Callable[..., Everthread], command: Command
) -> None:
    server = start(home)
    server.client.say("the zebra crossed", session="s")
    assert command("check")[0] == 0
    db = sqlite3.connect(home / "everthread.db")
    db.execute("INSERT INTO chunk_fts (chunk_fts) VALUES ('delete-all')")
    db.commit()
    db.close()
    code, out, _ = command("check")
    assert code == 1
    assert "PROBLEM: the index covers 0 of 2 pieces of text" in out
    assert "everthread check --repair" in out
    code, out, _ = command("check", "--repair")
    assert code == 0
    assert "mended: the index of pieces of text did not agree with the ledger" in out
    assert server.client.say("and on", session="s").status == 200


def test_check_of_a_damaged_file_says_so_and_does_not_send_in_circles(kept: Path, command: Command) -> None:
    overwrite(kept, "session_of_lineage")
    code, out, _ = command("check")
    assert code == 1
    assert "PROBLEM: the file is damaged" in out
    assert "everthread restore PATH --force" in out
    kept.write_text("not a database" * 1000)
    code, out, _ = command("check")
    assert code == 1
    assert "PROBLEM: " in out
    assert "everthread restore PATH --force" in out


def overwrite(path: Path, name: str) -> None:
    """Garbage on the page where a table or an index begins."""
    db = sqlite3.connect(path)
    (page,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    db.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xa5" * 4096)


# --- starting on a file that cannot be used ---


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 8192 * 4096)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def foreign(path: Path) -> None:
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE moz_places (url TEXT)")
    db.close()


def newer(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("INSERT INTO migration VALUES (?, 0)", (len(MIGRATIONS) + 1,))
    db.commit()
    db.close()


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (truncated, "it is damaged"),
        (lambda path: overwrite(path, "step"), "it is damaged"),
        (lambda path: path.write_text("hello" * 1000), "it is not a database"),
        (foreign, "it belongs to another program"),
        (a_folder, "it is a folder"),
        (newer, "newer version of Everthread"),
    ],
    ids=["truncated", "overwritten", "text", "foreign", "folder", "newer"],
)
def test_a_server_does_not_start_on_a_file_that_it_cannot_use(
    kept: Path, command: Command, damage: Callable[[Path], object], says: str
) -> None:
    damage(kept)
    code, out, err = command("serve")
    assert (code, out) == (1, "")
    assert err.startswith(f"everthread: The database {kept}")
    assert says in err
    assert err.count("\n") == 1, "one sentence, no traceback"


def test_the_way_out_that_is_named_works(
    kept: Path, home: Path, tmp_path: Path, command: Command, start: Callable[..., Everthread]
) -> None:
    command("backup", tmp_path / "b.db")
    truncated(kept)
    assert "everthread restore PATH --force" in command("serve")[2]
    assert command("restore", tmp_path / "b.db", "--force")[0] == 0
    assert "I know Alex" in start(home).client.say("Who am I?", session="trip").text


# --- a file that is replaced or deleted under a server ---


@pytest.mark.parametrize("how", ["deleted", "replaced", "copied over"])
def test_a_server_whose_file_is_gone_acknowledges_nothing_and_is_not_ready(
    home: Path, tmp_path: Path, start: Callable[..., Everthread], command: Command, how: str
) -> None:
    server = start(home)
    database = home / "everthread.db"
    assert server.client.say("My name is Alex.", session="s").status == 200
    command("backup", tmp_path / "b.db")
    if how == "deleted":
        database.unlink()
    elif how == "replaced":
        shutil.copy(tmp_path / "b.db", tmp_path / "c.db")
        (tmp_path / "c.db").replace(database)
    else:
        shutil.copyfile(tmp_path / "b.db", database)
    answer = server.client.say("keep this", session="s")
    assert (answer.status, answer.json["error"]["code"]) == (503, "storage_damaged")
    assert server.client.say("and this", session="new", stream=True).events[-1:] != ["[DONE]"]
    ready = server.client.get("/health/ready")
    assert ready.status == 503
    assert "deleted, moved or replaced while the server runs" in ready.json["checks"]["store"]["detail"]
    assert server.client.get("/health").status == 200


def test_a_file_that_is_put_back_is_served_again(home: Path, start: Callable[..., Everthread]) -> None:
    server = start(home)
    database = home / "everthread.db"
    server.client.say("My name is Alex.", session="s")
    database.rename(home / "elsewhere")
    assert server.client.get("/health/ready").status == 503
    assert server.client.say("keep this", session="s").status == 503
    (home / "elsewhere").rename(database)
    assert server.client.get("/health/ready").json["checks"]["store"]["ok"]
    answer = server.client.say("Who am I?", session="s")
    assert answer.status == 200
    assert "I know Alex" in answer.text
