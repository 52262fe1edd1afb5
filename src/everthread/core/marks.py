"""The marks of a text: its numbers, identifiers and names, which a retelling may not lose."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from everthread.core.sentences import vocabulary

LONGEST = 400  # characters; what is longer is a blob, not an identifier

LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"  # of scripts that put spaces between words
TOKEN = re.compile(rf"(?:{LETTER}|[.@:/\\+#%&=?~$€£¥'’-]|(?<=\d),(?=\d))+")
CITATION = re.compile(r"\bturns? \d{1,12}(?:(?: ?[,–-] ?| to | and )\d{1,12}){0,20}")
QUANTITY = re.compile(r"[$€£¥+-]*\d[\d.,:/-]*(?:%|-?[^\W\d_]{1,4}|-[^\W\d_]+)?[$€£¥]?")
NUMBER = re.compile(r"\d{4}-\d\d-\d\d|\d+(?:[.,:]\d+)*")
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
WORDED = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "eleven": "11", "twelve": "12",
}  # fmt: skip
FILE = re.compile(r"[\w-]{2,}(?:\.[\w-]{2,})*\.[a-z][a-z0-9]{1,7}")
PATH = re.compile(r"(?:[~.\w@-]*|[A-Za-z]:)(?:[/\\][\w.@%+=~-]+)+[/\\]?")
SIGN = re.compile(r"--[a-z][\w-]+(?:=\S+)?|#\d+|@[\w.-]{2,}|\$[A-Za-z]\w+|[A-Za-z](?:\+\+|#)")
SPAN = re.compile(r"`([^`\n]{2,80})`")
HUMP = re.compile(r"[a-z][A-Z]")
ACRONYM = re.compile(r"[A-Z][A-Z&]{1,5}s?")
OPENS = frozenset('.!?:;…。！？：；"“”„«»([{*•>|`\n')  # after one of these a capital says nothing
TITLES = vocabulary("mr mrs ms dr prof herr frau mme")
COMMON = vocabulary(
    "i i'm i've i'd i'll ok okay the a an this that these those it its it's he she we we're you they and but or so if"
    " when no yes not never always all any only also then now please thanks thank hi hello hey what why how who where"
    " is are was were do does did don't can could will would should must let there here your my our in on at to for"
    " as by of from with good great wow yeah lol mr mrs ms dr prof"
)
GERMAN = re.compile(r"\b(?:der|die|das|und|ist|nicht|wir|ich|ein|eine|auf|den|dem|zu|wird|haben)\b", re.IGNORECASE)
BEFORE_A_NAME = vocabulary("in bei aus nach von mit für herr frau")


class Marks(msgspec.Struct, frozen=True):
    numbers: frozenset[str]  # in one spelling: digits, no thousands' commas
    identifiers: frozenset[str]
    names: frozenset[str]

    def lost_in(self, text: str) -> tuple[str, ...]:
        """Those that a text does not have, sorted."""
        numbers = self.numbers - marks(text).numbers if self.numbers else ()
        identifiers = (mark for mark in self.identifiers if not stands_in(mark, text))
        folded = text.casefold()
        names = (name for name in self.names if not stands_in(name.casefold(), folded))
        return tuple(sorted({*numbers, *identifiers, *names}))


def marks(text: str) -> Marks:
    text = CITATION.sub("turn", text)
    numbers: set[str] = set()
    identifiers = {span.strip() for span in SPAN.findall(text) if any(map(str.isalnum, span))}
    names: set[str] = set()
    nouns = len(GERMAN.findall(text, 0, LONGEST)) > 1  # a language that writes every noun with a capital
    before, end = "", 0
    for token, start in tokens(text):
        if token.isalpha() and token.islower() and token not in WORDED:
            pass  # most words, quickly
        elif found := figures(token):
            numbers.update(found)
        elif identifies(token):
            identifiers.add(token)
        elif ACRONYM.fullmatch(token):
            names.add(token)
        elif token[0].isupper() and token.casefold() not in COMMON and not opens(text[end:start], before, end):
            word = token.removesuffix("'s").removesuffix("’s")
            if not nouns or before.casefold() in BEFORE_A_NAME or before[:1].isupper():
                names.add(word)
        before, end = token, start + len(token)
    return Marks(frozenset(numbers), frozenset(identifiers), frozenset(names))


def tokens(text: str) -> Iterator[tuple[str, int]]:
    """Words, numbers, addresses and the like, without the punctuation around them, and where they begin."""
    for match in TOKEN.finditer(text):
        start, end = match.span()
        if end - start <= LONGEST:
            token = match[0].rstrip(".:?'’&=~-\\")
            bare = token.lstrip(".:?'’&=%+" if "/" in token else ".:?'’&=%+/\\")
            bare = bare if bare.startswith("--") else bare.lstrip("-")
            if bare:
                yield bare, start + len(token) - len(bare)


def opens(gap: str, before: str, end: int) -> bool:
    """Does a sentence, a quotation or an item begin after this gap?"""
    return end == 0 or (not OPENS.isdisjoint(gap) and before.casefold() not in TITLES)


def figures(token: str) -> list[str]:
    """The numbers of a token that is a quantity, a date, a time or a price."""
    if (worded := WORDED.get(token.casefold())) is not None:
        return [worded]
    if QUANTITY.fullmatch(token):
        return [THOUSANDS.sub("", number) for number in NUMBER.findall(token)]
    return []


def identifies(token: str) -> bool:
    """Is this a thing's exact name: a path, an address, a version, a ticket, a name in code?"""
    if SIGN.fullmatch(token) or "://" in token or token.startswith("www."):
        return True
    if "@" in token[1:] and "." in token:
        return True
    if "_" in token.strip("_") or HUMP.search(token):
        return True
    if any(map(str.isdigit, token)) and any(map(str.isalpha, token)):
        return True
    if "/" in token or "\\" in token:
        return bool(PATH.fullmatch(token)) and (token[0] in "/~." or token.count("/") > 1 or "." in token)
    return bool(FILE.fullmatch(token))


def stands_in(mark: str, text: str) -> bool:
    """Does the text have this mark as a whole, not as part of a longer word?"""
    return mark in text and re.search(rf"(?<!{LETTER}){re.escape(mark)}(?!{LETTER})", text) is not None
