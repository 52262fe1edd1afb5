"""Statements that no rule takes apart: kept whole and little believed, so that a later one has something to reverse."""

from __future__ import annotations

import re

from everthread.core.claim import Draft
from everthread.core.sentences import Sentence
from everthread.memory import cues, refuse
from everthread.memory.parts import Part, parts, trimmed
from everthread.memory.statement import LOOSE, NOT_A_SUBJECT, VAGUE, Fields, Passage, drafted
from everthread.memory.wording import kinds, stems

LONGEST = 240  # characters of a statement that is kept whole
SHORTEST = 2  # words with a meaning
FEW = 8  # words of a correction
ANCHOR = re.compile(
    r"\b(?:i|we|my|our|us|me|mine|ours)\b|^\W*(?:the|his|her|their|all|every|everything|these)\s",
    re.IGNORECASE,
)
THE = re.compile(r"\sthe\s", re.IGNORECASE)
NAME = re.compile(r"\S\s+(?:[^\W\da-z_][\w&.+-]+)")
LABEL = re.compile(
    r"(?:(?:about|update on|regarding|re|on|for|concerning|new|note on|news on|news about)\s+)?"
    r"(?P<subject>[^:=.!?,]{2,50}?)(?:\s+again)?\s*(?::|=)\s+(?P<value>(?!(?:it|i|we|my|our)\b)[^=!?]{1,60})",
    re.IGNORECASE,
)
NO_LABEL = re.compile(
    r"(?:hi|hello|hey|ok|okay|ps|p\.s\.|edit|typo|correction|reason|the reason|question|quick|summary|"
    r"small change|change of plan|update|there is)\b",
    re.IGNORECASE,
)
GREETING = re.compile(
    r"(?:thanks?|thank you|great|ok|okay|cool|nice|perfect|cheers|good|lol|haha|wow|hi|hello|hey|bye|see you|morning|"
    r"yes|yeah|sure|me again|quick note|just keeping|let me|anyway|how are)\b",
    re.IGNORECASE,
)
LEADING = re.compile(r"(?:(?:sorry|actually|no|well|so|and|but|wait|hm+|now|oh|ah|oops)\W+)*", re.IGNORECASE)
FEELING = re.compile(
    r"(?:(?:i|we|it|that|this|everybody|everyone)(?:['’](?:m|re|s)| am| are| is| was| were| feel| felt)?\s+)",
    re.IGNORECASE,
)
EMPTY = re.compile(
    r"(?:like|love|hate|enjoy|agree|appreciate|see|know|get|moved to|need|want|hope|wish|think|thought)\b\s*"
    r"(?:it|that|this|the (?:idea|point)|to|with)?\b",
    re.IGNORECASE,
)
WEIGHING = re.compile(
    r"\b(?:would|could|might|ought|(?:should|must)(?! (?:mention|say|add|tell|note|point)))\b", re.IGNORECASE
)
MEANT = re.compile(r"\bi (?:mean|meant|mixed|got|was|wrote)\b.*|make (?:that|it)\b", re.IGNORECASE)
ONWARD = re.compile(r"\b(?:it|that|they|he|she)(?:['’](?:s|re)| is| are| will be| gets?)\b", re.IGNORECASE)
GOES_ON = re.compile(
    r"(?:it|that|this|they|he|she|these|those)(?:['’](?:s|re)| is| are| will be| has| have| lives?| goes| gets?)\b"
    r"(?!\s+(?:been|not|why|because|all|just|only)\b)",
    re.IGNORECASE,
)


def whole(passage: Passage, sentence: Sentence, before: Sentence | None, start: int) -> Draft | None:
    """A sentence, without its cause, as one statement; with the sentence before it if it says "it is ..."."""
    text = passage.text
    first, last, fields = reasoned(passage, start, sentence.end, before)
    first, last = trimmed(text, first, last)
    said = text[first:last]
    lead = LEADING.match(said)
    bare = said[lead.end() :] if lead else said
    if not 2 < len(said) <= LONGEST or refuse.is_another(said) or GREETING.match(said):
        return None
    if not is_told(bare) and not cues.FIXING.match(said):
        return None
    if before is not None and GOES_ON.match(bare) and before.end - before.start < LONGEST and "\n" not in said:
        first = trimmed(text, before.start, sentence.end)[0]
        return drafted(passage, "fact", first, last, turning=cues.turning(text[first:last]), confidence=LOOSE, **fields)
    if before is None and GOES_ON.match(bare):
        return drafted(passage, "fact", first, last, turning="soft", corrects=True, confidence=LOOSE, **fields)
    if (label := LABEL.fullmatch(said)) and not NO_LABEL.match(said) and stems(label["subject"]):
        fields |= {"subject": label["subject"], "attribute": "is", "value": label["value"]}
    elif len(said.split()) <= FEW and (cues.FIXING.search(said) or len(said.split()) <= 3) and not anchored(said):
        if kinds(said) or cues.FIXING.search(said):
            return drafted(passage, "fact", first, last, turning="soft", corrects=True, confidence=LOOSE, **fields)
        return None
    elif not tells(said):
        return None
    return drafted(passage, "fact", first, last, turning=cues.turning(said), confidence=LOOSE, **fields)


def anchored(said: str) -> bool:
    return ANCHOR.search(MEANT.sub("", said)) is not None


def goes_on(tail: str) -> bool:
    """Does it say what the thing before is: "it's ...", "since yesterday it is ..."?"""
    return ONWARD.search(tail) is not None


def tells(said: str) -> bool:
    """Has it somebody or something particular that it is about?"""
    return len(stems(said)) >= (1 if cues.says_change(said) else SHORTEST) and (
        ANCHOR.search(said) is not None
        or bool(kinds(said))
        or NAME.search(said) is not None
        or (len(stems(said)) > SHORTEST and THE.search(said) is not None)
        or cues.says_change(said)
    )


def is_told(said: str) -> bool:
    """Is it more than a mood?"""
    feeling = FEELING.match(said)
    rest = said[feeling.end() :] if feeling else said
    if refuse.is_opinion(rest) or VAGUE.fullmatch(rest) or EMPTY.match(rest) or NOT_A_SUBJECT.match(said):
        return False
    return WEIGHING.search(said) is None or bool(kinds(said))


def reasoned(passage: Passage, start: int, end: int, before: Sentence | None) -> tuple[int, int, Fields]:
    """Where the statement itself stands in its sentence, and its cause."""
    found: list[Part] = list(parts(passage.text, start, end))
    fields: Fields = {}
    first = 0
    for number, part in enumerate(found):
        if part.cause is not None and part.cause[1] > part.cause[0]:
            fields = {"because": passage.text[slice(*part.cause)]}
            if part.cause[1] <= part.start:
                first = number
    if found[0].refers and not fields:
        if before is None:
            fields = {"refers": True}
        elif not refuse.declines(before.text):
            fields = {"because": passage.text[slice(*trimmed(passage.text, before.start, before.end))]}
    return found[first].start, found[-1].end, fields
