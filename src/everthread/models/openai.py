"""Any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import aiohttp
import msgspec

from everthread.core.messages import array
from everthread.core.ports import ModelCard
from everthread.core.turn import ModelEvent, Prompt
from everthread.errors import (
    Failure,
    ModelNotFound,
    RejectedUpstream,
    UpstreamDisconnected,
    UpstreamFailed,
    UpstreamMalformed,
    UpstreamRateLimited,
    UpstreamTimeout,
    UpstreamUnauthorized,
    UpstreamUnreachable,
)
from everthread.models.chunks import ErrorBody, ErrorIn, Reading

LONGEST_ERROR = 64 * 1024


class Timeouts(msgspec.Struct, frozen=True):
    """Seconds."""

    connect: float = 5
    first_byte: float = 60
    silence: float = 60


class OpenAI:
    """Asks an upstream by its URL, which ends in `/v1`."""

    def __init__(self, url: str, key: str | None = None, *, timeouts: Timeouts = Timeouts()) -> None:  # noqa: B008
        self._url = url.rstrip("/")
        self._key = key
        self._timeouts = timeouts
        self._http: aiohttp.ClientSession | None = None

    async def stream(self, prompt: Prompt) -> AsyncGenerator[ModelEvent, None]:
        async with await self._post(prompt) as response:
            if response.status != 200:
                raise self._failure(response, await self._error_text(response))
            reading = Reading()
            try:
                while not reading.done:
                    async with asyncio.timeout(self._timeouts.silence):
                        data = await response.content.readany()
                    if not data:
                        break
                    for event in reading.feed(data):
                        yield event
            except TimeoutError as error:
                raise UpstreamTimeout("The model's server fell silent in the middle of its answer.") from error
            except aiohttp.ClientError as error:
                if not reading.complete:
                    raise UpstreamDisconnected from error
            reading.close()

    async def _post(self, prompt: Prompt) -> aiohttp.ClientResponse:
        try:
            async with asyncio.timeout(self._timeouts.first_byte):
                return await self._session().post(f"{self._url}/chat/completions", data=body(prompt))
        except (aiohttp.ConnectionTimeoutError, aiohttp.ClientConnectorError) as error:
            raise UpstreamUnreachable from error
        except TimeoutError as error:
            raise UpstreamTimeout from error
        except aiohttp.ServerDisconnectedError as error:
            raise UpstreamUnreachable("The model's server closed the connection without an answer.") from error
        except aiohttp.ClientError as error:
            raise UpstreamUnreachable from error

    async def cards(self) -> tuple[ModelCard, ...]:
        try:
            async with asyncio.timeout(10), self._session().get(f"{self._url}/models") as response:
                text = await self._error_text(response)
                if response.status != 200:
                    raise self._failure(response, text)
                return tuple(
                    ModelCard(m.id, m.owned_by or "upstream", m.created or 0, m.length())
                    for m in msgspec.json.decode(text, type=ModelList).data
                )
        except TimeoutError as error:
            raise UpstreamTimeout from error
        except aiohttp.ClientError as error:
            raise UpstreamUnreachable from error
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UpstreamMalformed("The model's server sent a list of models that cannot be read.") from error

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = None

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            self._http = aiohttp.ClientSession(
                headers=headers,
                connector=aiohttp.TCPConnector(limit=4096, keepalive_timeout=30),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._timeouts.connect),
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=256 * 1024,
            )
        return self._http

    async def _error_text(self, response: aiohttp.ClientResponse) -> bytes:
        """The start of a short body; a list of models or an error."""
        pieces, size = [], 0
        try:
            async for piece in response.content.iter_any():
                pieces.append(piece)
                size += len(piece)
                if size > 64 * LONGEST_ERROR:
                    break
        except aiohttp.ClientError as error:
            raise UpstreamDisconnected from error
        return b"".join(pieces)

    def _failure(self, response: aiohttp.ClientResponse, text: bytes) -> Failure:
        said = self._said(text)
        match response.status:
            case 401 | 403:
                return UpstreamUnauthorized()
            case 404:
                return ModelNotFound(said, param="model") if said else UpstreamFailed(f"{self._url} answered 404.")
            case 429:
                return UpstreamRateLimited(said, retry_after=seconds(response.headers.get("Retry-After")))
            case status if 400 <= status < 500 and status != 408:
                return RejectedUpstream(said)
            case status:
                return UpstreamFailed(
                    f"The model's server answered {status}{f': {said}' if said else '.'}",
                    retry_after=seconds(response.headers.get("Retry-After")),
                )

    def _said(self, text: bytes) -> str | None:
        """The upstream's own words about an error, without our key in them."""
        try:
            error = msgspec.json.decode(text, type=ErrorIn)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        message = error.error.message if isinstance(error.error, ErrorBody) else error.error
        if message and self._key:
            message = message.replace(self._key, "[key]")
        return message[:500] if message else None


def body(prompt: Prompt) -> bytes:
    """The request as JSON: the messages and options as they came, streaming always, usage always."""
    fields = [b'"model":' + msgspec.json.encode(prompt.model), b'"messages":' + array(prompt.messages)]
    stream_options = b'{"include_usage":true}'
    for name, raw in prompt.options:
        if name == "stream_options":
            given = msgspec.json.decode(raw) or {}
            stream_options = msgspec.json.encode({**given, "include_usage": True})
        else:
            fields.append(msgspec.json.encode(name) + b":" + raw)
    fields.append(b'"stream":true,"stream_options":' + stream_options)
    return b"{" + b",".join(fields) + b"}"


def seconds(header: str | None) -> float | None:
    """Retry-After in seconds; its date form is rare among model servers and is left out."""
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None


class ModelIn(msgspec.Struct):
    id: str
    owned_by: str | None = None
    created: int | None = None
    context_length: int | None = None
    max_model_len: int | None = None
    meta: dict[str, object] | None = None

    def length(self) -> int | None:
        """The context length, by whichever name this server gives it."""
        n_ctx = (self.meta or {}).get("n_ctx")
        return self.context_length or self.max_model_len or (n_ctx if isinstance(n_ctx, int) else None)


class ModelList(msgspec.Struct):
    data: list[ModelIn]
