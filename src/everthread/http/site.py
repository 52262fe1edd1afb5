"""What the routes share: the parts they call, and the table of them all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from everthread.core.courier import Courier
from everthread.core.key import ApiKey, Right
from everthread.core.ports import Clock, Ids, Model, Store
from everthread.core.queue import Jobs, Queue
from everthread.core.transcript import Archive
from everthread.core.usage import Accounts, Prices
from everthread.core.view import Views
from everthread.http.auth import Gate
from everthread.http.guests import Guests
from everthread.http.reply import Reply
from everthread.http.request import Headers, Receive
from everthread.http.visits import Visits
from everthread.turns.items import Items
from everthread.turns.jobs import Timetable
from everthread.turns.memories import Memories
from everthread.turns.post import Post
from everthread.turns.room import Room
from everthread.turns.run import Turns
from everthread.turns.runs import Runs

Check = Callable[[], Awaitable["str | Finding"]]  # what is the case, in a few words; or a Failure
Figures = Callable[[], Awaitable[Mapping[str, float]]]  # by their Prometheus names
Answer = Callable[[Request, "Site"], Awaitable[Response]]
Work = Callable[["Call"], Awaitable[None]]


class Endpoint(msgspec.Struct, frozen=True):
    name: str
    method: str
    path: str
    summary: str
    answer: Answer | None = None  # for what the server says of itself
    open: bool = False  # needs no key
    work: Work | None = None  # for what belongs to someone; neither: the hot path, which app.py calls itself
    rights: tuple[Right, ...] = ()  # one of these is needed; none: what its method says
    spends: bool = False  # a model may be asked: not for a key that has used up its tokens

    @property
    def needs(self) -> tuple[Right, ...]:
        """The rights of which a key must have one: to read, or to say and change something, unless it says other."""
        return self.rights or (("read",) if self.method == "GET" else ("chat",))


class Finding(msgspec.Struct, frozen=True):
    """What a check found, with figures; `slow`: it works, but somebody should have a look."""

    detail: str
    figures: Mapping[str, float] = {}
    slow: bool = False


class Site(msgspec.Struct, frozen=True, kw_only=True):
    turns: Turns
    runs: Runs
    items: Items
    views: Views
    queue: Queue
    jobs: Jobs
    timetable: Timetable
    post: Post
    courier: Courier
    memories: Memories
    store: Store
    archive: Archive
    accounts: Accounts
    prices: Prices
    model: Model
    clock: Clock
    ids: Ids
    gate: Gate
    room: Room
    guests: Guests
    visits: Visits
    checks: Mapping[str, Check]
    figures: Figures
    limits: Mapping[str, int]
    endpoints: tuple[Endpoint, ...] = ()


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request, past the door, and the way to answer it."""

    site: Site
    key: ApiKey
    headers: Headers
    receive: Receive
    reply: Reply
    path: str  # as it was sent: still percent-encoded
    query: Mapping[str, str]
    parameters: Mapping[str, str]  # what stood in the path
