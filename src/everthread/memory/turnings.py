"""Clauses that say themselves that something is over or became something else: what was so before, and what is now."""

from __future__ import annotations

import re

import msgspec

from everthread.core.sentences import vocabulary
from everthread.memory.clause import Clause
from everthread.memory.verbs import LIKINGS, STATES, TURNS
from everthread.memory.wording import shape

LONGEST = 7  # words of a thing's name
PHRASE = r"[^,;]{1,80}?"
OLD, NEW = rf"(?P<old>{PHRASE})", rf"(?P<new>{PHRASE})"
END = (
    r"(?=\s*(?:[,;.!?(]|\Z|\s(?:because|since|in|on|last|this|next|after|due|so|and|for|as|from|at|when|which|with|"
    r"now|today|"
    r"yesterday|tomorrow|by|during|over|until)\b))"
)


def pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


FROM_TO = pattern(rf"\s*(?P<about>{PHRASE})??\bfrom {OLD} (?:back )?(?:over )?(?:in)?to {NEW}{END}")
TO_FROM = pattern(rf"\s*(?:over |back )?to {NEW} from {OLD}{END}")
WITH = pattern(rf"\s*{OLD} (?:with|by|for) {NEW}{END}")
BY = pattern(rf"\s*(?:with|by) {NEW}{END}")
FAVOUR = pattern(rf"\s*{OLD} (?:in favou?r of|for) {NEW}{END}")
INSTEAD = pattern(rf"\s*{NEW},? (?:instead of|rather than|in place of) (?:using |on |in |at |to |with )?{OLD}{END}")
NOT_BUT = pattern(
    rf"(?:.*?\bnot )?(?!(?:only|just|merely|simply|yet)\b){OLD},? but (?!also\b)(?:rather )?(?:on |in |at )?{NEW}{END}"
)
BUT_NOT = pattern(rf"\s*{NEW}, (?:and )?not (?!(?:only|just|yet|sure|bad)\b){OLD}\s*(?:[,;.!?]|\Z)")
BACK = pattern(rf"\s*(?P<old>{PHRASE})?\s*\bback (?:in)?to (?:using )?{NEW}{END}")
BACK_ON = pattern(rf"\s*back (?:on|to|with|in|at|using) (?:using )?{NEW}{END}")
CHANGE_TO = pattern(rf"\s*(?P<about>(?:the|our|my) {PHRASE}|{PHRASE})??\s*\b(?:in)?to {NEW}{END}")
OFF = pattern(rf"\s*(?:off(?: of)?|away from|out of) {OLD}{END}")
UP = pattern(rf"\s*up (?:on )?(?!my\b|the (?:fight|idea|hope)){OLD}{END}")
RID_OF = pattern(rf"\s*rid of {OLD}{END}")
OBJECT = pattern(rf"\s*(?:off (?:of )?|away from |from )?{OLD}(?: (?:entirely|altogether|completely))?{END}")
FRAGMENT = pattern(
    r"(?:(?:no|sorry|oops|actually|correction|i meant|i mean|wait|well|and|but|so)[,:]?\s+)*"
    r"(?:(?:it|that)(?:['’]s| is| was)\s+)?(?:"
    r"not (?!(?:only|just|merely|simply|yet|sure|bad)\b)(?P<old>[^,;]{1,40}?)(?:,? but|,)\s+(?!also\b)(?:rather\s+)?"
    r"(?P<new>[^,;]{1,40})|"
    r"(?!(?:nope|yes|yeah|maybe|probably|definitely|sure|ok|"
    r"okay)\b)(?P<new_before>[^,;]{1,40}), not (?P<old_after>[^,;]{1,40}))"
)
ROLLED = pattern(r"\s*(?:it |that |this |everything |the change |the release )?back\b")
ANY_MORE = pattern(r"\b(?:any ?more|any longer)\b")
HABIT = pattern(r"\s*\w+ing\s+(?!(?:and|or|because|in|on|for|since|last|so|at|with)\b)")
LEFT = pattern(r"\s*(?:(?:my|the|our) (?:job|role|position|team|company|project|club)\b|(?-i:[A-Z]))")
DATED = pattern(r"(?:in|on|with|by|at|last|this|next|again|back|yesterday|today|q[1-4])\b")
NOWHERE = pattern(
    r"(?:on|in|out|up|down|away|off|forward|ahead|closer|along|past|around|over|it|that|this|them|him|her|me|us|you|"
    r"everything|"
    r"my|home|work|school|the kids|the house|early|late|behind|each other|one another|ourselves|myself)\b"
)
ABOUT = pattern(r"(?:the|our|my)\s+\S")
AROUND = pattern(
    r"^(?:the|an?|our|my|to|using|in|at|on)\s+|\s+(?:any ?more|any longer|now|instead|entirely|altogether)$"
)
MORE_THAN_A_NAME = vocabulary("who which that and weren't isn't are is was were")

ENDING = vocabulary(
    "drop remove abandon ditch scrap retire cancel deprecate discontinue quit stop leave revert reverse undo"
)
CHANGING = vocabulary("switch migrate move change convert transition rename upgrade downgrade return revert")
MOVING = vocabulary(
    "shift push delay postpone bump reschedule raise increase lower reduce extend shorten"
)  # of dates and amounts
UNDOING = vocabulary("revert undo reverse roll")


class Turn(msgspec.Struct, frozen=True):
    old: str | None
    new: str | None
    about: str | None = None  # what was changed, where that is not the subject: "I changed the timeout to ..."


def turning(text: str, clause: Clause, end: int) -> Turn | None:
    """What a clause says was so, and what it says is so now; None if it says no such thing."""
    rest = text[clause.rest[0] : end]
    found = contrast(rest, clause) or changed(rest, clause)
    if found is None and over(clause, rest) and (match := OBJECT.match(rest)):
        found = Turn(phrase(match["old"]), None)
    if found is not None and (found.old or found.new):
        return found
    undone = clause.verb in UNDOING and clause.tense != "future" and (clause.verb != "roll" or ROLLED.match(rest))
    return Turn(None, None) if undone else None


def fragment(text: str, start: int, end: int) -> Turn | None:
    """A correction that is no clause: "Not Tuesday but Thursday"; "Thursday, not Tuesday"."""
    match = FRAGMENT.fullmatch(text, start, end)
    if match is None:
        return None
    old, new = (match["old"], match["new"]) if match["old"] else (match["old_after"], match["new_before"])
    exact = shape(old)[0] == shape(new)[0] != "words"
    return Turn(phrase(old), phrase(new)) if exact else None


def contrast(rest: str, clause: Clause) -> Turn | None:
    """Not X but Y; Y, not X; Y instead of X."""
    patterns = [INSTEAD]
    if clause.negated or " not " in rest:
        patterns.insert(0, NOT_BUT)
    if clause.verb in STATES | TURNS | LIKINGS:
        patterns.append(BUT_NOT)
    for pattern in patterns:
        if (match := pattern.match(rest.lstrip())) and phrase(match["old"]) and phrase(match["new"]):
            return Turn(phrase(match["old"]), phrase(match["new"]))
    return None


def changed(rest: str, clause: Clause) -> Turn | None:
    """Switched from X to Y, replaced X with Y, moved X to Y, went back to Y, dropped X."""
    verb = clause.verb
    if verb == "give":
        match = UP.match(rest)
        return turn(match) if match and not NOWHERE.match(match["old"]) else None
    if verb == "go" and clause.subject.casefold() not in {"i", "we"} and (match := FROM_TO.match(rest)):
        return turn(match)
    if verb in {"be", "go", "get"}:
        match = BACK_ON.match(rest) or (RID_OF.match(rest) if verb == "get" else None)
        return turn(match) if match else None
    if verb not in TURNS:
        return None
    if (match := FROM_TO.match(rest) or TO_FROM.match(rest)) and phrase(match["old"]) and phrase(match["new"]):
        return turn(match)
    if verb == "replace" and clause.passive:
        match = BY.match(rest)
        return Turn(clause.subject, phrase(match["new"]) if match else None)
    if verb in {"replace", "swap", "trade"} and (match := WITH.match(rest)):
        return turn(match)
    if match := BACK.match(rest):
        return turn(match) if verb == "merge" else Turn(None, phrase(match["new"]))
    if verb in CHANGING and (match := OFF.match(rest)):
        return turn(match)
    if verb in CHANGING | MOVING and (match := CHANGE_TO.match(rest)):
        exact = shape(match["new"])[0] in {"time", "amount"}
        return turn(match) if exact or verb in CHANGING else None
    return ended(rest, clause) if verb in ENDING else None


def turn(match: re.Match[str]) -> Turn | None:
    found = match.groupdict()
    if found.get("new") and NOWHERE.match(found["new"]):
        return None
    about = (found.get("about") or "").strip()
    return Turn(
        old=phrase(found["old"]) if found.get("old") else None,
        new=phrase(found["new"]) if found.get("new") else None,
        about=about if ABOUT.match(about) and phrase(about) else None,
    )


def ended(rest: str, clause: Clause) -> Turn | None:
    """Dropped X, X was dropped, stopped using X, left X for Y."""
    if clause.passive:
        return Turn(clause.subject, None)
    if match := FAVOUR.match(rest) if "favo" in rest or clause.verb in {"leave", "drop", "ditch", "abandon"} else None:
        return turn(match)
    if DATED.match(rest.lstrip()) or (clause.verb == "leave" and not LEFT.match(rest)):
        return None
    habit = HABIT.match(rest) if clause.verb in {"stop", "quit"} else None
    match = OBJECT.match(rest, habit.end() if habit else 0)
    if match and not NOWHERE.match(match["old"]):
        return Turn(phrase(match["old"]), None)
    return None


def over(clause: Clause, rest: str) -> bool:
    """No longer X; not X any more."""
    return "no longer" in clause.adverbs or (clause.negated and ANY_MORE.search(rest) is not None)


def phrase(text: str) -> str | None:
    """A thing's name, without what stands around it; None if it is more than that."""
    text = AROUND.sub("", text.strip(' .,!?"“”'))
    words = text.casefold().split()
    if len(words) > LONGEST or not MORE_THAN_A_NAME.isdisjoint(words[1:]):
        return None
    return text if any(map(str.isalnum, text)) else None
