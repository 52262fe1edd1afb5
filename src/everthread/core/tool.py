"""A tool that the server runs itself, inside a turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Tool(Protocol):
    """Something that a model may ask for while it answers. Each turn has its own, which knows whose turn it is."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str:
        """When to call it and what it brings: all that the model is told of it."""
        ...

    @property
    def parameters(self) -> Mapping[str, object]:
        """The JSON schema of its arguments: an object."""
        ...

    async def run(self, arguments: Mapping[str, object]) -> str:
        """The result, in words for the model.

        Arguments are what the model wrote, not checked against the schema. A Failure, or a ValueError for arguments
        that make no sense, is told to the model and fails no turn. Calls of one round run at the same time, and each
        is cancelled when it takes too long or the turn is interrupted."""
        ...
