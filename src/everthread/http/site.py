"""What the routes share: the parts they call, and the table of them all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from everthread.core.ports import Clock, Model, Store
from everthread.http.auth import Gate
from everthread.turns.run import Turns

Check = Callable[[], Awaitable[str]]  # what is the case, in a few words; or a Failure
Answer = Callable[[Request, "Site"], Awaitable[Response]]


class Endpoint(msgspec.Struct, frozen=True):
    name: str
    method: str
    path: str
    summary: str
    answer: Answer | None = None  # None: the hot path, which app.py calls itself
    open: bool = False  # needs no key


class Site(msgspec.Struct, frozen=True, kw_only=True):
    turns: Turns
    store: Store
    model: Model
    clock: Clock
    gate: Gate
    checks: Mapping[str, Check]
    limits: Mapping[str, int]
    endpoints: tuple[Endpoint, ...] = ()
