"""Words taken out of texts and of messages' JSON; what stands in their place is as long as they were.

They are found whatever their case and their white space. Upper and lower case may differ in length ("ß", "İ"), so texts
are compared in a folded form that knows where each of its characters came from.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, count
from operator import itemgetter
from typing import Any

import msgspec

from everthread.core.claim import Block, Claim
from everthread.core.sentences import sentences

SIGN = "[forgotten]"
WEIGHT = 3  # tokens by which the sign may be heavier than what it replaces
FILLERS = "*_#~=+"
SHORTEST_PART = 8  # characters of a sentence that is sought alone
STRUCTURE = frozenset({"role", "type", "id", "tool_call_id", "finish", "data", "file_data", "detail", "format"})
SEVERAL = re.compile(r'"content"\s*:\s*\[')
CITED = re.compile(r"\(turn (-?\d+)\)")

Span = tuple[int, int]


def folded(text: str) -> str:
    """The same for every way to write a letter large or small."""
    return text.upper().casefold()


def squeezed(text: str) -> str:
    return " ".join(text.split())


class Words:
    """Words that are to stand nowhere any more."""

    def __init__(self, text: str, *, whole: bool = True) -> None:
        self._sought = squeezed(folded(text))
        self._pattern = re.compile(r"\s+".join(map(re.escape, self._sought.split())))
        self._filler = next(one for one in chain(FILLERS, map(chr, count(0x2580))) if folded(one) not in self._sought)
        found = [one.text for one in sentences(text) if len(one.text) >= SHORTEST_PART] if whole else []
        self._parts = [Words(part, whole=False) for part in found] if len(found) > 1 else []

    def may_stand_in(self, raw: str) -> bool:
        """Whether it is worth while to read this JSON: what is written in it without escapes can be seen at once."""
        if not self._sought:
            return False
        return "\\" in raw or self._pattern.search(folded(raw)) is not None or SEVERAL.search(raw) is not None

    def spans(self, text: str) -> list[Span]:
        """Where they stand; where that overlaps, as one."""
        letters = folded(text)
        match = self._pattern.search(letters) if self._sought else None
        if match is None:
            return []
        origin = Origin(text) if len(letters) != len(text) else None
        found: list[Span] = []
        while match is not None:
            start, end = origin.span(*match.span()) if origin else match.span()
            if found and start < found[-1][1]:
                found[-1] = (found[-1][0], max(end, found[-1][1]))
            else:
                found.append((start, end))
            match = self._pattern.search(letters, match.start() + 1)
        return found

    def masked(self, text: str, *, plain: bool = False) -> str:
        """The text without them, as long as it was. `plain`: it is a name, and stays one."""
        spans = self.spans(text)
        if not spans:
            return text
        filler = "_" if plain and "_" not in self._sought else self._filler
        if not plain:
            signed = replaced(text, spans, lambda size: SIGN.ljust(size) if size >= len(SIGN) else filler * size)
            if not self.spans(signed):
                return signed
        return replaced(text, spans, lambda size: filler * size)

    def drawn(self, text: str) -> str:
        """A text that was made from what was said, without them and without any one of their sentences."""
        text = self.masked(text)
        for part in self._parts:
            text = part.masked(text)
        return text

    def stand_in(self, claim: Claim) -> bool:
        told = (claim.quote, claim.because, claim.subject, claim.attribute, claim.value, claim.speaker)
        return any(self.spans(text) for text in told if text)

    def block(self, block: Block) -> Block:
        text = self.drawn(block.text)
        if text == block.text:
            return block
        return msgspec.structs.replace(block, text=text, tokens=block.tokens + WEIGHT * text.count(SIGN))

    def log(self, stored: str, cited: frozenset[int] = frozenset()) -> str:
        """A log without them; what a model wrote about the turns `cited` goes as a whole."""
        try:
            blocks = msgspec.json.decode(stored)
        except msgspec.DecodeError:
            return self.drawn(stored)
        if not (isinstance(blocks, list) and all(isinstance(block, dict) and "lines" in block for block in blocks)):
            return self.drawn(stored)
        changed = False
        for block in blocks:
            kept = [
                line
                for line in block["lines"]
                if block.get("author") == "rules" or not ((at := CITED.search(line)) and int(at[1]) in cited)
            ]
            lines = [self.drawn(line) for line in kept]
            if lines != block["lines"]:
                block["lines"], changed = lines, True
                block["tokens"] += WEIGHT * sum(line.count(SIGN) for line in lines)
        return msgspec.json.encode(blocks).decode() if changed else stored


@cache
def growing() -> re.Pattern[str]:
    """The characters that are longer when folded; none is beyond the first plane."""
    return re.compile(f"[{''.join(one for one in map(chr, range(0xD800)) if len(folded(one)) > 1)}\ufb00-\ufb17]")


class Origin:
    """Where in a text each character of its folded form comes from."""

    def __init__(self, text: str) -> None:
        self._grown: list[tuple[int, int, int]] = []  # folded characters: from, up to, and which one they were
        longer = 0
        for match in growing().finditer(text):
            start = match.start() + longer
            size = len(folded(match[0]))
            self._grown.append((start, start + size, match.start()))
            longer += size - 1

    def span(self, start: int, end: int) -> Span:
        return self._of(start), self._of(end - 1) + 1

    def _of(self, at: int) -> int:
        number = bisect_right(self._grown, at, key=itemgetter(0))
        if number == 0:
            return at
        _, end, character = self._grown[number - 1]
        return character if at < end else character + 1 + at - end


def replaced(text: str, spans: Sequence[Span], mask: Any) -> str:
    made: list[str] = []
    last = 0
    for start, end in spans:
        made += (text[last:start], mask(end - start))
        last = end
    return "".join((*made, text[last:]))


class Masking:
    """One message's JSON, rewritten without some words."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self.found: list[tuple[str, list[Span]]] = []  # the texts in which they stood, and where
        self.originals: list[str] = []  # those texts, as a history that is sent again has them; content not among them

    def message(self, body: dict[str, Any]) -> dict[str, Any]:
        return {key: self._field(key, value) for key, value in body.items()}

    def _field(self, key: str, value: Any) -> Any:
        if key == "content" and isinstance(value, list):
            return self._parts(value)
        if isinstance(value, str):
            return self._string(key, value)
        if isinstance(value, dict):
            return {name: self._field(name, one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._field(key, one) for one in value]
        return self._number(value)

    def _string(self, key: str, value: str) -> str:
        if key in STRUCTURE or value.startswith("data:"):
            return value
        before = len(self.found)
        made = self._arguments(value) if key == "arguments" else self._text(value, plain=key == "name")
        if len(self.found) > before and key != "content":
            self.originals.append(value)
        return made

    def _text(self, value: str, *, plain: bool = False) -> str:
        spans = self._words.spans(value)
        if spans:
            self.found.append((value, spans))
            value = self._words.masked(value, plain=plain)
        return self._within(value)

    def _within(self, value: str) -> str:
        """A text that is JSON, in which they may be written with escapes."""
        tree = parsed(value) if "\\" in value else None
        clean = self.tree(tree)
        return encoded(clean) if clean != tree else value

    def _arguments(self, value: str) -> str:
        """A call's arguments stay the JSON that they are."""
        tree = parsed(value)
        if tree is None:
            return self._text(value)
        clean = self.tree(tree)
        made = encoded(clean) if clean != tree else value
        if spans := self._words.spans(made):  # across its punctuation
            self.found.append((made, spans))
            return "{}"
        return made

    def tree(self, value: Any) -> Any:
        """Anything within a JSON text: here names of fields are words too."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {self._text(name): self.tree(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.tree(one) for one in value]
        return self._number(value)

    def _number(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        digits = encoded(value)
        return self._text(digits) if self._words.spans(digits) else value

    def _parts(self, parts: list[Any]) -> list[Any]:
        """The texts of a content in parts, which are read as one."""
        told = [part for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str) and part["text"]]
        whole = "\n".join(part["text"] for part in told)
        if spans := self._words.spans(whole):
            self.found.append((whole, spans))
            whole = self._words.masked(whole)
        made: list[Any] = []
        start = 0
        for part in parts:
            if any(part is one for one in told):
                end = start + len(part["text"])
                made.append({**part, "text": self._within(whole[start:end])})
                start = end + 1
            else:
                made.append(self._picture(part))
        return made

    def _picture(self, part: Any) -> Any:
        """An address that cannot be told without them is no address any more."""
        clean = self._field("", part)
        if clean != part and isinstance(part, dict) and part.get("type") == "image_url":
            return {"type": "text", "text": ""}
        return clean


def parsed(text: str) -> Any:
    """An object or a list; None when it is neither."""
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


def encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def canonical(text: str) -> str:
    """A text as it is compared: JSON in any order of its fields, else with single spaces."""
    tree = parsed(text)
    return squeezed(text) if tree is None else msgspec.json.encode(tree, order="sorted").decode()


def strings(value: Any, key: str = "") -> Iterator[str]:
    """The texts in a message's JSON, its content aside."""
    if isinstance(value, str):
        if key not in STRUCTURE and key != "content":
            yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from strings(one, name)
    elif isinstance(value, list) and key != "content":
        for one in value:
            yield from strings(one, key)
