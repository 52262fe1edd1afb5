"""The model's server of a soak: answers at once, fails those who ask for it, and lets those wait who mean to leave."""

from __future__ import annotations

from typing import Any

import crash.model
import upstream
from crash.book import MARK
from upstream import Behaviour, own_text

FAULTS: tuple[Behaviour, ...] = (
    upstream.status(500),
    upstream.status(429, headers="retry-after: 1\r\n"),
    upstream.cuts,
    upstream.garbage,
    upstream.no_finish,
    upstream.error_in_stream,
    upstream.hangs_up,
)
LEAVING = 0.05  # seconds before each word to somebody who leaves in the middle


class Model(crash.model.Model):
    def behaviour(self, request: dict[str, Any]) -> Behaviour:
        self.requests.clear()
        self.headers.clear()
        marks = MARK.findall(own_text(request["messages"][-1]))
        mark = marks[0] if marks else "job-0:0"
        if mark.startswith("faulty"):
            return self._chance.choice(FAULTS)
        words = [f"[{mark}]", *self._chance.choices(crash.model.WORDS, k=80 if mark.startswith("rotating") else 8)]
        return self._speaks(mark, words, LEAVING if mark.startswith("leaving") else 0.0)
