"""Rows without some words: steps, and what was drawn from them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from everthread.core.claim import Block, Claim, ClaimId
from everthread.core.ids import ScopeId, SessionId, SessionKey, Tenant
from everthread.core.messages import Message
from everthread.core.ports import Commit
from everthread.core.session import Session
from everthread.storage import chunks, claims, outbox, tombstones
from everthread.storage.mask import SIGN, WEIGHT, Masking, Span, Words, canonical, encoded
from everthread.storage.rows import NO_ANSWER, block_of, block_text, said
from everthread.wire.chat import RAWS, stored_messages

KEPT_AT_HAND = 3600.0  # seconds: longer than any turn, or any reading, that began before

STEP = (
    "step.no, step.step, step.thread, step.lineage, step.seq, step.said_at, step.input, step.output, step.reply,"
    " step.tail, step.tokens"
)
Shown = tuple[str, str, Span]  # who said it, the text, where in it

# --- for those who began before ---


class Scrub(msgspec.Struct, frozen=True):
    """Words that are forgotten, and the turns in which they stood as each path's log cites them."""

    words: Words
    cited: dict[str, frozenset[int]] = {}

    def log(self, stored: str, lineage: str) -> str:
        return self.words.log(stored, self.cited.get(lineage, frozenset()))

    def block(self, block: Block) -> Block | None:
        return self.words.block(block)


class Recalled:
    """Conversations that are gone, and what others were given from memory out of them."""

    def __init__(self, steps: Collection[str], claims: Collection[ClaimId], roots: Sequence[SessionId]) -> None:
        self._steps = steps
        self._claims = claims
        self._names = [f'session "{root}"' for root in roots]

    def log(self, stored: str, lineage: str) -> str:
        return stored  # a log tells of its own conversation only

    def block(self, block: Block) -> Block | None:
        """A block that tells of them goes as a whole."""
        tells = (
            any(step in self._steps for step in block.steps)
            or any(claim in self._claims for claim in block.claims)
            or any(name in block.text for name in self._names)
        )
        return None if tells else block

    def steps_of(self, db: sqlite3.Connection, tenant: Tenant, lineage: str) -> list[int]:
        rows = db.execute(
            "SELECT no, tail FROM step WHERE tenant = ? AND lineage = ? AND tail IS NOT NULL", (tenant, lineage)
        )
        return [no for no, tail in rows if self.block(block_of(tail) or Block()) is None]

    def drop_tails(self, db: sqlite3.Connection, steps: Sequence[int]) -> None:
        db.executemany("UPDATE step SET tail = NULL WHERE no = ?", [(no,) for no in steps])

    def drop_profiles(self, db: sqlite3.Connection, tenant: Tenant, lineage: str) -> None:
        """The next epoch begins with one that is made anew; until then wishes are told with each message."""
        rows = db.execute(
            "SELECT session, profile FROM session WHERE tenant = ? AND lineage = ? AND profile IS NOT NULL",
            (tenant, lineage),
        ).fetchall()
        for session, profile in rows:
            if self.block(block_of(profile) or Block()) is None:
                db.execute("UPDATE session SET profile = NULL WHERE tenant = ? AND session = ?", (tenant, session))


class Scrubs:
    """What was forgotten lately. A turn or a rotation that began before may still have it, and is about to write; so
    may someone who reads."""

    def __init__(self) -> None:
        self.changed: set[tuple[Tenant, str]] = set()  # steps that read otherwise than they did
        self.erased: set[tuple[Tenant, ClaimId]] = set()
        self._lately: list[tuple[float, Tenant, ScopeId, SessionKey | None, Scrub | Recalled]] = []

    def add(self, tenant: Tenant, scope: ScopeId, key: SessionKey | None, scrub: Scrub | Recalled) -> None:
        self._lately.append((time.monotonic() + KEPT_AT_HAND, tenant, scope, key, scrub))

    def of(self, tenant: Tenant, session: Session, bind: SessionKey | None = None) -> list[Scrub | Recalled]:
        if not self._lately:
            return []
        now = time.monotonic()
        self._lately = [one for one in self._lately if one[0] > now]
        keys = {session.session_key, bind} - {None}
        return [
            scrub
            for _, owner, scope, key, scrub in self._lately
            if owner == tenant and (scope == session.scope or key in keys)
        ]

    def commit(self, tenant: Tenant, commit: Commit) -> Commit:
        """A commit without them in what it was given from memory; what was said in it now is said."""
        for scrub in self.of(tenant, commit.session, commit.bind):
            step = commit.step
            if step.tail is not None:
                step = msgspec.structs.replace(step, tail=scrub.block(step.tail))
            profile = scrub.block(commit.profile) if commit.profile is not None else None
            commit = msgspec.structs.replace(commit, step=step, profile=profile)
        return commit

    def rotation(self, tenant: Tenant, session: Session, log: str, profile: Block | None) -> tuple[str, Block | None]:
        for scrub in self.of(tenant, session):
            log = scrub.log(log, session.lineage)
            profile = scrub.block(profile) if profile is not None else None
        return log, profile


# --- steps ---


class Change(msgspec.Struct, kw_only=True):
    """A step as it will be."""

    no: int
    step: str
    thread: str
    lineage: str
    seq: int
    said_at: int
    input: str
    output: str
    reply: str
    tail: str | None
    tokens: int
    messages: int = 0  # how many of its messages change
    spans: dict[int, list[Span]] = {}  # where in their texts
    shown: list[Shown] = []
    originals: set[str] = set()  # what of it a client could send again


def change_of(row: tuple[Any, ...], words: Words) -> Change | None:
    """None: they stand nowhere in it."""
    no, step, thread, lineage, seq, said_at, given, output, reply, tail, tokens = row
    change = Change(
        no=no,
        step=step,
        thread=thread,
        lineage=lineage,
        seq=seq,
        said_at=said_at,
        input=given,
        output=output,
        reply=reply,
        tail=tail,
        tokens=tokens,
    )
    raws = RAWS.decode(given) if words.may_stand_in(given) else []
    made = [rewritten(change, number, bytes(raw).decode(), words) for number, raw in enumerate(raws)]
    if change.messages:
        change.input = f"[{','.join(made)}]"
    answer_at = len(raws) if raws else len(RAWS.decode(given))
    if output != NO_ANSWER and words.may_stand_in(output):
        change.output = rewritten(change, answer_at, output, words)
    change.reply = retold(change, reply, words, answered=change.output != output)
    if tail is not None and words.may_stand_in(tail):
        change.tail = block_text(words.block(block_of(tail) or Block()))
    signs = sum(
        after.count(SIGN) - before.count(SIGN) for before, after in ((given, change.input), (output, change.output))
    )
    change.tokens += WEIGHT * max(0, signs)
    return change if change.messages or change.reply != reply or change.tail != tail else None


def rewritten(change: Change, number: int, raw: str, words: Words) -> str:
    """One message of the step, noted down if it changes."""
    made, found, originals = clean(raw, words)
    if not found:
        return raw
    (message,) = stored_messages(f"[{raw}]")
    change.messages += 1
    change.spans[number] = words.spans(message.text)
    change.shown += [(message.role, text, span) for text, spans in found for span in spans]
    change.originals |= originals
    return made


def clean(raw: str, words: Words) -> tuple[str, list[tuple[str, list[Span]]], set[str]]:
    """A message without them; the texts in which they stood; what of it could be sent again."""
    if not words.may_stand_in(raw):
        return raw, [], set()
    masking = Masking(words)
    body = masking.message(msgspec.json.decode(raw))
    if not masking.found:
        return raw, [], set()
    (message,) = stored_messages(f"[{raw}]")
    originals = {canonical(text) for text in masking.originals}
    if words.spans(message.text) or encoded(body.get("content")) != encoded(msgspec.json.decode(raw).get("content")):
        originals |= tombstones.said(message)
    return encoded(body), masking.found, originals


def retold(change: Change, reply: str, words: Words, *, answered: bool) -> str:
    """What else a reply has: its reasoning, other choices. Single tokens would tell what they were parts of."""
    if not answered and not words.may_stand_in(reply):
        return reply
    body = msgspec.json.decode(reply)
    masking = Masking(words)
    made = masking.message({name: body[name] for name in ("reasoning", "others", "compacted") if body.get(name)})
    if not masking.found and not answered:
        return reply
    if masking.found:
        change.messages += not answered
        change.shown += [("assistant", text, span) for text, spans in masking.found for span in spans]
        change.originals |= {canonical(text) for text in masking.originals}
    body.update(made)
    body.pop("logprobs", None)
    body.pop("cuts", None)  # what is JSON may have another length now
    for choice in body.get("others", ()):
        choice["logprobs"] = None
    return encoded(body)


def doomed(db: sqlite3.Connection, tenant: Tenant, change: Change, words: Words) -> list[Claim]:
    """The step's claims that say it, or were drawn from a place that changes."""
    bodies = db.execute("SELECT body FROM claim WHERE tenant = ? AND step = ?", (tenant, change.step)).fetchall()
    drawn = [claims.claim_of(body) for (body,) in bodies]
    return [claim for claim in drawn if words.stand_in(claim) or overlaps(claim, change.spans)]


def overlaps(claim: Claim, spans: dict[int, list[Span]]) -> bool:
    return any(start < claim.span.end and claim.span.start < end for start, end in spans.get(claim.span.message, ()))


def rewrite_steps(
    db: sqlite3.Connection, tenant: Tenant, steps: Sequence[int], words: Words, now: int
) -> Iterator[Change]:
    """The steps of these numbers without the words, and their passages with them; the changes that were made."""
    for no in steps:
        row = db.execute(f"SELECT {STEP} FROM step WHERE no = ? AND tenant = ?", (no, tenant)).fetchone()  # noqa: S608
        change = change_of(row, words) if row is not None else None
        if change is None:
            continue
        db.execute(
            "UPDATE step SET input = ?, output = ?, reply = ?, tail = ?, tokens = ? WHERE no = ?",
            (change.input, change.output, change.reply, change.tail, change.tokens, no),
        )
        tombstones.put(db, tenant, "message", change.originals, now)
        if change.messages:
            messages = said(change.input, change.output)
            where = (change.thread, change.lineage, change.seq)
            rechunk(db, tenant, where, messages, step=change.step, said_at=change.said_at, now=now)
        yield change


def rechunk(
    db: sqlite3.Connection,
    tenant: str,
    where: tuple[str, str, int],
    messages: Sequence[Message],
    *,
    step: str | None,
    said_at: int,
    now: int,
) -> None:
    """The passages of a step made anew. The new ones come first, so that none gets the number of an old one: someone
    may be making a vector for that."""
    thread, lineage, seq = where
    old = db.execute(
        "SELECT no FROM chunk WHERE tenant = ? AND thread = ? AND lineage = ? AND seq = ?", (tenant, *where)
    ).fetchall()
    if not old:
        return
    (scope,) = db.execute("SELECT scope FROM thread WHERE tenant = ? AND thread = ?", (tenant, thread)).fetchone()
    chunks.add(db, chunks.rows((tenant, scope, thread, lineage), seq, step, said_at, messages))
    db.executemany("DELETE FROM chunk WHERE no = ?", old)
    outbox.drop(db, tenant, "thread", thread)
    outbox.add(db, tenant, scope, kind="thread", name=thread, now=now)  # it needs vectors, and no claims


# --- what stands beside the steps ---


def sessions(db: sqlite3.Connection, tenant: Tenant, lineages: Sequence[str], scrub: Scrub) -> list[str]:
    """The sessions of these paths whose log or profile has them."""
    found: list[str] = []
    for lineage in lineages:
        for session, log, profile in db.execute(
            "SELECT session, log, profile FROM session WHERE tenant = ? AND lineage = ?"
            " AND (log IS NOT NULL OR profile IS NOT NULL)",
            (tenant, lineage),
        ):
            if (log and scrub.log(log, lineage) != log) or (profile and known(scrub, profile) != profile):
                found.append(session)
    return found


def known(scrub: Scrub, profile: str) -> str | None:
    return block_text(scrub.words.block(block_of(profile) or Block()))


def rewrite_sessions(db: sqlite3.Connection, tenant: Tenant, names: Sequence[str], scrub: Scrub) -> None:
    for name in names:
        row = db.execute(
            "SELECT lineage, log, profile FROM session WHERE tenant = ? AND session = ?", (tenant, name)
        ).fetchone()
        if row is not None:
            lineage, log, profile = row
            db.execute(
                "UPDATE session SET log = ?, profile = ? WHERE tenant = ? AND session = ?",
                (
                    scrub.log(log, lineage) if log else log,
                    known(scrub, profile) if profile else profile,
                    tenant,
                    name,
                ),
            )


def rewrite_others(db: sqlite3.Connection, scope: int, tenant: Tenant, words: Words) -> None:
    """Titles and labels, and what was noted when something could not be read."""
    for thread, metadata in db.execute(
        "SELECT thread, metadata FROM thread WHERE tenant = ? AND scope = ? AND metadata IS NOT NULL", (tenant, scope)
    ).fetchall():
        masking = Masking(words)
        made = masking.tree(msgspec.json.decode(metadata))
        if masking.found:
            db.execute(
                "UPDATE thread SET metadata = ? WHERE tenant = ? AND thread = ?", (encoded(made), tenant, thread)
            )
    for thread, title in db.execute(
        "SELECT thread, title FROM thread WHERE tenant = ? AND scope = ? AND title IS NOT NULL", (tenant, scope)
    ).fetchall():
        if (made := words.masked(title)) != title:
            db.execute("UPDATE thread SET title = ? WHERE tenant = ? AND thread = ?", (made, tenant, thread))
    for no, failure in db.execute(
        "SELECT no, failure FROM outbox WHERE scope = ? AND failure IS NOT NULL", (scope,)
    ).fetchall():
        if (made := words.masked(failure)) != failure:
            db.execute("UPDATE outbox SET failure = ? WHERE no = ?", (made, no))
