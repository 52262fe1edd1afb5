"""A sentence taken apart into what is said and why: spans of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

SUBJECT = r"(?:i|we|my|our|he|she|they|it|the)\b"
HARD = (
    r"(?:reverted|switched|moved|migrated|dropped|replaced|removed|rolled back|went back|joined|cancell?ed|"
    r"went with|adopted|started using|"
    r"abandoned|stopped|quit|left|chose|picked|are now|is now|am now|now use|now)\b"
)
SPLIT = re.compile(
    rf";\s+|\s+[-–—]{{1,2}}\s+|:\s+(?=(?:i|we|my|our|he|she|they|it)\b['’\s]|the\s+(?:[\w-]+\s+){{1,4}}(?:is|"
    rf"are|was|were|has|will)\b)|(?:,\s*|\s+)(?:but|although|though|whereas|yet|however|"
    rf"while)\s+(?=(?:{SUBJECT}|now|"
    rf"then|that|this|there|recently|last|since|in|after|actually)\b)|"
    rf"(?:,\s*|\s+)(?:and|so|then|and then|and now)\s+(?={SUBJECT}['’\s])|,\s+(?=(?:i|we|my|our|he|she|they|"
    rf"it)\b['’\s])|"
    rf"(?P<inherits>(?:,\s*(?:and\s+|then\s+|but\s+|and then\s+)?|\s+(?:and|then|but|and then)\s+)(?:later\s+|"
    rf"finally\s+|recently\s+)?(?={HARD}))",
    re.IGNORECASE,
)
BECAUSE = re.compile(
    r"[,;]?\s+(?:[-–—]\s*)?(?:(?:mainly|mostly|partly|only|simply|just|all)\s+)?"
    r"(?:because(?:\s+of)?|due to|owing to|thanks to|as a result of|on account of|for the sake of)\s+(?P<cause>\S.*)|"
    r",\s*(?:since|as|given that)\s+(?P<since>(?:i|we|it|they|he|she|the|our|my|that|this|there|nobody|"
    r"everyone)\b.*)|"
    r"[,;]?\s+(?P<purpose>(?:so that|in order to)\s+\S.*)",
    re.IGNORECASE | re.DOTALL,
)
LEADING = re.compile(
    r"\s*(?:because(?:\s+of)?|due to|owing to|thanks to|given that|since|after|when|as)\s+(?P<cause>[^,;]{3,200}),\s*"
    r"(?P<main>(?:then\s+)?(?:i|we|our|my|the)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
TIMED = re.compile(
    r"(?:\d|last|next|this|then|that\b|a (?:while|few|couple|day|week|month|year)|(?:two|three|four|five|six|"
    r"several|some|many) )",
    re.IGNORECASE,
)
CONSEQUENCE = re.compile(
    r"(?P<cause>.{5,300}?)(?:,\s*so(?!\s+(?:that|far|much|many|good|long|what|to|no)\b)|"
    r"[,;]?\s+(?:[-–—]\s*)?(?:and\s+)?(?:which|that|this)(?:['’]s| is| was) why|"
    r"[,;]\s*(?:therefore|hence|consequently)|"
    r"[,;]\s*(?:for that reason|as a result)),?\s+(?P<main>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
THEREFORE = re.compile(
    r"\s*(?:(?:and|so)\s+)?(?:(?:that|this|which)(?:['’]s| is| was) (?:the reason |exactly )?why|for (?:that|"
    r"this) reason,?|because of (?:that|this|it),?|"
    r"as a result,?|therefore,?|hence,?|consequently,?|(?P<so>so))\s+(?P<main>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
REASON = re.compile(
    r"\s*(?:(?:the\s+|my\s+|our\s+|main\s+)*reasons?:\s+|(?:the|our|my)\s+(?:(?:main|real|only|biggest|"
    r"key)\s+)?reason\s+(?:(?:for|behind|why|we|"
    r"i)\b[^,.;]{0,80}?\s+)?(?:is|was|being)[:,]?\s+(?:that\s+)?|"
    r"(?:(?:it|this|that)(?:['’]s| is| was| happened)\s+(?:(?:mainly|mostly|all|just|partly|only)\s+)?)?(?:because|"
    r"due to)(?:\s+of)?\s+)(?P<cause>\S.*)",
    re.IGNORECASE | re.DOTALL,
)


class Part(msgspec.Struct, frozen=True):
    """A clause, and the span of its cause if that stands with it."""

    start: int
    end: int
    cause: tuple[int, int] | None = None
    refers: bool = False  # its cause stands in what was said before; or, of a cause, its effect does
    inherits: bool = False  # it has the subject of the part before
    is_cause: bool = False  # it only says why


def parts(text: str, start: int, end: int) -> Iterator[Part]:
    """The clauses of a sentence, each with its cause."""
    for pattern in (REASON, LEADING, CONSEQUENCE, THEREFORE):
        match = pattern.match(text, start, end)
        if match is None or (pattern is LEADING and TIMED.match(match["cause"])):
            continue
        if pattern is REASON:
            if "," not in match["cause"] or not LEADING.match(text, start, end):
                yield Part(*trimmed(text, *match.span("cause")), refers=True, is_cause=True)
                return
            continue
        if pattern is THEREFORE:
            first, *others = clauses(text, *match.span("main"))
            yield msgspec.structs.replace(first, refers=True)
            yield from others
            return
        cause = trimmed(text, *match.span("cause"))
        if pattern is CONSEQUENCE:
            yield from clauses(text, *cause)
            cause = last_of(text, *cause)
        first, *others = clauses(text, *match.span("main"))
        yield msgspec.structs.replace(first, cause=first.cause or cause)
        yield from others
        return
    yield from clauses(text, start, end)


def clauses(text: str, start: int, end: int) -> list[Part]:
    """The clauses of a span; a "because" belongs to the last one before it."""
    match = BECAUSE.search(text, start, end)
    cause = None
    if match is not None:
        group = next(name for name in ("cause", "since", "purpose") if match[name])
        cause = trimmed(text, *ended(text, *match.span(group)))
        end = match.start()
    found: list[Part] = []
    at, inherits = start, False
    for split in SPLIT.finditer(text, start, end):
        if split.start() > at:
            found.append(Part(*trimmed(text, at, split.start()), inherits=inherits))
        at, inherits = split.end(), bool(split["inherits"])
    found.append(Part(*trimmed(text, at, end), inherits=inherits, cause=cause))
    return found


def ended(text: str, start: int, end: int) -> tuple[int, int]:
    """A cause without what goes on after it."""
    after = re.compile(r";|,\s+(?:so|but|and)\s+|\s+[-–—]\s+", re.IGNORECASE).search(text, start, end)
    return start, after.start() if after else end


def last_of(text: str, start: int, end: int) -> tuple[int, int]:
    """The last clause of a span."""
    found = clauses(text, start, end)
    return found[-1].start, found[-1].end


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without white space, connecting words and punctuation around it."""
    while start < end and (text[start].isspace() or text[start] in ",;:-–—*_"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in ",;:.!?…-–—*_"):
        end -= 1
    return start, end
