"""A session that was compressed very often: does it matter by which of its ids it is called?"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable

import msgspec

from bench import words
from bench.scenario import Broken
from bench.server import Process
from bench.talk import Talk

DEPTH = 1_000
QUICK_DEPTH = 200
ROUNDS = 80
QUICK_ROUNDS = 30
ROOT = "bench:deep"
SHALLOW_ROOT = "bench:shallow"
COMPRESS = "/compress"
SHALLOW = 8  # rotations of the session that the deep one is compared with: it has a log too


class Depth(msgspec.Struct, frozen=True):
    """Times of turns in ns, by the id that the session was called by."""

    depth: int
    root: list[int]
    ancestor: list[int]  # another one each time, that was never asked for before
    newest: list[int]
    shallow: list[int]  # a session that was compressed a few times only

    def p50_ms(self, of: str) -> float:
        times: list[int] = getattr(self, of)
        return statistics.median(times) / 1e6


class Calling:
    """Talks to a session by whichever id."""

    def __init__(self, talk: Talk, server: Process) -> None:
        self.talk = talk
        self.server = server
        self.messages = (text for text in words.messages() if len(text) < 200)

    def turn(self, session: str, root: str) -> tuple[int, str]:
        answer = self.talk.say(next(self.messages), session)
        if answer.hermes.root_session_id != root:
            raise Broken(f"{session} is of {root}, but the answer came from {answer.hermes}")
        return answer.ns, answer.hermes.session_id

    def calm_turn(self, session: str, root: str) -> tuple[int, str]:
        self.server.rest()
        return self.turn(session, root)

    def compressed(self, session: str) -> str:
        return self.talk.order(COMPRESS, session).hermes.session_id

    def lineage(self, root: str, depth: int) -> list[str]:
        """Turns and compressions in alternation, always by the first id. Returns all ids, the oldest first."""
        ids = [root]
        self.turn(root, root)  # the newest turn is never compressed
        while len(ids) <= depth:
            self.turn(root, root)
            ids.append(self.compressed(root))
            if ids[-1] == ids[-2]:
                raise Broken(f"{COMPRESS} did not compress {root}, which is {ids[-1]} now")
        return ids


def measure(server: Process, *, quick: bool, say: Callable[[str], None]) -> Depth:
    depth, rounds = (QUICK_DEPTH, QUICK_ROUNDS) if quick else (DEPTH, ROUNDS)
    with Talk(server.target) as talk:
        calling = Calling(talk, server)
        say(f"depth: {depth:,} compressions")
        ids = calling.lineage(ROOT, depth)
        calling.lineage(SHALLOW_ROOT, SHALLOW)
        return asked(calling, ids, rounds)


def asked(calling: Calling, ids: list[str], rounds: int) -> Depth:
    """In turn, so that what disturbs one disturbs all; both sessions are asked equally often."""
    found = Depth(len(ids) - 1, [], [], [], [])
    every = (len(ids) - 2) // rounds
    newest = ids[-1]
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds):
            for session, times in (
                (ids[0], found.root),
                (ids[1 + number * every], found.ancestor),
                (newest, found.newest),
            ):
                took, newest = calling.calm_turn(session, ROOT)
                times.append(took)
                found.shallow.append(calling.calm_turn(SHALLOW_ROOT, SHALLOW_ROOT)[0])
    finally:
        gc.enable()
    return found
