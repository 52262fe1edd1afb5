"""The route table, and the way in: every request passes here first."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route, Router

from everthread.core.ids import printable
from everthread.core.key import ApiKey
from everthread.errors import Bug, Failure, Malformed, MethodNotAllowed, Overloaded, RouteNotFound
from everthread.http import auth, chat, memory, meta, sessions
from everthread.http.reply import Reply, Send
from everthread.http.request import Disconnected, Headers, Receive
from everthread.http.site import Call, Endpoint, Site

log = logging.getLogger("everthread.http")

Scope = MutableMapping[str, Any]

MOST_AT_ONCE = 4096  # requests in progress, streams included
MOST_FIELDS = 100  # of a query

SESSIONS = "/api/sessions"
SESSION = "/api/sessions/{session_id}"
MEMORY = "/api/memory"
CLAIM = "/api/memory/{claim_id}"
GIVEN = "/api/memory/turns/{turn_id}"

ENDPOINTS = (
    Endpoint("chat_completions", "POST", chat.PATH, "One turn of a conversation, whole or streamed."),
    Endpoint("sessions", "GET", SESSIONS, "Sessions, the newest first.", work=sessions.many),
    Endpoint("session_create", "POST", SESSIONS, "A session in which nothing is said yet.", work=sessions.create),
    Endpoint("session", "GET", SESSION, "One session.", work=sessions.one),
    Endpoint("session_update", "PATCH", SESSION, "Gives it a title, or ends it.", work=sessions.change),
    Endpoint("session_delete", "DELETE", SESSION, "Deletes all of it, for good.", work=sessions.delete),
    Endpoint("session_messages", "GET", f"{SESSION}/messages", "What was said, in pages.", work=sessions.messages),
    Endpoint("session_fork", "POST", f"{SESSION}/fork", "A session of its own from a message on.", work=sessions.fork),
    Endpoint("session_compress", "POST", f"{SESSION}/compress", "Rotates it now.", work=sessions.compress),
    Endpoint("session_lineage", "GET", f"{SESSION}/lineage", "The tree of its sessions.", work=sessions.lineage),
    Endpoint("session_export", "GET", f"{SESSION}/export", "All of it as JSON lines.", work=sessions.export),
    Endpoint("session_chat", "POST", f"{SESSION}/chat", "One turn, whole.", work=sessions.chat_whole),
    Endpoint("session_chat_stream", "POST", f"{SESSION}/chat/stream", "One turn, streamed.", work=sessions.chat_stream),
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
    Endpoint("models", "GET", "/v1/models", "The models that can be asked for.", meta.list_models),
    Endpoint("model", "GET", "/v1/models/{model:path}", "One model.", meta.get_model),
    Endpoint("capabilities", "GET", "/v1/capabilities", "What this server can do.", meta.capabilities),
    Endpoint("health", "GET", "/health", "Whether the process is alive.", meta.health, open=True),
    Endpoint("health_ready", "GET", "/health/ready", "Whether it can answer: each part.", meta.ready, open=True),
    Endpoint("metrics", "GET", "/metrics", "Figures for Prometheus.", meta.metrics),
    Endpoint("version", "GET", "/version", "Name and version.", meta.version, open=True),
    Endpoint("openapi", "GET", "/openapi.json", "This API as OpenAPI 3.1.", meta.description, open=True),
    Endpoint("docs", "GET", "/docs", "This API as a page to read.", meta.documentation, open=True),
)
REFUSED = (Endpoint("memory_delete", "DELETE", CLAIM, "Says what to do instead.", work=memory.undeletable),)
OPEN_PATHS = frozenset(endpoint.path for endpoint in ENDPOINTS if endpoint.open)


class App:
    """The ASGI application."""

    def __init__(self, site: Site) -> None:
        self._site = msgspec.structs.replace(site, endpoints=ENDPOINTS)
        self._router = Router(
            routes=[
                Route(path, Desk(self._site, some), methods=list(some))
                for path, some in by_path(
                    endpoint for endpoint in (*ENDPOINTS, *REFUSED) if endpoint.path != chat.PATH
                ).items()
            ],
            redirect_slashes=False,
            default=not_found,
        )
        self._at_once = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "websocket":
                await send({"type": "websocket.close", "code": 1008})
            case other:
                raise NotImplementedError(other)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply = Reply(send, [(b"x-request-id", b"req_%024x" % random.getrandbits(96))])
        self._at_once += 1
        try:
            if self._at_once > MOST_AT_ONCE:
                raise Overloaded(retry_after=1)
            await self._route(scope, receive, send, reply)
        except Failure as failure:
            if reply.begun:
                raise
            await reply.failure(failure)
        except Disconnected:
            log.debug("a client left before its request was complete")
        except Exception:
            log.exception("%s %s failed [%s]", scope["method"], scope["path"], reply.headers[0][1].decode())
            if not reply.begun:
                await reply.failure(Bug())
        finally:
            self._at_once -= 1

    async def _route(self, scope: Scope, receive: Receive, send: Send, reply: Reply) -> None:
        site = self._site
        headers = Headers(scope["headers"])
        crossing = auth.cross_origin(headers, site.gate)
        reply.headers.extend(crossing)
        if (sent := headers.get(b"x-request-id")) is not None:
            reply.headers[0] = (b"x-request-id", printable(sent, what="X-Request-Id").encode())
        auth.check_host(headers, site.gate)
        path, method = scope["path"], scope["method"]
        if crossing and method == "OPTIONS" and headers.get(b"access-control-request-method"):
            await reply.start(204, auth.preflight(headers))
            await reply.end()
            return
        key = None if path in OPEN_PATHS else await self._caller(headers)
        if path == chat.PATH and method == "POST":
            assert key is not None
            await chat.chat_completions(headers, receive, reply, key=key, turns=site.turns, clock=site.clock)
            return
        if path == chat.PATH:
            raise MethodNotAllowed(allow="POST")
        if path.startswith("/api/"):
            scope["path"] = scope["raw_path"].decode("latin-1")  # an id may have a slash of its own, encoded
        scope["app"] = self  # so that the router raises instead of answering by itself
        scope["past"] = Past(key, headers, reply)
        try:
            await self._router(scope, receive, send)
        except HTTPException as refused:
            if refused.status_code == 405:
                raise MethodNotAllowed(allow=(refused.headers or {}).get("Allow", "")) from refused
            raise RouteNotFound from refused

    async def _caller(self, headers: Headers) -> ApiKey:
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
        if endpoint.answer is not None:
            response = await endpoint.answer(Request(scope, receive), self._site)
            await response(scope, receive, within(send, past.reply))
        elif endpoint.work is not None:
            assert past.key is not None, "only what the server says of itself is open"
            parameters = {name: unquote(text) for name, text in scope["path_params"].items()}
            await endpoint.work(
                Call(
                    site=self._site,
                    key=past.key,
                    headers=past.headers,
                    receive=receive,
                    reply=past.reply,
                    path=scope["path"],
                    query=queried(scope["query_string"]),
                    parameters=parameters,
                )
            )


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
            message["headers"] = [*reply.headers, *message.get("headers", [])]
        await send(message)

    return sending


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    raise RouteNotFound
