"""What a piece of work was begun by: a request, or a run. What is logged and spent meanwhile is put down to it."""

from __future__ import annotations

from contextvars import ContextVar


class Cause:
    """Tasks that are begun for it know it too, for they take the context along."""

    __slots__ = ("completion", "name", "prompt", "upstream")

    def __init__(self, name: str) -> None:
        self.name = name  # the request's id, or the run's
        self.upstream = 0.0  # seconds that models took
        self.prompt = 0  # tokens
        self.completion = 0

    def spend(self, prompt: int, completion: int) -> None:
        self.prompt += prompt
        self.completion += completion


CAUSE: ContextVar[Cause | None] = ContextVar("cause", default=None)
