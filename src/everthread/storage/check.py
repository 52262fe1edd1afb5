"""Is everything in order? What must always be true of the tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from everthread.core.ports import Problem
from everthread.storage.rows import pieces
from everthread.wire.chat import stored_messages

INVARIANTS = {
    "a lineage's tip is missing": """
        SELECT lineage.lineage FROM lineage JOIN thread
            ON thread.tenant = lineage.tenant AND thread.thread = lineage.thread AND thread.deleted_at IS NULL
        LEFT JOIN session ON session.tenant = lineage.tenant AND session.session = lineage.tip
        WHERE session.session IS NULL""",
    "a lineage belongs to no thread": """
        SELECT lineage.lineage FROM lineage LEFT JOIN thread
            ON thread.tenant = lineage.tenant AND thread.thread = lineage.thread WHERE thread.thread IS NULL""",
    "a lineage has left another that is missing, or does not reach so far": """
        SELECT lineage.lineage FROM lineage LEFT JOIN lineage AS origin
            ON origin.tenant = lineage.tenant AND origin.lineage = lineage.fork_lineage
        WHERE lineage.fork_lineage IS NOT NULL
            AND (origin.lineage IS NULL OR origin.last_seq < lineage.fork_seq)""",
    "a lineage's first step does not follow what it shares": """
        SELECT lineage.lineage FROM lineage JOIN thread
            ON thread.tenant = lineage.tenant AND thread.thread = lineage.thread AND thread.deleted_at IS NULL
        WHERE coalesce(fork_seq, 0) + 1 !=
            (SELECT min(seq) FROM step WHERE step.tenant = lineage.tenant AND step.lineage = lineage.lineage)""",
    "a thread's head is missing": """
        SELECT thread.thread FROM thread LEFT JOIN lineage
            ON lineage.tenant = thread.tenant AND lineage.lineage = thread.head WHERE lineage.lineage IS NULL""",
    "a lineage's newest step is not the one it names": """
        SELECT lineage.lineage FROM lineage WHERE last_seq > coalesce(fork_seq, 0) AND last_seq !=
            (SELECT coalesce(max(seq), 0) FROM step
             WHERE step.tenant = lineage.tenant AND step.lineage = lineage.lineage)
            AND NOT EXISTS (SELECT 1 FROM thread WHERE thread.tenant = lineage.tenant
             AND thread.thread = lineage.thread AND thread.deleted_at IS NOT NULL)""",
    "a lineage has a gap": """
        SELECT lineage.lineage FROM lineage JOIN step
            ON step.tenant = lineage.tenant AND step.lineage = lineage.lineage
        GROUP BY lineage.tenant, lineage.lineage HAVING max(seq) - min(seq) + 1 != count(*)""",
    "a step belongs to no session": """
        SELECT step.step FROM step LEFT JOIN session
            ON session.tenant = step.tenant AND session.session = step.session WHERE session.session IS NULL
            AND NOT EXISTS (SELECT 1 FROM thread WHERE thread.tenant = step.tenant
             AND thread.thread = step.thread AND thread.deleted_at IS NOT NULL)""",
    "imported history is missing": """
        SELECT thread.thread FROM thread LEFT JOIN prior
            ON prior.tenant = thread.tenant AND prior.address = thread.prior
        WHERE thread.prior IS NOT NULL AND prior.address IS NULL""",
    "a replay points to a missing step": """
        SELECT replay.key FROM replay LEFT JOIN step ON step.tenant = replay.tenant AND step.step = replay.step
        WHERE replay.step IS NOT NULL AND step.step IS NULL""",
}


UNINDEXED = """
    SELECT tenant, thread, lineage, seq, said_at, input, output FROM step
    WHERE NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.tenant = step.tenant
        AND chunk.thread = step.thread AND chunk.lineage = step.lineage AND chunk.seq = step.seq)
      AND json_extract(output, '$.content') GLOB '*[a-zA-Z0-9]*'
"""


def problems(db: sqlite3.Connection) -> Iterator[Problem]:
    """What is wrong with the file, from one snapshot and without a lock: a server may go on writing."""
    for (line,) in db.execute("PRAGMA integrity_check(20)").fetchall():
        if line != "ok":
            yield Problem(f"the file is damaged: {line}")
    for what, query in INVARIANTS.items():
        names = [row[0] for row in db.execute(f"{query} LIMIT 5").fetchall()]
        if names:
            yield Problem(f"{what}: {', '.join(map(str, names))}")
    unindexed = db.execute(f"SELECT count(*) FROM ({UNINDEXED})").fetchone()[0]  # noqa: S608
    if unindexed:
        yield Problem(f"{unindexed} steps are not in the index")
    chunks, indexed = db.execute(
        "SELECT (SELECT count(*) FROM chunk), (SELECT count(*) FROM chunk_fts_docsize)"
    ).fetchone()
    if chunks != indexed:
        yield Problem(f"the index covers {indexed} of {chunks} pieces of text")


def repair(db: sqlite3.Connection) -> Iterator[Problem]:
    """Makes the index, which is derived, anew where it does not agree with the ledger. Needs the write lock."""
    mended = 0
    for tenant, thread, lineage, seq, said_at, given, output in db.execute(UNINDEXED).fetchall():
        (scope,) = db.execute("SELECT scope FROM thread WHERE tenant = ? AND thread = ?", (tenant, thread)).fetchone()
        db.executemany(
            "INSERT INTO chunk VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (tenant, scope, thread, lineage, seq, message.role, said_at, text)
                for message in (*stored_messages(given), *stored_messages(f"[{output}]"))
                for text in pieces(message.text)
            ],
        )
        mended += 1
    if mended:
        yield Problem(f"{mended} steps were not in the index", mended=True)
    try:
        db.execute("INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError:
        db.execute("INSERT INTO chunk_fts (chunk_fts) VALUES ('rebuild')")
        yield Problem("the lexical index did not agree with the ledger", mended=True)
