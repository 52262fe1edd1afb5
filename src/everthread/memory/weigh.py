"""How much speaks for a new statement being about the same thing as an earlier one, with another value.

Rules know too few ways of saying things. Here many small signs add up: how similar the sentences are, what they have in
common that no other candidate has, the kind of their values, who they are about, and the words that speak of a change.
The weights are rounded from a logistic regression over the working family (evals/working.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from everthread.core.claim import Claim, Draft
from everthread.memory import cues
from everthread.memory.wording import AT_HAND, SORT_OF, WORD, kinds, says, stems, subject_key

# From which weight on a claim may be about the same thing, is replaced, and is not the only one.
RELATED, CERTAIN, BESIDES = -2.5, 0.7, 3.0

START = -7.2
SIMILAR = 5.0  # times the cosine
NEAREST, NEAR = 2.5, 0.25  # no other candidate is as similar, and it is similar at all
TODAY, CHANGE = 2.0, 3.5  # it speaks of how things are now; of a change
TURNING_SIMILAR = 3.0  # either, times the cosine
SUBJECT, OTHER_SUBJECT = 2.0, -2.0  # the same thing is the subject; or another
OTHER_PERSON = -9.0  # "my sister's ..."
OTHER_SELF = -1.5  # one speaks of "me", the other does not
OTHER_SPEAKER = -4.5  # twice that if either speaks of himself
KIND_MISSING, OTHER_KIND = -2.0, -2.0  # of a value: a day, a time, an amount
SORT = 4.0  # both name a database, a cloud, a diet
NAMED = 1.3  # names stand in both, or in neither
ENDS, ENDS_ANOTHER = 1.2, -2.0  # the statement says what is over, and it is this; or it is not
RARE, MOST_RARE, RAREST = 0.7, 2.0, 0.5  # words in common that few other candidates have
AS_WELL = -2.0

KIN = (
    r"(?:mother|father|mum|mom|dad|parents?|sister|brother|wife|husband|son|daughter|aunt|uncle|cousin|nephew|niece|"
    r"grand\w+|friend|neighbou?rs?|colleague|coworker|flatmate|roommate|partner|girlfriend|boyfriend)"
)
PERSON = re.compile(
    rf"\b(?:my|our|his|her|their|the)\s+(?:\w+\s+)?(?P<of>{KIN})\b|\b(?P<whose>{KIN})['’]s\b", re.IGNORECASE
)
PRONOUN = re.compile(r"\b(?:he|she|they|him|her|them|it)\b", re.IGNORECASE)
MINE = re.compile(r"\b(?:i|my|me|mine|myself)\b", re.IGNORECASE)
NAME = re.compile(r"\S\s+[A-Z0-9][\w&.+-]*")
OF = re.compile(r" (?:of|in|for|to|at|on|with) ")


class Candidate(msgspec.Struct, frozen=True):
    """A claim that is open, with what it took the place of: the chain of one fact."""

    head: Claim
    earlier: tuple[Claim, ...] = ()
    similar: float = 0.0  # to the nearest of them

    @property
    def claims(self) -> tuple[Claim, ...]:
        return (self.head, *self.earlier)


class Weighed(msgspec.Struct, frozen=True):
    candidate: Candidate
    weight: float


def weighed(new: Claim, draft: Draft, candidates: Sequence[Candidate]) -> list[Weighed]:
    """The candidates with their weights, the heaviest first."""
    if not candidates:
        return []
    own = stems(new.quote)
    words = [frozenset[str]().union(*(stems(claim.quote) for claim in one.claims)) for one in candidates]
    spread = Counter(word for some in words for word in some & own)
    rare = [sum(1 / spread[word] for word in some & own) for some in words]
    nearest, rarest = max(one.similar for one in candidates), max(rare)
    found = []
    for one, common in zip(candidates, rare, strict=True):
        weight = compared(new, draft, one) + RARE * min(common, MOST_RARE)
        weight += NEAREST * (one.similar >= max(nearest, NEAR)) + RAREST * (common >= rarest > 0)
        found.append(Weighed(one, weight))
    return sorted(found, key=lambda one: -one.weight)


def is_likely(new: Claim, draft: Draft, one: Candidate) -> bool:
    """Can it be about the same thing at all? What only happened, or was liked, is changed by nothing but words of a
    change; of two statements without such words, both must name something in common."""
    if draft.turning == "hard" or (draft.turning != "none" and cues.says_change(new.quote)):
        return True
    if {"event", "preference"} & {new.kind, one.head.kind}:
        return False
    own, kinds_of_thing = stems(new.quote), sorts(new.quote)
    return any(own & stems(claim.quote) or kinds_of_thing & sorts(claim.quote) for claim in one.claims)


def compared(new: Claim, draft: Draft, one: Candidate) -> float:
    """What speaks for one candidate, whatever the others are."""
    weight = START + SIMILAR * one.similar
    if draft.turning != "none":
        changes = draft.turning == "hard" or cues.says_change(new.quote)
        weight += (CHANGE if changes else TODAY) + TURNING_SIMILAR * one.similar
    if draft.replaces:
        weight += ENDS if says(one.head.quote, draft.replaces) else ENDS_ANOTHER
    weight += about(new, one) + valued(new, one)
    return weight + AS_WELL * (cues.AS_WELL.search(new.quote) is not None)


def about(new: Claim, one: Candidate) -> float:
    """Whom and what both speak of."""
    weight = 0.0
    subject = thing(new)
    if subject and any(thing(claim) == subject for claim in one.claims):
        weight += SUBJECT
    elif all(apart(new, claim) for claim in one.claims):
        weight += OTHER_SUBJECT
    if all(other_person(new, claim) for claim in one.claims):
        weight += OTHER_PERSON
    if all(is_mine(new.quote) != is_mine(claim.quote) for claim in one.claims):
        weight += OTHER_SELF
    if new.speaker != one.head.speaker:
        personal = is_mine(new.quote) or any(is_mine(claim.quote) for claim in one.claims)
        weight += OTHER_SPEAKER * (2 if personal else 1)
    return weight


def valued(new: Claim, one: Candidate) -> float:
    """What kinds of values both have."""
    weight = NAMED * (named(new.quote) == named(one.head.quote))
    ours, theirs = value_kinds(new), value_kinds(one.head)
    if bool(ours) != bool(theirs):
        weight += KIND_MISSING
    elif ours and not ours & theirs:
        weight += OTHER_KIND
    if any(sorts(new.quote) & sorts(claim.quote) for claim in one.claims):
        weight += SORT
    return weight


def thing(claim: Claim) -> str | None:
    """The subject, if it is more than "I" or "we"."""
    key = subject_key(claim.subject, claim.speaker)
    return None if key in {None, "we", "i", claim.speaker.casefold()} else key


def apart(new: Claim, old: Claim) -> bool:
    """Do they have different things as subjects, and neither speaks of the other's?"""
    one, other = thing(new), thing(old)
    if not one or not other:
        return False
    if head(one) == head(other):
        beside, besides = stems(one) - head(one), stems(other) - head(other)
        return bool(beside) and bool(besides) and not beside & besides
    return not (head(one) & stems(old.quote)) and not (head(other) & stems(new.quote))


def alike(new: Claim, old: Claim) -> bool:
    """Do they name something in common, or values of one kind?"""
    return bool(
        stems(new.quote) & stems(old.quote)
        or sorts(new.quote) & sorts(old.quote)
        or value_kinds(new) & value_kinds(old)
    )


def head(noun: str) -> frozenset[str]:
    """The noun itself, of what may be around it."""
    return stems(OF.split(noun, maxsplit=1)[0].split()[-1])


def other_person(new: Claim, old: Claim) -> bool:
    ours, theirs = people(new.quote), people(old.quote)
    return ours != theirs and not (ours <= theirs and PRONOUN.search(new.quote))


@lru_cache(maxsize=AT_HAND)
def people(text: str) -> frozenset[str]:
    return frozenset((match["of"] or match["whose"]).casefold() for match in PERSON.finditer(text))


@lru_cache(maxsize=AT_HAND)
def sorts(text: str) -> frozenset[str]:
    return frozenset(SORT_OF[word] for word in WORD.findall(text.casefold()) if word in SORT_OF)


def is_mine(text: str) -> bool:
    return MINE.search(text) is not None


def named(text: str) -> bool:
    return NAME.search(text) is not None


def value_kinds(claim: Claim) -> frozenset[str]:
    """The kinds of what is said of the subject; what is in the subject's own name is not part of it."""
    text = claim.quote
    if claim.subject and claim.attribute:
        text = text.replace(claim.subject, " ", 1)
    return kinds(text)
