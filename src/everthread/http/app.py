"""The route table, and the way in: every request passes here first."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, MutableMapping
from contextlib import nullcontext
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route, Router

from everthread.core.cause import CAUSE, Cause
from everthread.core.key import ApiKey, Right
from everthread.errors import Bug, Failure, Malformed, MethodNotAllowed, Overloaded, RouteNotFound, Stopping
from everthread.http import (
    auth,
    chat,
    completions,
    conversations,
    jobs,
    keys,
    memory,
    meta,
    responses,
    responses_socket,
    runs,
    sessions,
    usage,
)
from everthread.http.quota import Admitted, Quotas
from everthread.http.reply import Reply, Send, request_id
from everthread.http.request import Disconnected, Headers, Receive
from everthread.http.site import Call, Endpoint, Site
from everthread.http.socket import Converse
from everthread.http.sockets import Sockets

log = logging.getLogger("everthread.http")

Scope = MutableMapping[str, Any]

MOST_AT_ONCE = 4096  # requests in progress, streams included; more if more turns may be at work
MOST_FIELDS = 100  # of a query

COMPLETION = f"{chat.PATH}/{{completion_id}}"
RESPONSE = f"{responses.PATH}/{{response_id}}"
RESPONSE_TOKENS = f"{responses.PATH}/input_tokens"
RESPONSE_COMPACT = f"{responses.PATH}/compact"
CONVERSATIONS = "/v1/conversations"
CONVERSATION = "/v1/conversations/{conversation_id}"
ITEMS = f"{CONVERSATION}/items"
ITEM = f"{ITEMS}/{{item_id}}"
RUN = f"{runs.PATH}/{{run_id}}"
JOBS = "/api/jobs"
JOB = "/api/jobs/{job_id}"
REDELIVER = f"{JOB}/runs/{{run_id}}/redeliver"
SESSIONS = "/api/sessions"
SESSION = "/api/sessions/{session_id}"
MEMORY = "/api/memory"
CLAIM = "/api/memory/{claim_id}"
GIVEN = "/api/memory/turns/{turn_id}"
KEYS = "/api/keys"
KEY = "/api/keys/{key_id}"

EITHER: tuple[Right, ...] = ("chat", "read")  # what a client needs to talk, and what changes nothing
ADMIN: tuple[Right, ...] = ("admin",)

ENDPOINTS = (
    Endpoint("chat_completions", "POST", chat.PATH, "One turn of a conversation, whole or streamed.", spends=True),
    Endpoint("completions", "GET", chat.PATH, "Completions that were stored.", work=completions.many),
    Endpoint("completion", "GET", COMPLETION, "A stored completion.", work=completions.retrieve),
    Endpoint("completion_update", "POST", COMPLETION, "Gives it other metadata.", work=completions.update),
    Endpoint("completion_delete", "DELETE", COMPLETION, "Deletes it, for good.", work=completions.delete),
    Endpoint("completion_messages", "GET", f"{COMPLETION}/messages", "Its question.", work=completions.messages),
    Endpoint(
        "responses",
        "POST",
        responses.PATH,
        "One turn, as the Responses API has it.",
        work=responses.create,
        spends=True,
    ),
    Endpoint(
        "response_tokens",
        "POST",
        RESPONSE_TOKENS,
        "How long a prompt would be.",
        work=responses.input_tokens,
        rights=EITHER,
    ),
    Endpoint(
        "response_compact", "POST", RESPONSE_COMPACT, "A conversation in short.", work=responses.compact, spends=True
    ),
    Endpoint(
        "response", "GET", RESPONSE, "A response, whole or its events again.", work=responses.retrieve, rights=EITHER
    ),
    Endpoint("response_delete", "DELETE", RESPONSE, "Deletes it, for good.", work=responses.delete),
    Endpoint("response_cancel", "POST", f"{RESPONSE}/cancel", "Ends a background one.", work=responses.cancel),
    Endpoint("response_input", "GET", f"{RESPONSE}/input_items", "Its input.", work=responses.input_items),
    Endpoint("conversation_create", "POST", CONVERSATIONS, "A conversation.", work=conversations.create),
    Endpoint("conversation", "GET", CONVERSATION, "One conversation.", work=conversations.retrieve),
    Endpoint("conversation_update", "POST", CONVERSATION, "Gives it other metadata.", work=conversations.update),
    Endpoint("conversation_delete", "DELETE", CONVERSATION, "Deletes it, for good.", work=conversations.delete),
    Endpoint("items", "GET", ITEMS, "What was said in it, in pages.", work=conversations.list_items),
    Endpoint("items_create", "POST", ITEMS, "Adds items that nobody answers.", work=conversations.create_items),
    Endpoint("item", "GET", ITEM, "One item.", work=conversations.one_item),
    Endpoint("item_delete", "DELETE", ITEM, "Takes one out, for good.", work=conversations.delete_item),
    Endpoint("run_create", "POST", runs.PATH, "A turn that outlives its connection.", work=runs.create, spends=True),
    Endpoint("run", "GET", RUN, "How a turn stands.", work=runs.one, rights=EITHER),
    Endpoint("run_events", "GET", f"{RUN}/events", "What it says, from any event on.", work=runs.events, rights=EITHER),
    Endpoint("run_stop", "POST", f"{RUN}/stop", "Ends it; nothing of it is kept.", work=runs.stop),
    Endpoint("sessions", "GET", SESSIONS, "Sessions, the newest first.", work=sessions.many),
    Endpoint("session_create", "POST", SESSIONS, "A session in which nothing is said yet.", work=sessions.create),
    Endpoint("session", "GET", SESSION, "One session.", work=sessions.one),
    Endpoint("session_update", "PATCH", SESSION, "Gives it a title, or ends it.", work=sessions.change),
    Endpoint("session_delete", "DELETE", SESSION, "Deletes all of it, for good.", work=sessions.delete),
    Endpoint("session_messages", "GET", f"{SESSION}/messages", "What was said, in pages.", work=sessions.messages),
    Endpoint("session_fork", "POST", f"{SESSION}/fork", "A session of its own from a message on.", work=sessions.fork),
    Endpoint("session_compress", "POST", f"{SESSION}/compress", "Rotates it now.", work=sessions.compress, spends=True),
    Endpoint("session_lineage", "GET", f"{SESSION}/lineage", "The tree of its sessions.", work=sessions.lineage),
    Endpoint("session_export", "GET", f"{SESSION}/export", "All of it as JSON lines.", work=sessions.export),
    Endpoint("session_chat", "POST", f"{SESSION}/chat", "One turn, whole.", work=sessions.chat_whole, spends=True),
    Endpoint(
        "session_chat_stream",
        "POST",
        f"{SESSION}/chat/stream",
        "One turn, streamed.",
        work=sessions.chat_stream,
        spends=True,
    ),
    Endpoint("memory", "GET", MEMORY, "Claims, as they were said.", work=memory.reading(memory.many)),
    Endpoint("memory_add", "POST", MEMORY, "Adds one by hand.", work=memory.writing(memory.add)),
    Endpoint("memory_search", "GET", f"{MEMORY}/search", "What was said of it.", work=memory.reading(memory.search)),
    Endpoint("memory_timeline", "GET", f"{MEMORY}/timeline", "What changed.", work=memory.reading(memory.timeline)),
    Endpoint("memory_export", "GET", f"{MEMORY}/export", "All claims, as JSON lines or Markdown.", work=memory.export),
    Endpoint("memory_status", "GET", f"{MEMORY}/status", "How far it is behind.", work=memory.reading(memory.status)),
    Endpoint("memory_forget", "POST", f"{MEMORY}/forget", "Erases for good.", work=memory.writing(memory.forget)),
    Endpoint("memory_given", "GET", GIVEN, "The memory that a reply was given.", work=memory.reading(memory.given)),
    Endpoint("memory_claim", "GET", CLAIM, "One claim.", work=memory.reading(memory.one)),
    Endpoint("memory_correct", "POST", f"{CLAIM}/correct", "How it really is.", work=memory.writing(memory.correct)),
    Endpoint("memory_pin", "POST", f"{CLAIM}/pin", "Always in the prompt, or not.", work=memory.writing(memory.pin)),
    Endpoint("memory_retract", "POST", f"{CLAIM}/retract", "It never was so.", work=memory.writing(memory.retract)),
    Endpoint("memory_sources", "GET", f"{CLAIM}/sources", "Where it was said.", work=memory.reading(memory.sources)),
    Endpoint("jobs", "GET", JOBS, "Jobs, the oldest first.", work=jobs.many),
    Endpoint("job_create", "POST", JOBS, "A prompt that fires on a schedule.", work=jobs.create, spends=True),
    Endpoint("job_preview", "POST", f"{JOBS}/preview", "A schedule in words.", work=jobs.preview, rights=EITHER),
    Endpoint("job", "GET", JOB, "One job.", work=jobs.one),
    Endpoint("job_update", "PATCH", JOB, "Changes what is sent.", work=jobs.change),
    Endpoint("job_delete", "DELETE", JOB, "Deletes it and its history.", work=jobs.delete),
    Endpoint("job_pause", "POST", f"{JOB}/pause", "It fires no more for now.", work=jobs.pause),
    Endpoint("job_resume", "POST", f"{JOB}/resume", "It fires again.", work=jobs.resume),
    Endpoint("job_run", "POST", f"{JOB}/run", "Runs it now.", work=jobs.run, spends=True),
    Endpoint("job_runs", "GET", f"{JOB}/runs", "What came of it.", work=jobs.runs),
    Endpoint("job_next", "GET", f"{JOB}/next", "When it fires next.", work=jobs.next_fires),
    Endpoint("job_redeliver", "POST", REDELIVER, "Tells the webhook once more.", work=jobs.redeliver),
    Endpoint("keys", "GET", KEYS, "The tenant's API keys.", work=keys.many, rights=ADMIN),
    Endpoint("key_create", "POST", KEYS, "An API key, shown once.", work=keys.create, rights=ADMIN),
    Endpoint("key", "GET", KEY, "One API key, without its secret.", work=keys.one, rights=ADMIN),
    Endpoint("key_revoke", "DELETE", KEY, "It is not valid any more.", work=keys.revoke, rights=ADMIN),
    Endpoint("usage", "GET", "/api/usage", "What turns took.", work=usage.many, rights=EITHER),
    Endpoint("models", "GET", "/v1/models", "The models that can be asked for.", meta.list_models, rights=EITHER),
    Endpoint("model", "GET", "/v1/models/{model:path}", "One model.", meta.get_model, rights=EITHER),
    Endpoint("capabilities", "GET", "/v1/capabilities", "What this server can do.", meta.capabilities, rights=EITHER),
    Endpoint("health", "GET", "/health", "Whether the process is alive.", meta.health, open=True),
    Endpoint("health_ready", "GET", "/health/ready", "Whether it can answer: each part.", meta.ready, open=True),
    Endpoint("metrics", "GET", "/metrics", "Figures for Prometheus.", work=meta.metrics),
    Endpoint("version", "GET", "/version", "Name and version.", meta.version, open=True),
    Endpoint("openapi", "GET", "/openapi.json", "This API as OpenAPI 3.1.", meta.description, open=True),
    Endpoint("docs", "GET", "/docs", "This API as a page to read.", meta.documentation, open=True),
)
RAW = ("/api/", f"{CONVERSATIONS}/")  # where an id may have a slash of its own, encoded
REFUSED = (Endpoint("memory_delete", "DELETE", CLAIM, "Says what to do instead.", work=memory.undeletable),)
SOCKETS: dict[str, Converse] = {responses_socket.PATH: responses_socket.converse}
OPEN_PATHS = frozenset(endpoint.path for endpoint in ENDPOINTS if endpoint.open)
PLAIN_PATHS = frozenset(endpoint.path for endpoint in ENDPOINTS if "{" not in endpoint.path)


class App:
    """The ASGI application."""

    def __init__(self, site: Site, sockets: Mapping[str, Converse] = SOCKETS) -> None:
        self._site = msgspec.structs.replace(site, endpoints=ENDPOINTS)
        self.sockets = sockets  # WebSocket endpoints by path
        self._quotas = Quotas(site.accounts, site.clock, time.monotonic)
        self._talk = Sockets(
            self._site, sockets, self._quotas, most=MOST_AT_ONCE // 4
        )  # idle ones leave room for requests
        self._router = Router(
            routes=[
                Route(path, Desk(self._site, some), methods=list(some))
                for path, some in by_path(
                    endpoint for endpoint in (*ENDPOINTS, *REFUSED) if endpoint.work or endpoint.answer
                ).items()
            ],
            redirect_slashes=False,
            default=not_found,
        )
        self._at_once = 0
        self._most = max(MOST_AT_ONCE, 2 * site.room.most)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "websocket":
                await self._talk(scope, receive, send)
            case other:
                raise NotImplementedError(other)

    async def finish_runs(self, within: float) -> None:
        """Begins no more of them, and waits for those that go on, but not for ever."""
        await self._site.runs.finish(within)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        reply = Reply(send, [request_id()], scope.get("hang_up"))
        cause = Cause(reply.headers[0][1].decode())
        CAUSE.set(cause)
        self._at_once += 1
        try:
            if self._at_once > self._most:
                raise Overloaded(retry_after=1)
            await self._route(scope, receive, send, reply, cause)
        except Failure as failure:
            if not reply.begun:
                await reply.failure(failure)
            elif not reply.over:
                raise
        except asyncio.CancelledError:  # the server stops, and has waited long enough; nobody is above us to tell
            await reply.dismiss(Stopping(retry_after=1))
        except Disconnected:
            log.debug("a client left before its request was complete")
        except Exception:
            reply.code = Bug.code
            log.exception("%s %s failed", scope["method"], reply.route)
            if not reply.begun:
                await reply.failure(Bug())
        finally:
            self._at_once -= 1
            self._site.visits.add(reply, scope["method"], cause, time.perf_counter() - began)

    async def _route(self, scope: Scope, receive: Receive, send: Send, reply: Reply, cause: Cause) -> None:
        site = self._site
        path, method = scope["path"], scope["method"]
        if path in PLAIN_PATHS:
            reply.route = path
        headers = Headers(scope["headers"])
        crossing = auth.enter(headers, reply.headers, site.gate)
        cause.name = reply.headers[0][1].decode()
        if crossing and method == "OPTIONS" and headers.get(b"access-control-request-method"):
            await reply.start(204, auth.preflight(headers))
            await reply.end()
            return
        if path in OPEN_PATHS:
            await self._served(scope, receive, send, Past(None, headers, reply))
            return
        key = reply.key = await self._caller(headers, path, scope["query_string"])
        admitted: Admitted | None = None
        site.guests.enter(key.id, reply)
        try:
            if key.limits is not None:
                admitted = await self._quotas.enter(key, key.limits, reply.headers)
            await self._served(scope, receive, send, Past(key, headers, reply, admitted))
        finally:
            site.guests.leave(key.id, reply)
            if admitted is not None:
                self._quotas.leave(key)

    async def _served(self, scope: Scope, receive: Receive, send: Send, past: Past) -> None:
        site, path = self._site, scope["path"]
        if path == chat.PATH and scope["method"] == "POST":
            key, headers, reply = past.key, past.headers, past.reply
            assert key is not None
            past.check(auth.TALKING, spends=True)
            site.room.enter(key.id)
            try:
                await chat.chat_completions(headers, receive, reply, key=key, turns=site.turns, clock=site.clock)
            finally:
                site.room.leave(key.id)
            return
        if path.startswith(RAW):
            scope["path"] = scope["raw_path"].decode("latin-1")
        scope["app"] = self  # so that the router raises instead of answering by itself
        scope["past"] = past
        try:
            await self._router(scope, receive, send)
        except HTTPException as refused:
            if refused.status_code == 405 and path == chat.PATH:
                raise MethodNotAllowed(allow="GET, POST") from refused
            if refused.status_code == 405:
                raise MethodNotAllowed(allow=(refused.headers or {}).get("Allow", "")) from refused
            raise RouteNotFound from refused

    async def _caller(self, headers: Headers, path: str, query: bytes) -> ApiKey:
        if (secret := runs.ticket(path, query)) is not None and headers.get(b"authorization") is None:
            return await runs.holder(self._site, path, secret)
        return await auth.caller(headers, gate=self._site.gate, store=self._site.store, clock=self._site.clock)


class Desk:
    """Answers the requests for one path."""

    def __init__(self, site: Site, endpoints: Mapping[str, Endpoint]) -> None:
        self._site = site
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        endpoint = self._endpoints["GET" if method == "HEAD" else method]
        past: Past = scope["past"]
        past.reply.route = endpoint.path
        if not endpoint.open:
            past.check(endpoint.needs, spends=endpoint.spends)
        if endpoint.answer is not None:
            response = await endpoint.answer(Request(scope, receive), self._site)
            await response(scope, receive, within(send, past.reply))
        elif endpoint.work is not None:
            assert past.key is not None, "only what the server says of itself is open"
            parameters = {name: unquote(text) for name, text in scope["path_params"].items()}
            call = Call(
                site=self._site,
                key=past.key,
                headers=past.headers,
                receive=receive,
                reply=past.reply,
                path=scope["path"],
                query=queried(scope["query_string"]),
                parameters=parameters,
            )
            with self._site.room.place(past.key.id) if endpoint.spends else nullcontext():
                await endpoint.work(call)


def queried(text: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(text.decode("latin-1"), max_num_fields=MOST_FIELDS))
    except ValueError as error:
        raise Malformed(f"The query has more than {MOST_FIELDS} fields.") from error


class Past(msgspec.Struct, frozen=True):
    """What is known of a request that is past the door."""

    key: ApiKey | None
    headers: Headers
    reply: Reply
    admitted: Admitted | None = None  # of a key that has limits

    def check(self, needed: tuple[Right, ...], *, spends: bool) -> None:
        """Forbidden when the key has none of the rights that are needed."""
        assert self.key is not None, "only what the server says of itself is open"
        auth.check_right(self.key, needed)
        if spends and self.admitted is not None:
            self.admitted.afford()


def by_path(endpoints: Iterable[Endpoint]) -> dict[str, dict[str, Endpoint]]:
    paths: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    return paths


def within(send: Send, reply: Reply) -> Send:
    """Sends Starlette's responses with the headers that every response has."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            reply.begun = True
            reply.status = message["status"]
            message["headers"] = [*reply.headers, *message.get("headers", [])]
        await send(message)

    return sending


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    raise RouteNotFound
