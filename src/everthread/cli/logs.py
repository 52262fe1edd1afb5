"""The server's log: one line each, for people or for machines, and never waited for."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal, TextIO

import msgspec

from everthread.core.cause import CAUSE

Form = Literal["auto", "json", "text"]

MOST_WAITING = 10_000  # lines; what comes when nobody reads them is dropped, and counted
GATHERED = 0.1  # seconds: waking a thread for each line would cost more than the line
LONGEST_GOODBYE = 2.0  # seconds for the last lines


def begin(form: Form, level: str, stream: TextIO = sys.stderr) -> None:
    """All that is logged goes to `stream`: as text where a person reads it, else as JSON."""
    text = form == "text" or (form == "auto" and stream.isatty())
    printer = Printer(stream, Text() if text else Json())
    printer.setLevel(level.upper())
    logging.basicConfig(level=level.upper(), handlers=[printer], force=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # it tells of every connection
    atexit.register(printer.finish)


class Json(logging.Formatter):
    """An object a line."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **fields(record),
        }
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(told).decode()


class Text(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        more = " ".join(f"{name}={shown(value)}" for name, value in fields(record).items())
        return f"{super().formatMessage(record)} {more}".rstrip()


def fields(record: logging.LogRecord) -> Mapping[str, object]:
    """What a line has beside its words."""
    given: Mapping[str, object] = getattr(record, "fields", {})
    return given


def settled(record: logging.LogRecord) -> None:
    """Says what a line was caused by, and in which words: both may be others when it is printed."""
    given, cause = fields(record), CAUSE.get()
    if "request_id" in given:
        return
    if cause is not None:
        record.fields = {**given, "cause": cause.name}
    if record.args:
        record.msg, record.args = record.getMessage(), None


def shown(value: object) -> str:
    """A value on a line of text: one that could be taken for more than one is quoted."""
    text = str(value)
    return text if text and not set(text) & set(' "=') else msgspec.json.encode(text).decode()


class Printer(logging.Handler):
    """Prints from a thread of its own: a reader that has stopped reading stops nobody else."""

    def __init__(self, stream: TextIO, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._file = stream.fileno()  # written to without the stream's lock, which the end of the process waits for
        self._lines: deque[logging.LogRecord] = deque()
        self._dropped = 0
        self._news = threading.Event()
        self._finished = False
        self._thread = threading.Thread(target=self._print, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        if len(self._lines) >= MOST_WAITING:
            self._dropped += 1
            return
        settled(record)
        self._lines.append(record)
        if not self._news.is_set():
            self._news.set()

    def _print(self) -> None:
        while not self._finished:
            self._news.wait()
            if not self._finished:
                time.sleep(GATHERED)
            self._news.clear()
            self._write()

    def _write(self) -> None:
        some = [self._lines.popleft() for _ in range(len(self._lines))]
        dropped, self._dropped = self._dropped, 0
        if dropped:
            words = f"{dropped} lines were dropped: nobody read them"
            some.append(logging.LogRecord("everthread.log", logging.WARNING, "", 0, words, None, None))
        data = "".join(f"{self.format(record)}\n" for record in some).encode(errors="backslashreplace")
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError:  # there is nobody to tell
            self._lines.clear()

    def finish(self) -> None:
        """Prints what is left, if somebody reads it."""
        self._finished = True
        self._news.set()
        self._thread.join(LONGEST_GOODBYE)
