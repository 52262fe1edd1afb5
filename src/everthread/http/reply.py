"""A turn as JSON or as SSE; a failure as status and body. One place writes each header."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterator, MutableMapping, Sequence
from contextlib import aclosing
from typing import Any, Protocol

import msgspec

from everthread import errors
from everthread.core.ids import SessionId, StepId, run_id
from everthread.core.key import ApiKey
from everthread.core.turn import Envelope, Event, Events, Finished, Started
from everthread.errors import Failure, MethodNotAllowed, SessionBusy
from everthread.wire.chat import Telling

log = logging.getLogger("everthread.http")

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Headers = list[tuple[bytes, bytes]]

FIRST_EVENT = 10.0  # seconds that the status line waits for the model's first word
KEEP_ALIVE = 15.0  # seconds of silence before a comment is sent
LAST_WORDS = 1.0  # seconds to tell a client why there is no more
LONGEST_STALL = 30.0  # seconds that a client may leave what was sent to it unread

STATUS: dict[type[Failure], tuple[int, str]] = {
    errors.Malformed: (400, "invalid_request_error"),
    errors.Unauthenticated: (401, "authentication_error"),
    errors.Forbidden: (403, "permission_error"),
    errors.OriginRefused: (403, "permission_error"),
    errors.NotFound: (404, "not_found_error"),
    errors.MethodNotAllowed: (405, "invalid_request_error"),
    errors.SessionKeyMismatch: (409, "conflict_error"),
    errors.SessionExists: (409, "conflict_error"),
    errors.IdempotencyInProgress: (409, "conflict_error"),
    errors.SessionBusy: (409, "conflict_error"),
    errors.SessionMoved: (409, "conflict_error"),
    errors.BodyTooLarge: (413, "invalid_request_error"),
    errors.UnsupportedMediaType: (415, "invalid_request_error"),
    errors.HostRefused: (421, "invalid_request_error"),
    errors.IdempotencyMismatch: (422, "invalid_request_error"),
    errors.Refused: (400, "invalid_request_error"),
    errors.LimitReached: (429, "rate_limit_error"),
    errors.UpstreamRateLimited: (503, "upstream_error"),
    errors.UpstreamTimeout: (504, "upstream_error"),
    errors.UpstreamFailure: (502, "upstream_error"),
    errors.Unavailable: (503, "server_error"),
    Failure: (500, "server_error"),
}


def status_of(failure: Failure) -> tuple[int, str]:
    """The status and error type of a failure: its own class's, or its nearest ancestor's."""
    return next(STATUS[kind] for kind in type(failure).__mro__ if kind in STATUS)


def error_body(failure: Failure) -> bytes:
    return msgspec.json.encode(
        {
            "error": {
                "message": failure.message,
                "type": status_of(failure)[1],
                "param": failure.param,
                "code": failure.code,
            }
        }
    )


def error_headers(failure: Failure) -> Headers:
    headers: Headers = []
    if failure.retry_after is not None:
        headers.append((b"retry-after", str(max(1, math.ceil(failure.retry_after))).encode()))
    if isinstance(failure, MethodNotAllowed):
        headers.append((b"allow", failure.allow.encode()))
    if isinstance(failure, errors.Unauthenticated):
        headers.append((b"www-authenticate", b"Bearer"))
    if isinstance(failure, errors.LimitReached) and failure.final:
        headers.append((b"x-should-retry", b"false"))
    if isinstance(failure, SessionBusy):
        if failure.final:
            headers.append((b"x-should-retry", b"false"))
        if failure.run is not None:
            headers.append((b"x-hermes-run-id", failure.run.encode()))
    return headers


def last_event(failure: Failure) -> bytes:
    """Why a stream ends before its end, whatever becomes of its turn: in a form that readers of each kind know."""
    return b'event: error\ndata: {"type":"error","event":"error",%s\n\n' % error_body(failure)[1:]


async def unheard(message: MutableMapping[str, Any]) -> None:
    """Sends nothing."""


def request_id() -> tuple[bytes, bytes]:
    return b"x-request-id", b"req_%024x" % random.getrandbits(96)


class Reply:
    """Answers one request: every response of the server leaves through here."""

    # what is known of it, for the log
    status = 0
    code: str | None = None  # of what went wrong
    route = ""
    key: ApiKey | None = None
    run: StepId | None = None

    def __init__(self, send: Send, headers: Headers, hang_up: Callable[[], None] | None = None) -> None:
        self._send = send
        self.hang_up = hang_up  # on a client that does not read
        self.headers = headers  # on every response: request id, CORS
        self.begun = False
        self.events = False  # it is a stream of events
        self.over = False  # all that will be said is on its way

    async def json(self, body: bytes, status: int = 200, more: Headers | None = None) -> None:
        self.over = True
        await self.start(
            status,
            [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode()),
                *(more or ()),
            ],
        )
        await self._send({"type": "http.response.body", "body": body})

    async def failure(self, failure: Failure) -> None:
        self.code = failure.code
        await self.json(error_body(failure), status_of(failure)[0], error_headers(failure))

    async def start(self, status: int, more: Headers) -> None:
        self.begun = True
        self.status = status
        await self._send({"type": "http.response.start", "status": status, "headers": self.headers + more})

    async def write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        self.over = True
        await self._send({"type": "http.response.body", "body": b""})

    async def dismiss(self, why: Failure) -> None:
        """Tells why there is no more; what is written from now on reaches nobody. The client seems to have left."""
        if self.over:
            return
        send, self._send = self._send, unheard
        self.code = why.code
        self.status = self.status or status_of(why)[0]
        last = Reply(send, self.headers)
        try:
            async with asyncio.timeout(LAST_WORDS):
                if not self.begun:
                    await last.failure(why)
                elif self.events:
                    await last.write(last_event(why))
                    await last.end()
                elif self.hang_up is not None:
                    self.hang_up()
        except TimeoutError:
            if self.hang_up is not None:
                self.hang_up()
        finally:
            self.begun = self.over = True


class Listening(Protocol):
    """Somebody who hears of a turn in a form of his own."""

    @property
    def to(self) -> Envelope | None:
        """What he asked for, if he did."""
        ...

    def telling(self, started: Started) -> Telling: ...

    def failed(self, error: bytes) -> bytes: ...


class Asked(Listening, Protocol):
    """Somebody who asked for a turn."""

    def whole(self, finished: Finished) -> bytes: ...


def session_headers(to: Envelope | None, started: Started | None, session_id: SessionId | None) -> Headers:
    headers: Headers = []
    if session_id is not None:
        headers.append((b"x-hermes-session-id", session_id.encode()))
    if to is not None and to.session_key is not None:
        headers.append((b"x-hermes-session-key", to.session_key.encode()))
    if started is not None:
        headers.append((b"x-hermes-run-id", run_id(started.step).encode()))
        if started.replayed:
            headers.append((b"idempotent-replayed", b"true"))
    return headers


async def whole(events: Events, asked: Asked, reply: Reply) -> None:
    """The turn as one JSON body: what its last event carries."""
    started: Started | None = None
    async with aclosing(events):
        async for some in events:
            if isinstance(some[0], Started):
                started = some[0]
                reply.run = started.step
            if isinstance(last := some[-1], Finished):
                await reply.json(asked.whole(last), more=session_headers(asked.to, started, last.session.id))


async def streamed(events: Events, asked: Listening, reply: Reply, *, at_once: bool = False) -> None:
    """The turn as server-sent events, one write each.

    The status line waits for the model's first word, so a failure before it has a status of its own (unless it is to
    go out `at_once`, for a turn that began long ago); after that a failure is an event."""
    stream = Stream(reply, asked, at_once=at_once)
    try:
        async with aclosing(events):
            async for some in events:
                await stream.tell(some)
    except Failure as failure:
        if not reply.begun and not stream.ready:
            raise
        await stream.failed(failure)
    finally:
        stream.close()


class Stream:
    """One SSE response: begins with the first word or after ten seconds, never silent for long."""

    def __init__(self, reply: Reply, asked: Listening, *, at_once: bool) -> None:
        self._reply = reply
        self._asked = asked
        self._at_once = at_once
        self._started: Started | None = None
        self._telling: Telling | None = None
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._timer = self._loop.call_later(FIRST_EVENT, self._tick)
        self._ticking: asyncio.Task[None] | None = None
        self._writing = False

    async def tell(self, some: Sequence[Event]) -> None:
        """Tells events that came together, each with one write."""
        if isinstance(first := some[0], Started):
            self._started = first
            self._reply.run = first.step
            self._telling = self._asked.telling(first)
            if self._at_once:
                await self._begin()
            some = some[1:]
        told = list(self._encoded(some))
        if self._ticking is not None:
            await self.settle()
        if told and not self._reply.begun:
            await self._begin()
        self._writing = True
        for data in told:
            self._last = self._loop.time()
            await self._reply.write(data)
        if some and isinstance(some[-1], Finished):
            await self._reply.end()
        else:
            self._writing = False

    def _encoded(self, some: Sequence[Event]) -> Iterator[bytes]:
        telling = self._telling
        assert telling is not None, "the first event of a turn is Started"
        for event in some:
            if isinstance(event, Finished):
                yield from telling.last(event)
            elif not isinstance(event, Started) and (data := telling.event(event)):
                yield data

    @property
    def ready(self) -> bool:
        """A failure can be told as an event though nothing was sent."""
        return self._at_once and self._telling is not None

    async def failed(self, failure: Failure) -> None:
        self._reply.code = self._reply.code or failure.code
        await self.settle()
        error = error_body(failure)
        told = self._telling.failed(failure, error) if self._telling is not None else [self._asked.failed(error)]
        for data in told:
            await self._reply.write(data)
        await self._reply.end()

    async def _begin(self) -> None:
        started, to = self._started, self._asked.to
        known = started.session.id if started else to.session_id if to else None
        self._reply.events = True
        await self._reply.start(
            200,
            [
                (b"content-type", b"text/event-stream; charset=utf-8"),
                (b"cache-control", b"no-cache"),
                (b"x-accel-buffering", b"no"),
                *session_headers(to, started, known),
            ],
        )

    def _tick(self) -> None:
        """Sends a comment when nothing was sent for a while, and comes again."""
        quiet = self._loop.time() - self._last
        if self._stuck and quiet >= LONGEST_STALL and self._reply.hang_up is not None:
            log.info("a client that did not read for %.0f s was cut off", quiet)
            self._reply.hang_up()  # its turn goes on: others may be waiting for the session
            return
        if self._stuck:
            quiet = 0
        elif quiet >= KEEP_ALIVE or not self._reply.begun:
            self._last = self._loop.time()
            self._ticking = self._loop.create_task(self._comment())
            quiet = 0
        self._timer = self._loop.call_later(max(0.1, KEEP_ALIVE - quiet), self._tick)

    @property
    def _stuck(self) -> bool:
        """Something is being written; the client has not made room for it yet."""
        return self._writing or (self._ticking is not None and not self._ticking.done())

    async def _comment(self) -> None:
        if not self._reply.begun:
            await self._begin()
        await self._reply.write(b": keep-alive\n\n")

    async def settle(self) -> None:
        """Waits for a comment that is on its way."""
        if self._ticking is not None:
            await self._ticking
            self._ticking = None

    def close(self) -> None:
        self._timer.cancel()


class Waiting:
    """A turn that may have to wait in its session's line; over when its first event is here."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self.over = False

    async def events(self) -> Events:
        async with aclosing(self._events) as events:
            async for some in events:
                self.over = True
                yield some


async def departed(receive: Receive) -> None:
    """Returns when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def while_connected(
    answering: Coroutine[Any, Any, None], receive: Receive, *, until: Waiting | None = None
) -> None:
    """Answers for as long as someone listens: a turn that no one hears is stopped, or leaves its line.

    One that has begun while it was waited for (`until`) goes on without listeners."""
    work = asyncio.ensure_future(answering)
    gone = asyncio.ensure_future(departed(receive))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            if until is None or not until.over:
                work.cancel()
            await asyncio.wait({work})
        if not work.cancelled():
            work.result()
    finally:
        gone.cancel()
        work.cancel()  # if it still goes on, the server does not
