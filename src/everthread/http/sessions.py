"""/api/sessions: conversations to look at, to change as a whole, and to take part in."""

from __future__ import annotations

import re

import msgspec

from everthread.core.ids import (
    CURRENT,
    LineageId,
    SessionId,
    SessionKey,
    StepId,
    ThreadId,
    is_ephemeral,
    printable,
)
from everthread.core.session import Session, fresh
from everthread.core.transcript import Card, Order
from everthread.core.turn import Envelope
from everthread.errors import Malformed, NotFound, SessionExists
from everthread.http import chat
from everthread.http.request import envelope, read_json, replay, with_body
from everthread.http.site import Call
from everthread.turns.permit import permit
from everthread.wire import sessions

MOST_SESSIONS, SESSIONS = 200, 50
MOST_MESSAGES, MESSAGES = 1000, 200
EXPORTED_AT_ONCE = 200  # messages
ORDERS: dict[str, Order] = {"asc": "asc", "desc": "desc", "oldest": "asc", "newest": "desc"}
SOURCES = {"api_server": "api"}  # what Hermes Agent calls it

# --- looking ---


async def many(call: Call) -> None:
    to = asking(call)
    limit = number(call, "limit", SESSIONS, least=1, most=MOST_SESSIONS)
    offset = number(call, "offset", 0)
    source = call.query.get("source") or None
    cards = await call.site.archive.cards(
        to.tenant,
        session_key=chosen_key(to, call.query.get("session_key")),
        key_prefix=to.key_prefix,
        source=SOURCES.get(source, source) if source else None,
        include_children=truth(call, "include_children"),
        limit=limit + 1,
        offset=offset,
    )
    await call.reply.json(sessions.many(cards[:limit], limit=limit, offset=offset, more=len(cards) > limit))


async def one(call: Call) -> None:
    _, session = await found(call)
    await call.reply.json(sessions.one(await shown(call, named(call) or session.id)))


async def messages(call: Call) -> None:
    to, session = await found(call)
    page = await call.site.archive.transcript(
        to.tenant,
        session,
        after=call.query.get("after") or None,
        limit=number(call, "limit", MESSAGES, least=1, most=MOST_MESSAGES),
        order=order(call),
    )
    await call.reply.json(sessions.messages(session.id, session.root, page.entries, more=page.more))


async def lineage(call: Call) -> None:
    to, session = await found(call)
    branches = await call.site.archive.tree(to.tenant, session)
    await call.reply.json(sessions.tree(session.id, session.root, branches))


async def export(call: Call) -> None:
    """The session and then its messages, one to a line, as they were when the export began."""
    to, session = await found(call)
    card = await shown(call, session.id)
    page = await call.site.archive.transcript(to.tenant, session, limit=EXPORTED_AT_ONCE)
    file = re.sub(r"[^\w.-]+", "-", session.root).strip("-.") or "session"
    await call.reply.start(
        200,
        [
            (b"content-type", b"application/x-ndjson; charset=utf-8"),
            (b"content-disposition", f'attachment; filename="{file}.jsonl"'.encode()),
        ],
    )
    await call.reply.write(sessions.one(card) + b"\n" + sessions.lines(session.root, page.entries))
    while page.more:
        page = await call.site.archive.transcript(to.tenant, session, after=page.entries[-1].id, limit=EXPORTED_AT_ONCE)
        await call.reply.write(sessions.lines(session.root, page.entries))
    await call.reply.end()


# --- changing ---


async def create(call: Call) -> None:
    to = asking(call)
    wanted = sessions.decode_creation(await read_json(call.receive, call.headers))
    to = msgspec.structs.replace(to, session_key=chosen_key(to, wanted.session_key))
    permit(to, None)
    name = chosen_id(call, wanted.id or wanted.session_id)
    session = fresh(name, call.site.ids.new, session_key=to.session_key)
    await begun(call, session, wanted.title)


async def fork(call: Call) -> None:
    """A session of its own that shares what was said up to a message, or up to now."""
    to, session = await found(call)
    wanted = sessions.decode_forking(await read_json(call.receive, call.headers))
    name = chosen_id(call, wanted.id or wanted.session_id)
    place = await call.site.archive.place(to.tenant, session, wanted.at or None)
    forked = session.branched(name, LineageId(call.site.ids.new()), place)
    forked = msgspec.structs.replace(forked, root=name, thread=ThreadId(call.site.ids.new()), named=True)
    await begun(call, forked, wanted.title)


async def begun(call: Call, session: Session, title: str | None) -> None:
    try:
        await call.site.archive.begin(call.key.tenant, session, now=call.site.clock.now(), title=title)
    except SessionExists as failure:
        raise SessionExists(f"There is a session {session.id!r} already.", param="id") from failure
    await call.reply.json(sessions.one(await shown(call, session.id)), 201)


async def change(call: Call) -> None:
    to, session = await found(call)
    change = sessions.decode_change(await read_json(call.receive, call.headers))
    if change.why_ended is None:
        await call.site.archive.amend(to.tenant, session, now=call.site.clock.now(), title=change.new_title)
    else:  # not in the middle of a turn, which would open it again
        async with call.site.store.claim(to.tenant, session.id, by=our_name(call), on_busy=to.on_busy) as claim:
            session = present(claim.session)
            await call.site.archive.amend(
                to.tenant, session, now=call.site.clock.now(), title=change.new_title, end=change.why_ended
            )
    await call.reply.json(sessions.one(await shown(call, session.id)))


async def delete(call: Call) -> None:
    """The whole thread: any of its ids will do."""
    to, session = await found(call)
    async with call.site.store.claim(to.tenant, session.id, by=our_name(call), on_busy=to.on_busy) as claim:
        await call.site.memories.delete(to, present(claim.session))
    await call.reply.json(sessions.deleted(named(call) or session.id))


async def compress(call: Call) -> None:
    to, _ = await found(call)
    session = await call.site.turns.compress(to)
    await call.reply.json(sessions.one(await shown(call, session.id)))


# --- taking part ---


async def chat_whole(call: Call) -> None:
    await talk(call, stream=False)


async def chat_stream(call: Call) -> None:
    await talk(call, stream=True)


async def talk(call: Call, *, stream: bool) -> None:
    """One turn, on the path of all turns."""
    to, _ = await found(call)
    body = await read_json(call.receive, call.headers)
    once = replay(call.headers, method="POST", path=call.path, body=body, envelope=to)
    to = msgspec.structs.replace(with_body(to, call.headers, body), replay=once)
    asked = sessions.decode_turn(body, to, stream=stream)
    await chat.answer(call.site.turns, asked, call.reply, call.receive)


# --- what a request says ---


def asking(call: Call) -> Envelope:
    """Who is asking; the session is the one that the path names, whatever the headers say."""
    to = envelope(call.headers, call.key, now=call.site.clock.now())
    return msgspec.structs.replace(to, session_id=named(call))


def named(call: Call) -> SessionId | None:
    name = call.parameters.get("session_id")
    return SessionId(name) if name is not None else None


async def found(call: Call) -> tuple[Envelope, Session]:
    """The tip of the session that the path names, if the API key may see it."""
    to = asking(call)
    session = present(await call.site.store.find(to.tenant, to.session_id or CURRENT))
    permit(to, session)
    return to, session


def present(session: Session | None) -> Session:
    if session is None:
        raise NotFound("There is no such session.")
    return session


async def shown(call: Call, session_id: SessionId) -> Card:
    card = await call.site.archive.card(call.key.tenant, session_id)
    if card is None:
        raise NotFound("There is no such session.")
    return card


def chosen_id(call: Call, given: str | None) -> SessionId:
    given = given.strip(" ") if given else None  # as a header's value is read
    name = SessionId(printable(given, what="id") if given else f"ses_{call.site.ids.new()}")
    if is_ephemeral(name):
        raise Malformed("Ids that begin with temporary: or local: name chats that are not kept.", param="id")
    if name == CURRENT:
        raise Malformed(f"{CURRENT} is no session's id: it stands for a session key's current one.", param="id")
    return name


def chosen_key(to: Envelope, given: str | None) -> SessionKey | None:
    """The header's session key, or the one in the body or the query."""
    if not given:
        return to.session_key
    key = SessionKey(printable(given, what="session_key"))
    if to.session_key is not None and key != to.session_key:
        raise Malformed("session_key is not the one in X-Hermes-Session-Key.", param="session_key")
    if to.key_prefix is not None and not key.startswith(to.key_prefix):
        raise NotFound("There is no such session key.")
    return key


def our_name(call: Call) -> StepId:
    """What waiters for the session are told of who holds it."""
    return StepId(call.site.ids.new())


def number(call: Call, name: str, default: int, *, least: int = 0, most: int = 1_000_000_000) -> int:
    """A number of the query; more than the most is the most."""
    text = call.query.get(name)
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 12 and int(text) >= least):
        raise Malformed(f"{name} must be a whole number, {least} or more, not {text[:100]!r}.", param=name)
    return min(int(text), most)


def truth(call: Call, name: str) -> bool:
    text = call.query.get(name, "").lower()
    if text not in {"", "0", "1", "false", "true", "no", "yes"}:
        raise Malformed(f"{name} must be true or false, not {text[:100]!r}.", param=name)
    return text in {"1", "true", "yes"}


def order(call: Call) -> Order:
    text = call.query.get("order") or "asc"
    if text not in ORDERS:
        raise Malformed(f"order must be asc or desc, not {text[:100]!r}.", param="order")
    return ORDERS[text]
