"""The server, killed by its own hand at a named moment of a step's commit: just before it, or between it and the
reply. It is to die when the file that `doom` writes says so."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any, Literal

from everthread.cli.main import main
from everthread.storage.writer import Later, Writer
from process import Process

Moment = Literal["before the commit", "after the commit"]
DOOM = "doom"


class Mortal(Process):
    program = (str(Path(__file__)),)

    def __init__(self, home: Path, **environ: str) -> None:
        self._doom = home / DOOM
        super().__init__(home, **environ)

    def doom(self, moment: Moment) -> None:
        """The next step that is committed is its last, or would have been."""
        self._doom.write_text(moment)

    def revive(self) -> None:
        assert self.running.wait(20) == -signal.SIGKILL, "it died at that moment, and by nothing else"
        self._output.close()
        self._doom.unlink()
        self.start()


def dies(moment: Moment) -> bool:
    doom = Path(os.environ["EVERTHREAD_HOME"]) / DOOM
    return doom.exists() and doom.read_text() == moment


def run() -> int:
    write, done = Later.write, Writer._done
    kept = False  # a step is in the transaction that is committed last

    def writing(self: Later, db: sqlite3.Connection) -> None:
        nonlocal kept
        kept = "step" in self._rows
        write(self, db)
        if kept and dies("before the commit"):
            os.kill(os.getpid(), signal.SIGKILL)

    def told(self: Writer, *given: Any) -> None:
        if kept and dies("after the commit"):
            os.kill(os.getpid(), signal.SIGKILL)
        done(self, *given)

    Later.write, Writer._done = writing, told  # type: ignore[method-assign]
    return main()


if __name__ == "__main__":
    sys.exit(run())
