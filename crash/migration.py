"""Old databases, killed while they are brought up to date: afterwards they are old or new, never between."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from crash.book import Book
from everthread.storage import terms
from everthread.storage.opening import migrate, statements
from everthread.storage.schema import MIGRATIONS
from front_door import Client
from process import Process

STEPS = 3_000  # enough that a migration takes a while
REPLY = '{"model":"m","finish":"stop","context":{"prompt_tokens":1,"budget":1,"prefix":0,"window":0}}'
THERE = "SELECT max(number) FROM migration"
SCHEMA = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
SAID = "SELECT seq, step, input, output FROM step ORDER BY no"


def old(path: Path, version: int, steps: int = STEPS) -> None:
    """A database as that version left it: one conversation, begun under the first."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        terms.install(db)
        db.execute("BEGIN")
        db.execute("CREATE TABLE migration (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)")
        for number, script in enumerate(MIGRATIONS[:version], start=1):
            for statement in statements(script):
                db.execute(statement)
            db.execute("INSERT INTO migration VALUES (?, 0)", (number,))
            if number == 1:
                fill(db, steps)
        db.execute("COMMIT")


def fill(db: sqlite3.Connection, steps: int) -> None:
    """In the words of the first schema."""
    db.execute("INSERT INTO tenant VALUES ('default', 0)")
    db.execute("INSERT INTO scope VALUES (1, 'default', 'scope', NULL, NULL, 0)")
    db.execute("INSERT INTO thread VALUES ('default', 't', 1, 's', 'l', 1, NULL, NULL, 0, 0)")
    db.execute("INSERT INTO lineage VALUES ('default', 'l', 't', NULL, NULL, 's', ?, x'00')", (steps,))
    db.execute("INSERT INTO session VALUES ('default', 's', 't', 'l', NULL, 1, NULL, NULL, NULL, 0)")
    for seq in range(1, steps + 1):
        asked, said = f"What happened on day {seq}?", f"On day {seq} the supplier answered, late."
        db.execute(
            "INSERT INTO step VALUES (NULL, 'default', 'l', ?, 't', 's', ?, ?, 'api', ?, ?, ?, 0, 0, NULL, NULL,"
            " x'00', 10, 1, 1, 0, NULL)",
            (
                seq,
                f"step{seq:06}",
                f"step{seq:06}",
                f'[{{"role":"user","content":"{asked}"}}]',
                f'{{"role":"assistant","content":"{said}"}}',
                REPLY,
            ),
        )
        for role, text in (("user", asked), ("assistant", said)):
            db.execute("INSERT INTO chunk VALUES (NULL, 'default', 1, 't', 'l', ?, ?, 0, ?)", (seq, role, text))


class Migrations:
    """Kills a server while it opens an old file, and looks at the file."""

    def __init__(self, folder: Path, upstream: str, book: Book, chance: random.Random) -> None:
        self._folder = folder
        self._upstream = upstream
        self._book = book
        self._chance = chance
        self._schemas: dict[int, list[tuple[str, ...]]] = {}
        self._took: dict[int, float] = {}  # seconds, from a version on

    def kill(self, number: int) -> None:
        version = 1 + number % (len(MIGRATIONS) - 1)
        home = self._folder / f"migration{number}"
        home.mkdir()
        file = home / "everthread.db"
        old(file, version)
        with closing(sqlite3.connect(file)) as db:
            before = db.execute(SAID).fetchall()
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("EVERTHREAD_", "OPENAI_"))},
            "EVERTHREAD_HOME": str(home),
            "EVERTHREAD_UPSTREAM_URL": self._upstream,
        }
        took = self._duration(version)
        with (self._folder / "migration.log").open("ab") as output:
            command = [sys.executable, "-m", "everthread", "serve", "--port", "0"]
            running = subprocess.Popen(command, env=environ, stdout=output, stderr=output)
            self._strike(running, file, took)
        self._judge(file, version, before)
        self._reopen(home, file, version, before)
        shutil.rmtree(home)

    def _strike(self, running: subprocess.Popen[bytes], file: Path, took: float) -> None:
        """Some time after the file is opened: its write-ahead log is there from then on."""
        log = file.with_name(file.name + "-wal")
        deadline = time.monotonic() + 60
        while not log.exists() and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.0005)
        time.sleep(self._chance.uniform(0, 1.5 * took))
        running.send_signal(signal.SIGKILL)
        running.wait(10)
        self._book.kills["while it migrates"] += 1

    def _duration(self, version: int) -> float:
        if version not in self._took:
            path = self._folder / f"took{version}.db"
            old(path, version)
            began = time.monotonic()
            migrate(path)
            self._took[version] = time.monotonic() - began
        return self._took[version]

    def _judge(self, file: Path, version: int, before: list[tuple[str, ...]]) -> None:
        with closing(sqlite3.connect(file)) as db:
            (now,) = db.execute(THERE).fetchone()
            whole = db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            if now not in {version, len(MIGRATIONS)} or db.execute(SCHEMA).fetchall() != self._schema(now) or not whole:
                self._book.wrong("between", f"from {version}: it says {now}")
            if db.execute(SAID).fetchall() != before:
                self._book.wrong("lost", f"by a migration from {version}")
        self._book.count("databases that were old after it" if now == version else "databases that were new after it")

    def _schema(self, version: int) -> list[tuple[str, ...]]:
        if version not in self._schemas:
            path = self._folder / f"schema{version}.db"
            old(path, version, steps=0)
            with closing(sqlite3.connect(path)) as db:
                self._schemas[version] = db.execute(SCHEMA).fetchall()
        return self._schemas[version]

    def _reopen(self, home: Path, file: Path, version: int, before: list[tuple[str, ...]]) -> None:
        process = Process(home, upstream_url=self._upstream, memory="off")
        try:
            self._goes_on(process.client, len(before))
        finally:
            process.kill()
        with closing(sqlite3.connect(file)) as db:
            if db.execute(THERE).fetchone() != (len(MIGRATIONS),):
                self._book.wrong("between", f"from {version}: not brought up to date by the next start")

    def _goes_on(self, client: Client, steps: int) -> None:
        shown = client.get("/api/sessions/s/messages?limit=2&order=desc").json["data"]
        if f"day {steps}?" not in " ".join(message["content"] for message in shown):
            self._book.wrong("lost", f"the newest turn of {steps}: {shown}")
