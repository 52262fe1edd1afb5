"""/api/memory: what is remembered, to look at, to change by hand, and to forget."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import msgspec

from everthread.core.claim import ClaimId, Kind
from everthread.core.ids import SessionId, printable
from everthread.core.turn import Envelope
from everthread.errors import Malformed, MethodNotAllowed
from everthread.http.request import envelope, read_json
from everthread.http.sessions import chosen_key
from everthread.http.site import Call, Work
from everthread.turns.memories import Memories, Statement, Wanted
from everthread.turns.search import Query
from everthread.turns.timeline import Era
from everthread.wire import memory

MOST_CLAIMS, CLAIMS = 200, 50
MOST_HITS, HITS = 50, 10
LONGEST_QUERY = 2000
TRUTHS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
FORMATS = {"jsonl": b"application/x-ndjson; charset=utf-8", "markdown": b"text/markdown; charset=utf-8"}
FILES = {"jsonl": "memory.jsonl", "markdown": "memory.md"}


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request about a memory, whichever way it came."""

    memories: Memories
    to: Envelope
    query: Mapping[str, str] = {}
    name: str = ""  # what stood in the path: a claim's id, or a turn's
    body: bytes = b""

    @property
    def claim(self) -> ClaimId:
        return memory.decode_id(self.name)


class Said(msgspec.Struct, frozen=True):
    body: bytes
    status: int = 200


Action = Callable[[Asked], Awaitable[Said]]

# --- looking ---


async def many(asked: Asked) -> Said:
    after = asked.query.get("after")
    wanted = Wanted(
        kinds=memory.decode_kinds(asked.query),
        states=memory.decode_states(asked.query),
        pinned=truth(asked, "pinned"),
        after=memory.decode_id(after) if after else None,
        limit=number(asked, "limit", CLAIMS, MOST_CLAIMS),
    )
    claims, more = await asked.memories.many(asked.to, wanted)
    return Said(memory.many(claims, more=more))


async def one(asked: Asked) -> Said:
    return Said(memory.one(await asked.memories.one(asked.to, asked.claim)))


async def search(asked: Asked) -> Said:
    text = words(asked, "q")
    if not text:
        raise Malformed("q is missing: what to look for, as ?q=database.", param="q")
    query = Query(
        text=text,
        as_of=memory.optional_moment(asked.query.get("as_of"), "as_of"),
        known_at=memory.optional_moment(asked.query.get("known_at"), "known_at"),
        limit=number(asked, "limit", HITS, MOST_HITS),
    )
    found = await asked.memories.search(asked.to, query)
    return Said(
        memory.listed(
            [memory.hit(hit.passage, hit.score, hit.claims) for hit in found.hits],
            query=text,
            as_of=memory.moment(query.as_of),
            known_at=memory.moment(query.known_at),
            claims=[memory.encode(claim) for claim in found.claims],
        )
    )


async def timeline(asked: Asked) -> Said:
    after = asked.query.get("after")
    era = Era(
        about=words(asked, "about"),
        since=memory.optional_moment(asked.query.get("since"), "since"),
        until=memory.optional_moment(asked.query.get("until"), "until"),
        after=memory.decode_id(after) if after else None,
        limit=number(asked, "limit", CLAIMS, MOST_CLAIMS),
    )
    changes, more = await asked.memories.timeline(asked.to, era)
    data = [memory.change(one.at, one.claim, one.replaced, one.because, one.cause) for one in changes]
    return Said(memory.listed(data, has_more=more))


async def sources(asked: Asked) -> Said:
    found = await asked.memories.sources(asked.to, asked.claim)
    return Said(memory.sources(asked.claim, [memory.sourced(one.relation, one.claim, one.source) for one in found]))


async def given(asked: Asked) -> Said:
    return Said(memory.given(await asked.memories.given(asked.to, memory.decode_turn(asked.name))))


async def status(asked: Asked) -> Said:
    now = await asked.memories.status(asked.to)
    return Said(memory.status(**msgspec.structs.asdict(now)))


async def exported(asked: Asked) -> AsyncIterator[bytes]:
    """All claims of the scope, in pieces."""
    await asked.memories.known(asked.to)
    if export_format(asked) == "jsonl":
        async for claims in asked.memories.everything(asked.to):
            yield memory.lines(claims)
        return
    yield memory.heading(str(asked.to.session_key or asked.to.session_id), asked.memories.now())
    for kind in memory.TITLES:
        async for piece in listed(asked, kind):
            yield piece


async def listed(asked: Asked, kind: Kind) -> AsyncIterator[bytes]:
    """The claims of one kind, below its title; nothing where there are none."""
    begun = False
    async for claims in asked.memories.everything(asked.to, (kind,)):
        successors = await asked.memories.successors(asked.to, claims)
        piece = b"" if begun else memory.title(kind)
        begun = True
        for claim in claims:
            follows = successors.get(claim.superseded_by) if claim.superseded_by is not None else None
            piece += memory.item(claim, follows)
        yield piece


def export_format(asked: Asked) -> str:
    wanted = asked.query.get("format") or "jsonl"
    if wanted not in FORMATS:
        raise Malformed(f"format is jsonl or markdown, not {wanted[:100]!r}.", param="format")
    return wanted


# --- a person's own hand ---


async def add(asked: Asked) -> Said:
    wanted = memory.decode_addition(asked.body)
    claim, new = await asked.memories.add(
        asked.to,
        Statement(
            text=wanted.text,
            kind=wanted.kind,
            speaker=wanted.speaker or "user",
            pinned=wanted.pinned,
            valid_from=memory.optional_moment(wanted.valid_from, "valid_from"),
        ),
    )
    return Said(memory.one(claim), 201 if new else 200)


async def correct(asked: Asked) -> Said:
    wanted = memory.decode_correction(asked.body)
    statement = Statement(
        text=wanted.text,
        valid_from=memory.optional_moment(wanted.valid_from, "valid_from"),
        because=wanted.reason,
    )
    return Said(memory.one(await asked.memories.correct(asked.to, asked.claim, statement)), 201)


async def pin(asked: Asked) -> Said:
    wanted = memory.decode_pinning(asked.body)
    return Said(memory.one(await asked.memories.pin(asked.to, asked.claim, pinned=wanted.pinned)))


async def retract(asked: Asked) -> Said:
    wanted = memory.decode_retraction(asked.body)
    return Said(memory.one(await asked.memories.retract(asked.to, asked.claim, reason=wanted.reason)))


async def forget(asked: Asked) -> Said:
    wanted = memory.decode_forgetting(asked.body)
    if wanted.session_id is not None:
        printable(wanted.session_id, what="session_id")
    gone = await asked.memories.forget(asked.to, wanted.what, dry_run=wanted.dry_run)
    return Said(memory.forgotten(gone, dry_run=wanted.dry_run))


# --- over HTTP ---


def reading(action: Action) -> Work:
    async def work(call: Call) -> None:
        said = await action(asked(call))
        await call.reply.json(said.body, said.status)

    return work


def writing(action: Action) -> Work:
    async def work(call: Call) -> None:
        question = asked(call)
        body = await read_json(call.receive, call.headers)
        said = await action(msgspec.structs.replace(question, body=body))
        await call.reply.json(said.body, said.status)

    return work


async def export(call: Call) -> None:
    """Nothing is sent before the first piece is there, so that what is wrong can be said."""
    question = asked(call)
    wanted = export_format(question)
    pieces = exported(question)
    first = await anext(pieces, b"")
    await call.reply.start(
        200,
        [
            (b"content-type", FORMATS[wanted]),
            (b"content-disposition", f'attachment; filename="{FILES[wanted]}"'.encode()),
        ],
    )
    if first:
        await call.reply.write(first)
    async for piece in pieces:
        await call.reply.write(piece)
    await call.reply.end()


async def undeletable(call: Call) -> None:
    raise MethodNotAllowed(
        "A claim is not deleted: POST /api/memory/{id}/retract says that it was never so, and POST /api/memory/forget"
        ' with {"claim": id} erases it and the words it was drawn from.',
        allow="GET, HEAD",
    )


def asked(call: Call) -> Asked:
    to = envelope(call.headers, call.key, now=call.site.clock.now())
    to = msgspec.structs.replace(to, session_key=chosen_key(to, call.query.get("session_key")))
    to = msgspec.structs.replace(to, session_id=chosen_id(to, call.query.get("session_id")))
    name = next(iter(call.parameters.values()), "")
    return Asked(memories=call.site.memories, to=to, query=call.query, name=name)


def chosen_id(to: Envelope, given: str | None) -> SessionId | None:
    """The header's session id, or the one in the query."""
    if not given:
        return to.session_id
    session_id = SessionId(printable(given, what="session_id"))
    if to.session_id is not None and session_id != to.session_id:
        raise Malformed("session_id is not the one in X-Hermes-Session-Id: send one of them.", param="session_id")
    return session_id


# --- what a query says ---


def words(asked: Asked, name: str) -> str:
    text = asked.query.get(name, "").strip()
    if len(text) > LONGEST_QUERY:
        raise Malformed(f"{name} is {len(text)} characters long; the limit is {LONGEST_QUERY}.", param=name)
    if "\0" in text:
        raise Malformed(f"{name} contains a NUL character; no text may.", param=name)
    return text


def number(asked: Asked, name: str, default: int, most: int) -> int:
    """A number of the query; more than the most is the most."""
    text = asked.query.get(name)
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 12 and int(text) >= 1):
        raise Malformed(f"{name} must be a whole number, 1 or more, not {text[:100]!r}.", param=name)
    return min(int(text), most)


def truth(asked: Asked, name: str) -> bool | None:
    text = asked.query.get(name, "").lower()
    if not text:
        return None
    if text not in TRUTHS:
        raise Malformed(f"{name} must be true or false, not {text[:100]!r}.", param=name)
    return TRUTHS[text]
