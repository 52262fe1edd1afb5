"""A database of many long conversations, written at once: what a server holds after years.

The words are English ones, as frequent as in English (the embedder's vocabulary is in that order), so that the lexical
index has its natural shape. Every other turn of the main conversation tells something, drawn from `FACTS`; some of that
is asked about later, and has its true vector. All other vectors point anywhere: a scan costs the same.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import random
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bench import words
from everthread.context import reconcile
from everthread.context.tokens import O200k, weigh
from everthread.core.claim import Claim
from everthread.core.ids import DEFAULT_TENANT, LineageId, ScopeId, SessionId, SessionKey, StepId, ThreadId
from everthread.core.messages import Message, say
from everthread.core.ports import Commit
from everthread.core.session import Session, begin
from everthread.core.turn import Choice, Context, Outcome, Step, Usage
from everthread.embed import vectors
from everthread.embed.choose import MINILM
from everthread.memory import ledger as reversals
from everthread.memory.notice import notice
from everthread.storage import chunks, claims, ledger, terms
from everthread.storage.rows import stamp
from everthread.storage.sqlite import SqliteStore
from everthread.storage.writer import Later

TURNS = 10_000
AT_ONCE = 50  # turns of a scope that lie together: the others' are between them
WINDOW = 40  # turns that the main session has in its window
ASKED_ABOUT = 80  # facts
REPLACED = 10  # every tenth fact takes the place of the one before it
POOL = 5_000  # texts of each length, and vectors, that are used again and again by the other scopes
USER_WORDS, ANSWER_WORDS = (6, 30), (15, 80)
COMMON = 400  # words that are no topic
FIRST_WORD = 1996  # of the vocabulary; before it are signs and single letters
BEGAN = datetime(2023, 10, 1, tzinfo=UTC)
APART = timedelta(hours=2.6)
MAIN = "bench:recall"
FACTS = (  # what is told, and what is asked about it years later
    (
        "{person} moved the {thing} to {month} because {place} was late.",
        "Why did {person} move our {thing} to {month}?",
    ),
    ("We decided to buy the {thing} in {place} for {number} euros.", "What did we pay for the {thing} in {place}?"),
    (
        "The {thing} of {person} broke in {month}, ticket {code}.",
        "When did the {thing} of {person} break, as I told you?",
    ),
    ("{person} is responsible for the {thing} in {place} now.", "Who takes care of our {thing} in {place}?"),
    ("I met {person} in {place} and we talked about the {thing}.", "Where did I talk with {person} about the {thing}?"),
    ("My password hint for the {thing} is {code}.", "What was my hint for the {thing}?"),
    ("We use the {thing} from {place} in the kitchen.", "Which {thing} do we use in the kitchen?"),
    ("{person} prefers the {thing} without any sugar.", "How does {person} like the {thing}, did I say?"),
    ("The deadline of the {thing} is the {day} of {month}.", "When is the deadline of our {thing}?"),
    ("I am reading a book about the {thing} by {person}.", "Which book about the {thing} was I reading?"),
    ("Our cat hides behind the {thing} when {person} visits.", "Where does our cat hide when {person} visits?"),
    ("I paid {number} euros for the {thing} last {month}.", "How much did I pay for my {thing}?"),
)


class Built(msgspec.Struct, frozen=True):
    scopes: int  # the main one not among them
    turns: int  # of each
    passages: int  # of each, about
    claims: int  # of the main one
    megabytes: float
    questions: list[str]  # about something that was said


class Text:
    """What is said, as frequent words as in English."""

    def __init__(self) -> None:
        self.chance = random.Random(words.SEED)
        packed = resources.files("everthread.embed").joinpath("data", "vocab.txt.gz").read_bytes()
        pieces = gzip.decompress(packed).decode().splitlines()[FIRST_WORD:]
        self.words = [piece for piece in pieces if piece.isascii() and piece.isalpha()]
        self.rarer = list(itertools.accumulate(1 / rank for rank in range(COMMON + 1, len(self.words) + 1)))
        self.weights = list(itertools.accumulate((rank + 2.7) ** -1.0 for rank in range(1, len(self.words) + 1)))

    def some(self, least: int, most: int) -> str:
        count = self.chance.randint(least, most)
        return " ".join(self.chance.choices(self.words, cum_weights=self.weights, k=count)).capitalize() + "."

    def pool(self, role: str, length: tuple[int, int]) -> list[Message]:
        return [say("user" if role == "user" else "assistant", self.some(*length)) for _ in range(POOL)]

    def fact(self) -> tuple[str, str]:
        """Something that is told, and the question it answers."""
        pick = self.chance.choice
        told = {
            "person": pick(words.PEOPLE),
            "place": pick(words.PLACES),
            "thing": " ".join(self.chance.choices(self.words[COMMON:], cum_weights=self.rarer, k=2)),
            "month": pick(words.MONTHS),
            "day": self.chance.randint(1, 28),
            "number": self.chance.randint(30, 9_999),
            "code": f"{pick('ABCDEFGH')}{pick('KLMNPQRS')}-{self.chance.randint(1_000, 99_999)}",
        }
        fact, question = pick(FACTS)
        return fact.format(**told), question.format(**told)


class Told(msgspec.Struct, frozen=True):
    """What the main conversation is about."""

    facts: list[tuple[str, str]]
    vectors: dict[str, bytes]  # of those that are asked about


def told(text: Text) -> Told:
    facts = [text.fact() for _ in range(TURNS // 2)]
    asked = facts[: -WINDOW // 2 : len(facts) // ASKED_ABOUT]
    encoder = MINILM.load()
    return Told(facts, {fact: encoder.encode(fact) for fact, _ in asked})


class Building:
    """Writes into a file that the store has made, without its caution: nobody else has it open."""

    def __init__(self, db: sqlite3.Connection, text: Text, about: Told) -> None:
        self.db = db
        self.about = about
        self.asked = text.pool("user", USER_WORDS)
        self.answered = text.pool("assistant", ANSWER_WORDS)
        chance = np.random.default_rng(words.SEED)
        self.vectors = [vectors.packed(row) for row in chance.normal(size=(POOL, MINILM.dimensions)).astype(np.float32)]
        self.counter = O200k()
        self.no = 0  # of the newest passage
        self.drawn = 0
        self.before: Claim | None = None

    def begin(self, number: int, root: str, key: str | None) -> tuple[Session, int]:
        session = begin(
            SessionId(root),
            thread=ThreadId(f"t{number}"),
            lineage=LineageId(f"l{number}"),
            scope=ScopeId(f"s{number}"),
            session_key=SessionKey(key) if key else None,
            named=True,
        )
        return session, ledger.begin(self.db, DEFAULT_TENANT, session, now=stamp(BEGAN), source="api")

    # --- the others ---

    def others(self, number: int, scope: int, seqs: range) -> None:
        """Passages and vectors; nothing that is searched needs their steps."""
        home = (DEFAULT_TENANT, scope, f"t{number}", f"l{number}")
        rows: list[tuple[Any, ...]] = []
        for seq in seqs:
            messages = (self.asked[(seq * 7 + number) % POOL], self.answered[(seq * 11 + number) % POOL])
            rows += chunks.rows(home, seq, f"p{number}-{seq}", stamp(BEGAN + seq * APART), messages)
        chunks.add(self.db, rows)
        new = range(self.no + 1, self.no + len(rows) + 1)
        self.no = new[-1]
        self.pointed(scope, ((no, self.vectors[no % POOL]) for no in new))

    def pointed(self, scope: int, found: Iterator[tuple[int, bytes]]) -> None:
        self.db.executemany(
            "INSERT INTO vector VALUES (?, ?, ?, ?)", ((scope, no, MINILM.name, vector) for no, vector in found)
        )

    # --- the main one ---

    def main(self, session: Session, scope: int, seqs: range) -> Session:
        later = Later()
        steps = []
        for seq in seqs:
            step = self.step(session, seq)
            ledger.record(later, DEFAULT_TENANT, Commit(session=session, step=step), scope)
            session = session.advanced(step.rolling, len(step.input) + 1)
            steps.append(step)
        later.write(self.db)
        rows = self.db.execute("SELECT no, text FROM chunk WHERE no > ? ORDER BY no", (self.no,)).fetchall()
        self.no = rows[-1][0]
        self.pointed(scope, ((no, self.about.vectors.get(text) or self.vectors[no % POOL]) for no, text in rows))
        for step in steps:
            self.claims(scope, step)
        return session

    def step(self, session: Session, seq: int) -> Step:
        asked, answer = self.asked[seq % POOL], self.answered[seq % POOL]
        if seq % 2 == 0:
            asked = say("user", self.about.facts[seq // 2 - 1][0])
        name = StepId(f"main-{seq}")
        return Step(
            id=name,
            turn=name,
            seq=seq,
            source="api",
            input=(asked,),
            outcome=Outcome(
                model="bench-chat", choices=(Choice(content=answer.text, finish="stop"),), usage=Usage(0, 0)
            ),
            answer=answer,
            context=Context(0, 0, 0, 0),
            said_at=BEGAN + seq * APART,
            stored_at=BEGAN + seq * APART,
            tokens=weigh((asked, answer), self.counter),
            rolling=reconcile.rolled(session.rolling, (asked, answer)),
        )

    def claims(self, scope: int, step: Step) -> None:
        """What rules draw from a fact; now and then it replaces the one before."""
        if step.seq % 2:
            return
        drafts = notice(step.input, step.said_at)
        drawn = reversals.settle(
            drafts, (), step=step.id, seq=step.seq, said_at=step.said_at, recorded_at=step.stored_at
        ).inserted
        for claim in drawn:
            new = claim
            if self.before is not None and (step.seq // 2) % REPLACED == 0:
                new = msgspec.structs.replace(claim, supersedes=self.before.id)
                old = msgspec.structs.replace(self.before, state="reversed", superseded_by=claim.id)
                claims.put(self.db, DEFAULT_TENANT, scope, old)
            claims.put(self.db, DEFAULT_TENANT, scope, new, vector=self.vectors[self.drawn % POOL], model=MINILM.name)
            self.drawn += 1
            self.before = None if new.supersedes else new

    def end(self, session: Session) -> None:
        """The main session is where its turns have brought it, and nothing waits to be read."""
        self.db.execute(
            "UPDATE lineage SET last_seq = ?, rolling = ?, messages = ? WHERE tenant = ? AND lineage = ?",
            (session.last_seq, session.rolling, session.messages, DEFAULT_TENANT, session.lineage),
        )
        self.db.execute(
            "UPDATE session SET from_seq = ? WHERE tenant = ? AND session = ?",
            (TURNS - WINDOW + 1, DEFAULT_TENANT, session.id),
        )
        self.db.execute("DELETE FROM outbox")


def build(path: Path, *, scopes: int, say: Callable[[str], None]) -> Built:
    asyncio.run(made(path))
    text = Text()
    about = told(text)
    db = sqlite3.connect(path, isolation_level=None)
    try:
        terms.install(db)
        for pragma in ("journal_mode = MEMORY", "synchronous = OFF", "cache_size = -200000"):
            db.execute(f"PRAGMA {pragma}")
        building = Building(db, text, about)
        fill(building, scopes, say)
    finally:
        db.close()
    return Built(
        scopes=scopes,
        turns=TURNS,
        passages=building.no // (scopes + 1),
        claims=building.drawn,
        megabytes=path.stat().st_size / 1e6,
        questions=[question for fact, question in about.facts if fact in about.vectors],
    )


async def made(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    await store.close()


def fill(building: Building, scopes: int, say: Callable[[str], None]) -> None:
    """All conversations go on side by side, as on a server; the main one is in their middle."""
    db = building.db
    db.execute("BEGIN")
    homes = {number: building.begin(number, f"bench:other:{number}", f"bench:key:{number}") for number in range(scopes)}
    session, scope = building.begin(scopes, MAIN, None)
    for start in range(1, TURNS + 1, AT_ONCE):
        seqs = range(start, start + AT_ONCE)
        for number in range(scopes):
            building.others(number, homes[number][1], seqs)
            if number == scopes // 2:
                session = building.main(session, scope, seqs)
        if not scopes:
            session = building.main(session, scope, seqs)
        if start % (TURNS // 4) == 1:
            say(f"recall: {start - 1:,} turns in each of {scopes + 1} scopes")
    building.end(session)
    db.execute("COMMIT")
