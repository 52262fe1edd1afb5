"""/api/jobs: prompts that fire on a schedule, inside a session."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from everthread.core import schedule
from everthread.core.ids import CURRENT, SessionId, SessionKey, is_ephemeral, printable, step_of
from everthread.core.job import Job, JobId, Standing
from everthread.core.turn import Envelope
from everthread.core.view import Hook, Run
from everthread.errors import Malformed, NotFound
from everthread.http.hooks import vetted
from everthread.http.items import counted, limit, order
from everthread.http.request import envelope, read_json
from everthread.http.sessions import chosen_key
from everthread.http.site import Call
from everthread.turns.jobs import own_session
from everthread.turns.permit import permit
from everthread.wire import jobs

MOST_FIRES = 100


async def create(call: Call) -> None:
    to = asking(call)
    given = jobs.decode(await read_json(call.receive, call.headers))
    for name in ("name", "prompt", "schedule"):
        if not (given.fields.get(name) or "").strip():
            raise Malformed(f"{name} is required.", param=name)
    now = call.site.clock.now()
    id_ = JobId(f"job_{call.site.ids.new()}")
    session = chosen_session(to, given.session()) or SessionId(own_session(id_))
    key = await allowed(call, session, chosen_key(to, given.key()))
    when = given.schedule(None, now)
    job = Job(
        id=id_,
        name=given.fields["name"].strip(),
        prompt=given.fields["prompt"],
        schedule=when,
        session_id=session,
        session_key=key,
        created_at=now,
        hook=vetted(given.hook or None, call.site.courier),
        expires_at=given.expires_at(when.timezone, now),
        metadata=given.metadata or {},
        key_prefix=call.key.session_key_prefix,
        key=call.key.id,
        **plainly(given),
    )
    standing = await call.site.timetable.add(to.tenant, job)
    await call.reply.json(jobs.one(standing, None, secret=True), 201)


async def many(call: Call) -> None:
    after = call.query.get("after")
    found, more = await call.site.jobs.many(
        call.key.tenant,
        after=JobId(after) if after else None,
        limit=limit(call),
        key_prefix=call.key.session_key_prefix,
    )
    latest = await call.site.jobs.latest(call.key.tenant, [standing.job.id for standing in found])
    await call.reply.json(jobs.many(found, latest, more=more))


async def one(call: Call) -> None:
    await show(call, await found(call))


async def change(call: Call) -> None:
    """Only what is sent is changed."""
    given = jobs.decode(await read_json(call.receive, call.headers))
    before = await found(call)
    if not given.fields and given.metadata is None and given.hook is msgspec.UNSET:
        raise Malformed("There is nothing to change.")
    to, job, now = asking(call), before.job, call.site.clock.now()
    for name in ("name", "prompt", "schedule"):
        if name in given.fields and not (given.fields[name] or "").strip():
            raise Malformed(f"{name} cannot be taken away.", param=name)
    if "session_id" in given.fields:
        session = given.session() or SessionId(own_session(job.id))
        job = msgspec.structs.replace(job, session_id=chosen_session(to, session) or session)
    if "session_key" in given.fields:
        job = msgspec.structs.replace(job, session_key=chosen_key(to, given.key()))
    job = msgspec.structs.replace(job, session_key=await allowed(call, job.session_id, job.session_key))
    texts = {name: given.fields[name] for name in ("name", "prompt") if name in given.fields}
    job = msgspec.structs.replace(job, schedule=given.schedule(job, now), **texts, **plainly(given))
    if "expires_at" in given.fields:
        job = msgspec.structs.replace(job, expires_at=given.expires_at(job.schedule.timezone, now))
    if given.metadata is not None:
        job = msgspec.structs.replace(job, metadata=given.metadata)
    if given.hook is not msgspec.UNSET:
        job = msgspec.structs.replace(job, hook=vetted(with_secret(given.hook, job.hook), call.site.courier))
    await changed(call, before, job)


async def pause(call: Call) -> None:
    before = await found(call)
    await changed(call, before, msgspec.structs.replace(before.job, enabled=False))


async def resume(call: Call) -> None:
    before = await found(call)
    await changed(call, before, msgspec.structs.replace(before.job, enabled=True))


async def delete(call: Call) -> None:
    standing = await found(call)
    await call.site.jobs.remove(call.key.tenant, standing.job.id)
    await call.reply.json(b'{"ok":true}')


async def run(call: Call) -> None:
    """Now, whatever the schedule says."""
    standing = await found(call)
    begun = await call.site.timetable.run_now(call.key.tenant, standing.job)
    await call.reply.json(jobs.started(begun), 202)


async def runs(call: Call) -> None:
    """What came of it, the newest first."""
    standing = await found(call)
    after = call.query.get("after")
    name = step_of(after, "run_") if after else None
    if after and name is None:
        raise Malformed(f"after must be a run's id, not {after[:100]!r}.", param="after")
    found_, more = await call.site.jobs.runs(
        call.key.tenant, standing.job.id, after=name, limit=limit(call), order=order(call)
    )
    await call.reply.json(jobs.history([await told(call, each) for each in found_], more=more))


async def next_fires(call: Call) -> None:
    standing = await found(call)
    text = call.query.get("count") or call.query.get("limit") or "5"
    count = counted(text, "count", MOST_FIRES)
    job = standing.job
    fires = coming(job.schedule, call.site.clock.now(), count) if standing.next_at is not None else []
    if job.expires_at is not None:
        fires = [at for at in fires if at <= job.expires_at]
    if job.repeat is not None:
        fires = fires[: max(0, job.repeat - standing.fired)]
    await call.reply.json(jobs.coming(fires, job.schedule))


async def preview(call: Call) -> None:
    """A schedule in words, and when it would fire."""
    expr, zone, count = jobs.decode_preview(await read_json(call.receive, call.headers))
    now = call.site.clock.now()
    when = schedule.parse(expr, zone, now=now)
    await call.reply.json(jobs.coming(coming(when, now, count), when))


async def redeliver(call: Call) -> None:
    """Tells the webhook of a run once more."""
    standing = await found(call)
    name = step_of(call.parameters["run_id"], "run_")
    known = await call.site.queue.run(call.key.tenant, name) if name is not None else None
    if known is None or known.job != standing.job.id:
        raise NotFound("There is no such run.")
    if not await call.site.post.again(call.key.tenant, known.id):
        raise Malformed("This run has nothing to deliver: the job had no webhook, or the run is not over.")
    await call.reply.json(b'{"ok":true}', 202)


# --- what is shown ---


async def show(call: Call, standing: Standing) -> None:
    latest = await call.site.jobs.latest(call.key.tenant, [standing.job.id])
    await call.reply.json(jobs.one(standing, latest.get(standing.job.id)))


async def changed(call: Call, before: Standing, job: Job) -> None:
    standing = await call.site.timetable.change(call.key.tenant, before, job)
    latest = await call.site.jobs.latest(call.key.tenant, [job.id])
    new_secret = job.hook is not None and job.hook != before.job.hook
    await call.reply.json(jobs.one(standing, latest.get(job.id), secret=new_secret))


async def told(call: Call, run: Run) -> dict[str, object]:
    spot = await call.site.views.spot(call.key.tenant, run.id) if run.status == "completed" else None
    return jobs.encode_run(run, spot.step if spot else None)


def coming(when: schedule.Schedule, now: datetime, count: int) -> list[datetime]:
    fires: list[datetime] = []
    at: datetime | None = now
    while len(fires) < count and at is not None:
        at = when.next(at)
        if at is not None:
            fires.append(at)
    return fires


# --- what a request says ---


def asking(call: Call) -> Envelope:
    return envelope(call.headers, call.key, now=call.site.clock.now())


async def found(call: Call) -> Standing:
    """The job that the path names, if the API key may see it."""
    standing = await call.site.jobs.job(call.key.tenant, JobId(call.parameters["job_id"]))
    prefix = call.key.session_key_prefix
    if standing is None or (prefix is not None and not (standing.job.session_key or "").startswith(prefix)):
        raise NotFound("There is no such job; GET /api/jobs lists them.")
    return standing


def chosen_session(to: Envelope, given: SessionId | None) -> SessionId | None:
    """The header's session, or the one in the body."""
    if given is not None and to.session_id is not None and given != to.session_id:
        raise Malformed("session_id is not the one in X-Hermes-Session-Id.", param="session_id")
    session = to.session_id or given
    if is_ephemeral(session):
        raise Malformed("A temporary chat is not kept; a job needs a session that is.", param="session_id")
    if session == CURRENT:
        raise Malformed(
            f"{CURRENT} changes with time; leave session_id out to give the job a session of its own.",
            param="session_id",
        )
    return session


async def allowed(call: Call, session: SessionId, key: SessionKey | None) -> SessionKey | None:
    """The session must be one that this API key may speak in, under that session key. Returns the key that it is of: an
    API key that is bound to a prefix can only have jobs that stay within it."""
    prefix = call.key.session_key_prefix
    to = Envelope(tenant=call.key.tenant, session_key=key, key_prefix=prefix)
    known = await call.site.store.find(call.key.tenant, SessionId(printable(session, what="session_id")))
    permit(to, known)
    return key if prefix is None or key is not None or known is None else known.session_key


def with_secret(hook: Hook | None, before: Hook | None) -> Hook | None:
    """The same webhook as before keeps its secret when none is sent along."""
    if hook is not None and not hook.secret and before is not None and hook.url == before.url:
        return before
    return hook


def plainly(given: jobs.Given) -> dict[str, Any]:
    """The fields that a job has as they are sent; null takes one back to what it is without."""
    return {
        name: given.fields[name] if given.fields[name] is not None else usual
        for name, usual in USUAL.items()
        if name in given.fields
    }


USUAL: dict[str, object] = {
    name: field.default
    for field in msgspec.structs.fields(Job)
    if (name := field.name)
    in {
        "model",
        "instructions",
        "max_output_tokens",
        "on_missed",
        "catch_up_hours",
        "on_overlap",
        "retries",
        "timeout_seconds",
        "enabled",
        "repeat",
    }
}
