"""Any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import asyncio
import math

import msgspec

from everthread.core.messages import array
from everthread.core.ports import ModelCard
from everthread.core.turn import ModelEvents, Prompt
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
)
from everthread.models.chunks import ErrorIn, Reading, said
from everthread.models.http import Answer, Origin, Timeouts

__all__ = ["OpenAI", "Timeouts"]

LONGEST_ERROR = 64 * 1024
LONGEST_LIST = 4 * 1024 * 1024
LISTING_TAKES = 10.0  # seconds at most
SIGNS_OF_LIFE = 10  # times the silence that is borne: for so long a server may send comments and no event


class OpenAI:
    """Asks an upstream by its URL, which ends in `/v1`."""

    def __init__(self, url: str, key: str | None = None, *, timeouts: Timeouts = Timeouts()) -> None:  # noqa: B008
        self._origin = Origin(url, key, timeouts)
        self._key = key

    async def stream(self, prompt: Prompt) -> ModelEvents:
        async with await self._origin.post("/chat/completions", body(prompt)) as answer:
            if answer.status != 200:
                raise self._failure(answer, await answer.text(longest=LONGEST_ERROR))
            reading = Reading(model=prompt.model, secret=self._key)
            clock = asyncio.get_running_loop().time
            since = 0.0  # when it began to send comments only
            try:
                while not reading.done and (data := await answer.read()):
                    if events := reading.feed(data):
                        since = 0.0
                        yield events
                    elif clock() - (since := since or clock()) > SIGNS_OF_LIFE * self._origin.timeouts.silence:
                        raise UpstreamTimeout("The model's server sends signs of life, and no word.")
            except UpstreamDisconnected:
                if not reading.complete:
                    raise
            answer.over = True
            reading.close()

    async def cards(self) -> tuple[ModelCard, ...]:
        try:
            async with asyncio.timeout(LISTING_TAKES), await self._origin.get("/models") as answer:
                text = await answer.text(longest=LONGEST_LIST)
                if answer.status != 200:
                    raise self._failure(answer, text)
        except TimeoutError as error:
            raise UpstreamTimeout from error
        try:
            listed = msgspec.json.decode(text, type=ModelList).data
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UpstreamMalformed("The model's server sent a list of models that cannot be read.") from error
        return tuple(ModelCard(m.id, m.owned_by or "upstream", m.created or 0, m.length()) for m in listed)

    async def close(self) -> None:
        await self._origin.close()

    def _failure(self, answer: Answer, text: bytes) -> Failure:
        words = self._said(text)
        match answer.status:
            case 401 | 403:
                return UpstreamUnauthorized()
            case 404:
                if words:
                    return ModelNotFound(words, param="model")
                return UpstreamFailed(
                    "The model's server has no such endpoint; check EVERTHREAD_UPSTREAM_URL.", final=True
                )
            case 429:
                return UpstreamRateLimited(words, retry_after=seconds(answer.headers.get(b"retry-after")))
            case status if 400 <= status < 500 and status != 408:
                return RejectedUpstream(words)
            case status:
                return UpstreamFailed(
                    f"The model's server answered {status}{f': {words}' if words else '.'}",
                    retry_after=seconds(answer.headers.get(b"retry-after")),
                    final=status < 500 and status != 408,
                )

    def _said(self, text: bytes) -> str | None:
        """The upstream's own words about an error, without our key in them."""
        try:
            error = msgspec.json.decode(text, type=ErrorIn)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        return said(error.error, without=self._key)


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


def seconds(header: bytes | None) -> float | None:
    """Retry-After in seconds; its date form is rare among model servers and is left out."""
    try:
        wait = float(header) if header else math.nan
    except ValueError:
        return None
    return max(0.0, wait) if math.isfinite(wait) else None


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
