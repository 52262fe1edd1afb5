"""Keeps what the upstream is sent, for a few microseconds a prompt: only what differs from the prompt before."""

from __future__ import annotations

import msgspec

NOTHING = msgspec.Raw(b"null")


class Heard(msgspec.Struct, frozen=True, array_like=True):
    """One prompt: how many messages it begins with that the one before began with too, and the others."""

    same: int
    more: list[msgspec.Raw]
    tools: msgspec.Raw = NOTHING


class Recorder:
    """The prompts of each `user`, in the order they came."""

    def __init__(self) -> None:
        self.heard: dict[str, list[Heard]] = {}
        self.latest: dict[str, list[bytes]] = {}
        self.asked = 0  # requests for an answer, whoever asked

    def note(self, user: str, messages: list[msgspec.Raw], tools: msgspec.Raw) -> None:
        now = [bytes(message) for message in messages]
        before = self.latest.get(user, [])
        same = 0
        while same < min(len(before), len(now)) and before[same] == now[same]:
            same += 1
        self.latest[user] = now
        self.heard.setdefault(user, []).append(
            Heard(same, [msgspec.Raw(message) for message in now[same:]], msgspec.Raw(bytes(tools)))
        )

    def hand_over(self) -> dict[str, list[Heard]]:
        """What was heard, once."""
        heard, self.heard = self.heard, {}
        self.latest.clear()
        return heard
