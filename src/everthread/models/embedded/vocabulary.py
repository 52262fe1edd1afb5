"""The embedded model's own way of cutting text into tokens, from its weights' file: counts that are exact."""

from __future__ import annotations

from codecs import charmap_encode
from itertools import count
from pathlib import Path

import tiktoken

from everthread.core.counting import counted
from everthread.models.embedded import gguf

KEYS = tuple(f"tokenizer.ggml.{name}" for name in ("model", "pre", "tokens", "token_type"))
NORMAL, USER_DEFINED = 1, 4  # the other kinds are never made of plain text

# How text is cut into pieces before any are merged; the names are those that llama.cpp gave to these manners.
SIGNS = r"[^\s\p{L}\p{N}]+"
PIECES = {
    "qwen2": "|".join(
        [
            r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])",
            r"[^\r\n\p{L}\p{N}]?\p{L}+",
            r"\p{N}",
            rf" ?{SIGNS}[\r\n]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ]
    ),
    "smollm": "|".join(
        [
            r" ?\p{L}+",
            r"\p{N}",
            r"'(?:[stmd]|re|ve|ll)",
            rf" ?{SIGNS}",
            r"\s+(?![^\s\p{N}])",  # digits are cut out first: white space before one is white space at an end
            r"\s+",
        ]
    ),
}

# GPT-2's alphabet: a byte is the letter with its number, if that is one to be seen, else the next one from U+0100 on.
SEEN = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
UNSEEN = (byte for byte in range(0x100) if byte not in SEEN)
LETTERS = {byte: byte for byte in SEEN} | {0x100 + number: byte for number, byte in enumerate(UNSEEN)}


class UnknownVocabulary(gguf.Unreadable):
    """The model cuts text in a way that is not known here."""


class Vocabulary:
    """Counts tokens as the model does; what looks like one of its control tokens is counted as plain text."""

    per_prompt = 30  # the template's own words where nobody gave instructions, and the beginning of the answer
    per_message = 6  # ChatML: five, and one more for the assistant's in some vocabularies

    def __init__(self, encoding: tiktoken.Encoding, silent_from: int | None) -> None:
        self._encoding = encoding
        self._own = encoding.special_tokens_set
        self._silent_from = silent_from  # ids of bytes that the model does not know: it skips them

    def count(self, text: str) -> int:
        return counted(text, self._exactly)

    def _exactly(self, text: str) -> int:
        tokens = (
            self._encoding.encode(text, allowed_special=self._own, disallowed_special=())
            if self._own
            else self._encoding.encode_ordinary(text)  # the other would look for nothing between any two letters
        )
        return len(tokens) if self._silent_from is None else sum(token < self._silent_from for token in tokens)


def load(path: Path) -> Vocabulary:
    """The vocabulary of these weights; takes a few tenths of a second. Raises Unreadable."""
    found = gguf.read(path, KEYS)
    match tuple(found.get(key) for key in KEYS):
        case b"gpt2", bytes(pre), list(tokens), tuple(kinds) if len(tokens) == len(kinds):
            pieces = PIECES.get(pre.decode(errors="replace"))
        case _:
            pieces = None
    if pieces is None:
        said = ", ".join(str(found.get(key))[:40] for key in KEYS[:2])
        raise UnknownVocabulary(f"{path} has a vocabulary of an unknown kind ({said}).")
    try:
        return Vocabulary(*encoding(tokens, kinds, pieces))
    except UnicodeError as error:
        raise UnknownVocabulary(f"{path} has a vocabulary that is not one of bytes: {error}.") from error


def encoding(tokens: list[bytes], kinds: tuple[float, ...], pieces: str) -> tuple[tiktoken.Encoding, int | None]:
    """What cuts text into these tokens, and the first id of those bytes that are none of them, if there are such."""
    ranks, own = {}, {}
    for rank, (token, kind) in enumerate(zip(tokens, kinds, strict=True)):
        if kind == NORMAL:  # a token's rank is the order of its merge: the earlier, the smaller
            ranks[charmap_encode(token.decode(), "strict", LETTERS)[0]] = rank
        elif kind == USER_DEFINED:
            own[token.decode()] = rank
    silent = {bytes((byte,)) for byte in range(0x100)} - ranks.keys()
    ranks.update(zip(silent, count(len(tokens)), strict=False))
    cut = tiktoken.Encoding("embedded", pat_str=pieces, mergeable_ranks=ranks, special_tokens=own)
    return cut, len(tokens) if silent else None
