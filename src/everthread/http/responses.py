"""/v1/responses: a turn as OpenAI's Responses API has it, and the same turn to look at again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager

import msgspec

from everthread.core.ids import CURRENT, SessionId, StepId, is_ephemeral, printable, step_of
from everthread.core.messages import Message
from everthread.core.session import Session
from everthread.core.turn import Envelope, Events, Finished, Keep, Turn, Usage
from everthread.core.view import Hook, Run, Spot, View
from everthread.errors import Failure, Malformed, NotFound, PreviousNotFound
from everthread.http import chat
from everthread.http import reply as replies
from everthread.http.hooks import vetted
from everthread.http.items import page
from everthread.http.request import envelope, read_json, replay, with_body
from everthread.http.runs import event_number, visible
from everthread.http.site import Call, Site
from everthread.turns.run import Summary, Turns
from everthread.wire.responses import names, reply, shown, stream
from everthread.wire.responses.asked import Asked, Looking
from everthread.wire.responses.fields import MOVED, in_these_names
from everthread.wire.responses.request import Request, read

PATH = "/v1/responses"

# --- a turn ---


async def create(call: Call) -> None:
    """One turn: answered at once, streamed, or left to run by itself."""
    to = envelope(call.headers, call.key, now=call.site.clock.now())
    body = await read_json(call.receive, call.headers)
    once = replay(call.headers, method="POST", path=PATH, body=body, envelope=to)
    request = read(body)
    asked = await prepared(call.site, msgspec.structs.replace(to, replay=once), request)
    if to.session_id is not None:
        asked = asked.within(with_body(asked.turn.envelope, call.headers, body))
    if asked.keep.background:
        await begin(call, asked, vetted(request.hook, call.site.courier))
    else:
        await chat.answer(Running(call.site.turns), asked, call.reply, call.receive)


class Running:
    """Where turns are run: when one fails, it says so of the fields that a request has here."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    async def run(self, turn: Turn) -> Events:
        with renaming():
            async with aclosing(self._turns.run(turn)) as events:
                async for some in events:
                    yield some

    async def busy(self, envelope: Envelope) -> bool:
        return await self._turns.busy(envelope)

    async def weighed(self, turn: Turn) -> int:
        with renaming():
            return await self._turns.weighed(turn)

    async def summed_up(self, turn: Turn) -> Summary:
        with renaming():
            return await self._turns.summed_up(turn)


@contextmanager
def renaming() -> Iterator[None]:
    try:
        yield
    except Failure as failure:
        failure.param = MOVED.get(failure.param or "", failure.param)
        failure.message = in_these_names(failure.message)
        raise


async def begin(call: Call, asked: Asked, hook: Hook | None) -> None:
    """A turn that runs by itself; streamed from its beginning if somebody listens."""
    run = await call.site.runs.start(asked.turn, "response", hook=hook, at_once=call.key.at_once)
    call.reply.run = run.id
    if asked.stream:
        await tell(call, run.id, asked.keep, after=None)
        return
    headers = replies.session_headers(asked.to, None, run.session)
    view = View(id=run.id, keep=asked.keep, created_at=run.created_at)
    await call.reply.json(msgspec.json.encode(await told(call, view)), more=headers)


async def prepared(site: Site, to: Envelope, request: Request) -> Asked:
    """The turn that a request asks for: what it goes on from is found, and what it refers to."""
    previous = await went_before(site, to, request.previous)
    conversation = conversing(to, request.conversation)
    turn = request.turn(to, await resolved(site, to, request.references))
    keep = request.keep(previous.step.id if previous else None, conversation)
    if previous is not None:
        turn = msgspec.structs.replace(turn, after=previous.step.id)
        if to.session_id is None:
            to = msgspec.structs.replace(to, session_id=previous.session.root, found=True)
    elif conversation is not None:
        to = msgspec.structs.replace(to, session_id=conversation)
        known = await site.store.find(to.tenant, conversation) if conversation.startswith("conv_") else None
        if conversation.startswith("conv_") and (known is None or not may_see(to, known)):
            raise NotFound(f"Conversation with id '{conversation}' not found.", param="conversation")
        turn = msgspec.structs.replace(turn, appends=True)
    turn = msgspec.structs.replace(
        turn,
        envelope=msgspec.structs.replace(to, server_tools=turn.envelope.server_tools),
        keep=keep if request.store else None,
        compact_at=(request.compact_threshold or site.limits["context_budget"] // 2) if request.compacts else None,
    )
    return Asked(turn=turn, keep=keep, stream=request.stream)


async def went_before(site: Site, to: Envelope, name: str | None) -> Spot | None:
    """What previous_response_id names; PreviousNotFound when it names nothing that is kept."""
    if name is None:
        return None
    missing = PreviousNotFound(f"Previous response with id '{name[:100]}' not found.")
    step = step_of(name, "resp_")
    view = await site.views.view(to.tenant, step, "response") if step is not None else None
    if view is None:
        raise missing
    spot = await site.views.spot(to.tenant, view.id)
    if spot is None:
        run = await site.queue.run(to.tenant, view.id)
        if run is None or not (run.session_key or "").startswith(to.key_prefix or ""):
            raise missing
        raise Malformed(f"The response '{name}' has no answer to go on from.", param="previous_response_id")
    if not may_see(to, spot.session):
        raise missing
    return spot


def may_see(to: Envelope, session: Session) -> bool:
    """Whether the API key may see this session: one that is bound sees only those of its session keys."""
    return (session.session_key or "").startswith(to.key_prefix or "")


def conversing(to: Envelope, name: str | None) -> SessionId | None:
    """The session that `conversation` names: a conversation's id, or a name of the client's own."""
    if name is None:
        return None
    named = SessionId(printable(name.strip(" "), what="conversation"))
    if named == CURRENT or is_ephemeral(named):
        raise Malformed(f"conversation is {named!r}, which names nothing that is kept.", param="conversation")
    if to.session_id is not None and named != to.session_id:
        raise Malformed("conversation is not the session in X-Hermes-Session-Id.", param="conversation")
    return named


async def resolved(site: Site, to: Envelope, references: Sequence[str]) -> dict[str, Sequence[Message]]:
    """The messages that items stand for which are only named."""
    return {reference: await referred(site, to, reference) for reference in references}


async def referred(site: Site, to: Envelope, reference: str) -> Sequence[Message]:
    missing = NotFound(f"Item with id '{reference[:100]}' not found.", param="input")
    name = names.parse_item_id(reference)
    spot = await site.views.spot(to.tenant, name.step) if name is not None else None
    if name is None or spot is None:
        raise missing
    if not may_see(to, spot.session):
        raise missing
    if name.kind in {"reasoning", "compaction"}:
        return ()
    stored = await site.views.stored(to.tenant, spot.session, name.step)
    kept = next((message for number, message in stored.messages if number == name.number), None) if stored else None
    part = shown.named(kept, name) if kept is not None else None
    if part is None:
        raise missing
    return (part,)


# --- looking at it again ---


async def retrieve(call: Call) -> None:
    view = await seen(call)
    if truth(call.query.get("stream", "")):
        await tell(call, view.id, view.keep, after=starting_after(call))
        return
    await call.reply.json(msgspec.json.encode(await told(call, view)))


async def input_items(call: Call) -> None:
    """What the model was asked with this request, in pages."""
    view = await seen(call)
    spot = await call.site.views.spot(call.key.tenant, view.id)
    items = [
        item for step, number, message in await asked_with(call, spot) for item in shown.shown(step, number, message)
    ]
    await call.reply.json(page(call, items))


async def delete(call: Call) -> None:
    view = await seen(call)
    if view.keep.background:
        await call.site.runs.stop(call.key.tenant, view.id)
    await call.site.views.drop(call.key.tenant, view.id, "response", now=call.site.clock.now())
    await call.reply.json(reply.deleted(view.id))


async def cancel(call: Call) -> None:
    view = await seen(call)
    if not view.keep.background:
        raise Malformed("Only a response with background set to true can be cancelled.", param="response_id")
    await call.site.runs.stop(call.key.tenant, view.id)
    await call.reply.json(msgspec.json.encode(await told(call, view)))


async def tell(call: Call, name: StepId, keep: Keep, *, after: int | None) -> None:
    """Its events from the first one on, or from the one after `after`."""
    run = await call.site.runs.known(call.key.tenant, name)
    view = View(id=name, keep=keep, created_at=run.created_at)
    following = call.site.runs.follow(call.key.tenant, name)
    telling = replies.streamed(following, Looking(view=view, starting_after=after), call.reply, at_once=True)
    await replies.while_connected(telling, call.receive)


async def told(call: Call, view: View) -> shown.Shown:
    """The Response as it stands now."""
    spot = await call.site.views.spot(call.key.tenant, view.id)
    if spot is not None:
        return stream.whole(view, Finished(session=spot.then, asked=spot.step.asked, step=spot.step))
    run = await call.site.runs.known(call.key.tenant, view.id)
    return unanswered(view, run)


def unanswered(view: View, run: Run) -> shown.Shown:
    match run.status:
        case "queued":
            return reply.pending(view, "queued", model=run.model or "")
        case "running" | "stopping" | "completed":
            return reply.pending(view, "in_progress", model=run.model or "")
        case "cancelled":
            return reply.pending(view, "cancelled", model=run.model or "")
        case "failed" | "interrupted" | "missed" | "skipped":
            assert run.fault is not None, "a run that came to nothing says why"
            return reply.failed(view, run.fault, model=run.model or "")


# --- without an answer ---


async def input_tokens(call: Call) -> None:
    """How much a request would send to the model."""
    to = envelope(call.headers, call.key, now=call.site.clock.now())
    asked = await prepared(call.site, to, read(await read_json(call.receive, call.headers), "count"))
    await call.reply.json(reply.input_tokens(await Running(call.site.turns).weighed(asked.turn)))


async def compact(call: Call) -> None:
    """A conversation in short: what the user said, and an item that stands for all of it from now on."""
    to = envelope(call.headers, call.key, now=call.site.clock.now())
    asked = await prepared(call.site, to, read(await read_json(call.receive, call.headers), "compact"))
    summary = await Running(call.site.turns).summed_up(asked.turn)
    name = StepId(call.site.ids.new())
    body = reply.compacted(
        name,
        summary.text,
        users=[item for number, message in enumerate(summary.asked) for item in shown.shown(name, number, message)],
        created_at=call.site.clock.now(),
        usage=Usage(summary.tokens, summary.length),
    )
    await call.reply.json(body)


# --- what a request says ---


async def seen(call: Call) -> View:
    """The response that the path names, if the API key may see it."""
    name = step_of(call.parameters["response_id"], "resp_")
    view = await call.site.views.view(call.key.tenant, name, "response") if name is not None else None
    if view is None:
        raise missing(call)
    spot = await call.site.views.spot(call.key.tenant, view.id)
    run = await call.site.queue.run(call.key.tenant, view.id) if spot is None else None
    session = spot.session.root if spot else run.session if run else None
    if session is None or not await visible(call, session, run):
        raise missing(call)
    return view


def missing(call: Call) -> NotFound:
    return NotFound(f"Response with id '{call.parameters['response_id'][:100]}' not found.", param="response_id")


async def asked_with(call: Call, spot: Spot | None) -> list[tuple[StepId, int | None, Message]]:
    """The messages of the request that a step came from; a thread's first one may have brought a history."""
    if spot is None:
        return []
    tenant, session = call.key.tenant, spot.session
    before: list[tuple[StepId, int | None, Message]] = []
    if spot.step.seq == 1 and session.prior is not None:
        steps = await call.site.views.items(tenant, session, after=None, limit=1000, order="asc")
        history = (stored for stored in steps.steps if stored.step.startswith("import"))
        before = [(stored.step, number, message) for stored in history for number, message in stored.messages]
    stored = await call.site.views.stored(tenant, session, spot.step.id)
    own = [(spot.step.id, number, message) for number, message in stored.messages] if stored else []
    return [*before, *((step, number, message) for step, number, message in own if number is not None)]


def starting_after(call: Call) -> int | None:
    text = call.query.get("starting_after")
    return event_number(text, "starting_after") if text else None


def truth(text: str) -> bool:
    if text.lower() not in {"", "0", "1", "true", "false"}:
        raise Malformed(f"stream must be true or false, not {text[:100]!r}.", param="stream")
    return text.lower() in {"1", "true"}
