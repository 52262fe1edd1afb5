"""The model's server of a crash loop: answers with the question's mark, at many speeds, and says how far it is."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from crash.book import MARK
from upstream import HEAD, USAGE, Behaviour, Upstream, chunk, end, event, own_text

Watch = Callable[[str, str], None]  # a moment, and the mark of the question it is about

WORDS = ("deadline", "again", "because", "supplier", "late", "nobody", "first", "second", "report", "answer", "moved")


class Model(Upstream):
    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.watch: Watch = lambda moment, mark: None
        super().__init__()

    def behaviour(self, request: dict[str, Any]) -> Behaviour:
        self.requests.clear()  # a long run would keep them all
        self.headers.clear()
        asked = own_text(request["messages"][-1])
        marks = MARK.findall(asked)
        mark = marks[0] if marks else "job-0:0"
        count = 80 if mark.startswith("rotating") else 4
        words = [f"[{mark}]", *self._chance.choices(WORDS, k=count)]
        pause = 0.0 if count > 4 else self._chance.choice((0.0,) * 8 + (0.001, 0.01, 0.05))
        return self._speaks(mark, words, pause)

    def _speaks(self, mark: str, words: list[str], pause: float) -> Behaviour:
        async def behave(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
            self.watch("before the first word", mark)
            await asyncio.sleep(pause)
            writer.write(HEAD)
            await event(writer, chunk({"role": "assistant", "content": ""}))
            for number, word in enumerate(words):
                await event(writer, chunk({"content": word + " "}))
                await asyncio.sleep(pause)
                if number == len(words) // 2:
                    self.watch("between two words", mark)
            await event(writer, chunk({}, "stop"))
            await event(writer, USAGE)
            await event(writer, "[DONE]")
            await end(writer)
            self.watch("after the last word", mark)

        return behave
