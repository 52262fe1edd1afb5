"""What a GGUF file says of itself, ahead of its tensors."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Collection
from pathlib import Path

from everthread.errors import Failure

MAGIC = b"GGUF"
VERSIONS = (2, 3)  # alike in all that is read here
MOST_PAIRS = 10_000
MOST_ITEMS = 4_000_000  # of one array
LONGEST_STRING = 16 * 1024 * 1024

STRING, ARRAY = 8, 9
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
SIZES = {kind: struct.calcsize(f"<{letter}") for kind, letter in NUMBERS.items()}
HEAD = struct.Struct("<4sIQQ")  # magic, version, tensors, pairs
KIND = struct.Struct("<I")
COUNT = struct.Struct("<Q")
KIND_AND_COUNT = struct.Struct("<IQ")

Value = bytes | int | float | bool | list[bytes] | tuple[int | float | bool, ...]


class Unreadable(Failure):
    """The file cannot be read as GGUF."""


def read(path: Path, wanted: Collection[str]) -> dict[str, Value]:
    """The values of these keys, as far as the file has them; text is left as its bytes. Raises Unreadable."""
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise Unreadable(f"{path} is not a GGUF file.")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return Reader(content).pairs(frozenset(wanted))
    except struct.error as error:
        raise Unreadable(f"{path} is cut short.") from error
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror or error}.") from error
    except Unexpected as error:
        raise Unreadable(f"{path} is a GGUF file of an unknown form: {error}.") from error


class Unexpected(ValueError):
    """Something that has no business there."""


class Reader:
    """A place in a file, and what is read from there on."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content = content
        self._at = 0

    def pairs(self, wanted: frozenset[str]) -> dict[str, Value]:
        _, version, _, count = self._take(HEAD)
        if version not in VERSIONS:
            raise Unexpected(f"its version is {version}")
        names = {name.encode(): name for name in wanted}
        found: dict[str, Value] = {}
        for _ in range(within(MOST_PAIRS, count)):
            if len(found) == len(names):
                break  # what follows may be long
            key = self._string()
            (kind,) = self._take(KIND)
            value = self._value(kind)
            if key in names:
                found[names[key]] = value
        return found

    def _value(self, kind: int) -> Value:
        if kind == STRING:
            return self._string()
        if kind != ARRAY:
            (number,) = self._numbers(kind, 1)
            return number
        item, count = self._take(KIND_AND_COUNT)
        within(MOST_ITEMS, count)
        return self._strings(count) if item == STRING else self._numbers(item, count)

    def _take(self, form: struct.Struct) -> tuple[int, ...]:
        taken = form.unpack_from(self._content, self._at)
        self._at += form.size
        return taken

    def _numbers(self, kind: int, count: int) -> tuple[int | float | bool, ...]:
        if kind not in NUMBERS:
            raise Unexpected(f"a value is of kind {kind}")
        numbers = struct.unpack_from(f"<{count}{NUMBERS[kind]}", self._content, self._at)
        self._at += SIZES[kind] * count
        return numbers

    def _string(self) -> bytes:
        (string,) = self._strings(1)
        return string

    def _strings(self, count: int) -> list[bytes]:
        content, at, length_at = self._content, self._at, COUNT.unpack_from
        strings = []
        for _ in range(count):
            (length,) = length_at(content, at)
            end = at + 8 + within(LONGEST_STRING, length)
            strings.append(content[at + 8 : end])
            at = end
        if at > len(content):
            raise struct.error("the last string ends after the file")
        self._at = at
        return strings


def within(most: int, count: int) -> int:
    if count > most:
        raise Unexpected(f"{count} is more than the {most} that are sensible")
    return count
