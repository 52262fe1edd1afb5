"""The items of a conversation: messages of its steps, read in either order, added by hand, and taken out."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from everthread.core.ids import StepId, Tenant
from everthread.core.messages import Message, array
from everthread.core.session import Session
from everthread.core.transcript import Order
from everthread.core.turn import Context
from everthread.core.view import Items, Stored
from everthread.errors import Malformed, SessionMoved
from everthread.storage import chunks, ledger, outbox, paths
from everthread.storage.archive import MOST_BYTES, still_there
from everthread.storage.mask import encoded
from everthread.storage.rows import NO_ANSWER, ReplyRow, input_text, moment, said
from everthread.wire.chat import stored_messages

IMPORT = "import"  # and its place: how an imported exchange is called among steps
NO_REPLY = msgspec.json.encode(ReplyRow(model="", finish="", context=Context(0, 0, 0, 0))).decode()
Weigh = Callable[[tuple[Message, ...]], int]
STORED = "step, input, output, reply, said_at, numbers"

INSERT = """
    INSERT INTO step (tenant, lineage, seq, thread, session, step, turn, source, input, output, reply, said_at,
        stored_at, rolling, tokens, prompt_tokens, completion_tokens, cached_tokens, place)
    VALUES (?, ?, ?, ?, ?, ?, ?, 'import', ?, 'null', ?, ?, ?, ?, ?, 0, 0, 0, ?)
"""

# --- adding ---


def append(
    db: sqlite3.Connection,
    tenant: Tenant,
    session: Session,
    messages: Sequence[Message],
    *,
    tokens: Sequence[int],
    now: int,
    new: Callable[[], str],
) -> tuple[StepId, ...]:
    """Each as a step that nobody answered. What was said so far, for comparing, stays what it was."""
    moved = db.execute(
        "UPDATE lineage SET last_seq = last_seq + ?1, messages = messages + ?1 WHERE tenant = ?2 AND lineage = ?3"
        " AND thread = ?4 AND last_seq = ?5 AND tip = ?6 AND fork_lineage IS ?7",
        (len(messages), tenant, session.lineage, session.thread, session.last_seq, session.id, session.fork),
    )
    if moved.rowcount != 1:
        raise SessionMoved
    ledger.reopen(db, tenant, session)
    scope = ledger.spoken(db, tenant, session, said_at=now, now=now, asked=True)
    callers = open_calls(db, tenant, session)
    steps: list[StepId] = []
    for number, (message, weight) in enumerate(zip(messages, tokens, strict=True), start=1):
        step = StepId(new())
        turn = callers.get(message.answers or "", step)  # a result belongs to the turn that asked for it
        callers.update(dict.fromkeys(message.calls, turn))
        seq = session.last_seq + number
        db.execute(
            INSERT,
            (
                tenant,
                session.lineage,
                seq,
                session.thread,
                session.id,
                step,
                turn,
                input_text((message,)),
                NO_REPLY,
                now,
                now,
                session.rolling,
                weight,
                session.messages + number,
            ),
        )
        home = (tenant, scope, session.thread, session.lineage)
        chunks.add(db, chunks.rows(home, seq, step, now, (message,)))
        outbox.add(db, tenant, scope, kind="step", name=step, now=now)
        steps.append(step)
    return tuple(steps)


def open_calls(db: sqlite3.Connection, tenant: Tenant, session: Session) -> dict[str, StepId]:
    """The tool calls of the path's newest step, and its turn."""
    for lineage, _, last in paths.segments(db, tenant, session):
        row = db.execute(
            "SELECT turn, input, output FROM step WHERE tenant = ? AND lineage = ? AND seq = ?",
            (tenant, lineage, last),
        ).fetchone()
        return {call: row[0] for one in said(*row[1:]) for call in one.calls} if row else {}
    return {}


# --- reading ---


def items(
    db: sqlite3.Connection, tenant: Tenant, session: Session, *, after: StepId | None, limit: int, order: Order
) -> Items:
    still_there(db, tenant, session)
    page: list[Stored] = []
    size = 0
    for one in path(db, tenant, session, after, down=order == "desc"):
        if not one.messages and one.step != after:  # all of it was removed
            continue
        if len(page) == limit or (page and size > MOST_BYTES):
            return Items(tuple(page), more=True)
        page.append(one)
        size += sum(len(message.raw) for _, message in one.messages)
    return Items(tuple(page), more=False)


def path(
    db: sqlite3.Connection, tenant: Tenant, session: Session, after: StepId | None, *, down: bool
) -> Iterator[Stored]:
    """A session's path in either order, from this step on."""
    place = place_of(after) if after is not None else None
    at = paths.find(db, tenant, session, after) if after is not None and place is None else None
    if place is not None and stored(db, tenant, session, StepId(after or "")) is None:
        at, place = None, None
    if after is not None and at is None and place is None:
        raise Malformed(f"after: there is no item of {after[:100]!r} in this conversation.", param="after")
    if down:
        if place is None:
            yield from steps(db, tenant, session, at, down=True)
        yield from exchanges(db, tenant, session, up_to=place, down=True)
    else:
        if at is None:
            yield from exchanges(db, tenant, session, since=place or 0, down=False)
        yield from steps(db, tenant, session, at, down=False)


def steps(
    db: sqlite3.Connection, tenant: Tenant, session: Session, at: tuple[str, int] | None, *, down: bool
) -> Iterator[Stored]:
    for lineage, first, last in paths.stretches(db, tenant, session, down=down, at=at):
        rows = db.execute(
            f"SELECT {STORED} FROM step WHERE tenant = ? AND lineage = ? AND seq BETWEEN ? AND ?"  # noqa: S608
            f" ORDER BY seq {'DESC' if down else 'ASC'}",
            (tenant, lineage, first, last),
        )
        yield from map(stored_of, rows)


def exchanges(
    db: sqlite3.Connection, tenant: Tenant, session: Session, *, since: int = 0, up_to: int | None = None, down: bool
) -> Iterator[Stored]:
    began: int | None = None
    for place, messages in paths.exchanges(db, tenant, session.prior, down=down, since=since, up_to=up_to):
        if began is None:
            (began,) = db.execute(
                "SELECT created_at FROM thread WHERE tenant = ? AND thread = ?", (tenant, session.thread)
            ).fetchone()
        yield Stored(
            step=StepId(f"{IMPORT}{place}"),
            messages=tuple(enumerate(stored_messages(messages))),
            said_at=moment(began or 0),
        )


def place_of(step: str) -> int | None:
    """The place of an imported exchange that is called so."""
    place = step.removeprefix(IMPORT)
    return int(place) if place != step and place.isdecimal() and len(place) <= 9 else None


def stored(db: sqlite3.Connection, tenant: Tenant, session: Session, step: StepId) -> Stored | None:
    still_there(db, tenant, session)
    place = place_of(step)
    if place is not None:
        return next(exchanges(db, tenant, session, since=place, up_to=place, down=True), None)
    at = paths.find(db, tenant, session, step)
    if at is None:
        return None
    row = db.execute(f"SELECT {STORED} FROM step WHERE tenant = ? AND step = ?", (tenant, step)).fetchone()  # noqa: S608
    return stored_of(row)


class Told(msgspec.Struct):
    reasoning: str = ""


def stored_of(row: tuple[Any, ...]) -> Stored:
    """A step from STORED."""
    step, given, output, reply, said_at, numbers = row
    inputs = stored_messages(given)
    answer = stored_messages(f"[{output}]") if output != NO_ANSWER else ()
    return Stored(
        step=step,
        messages=(*zip(numbers_of(numbers, len(inputs)), inputs, strict=True), *((None, one) for one in answer)),
        reasoning=msgspec.json.decode(reply, type=Told).reasoning,
        said_at=moment(said_at),
    )


def numbers_of(numbers: str | None, messages: int) -> list[int]:
    """By which numbers a step's input messages are known."""
    return msgspec.json.decode(numbers, type=list[int]) if numbers is not None else list(range(messages))


# --- taking out ---


class Item(msgspec.Struct, frozen=True):
    """The words of a message, or one of its tool calls."""

    step: StepId
    number: int | None
    call: str | None


class Less(msgspec.Struct, frozen=True, kw_only=True):
    """A step without an item."""

    input: str
    output: str
    reply: str
    numbers: str | None
    text: str  # the words that are taken out
    messages: tuple[Message, ...]  # that are left


def less(given: str, output: str, reply: str, numbers: str | None, what: Item) -> Less | None:
    """None: it is not there."""
    inputs = list(stored_messages(given))
    known = numbers_of(numbers, len(inputs))
    answer = next(iter(stored_messages(f"[{output}]")), None) if output != NO_ANSWER else None
    message = answer if what.number is None else dict(zip(known, inputs, strict=True)).get(what.number)
    cut = without(message, what.call) if message is not None else None
    if message is None or cut is None:
        return None
    text, left = cut
    if what.number is None:
        answer, reply = left, retold(reply, called=what.call is not None)
    else:
        kept = [(no, left if no == what.number else one) for no, one in zip(known, inputs, strict=True)]
        known, inputs = [no for no, one in kept if one], [one for _, one in kept if one]
    return Less(
        input=array(tuple(inputs)).decode(),
        output=answer.raw.decode() if answer is not None else NO_ANSWER,
        reply=reply,
        numbers=encoded(known) if what.number is not None else numbers,
        text=text,
        messages=(*inputs, *((answer,) if answer is not None else ())),
    )


def without(message: Message, call: str | None) -> tuple[str, Message | None] | None:
    """What goes, and what is left of the message: its calls without its words, or its words without a call."""
    body = msgspec.json.decode(message.raw)
    if call is None:
        if not message.calls:
            return message.text, None
        if not message.text:
            return None
        body.pop("refusal", None)
        return message.text, message_of({**body, "content": None})
    gone = [one for one in body.get("tool_calls") or () if one.get("id") == call]
    if not gone or call not in message.calls:
        return None
    calls = [one for one in body["tool_calls"] if one.get("id") != call]
    if not calls:
        del body["tool_calls"]
        if not message.text:
            return encoded(gone), None
    else:
        body["tool_calls"] = calls
    return encoded(gone), message_of(body)


def message_of(body: dict[str, Any]) -> Message:
    (made,) = stored_messages(f"[{encoded(body)}]")
    return made


def retold(reply: str, *, called: bool) -> str:
    """What else a reply has, when a part of its message goes: how it was cut, and with its words what led to them."""
    body = msgspec.json.decode(reply)
    for name in ("cuts",) if called else ("cuts", "logprobs", "reasoning", "others"):
        body.pop(name, None)
    return encoded(body)
