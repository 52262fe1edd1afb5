"""Parcels by HTTP: one POST each, signed, to a vetted address, on a connection of its own."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

import msgspec

from everthread import __version__
from everthread.core import signature
from everthread.core.courier import Delivered, Parcel, Receipt, Undelivered, origin
from everthread.errors import Malformed
from everthread.hooks.answer import Answer, receipt
from everthread.hooks.exchange import Exchange
from everthread.hooks.lanes import Lanes
from everthread.hooks.reach import Resolve, SystemResolver, Undeliverable, addresses, connect
from everthread.hooks.url import Url, vetted

log = logging.getLogger("everthread.hooks")

MOST = 16  # deliveries at once
MOST_PER_HOST = 4


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds."""

    connect: float = 5  # for the look-up, and again for the connection
    whole: float = 15  # from the look-up to the head of the answer
    rest: float = 1  # for the rest of the answer, so that its sender need not see a broken connection


class HttpCourier:
    """`allowed` names the hosts that may be in a network of ours: `hooks.internal`, `127.0.0.1:9000`, `[::1]`."""

    def __init__(
        self,
        allowed: Iterable[str] = (),
        *,
        patience: Patience | None = None,
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allowed = frozenset(name.lower() for name in allowed)
        self._patience = patience or Patience()
        self._system = SystemResolver()
        self._resolve = resolve or self._system
        self._tls = tls
        self._lanes = Lanes(MOST, MOST_PER_HOST)
        self._under_way: set[asyncio.Task[Receipt]] = set()
        self._closed = False

    def vet(self, url: str) -> None:
        vetted(url, self._allowed)

    async def deliver(self, parcel: Parcel, *, now: datetime) -> Receipt:
        if self._closed:
            return Undelivered("stopped")
        loop = asyncio.get_running_loop()
        began = loop.time()
        carrying = loop.create_task(self._carry(parcel, lambda: now + timedelta(seconds=loop.time() - began)))
        self._under_way.add(carrying)
        try:
            await asyncio.wait({carrying})
        finally:
            carrying.cancel()
            self._under_way.discard(carrying)
        if carrying.cancelled():
            return Undelivered("stopped")
        return carrying.result()

    async def close(self) -> None:
        self._closed = True
        under_way = set(self._under_way)
        for carrying in under_way:
            carrying.cancel()
        if under_way:
            await asyncio.wait(under_way)
        self._system.close()

    async def _carry(self, parcel: Parcel, clock: Callable[[], datetime]) -> Receipt:
        """`clock` goes on while a parcel waits for its turn: receivers refuse one that was signed long ago."""
        try:
            url = vetted(parcel.url, self._allowed)
            async with self._lanes.to(url.host):
                answer = await self._ask(url, parcel, clock)
        except Malformed as error:
            return told(parcel, Undelivered("refused"), error)
        except Undeliverable as error:
            return told(parcel, Undelivered(error.reason), error)
        return told(parcel, receipt(answer, clock()))

    async def _ask(self, url: Url, parcel: Parcel, clock: Callable[[], datetime]) -> Answer:
        patience = self._patience
        transport: asyncio.Transport | None = None
        try:
            async with asyncio.timeout(patience.whole):
                inward = url.is_named_in(self._allowed)
                found = await addresses(url, self._resolve, inward=inward, within=patience.connect)
                exchange = Exchange(request(url, parcel, clock()))
                sock = await connect(found, url.port, within=patience.connect)
                transport, _ = await asyncio.get_running_loop().create_connection(
                    lambda: exchange,
                    sock=sock,
                    ssl=self._trust() if url.secure else None,
                    server_hostname=url.host if url.secure else None,
                )
                answer = await exchange.answered
            if not isinstance(answer, Answer):
                raise Undeliverable(answer)
            await asyncio.wait({exchange.over}, timeout=patience.rest)
        except TimeoutError as error:
            raise Undeliverable("timeout") from error
        except ssl.SSLError as error:
            raise Undeliverable("untrusted", error) from error
        except OSError as error:
            raise Undeliverable("disconnected", error) from error
        else:
            return answer
        finally:
            if transport is not None:
                transport.abort()

    def _trust(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


def request(url: Url, parcel: Parcel, now: datetime) -> bytes:
    signed = signature.headers((parcel.secret, *parcel.older), parcel.id, int(now.timestamp()), parcel.body)
    head = {
        "Host": url.authority,
        "User-Agent": f"everthread/{__version__}",
        "Content-Type": "application/json",
        "Content-Length": str(len(parcel.body)),
        "Accept-Encoding": "identity",
        "Connection": "close",
        **signed,
    }
    lines = [f"POST {url.path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + parcel.body


def told(parcel: Parcel, receipt: Receipt, why: object = "") -> Receipt:
    match receipt:
        case Delivered(status):
            log.info("%s (%s) reached %s: %d", parcel.id, parcel.kind, origin(parcel.url), status)
        case Undelivered(reason, status):
            log.info("%s (%s) to %s: %s %s %s", parcel.id, parcel.kind, origin(parcel.url), reason, status or "", why)
    return receipt
