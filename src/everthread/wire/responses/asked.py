"""Who hears of a response, and how: the one who asked for it, the one who looks at it again."""

from __future__ import annotations

import msgspec

from everthread.core.turn import Envelope, Finished, Keep, Started, Turn
from everthread.core.view import View
from everthread.wire import json
from everthread.wire.responses import stream
from everthread.wire.responses.growing import Frames
from everthread.wire.responses.stream import Events


class Problem(msgspec.Struct):
    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ErrorBody(msgspec.Struct):
    error: Problem


ERROR = msgspec.json.Decoder(ErrorBody)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A turn, what its Response shows again, and how the client wants to hear of it."""

    turn: Turn
    keep: Keep
    stream: bool
    framed: bool = True  # False: bare JSON, for a WebSocket

    def within(self, to: Envelope) -> Asked:
        return msgspec.structs.replace(self, turn=msgspec.structs.replace(self.turn, envelope=to))

    @property
    def to(self) -> Envelope:
        return self.turn.envelope

    def whole(self, finished: Finished) -> bytes:
        """The Response as one JSON object."""
        view = View(id=finished.step.id, keep=self.keep, created_at=finished.step.stored_at)
        return msgspec.json.encode(stream.whole(view, finished))

    def telling(self, started: Started) -> Events:
        """The Response as events."""
        view = View(id=started.step, keep=self.keep, created_at=started.at)
        return Events(view, framed=self.framed, compacted=started.compacted)

    def failed(self, error: bytes) -> bytes:
        """How a stream of which nothing was told yet says what went wrong."""
        return error_event(error, framed=self.framed)


class Looking(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who hears of a response once more, or from some event on."""

    view: View
    starting_after: int | None = None

    @property
    def to(self) -> None:
        return None

    def telling(self, started: Started) -> Events:
        return Events(self.view, starting_after=self.starting_after, compacted=started.compacted)

    def failed(self, error: bytes) -> bytes:
        return error_event(error)


def error_event(error: bytes, *, framed: bool = True) -> bytes:
    """An error body as the one event of a stream."""
    problem = json.value(error, ERROR, "error").error
    return Frames(framed=framed, starting_after=None).write(
        "error", {"code": problem.code, "message": problem.message, "param": problem.param, "error": problem}
    )
