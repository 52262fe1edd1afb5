"""/v1/runs: turns that outlive their connection, and any turn's events once more."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import timedelta
from urllib.parse import parse_qsl, quote

import msgspec

from everthread.core.ids import KeyId, SessionId, StepId, Tenant, run_id, step_of
from everthread.core.key import ApiKey
from everthread.core.view import Run, Spot
from everthread.errors import Malformed, NotFound, Unauthenticated
from everthread.http import auth
from everthread.http import reply as replies
from everthread.http.hooks import vetted
from everthread.http.request import envelope, read_json, replay
from everthread.http.site import Call, Site
from everthread.turns.runs import Ticket
from everthread.wire import runs

PATH = "/v1/runs"
TICKET_KEPT = timedelta(hours=1)


async def create(call: Call) -> None:
    """202: it goes on by itself from here."""
    to = envelope(call.headers, call.key, now=call.site.clock.now())
    body = await read_json(call.receive, call.headers)
    once = replay(call.headers, method="POST", path=PATH, body=body, envelope=to)
    asked = runs.decode(body, msgspec.structs.replace(to, replay=once))
    secret = f"{call.key.tenant}.{call.key.id}.{secrets.token_urlsafe(24)}"
    ticket = Ticket(digest(secret), call.site.clock.now() + TICKET_KEPT)
    hook = vetted(asked.hook, call.site.courier)
    run = await call.site.runs.start(
        asked.turn, "run", metadata=asked.metadata, ticket=ticket, hook=hook, at_once=call.key.at_once
    )
    call.reply.run = run.id
    url = f"{PATH}/{run_id(run.id)}/events"
    if run.ticket == ticket.digest:  # an Idempotency-Key may have led to an earlier run, which has its own
        url += f"?token={quote(secret)}"
    headers = [(b"x-hermes-run-id", run_id(run.id).encode()), *replies.session_headers(to, None, run.session)]
    await call.reply.json(runs.started(run, url), 202, headers)


async def one(call: Call) -> None:
    run, spot = await found(call)
    await call.reply.json(runs.encode(run, spot.step if spot else None, spot.said_in if spot else run.session))


async def events(call: Call) -> None:
    """What it said and says, from the first event on or from the one after `Last-Event-ID`."""
    run, _ = await found(call)
    listening = runs.Listening(after(call))
    following = call.site.runs.follow(call.key.tenant, run.id)
    await replies.while_connected(replies.streamed(following, listening, call.reply, at_once=True), call.receive)


async def stop(call: Call) -> None:
    run, _ = await found(call)
    await call.site.runs.stop(call.key.tenant, run.id)
    await one(call)


# --- what a request says ---


def named(call: Call) -> StepId:
    name = step_of(call.parameters["run_id"], "run_")
    if name is None:
        raise NotFound("There is no such run.")
    return name


async def found(call: Call) -> tuple[Run, Spot | None]:
    """The run that the path names, if the API key may see it, and its answer."""
    name = named(call)
    run = await call.site.runs.known(call.key.tenant, name)
    spot = await call.site.views.spot(call.key.tenant, name)
    if not await visible(call, run.session, run):
        raise NotFound("There is no such run.")
    return run, spot


async def visible(call: Call, session: SessionId, run: Run | None = None) -> bool:
    """Whether the API key may see this session: one that is bound sees only those of its session keys."""
    if call.key.session_key_prefix is None:
        return True
    kept = await call.site.store.find(call.key.tenant, session)
    return call.key.allows(kept.session_key if kept is not None else run.session_key if run is not None else None)


def after(call: Call) -> int:
    text = call.headers.get(b"last-event-id") or call.query.get("starting_after") or call.query.get("last_event_id")
    return event_number(text, "Last-Event-ID") if text else 0


def event_number(text: str, param: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 12):
        raise Malformed(f"{param} is the number of an event, not {text[:100]!r}.", param=param)
    return int(text)


# --- tickets: an EventSource in a browser cannot send a key ---


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def ticket(path: str, query: bytes) -> str | None:
    """The ticket that a request for a run's events brings instead of a key."""
    if not (path.startswith(f"{PATH}/") and path.endswith("/events")) or b"token=" not in query:
        return None
    try:
        return dict(parse_qsl(query.decode("latin-1"), max_num_fields=100)).get("token")
    except ValueError as error:
        raise Malformed("The query has more than 100 fields.") from error


async def holder(site: Site, path: str, secret: str) -> ApiKey:
    """Whoever holds a ticket may hear the one run that it is for, for as long as the key is valid that began it."""
    name = step_of(path.removeprefix(f"{PATH}/").removesuffix("/events"), "run_")
    owner, _, key = secret.rpartition(".")[0].rpartition(".")
    tenant, now = Tenant(owner), site.clock.now()
    run = await site.queue.run(tenant, name) if name is not None and tenant else None
    known = await auth.known(KeyId(key), gate=site.gate, store=site.store)
    if run is None or not hmac.compare_digest(run.ticket, digest(secret)) or known is None or not known.valid(now):
        raise Unauthenticated("This token opens nothing; start the run again, or send an API key.")
    if run.ticket_until is None or run.ticket_until < now:
        raise Unauthenticated("This token has expired; send an API key instead.")
    return ApiKey(id=known.id, tenant=tenant, name="ticket", digest=b"", rights=("read",), created_at=now)
