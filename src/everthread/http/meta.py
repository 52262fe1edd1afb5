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
from everthread.http import docs, openapi
from everthread.http.site import Check, Site

CHECK_TAKES = 5.0  # seconds at most


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
    return as_json(
        {
            "object": "hermes.api_server.capabilities",
            "platform": "everthread",
            "version": __version__,
            "model": "hermes",
            "auth": {"type": "bearer", "required": True},
            "features": {
                "chat_completions": True,
                "chat_completions_streaming": True,
                "client_tools": True,
                "idempotency": True,
                "sessions": True,
                "session_resources": True,
                "session_chat": True,
                "session_chat_streaming": True,
                "session_fork": True,
                "memory": True,
                "session_continuity_header": "X-Hermes-Session-Id",
                "session_key_header": "X-Hermes-Session-Key",
            },
            "limits": site.limits,
            "endpoints": {e.name: {"method": e.method, "path": e.path} for e in site.endpoints},
        }
    )


async def health(request: Request, site: Site) -> Response:
    return as_json({"status": "ok", "version": __version__})


async def ready(request: Request, site: Site) -> Response:
    names = list(site.checks)
    results = await asyncio.gather(*(outcome(site.checks[name]) for name in names))
    checks = dict(zip(names, results, strict=True))
    if not all(check["ok"] for check in results):
        return as_json({"status": "not ready", "checks": checks}, 503)
    slow = any(check.get("slow") for check in results)
    return as_json({"status": "degraded" if slow else "ready", "checks": checks})


async def outcome(check: Check) -> dict[str, object]:
    try:
        async with asyncio.timeout(CHECK_TAKES):
            found = await check()
            if isinstance(found, str):
                return {"ok": True, "detail": found}
            return {"ok": True, "detail": found.detail, "slow": found.slow, **found.figures}
    except Failure as failure:
        return {"ok": False, "code": failure.code, "detail": failure.message}
    except TimeoutError:
        return {"ok": False, "code": "timeout", "detail": f"No answer in {CHECK_TAKES:.0f} s."}


async def metrics(request: Request, site: Site) -> Response:
    """The figures in Prometheus' text format."""
    lines = [f"# TYPE {name} gauge\n{name} {value:g}\n" for name, value in (await site.figures()).items()]
    return Response("".join(lines), media_type="text/plain; version=0.0.4")


async def version(request: Request, site: Site) -> Response:
    return as_json({"name": "everthread", "version": __version__})


async def description(request: Request, site: Site) -> Response:
    return as_json(openapi.describe(site.endpoints))


async def documentation(request: Request, site: Site) -> Response:
    page = docs.page(openapi.describe(site.endpoints))
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return Response(page, media_type="text/html", headers={"content-security-policy": policy})
