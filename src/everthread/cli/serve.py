"""`everthread serve`: runs the server."""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import socket
import sys

import msgspec
import uvloop

from everthread import __version__, settings, wiring
from everthread.cli import Subparsers, models
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
    logging.basicConfig(
        level=chosen.log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    wiring.gate(chosen)
    if chosen.upstream_url is None:
        fetch_weights(chosen)
    uvloop.run(until_stopped(chosen))
    return 0


def settle() -> None:
    """Tells the interpreter what kind of program this is.

    What is loaded now stays, so the collector need not look at it again, nor so often at short-lived values. And the
    thread that commits needs the interpreter for moments only: it should not wait for them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)
    sys.setswitchinterval(0.0001)


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
            await serve(app, listening, ready=lambda: print(banner(running, listening), flush=True))
    finally:
        listening.close()
    await asyncio.sleep(0)


def banner(running: wiring.Running, listening: socket.socket) -> str:
    """Who answers, where, with which key, and a line that works when pasted."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else "127.0.0.1" if host == "0.0.0.0" else host  # noqa: S104
    url = f"http://{shown}:{port}/v1"
    return f"""
  Everthread {__version__}

  model    {running.about}
  address  {url}
  key      {running.key}

  Try it:

  curl {url}/chat/completions \\
    -H "Authorization: Bearer {running.key}" \\
    -H "Content-Type: application/json" \\
    -H "X-Hermes-Session-Id: hello" \\
    -d '{{"messages": [{{"role": "user", "content": "Hello! My name is Alex."}}]}}'

  or talk to it with: everthread chat
"""
