"""Is everything in order? What must always be true of the tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial

from everthread.core.ports import Looking, Problem
from everthread.storage import chunks, terms
from everthread.storage.rows import UNFINISHED, said
from everthread.storage.schema import MIGRATIONS

GONE = """
    CASE kind
        WHEN 'step' THEN NOT EXISTS (SELECT 1 FROM step WHERE step.tenant = outbox.tenant AND step.step = outbox.name)
        WHEN 'session' THEN NOT EXISTS
            (SELECT 1 FROM session WHERE session.tenant = outbox.tenant AND session.session = outbox.name)
        ELSE NOT EXISTS (SELECT 1 FROM thread WHERE thread.tenant = outbox.tenant AND thread.thread = outbox.name)
    END
"""
BLIND = """
    NOT EXISTS (SELECT 1 FROM step WHERE step.tenant = view.tenant AND step.step = view.step)
    AND (thread IS NOT NULL OR NOT EXISTS (SELECT 1 FROM run WHERE run.tenant = view.tenant AND run.run = view.step))
"""
STEPLESS = "NOT EXISTS (SELECT 1 FROM step WHERE step.tenant = run.tenant AND step.step = run.run)"
IDLE = """
    NOT EXISTS (SELECT 1 FROM run WHERE run.tenant = journal.tenant AND run.run = journal.run
        AND run.status != 'completed')
"""
UNTOLD = """
    run IS NOT NULL AND NOT EXISTS (SELECT 1 FROM run WHERE run.tenant = parcel.tenant AND run.run = parcel.run)
"""
DERIVED = {  # what can be made good, and how
    "a vector belongs to no piece of text": (
        """SELECT vector.chunk FROM vector LEFT JOIN chunk ON chunk.no = vector.chunk AND chunk.scope = vector.scope
        WHERE chunk.no IS NULL""",
        """DELETE FROM vector WHERE NOT EXISTS
            (SELECT 1 FROM chunk WHERE chunk.no = vector.chunk AND chunk.scope = vector.scope)""",
    ),
    "a piece of text is said to be kin of one that is not there": (
        """SELECT kin.later FROM kin WHERE NOT EXISTS (SELECT 1 FROM chunk WHERE no = kin.later AND scope = kin.scope)
            OR NOT EXISTS (SELECT 1 FROM chunk WHERE no = kin.earlier AND scope = kin.scope)""",
        """DELETE FROM kin WHERE NOT EXISTS (SELECT 1 FROM chunk WHERE no = kin.later AND scope = kin.scope)
            OR NOT EXISTS (SELECT 1 FROM chunk WHERE no = kin.earlier AND scope = kin.scope)""",
    ),
    "a piece of text belongs to no step": (
        """SELECT chunk.no FROM chunk LEFT JOIN step ON step.tenant = chunk.tenant AND step.step = chunk.step
        WHERE chunk.seq > 0 AND step.step IS NULL""",
        """DELETE FROM chunk WHERE seq > 0 AND NOT EXISTS
            (SELECT 1 FROM step WHERE step.tenant = chunk.tenant AND step.step = chunk.step)""",
    ),
    "a piece of text belongs to no thread, or is in another scope": (
        """SELECT chunk.no FROM chunk LEFT JOIN thread
            ON thread.tenant = chunk.tenant AND thread.thread = chunk.thread AND thread.scope = chunk.scope
        WHERE thread.thread IS NULL""",
        """DELETE FROM chunk WHERE NOT EXISTS (SELECT 1 FROM thread
            WHERE thread.tenant = chunk.tenant AND thread.thread = chunk.thread AND thread.scope = chunk.scope)""",
    ),
    "a claim was drawn from a step that is missing": (
        """SELECT claim.claim FROM claim LEFT JOIN step ON step.tenant = claim.tenant AND step.step = claim.step
        WHERE claim.step IS NOT NULL AND step.step IS NULL""",
        """DELETE FROM claim WHERE step IS NOT NULL AND NOT EXISTS
            (SELECT 1 FROM step WHERE step.tenant = claim.tenant AND step.step = claim.step)""",
    ),
    "a claim is in another scope than its step": (
        """SELECT claim.claim FROM claim JOIN step ON step.tenant = claim.tenant AND step.step = claim.step
        JOIN thread ON thread.tenant = step.tenant AND thread.thread = step.thread WHERE thread.scope != claim.scope""",
        """UPDATE claim SET scope = thread.scope FROM step JOIN thread
            ON thread.tenant = step.tenant AND thread.thread = step.thread
        WHERE step.tenant = claim.tenant AND step.step = claim.step AND thread.scope != claim.scope""",
    ),
    "a claim belongs to no scope": (
        "SELECT claim FROM claim WHERE NOT EXISTS (SELECT 1 FROM scope WHERE scope.no = claim.scope)",
        "DELETE FROM claim WHERE NOT EXISTS (SELECT 1 FROM scope WHERE scope.no = claim.scope)",
    ),
    "a view shows a step that is missing": (
        f"SELECT view.step FROM view WHERE {BLIND}",  # noqa: S608
        f"DELETE FROM view WHERE {BLIND}",  # noqa: S608
    ),
    "a view is of another thread than its step": (
        """SELECT view.step FROM view JOIN step ON step.tenant = view.tenant AND step.step = view.step
        WHERE view.thread IS NOT step.thread""",
        """UPDATE view SET thread = step.thread FROM step
        WHERE step.tenant = view.tenant AND step.step = view.step AND view.thread IS NOT step.thread""",
    ),
    "a run is completed, and its step is missing": (
        f"SELECT run.run FROM run WHERE status = 'completed' AND {STEPLESS}",  # noqa: S608
        f"DELETE FROM run WHERE status = 'completed' AND {STEPLESS}",  # noqa: S608
    ),
    "what a run said is kept without it, or beside its step": (
        f"SELECT DISTINCT journal.run FROM journal WHERE {IDLE}",  # noqa: S608
        f"DELETE FROM journal WHERE {IDLE}",  # noqa: S608
    ),
    "a run is over, and somebody holds it": (
        f"SELECT run.run FROM run WHERE NOT {UNFINISHED} AND held_until IS NOT NULL",  # noqa: S608
        f"UPDATE run SET worker = NULL, held_until = NULL WHERE NOT {UNFINISHED} AND held_until IS NOT NULL",  # noqa: S608
    ),
    "a job is removed, and is still to fire": (
        "SELECT job.job FROM job WHERE removed = 1 AND next_at IS NOT NULL",
        "UPDATE job SET next_at = NULL WHERE removed = 1 AND next_at IS NOT NULL",
    ),
    "a parcel tells of a run that is missing": (
        f"SELECT parcel.parcel FROM parcel WHERE {UNTOLD}",  # noqa: S608
        f"DELETE FROM parcel WHERE {UNTOLD}",  # noqa: S608
    ),
    "something that is gone is waiting to be read": (
        f"SELECT outbox.name FROM outbox WHERE {GONE}",  # noqa: S608
        f"DELETE FROM outbox WHERE {GONE}",  # noqa: S608
    ),
}

LEDGER = {
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
        WHERE NOT EXISTS (SELECT 1 FROM thread WHERE thread.tenant = lineage.tenant
            AND thread.thread = lineage.thread AND thread.deleted_at IS NOT NULL)
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
        WHERE replay.step IS NOT NULL AND step.step IS NULL AND NOT EXISTS
            (SELECT 1 FROM run WHERE run.tenant = replay.tenant AND run.run = replay.step)""",
}
JOBS = {"a job cannot be read": "SELECT job.job FROM job WHERE removed = 0 AND NOT json_valid(body)"}


UNINDEXED = """
    SELECT tenant, thread, lineage, seq, step, said_at, input, output FROM step
    WHERE NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.tenant = step.tenant
        AND chunk.thread = step.thread AND chunk.lineage = step.lineage AND chunk.seq = step.seq)
      AND CASE WHEN output != 'null' THEN json_extract(output, '$.content')
        WHEN json_type(input, '$[0].content') = 'text' THEN json_extract(input, '$[0].content') END
        GLOB '*[a-zA-Z0-9]*'
"""


UNINDEXED_IMPORTS = """
    SELECT lineage.tenant, thread.scope, thread.thread, lineage.lineage, lineage.prior, thread.created_at FROM lineage
    JOIN thread ON thread.tenant = lineage.tenant AND thread.thread = lineage.thread
        AND thread.named = 1 AND thread.deleted_at IS NULL
    JOIN prior ON prior.tenant = lineage.tenant AND prior.address = lineage.prior
    WHERE lineage.fork_lineage IS NULL AND prior.messages GLOB '*"content":"[a-zA-Z0-9]*' AND NOT EXISTS (
        SELECT 1 FROM chunk WHERE chunk.tenant = lineage.tenant AND chunk.thread = lineage.thread
            AND chunk.lineage = lineage.lineage AND chunk.seq <= 0)
"""
INDEXES = {"chunk": "pieces of text", "claim": "claims"}


MEMORY = ("a vector", "a piece of text", "a claim", "something that is gone")
PARTS = {
    "conversations: threads, their paths, sessions and turns": LEDGER,
    "memory: passages, vectors, claims, what is to be read": {
        what: query for what, (query, _) in DERIVED.items() if what.startswith(MEMORY)
    },
    "responses, runs, jobs, webhooks": {
        **JOBS,
        **{what: query for what, (query, _) in DERIVED.items() if not what.startswith(MEMORY)},
    },
}


def problems(db: sqlite3.Connection, looking: Looking | None = None) -> Iterator[Problem]:
    """What is wrong with the file, from one snapshot and without a lock: a server may go on writing."""
    looks: dict[str, Callable[[sqlite3.Connection], Iterator[Problem]]] = {
        "the file: every page and every index": unsound,
        "the schema: tables, indexes, triggers": lacking,
        **{part: partial(untrue, queries=queries) for part, queries in PARTS.items()},
        "the index of words against what was said": unindexed,
    }
    for part, look in looks.items():
        if looking is not None:
            looking(part, None)
        found: list[Problem] = []
        try:
            found.extend(look(db))
        except sqlite3.DatabaseError as error:
            found.append(Problem(f"{part.partition(':')[0]}: cannot be read to the end ({error})"))
        if looking is not None:
            looking(part, len(found))
        yield from found


def unsound(db: sqlite3.Connection) -> Iterator[Problem]:
    try:
        rows = db.execute("PRAGMA integrity_check(20)").fetchall()
    except sqlite3.DatabaseError:  # it gives up at an index that cannot be read; the other says which page it is
        rows = db.execute("PRAGMA quick_check(20)").fetchall()
    for (lines,) in rows:
        for line in lines.splitlines():
            if line != "ok" and not line.startswith("***"):
                yield Problem(f"the file is damaged: {line}")


def lacking(db: sqlite3.Connection) -> Iterator[Problem]:
    """What the migrations make and the file does not have."""
    everything = "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"
    with closing(sqlite3.connect(":memory:")) as model:
        terms.install(model)
        for script in MIGRATIONS:
            model.executescript(script)
        wanted = {*model.execute(everything)}
    for kind, name in sorted(wanted - {*db.execute(everything)}):
        yield Problem(f"the {kind} {name} is missing")


def untrue(db: sqlite3.Connection, *, queries: Mapping[str, str]) -> Iterator[Problem]:
    for what, query in queries.items():
        names = [row[0] for row in db.execute(f"{query} LIMIT 5").fetchall()]
        if names:
            yield Problem(f"{what}: {', '.join(map(str, names))}", mendable=what in DERIVED)


def unindexed(db: sqlite3.Connection) -> Iterator[Problem]:
    for what, query in (("steps", UNINDEXED), ("imported histories", UNINDEXED_IMPORTS)):
        number = db.execute(f"SELECT count(*) FROM ({query})").fetchone()[0]  # noqa: S608
        if number:
            yield Problem(f"{number} {what} are not in the index", mendable=True)
    for table, what in INDEXES.items():
        rows, indexed = db.execute(
            f"SELECT (SELECT count(*) FROM {table}), (SELECT count(*) FROM {table}_fts_docsize)"  # noqa: S608
        ).fetchone()
        if rows != indexed:
            yield Problem(f"the index covers {indexed} of {rows} {what}", mendable=True)


# --- repair: each of these is one transaction ---


def reindex(db: sqlite3.Connection, *, table: str) -> list[Problem]:
    try:
        db.execute(f"INSERT INTO {table}_fts ({table}_fts, rank) VALUES ('integrity-check', 1)")  # noqa: S608
    except sqlite3.DatabaseError:
        db.execute(f"INSERT INTO {table}_fts ({table}_fts) VALUES ('rebuild')")  # noqa: S608
        return [Problem(f"the index of {INDEXES[table]} did not agree with the ledger", mended=True)]
    return []


def mend(db: sqlite3.Connection, *, what: str) -> list[Problem]:
    number = db.execute(DERIVED[what][1]).rowcount
    return [Problem(f"{what} ({number})", mended=True)] if number else []


def index_steps(db: sqlite3.Connection) -> list[Problem]:
    steps = db.execute(UNINDEXED).fetchall()
    for tenant, thread, lineage, seq, step, said_at, given, output in steps:
        (scope,) = db.execute("SELECT scope FROM thread WHERE tenant = ? AND thread = ?", (tenant, thread)).fetchone()
        home = (tenant, scope, thread, lineage)
        chunks.add(db, chunks.rows(home, seq, step, said_at, said(given, output)))
    return [Problem(f"{len(steps)} steps were not in the index", mended=True)] if steps else []


def index_imports(db: sqlite3.Connection) -> list[Problem]:
    imports = db.execute(UNINDEXED_IMPORTS).fetchall()
    for *home, prior, now in imports:
        chunks.add_imported(db, tuple(home), prior, now)
    return [Problem(f"{len(imports)} imported histories were not in the index", mended=True)] if imports else []


MENDINGS: tuple[Callable[[sqlite3.Connection], list[Problem]], ...] = (
    *(partial(reindex, table=table) for table in INDEXES),  # first: the rows below are taken from a sound index
    *(partial(mend, what=what) for what in DERIVED),
    index_steps,
    index_imports,
)
