"""What the server says of itself: models, capabilities, health, version, documentation."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from everthread import __version__
from everthread.core.ports import ModelCard
from everthread.errors import Failure, ModelNotFound
from everthread.http import auth, docs, items, openapi, responses_socket, runs
from everthread.http.request import Headers
from everthread.http.site import Call, Check, Site
from everthread.wire import conversations, metadata
from everthread.wire.responses import items as input_items

CHECK_TAKES = 5.0  # seconds at most

# What can be done, and the endpoint that does it.
FEATURES = {
    "chat_completions": "chat_completions",
    "chat_completions_streaming": "chat_completions",
    "client_tools": "chat_completions",
    "idempotency": "chat_completions",
    "stored_completions": "completions",
    "responses": "responses",
    "responses_api": "responses",  # so Hermes Agent calls it
    "responses_streaming": "responses",
    "responses_background": "response_cancel",
    "responses_compaction": "response_compact",
    "conversations": "conversation_create",
    "runs": "run_create",
    "run_submission": "run_create",  # so Hermes Agent calls it
    "run_status": "run",
    "run_events": "run_events",
    "run_events_sse": "run_events",  # so Hermes Agent calls it
    "run_stop": "run_stop",
    "sessions": "sessions",
    "session_resources": "session",
    "session_chat": "session_chat",
    "session_chat_streaming": "session_chat_stream",
    "session_fork": "session_fork",
    "memory": "memory",
    "jobs": "jobs",
    "keys": "keys",
    "usage": "usage",
}
ALIASES = {"runs": "run_create", "run_status": "run"}  # Hermes Agent's names of endpoints

LIMITS = {
    "input_items": input_items.MOST_ITEMS,
    "conversation_items": conversations.MOST_AT_ONCE,
    "page_items": items.MOST,
    "metadata_keys": metadata.MOST_LABELS,
    "metadata_key_length": metadata.LONGEST_LABEL,
    "metadata_value_length": metadata.LONGEST_VALUE,
    "events_token_seconds": int(runs.TICKET_KEPT.total_seconds()),
}


def as_json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


async def list_models(request: Request, site: Site) -> Response:
    return as_json({"object": "list", "data": [card(c) for c in await site.model.cards()]})


async def get_model(request: Request, site: Site) -> Response:
    asked = request.path_params["model"]
    for known in await site.model.cards():
        if known.id == asked:
            return as_json(card(known))
    raise ModelNotFound(f"There is no model {asked!r}; GET /v1/models lists them.", param="model")


def card(known: ModelCard) -> dict[str, object]:
    body: dict[str, object] = {
        "id": known.id,
        "object": "model",
        "created": known.created,
        "owned_by": known.owned_by,
    }
    if known.context_length:
        body["context_length"] = known.context_length
    return body


async def capabilities(request: Request, site: Site) -> Response:
    known = {endpoint.name: {"method": endpoint.method, "path": endpoint.path} for endpoint in site.endpoints}
    return as_json(
        {
            "object": "hermes.api_server.capabilities",
            "platform": "everthread",
            "version": __version__,
            "model": "hermes",
            "auth": {"type": "bearer", "required": True},
            "features": {
                **{feature: name in known for feature, name in FEATURES.items()},
                "responses_websocket": any(each["path"] == responses_socket.PATH for each in known.values()),
                "session_continuity_header": "X-Hermes-Session-Id",
                "session_key_header": "X-Hermes-Session-Key",
            },
            "limits": {**site.limits, **LIMITS},
            "endpoints": {**known, **{also: known[name] for also, name in ALIASES.items() if name in known}},
        }
    )


async def health(request: Request, site: Site) -> Response:
    return as_json({"status": "ok", "version": __version__})


async def ready(request: Request, site: Site) -> Response:
    """Anybody is told whether each part works; figures, which tell of others' work, are for the operator."""
    names = list(site.checks)
    figures = await asked_by_operator(request, site)
    results = await asyncio.gather(*(outcome(site.checks[name], figures=figures) for name in names))
    checks = dict(zip(names, results, strict=True))
    if not all(check["ok"] for check in results):
        return as_json({"status": "not ready", "checks": checks}, 503)
    slow = any(check.get("slow") for check in results)
    return as_json({"status": "degraded" if slow else "ready", "checks": checks})


async def asked_by_operator(request: Request, site: Site) -> bool:
    try:
        key = await auth.caller(Headers(request.scope["headers"]), gate=site.gate, store=site.store, clock=site.clock)
    except Failure:
        return False
    return auth.operates(key)


async def outcome(check: Check, *, figures: bool) -> dict[str, object]:
    try:
        async with asyncio.timeout(CHECK_TAKES):
            found = await check()
            if isinstance(found, str):
                return {"ok": True, "detail": found}
            return {"ok": True, "detail": found.detail, "slow": found.slow, **(found.figures if figures else {})}
    except Failure as failure:
        return {"ok": False, "code": failure.code, "detail": failure.message}
    except TimeoutError:
        return {"ok": False, "code": "timeout", "detail": f"No answer in {CHECK_TAKES:.0f} s."}


async def metrics(call: Call) -> None:
    """The figures in Prometheus' text format: of the whole server, so for its operator only."""
    auth.check_operator(call.key)
    lines = [f"# TYPE {name} gauge\n{name} {value:g}\n" for name, value in (await call.site.figures()).items()]
    seen = ""
    for figure in call.site.visits.figures():
        if figure.name != seen:
            lines.append(f"# TYPE {figure.name} counter\n")
            seen = figure.name
        lines.append(f"{figure.name}{{{figure.labels}}}" if figure.labels else figure.name)
        lines.append(f" {figure.value:.10g}\n")
    await call.reply.start(200, [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8")])
    await call.reply.write("".join(lines).encode())
    await call.reply.end()


async def version(request: Request, site: Site) -> Response:
    return as_json({"name": "everthread", "version": __version__})


async def description(request: Request, site: Site) -> Response:
    return as_json(openapi.describe(site.endpoints))


async def documentation(request: Request, site: Site) -> Response:
    page = docs.page(openapi.describe(site.endpoints))
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return Response(page, media_type="text/html", headers={"content-security-policy": policy})
