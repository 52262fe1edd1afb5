"""/v1/conversations: sessions and what was said in them, as OpenAI's Conversations API has it."""

from __future__ import annotations

import msgspec

from everthread.core.ids import SessionId, StepId
from everthread.core.messages import Message
from everthread.core.session import Session, fresh
from everthread.core.turn import Envelope
from everthread.errors import NotFound
from everthread.http.items import beyond, limit, order, unknown_after
from everthread.http.request import envelope, read_json
from everthread.http.responses import resolved
from everthread.http.sessions import chosen_id
from everthread.http.site import Call
from everthread.turns.permit import permit
from everthread.wire import conversations, metadata
from everthread.wire.responses import items, names, reply
from everthread.wire.responses.items import Item
from everthread.wire.responses.names import ItemName
from everthread.wire.responses.shown import Shown


async def create(call: Call) -> None:
    to = envelope(call.headers, call.key, now=call.site.clock.now())
    asked = conversations.decode_creation(await read_json(call.receive, call.headers))
    permit(to, None)
    given = await told(call, to, asked.items)
    name = chosen_id(call, to.session_id) if to.session_id else SessionId(f"conv_{call.site.ids.new()}")
    to = msgspec.structs.replace(to, session_id=name)
    empty = fresh(name, call.site.ids.new, session_key=to.session_key)
    session = await call.site.archive.begin(to.tenant, empty, now=call.site.clock.now())
    if asked.metadata:
        await call.site.views.describe(to.tenant, session, asked.metadata)
    if given:
        await call.site.items.append(to, given)
    await show(call, session)


async def retrieve(call: Call) -> None:
    _, session = await found(call)
    await show(call, session)


async def update(call: Call) -> None:
    to, session = await found(call)
    labels = metadata.decode_change(await read_json(call.receive, call.headers))
    await call.site.views.describe(to.tenant, session, labels)
    await show(call, session)


async def delete(call: Call) -> None:
    to, session = await found(call)
    by = StepId(call.site.ids.new())
    async with call.site.store.claim(to.tenant, session.id, by=by, on_busy=to.on_busy) as claim:
        if claim.session is None:
            raise missing(call)
        await call.site.memories.delete(to, claim.session)
    await call.reply.json(conversations.deleted(session.root))


async def show(call: Call, session: Session) -> None:
    created_at, labels = await call.site.views.about(call.key.tenant, session)
    await call.reply.json(conversations.encode(session.root, created_at, labels))


# --- items ---


async def create_items(call: Call) -> None:
    to, _ = await found(call)
    given = conversations.decode_items(await read_json(call.receive, call.headers))
    _, steps = await call.site.items.append(to, await told(call, to, given))
    _, session = await found(call)
    stored = [await call.site.views.stored(to.tenant, session, step) for step in steps]
    said = [item for step in stored if step is not None for item in conversations.shown_items(step)]
    await call.reply.json(reply.item_page(said, more=False))


async def told(call: Call, to: Envelope, given: tuple[Item, ...]) -> tuple[Message, ...]:
    """Items as messages, to be added at the end of a conversation; nobody answers them."""
    return items.messages(given, await resolved(call.site, to, items.references(given)), thoughts=True)


async def list_items(call: Call) -> None:
    """A page of what was said, the newest first unless it is asked for otherwise."""
    to, session = await found(call)
    way, most, after = order(call), limit(call), call.query.get("after")
    begun = names.parse_item_id(after) if after else None
    if after and begun is None:
        raise unknown_after(after)
    page = await call.site.views.items(
        to.tenant, session, after=begun.step if begun else None, limit=most + 2, order=way
    )
    said: list[Shown] = []
    for stored in page.steps:
        shown = conversations.shown_items(stored)
        said += shown if way == "asc" else reversed(shown)
    rest = beyond(said, after) if after else said
    await call.reply.json(reply.item_page(rest[:most], more=page.more or len(rest) > most))


async def one_item(call: Call) -> None:
    to, session = await found(call)
    _, shown = await item(call, to, session)
    await call.reply.json(msgspec.json.encode(shown))


async def delete_item(call: Call) -> None:
    """Takes it out of the conversation for good: out of the transcript, the memory and later prompts."""
    to, session = await found(call)
    name, shown = await item(call, to, session)
    if name.kind == "reasoning" and name.number is None:  # it goes with its answer
        raise no_item(call)
    called = str(shown["call_id"]) if name.kind == "call" else None
    if not await call.site.items.remove(to, name.step, name.number, called):
        raise no_item(call)
    await show(call, session)


async def item(call: Call, to: Envelope, session: Session) -> tuple[ItemName, Shown]:
    """The item that the path names: what its id says, and as it is listed."""
    name = names.parse_item_id(call.parameters["item_id"])
    stored = await call.site.views.stored(to.tenant, session, name.step) if name is not None else None
    for shown in conversations.shown_items(stored) if stored is not None else ():
        if name is not None and shown["id"] == call.parameters["item_id"]:
            return name, shown
    raise no_item(call)


# --- what a request says ---


async def found(call: Call) -> tuple[Envelope, Session]:
    """The conversation that the path names, if the API key may see it."""
    to = envelope(call.headers, call.key, now=call.site.clock.now())
    to = msgspec.structs.replace(to, session_id=SessionId(call.parameters["conversation_id"]))
    session = await call.site.store.find(to.tenant, to.session_id or SessionId(""))
    if session is None or not call.key.allows(session.session_key):
        raise missing(call)
    permit(to, session)
    return to, session


def missing(call: Call) -> NotFound:
    name = call.parameters["conversation_id"][:100]
    return NotFound(f"Conversation with id '{name}' not found.", param="conversation_id")


def no_item(call: Call) -> NotFound:
    return NotFound(f"Item with id '{call.parameters['item_id'][:100]}' not found.", param="item_id")
