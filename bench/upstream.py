"""An OpenAI-compatible upstream that answers at once: every byte it sends was made before the clock started.

The model's name says how it answers: `bench-4` with four content chunks, `bench-1000` with a thousand,
`bench-idle` with one and then silence until it is released, `bench-echo` with the number of messages it got,
`bench-chat` with one of many answers of different lengths, `bench-session-NAME` with one of them and the tokens that
it was sent, about. Prompts of a `user`, or of a NAME, are recorded and can be fetched.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import zlib
from functools import cache, lru_cache
from typing import cast

import httptools
import msgspec
import uvloop

from bench import words
from bench.recorder import NOTHING, Recorder

WORD = " word"
MAX_CHUNKS = 100_000
MODELS = ("bench-4", "bench-1000", "bench-idle", "bench-echo", "bench-chat")
SESSION = "bench-session-"
LAST_WORDS = 32  # characters
BYTES_PER_TOKEN = 4  # of English in JSON, about: what a client learns of its prompt
IDLE_SECONDS = 120.0  # an idle stream nobody released ends by itself
CREATED = 1_700_000_000
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


class StreamOptions(msgspec.Struct):
    include_usage: bool = False


class Ask(msgspec.Struct):
    """The part of a request that decides the answer."""

    model: str
    messages: list[msgspec.Raw]
    stream: bool = False
    stream_options: StreamOptions | None = None
    user: str | None = None
    tools: msgspec.Raw = NOTHING

    @property
    def session(self) -> str:
        return self.model.removeprefix(SESSION) if self.model.startswith(SESSION) else ""

    @property
    def usage(self) -> bool:
        return self.stream_options is not None and self.stream_options.include_usage


class Unknown(Exception):
    """No such model or path."""


# --- what is said, as bytes -----------------------------------------------------------------------


def respond(value: object, status: bytes = b"200 OK") -> bytes:
    body = msgspec.json.encode(value)
    return b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        status,
        len(body),
        body,
    )


def framed(payload: bytes) -> bytes:
    """One SSE event in one HTTP chunk, as a model server that flushes after each token sends it."""
    event = b"data: " + payload + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(event), event)


def used(words: int, prompt: int = 10) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": words, "total_tokens": words + prompt}


class Script:
    """One streamed answer, cut in two at the point where `bench-idle` falls silent."""

    def __init__(self, model: str, pieces: list[str], *, usage: bool) -> None:
        self.model = model
        self.usage = usage
        self.words = len(pieces)
        self.opening = STREAM_HEAD + self.chunk({"role": "assistant", "content": ""})
        self.opening += b"".join(self.chunk({"content": piece}) for piece in pieces)
        self.stopped = self.chunk({}, finish="stop")
        self.ending = self.ending_after()
        self.whole = self.opening + self.ending

    def ending_after(self, prompt: int = 10) -> bytes:
        """Of an answer to so many tokens."""
        end = framed(b"[DONE]") + LAST_CHUNK
        if self.usage:
            said = self.envelope() | {"choices": [], "usage": used(self.words, prompt)}
            end = framed(msgspec.json.encode(said)) + end
        return self.stopped + end

    def envelope(self) -> dict[str, object]:
        return {
            "id": "chatcmpl-bench",
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self.model,
            "system_fingerprint": "fp_bench",
        }

    def chunk(self, delta: dict[str, str], *, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        extra: dict[str, object] = {"usage": None} if self.usage else {}
        return framed(msgspec.json.encode(self.envelope() | {"choices": [choice]} | extra))


def pieces_of(model: str) -> list[str]:
    count = 1 if model == "bench-idle" else int(model.removeprefix("bench-"))
    if not 0 < count <= MAX_CHUNKS:
        raise ValueError(model)
    return [WORD] * count


def completion(model: str, text: str, words: int, prompt: int = 10) -> bytes:
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return respond(
        {"id": "chatcmpl-bench", "object": "chat.completion", "created": CREATED, "model": model}
        | {"choices": [choice], "usage": used(words, prompt), "system_fingerprint": "fp_bench"}
    )


@lru_cache(maxsize=64)
def script(model: str, usage: bool) -> Script:
    return Script(model, pieces_of(model), usage=usage)


@lru_cache(maxsize=64)
def whole(model: str) -> bytes:
    pieces = pieces_of(model)
    return completion(model, "".join(pieces), len(pieces))


def echo(ask: Ask) -> bytes:
    text = str(len(ask.messages))
    if ask.stream:
        return Script(ask.model, [text], usage=ask.usage).whole
    return completion(ask.model, text, 1)


@cache
def chat_scripts(usage: bool) -> list[Script]:
    return [Script("bench-chat", pieces, usage=usage) for pieces in words.answers()]


@cache
def chat_wholes() -> list[bytes]:
    return [completion("bench-chat", "".join(pieces), len(pieces)) for pieces in words.answers()]


def chat(ask: Ask) -> bytes:
    """The answer that belongs to the last message."""
    number = zlib.crc32(ask.messages[-1]) % words.ANSWERS
    return chat_scripts(ask.usage)[number].whole if ask.stream else chat_wholes()[number]


class Said(msgspec.Struct):
    content: msgspec.Raw = NOTHING


def answer_to(content: object) -> int:
    """The number of the answer that a session gives: it goes by the last words, since a server may add some before."""
    return zlib.crc32(str(content)[-LAST_WORDS:].encode()) % words.ANSWERS


def session(ask: Ask) -> bytes:
    """One that belongs to the last message's words, with the tokens of the prompt: some clients go by them."""
    number = answer_to(msgspec.json.decode(msgspec.json.decode(ask.messages[-1], type=Said).content))
    prompt = (sum(len(message) for message in map(bytes, ask.messages)) + len(bytes(ask.tools))) // BYTES_PER_TOKEN
    if ask.stream:
        script = chat_scripts(ask.usage)[number]
        return script.opening + script.ending_after(prompt)
    pieces = words.answers()[number]
    return completion("bench-chat", "".join(pieces), len(pieces), prompt)


READY = respond({"status": "ok"})
CARDS = respond(
    {
        "object": "list",
        "data": [{"id": m, "object": "model", "created": CREATED, "owned_by": "bench"} for m in MODELS],
    }
)


def failure(status: bytes, message: str) -> bytes:
    return respond(
        {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}, status
    )


# --- the socket -----------------------------------------------------------------------------------


class Idle:
    """The streams that have fallen silent."""

    def __init__(self) -> None:
        self.streams: dict[asyncio.Transport, bytes] = {}

    def add(self, transport: asyncio.Transport, ending: bytes) -> None:
        self.streams[transport] = ending
        asyncio.get_running_loop().call_later(IDLE_SECONDS, self.finish, transport)

    def finish(self, transport: asyncio.Transport) -> None:
        ending = self.streams.pop(transport, None)
        if ending is not None:
            transport.write(ending)

    def release(self) -> int:
        waiting = list(self.streams)
        for transport in waiting:
            self.finish(transport)
        return len(waiting)


class Connection(asyncio.Protocol):
    """One keep-alive client."""

    transport: asyncio.Transport

    def __init__(self, idle: Idle, recorder: Recorder, decoder: msgspec.json.Decoder[Ask]) -> None:
        self.idle = idle
        self.recorder = recorder
        self.decoder = decoder
        self.parser = httptools.HttpRequestParser(self)
        self.url = b""
        self.body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's own class

    def connection_lost(self, exc: Exception | None) -> None:
        self.idle.streams.pop(self.transport, None)

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.transport.write(failure(b"400 Bad Request", str(error)))
            self.transport.close()

    def on_message_begin(self) -> None:
        self.url = b""
        self.body = b""

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        try:
            self.answer()
        except (msgspec.DecodeError, ValueError, Unknown) as error:
            self.transport.write(failure(b"400 Bad Request", f"{self.url.decode()}: {error!r}"))

    def answer(self) -> None:
        match self.url:
            case b"/v1/chat/completions":
                ask = self.decoder.decode(self.body)
                self.complete(ask)
                self.recorder.asked += 1
                if name := ask.user or ask.session:
                    self.recorder.note(name, ask.messages, ask.tools)
            case b"/v1/models":
                self.transport.write(CARDS)
            case b"/health/ready":
                self.transport.write(READY)
            case b"/bench/release":
                self.transport.write(respond({"released": self.idle.release()}))
            case b"/bench/asked":
                self.transport.write(respond({"asked": self.recorder.asked}))
            case b"/bench/heard":
                self.transport.write(respond(self.recorder.hand_over()))
            case _:
                raise Unknown("no such path")

    def complete(self, ask: Ask) -> None:
        if ask.model == "bench-echo":
            self.transport.write(echo(ask))
        elif ask.model == "bench-chat":
            self.transport.write(chat(ask))
        elif ask.session:
            self.transport.write(session(ask))
        elif not ask.stream:
            self.transport.write(whole(ask.model))
        elif ask.model == "bench-idle":
            answer = script(ask.model, ask.usage)
            self.transport.write(answer.opening)
            self.idle.add(self.transport, answer.ending)
        else:
            self.transport.write(script(ask.model, ask.usage).whole)


async def serve(port: int) -> None:
    """Serves until standard input closes, so that it cannot outlive the bench."""
    loop = asyncio.get_running_loop()
    idle = Idle()
    recorder = Recorder()
    decoder = msgspec.json.Decoder(Ask)
    closed = asyncio.Event()
    await loop.create_server(lambda: Connection(idle, recorder, decoder), "127.0.0.1", port, backlog=2048)
    loop.add_reader(sys.stdin.fileno(), closed.set)
    await closed.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.upstream", description="The bench's fake upstream; ends when stdin does."
    )
    parser.add_argument("--port", type=int, required=True, help="on 127.0.0.1")
    uvloop.run(serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
