"""What a model says in the union of reply or call, read as it is generated: words, or one checked call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from everthread.core.turn import ChoiceEnded, ModelEvent, TextDelta, ToolCallDelta
from everthread.errors import UpstreamMalformed
from everthread.models.embedded import schema
from everthread.models.embedded.union import Union

_FORMED = re.compile(r'\s*\{\s*"reply"\s*:\s*')
_REPLY = re.compile(_FORMED.pattern + '"')
_HEX = r"[0-9a-fA-F]"
_HIGH = rf"\\u[dD][89abAB]{_HEX}{{2}}"
_READABLE = re.compile(  # as many whole characters of a JSON string as there are
    rf'(?:[^"\\]|{_HIGH}\\u{_HEX}{{4}}|{_HIGH}(?=[^\\]|\\[^u])|(?!{_HIGH})\\u{_HEX}{{4}}|\\[^u])*'
)


class Reading:
    """Turns one answer of the union, piece by piece, into events."""

    def __init__(self, allowed: Union, *, call_id: str, choice: int = 0) -> None:
        self._allowed = allowed
        self._call_id = call_id
        self._choice = choice
        self._text = ""
        self._at = 0  # how far a reply has been read; 0: not (yet) known to be one

    def feed(self, text: str) -> Iterator[ModelEvent]:
        """The words of a reply as far as they can be read now."""
        self._text += text
        if not self._at and self._allowed.replies_in_words and (begun := _REPLY.match(self._text)):
            self._at = begun.end()
        if self._at and (found := _READABLE.match(self._text, self._at)) and found.group():
            self._at = found.end()
            yield TextDelta(words(found.group()), self._choice)

    def end(self, reason: str) -> Iterator[ModelEvent]:
        """What is left to say when the model has ended for that reason."""
        if self._at:
            yield ChoiceEnded(reason, self._choice)
            return
        try:
            answer = json.loads(self._text)
        except ValueError:
            answer = None  # cut off
        match answer:
            case {"call": str(name), "arguments": dict(arguments)}:
                self._check(name, arguments)
                written = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
                yield ToolCallDelta(0, self._call_id, name, written, self._choice)
                yield ChoiceEnded("tool_calls", self._choice)
            case {"reply": reply}:
                text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
                yield TextDelta(text, self._choice)
                yield ChoiceEnded(reason, self._choice)
            case _:
                if text := self._cut():
                    yield TextDelta(text, self._choice)
                yield ChoiceEnded(reason, self._choice)

    def _cut(self) -> str:
        """What there is of an answer that is cut off: of a reply in a form of its own, that; of a call, nothing."""
        if begun := _FORMED.match(self._text):
            return self._text[begun.end() :]
        return "" if self._text.lstrip().startswith("{") else self._text

    def _check(self, name: str, arguments: dict[str, object]) -> None:
        for function in self._allowed.functions:
            if function.name == name:
                if found := schema.problem(arguments, function.accepts):
                    raise UpstreamMalformed(f"The model called {name} with wrong arguments: {found}.")
                return
        raise UpstreamMalformed("The model called a tool that it was not given.")


def words(escaped: str) -> str:
    """The text of a piece of a JSON string; half a surrogate pair becomes a replacement character."""
    text: str = json.loads(f'"{escaped}"', strict=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
