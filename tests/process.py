"""Everthread as a real process, to be stopped, killed and started again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from front_door import KEY, Client


class Process:
    """`everthread serve` with a home of its own."""

    program: tuple[str, ...] = ("-m", "everthread")
    within: tuple[str, ...] = ()  # a command that runs it

    def __init__(self, home: Path, **environ: str) -> None:
        self._environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("EVERTHREAD_", "OPENAI_"))},
            "EVERTHREAD_HOME": str(home),
            "EVERTHREAD_API_KEY": KEY,
            **{f"EVERTHREAD_{name.upper()}": value for name, value in environ.items()},
        }
        self._log = home.parent / f"{home.name}.log"
        self.start()

    def start(self) -> None:
        self._output = self._log.open("ab")
        before = self._log.stat().st_size
        self.running = subprocess.Popen(
            [*self.within, sys.executable, *self.program, "serve", "--port", "0"],
            env=self._environ,
            stdout=self._output,
            stderr=self._output,
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            printed = self._log.read_text()[before:]
            if found := re.search(r"address\s+(http://\S+)/v1", printed):
                self.client = Client(found[1])
                return
            if self.running.poll() is not None:
                break
            time.sleep(0.02)
        self.running.kill()
        self.running.wait(10)
        self._output.close()
        raise AssertionError(f"the server did not start:\n{self._log.read_text()}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Killed, if it still runs."""
        if self.running.poll() is None:
            self.kill()

    @property
    def printed(self) -> str:
        return self._log.read_text()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.running.send_signal(signal.SIGTERM)
        code = self.running.wait(40)
        self._output.close()
        return code

    def kill(self) -> None:
        """SIGKILL: no goodbye."""
        self.running.kill()
        self.running.wait(10)
        self._output.close()
