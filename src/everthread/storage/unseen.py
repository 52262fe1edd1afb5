"""Views, runs and jobs without some words: what their clients asked for, and what is said where no step says it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from everthread.core.ids import StepId, Tenant
from everthread.core.job import Job, JobId
from everthread.core.messages import Message
from everthread.core.turn import Keep, ReasoningDelta, RefusalDelta, TextDelta, ToolCallDelta, Turn
from everthread.storage import appointed, journal, scrub
from everthread.storage.mask import Masking, Words, encoded
from everthread.wire.chat import stored_messages

TURN = msgspec.json.Decoder(Turn)

SESSIONS = """
    SELECT session.session FROM thread
    CROSS JOIN lineage ON lineage.tenant = thread.tenant AND lineage.thread = thread.thread
    CROSS JOIN session ON session.tenant = lineage.tenant AND session.lineage = lineage.lineage
    WHERE thread.tenant = ?1 AND thread.scope = ?2
"""

Name = tuple[str, str]  # a view's step and kind


# --- views ---


def views(
    db: sqlite3.Connection, tenant: Tenant, thread: str, after: Name, words: Words, *, limit: int
) -> tuple[list[Name], Name | None]:
    """A portion of a thread's views: those that have them; and where the rest begins."""
    rows = db.execute(
        "SELECT step, kind, request, metadata FROM view INDEXED BY view_of_thread WHERE tenant = ? AND thread = ?"
        " AND step >= ? AND (step, kind) > (?, ?) ORDER BY step, kind LIMIT ?",
        (tenant, thread, after[0], *after, limit),
    ).fetchall()
    found = [
        (step, kind)
        for step, kind, request, metadata in rows
        if (asked(request, words), labels(metadata, words)) != (request, metadata)
    ]
    return found, (rows[-1][0], rows[-1][1]) if len(rows) == limit else None


def rewrite_views(db: sqlite3.Connection, tenant: Tenant, names: Sequence[Name], words: Words) -> None:
    where = "tenant = ? AND step = ? AND kind = ?"
    for name in names:
        row = db.execute(f"SELECT request, metadata FROM view WHERE {where}", (tenant, *name)).fetchone()  # noqa: S608
        if row is not None:
            db.execute(
                f"UPDATE view SET request = ?, metadata = ? WHERE {where}",  # noqa: S608
                (asked(row[0], words), labels(row[1], words), tenant, *name),
            )


def asked(request: str, words: Words) -> str:
    """What a client asked for."""
    if not words.may_stand_in(request):
        return request
    masking = Masking(words)
    made = masking.message(msgspec.json.decode(request))
    return encoded(made) if masking.found else request


def labels(metadata: str, words: Words) -> str:
    """Names and values that are a person's own."""
    if not words.may_stand_in(metadata):
        return metadata
    masking = Masking(words)
    made = masking.tree(msgspec.json.decode(metadata))
    return encoded(made) if masking.found else metadata


# --- runs ---


def hushed(db: sqlite3.Connection, tenant: Tenant, scope: int, key: str | None, words: Words) -> list[StepId]:
    """The runs of a scope's threads, or under its key, in which they may stand."""
    own = "(status != 'completed' OR metadata != '{}')"
    columns = "run, kind, told, turn, metadata, coalesce(fault, '')"
    rows = db.execute(
        f"SELECT {columns} FROM run WHERE tenant = ?1 AND session IN ({SESSIONS}) AND {own}"  # noqa: S608
        f" UNION SELECT {columns} FROM run WHERE tenant = ?1 AND session_key = ?3 AND {own}",
        (tenant, scope, key),
    )
    return [
        StepId(run)
        for run, kind, told, *texts in rows
        if told or kind == "response" or any(words.may_stand_in(text) for text in texts)
    ]


def rewrite_runs(db: sqlite3.Connection, tenant: Tenant, names: Sequence[StepId], words: Words) -> None:
    rewrite_views(db, tenant, [(name, "response") for name in names], words)
    for name in names:
        row = db.execute(
            "SELECT turn, metadata, fault FROM run WHERE tenant = ? AND run = ?", (tenant, name)
        ).fetchone()
        if row is None:
            continue
        turn, metadata, fault = row
        made = (said_anew(turn, words), labels(metadata, words), words.masked(fault) if fault else fault)
        if made != row:
            db.execute(
                "UPDATE run SET turn = ?, metadata = ?, fault = ? WHERE tenant = ? AND run = ?", (*made, tenant, name)
            )
        if any(words.spans(text) for text in told(db, tenant, name)):
            journal.drop(db, tenant, name)


def said_anew(turn: str, words: Words) -> str:
    """A turn that has yet to run; none if it cannot be read."""
    if not turn:
        return turn
    try:
        given = TURN.decode(turn)
    except msgspec.DecodeError:
        return ""
    made = msgspec.structs.replace(
        given,
        messages=without(given.messages, words),
        instructions=without(given.instructions, words),
        carried=without(given.carried, words),
        options=tuple((name, option(name, value, words)) for name, value in given.options),
        keep=kept(given.keep, words) if given.keep is not None else None,
    )
    return encoded(made) if made != given else turn


def without(messages: tuple[Message, ...], words: Words) -> tuple[Message, ...]:
    return tuple(cleaned(message, words) for message in messages)


def cleaned(message: Message, words: Words) -> Message:
    raw = message.raw.decode()
    made, found, _ = scrub.clean(raw, words)
    return stored_messages(f"[{made}]")[0] if found else message


def option(name: str, value: bytes, words: Words) -> bytes:
    masking = Masking(words)
    made = masking.message({name: msgspec.json.decode(value)})[name]
    return encoded(made).encode() if masking.found else value


def kept(keep: Keep, words: Words) -> Keep:
    return msgspec.structs.replace(
        keep,
        request=asked(keep.request.decode(), words).encode(),
        metadata=msgspec.json.decode(labels(encoded(keep.metadata), words)),
    )


def told(db: sqlite3.Connection, tenant: Tenant, name: StepId) -> list[str]:
    """What a run said so far; words may stand across its pieces, so they are not looked for in those."""
    texts: dict[tuple[str, int, int], list[str]] = {}
    for event in journal.told(db, tenant, name):
        match event:
            case TextDelta() | ReasoningDelta() | RefusalDelta():
                texts.setdefault((type(event).__name__, event.choice, 0), []).append(event.text)
            case ToolCallDelta():
                texts.setdefault(("call", event.choice, event.index), []).append(event.arguments)
            case _:
                continue
    return ["".join(pieces) for pieces in texts.values()]


# --- jobs ---


def jobs(db: sqlite3.Connection, tenant: Tenant, scope: int, key: str | None) -> list[JobId]:
    """The jobs that speak in a scope's threads, or under its key."""
    rows = db.execute(
        f"SELECT job FROM job WHERE tenant = ?1 AND removed = 0 AND (session IN ({SESSIONS}) OR session_key = ?3)",  # noqa: S608
        (tenant, scope, key),
    )
    return [JobId(job) for (job,) in rows]


def rewrite_jobs(db: sqlite3.Connection, tenant: Tenant, names: Sequence[JobId], words: Words) -> None:
    for name in names:
        row = db.execute("SELECT body FROM job WHERE tenant = ? AND job = ? AND removed = 0", (tenant, name)).fetchone()
        if row is None:
            continue
        given = appointed.job_of(row[0])
        made = rephrased(given, words)
        if made != given:
            db.execute(
                "UPDATE job SET body = ?, updated_at = updated_at + 1"  # whoever is about to fire it is to notice
                " WHERE tenant = ? AND job = ?",
                (appointed.text_of(made), tenant, name),
            )


def rephrased(job: Job, words: Words) -> Job:
    return msgspec.structs.replace(
        job,
        name=words.masked(job.name),
        prompt=words.masked(job.prompt),
        instructions=words.masked(job.instructions) if job.instructions is not None else None,
        metadata=msgspec.json.decode(labels(encoded(job.metadata), words)),
    )
