"""Kinds of clients. Each says one thing at a time, each thing with a mark of its own, and notes what it was told."""

from __future__ import annotations

import random
import time
from typing import Any

from crash.book import Book
from crash.model import WORDS
from front_door import Answer, Client

PATIENCE = 30.0  # seconds for what must happen at last
CHAIN = 12  # responses that follow one another


class Speaker:
    """`turn` raises OSError or HTTPException when the server is gone."""

    def __init__(self, name: str, session: str, book: Book) -> None:
        self.name = name
        self.session = session
        self.book = book
        self.chance = random.Random(name)
        self._number = 0

    def mark(self) -> str:
        self._number += 1
        return f"{self.name}:{self._number}"

    def turn(self, client: Client) -> None:
        raise NotImplementedError

    def accepted(self, answer: Answer, mark: str) -> bool:
        if answer.status in {200, 202}:
            return True
        self.book.wrong("refused", f"{mark}: {answer.status} {answer.body[:200]!r}")
        return False


class Plain(Speaker):
    """A chat in a named session, as JSON or as a stream."""

    def __init__(self, name: str, session: str, book: Book, *, stream: bool) -> None:
        super().__init__(name, session, book)
        self.stream = stream

    def turn(self, client: Client) -> None:
        mark = self.mark()
        answer = client.say(f"Please note [{mark}].", session=self.session, stream=self.stream)
        if self.accepted(answer, mark) and complete(answer, stream=self.stream):
            self.book.acknowledge(self.session, self.name, mark, answer.text)


class Rotating(Speaker):
    """Says much, so that its session rotates all the time, and names it by any id that it ever had."""

    def __init__(self, name: str, session: str, book: Book) -> None:
        super().__init__(name, session, book)
        self.ids = [session]

    def turn(self, client: Client) -> None:
        mark = self.mark()
        words = " ".join(self.chance.choices(WORDS, k=200))
        stream = self.chance.random() < 0.5
        answer = client.say(f"Please note [{mark}]: {words}.", session=self.chance.choice(self.ids), stream=stream)
        if self.accepted(answer, mark) and complete(answer, stream=stream):
            self.book.acknowledge(self.session, self.name, mark, answer.text)
            if (effective := answer.hermes["session_id"]) not in self.ids:
                self.ids.append(effective)


class Keyed(Speaker):
    """Sends each turn with an Idempotency-Key until it is answered, and now and then once more."""

    def __init__(self, name: str, session: str, book: Book, *, stream: bool) -> None:
        super().__init__(name, session, book)
        self.stream = stream
        self._pending: str | None = None

    def turn(self, client: Client) -> None:
        again = self._pending is not None
        mark = self._pending = self._pending or self.mark()
        answer = self._send(client, mark)
        if not self.accepted(answer, mark) or not complete(answer, stream=self.stream):
            return
        self._pending = None
        if again:
            self.book.count("keys sent again after a kill")
            self.book.count("keys sent again, answered from the record", "idempotent-replayed" in answer.headers)
        self.book.acknowledge(self.session, self.name, mark, answer.text)
        if self.chance.random() < 0.3:
            second = self._send(client, mark)
            if not complete(second, stream=self.stream):
                return
            if second.headers.get("idempotent-replayed") != "true" or second.text != answer.text:
                self.book.wrong("stuck", f"{mark}: answered twice, and not alike")

    def _send(self, client: Client, mark: str) -> Answer:
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = client.say(
                f"Please note [{mark}].",
                session=self.session,
                stream=self.stream,
                headers={"Idempotency-Key": mark},
            )
            if answer.status != 409:
                return answer
            if time.monotonic() > deadline:
                self.book.wrong("stuck", f"{mark}: {answer.body[:200]!r}")
                return answer
            time.sleep(0.05)


class Chained(Speaker):
    """Responses that follow one another by `previous_response_id`, in chains without a name."""

    def __init__(self, name: str, session: str, book: Book) -> None:
        super().__init__(name, session, book)
        self.previous: str | None = None
        self.told: list[tuple[str, str]] = []  # of the chain that goes on now
        self.at: str | None = None  # the session that the chain's last response named
        self.done: list[tuple[str, list[tuple[str, str]]]] = []

    def turn(self, client: Client) -> None:
        mark = self.mark()
        stream = self.chance.random() < 0.5
        body: dict[str, Any] = {"input": f"Please note [{mark}].", "stream": stream}
        if self.previous is not None:
            body["previous_response_id"] = self.previous
        answer = client.post("/v1/responses", body)
        if not self.accepted(answer, mark):
            return
        if stream:
            ends = [e["response"] for e in answer.events if e != "[DONE]" and e["type"] == "response.completed"]
            if not ends:
                return
            response = ends[0]
        else:
            response = answer.json
        self.book.count("turns acknowledged")
        self.previous, self.at = response["id"], response["hermes"]["session_id"]
        self.told.append((mark, response["output"][0]["content"][0]["text"]))
        if len(self.told) >= CHAIN:
            self.done.append((self.at, self.told))
            self.previous, self.at, self.told = None, None, []


class Runner(Speaker):
    """Begins runs and background responses, with a key or without, and does not wait for them."""

    def __init__(self, name: str, session: str, book: Book) -> None:
        super().__init__(name, session, book)
        self.begun: dict[str, str] = {}  # mark -> run, of those whose end is not known yet
        self.ended: dict[str, str] = {}  # mark -> status
        self._pending: tuple[str, bool] | None = None

    def turn(self, client: Client) -> None:
        mark, background = self._pending or (self.mark(), self.chance.random() < 0.5)
        keyed = self._pending is not None or self.chance.random() < 0.5
        self._pending = (mark, background) if keyed else None
        path = "/v1/responses" if background else "/v1/runs"
        body: dict[str, Any] = {"input": f"Please note [{mark}]."}
        headers = {"Idempotency_Key": mark} if keyed else {}
        if background:
            body["background"] = True
            headers["X_Hermes_Session_Id"] = self.session
        else:
            body["session_id"] = self.session
        answer = client.post(path, body, **headers)
        self._pending = None
        if self.accepted(answer, mark):
            self.begun[mark] = answer.json.get("run_id") or answer.json["id"].replace("resp_", "run_")
            self.book.count("runs begun")
        time.sleep(self.chance.uniform(0.02, 0.1))


def complete(answer: Answer, *, stream: bool) -> bool:
    return answer.status == 200 and (not stream or answer.events[-1:] == ["[DONE]"])


def regulars(book: Book) -> list[Speaker]:
    """Those who always talk: two in one session, keys that are sent again, chains, runs, rotations."""
    return [
        Plain("shared-0", "shared", book, stream=False),
        Plain("shared-1", "shared", book, stream=True),
        Keyed("keyed-0", "keyed", book, stream=False),
        Keyed("keyed-1", "keyed sse", book, stream=True),
        Chained("chained-0", "", book),
        Runner("run-0", "runs", book),
        Rotating("rotating-0", "rotating", book),
    ]
