"""`everthread serve`: runs the server."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import shlex
import socket
import sys

import msgspec
import uvloop

from everthread import __version__, settings, wiring
from everthread.cli import Subparsers, files, logs, models
from everthread.errors import Malformed
from everthread.http.app import App
from everthread.http.server import bind, serve


def register(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "serve",
        help="run the server",
        description="Runs the server. The model that answers is the one at EVERTHREAD_UPSTREAM_URL, else the one at"
        " OPENAI_BASE_URL or OPENAI_API_KEY, else an embedded model, whose weights are fetched on the first start.",
    )
    parser.add_argument("--host", help="the address to listen on (EVERTHREAD_HOST, default 127.0.0.1)")
    parser.add_argument("--port", type=int, help="the port (EVERTHREAD_PORT, default 8642; 0: any free one)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    chosen = settings.load()
    given = {name: value for name in ("host", "port") if (value := getattr(args, name)) is not None}
    if not 0 <= given.get("port", 0) <= 65_535:
        raise Malformed(f"--port is a number from 0 to 65535, not {given['port']}.")
    chosen = msgspec.structs.replace(chosen, **given)
    logs.begin(chosen.log, chosen.log_level)
    wiring.heap.keep_little()
    chosen = msgspec.structs.replace(chosen, turns_at_once=files.enough_for(chosen.turns_at_once))
    wiring.gate(chosen)
    if chosen.upstream_url is None:
        fetch_weights(chosen)
    uvloop.run(until_stopped(chosen))
    return 0


def settle() -> None:
    """Tells the interpreter what kind of program this is.

    What is loaded now stays, so the collector need not look at it again, nor so often at short-lived values. The thread
    that commits needs the interpreter for moments only: it should not wait for them. And every generator of ours is
    closed by whoever began it, so the event loop need not keep a list of them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)
    sys.setswitchinterval(0.0001)
    sys.set_asyncgen_hooks(firstiter=None)


def fetch_weights(chosen: settings.Settings) -> None:
    known = wiring.weights.find(wiring.embedded_name(chosen))
    if wiring.weights.here(known, folder=chosen.weights) is None:
        print(
            f"No upstream is configured, so the embedded model {known.name} will answer. Fetching its weights once"
            f" ({models.size(known.size)}); set EVERTHREAD_UPSTREAM_URL to use another server instead."
        )
        models.fetch(known.name, chosen)


async def until_stopped(chosen: settings.Settings) -> None:
    listening = bind(chosen.host, chosen.port)
    try:
        async with wiring.running(chosen) as running:
            app = App(running.site)
            settle()
            key = told(running.key, chosen, private=sys.stdout.isatty())
            await serve(app, listening, ready=lambda: print(banner(running.about, key, listening), flush=True))
    finally:
        listening.close()
    await asyncio.sleep(0)


class Told(msgspec.Struct, frozen=True):
    """How the banner speaks of the key: in words, and in a command."""

    words: str
    command: str


def told(key: str, chosen: settings.Settings, *, private: bool) -> Told:
    """The key itself on a terminal; a file, or a log, only says where it is."""
    if private:
        return Told(key, key)
    if chosen.api_key is None:
        return Told(f"in {chosen.key_file}", f"$(cat {shlex.quote(str(chosen.key_file))})")
    name = f"{settings.PREFIX}API_KEY"
    return Told(f"${name}" if name in os.environ else f"api_key in {settings.FILE}; below it is ${name}", f"${name}")


def banner(about: str, key: Told, listening: socket.socket) -> str:
    """Who answers, where, with which key, and a line that works when pasted."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else "127.0.0.1" if host == "0.0.0.0" else host  # noqa: S104
    url = f"http://{shown}:{port}/v1"
    return f"""
  Everthread {__version__}

  model    {about}
  address  {url}
  key      {key.words}

  Try it:

  curl {url}/chat/completions \\
    -H "Authorization: Bearer {key.command}" \\
    -H "Content-Type: application/json" \\
    -H "X-Hermes-Session-Id: hello" \\
    -d '{{"messages": [{{"role": "user", "content": "Hello! My name is Alex."}}]}}'

  or talk to it with: everthread chat
"""
