"""A webhook's URL, read strictly: what two readers could understand differently is refused."""

from __future__ import annotations

import re
import socket
from collections.abc import Set
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import SplitResult, urlsplit

import msgspec

from everthread.errors import Malformed, UrlRefused
from everthread.hooks.address import Address, is_refused

PARAM = "deliver.url"
NO_PLACE = "has a host or a port that is none"
LONGEST = 2048
LONGEST_HOST = 253
USUAL_PORTS = {"http": 80, "https": 443}
LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
BRACKETED = re.compile(r"\[[^\[\]]+\](:[0-9]*)?", re.ASCII)
AMBIGUOUS = frozenset("ßẞς")  # the older standard of names and the newer one make different hosts of these
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)


class Url(msgspec.Struct, frozen=True, kw_only=True):
    secure: bool
    host: str  # a name in lower case, or an address in its usual spelling, without brackets
    port: int
    path: str  # with the query
    literal: Address | None  # the host is this address

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == USUAL_PORTS["https" if self.secure else "http"] else f"{host}:{self.port}"

    @property
    def is_inward(self) -> bool:
        """It is plain, without looking anything up, that this is no place on the Internet for webhooks."""
        if self.literal is not None and is_refused(self.literal):
            return True
        local = self.host == "localhost" or self.host.endswith(".localhost")
        return local or (self.port < 1024 and self.port not in USUAL_PORTS.values())

    def is_named_in(self, allowed: Set[str]) -> bool:
        """Whether one of these is the host, or the host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return not allowed.isdisjoint({self.host, host, f"{host}:{self.port}"})


def decode(text: str) -> Url:
    """The URL, or Malformed; its message does not repeat the text."""
    if len(text) > LONGEST:
        raise malformed(f"is {len(text)} characters long; the limit is {LONGEST}")
    if not text.isprintable() or any(character in ' \\"<>^`{|}' for character in text):
        raise malformed("has a character that must be percent-encoded")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise malformed(NO_PLACE) from error
    if parts.scheme not in USUAL_PORTS:
        raise malformed("must begin with http:// or https://")
    check_rest(text, parts)
    if port == 0:
        raise malformed(NO_PLACE)
    literal, host = read_host(parts)
    return Url(
        secure=parts.scheme == "https",
        host=host,
        port=port or USUAL_PORTS[parts.scheme],
        path=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        literal=literal,
    )


def check_rest(text: str, parts: SplitResult) -> None:
    if not parts.hostname:
        raise malformed("names no host")
    if "@" in parts.netloc:
        raise malformed("must not carry a user name or password")
    if "#" in text:
        raise malformed("must not have a fragment: it would not be sent")
    if not (parts.path + parts.query).isascii():
        raise malformed("has a character that must be percent-encoded")


def read_host(parts: SplitResult) -> tuple[Address | None, str]:
    name = parts.hostname or ""
    if "[" in parts.netloc:
        if not BRACKETED.fullmatch(parts.netloc):
            raise malformed(NO_PLACE)
        try:
            address = IPv6Address(name)
        except AddressValueError as error:
            raise malformed(NO_PLACE) from error
        if address.scope_id is not None:
            raise malformed("must not name a network interface")
        return address, address.compressed
    host = ascii_name(name)
    if NUMBER.fullmatch(host.rpartition(".")[2]):  # then it is an address, or nothing: no name ends in a number
        number = spelled_as_number(host)
        return number, str(number)
    if not all(LABEL.fullmatch(label) for label in host.split(".")):
        raise malformed(NO_PLACE)
    return None, host


def ascii_name(name: str) -> str:
    """As it is looked up: in ASCII and lower case, without the last full stop."""
    if len(name) > LONGEST_HOST or not AMBIGUOUS.isdisjoint(name):
        raise malformed(NO_PLACE)
    try:
        host = name.encode("idna").decode("ascii").lower().removesuffix(".")
    except UnicodeError as error:
        raise malformed(NO_PLACE) from error
    if len(host) > LONGEST_HOST:
        raise malformed(NO_PLACE)
    return host


def spelled_as_number(host: str) -> IPv4Address:
    """What the system makes of 127.1, 0x7f000001, 0177.0.0.1, 2130706433."""
    try:
        return IPv4Address(socket.inet_aton(host))
    except OSError as error:
        raise malformed(NO_PLACE) from error


def malformed(what: str) -> Malformed:
    return Malformed(f"The webhook's URL {what}.", param=PARAM)


def vetted(text: str, allowed: Set[str]) -> Url:
    """The URL, or Malformed when it is none, or is one that may not be called."""
    url = decode(text)
    if url.is_inward and not url.is_named_in(allowed):
        raise UrlRefused(param=PARAM)
    return url
