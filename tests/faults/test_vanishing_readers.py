"""A hundred readers that vanish at any moment: nobody else notices, and nothing stays behind.

Those who stay and do not read are in `tests/load/test_slow_readers.py`."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from front_door import Client, Everthread
from upstream import HEAD, USAGE, Upstream, chunk, end, event

pytestmark = pytest.mark.slow

READERS = 50  # of each kind
WORDS = [f"word{number} " for number in range(30)]


class Talkative:
    """An upstream that says its words at a pace of its own."""

    async def __call__(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        for word in WORDS:
            await event(writer, chunk({"content": word}))
            await asyncio.sleep(0.005)
        await event(writer, chunk({}, "stop"))
        await event(writer, USAGE)
        await event(writer, "[DONE]")
        await end(writer)

    async def for_ever(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        while True:
            await event(writer, chunk({"content": WORDS[0]}))
            await asyncio.sleep(0.005)


def asks(client: Client, text: str, headers: dict[str, str]) -> socket.socket:
    """A connection on which a stream was asked for, and of which nothing has been read."""
    address = urlsplit(client.url)
    raw = socket.socket()
    raw.settimeout(30)
    raw.connect((address.hostname, address.port))
    body = json.dumps({"messages": [{"role": "user", "content": text}], "stream": True}).encode()
    given = {
        "Host": "localhost",
        "Authorization": f"Bearer {client.key}",
        "Content-Type": "application/json",
        **headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    raw.sendall(f"POST /v1/chat/completions HTTP/1.1\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return raw


def vanishes(client: Client, text: str, headers: dict[str, str], after: int) -> None:
    """Reads so many bytes, and is gone."""
    with asks(client, text, headers) as raw:
        seen = 0
        while seen < after and (data := raw.recv(min(4096, after - seen))):
            seen += len(data)


def until(happened: Callable[[], bool], within: float = 20) -> None:
    deadline = time.monotonic() + within
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def test_readers_that_vanish_leave_their_named_turns_whole_and_stop_the_others(
    start: Callable[..., Everthread], upstream: Upstream
) -> None:
    chance = random.Random(11)
    server, talkative = start(), Talkative()
    answers = upstream.behaviour
    upstream.behaviour = lambda request: (  # type: ignore[method-assign]
        talkative if "named" in str(request["messages"][-1]) else talkative.for_ever
    )
    try:
        gone = [
            threading.Thread(
                target=vanishes,
                args=(
                    server.client,
                    f"named {number}" if number % 2 else "?",
                    {"X-Hermes-Session-Id": f"s{number}"} if number % 2 else {},
                    chance.randint(1, 4000),
                ),
            )
            for number in range(2 * READERS)
        ]
        for each in gone:
            each.start()
        for each in gone:
            each.join(40)
        assert server.running is not None
        turns = server.running.site.turns
        until(lambda: not turns.live)
        until(lambda: upstream.disconnects >= READERS)
    finally:
        upstream.behaviour = answers  # type: ignore[method-assign]
    for number in range(1, 2 * READERS, 2):
        kept = server.client.get(f"/api/sessions/s{number}/messages").json["data"]
        assert [each["content"] for each in kept] == [f"named {number}", "".join(WORDS)]
        again = server.client.say("And?", session=f"s{number}", headers={"X-Hermes-On-Busy": "reject"})
        assert again.status == 200


def test_a_client_that_leaves_while_its_key_is_written_down_can_send_it_again(
    start: Callable[..., Everthread], tmp_path: Path
) -> None:
    server = start(tmp_path / "home")
    once = {"Idempotency-Key": "once"}
    with closing(sqlite3.connect(tmp_path / "home" / "everthread.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with asks(server.client, "pay", once):
            time.sleep(0.3)  # it waits for the file; nothing outside shows that
        time.sleep(0.3)
        other.execute("ROLLBACK")
    body = json.dumps({"messages": [{"role": "user", "content": "pay"}], "stream": True}).encode()
    answers = [server.client.send("POST", "/v1/chat/completions", body, once) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 200], answers[0].body
    assert answers[1].headers["idempotent-replayed"] == "true"
