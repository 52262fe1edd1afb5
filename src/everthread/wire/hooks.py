"""Where something is delivered, as JSON: "none", or a webhook with its URL and secret."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from everthread.core.view import Hook
from everthread.errors import Malformed
from everthread.wire import json

HIDDEN = "whsec_…"


class HookIn(msgspec.Struct):
    type: Literal["none", "webhook"] = "webhook"
    url: str | None = None
    secret: str | None = None


HOOK = msgspec.json.Decoder(Literal["none", "webhook"] | HookIn | None)


def decode(raw: msgspec.Raw | bytes, param: str) -> Hook | None:
    """None: nowhere. The secret is "" when it is left to the server."""
    given = json.value(raw, HOOK, param)
    if given is None or given == "none" or (isinstance(given, HookIn) and given.type == "none"):
        return None
    if isinstance(given, str) or not given.url:
        raise Malformed(
            f'{param}.url is required: {{"type": "webhook", "url": "https://...", "secret": "whsec_..."}}.',
            param=f"{param}.url",
        )
    return Hook(given.url, given.secret or "")


def encode(hook: Hook | None, *, secret: bool) -> dict[str, Any]:
    if hook is None:
        return {"type": "none"}
    return {"type": "webhook", "url": hook.url, "secret": hook.secret if secret else HIDDEN}
