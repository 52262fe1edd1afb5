"""Clients that the crash loop does not have: who come anew, remember, leave in the middle, or meet a fault."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time

from crash.book import Book
from crash.speakers import Plain, Speaker, complete, regulars
from front_door import Client
from soak.gauge import Gauge

STAYS = 20  # turns of a newcomer in a session
FACTS = (
    "My office is in room {n}.",
    "We moved the deadline to the {n}th because the supplier was late.",
    "I decided to take the train at {n} past eight.",
    "Please always answer in {n} words or less.",
)


class Newcomer(Speaker):
    """Has a session for a while and then another, all under one session key: what it says is remembered."""

    def turn(self, client: Client) -> None:
        mark = self.mark()
        fact = self.chance.choice(FACTS).format(n=self._number % 60)
        session = f"{self.session} {self._number // STAYS}"
        answer = client.say(f"[{mark}] {fact} What did I say of the deadline?", session=session, key=self.session)
        if self.accepted(answer, mark):
            self.book.count("turns acknowledged")
            self.book.count("turns with a memory")


class Leaver(Speaker):
    """Hangs up after the first word: its turn is finished without it, or was never begun."""

    def turn(self, client: Client) -> None:
        body = {"messages": [{"role": "user", "content": f"Please note [{self.mark()}]."}], "stream": True}
        headers = {"X-Hermes-Session-Id": self.session} if self.chance.random() < 0.5 else {}
        with client.opened("POST", "/v1/chat/completions", json.dumps(body).encode(), headers) as reply:
            if reply.status == 200:
                reply.read(1)
        self.book.count("streams left in the middle")


class Faulty(Speaker):
    """Its questions meet a fault: it is told of it in the documented form, and never anything else."""

    def turn(self, client: Client) -> None:
        mark = self.mark()
        stream = self.chance.random() < 0.5
        answer = client.say(f"Please note [{mark}].", session=self.session, stream=stream)
        self.book.count("faults of the model's server")
        if complete(answer, stream=stream):
            self.book.wrong("half", f"{mark}: a fault was answered with {answer.body[:200]!r}")
        elif answer.status not in {200, 429, 502, 503, 504}:
            self.book.wrong("refused", f"{mark}: {answer.status} {answer.body[:200]!r}")


class Direct(Speaker):
    """Asks the model's server itself: what a turn takes on this machine at this moment without us."""

    def __init__(self, name: str, book: Book, url: str) -> None:
        super().__init__(name, "", book)
        self._model = Client(url.removesuffix("/v1"))

    def turn(self, client: Client) -> None:
        self._model.say(f"Please note [{self.mark()}].")


class Pace:
    """Lets each speaker speak so many times a second, as long as it can."""

    def __init__(self, speakers: list[Speaker], client: Client, *, each: float, gauge: Gauge) -> None:
        self._client = client
        self._pause = 1 / each
        self._gauge = gauge
        self.turns = 0
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._talk, args=(one,), daemon=True) for one in speakers]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(60)

    def _talk(self, speaker: Speaker) -> None:
        gauge = self._gauge
        noted = {Plain: gauge.note, Direct: gauge.note_direct}.get(type(speaker))
        chance = random.Random(speaker.name)
        self._over.wait(chance.uniform(0, self._pause))
        while not self._over.is_set():
            began = time.perf_counter()
            try:
                speaker.turn(self._client)
            except (OSError, http.client.HTTPException) as error:
                speaker.book.wrong("refused", f"{speaker.name}: {error!r}")
            took = time.perf_counter() - began
            self.turns += not isinstance(speaker, Direct)
            if noted is not None:
                noted(took)
            self._over.wait(max(0.0, self._pause - took))


def cast(book: Book, model: str) -> list[Speaker]:
    """Seventeen who talk to the server, and two who talk to its model's server at `model`."""
    return [
        Direct("direct-0", book, model),
        Direct("direct-1", book, model),
        *(Plain(f"json-{n}", f"json {n}", book, stream=False) for n in range(3)),
        *(Plain(f"sse-{n}", f"sse {n}", book, stream=True) for n in range(3)),
        *regulars(book),
        Newcomer("newcomer-0", "someone", book),
        Newcomer("newcomer-1", "someone else", book),
        Leaver("leaving-0", "leaving", book),
        Faulty("faulty-0", "faulty", book),
    ]
