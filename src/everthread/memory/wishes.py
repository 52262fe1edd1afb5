"""Standing instructions: what a person asks for once and for good."""

from __future__ import annotations

import re

from everthread.core.claim import Draft
from everthread.core.sentences import Sentence, vocabulary
from everthread.memory import refuse
from everthread.memory.parts import trimmed
from everthread.memory.statement import LIKELY, NAMED, SURE, Fields, Passage, drafted, value_at
from everthread.memory.verbs import VERBS, is_past, lemma

DOING = (
    r"(?:use|using|add|adding|write|writing|send|sending|call|calling|answer|answering|reply|replying|include|"
    r"including|say|"
    r"saying|suggest|suggesting|apologi[sz]e|apologi[sz]ing|ask|asking)"
)
LASTING = re.compile(
    r"\b(?:from now on|in (?:the )?future|going forward|from here on|whenever|every time|each time|by default|"
    r"at all times)\b|"
    r"^(?:(?:please|and|but|also|so|ok|okay)[, ]+)*(?:always|never|do not ever|don['’]t ever)\b|"
    r"\b(?:please|you (?:should|must)) (?:always|never)\b|^(?:please )?(?:call|address) me\b",
    re.IGNORECASE,
)
WISH = re.compile(
    rf"^(?:please[, ]+)?(?:(?:don['’]t|do not|never|stop|avoid|always|only) {DOING}|"
    r"(?:answer|reply|respond|write|speak|talk)(?: to me)?(?: only)? (?:in|briefly|concisely|shortly)|"
    r"(?:keep|make) (?:your |the |all )?(?:answers|replies|responses)|"
    r"use (?:metric|imperial|celsius|british|american|simple|short|plain)|(?:stop|avoid) \w+ing)\b",
    re.IGNORECASE,
)
THIS_ONE = re.compile(r"\b(?:this|that|these|here|below|above|following|it)\b", re.IGNORECASE)
COMMAND = re.compile(
    r"\b(?:please|always|never|don['’]t|do not|you (?:should|must)|call|address|use|answer|reply|respond|write|keep|"
    r"include|add|"
    r"format|remind|"
    r"tell|give|show|send|ask|avoid|stop|say|explain|check|start|assume|put|sign|speak|translate|double-check)\b",
    re.IGNORECASE,
)
ASKED = re.compile(
    r"(?<![iI] )\b(?:(?P<sign>(?i:always|never|please|only|don['’]t ever|don['’]t|do not|stop|avoid)) )?"
    rf"(?P<verb>(?i:{DOING}|respond|speak|talk|keep|format|give|show|remind|put))\b(?: to me| only)*"
    r"(?: in (?P<language>[A-Z]\w+)| (?P<what>[^.!?;\n]{2,80}))"
)
ABSOLUTE = re.compile(r"\b(?:always|never|ever)\Z", re.IGNORECASE)
CHEERS = vocabulary(
    "quit give forget stop lose let doubt underestimate be been have had know knew mind fear look trust believe nice",
    "good great",
    "a an the my fun happy worth wanted thought",
)
DONT = frozenset({"never", "don't", "do not", "don't ever", "stop", "avoid"})


def cheers(rest: str) -> bool:
    """ "Never give up", "never saw this coming": said to a friend, or of oneself."""
    words = re.findall(r"[\w'’]+", rest[:60].casefold())
    return (
        not words or words[0] in CHEERS or is_past(words[0]) or (words[0] not in VERBS and not COMMAND.match(words[0]))
    )


def standing(passage: Passage, sentence: Sentence) -> Draft | None:
    """A sentence as an instruction that is meant to last, if it is one."""
    text = sentence.text
    if (
        text.casefold().startswith("let me know")
        or refuse.is_question(text)
        or refuse.is_hearsay(text)
        or refuse.is_personal(text)
    ):
        return None
    lasting = LASTING.search(text)
    if lasting and COMMAND.search(text) and not (ABSOLUTE.search(lasting[0]) and cheers(text[lasting.end() :])):
        confidence = SURE
    elif WISH.match(text) and not THIS_ONE.search(text):
        confidence = LIKELY
    else:
        return None
    start, end = trimmed(passage.text, sentence.start, sentence.end)
    fields: Fields = {}
    if name := NAMED.search(passage.text, start, end):
        fields = {"subject": "I", "attribute": "name", "value": name["name"]}
    elif asked := ASKED.search(passage.text, start, end):
        fields = {
            "subject": "you",
            "attribute": lemma(asked["verb"]) + (" in" if asked["language"] else ""),
            "value": asked["language"] or value_at(passage, *asked.span("what")),
            "negated": (asked["sign"] or "").casefold().replace("’", "'") in DONT,
        }
    return drafted(passage, "instruction", start, end, confidence=confidence, **fields)
