"""A message's text as sentences: spans of it, found in one pass whatever it holds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import msgspec


def vocabulary(*words: str) -> frozenset[str]:
    return frozenset(" ".join(words).split())


LONGEST = 400  # characters of one sentence; a longer one is cut into pieces, between words
WRAPPED = 50  # a line at least this long that goes on in lower case was wrapped, not ended

END = re.compile(r"[.!?…]+[\"'”’»)\]]*|[。！？；]+[”’」』）]*")
NEW_BLOCK = re.compile(r"\s*(?:[-*•+>|#]|\d{1,3}[.)](?:\s|$)|\Z)")
BULLET = re.compile(r"[-*•+>#|\s]*(?:\d{1,3}[.)]\s+)?(?:\[[ xX]\]\s+)?")
FENCE = re.compile(r"^[ \t]{0,8}(?:```|~~~)", re.MULTILINE)
JOINERS = "\u200d\ufe0e\ufe0f"  # what ties code points into one picture
ABBREVIATIONS = vocabulary(
    "mr mrs ms dr prof st sr jr vs etc approx ca cf fig no nr art inc ltd co corp dept est vol pp ed al e.g i.e eg ie"
    " z.b d.h u.a bzw usw ggf evtl inkl exkl tel str hr fr jan feb mar apr jun jul aug sep sept oct nov dec"
    " a.m p.m u.s u.k m mme mlle p.ex max min"
)


class Sentence(msgspec.Struct, frozen=True, gc=False):
    start: int
    end: int
    text: str  # what stands there, with single spaces
    code: bool = False


DOCUMENT = re.compile(
    r"(?:^|\n)### Task:.*|<(?:context|documents?|source|file)\b[^>]*>.*</(?:context|documents?|source|file)>", re.DOTALL
)  # one that was put into a message beside somebody's words


def own_words(text: str) -> str:
    """What a person wrote: the question alone, where a UI wrapped documents around it."""
    start, end = own_span(text)
    return text[start:end]


def own_span(text: str) -> tuple[int, int]:
    """Where those words stand."""
    if not text.lstrip().startswith("### Task:"):
        document = DOCUMENT.search(text)
        if document is None:
            return 0, len(text)
        before, after = (0, document.start()), (document.end(), len(text))
        return max(before, after, key=lambda span: len(text[slice(*span)].strip()))
    for opening, closing in (("<user_query>", "</user_query>"), ("</context>", "")):
        at = text.rfind(opening)
        if at >= 0:
            start = at + len(opening)
            end = text.rfind(closing, start) if closing else -1
            return start, len(text) if end < 0 else end
    return (0, 0) if "<source" in text or "<context>" in text else (0, len(text))


def squeezed(text: str) -> str:
    return " ".join(text.split())


def sentences(text: str) -> Iterator[Sentence]:
    """Its sentences in order; together they hold every letter and number of the text."""
    code = False
    start = 0
    for fence in FENCE.finditer(text):
        yield from (lined if code else prose)(text, start, fence.start())
        start = text.find("\n", fence.start()) + 1 or len(text)
        code = not code
    yield from (lined if code else prose)(text, start, len(text))


def lined(text: str, start: int, end: int) -> Iterator[Sentence]:
    """Code: a line is a sentence."""
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        yield from pieces(text, start, stop, code=True)
        start = stop + 1


def prose(text: str, start: int, end: int) -> Iterator[Sentence]:
    while start < end:
        stop = paragraph(text, start, end)
        begin = BULLET.match(text, start, stop)
        first = start = begin.end() if begin else start
        for mark in END.finditer(text, start, stop):
            if ends(text, first, mark, stop):
                yield from pieces(text, start, mark.end())
                start = mark.end()
        yield from pieces(text, start, stop)
        start = stop + 1


def paragraph(text: str, start: int, end: int) -> int:
    """Where the lines that belong together end."""
    stop = text.find("\n", start, end)
    while stop >= 0:
        after = text[stop + 1 : stop + 2]
        if stop - start < WRAPPED or not after.islower() or NEW_BLOCK.match(text, stop + 1, end):
            return stop
        start, stop = stop + 1, text.find("\n", stop + 1, end)
    return end


def ends(text: str, first: int, mark: re.Match[str], stop: int) -> bool:
    """Is this full stop the end of a sentence, and not of an abbreviation, an initial or a number?"""
    at = mark.end()
    if mark[0][0] in "。！？；":
        return True
    if at < stop and not text[at].isspace():
        return False
    following = text[at : at + 40].lstrip()[:1]
    if following.islower():
        return False
    if mark[0] != ".":
        return True
    words = text[max(first, mark.start() - 20) : mark.start()].split()
    word = words[-1].lstrip("(\"'“‘«[").casefold() if words else ""
    return word not in ABBREVIATIONS and not (len(word) == 1 and word.isalpha())


def pieces(text: str, start: int, end: int, *, code: bool = False) -> Iterator[Sentence]:
    """The span as one sentence, or as several when it is too long to be one."""
    while end - start > LONGEST:
        cut = between_words(text, start, start + LONGEST)
        yield from piece(text, start, cut, code)
        start = cut
    yield from piece(text, start, end, code)


def piece(text: str, start: int, end: int, code: bool) -> Iterator[Sentence]:
    squeezed_text = squeezed(text[start:end])
    if any(map(str.isalnum, squeezed_text)):
        yield Sentence(start, end, squeezed_text, code)


def between_words(text: str, start: int, limit: int) -> int:
    """The last place before the limit where a word, or at least a visible character, ends."""
    for marks in (",;:、，", " \t\n"):
        cut = max(text.rfind(mark, start + LONGEST // 2, limit) for mark in marks) + 1
        if cut:
            return cut
    cut = limit
    while cut > start + LONGEST // 2 and tied(text[cut - 1], text[cut]):
        cut -= 1
    return cut


def tied(before: str, after: str) -> bool:
    return bool(unicodedata.combining(after)) or before == "\u200d" or after in JOINERS
