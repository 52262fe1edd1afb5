"""A UI's own requests (titles, tags, follow-ups, search queries), known by what they look like."""

from __future__ import annotations

import re

import msgspec

from everthread.core.turn import Turn

BEGINS = "### Task:"
ASKS_FOR = re.compile(
    r'"(?:title|tags|follow_ups|queries|query|emoji|text)"\s*:|compacted out of the active chat context'
)


def is_task(turn: Turn, *, stream: bool) -> bool:
    """Not streamed, no tools, one single message that states a task and the JSON it wants, or asks for the summary that
    a UI's own compaction needs. A question inside a retrieval template begins the same way, but asks for neither."""
    if stream or len(turn.messages) != 1 or turn.envelope.auxiliary:
        return False
    message = turn.messages[0]
    if message.role != "user" or not message.text.lstrip().startswith(BEGINS):
        return False
    if turn.instructions or any(name == "tools" for name, _ in turn.options):
        return False
    return ASKS_FOR.search(message.text) is not None and "</context>" not in message.text


def traceless(turn: Turn) -> Turn:
    return msgspec.structs.replace(turn, envelope=msgspec.structs.replace(turn.envelope, auxiliary=True))
