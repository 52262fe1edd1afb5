"""/api/usage: what turns took. An admin sees the whole tenant; any other key what it took itself."""

from __future__ import annotations

from datetime import UTC, date, timedelta
from typing import get_args

from everthread.core.ids import KeyId, SessionId, printable
from everthread.core.usage import By, Wanted
from everthread.errors import Forbidden, Malformed
from everthread.http.items import counted
from everthread.http.site import Call
from everthread.wire import usage

USUAL_DAYS = 30
USUAL = 100
MOST = 1000


async def many(call: Call) -> None:
    by = grouped(call)
    today = call.site.clock.now().astimezone(UTC).date()
    until = day(call, "until") or today + timedelta(days=1)
    since = day(call, "since") or max(date.min + timedelta(days=USUAL_DAYS), until) - timedelta(days=USUAL_DAYS)
    wanted = Wanted(
        by=by,
        since=since,
        until=until,
        keys=await whose(call),
        session=await conversation(call),
        job=call.query.get("job_id"),
        after=after(call, by),
        limit=limit(call),
    )
    page, more = await call.site.accounts.spent(call.key.tenant, wanted)
    total = await call.site.accounts.total(call.key.tenant, wanted)
    await call.reply.json(usage.encode(wanted, page, total, more=more, prices=call.site.prices))


async def whose(call: Call) -> tuple[KeyId, ...] | None:
    """The keys whose turns are shown; None: all of the tenant."""
    named = call.query.get("key")
    if not call.key.is_admin:
        if named is not None and named != call.key.id:
            raise Forbidden("Only an admin's key sees what other keys took.", param="key")
        return (call.key.id,)
    if call.key.session_key_prefix is None:
        return (KeyId(named),) if named is not None else None
    seen = [key.id for key in await call.site.store.keys(call.key.tenant) if call.key.governs(key)]
    return tuple(id_ for id_ in seen if named is None or id_ == named)


async def conversation(call: Call) -> SessionId | None:
    """The id that a conversation began with, whichever of its ids was sent."""
    text = call.query.get("session_id")
    if text is None:
        return None
    named = SessionId(printable(text, what="session_id"))
    known = await call.site.store.find(call.key.tenant, named)
    return known.root if known is not None else named


# --- what a request says ---


def grouped(call: Call) -> By:
    text = call.query.get("by") or "day"
    for known in get_args(By):
        if text == known:
            by: By = known
            return by
    raise Malformed(f"by is one of: {', '.join(get_args(By))}; not {text[:100]!r}.", param="by")


def day(call: Call, param: str) -> date | None:
    text = call.query.get(param)
    return date_of(text, param) if text else None


def date_of(text: str, param: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise Malformed(f"{param} is a day, as 2026-12-24; not {text[:100]!r}.", param=param) from error


def after(call: Call, by: By) -> str | None:
    text = call.query.get("after")
    return date_of(text, "after").isoformat() if text and by == "day" else text


def limit(call: Call) -> int:
    text = call.query.get("limit")
    if not text:
        return USUAL
    return counted(text, "limit", MOST)
