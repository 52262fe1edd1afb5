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
LEAST = 1e-6  # what FTS5 takes for the weight of a word that is in most rows


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
    """The rows of a scope that fit these words best, and how well: BM25, by how rare a word is in this scope.

    FTS5 knows only how rare it is in the whole table; its score of each word is weighed anew. Adding up is done here:
    SQLite would put all rows in order for it. `rows`: how many the scope has, if that is known."""
    held = {phrase: number for phrase in phrases(scope, words) if (number := matches(db, table, phrase))}
    if not held:
        return []
    here = rows if rows is not None else counted(db, table, scope)[0]
    telling = {phrase: number for phrase, number in held.items() if number <= COMMON * here} or held
    everywhere = all_rows(db, table)
    scores: dict[int, float] = {}
    for phrase, number in telling.items():
        weight = log(1 + (here - number + 0.5) / (number + 0.5)) / rarity(everywhere, number)
        for no, rank in db.execute(f"SELECT rowid, rank FROM {table} WHERE {table} MATCH ?", (phrase,)):  # noqa: S608
            scores[no] = scores.get(no, 0.0) - weight * rank
    order = sorted(zip(scores.values(), scores, strict=True), reverse=True)
    return [(no, score) for score, no in order[:most]]


def counted(db: sqlite3.Connection, table: str, scope: int, after: int = 0) -> tuple[int, int]:
    """How many rows of a scope come after this one, and the last of them."""
    query = f"SELECT count(*), max(rowid) FROM {table} WHERE {table} MATCH ? AND rowid > ?"  # noqa: S608
    number, last = db.execute(query, (f'"{scope}q"', after)).fetchone()
    return number, last or after


def matches(db: sqlite3.Connection, table: str, phrase: str) -> int:
    query = f"SELECT count(*) FROM {table} WHERE {table} MATCH ?"  # noqa: S608
    return int(db.execute(query, (phrase,)).fetchone()[0])


def rarity(rows: int, matching: int) -> float:
    """The weight that FTS5 gives to a phrase."""
    return max(LEAST, log(max(LEAST, (rows - matching + 0.5) / (matching + 0.5))))


def all_rows(db: sqlite3.Connection, table: str) -> int:
    """How many rows FTS5 counts: the first number of its record of averages."""
    record = db.execute(f"SELECT block FROM {table}_data WHERE id = 1").fetchone()  # noqa: S608
    number = 0
    for byte in (record[0] if record else b"")[:8]:
        number = (number << 7) | (byte & 0x7F)
        if byte < 0x80:
            break
    return number
