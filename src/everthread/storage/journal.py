"""What a run says while it has no step that says it: its events, a row per batch."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from everthread.core.ids import StepId, Tenant
from everthread.core.turn import (
    ChoiceEnded,
    ModelEvent,
    Opened,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from everthread.storage.rows import UNFINISHED


def add(
    db: sqlite3.Connection,
    tenant: Tenant,
    run: StepId,
    events: Sequence[ModelEvent],
    *,
    fence: int,
    now: int,
) -> bool:
    going = db.execute(
        "UPDATE run SET status = iif(status = 'queued', 'running', status), told = max(told, :told),"  # noqa: S608
        f" updated_at = :now WHERE tenant = :tenant AND run = :run AND {UNFINISHED} AND fence = :fence",
        {"told": bool(events), "now": now, "tenant": tenant, "run": run, "fence": fence},
    )
    if going.rowcount and events:
        db.execute(
            "INSERT INTO journal SELECT ?1, ?2, 1 + coalesce(max(no), 0), ?3 FROM journal"
            " WHERE tenant = ?1 AND run = ?2",
            (tenant, run, events_text(events)),
        )
    return going.rowcount == 1


def told(db: sqlite3.Connection, tenant: Tenant, run: StepId) -> tuple[ModelEvent, ...]:
    rows = db.execute("SELECT events FROM journal WHERE tenant = ? AND run = ? ORDER BY no", (tenant, run))
    return tuple(event for (events,) in rows for event in events_of(events))


def drop(db: sqlite3.Connection, tenant: str, run: str) -> None:
    db.execute("DELETE FROM journal WHERE tenant = ? AND run = ?", (tenant, run))


def events_text(events: Iterable[ModelEvent]) -> str:
    return msgspec.json.encode([row_of(event) for event in events]).decode()


def row_of(event: ModelEvent) -> list[object]:
    match event:
        case Opened(model=model, fingerprint=fingerprint):
            return ["o", model, fingerprint]
        case TextDelta(text=text, choice=choice, logprobs=logprobs):
            return ["t", text, choice, *([logprobs.decode()] if logprobs else [])]
        case ReasoningDelta(text=text, choice=choice):
            return ["r", text, choice]
        case RefusalDelta(text=text, choice=choice):
            return ["n", text, choice]
        case ToolCallDelta(index=index, id=name, name=function, arguments=arguments, choice=choice):
            return ["c", index, name, function, arguments, choice]
        case ChoiceEnded(reason=reason, choice=choice):
            return ["e", reason, choice]
        case Usage(prompt=prompt, completion=completion, cached=cached, raw=raw):
            return ["u", prompt, completion, cached, raw.decode()]


def events_of(text: str) -> Iterator[ModelEvent]:
    for letter, *given in msgspec.json.decode(text):
        yield EVENTS[letter](*given)


EVENTS: dict[str, Callable[..., ModelEvent]] = {
    "o": Opened,
    "t": lambda text, choice, logprobs=None: TextDelta(text, choice, logprobs.encode() if logprobs else None),
    "r": ReasoningDelta,
    "n": RefusalDelta,
    "c": ToolCallDelta,
    "e": ChoiceEnded,
    "u": lambda prompt, completion, cached, raw: Usage(prompt, completion, cached, raw.encode()),
}
