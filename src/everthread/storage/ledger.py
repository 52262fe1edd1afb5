"""What a commit writes and an erasure removes, in SQL, each function inside the writer's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from everthread.core.claim import Block
from everthread.core.ids import Tenant
from everthread.core.ports import Commit
from everthread.core.session import Exchange, Session
from everthread.core.turn import Step, Usage
from everthread.errors import SessionMoved
from everthread.storage import chunks, claims, outbox, paths, posted, runs, shown, tally
from everthread.storage.rows import block_text, input_text, moment, reply_text, stamp
from everthread.storage.writer import Later
from everthread.wire import parcels

PIECES_PER_STEP = 4  # of text, about


def begin(
    db: sqlite3.Connection,
    tenant: Tenant,
    session: Session,
    *,
    now: int,
    source: str,
    imported: Sequence[Exchange] = (),
    title: str | None = None,
    log: str | None = None,
    profile: Block | None = None,
    first: Step | None = None,
    asked: bool = True,
) -> int:
    """A new thread with its first lineage and session, where `first` was said or nothing yet. Returns its scope's
    number."""
    prior = hold_imported(db, tenant, imported) or hold_again(db, tenant, session.prior)
    begin_session(db, tenant, session, now, log=log, profile=profile)
    scope = scope_number(db, tenant, session, now)
    db.execute(
        "INSERT INTO thread"
        " (tenant, thread, scope, root, head, named, prior, title, created_at, updated_at, source, asked)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            tenant,
            session.thread,
            scope,
            session.root,
            session.lineage,
            session.named,
            prior,
            title,
            now,
            now,
            source,
            asked,
        ),
    )
    begin_lineage(db, tenant, session, first)
    if session.named and session.fork is None:
        said_at = stamp(first.said_at) if first else now
        chunks.add_imported(db, (tenant, scope, session.thread, session.lineage), prior, said_at)
    return scope


def begin_session(
    db: sqlite3.Connection,
    tenant: Tenant,
    session: Session,
    now: int,
    *,
    log: str | None = None,
    profile: Block | None = None,
) -> None:
    try:
        db.execute(
            "INSERT INTO session"
            " (tenant, session, thread, lineage, parent, from_seq, log, created_at, began, distilled, profile)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                tenant,
                session.id,
                session.thread,
                session.lineage,
                session.parent,
                session.from_seq,
                log,
                now,
                session.messages,
                session.distilled,
                block_text(profile),
            ),
        )
    except sqlite3.IntegrityError as error:  # someone else has begun it meanwhile
        raise SessionMoved from error


def begin_lineage(db: sqlite3.Connection, tenant: Tenant, session: Session, first: Step | None) -> None:
    """A path, with its first step if there is one already."""
    now = session.advanced(first.rolling, len(first.input) + 1) if first else session
    usage = first.outcome.usage if first else Usage(0, 0)
    db.execute(
        "INSERT INTO lineage (tenant, lineage, thread, fork_lineage, fork_seq, tip, last_seq, rolling, prior,"
        " messages, prompt_tokens, completion_tokens, cached_tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            tenant,
            session.lineage,
            session.thread,
            session.fork,
            session.fork_seq if session.fork is not None else None,
            session.id,
            now.last_seq,
            now.rolling,
            session.prior,
            now.messages,
            usage.prompt,
            usage.completion,
            usage.cached,
        ),
    )


def branch(db: sqlite3.Connection, tenant: Tenant, commit: Commit) -> int:
    """A new path of a known thread; it begins with the log and the profile of the epoch that it leaves."""
    session = commit.session
    known = db.execute(
        "SELECT 1 FROM session JOIN thread ON thread.tenant = session.tenant AND thread.thread = ?"
        " AND thread.deleted_at IS NULL WHERE session.tenant = ? AND session.session = ? AND session.lineage = ?",
        (session.thread, tenant, session.parent, session.fork),
    ).fetchone()
    if known is None:  # the thread, or the one whose steps it shares, was deleted meanwhile
        raise SessionMoved
    log, profile = paths.beginning(db, tenant, session)
    now = stamp(commit.step.stored_at)
    begin_session(db, tenant, session, now, log=log, profile=commit.profile or profile)
    begin_lineage(db, tenant, session, commit.step)
    return answered(db, tenant, commit)


def answered(db: sqlite3.Connection, tenant: Tenant, commit: Commit) -> int:
    """The thread's head is the path that was answered just now. Returns its scope's number."""
    step = commit.step
    at = (stamp(step.said_at), stamp(step.stored_at))
    scope = spoken(db, tenant, commit.session, said_at=at[0], now=at[1], asked=commit.asked)
    return bind(db, tenant, commit, scope) if commit.bind is not None else scope


def spoken(db: sqlite3.Connection, tenant: Tenant, session: Session, *, said_at: int, now: int, asked: bool) -> int:
    """Something was said on this path: it is the thread's head. Returns its scope's number."""
    if session.prior is not None and session.named:
        named(db, tenant, session, said_at)
    scope: int = db.execute(
        "UPDATE thread SET updated_at = ?, named = max(named, ?), asked = max(asked, ?), head = ?"
        " WHERE tenant = ? AND thread = ? RETURNING scope",
        (now, session.named, asked, session.lineage, tenant, session.thread),
    ).fetchone()[0]
    return scope


def named(db: sqlite3.Connection, tenant: Tenant, session: Session, now: int) -> None:
    """Somebody asks for an unnamed thread by name: what it was imported with can be found from now on."""
    row = db.execute(
        "SELECT thread.scope, lineage.lineage, lineage.prior FROM thread JOIN lineage"
        " ON lineage.tenant = thread.tenant AND lineage.thread = thread.thread AND lineage.fork_lineage IS NULL"
        " WHERE thread.tenant = ? AND thread.thread = ? AND thread.named = 0",
        (tenant, session.thread),
    ).fetchone()
    if row is not None:
        chunks.add_imported(db, (tenant, row[0], session.thread, row[1]), row[2], now)


def scope_number(db: sqlite3.Connection, tenant: Tenant, session: Session, now: int) -> int:
    """The scope of the session's key, made when it is new; or one of the thread's own."""
    if session.session_key is not None:
        found = db.execute(
            "SELECT no FROM scope WHERE tenant = ? AND session_key = ?", (tenant, session.session_key)
        ).fetchone()
        if found:
            return int(found[0])
    elif session.fork is not None:  # it remembers what its origin does
        found = db.execute("SELECT no FROM scope WHERE tenant = ? AND scope = ?", (tenant, session.scope)).fetchone()
        if found:
            return int(found[0])
    row = db.execute(
        "INSERT INTO scope (tenant, scope, session_key, created_at) VALUES (?, ?, ?, ?) RETURNING no",
        (tenant, session.scope, session.session_key, now),
    ).fetchone()
    return int(row[0])


def hold_imported(db: sqlite3.Connection, tenant: Tenant, exchanges: Sequence[Exchange]) -> bytes | None:
    """Stores a chain of exchanges, each once per tenant, and holds its end for one thread more."""
    if not exchanges:
        return None
    said = sum(len(exchange.messages) for exchange in exchanges)
    for place in range(len(exchanges), 0, -1):
        exchange = exchanges[place - 1]
        known = db.execute(
            "UPDATE prior SET held = held + 1 WHERE tenant = ? AND address = ?", (tenant, exchange.address)
        )
        if known.rowcount:
            break
        db.execute(
            "INSERT INTO prior VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?)",
            (
                tenant,
                exchange.address,
                exchanges[place - 2].address if place > 1 else None,
                place,
                input_text(exchange.messages),
                exchange.tokens,
                exchange.rolling,
                said,
            ),
        )
        said -= len(exchange.messages)
    return exchanges[-1].address


def hold_again(db: sqlite3.Connection, tenant: Tenant, end: bytes | None) -> bytes | None:
    """Holds a known chain for one thread more: a fork stands on what its origin was imported with."""
    if end is not None:
        held = db.execute("UPDATE prior SET held = held + 1 WHERE tenant = ? AND address = ?", (tenant, end))
        if not held.rowcount:  # something of it was forgotten in this very moment
            raise SessionMoved
    return end


def drop_imported(db: sqlite3.Connection, tenant: str, end: bytes | None) -> None:
    """Lets go of a chain; exchanges that nothing stands on any more are deleted."""
    while end is not None:
        held, before = db.execute(
            "UPDATE prior SET held = held - 1 WHERE tenant = ? AND address = ? RETURNING held, before",
            (tenant, end),
        ).fetchone()
        if held:
            return
        db.execute("DELETE FROM prior WHERE tenant = ? AND address = ?", (tenant, end))
        end = before


def advance(db: sqlite3.Connection, tenant: Tenant, commit: Commit) -> int:
    """One step further on a lineage, if it is still where the turn found it. Returns its scope's number."""
    session, step = commit.session, commit.step
    usage = step.outcome.usage
    moved = db.execute(
        "UPDATE lineage SET last_seq = ?, rolling = ?, messages = ?, prompt_tokens = prompt_tokens + ?,"
        " completion_tokens = completion_tokens + ?, cached_tokens = cached_tokens + ?"
        " WHERE tenant = ? AND lineage = ? AND thread = ? AND last_seq = ? AND tip = ? AND fork_lineage IS ?",
        (
            step.seq,
            step.rolling,
            session.messages + len(step.input) + 1,
            usage.prompt,
            usage.completion,
            usage.cached,
            tenant,
            session.lineage,
            session.thread,
            session.last_seq,
            session.id,
            session.fork,
        ),
    )
    if moved.rowcount != 1:
        raise SessionMoved
    reopen(db, tenant, session)
    if commit.profile is not None:  # the first words of a thread that was begun without any
        db.execute(
            "UPDATE session SET profile = ? WHERE tenant = ? AND session = ? AND profile IS NULL",
            (block_text(commit.profile), tenant, session.id),
        )
    return answered(db, tenant, commit)


def reopen(db: sqlite3.Connection, tenant: Tenant, session: Session) -> None:
    """Whatever was said of it, it goes on."""
    db.execute(
        "UPDATE session SET end_reason = NULL, ended_at = NULL"
        " WHERE tenant = ? AND session = ? AND end_reason IS NOT NULL",
        (tenant, session.id),
    )


def rotate(
    db: sqlite3.Connection,
    tenant: Tenant,
    parent: Session,
    child: Session,
    *,
    log: str,
    profile: Block | None,
    now: int,
) -> Session:
    """Ends the parent and begins the child, if the parent is still the tip. Returns the child as it is now."""
    moved = db.execute(
        "UPDATE lineage SET tip = ?"
        " WHERE tenant = ? AND lineage = ? AND tip = ? AND last_seq >= ? AND fork_lineage IS ?"
        " RETURNING last_seq, rolling, messages, prompt_tokens, completion_tokens, cached_tokens",
        (child.id, tenant, parent.lineage, parent.id, child.from_seq - 1, parent.fork),
    ).fetchone()
    if moved is None:
        raise SessionMoved
    child = msgspec.structs.replace(child, last_seq=moved[0], rolling=moved[1], messages=moved[2])
    begin_session(db, tenant, child, now, log=log, profile=profile)
    db.execute(
        "UPDATE session SET prompt_tokens = ?, completion_tokens = ?, cached_tokens = ?"
        " WHERE tenant = ? AND session = ?",
        (*moved[3:], tenant, child.id),
    )
    db.execute(
        "UPDATE session SET end_reason = 'compression', ended_at = ? WHERE tenant = ? AND session = ?",
        (now, tenant, parent.id),
    )
    (scope,) = db.execute("SELECT scope FROM thread WHERE tenant = ? AND thread = ?", (tenant, child.thread)).fetchone()
    outbox.add(db, tenant, scope, kind="session", name=child.id, now=now)
    told = parcels.rotation(child, moment(now))
    posted.tell_keys(db, tenant, child.session_key, parcels.ROTATED, told, about=child.id, now=now)
    return child


def bind(db: sqlite3.Connection, tenant: Tenant, commit: Commit, scope: int) -> int:
    """An unkeyed thread joins a session key, with all that was said in it before; a fork of it does not come along."""
    thread = commit.session.thread
    if db.execute("SELECT session_key FROM scope WHERE no = ?", (scope,)).fetchone()[0] is not None:
        raise SessionMoved  # another path of it has joined a key meanwhile
    known = db.execute("SELECT no FROM scope WHERE tenant = ? AND session_key = ?", (tenant, commit.bind)).fetchone()
    if known is None:
        others = db.execute(
            "SELECT 1 FROM thread WHERE tenant = ? AND scope = ? AND thread != ? LIMIT 1", (tenant, scope, thread)
        ).fetchone()
        if others is None:
            db.execute("UPDATE scope SET session_key = ? WHERE no = ?", (commit.bind, scope))
            outbox.add(db, tenant, scope, kind="thread", name=thread, now=stamp(commit.step.stored_at))
            return scope
        known = db.execute(
            "INSERT INTO scope (tenant, scope, session_key, created_at) VALUES (?, ?, ?, ?) RETURNING no",
            (tenant, thread, commit.bind, stamp(commit.step.stored_at)),
        ).fetchone()
    joined = int(known[0])
    db.execute("UPDATE chunk SET scope = ? WHERE tenant = ? AND thread = ?", (joined, tenant, thread))
    chunks.part(db, tenant, thread, scope)
    db.execute("UPDATE thread SET scope = ? WHERE tenant = ? AND thread = ?", (joined, tenant, thread))
    claims.move(db, tenant, thread, joined)
    outbox.move(db, tenant, thread, joined)
    outbox.add(db, tenant, joined, kind="thread", name=thread, now=stamp(commit.step.stored_at))
    if not db.execute("SELECT 1 FROM thread WHERE tenant = ? AND scope = ? LIMIT 1", (tenant, scope)).fetchone():
        db.execute("UPDATE claim SET scope = ? WHERE scope = ?", (joined, scope))  # those added by hand
    drop_unused(db, scope)
    return joined


def record(later: Later, tenant: Tenant, commit: Commit, scope: int) -> None:
    """The step itself, its words in the lexical index, and that memory is to read it; what else it is to be seen as."""
    session, step = commit.session, commit.step
    said_at, usage = stamp(step.said_at), step.outcome.usage
    later.insert(
        "step",
        (
            None,
            tenant,
            session.lineage,
            step.seq,
            session.thread,
            session.id,
            step.id,
            step.turn,
            step.source,
            input_text(step.input),
            step.answer.raw.decode(),
            reply_text(step),
            said_at,
            stamp(step.stored_at),
            step.message_id,
            step.parent_message_id,
            step.rolling,
            step.tokens,
            usage.prompt,
            usage.completion,
            usage.cached,
            block_text(step.tail),
            session.messages + len(step.input) + 1,
            step.body,
            None,
            commit.key,
        ),
    )
    tally.count(later, tenant, step, at=stamp(step.stored_at), key=commit.key, session=session.root, job=commit.job)
    home = (tenant, scope, session.thread, session.lineage)
    chunks.put_off(later, chunks.rows(home, step.seq, step.id, said_at, step.messages()))
    outbox.put_off(later, tenant, scope, kind="step", name=step.id, now=stamp(step.stored_at))
    if commit.keep is not None and commit.fence is None:
        later.insert(
            "view",
            shown.row(
                tenant,
                step.id,
                commit.keep,
                thread=session.thread,
                model=step.outcome.model,
                now=stamp(step.stored_at),
            ),
        )


def condemn(db: sqlite3.Connection, tenant: str, thread: str, now: int) -> set[int]:
    """The thread's ids are gone at once, and late writers are refused; its rows follow in portions. Forks of it take
    what they share. Returns the numbers of the scopes that it touches."""
    heirs = db.execute(
        "SELECT fork.thread, fork.lineage FROM lineage JOIN lineage AS fork"
        " ON fork.tenant = lineage.tenant AND fork.fork_lineage = lineage.lineage AND fork.thread != lineage.thread"
        " WHERE lineage.tenant = ? AND lineage.thread = ? ORDER BY fork.fork_seq DESC, fork.lineage",
        (tenant, thread),
    ).fetchall()
    for heir in heirs:
        inherit(db, tenant, thread, *heir, now=now)
    runs.drop_unanswered(db, tenant, thread)
    outbox.drop_sessions(db, tenant, thread)
    posted.drop_rotations(db, tenant, thread)
    tally.drop_of_thread(db, tenant, thread)
    db.execute(
        "DELETE FROM session WHERE tenant = ?1 AND lineage IN"
        " (SELECT lineage FROM lineage WHERE tenant = ?1 AND thread = ?2)",
        (tenant, thread),
    )
    for _, lineage in heirs:  # what they left is no longer there to be named
        db.execute(
            "UPDATE session SET parent = NULL WHERE tenant = ? AND lineage = ? AND NOT EXISTS"
            " (SELECT 1 FROM session AS left WHERE left.tenant = session.tenant AND left.session = session.parent)",
            (tenant, lineage),
        )
    db.execute(  # and what it left may go before it does
        "UPDATE lineage SET tip = '', fork_lineage = NULL, fork_seq = NULL WHERE tenant = ? AND thread = ?",
        (tenant, thread),
    )
    db.execute(
        "UPDATE scope SET current_thread = NULL WHERE current_thread = ?2 AND no ="
        " (SELECT scope FROM thread WHERE tenant = ?1 AND thread = ?2)",
        (tenant, thread),
    )
    db.execute("UPDATE thread SET deleted_at = ?, named = 1 WHERE tenant = ? AND thread = ?", (now, tenant, thread))
    return {
        row[0]
        for name in (thread, *(heir for heir, _ in heirs))
        for row in db.execute("SELECT scope FROM thread WHERE tenant = ? AND thread = ?", (tenant, name))
    }


def inherit(db: sqlite3.Connection, tenant: str, doomed: str, thread: str, heir: str, *, now: int) -> None:
    """Gives the steps that a fork in another thread shares with a doomed one to the fork itself.

    Paths that pass through them are led through the heir from now on."""
    of = "SELECT fork_lineage, fork_seq FROM lineage WHERE tenant = ? AND lineage = ?"
    origin, last = db.execute(of, (tenant, heir)).fetchone()
    tip, scope, prior, is_named = db.execute(
        "SELECT lineage.tip, thread.scope, lineage.prior, thread.named FROM lineage JOIN thread"
        " ON thread.tenant = lineage.tenant AND thread.thread = lineage.thread"
        " WHERE lineage.tenant = ? AND lineage.lineage = ?",
        (tenant, heir),
    ).fetchone()
    while origin is not None and last:
        owner = db.execute("SELECT thread FROM lineage WHERE tenant = ? AND lineage = ?", (tenant, origin)).fetchone()
        if owner[0] != doomed:
            break
        before, shared = db.execute(of, (tenant, origin)).fetchone()
        span = (tenant, origin, (shared or 0) + 1, last)
        within = "tenant = ? AND lineage = ? AND seq BETWEEN ? AND ?"
        db.execute(
            f"UPDATE chunk SET scope = ? WHERE {within} AND thread = ? AND scope != ?",  # noqa: S608
            (scope, *span, doomed, scope),
        )
        db.execute(
            f"UPDATE chunk SET thread = ?, lineage = ? WHERE {within} AND thread = ?",  # noqa: S608
            (thread, heir, *span, doomed),
        )
        of_steps = f"tenant = ? AND step IN (SELECT step FROM step WHERE {within})"  # noqa: S608
        db.execute(f"UPDATE claim SET scope = ? WHERE {of_steps}", (scope, tenant, *span))  # noqa: S608
        db.execute(
            "UPDATE outbox SET scope = ? WHERE tenant = ? AND kind = 'step'"  # noqa: S608
            f" AND name IN (SELECT step FROM step WHERE {within})",
            (scope, tenant, *span),
        )
        db.execute(
            f"DELETE FROM replay WHERE tenant = ? AND step IN (SELECT step FROM step WHERE {within})",  # noqa: S608
            (tenant, *span),
        )
        shown.inherit(db, tenant, span, thread)
        db.execute(
            f"UPDATE step SET thread = ?, lineage = ?, session = ? WHERE {within}",  # noqa: S608
            (thread, heir, tip, *span),
        )
        db.execute(
            "UPDATE lineage SET fork_lineage = ? WHERE tenant = ? AND fork_lineage = ? AND fork_seq BETWEEN ? AND ?"
            " AND lineage != ?",
            (heir, *span, heir),
        )
        db.execute(
            "UPDATE lineage SET fork_lineage = ?, fork_seq = ? WHERE tenant = ? AND lineage = ?",
            (heir, last, tenant, origin),
        )
        origin, last = before, min(last, shared or 0)
    (left,) = db.execute("SELECT scope FROM thread WHERE tenant = ? AND thread = ?", (tenant, doomed)).fetchone()
    chunks.part(db, tenant, thread, left)
    db.execute(
        "UPDATE lineage SET fork_lineage = ?, fork_seq = ? WHERE tenant = ? AND lineage = ?",
        (origin, last, tenant, heir) if origin is not None and last else (None, None, tenant, heir),
    )
    if is_named and not (origin is not None and last):  # it stands on its own now, with what it was imported with
        chunks.add_imported(db, (tenant, scope, thread, heir), prior, now)


def erase(db: sqlite3.Connection, tenant: str, thread: str, portion: int) -> bool:
    """A portion of a condemned thread's steps and what was derived from them; tells whether nothing is left."""
    steps = db.execute(
        "SELECT step.lineage, step.seq, step.step FROM lineage JOIN step"
        " ON step.tenant = lineage.tenant AND step.lineage = lineage.lineage"
        " WHERE lineage.tenant = ? AND lineage.thread = ? LIMIT ?",
        (tenant, thread, portion),
    ).fetchall()
    for lineage, seq, step in steps:
        chunks.drop(db, tenant, thread, lineage, seq)
        db.execute("DELETE FROM step WHERE tenant = ? AND lineage = ? AND seq = ?", (tenant, lineage, seq))
        db.execute("DELETE FROM replay WHERE tenant = ? AND step = ?", (tenant, step))
        db.execute(
            "DELETE FROM view WHERE tenant = ? AND kind IN ('response', 'completion') AND step = ?", (tenant, step)
        )
        db.execute("DELETE FROM run WHERE tenant = ? AND run = ?", (tenant, step))
        posted.drop_of_run(db, tenant, step)
        outbox.drop(db, tenant, "step", step)
    claims.drop_of_steps(db, tenant, [step for _, _, step in steps])
    if len(steps) == portion or not chunks.drop_some(db, tenant, thread, PIECES_PER_STEP * portion):
        return False
    left = db.execute("SELECT scope, prior FROM thread WHERE tenant = ? AND thread = ?", (tenant, thread)).fetchone()
    if left is None:  # someone else has erased the rest
        return True
    scope, prior = left
    db.execute("DELETE FROM lineage WHERE tenant = ? AND thread = ?", (tenant, thread))
    db.execute("DELETE FROM thread WHERE tenant = ? AND thread = ?", (tenant, thread))
    drop_imported(db, tenant, prior)
    drop_unused(db, scope)
    return True


def drop_unused(db: sqlite3.Connection, scope: int) -> None:
    """The scope of an unkeyed thread goes with the last thread in it."""
    gone = db.execute(
        "DELETE FROM scope WHERE no = ? AND session_key IS NULL AND NOT EXISTS"
        " (SELECT 1 FROM thread WHERE thread.tenant = scope.tenant AND thread.scope = scope.no)",
        (scope,),
    )
    if gone.rowcount:
        claims.drop_of_scope(db, scope)


def forget_interrupted(db: sqlite3.Connection) -> None:
    """Requests that a previous process left unfinished: no one is running them, so a retry may."""
    db.execute("DELETE FROM replay WHERE step IS NULL")
