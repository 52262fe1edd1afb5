"""What people said about the same thing, in the order in which they said it: the newest of it holds, what came before
it did. Nobody needs to say that something changed.

Which statements go together was found out two by two when they were read (`Kin`). Each comparison speaks for or against
it, by its log-odds. Here they become series: what has most that speaks for it comes together first, and goes on as one,
until nothing is left of which more speaks for it than against it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from heapq import heapify, heappop, heappush

import msgspec

from everthread.core.claim import Claim
from everthread.core.ids import StepId
from everthread.core.memory import UNRELATED, Chances, Kindred, Passage
from everthread.core.sentences import own_words
from everthread.memory.weigh import is_mine

SUREST = 4.0  # log-odds: the most that one comparison speaks for or against
NOTHING = 0.5  # log-odds that speak for nothing
DOUBTS = 1.0  # what speaks against it is less: it may go together all the same
SAME = 0.95  # chance that it gives no other value

TINY = 1e-6

Links = Mapping[tuple[int, int], Chances]  # by the numbers of the earlier and the later passage
Between = defaultdict[int, dict[int, float]]  # what speaks for two strands being one, by their numbers


class Series(msgspec.Struct, frozen=True):
    """What holds, in the turn since which it does, and what held before it, the newest first."""

    newest: Passage
    earlier: tuple[Passage, ...]
    same: tuple[Passage, ...] = ()  # only say again what holds
    sure: bool = True  # the newest is about the same thing; else either it holds, or the one before it still does

    @property
    def passages(self) -> tuple[Passage, ...]:
        return (self.newest, *self.earlier, *self.same)

    @property
    def ended(self) -> list[tuple[Passage, Passage]]:
        """What does not hold any more, each with what does, or may, instead."""
        last, *before = (self.newest, *self.earlier) if self.sure else self.earlier
        return [(passage, last) for passage in before]

    @property
    def undoubted(self) -> Series:
        """Without a newest one that may be about something else."""
        return self if self.sure else Series(self.earlier[0], self.earlier[1:], self.same)


class Strand(msgspec.Struct):
    """A series while it is made."""

    members: list[Passage]
    doubtful: list[Passage] = []  # that may continue it


def may_tell(passage: Passage) -> bool:
    """Whether it is read together with others: what a person said, or how a longer text of theirs begins. What has
    documents in it, or a UI's template around it, tells nothing of theirs."""
    said = passage.role == "user" and passage.start == 0 and any(map(str.isalnum, passage.text))
    return said and own_words(passage.text) == passage.text


def before(one: Passage, other: Passage) -> bool:
    return place(one) < place(other)


def place(passage: Passage) -> tuple[datetime, int, int]:
    return (passage.said_at, passage.seq, passage.no)


def one_voice(one: Passage, other: Passage) -> bool:
    """Did the same person say it, or do both speak of what they share?"""
    return one.speaker == other.speaker or not (is_mine(one.text) or is_mine(other.text))


def series(kindred: Kindred, claims: Sequence[Claim] = ()) -> list[Series]:
    """All that have more than one statement; without what a person took back or put right by hand."""
    aside = by_hand(claims)
    links = {(one.earlier, one.later): one.chances for one in kindred.kin}
    said = sorted((one for one in kindred.passages if one.step not in aside), key=place)
    strands = together(said, links)
    alone = {strand.members[0].no for strand in strands if len(strand.members) == 1}
    found: list[Series] = []
    in_doubt: set[int] = set()
    for strand in strands:
        one = told(strand, alone, links)
        if len(one.passages) > 1 and strand.members[0].no not in in_doubt:
            found.append(one)
            in_doubt |= set() if one.sure else {one.newest.no}
    return found


def by_hand(claims: Sequence[Claim]) -> set[StepId]:
    """The steps of which a person took something back, or put it right."""
    noted = {claim.id for claim in claims if claim.author == "person"}
    return {
        claim.step
        for claim in claims
        if claim.step is not None and (claim.state == "retracted" or claim.superseded_by in noted)
    }


def together(said: Sequence[Passage], links: Links) -> list[Strand]:
    """The statements by what they are about. What is by itself may belong to the strand that most speaks for."""
    strands = {one.no: [one] for one in said}
    between = comparisons(strands, links)
    united(strands, between)
    made = {no: Strand(sorted(members, key=place)) for no, members in strands.items()}
    for no, strand in made.items():
        if len(strand.members) == 1:
            evidence, nearest = max(((speaks, other) for other, speaks in between[no].items()), default=(-SUREST, no))
            if evidence >= -DOUBTS:
                made[nearest].doubtful.append(strand.members[0])
    return sorted(made.values(), key=lambda strand: place(strand.members[0]))


def comparisons(known: Container[int], links: Links) -> Between:
    """What speaks for each two going together, from either side."""
    between: Between = defaultdict(dict)
    for (one, other), chances in links.items():
        if one in known and other in known:
            between[one][other] = between[other][one] = evidence(chances)
    return between


def evidence(chances: Chances) -> float:
    chance = min(max(chances.either, TINY), 1 - TINY)
    return max(-SUREST, min(SUREST, math.log(chance / (1 - chance)))) - NOTHING


def united(strands: dict[int, list[Passage]], between: Between) -> None:
    """Makes one of two, those first for which most speaks, as long as anything does. Both are changed in place."""
    queue = [(-speaks, one, other) for one, near in between.items() for other, speaks in near.items() if one < other]
    heapify(queue)
    while queue and queue[0][0] < 0:
        against, one, other = heappop(queue)
        if one not in strands or between[one].get(other) != -against:
            continue  # it was united with another meanwhile
        strands[one] += strands.pop(other)
        del between[one][other]
        for third, speaks in between.pop(other).items():
            if third == one:
                continue
            del between[third][other]
            total = between[one].get(third, 0.0) + speaks
            between[one][third] = between[third][one] = total
            heappush(queue, (-total, min(one, third), max(one, third)))


def told(strand: Strand, alone: Container[int], links: Links) -> Series:
    """Where something was said since that may be about the same, and is about nothing else, either of them holds."""
    members = strand.members
    at = len(members) - 1
    while at > 0 and links.get((members[at - 1].no, members[at].no), UNRELATED).repeats >= SAME:
        at -= 1
    settled = Series(members[at], tuple(reversed(members[:at])), tuple(reversed(members[at + 1 :])))
    newer = [one for one in strand.doubtful if before(members[-1], one) and one.no in alone]
    return Series(newer[-1], (settled.newest, *settled.earlier), settled.same, sure=False) if newer else settled
