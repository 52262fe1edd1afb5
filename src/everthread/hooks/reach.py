"""From a vetted URL to a connected socket: one look-up, every address of it vetted, and only those connected to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

from everthread.core.courier import Reason
from everthread.hooks.address import Address, is_refused
from everthread.hooks.url import Url

Resolve = Callable[[str], Awaitable[Sequence[Address]]]
MOST_LOOKUPS = 4  # at once, on threads of their own: a slow name must not hold up those that others look up
MOST_ADDRESSES = 4  # of a host that are tried


class Undeliverable(Exception):
    """Never leaves this room: it becomes a receipt."""

    def __init__(self, reason: Reason, why: object = "") -> None:
        super().__init__(str(why))
        self.reason: Reason = reason


class SystemResolver:
    """Names as the system knows them."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(MOST_LOOKUPS, thread_name_prefix="hooks-lookup")

    async def __call__(self, host: str) -> Sequence[Address]:
        found = await asyncio.get_running_loop().run_in_executor(self._threads, lookup, host)
        return [ip_address(address) for address in found]

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def lookup(host: str) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


async def addresses(url: Url, resolve: Resolve, *, inward: bool, within: float) -> Sequence[Address]:
    """Where the URL leads. If one address is of a network of ours then none is used, unless `inward` is allowed."""
    if url.literal is not None:
        found: Sequence[Address] = [url.literal]
    else:
        try:
            async with asyncio.timeout(within):
                found = await resolve(url.host)
        except (OSError, UnicodeError) as error:  # a TimeoutError is an OSError
            raise Undeliverable("unresolved", error) from error
    if not found:
        raise Undeliverable("unresolved")
    if not inward and any(is_refused(address) for address in found):
        raise Undeliverable("refused", "an address of the host is not public")
    return found[:MOST_ADDRESSES]


async def connect(found: Sequence[Address], port: int, *, within: float) -> socket.socket:
    """A connection to the first address that takes one; each has its share of the time."""
    last: OSError | None = None
    for address in found:
        try:
            async with asyncio.timeout(within / len(found)):
                return await connect_to(address, port)
        except OSError as error:  # a TimeoutError too
            last = error
    raise Undeliverable("unreachable", last or "no time") from last


async def connect_to(address: Address, port: int) -> socket.socket:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, (str(address), port))
    except BaseException:
        sock.close()
        raise
    return sock
