"""Text -> word pieces, as BERT (uncased) was taught them: exactly the ids that the model's own tokenizer gives.

Words that look like special tokens ("[SEP]") are taken for what they are in a text: words."""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections.abc import Iterator, Mapping
from importlib import resources

VOCABULARY = 30_522  # pieces, about in the order of how frequent they are
UNKNOWN, START, END = 100, 101, 102
LONGEST_WORD = 100  # characters; a longer one is unknown as a whole
MOST_PIECES = 256  # per text, start and end included: what the model was trained with
_FAR_ENOUGH = MOST_PIECES * (LONGEST_WORD + 1)  # characters that are looked at

_CJK = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f]"
)
_PUNCTUATION = frozenset(map(ord, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))


class WordPiece:
    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._ids = vocabulary

    def ids(self, text: str) -> list[int]:
        """The pieces of a text between start and end; what is too long is cut."""
        found = [START]
        for word in words(normal(text[:_FAR_ENOUGH])):
            found += self._pieces(word)
            if len(found) >= MOST_PIECES:
                break
        return [*found[: MOST_PIECES - 1], END]

    def _pieces(self, word: str) -> list[int]:
        """The longest piece that begins the word, then the longest that begins the rest, ...; all, or unknown."""
        known = self._ids.get(word)
        if known is not None:
            return [known]
        if len(word) > LONGEST_WORD:
            return [UNKNOWN]
        found: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                piece = self._ids.get(prefix + word[start:end])
                if piece is not None:
                    found.append(piece)
                    start = end
                    break
            else:
                return [UNKNOWN]
        return found


def load() -> WordPiece:
    packed = resources.files(__package__).joinpath("data", "vocab.txt.gz").read_bytes()
    pieces = gzip.decompress(packed).decode().splitlines()
    return WordPiece({piece: id_ for id_, piece in enumerate(pieces)})


def normal(text: str) -> str:
    """Lower case, without accents and control characters; one kind of space; ideographs stand alone."""
    text = text.translate(_CLEAN)
    if text.isascii():
        return text.lower()
    text = _CJK.sub(r" \g<0> ", text)
    return unicodedata.normalize("NFD", text).translate(_PLAIN)


def words(text: str) -> Iterator[str]:
    """What stands between spaces; each punctuation mark by itself."""
    for run in text.split(" "):
        if run.isalnum():
            yield run
        elif run:
            yield from _split(run)


def _split(run: str) -> Iterator[str]:
    start = 0
    for at, char in enumerate(run):
        if _is_punctuation(char):
            if start < at:
                yield run[start:at]
            yield char
            start = at + 1
    if start < len(run):
        yield run[start:]


def _is_punctuation(char: str) -> bool:
    return ord(char) in _PUNCTUATION or unicodedata.category(char)[0] == "P"


class _Clean(dict[int, str]):
    """Spaces of all kinds become one; control characters and broken ones vanish."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        if category in ("Zs", "Zl", "Zp"):
            return " "
        return "" if category in ("Cc", "Cf", "Co", "Cs") or code == 0xFFFD else char


class _Plain(dict[int, str]):
    """One character at a time: what a letter becomes must not depend on its neighbours (a final sigma)."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        return "" if unicodedata.category(char) == "Mn" else char.lower()


_SPACES = {ord("\t"): " ", ord("\n"): " ", ord("\r"): " "}
_CLEAN = _Clean({code: chr(code) for code in range(32, 127)} | _SPACES)
_PLAIN = _Plain({code: chr(code).lower() for code in range(128)})
