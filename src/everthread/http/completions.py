"""Stored chat completions: replies that a client asked to keep (`store: true`), to be listed and looked at again."""

from __future__ import annotations

from everthread.core.ids import StepId, step_of
from everthread.core.turn import Envelope
from everthread.core.view import Sort, Spot, View
from everthread.errors import Malformed, NotFound
from everthread.http import items
from everthread.http.request import read_json
from everthread.http.responses import asked_with
from everthread.http.site import Call
from everthread.turns.permit import permit
from everthread.wire import completions, metadata
from everthread.wire.responses import reply

PREFIX = "chatcmpl-"


async def many(call: Call) -> None:
    """Those that were kept, the oldest first unless it is asked for otherwise."""
    after = call.query.get("after")
    name = step_of(after, PREFIX) if after else None
    if after and name is None:
        raise Malformed(f"after must be a completion's id, not {after[:100]!r}.", param="after")
    prefix = call.key.session_key_prefix
    if name is not None and prefix is not None:
        spot = await call.site.views.spot(call.key.tenant, name)
        if spot is None or not permitted(call, spot):
            raise Malformed(f"after: there is no completion {name!r}.", param="after")
    sort = Sort(model=call.query.get("model") or None, metadata=labels(call), key_prefix=prefix)
    most = items.limit(call)
    found, more = await call.site.views.views(
        call.key.tenant, "completion", sort=sort, after=name, limit=most, order=items.order(call, "asc")
    )
    shown = []
    for view in found:
        spot = await call.site.views.spot(call.key.tenant, view.id)
        if spot is not None:
            shown.append(completions.encode(view, spot.step))
    await call.reply.json(reply.item_page(shown, more=more))


async def retrieve(call: Call) -> None:
    view, spot = await seen(call)
    await call.reply.json(completions.one(view, spot.step))


async def update(call: Call) -> None:
    """Other labels."""
    view, _ = await seen(call)
    given = metadata.decode_change(await read_json(call.receive, call.headers))
    await call.site.views.label(call.key.tenant, view.id, "completion", given)
    await retrieve(call)


async def delete(call: Call) -> None:
    view, _ = await seen(call)
    await call.site.views.drop(call.key.tenant, view.id, "completion", now=call.site.clock.now())
    await call.reply.json(completions.deleted(view.id))


async def messages(call: Call) -> None:
    """What it was asked with."""
    view, spot = await seen(call)
    said = await asked_with(call, spot)
    shown = [completions.message(view.id, number, message) for number, (_, _, message) in enumerate(said)]
    await call.reply.json(items.page(call, shown, default="asc"))


# --- what a request says ---


async def seen(call: Call) -> tuple[View, Spot]:
    """The completion that the path names, if the API key may see it."""
    name: StepId | None = step_of(call.parameters["completion_id"], PREFIX)
    view = await call.site.views.view(call.key.tenant, name, "completion") if name is not None else None
    spot = await call.site.views.spot(call.key.tenant, view.id) if view is not None else None
    if view is None or spot is None or not permitted(call, spot):
        shown = call.parameters["completion_id"][:100]
        raise NotFound(f"Chat completion with id '{shown}' not found.", param="completion_id")
    return view, spot


def permitted(call: Call, spot: Spot) -> bool:
    to = Envelope(tenant=call.key.tenant, key_prefix=call.key.session_key_prefix)
    try:
        permit(to, spot.session)
    except NotFound:
        return False
    return True


def labels(call: Call) -> dict[str, str]:
    """metadata[name]=value in the query."""
    return {
        field.removeprefix("metadata[").removesuffix("]"): value
        for field, value in call.query.items()
        if field.startswith("metadata[") and field.endswith("]")
    }
