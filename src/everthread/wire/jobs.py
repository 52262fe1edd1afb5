"""Jobs as JSON: what makes or changes one, how it stands, what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec

from everthread.core import schedule
from everthread.core.ids import SessionId, SessionKey, printable, run_id
from everthread.core.job import Job, JobId, Standing
from everthread.core.schedule import Schedule
from everthread.core.turn import Step
from everthread.core.view import Hook, Run
from everthread.errors import Malformed
from everthread.wire import hooks, json, metadata, sessions

NULL = msgspec.Raw(b"null")
LONGEST_PROMPT = 100_000


def text(least: int, most: int) -> Any:
    return Annotated[str, msgspec.Meta(min_length=least, max_length=most)]


# The fields that a job is made of or changed by; null takes one back to what it is without.
TYPES: dict[str, Any] = {
    "name": text(1, 200),
    "prompt": text(1, LONGEST_PROMPT),
    "schedule": text(1, 200),
    "timezone": text(1, 64) | None,
    "session_id": str | None,
    "session_key": str | None,
    "model": text(1, 200) | None,
    "instructions": text(0, LONGEST_PROMPT) | None,
    "max_output_tokens": Annotated[int, msgspec.Meta(ge=1)] | None,
    "on_missed": Literal["run_once", "skip", "run_all"] | None,
    "catch_up_hours": Annotated[float, msgspec.Meta(gt=0, le=24 * 31)] | None,
    "on_overlap": Literal["skip", "queue"] | None,
    "retries": Annotated[int, msgspec.Meta(ge=0, le=10)] | None,
    "timeout_seconds": Annotated[float, msgspec.Meta(gt=0, le=86_400)] | None,
    "enabled": bool | None,
    "repeat": Annotated[int, msgspec.Meta(ge=1)] | None,
    "expires_at": str | None,
}
DECODERS = {name: msgspec.json.Decoder(kind) for name, kind in TYPES.items()}
EXAMPLE = 'a cron line ("0 9 * * 1"), "@daily", "every 30m", or a time ("2026-12-24T18:00:00")'


class Given(msgspec.Struct, frozen=True):
    """What a client says of a job: the fields that it sent."""

    fields: Mapping[str, Any]
    metadata: Mapping[str, str] | None
    hook: Hook | msgspec.UnsetType | None  # its secret is "" when it was left to us

    def schedule(self, before: Job | None, now: datetime) -> Schedule:
        """When it fires. A schedule that stays as it is keeps its beginning."""
        zone = self.fields.get("timezone") or (
            before.schedule.timezone if before and "timezone" not in self.fields else "UTC"
        )
        expr = self.fields.get("schedule") or (before.schedule.expr if before else None)
        if expr is None:
            raise Malformed(f"schedule is required: {EXAMPLE}.", param="schedule")
        if before is not None and (expr, zone) == (before.schedule.expr, before.schedule.timezone):
            return before.schedule
        return schedule.parse(expr, zone, now=now)

    def session(self) -> SessionId | None:
        named = self.fields.get("session_id")
        return SessionId(printable(named.strip(" "), what="session_id")) if named and named.strip(" ") else None

    def key(self) -> SessionKey | None:
        named = self.fields.get("session_key")
        return SessionKey(printable(named.strip(" "), what="session_key")) if named and named.strip(" ") else None

    def expires_at(self, zone: str, now: datetime) -> datetime | None:
        """Until when it fires; in the job's zone, if it does not say in which."""
        at = moment(self.fields.get("expires_at"), "expires_at", zone)
        if at is not None and at <= now:
            raise Malformed("expires_at is in the past; the job would never fire.", param="expires_at")
        return at


def decode(body: bytes) -> Given:
    """The fields of a job, each checked; unknown ones are refused, so that a slip of the pen is seen."""
    given = json.fields(body)
    labels = given.pop("metadata", None)
    deliver = given.pop("deliver", None)
    fields: dict[str, Any] = {}
    for name, raw in given.items():
        if name not in DECODERS:
            raise Malformed(
                f"A job has no field {name[:100]!r}; it has {', '.join(sorted(known()))}.", param=name[:100]
            )
        fields[name] = json.value(raw, DECODERS[name], name)
    return Given(
        fields,
        metadata.decode(labels) if labels is not None else None,
        hooks.decode(deliver, "deliver") if deliver is not None else msgspec.UNSET,
    )


def known() -> set[str]:
    return {*TYPES, "metadata", "deliver"}


def decode_preview(body: bytes) -> tuple[str, str, int]:
    """A schedule, its zone, and how many fires to tell."""
    fields = json.fields(body)
    expr = json.value(fields.get("schedule", NULL), msgspec.json.Decoder(str | None), "schedule")
    zone = json.value(fields.get("timezone", NULL), msgspec.json.Decoder(str | None), "timezone")
    count = json.value(
        fields.get("count", NULL), msgspec.json.Decoder(Annotated[int, msgspec.Meta(ge=1, le=100)] | None), "count"
    )
    if not expr:
        raise Malformed(f"schedule is required: {EXAMPLE}.", param="schedule")
    return expr, zone or "UTC", count or 5


def moment(text_: str | None, param: str, zone: str) -> datetime | None:
    if not text_:
        return None
    try:
        read = datetime.fromisoformat(text_)
    except ValueError as error:
        raise Malformed(f"{param} must be ISO 8601, as 2026-12-24T18:00:00Z.", param=param) from error
    if read.tzinfo is None:
        read = read.replace(tzinfo=schedule.zone_named(zone))
    try:
        return read.astimezone(UTC)
    except OverflowError as error:
        raise Malformed(f"{param} is out of range.", param=param) from error


# --- what is shown ---


def encode(standing: Standing, latest: Run | None, *, secret: bool = False) -> dict[str, Any]:
    """One job; the secret of its webhook is shown once, when it is made."""
    job, when = standing.job, standing.job.schedule
    return {
        "id": job.id,
        "name": job.name,
        "prompt": job.prompt,
        "schedule": {"kind": when.kind, "expr": when.expr, "display": when.display},
        "timezone": when.timezone,
        "enabled": job.enabled,
        "state": state(standing, latest),
        "next_run_at": stamp(standing.next_at),
        "last_run_at": stamp(latest.scheduled_at) if latest else None,
        "last_status": latest.status if latest else None,
        "last_error": latest.fault.message if latest and latest.fault else None,
        "session_id": job.session_id,
        "session_key": job.session_key,
        "model": job.model,
        "instructions": job.instructions,
        "max_output_tokens": job.max_output_tokens,
        "on_missed": job.on_missed,
        "catch_up_hours": job.catch_up_hours,
        "on_overlap": job.on_overlap,
        "retries": job.retries,
        "timeout_seconds": job.timeout_seconds,
        "repeat": {"times": job.repeat, "completed": standing.fired},
        "deliver": hooks.encode(job.hook, secret=secret),
        "expires_at": stamp(job.expires_at),
        "metadata": dict(job.metadata),
        "created_at": stamp(job.created_at),
        "updated_at": stamp(standing.updated_at),
    }


def state(standing: Standing, latest: Run | None) -> str:
    if latest is not None and latest.status in {"running", "stopping"}:
        return "running"
    if not standing.job.enabled:
        return "paused"
    return "scheduled" if standing.next_at is not None else "completed"


def stamp(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z") if at is not None else None


def one(standing: Standing, latest: Run | None, *, secret: bool = False) -> bytes:
    return msgspec.json.encode({"job": encode(standing, latest, secret=secret)})


def many(standings: Sequence[Standing], latest: Mapping[JobId, Run], *, more: bool) -> bytes:
    shown = [encode(standing, latest.get(standing.job.id)) for standing in standings]
    return msgspec.json.encode({"jobs": shown, "has_more": more})


def encode_run(run: Run, step: Step | None) -> dict[str, Any]:
    """One line of a job's history."""
    first = step.outcome.choices[0] if step is not None else None
    return {
        "object": "hermes.job.run",
        "id": run_id(run.id),
        "job_id": run.job,
        "status": run.status,
        "scheduled_at": stamp(run.scheduled_at),
        "started_at": stamp(run.started_at),
        "ended_at": stamp(run.ended_at),
        "attempt": run.attempt,
        "session_id": run.session,
        "output": (first.content if first.content is not None else first.refusal) if first else None,
        "usage": sessions.usage(step.outcome.usage) if step is not None else None,
        "error": {"code": run.fault.code, "message": run.fault.message} if run.fault else None,
    }


def history(runs: Sequence[dict[str, Any]], *, more: bool) -> bytes:
    return msgspec.json.encode({"object": "list", "data": runs, "has_more": more})


def started(run: Run) -> bytes:
    return msgspec.json.encode({"run": encode_run(run, None), "run_id": run_id(run.id)})


def coming(fires: Sequence[datetime], when: Schedule) -> bytes:
    """When it fires next, in words and by the clock."""
    return msgspec.json.encode(
        {
            "schedule": {"kind": when.kind, "expr": when.expr, "display": when.display},
            "timezone": when.timezone,
            "next": [stamp(at) for at in fires],
            "next_local": [at.astimezone(schedule.zone_named(when.timezone)).isoformat() for at in fires],
        }
    )
