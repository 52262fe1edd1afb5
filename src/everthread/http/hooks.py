"""Webhooks that a client names: vetted, and given a secret if they came without."""

from __future__ import annotations

import secrets

from everthread.core.courier import Courier
from everthread.core.signature import new_secret
from everthread.core.signature import secret as checked
from everthread.core.view import Hook


def vetted(hook: Hook | None, courier: Courier) -> Hook | None:
    """The same, if it may be called; Malformed when it may not."""
    if hook is None:
        return None
    courier.vet(hook.url)
    return Hook(hook.url, checked(hook.secret) if hook.secret else new_secret(secrets.token_bytes(32)))
