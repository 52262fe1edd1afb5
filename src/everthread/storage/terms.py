"""The terms of the lexical index: each is a word of one scope, so that a search meets no other scope's data.

The word "heron" of scope 17 is the term `17qheron`; `17q` alone is in every row of that scope. Characters of scripts
that are written without spaces are terms of their own, and a word of them is a phrase.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Sequence
from math import log

UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
MOST_WORDS = 24
COMMON = 0.5  # of a scope's rows: a word in more of them tells nothing, if there are others
K1, B = 1.2, 0.75  # of BM25: how much a row's length counts


def scoped(scope: int, text: str) -> str:
    """A text as the index takes it in."""
    mark = f"{scope}q"
    return f"{mark} {' '.join(mark + word for word in words_of(text))}"


def words_of(text: str) -> list[str]:
    found: list[str] = WORD.findall(text if text.isascii() else unicodedata.normalize("NFC", text))
    return found


def install(db: sqlite3.Connection) -> None:
    """The triggers of the index need this function."""
    db.create_function("scoped", 2, scoped, deterministic=True)


def phrases(scope: int, words: Sequence[str]) -> list[str]:
    """What the index is asked for these words, each as one phrase."""
    mark = f"{scope}q"
    asked = (" ".join(mark + part for part in words_of(word)) for word in words)
    return list(dict.fromkeys(f'"{phrase}"' for phrase in asked if phrase))[:MOST_WORDS]


def best(
    db: sqlite3.Connection, table: str, scope: int, words: Sequence[str], most: int, *, rows: int | None = None
) -> list[tuple[int, float]]:
    """The rows of a scope that fit these words best, and how well: BM25 of which no number depends on other scopes.

    How rare a word is counts by this scope, how long a row is by the rows that were found; FTS5 takes both from the
    whole table. How often a word is in a row does not count: rows are short, and it would take as long again to ask.
    `rows`: how many the scope has, if that is known."""
    held = {phrase: number for phrase in phrases(scope, words) if (number := matches(db, table, phrase))}
    if not held:
        return []
    here = rows if rows is not None else counted(db, table, scope)[0]
    telling = {phrase: number for phrase, number in held.items() if number <= COMMON * here} or held
    sizes: dict[int, bytes] = {}
    weights: dict[int, float] = {}
    for phrase, number in telling.items():
        weight = log(1 + (here - number + 0.5) / (number + 0.5))
        for no, size in having(db, table, phrase):
            sizes[no] = size
            weights[no] = weights.get(no, 0.0) + weight
    lengths = {size: length(size) for size in set(sizes.values())}
    usual = sum(lengths[size] for size in sizes.values()) / max(1, len(sizes))
    shares = {size: (K1 + 1) / (1 + K1 * (1 - B + B * long / usual)) for size, long in lengths.items()}
    scores = {no: weight * shares[sizes[no]] for no, weight in weights.items()}
    order = sorted(zip(scores.values(), scores, strict=True), reverse=True)
    return [(no, score) for score, no in order[:most]]


def having(db: sqlite3.Connection, table: str, phrase: str) -> list[tuple[int, bytes]]:
    """The rows with a phrase, each with FTS5's record of its length."""
    query = (
        f"SELECT {table}.rowid, sz FROM {table} CROSS JOIN {table}_docsize AS size"  # noqa: S608
        f" ON size.id = {table}.rowid WHERE {table} MATCH ?"
    )
    return db.execute(query, (phrase,)).fetchall()


def length(record: bytes) -> int:
    """How many words FTS5 says that a row has: a number of seven bits to a byte."""
    number = 0
    for byte in record:
        number = (number << 7) | (byte & 0x7F)
    return number


def counted(db: sqlite3.Connection, table: str, scope: int, after: int = 0) -> tuple[int, int]:
    """How many rows of a scope come after this one, and the last of them."""
    query = f"SELECT count(*), max(rowid) FROM {table} WHERE {table} MATCH ? AND rowid > ?"  # noqa: S608
    number, last = db.execute(query, (f'"{scope}q"', after)).fetchone()
    return number, last or after


def matches(db: sqlite3.Connection, table: str, phrase: str) -> int:
    query = f"SELECT count(*) FROM {table} WHERE {table} MATCH ?"  # noqa: S608
    return int(db.execute(query, (phrase,)).fetchone()[0])
