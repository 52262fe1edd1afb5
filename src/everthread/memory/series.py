"""What answers a question, in the order in which it was said: the newest of it holds, what came before it did.

Nobody needs to say that something changed. Turns that answer the same question are told from all others by small signs
that add up: how near they are to the question and to its best answer; whether they say how things are, or only ask,
suppose or plan (`stance.py`); the kind of their values; what was being spoken of, where a turn says little by itself;
and the links that were found when they were read. So each turn has a chance of being an answer, and of being the
newest. The weights are rounded from a logistic regression."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta

import msgspec

from everthread.core.claim import Claim
from everthread.core.ids import StepId
from everthread.core.memory import Passage
from everthread.memory import cues
from everthread.memory.rank import Question, Ranked
from everthread.memory.stance import STANCES, is_firm, is_telling, others, others_first, stances
from everthread.memory.weigh import is_mine
from everthread.memory.wording import kinds, stems

MOST, MOST_EARLIER = 40, 6  # turns that are looked at; that are shown beside what holds
LEAST = 0.2  # cosine of the best answer: below it nothing is known to be one
LIKELY, POSSIBLE = 0.4, 0.2  # chances: of being the newest answer; of being an answer at all
FEW, SOON = 8, timedelta(minutes=30)  # a turn of so few words may lean on the one before it, within that time
LONG = 2.5  # times the usual length: a turn that may say one thing among many
FAR = 0.25  # of the best cosine: what has less is no answer
UNSURE = 0.7  # what the cosine of a turn counts that does not say how things are

WEIGHTS = {
    "best": 5.2,  # its cosine with the question, as a share of the best one
    "near": 3.7,  # its cosine with the best answer
    "states": 1.9,
    "plans": -1.0,
    "keeps": -1.4,
    "after_question": 7.2,  # few words after a turn that speaks of it: times the cosine of that one
    "after_statement": 8.3,  # the same after a statement, if they say that they put it right
    "no_time": -0.6,  # a time is asked for, or an amount, and it has none
    "no_amount": -2.8,
    "other_kind": -1.1,  # its values are of another kind than those of the best answer
    "length": 1.5,  # times the usual one: the more a turn says, the less like the question it is as a whole
}
START = -9.4
LINKED = 2.3  # a claim of it took the place of one in a likely turn, or gave way to it

PAST = re.compile(r"\b(?:did|was|were|had|used to|originally|back then|happened)\b", re.IGNORECASE)
WHEN = re.compile(r"\b(?:when|(?:what|which) (?:day|date|time|month|year)|deadline|due)\b", re.IGNORECASE)
HOW_MUCH = re.compile(r"\bhow (?:much|many|long|far|often|large|big)\b", re.IGNORECASE)
TIMES = frozenset({"day", "date", "clock"})


class Turn(msgspec.Struct, frozen=True):
    """A turn that may answer the question."""

    passage: Passage
    similar: float  # to the question
    firm: bool  # it says how things are, and nothing else
    tells: bool  # it says something of its speaker's that could be an answer
    signs: Mapping[str, float]

    @property
    def fit(self) -> float:
        return self.similar if self.firm else UNSURE * self.similar if self.tells else 0.0


class Series(msgspec.Struct, frozen=True):
    """What holds, and what held before it; or, where that is not clear, what one of which does: the newest first."""

    current: Passage | None = None
    earlier: tuple[Passage, ...] = ()
    unresolved: tuple[Passage, ...] = ()

    @property
    def passages(self) -> tuple[Passage, ...]:
        return (*((self.current,) if self.current else ()), *self.earlier, *self.unresolved)


def turns(ranked: Sequence[Ranked], question: Question, claims: Sequence[Claim] = ()) -> list[Turn]:
    """What people said that may answer the question, the oldest first; nothing if it asks for what is past."""
    if PAST.search(question.text):
        return []
    about, known = stems(question.text), others(question.text)
    corrected = by_hand(claims)
    said = [one for one in ranked if one.passage.role == "user" and one.passage.step not in corrected][:MOST]
    usual = sum(len(one.passage.text.split()) for one in said) / max(len(said), 1)
    found = []
    for one in worth_reading(said):
        did = stances(one.passage.text, about)
        beside = bool(others(one.passage.text) - known)
        signs: dict[str, float] = {name: float(name in did) for name in STANCES}
        signs["length"] = min(len(one.passage.text.split()) / (usual or 1.0), LONG)
        tells = is_telling(did) and others_first(one.passage.text, about) <= known
        found.append(Turn(one.passage, one.similar, is_firm(did) and not beside, tells, signs))
    best = anchor(found)
    if best is None or best.similar < LEAST:
        return []
    return sorted(
        (turn for turn in found if one_voice(turn.passage, best.passage)),
        key=lambda turn: (turn.passage.said_at, turn.passage.seq, turn.passage.no),
    )


def worth_reading(said: Sequence[Ranked]) -> list[Ranked]:
    """Those that are similar enough to the question to be an answer at all, and those that may lean on one of them."""
    least = FAR * max((one.similar for one in said), default=0.0)
    similar = {(one.passage.lineage, one.passage.seq) for one in said if one.similar >= least}
    return [
        one
        for one in said
        if one.similar >= least
        or (len(one.passage.text.split()) <= FEW and (one.passage.lineage, one.passage.seq - 1) in similar)
    ]


def by_hand(claims: Sequence[Claim]) -> set[StepId]:
    """The steps of which a person took something back, or put it right."""
    noted = {claim.id for claim in claims if claim.author == "person"}
    return {
        claim.step
        for claim in claims
        if claim.step is not None and (claim.state == "retracted" or claim.superseded_by in noted)
    }


def one_voice(passage: Passage, best: Passage) -> bool:
    """Did the same person say it, or do both speak of what they share?"""
    return passage.speaker == best.speaker or not (is_mine(passage.text) or is_mine(best.text))


def anchor(found: Sequence[Turn]) -> Turn | None:
    """The turn that answers best."""
    return max(found, key=lambda turn: turn.fit, default=None)


def series(
    found: Sequence[Turn], question: Question, near: Mapping[int, float], claims: Sequence[Claim] = ()
) -> Series:
    """What holds of the turns; `near` says how similar each passage is to the anchor, by number."""
    weights = [weight(signs) for signs in signs_of(found, question, near)]
    chances = linked(found, weights, claims)
    newest, chance, none_later = 0, 0.0, 1.0
    for at in reversed(range(len(found))):
        if chances[at] * none_later > chance:
            newest, chance = at, chances[at] * none_later
        none_later *= 1 - chances[at]
    likely = [turn.passage for turn, one in zip(found, chances, strict=True) if one >= POSSIBLE]
    if chance >= LIKELY:
        current = followed(found[newest].passage, found, claims)
        return Series(current, tuple(one for one in reversed(likely) if before(one, current))[:MOST_EARLIER])
    if len(likely) > 1:
        return Series(unresolved=tuple(reversed(likely))[:MOST_EARLIER])
    best = anchor(found)
    return Series(best.passage) if best is not None and best.firm and is_alone(best, found) else Series()


def is_alone(best: Turn, found: Sequence[Turn]) -> bool:
    """Was nothing else said since that could be about it?"""
    return not any(turn.tells and before(best.passage, turn.passage) for turn in found)


def followed(passage: Passage, found: Sequence[Turn], claims: Sequence[Claim]) -> Passage:
    """The turn that is known to have taken its place, if it may be an answer itself."""
    by_id = {claim.id: claim for claim in claims}
    later = {
        by_id[claim.superseded_by].step
        for claim in claims
        if claim.step == passage.step and claim.state == "reversed" and claim.superseded_by in by_id
    }
    newer = [
        turn.passage for turn in found if turn.tells and turn.passage.step in later and before(passage, turn.passage)
    ]
    return followed(newer[-1], found, claims) if newer else passage


def before(one: Passage, other: Passage) -> bool:
    return (one.said_at, one.seq, one.no) < (other.said_at, other.seq, other.no)


def weight(signs: Mapping[str, float]) -> float:
    return START + sum(WEIGHTS.get(name, 0.0) * sign for name, sign in signs.items())


def chance_of(weight: float) -> float:
    return 1 / (1 + math.exp(-weight))


def linked(found: Sequence[Turn], weights: Sequence[float], claims: Sequence[Claim]) -> list[float]:
    """Their chances, with what the links between their claims speak for."""
    chances = [chance_of(weight) if turn.tells else 0.0 for turn, weight in zip(found, weights, strict=True)]
    places = {turn.passage.step: at for at, turn in enumerate(found)}
    steps = {claim.id: claim.step for claim in claims}
    pairs = [
        (places.get(claim.step), places.get(steps[claim.superseded_by]))
        for claim in claims
        if claim.superseded_by in steps and claim.step is not None
    ]
    best = [0.0] * len(found)
    for one, other in pairs:
        if one is not None and other is not None and one != other:
            best[one], best[other] = max(best[one], chances[other]), max(best[other], chances[one])
    return [
        chance_of(weight + LINKED * link) if turn.tells else 0.0
        for turn, weight, link in zip(found, weights, best, strict=True)
    ]


def signs_of(found: Sequence[Turn], question: Question, near: Mapping[int, float]) -> list[dict[str, float]]:
    """What speaks for each turn being an answer, and against it."""
    best = anchor(found)
    if best is None:
        return []
    closest = max((near.get(turn.passage.no, 0.0) for turn in found if turn is not best), default=0.0)
    expected = kinds(best.passage.text)
    timed, counted = WHEN.search(question.text) is not None, HOW_MUCH.search(question.text) is not None
    signs: list[dict[str, float]] = []
    for last, turn in zip((None, *found), found, strict=False):
        text, own = turn.passage.text, kinds(turn.passage.text)
        spoken = max(last.similar, 0.0) if last is not None and leans(turn.passage, last.passage) else 0.0
        signs.append(
            {
                **turn.signs,
                "best": turn.similar / max(best.fit, LEAST),
                "near": closest if turn is best else near.get(turn.passage.no, 0.0),
                "after_question": spoken if last is not None and not last.firm else 0.0,
                "after_statement": spoken if last is not None and last.firm and puts_right(text) else 0.0,
                "no_time": float(timed and not own & TIMES),
                "no_amount": float(counted and not own),
                "other_kind": float(bool(own) != bool(expected) or bool(own and not own & expected)),
            }
        )
    return signs


def leans(passage: Passage, last: Passage) -> bool:
    """Does a turn say so little that it is about what the one just before it was about?"""
    follows = passage.lineage == last.lineage and passage.seq - last.seq == 1 and passage.said_at - last.said_at < SOON
    return follows and len(passage.text.split()) <= FEW


def puts_right(text: str) -> bool:
    return cues.FIXING.search(text) is not None or cues.turning(text) != "none"
