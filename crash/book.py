"""The clients' own ledger: what they were told, which the server must be able to tell again."""

from __future__ import annotations

import re
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any

WRONGS = {  # each must stay at zero
    "lost": "acknowledged turns lost",
    "doubled": "turns doubled",
    "half": "half turns",
    "altered": "answers that differ from what was told",
    "order": "sessions out of order",
    "stuck": "idempotency keys stuck, or with two effects",
    "endless": "runs without an end",
    "times": "times of a job with more than one turn",
    "tips": "ids of a conversation with another tip",
    "refused": "requests refused while the server ran",
    "unsound": "problems that `everthread check` found",
    "between": "databases between two schemas",
}
MARK = re.compile(r"\[([a-z]+-[\w.]+:\d+)\]")
MOST_TOLD = 20


class Book:
    """Counts, and what went wrong; written by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.kills: Counter[str] = Counter()
        self.wrongs: Counter[str] = Counter()
        self.told: list[str] = []
        self.acknowledged: dict[str, dict[str, list[tuple[str, str]]]] = {}  # session -> speaker -> (mark, answer)

    def count(self, what: str, number: int = 1) -> None:
        with self._lock:
            self.counts[what] += number

    def wrong(self, kind: str, what: str) -> None:
        assert kind in WRONGS
        with self._lock:
            self.wrongs[kind] += 1
            if len(self.told) < MOST_TOLD:
                self.told.append(f"{kind}: {what}")
                print(f"WRONG {self.told[-1]}", file=sys.stderr)

    def acknowledge(self, session: str, speaker: str, mark: str, answer: str) -> None:
        with self._lock:
            self.counts["turns acknowledged"] += 1
            self.acknowledged.setdefault(session, {}).setdefault(speaker, []).append((mark, answer))

    def compare(self, session: str, heard: Transcript) -> None:
        """What was acknowledged in a session against what stands in it."""
        for kind, what in heard.wrongs:
            self.wrong(kind, f"{session}: {what}")
        heard.wrongs.clear()
        for speaker, told in self.acknowledged.get(session, {}).items():
            place = heard.compared.get(speaker, 0)
            for mark, answer in told[place:]:
                if mark not in heard.said:
                    self.wrong("lost", f"{session}: {mark}")
                elif heard.said[mark][1] != answer:
                    self.wrong("altered", f"{session}: {mark}: {heard.said[mark][1]!r}, not {answer!r}")
            places = [heard.said[mark][0] for mark, _ in told[max(0, place - 1) :] if mark in heard.said]
            if places != sorted(places):
                self.wrong("order", f"{session}: {speaker}")
            heard.compared[speaker] = len(told)

    def table(self) -> str:
        rows = [("kills", sum(self.kills.values()))]
        rows += [(f"  {moment}", number) for moment, number in sorted(self.kills.items())]
        rows += sorted(self.counts.items())
        rows += [(WRONGS[kind], self.wrongs[kind]) for kind in WRONGS]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"| {name:{width}} | {number:9,} |" for name, number in rows)


class Transcript:
    """What a session says was said in it, read once and then from where the reading ended."""

    def __init__(self) -> None:
        self.said: dict[str, tuple[int, str]] = {}  # mark -> place, answer
        self.last: str | None = None
        self.wrongs: list[tuple[str, str]] = []
        self.compared: dict[str, int] = {}
        self.questions = 0
        self._open: str | None = None

    def read(self, messages: Iterable[dict[str, Any]]) -> None:
        for message in messages:
            self.last = message["id"]
            text = message["content"] or ""
            if message["role"] == "user":
                self._ask(text)
            else:
                self._answer(text)

    def over(self) -> None:
        """Nothing follows: what is open now stays open."""
        if self._open is not None:
            self.wrongs.append(("half", f"{self._open} has no answer"))
            self._open = None

    def _ask(self, text: str) -> None:
        self.over()
        self.questions += 1
        marks = MARK.findall(text)
        self._open = marks[0] if marks else f"question {self.questions}"

    def _answer(self, text: str) -> None:
        mark, self._open = self._open, None
        if mark is None:
            self.wrongs.append(("half", f"{text[:60]!r} answers nothing"))
        elif ":" in mark:
            if mark in self.said:
                self.wrongs.append(("doubled", mark))
            if MARK.findall(text)[:1] != [mark]:
                self.wrongs.append(("half", f"{mark} has the answer {text[:60]!r}"))
            self.said[mark] = (self.questions, text)
