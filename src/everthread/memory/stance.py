"""What a turn does about what it speaks of: does it say how things are with its speaker, or ask, suppose, plan, decline
a change, speak of others? By closed classes of words (modals, conditions, persons), and words of weighing and keeping.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, get_args

from everthread.core.sentences import sentences
from everthread.memory import refuse
from everthread.memory.wording import AT_HAND, stems

Stance = Literal["states", "asks", "orders", "supposes", "plans", "keeps", "reports"]
STANCES: tuple[Stance, ...] = get_args(Stance)

LONGEST = 1000  # characters of a turn that are looked at
FOR_YOU = re.compile(
    r"\bif (?:you|anyone|anybody|someone|somebody|i|they|people|it)(?:['’]re| are| is| should| ever)* "
    r"(?:ask|need|wonder|want|care|must|matter|help|remember|check|look)\w*\b[^,:;.]*[,:;]?|"
    r"\bin case (?:it|you|anyone|that|this)\b[^,:;.]*[,:;]?|"
    r"\bkeep (?:that |this |it )?in mind(?: that)?\b|\bthat would be\b",
    re.IGNORECASE,
)  # said to the listener, not of the world
SUPPOSES = re.compile(
    r"\b(?:if|unless|whether|suppos(?:e|ing)|assum(?:e|ing)|imagin(?:e|ing)|pretend|hypothetical\w*|what if|wish|as if|"
    r"in theory|theoretically|would|could|might|should (?:i|we)|one day|some ?day|otherwise|for (?:example|instance)|"
    r"ideally|in another life)\b|^\W*(?:(?:let['’]s )?say|picture) (?!hello|hi|no|yes)|\bhad (?:i|we)\b",
    re.IGNORECASE,
)
PLANS = re.compile(
    r"\b(?:intend\w*|plan(?:s|ning|ned)? (?:to|on|for)|think(?:ing)? (?:about|of)|thought (?:about|of)|"
    r"consider(?:s|ing|ed)?|half a mind|tempt(?:ed|ing)|toying|debating|undecided|on the fence|lean\w* toward\w*|"
    r"(?:want|hope|hoping|love|like|dream\w*) to|dream\w* of|propos(?:e|es|ed|al)|suggest\w*|recommend\w*|"
    r"look(?:ed|ing)? (?:into|at)|maybe|perhaps|possibly|probably|hopefully|not sure|unsure|wonder(?:ing)?|options?|"
    r"candidates?|shortlist\w*|idea|discuss(?:ing|ed)?|evaluat\w*|compar(?:e|es|ed|ing|ison)|flirt\w*|eyeing|pitch\w*|"
    r"curious|fancy|keen|sometime|at some point|eventually|in the long run|down the road|we['’]ll see|up in the air|"
    r"not (?:yet )?decided|no decision|nothing (?:is )?decided|proof of concept|prototyp\w+|experiment\w*|trial)\b",
    re.IGNORECASE,
)
KEEPS = re.compile(
    r"\b(?:stay(?:s|ed|ing)?|remain(?:s|ed|ing)?|stick(?:s|ing)?|stuck (?:with|to)|keeping|keep it|"
    r"nothing (?:\w+ )?(?:chang\w+|new|to change)|no changes?|"
    r"(?:not|isn['’]?t|won['’]?t|didn['’]?t|never) (?:be |going to )?happen\w*|decided against|decid\w+ not to|"
    r"declin\w+|resist\w+|reject\w+|refus\w+|turned (?:it |that |them )?down|said no|never (?:did|happened|went|came)|"
    r"thought better|changed my mind about|leave (?:\w+ ){1,3}(?:as|the way|alone|be)|call(?:ed|ing) (?:it )?off|"
    r"fell through|falling through|not going (?:ahead|through)|came to nothing|unchanged|"
    r"same as (?:ever|always|before)|still(?! (?:looking|searching|waiting|no|don['’]?t|open))|after all)\b|"
    r"\b(?:plan|idea|move|switch|change)s?\b.{0,60}\b(?:cancell?ed|dead|off|dropped|shelved|over|postponed|scrapped)\b",
    re.IGNORECASE,
)
OTHERS = (
    r"(?:mother|father|mum|mom|dad|parent|sister|brother|sibling|wife|husband|son|daughter|kid|child|aunt|uncle|cousin|"
    r"nephew|niece|grand\w+|friend|buddy|neighbou?r|colleague|co-?worker|flatmate|roommate|housemate|partner|"
    r"girlfriend|boyfriend|ex|boss|in-law|client|customer|competitor|rival|teammate|classmate)"
)
PERSON = re.compile(
    rf"\b(?:my|our|his|her|their|the|an?|one of (?:my|our))\s+(?:[\w-]+\s+)?(?P<of>{OTHERS})s?\b|"
    rf"\b(?P<whose>{OTHERS})s?['’]s?\b|\b(?P<any>someone|somebody|some people|everyone else)\b",
    re.IGNORECASE,
)
REPORTS = re.compile(
    r"^\W*(?:(?:and|but|so|well|oh|by the way|btw|apparently)\W+)*(?:he|she|they|his|her|their|(?:the )?others?)\b|"
    r"\b(?:the other|another) (?:team|company|office|department|group|project|branch|side)\b|"
    r"\bnot (?:mine|ours|me|us)\b|\bfrom my old\b|\b(?:in|at) (?:my|our) (?:old|last|previous|former)\b|"
    r"\b(?:says?|said|tells?|told|claims?|claimed|swears?|reckons?|heard|read (?:that|about)|according to|apparently|"
    r"rumou?r\w*|article|blog|advert\w*|documentary|podcast|forum)\b",
    re.IGNORECASE,
)


def stances(text: str, about: frozenset[str]) -> frozenset[Stance]:
    """What a turn does in its sentences on a matter."""
    return frozenset(map(stance, on(text, about)))


def on(text: str, about: frozenset[str]) -> list[str]:
    """The sentences that have a word of what is asked about; all of them, if none has."""
    said = split(text[:LONGEST])
    return [one for one in said if stems(one) & about] or list(said)


@lru_cache(maxsize=AT_HAND)
def split(text: str) -> tuple[str, ...]:
    return tuple(one.text for one in sentences(text)) or (text,)


@lru_cache(maxsize=AT_HAND)
def stance(sentence: str) -> Stance:
    bare = FOR_YOU.sub(" ", sentence)
    if refuse.is_question(sentence) and refuse.is_question(bare.strip()):
        return "asks"
    if refuse.TASK.match(bare):
        return "orders"
    if SUPPOSES.search(bare) or refuse.JOKED.search(bare):
        return "supposes"
    if KEEPS.search(bare):
        return "keeps"
    if PLANS.search(bare):
        return "plans"
    return "reports" if REPORTS.search(bare) else "states"


def is_firm(found: Iterable[Stance]) -> bool:
    """Nothing but statements, and what is said beside them."""
    found = set(found)
    return "states" in found and found.isdisjoint({"supposes", "plans", "keeps", "reports"})


def is_telling(found: Iterable[Stance]) -> bool:
    """Not only questions, orders and suppositions."""
    return not set(found) <= {"asks", "orders", "supposes"}


def others_first(text: str, about: frozenset[str]) -> frozenset[str]:
    """The people whom a turn is about: its sentences on a matter begin with them."""
    starts = [PERSON.match(one.lstrip()) for one in on(text, about)]
    return frozenset(name_of(match) for match in starts if match)


def name_of(match: re.Match[str]) -> str:
    return (match["of"] or match["whose"] or match["any"]).casefold()


@lru_cache(maxsize=AT_HAND)
def others(text: str) -> frozenset[str]:
    """The people whom a text speaks of beside its speaker."""
    return frozenset(map(name_of, PERSON.finditer(text[:LONGEST])))
