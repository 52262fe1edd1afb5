"""Results brought to whoever asked for them: what is sent, what became of it, and who brings it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Literal, Protocol
from urllib.parse import urlsplit

import msgspec

from everthread.core.signature import Secret

PARCEL_ID = re.compile(r"msg_[A-Za-z0-9_-]{1,128}", re.ASCII)  # goes into a header, and into what is signed
KIND = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*", re.ASCII)


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    """One message to a webhook. Its id stays the same however often it is sent; the time of sending does not."""

    id: str
    url: str
    secret: Secret
    body: bytes  # JSON
    kind: str  # as the body's `type` says, such as job.run.completed
    older: tuple[Secret, ...] = ()  # signed with as well, while the receiver changes over to `secret`

    def __post_init__(self) -> None:
        if not PARCEL_ID.fullmatch(self.id):
            raise ValueError("a parcel's id is msg_ and 1 to 128 letters, digits, '-' or '_'")
        if not KIND.fullmatch(self.kind):
            raise ValueError("a parcel's kind is words with full stops between them")

    def __repr__(self) -> str:
        """Safe in a log: no secret, no body, and of the URL only its scheme and host."""
        return f"Parcel({self.id!r}, {self.kind!r}, to={origin(self.url)!r})"


def origin(url: str) -> str:
    """A URL without what may be confidential in it: its path often is a password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "?"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


Reason = Literal[
    "refused",  # the URL, or an address its host leads to, is not one that may be called
    "unresolved",  # its host has no address
    "unreachable",  # none of its addresses could be connected to
    "untrusted",  # no TLS, or its certificate does not prove the host
    "timeout",  # connected, but no answer in time: perhaps it arrived
    "disconnected",  # closed without an answer: perhaps it arrived
    "malformed",  # the answer is not HTTP
    "redirected",  # 3xx: not followed
    "gone",  # 410: nothing more is wanted there
    "rejected",  # any other 4xx
    "busy",  # 408, 409, 425, 429: not now
    "failed",  # 5xx
    "stopped",  # this server is shutting down
]
Then = Literal["again", "give_up", "disable"]

FINAL: dict[Reason, Then] = {
    "refused": "give_up",
    "redirected": "give_up",
    "rejected": "give_up",
    "gone": "disable",
}


class Delivered(msgspec.Struct, frozen=True, tag="delivered"):
    status: int  # 2xx


class Undelivered(msgspec.Struct, frozen=True, tag="undelivered"):
    reason: Reason
    status: int | None = None  # None: there was no answer
    after: timedelta | None = None  # the receiver asks for a pause as long as this

    @property
    def then(self) -> Then:
        """Try again later, never again, or (`disable`) send nothing more to this URL."""
        return FINAL.get(self.reason, "again")


Receipt = Delivered | Undelivered


class Courier(Protocol):
    """Brings parcels, once each time it is asked to. When to try again is for others to say: core/backoff.py."""

    def vet(self, url: str) -> None:
        """Malformed, with param `deliver.url`, when parcels cannot be sent there. Looks nothing up."""
        ...

    async def deliver(self, parcel: Parcel, *, now: datetime) -> Receipt:
        """Sends it, and tells what became of it: whatever goes wrong on the way is a receipt and not raised."""
        ...

    async def close(self) -> None:
        """Ends what is under way; its receipts say `stopped`."""
        ...
