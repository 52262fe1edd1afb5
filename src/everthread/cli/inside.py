"""A server in this process, for a conversation that found none running."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, redirect_stdout

import msgspec
import uvloop

from everthread import settings, wiring
from everthread.cli.remote import Address
from everthread.cli.serve import fetch_weights
from everthread.errors import StoreInUse, Unavailable
from everthread.http.app import App
from everthread.http.server import DRAIN, Server, bind, configured

PATIENCE = 3.0  # seconds for ending before anything is said about it

log = logging.getLogger("everthread.cli.chat")


@contextmanager
def in_process(chosen: settings.Settings) -> Iterator[Address]:
    """A server in a thread of its own, on a free port that only this machine can reach."""
    if chosen.upstream_url is None:
        with redirect_stdout(sys.stderr):
            fetch_weights(chosen)
    log_to_file(chosen)
    inside = Inside(msgspec.structs.replace(chosen, host="127.0.0.1", port=0))
    try:
        yield inside.address()
    except StoreInUse as failure:
        raise StoreInUse(
            f"{failure.message} Or talk to it: everthread chat --url http://HOST:PORT"
            " (it printed its address when it started; in another `everthread chat`, /session shows it)."
        ) from failure
    finally:
        inside.stop()


def log_to_file(chosen: settings.Settings) -> None:
    """What the server logs does not belong between the lines of a conversation."""
    chosen.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = logging.FileHandler(chosen.home / "chat.log", mode="w", delay=True)
    logging.basicConfig(
        level=chosen.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s", handlers=[file]
    )


class Inside:
    """Serves from the moment it is made until it is stopped."""

    def __init__(self, chosen: settings.Settings) -> None:
        self._settings = chosen
        self._listening = bind(chosen.host, chosen.port)
        self._port = int(self._listening.getsockname()[1])
        self._running: wiring.Running | None = None
        self._server: Server | None = None
        self._known = threading.Event()  # that it serves, or that it does not
        thread = ThreadPoolExecutor(1, thread_name_prefix="everthread")
        self._served = thread.submit(uvloop.run, self._serve())
        self._served.add_done_callback(self._ended)
        thread.shutdown(wait=False)

    async def _serve(self) -> None:
        with closing(self._listening):
            async with wiring.running(self._settings) as running:
                self._running = running
                self._server = Server(configured(App(running.site)), self._known.set)
                await self._server.serve(sockets=[self._listening])

    def address(self) -> Address:
        """Where it listens; the Failure, if it does not start."""
        self._known.wait()
        if self._running is None or self._served.done():
            self._served.result()
            raise Unavailable("The server in this process ended before it began; chat.log may say why.")
        url = f"http://{self._settings.host}:{self._port}"
        return Address(url, self._running.key, f"{self._running.about}, in this process")

    def stop(self) -> None:
        """Lets a turn that runs finish, unless one more Ctrl-C says that it must not."""
        self._known.wait()
        if self._server is None:
            return
        self._server.should_exit = True
        try:
            if wait([self._served], timeout=PATIENCE).not_done:
                print(f"Finishing the last answer, {DRAIN} s at most; Ctrl-C gives it up.", file=sys.stderr)
            wait([self._served])
        except KeyboardInterrupt:
            self._server.force_exit = True
            raise

    def _ended(self, served: Future[None]) -> None:
        self._known.set()
        if self._running is not None and (error := served.exception()) is not None:
            log.error("the server in this process failed", exc_info=error)
