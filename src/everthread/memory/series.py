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

from everthread.core.memory import UNRELATED, Chances, Kindred, Passage
from everthread.core.sentences import own_words
from everthread.memory.weigh import is_mine

SUREST = 4.0  # log-odds: the most that one comparison speaks for two being about the same, or against it
EVEN = -0.5  # log-odds from which on it speaks for it
DOUBTS = 1.0  # where no more than this speaks against it, it may be so
SAME = 0.9  # chance that it gives no other value

TINY = 1e-6

Links = Mapping[tuple[int, int], Chances]  # by the numbers of the earlier and the later passage
Between = defaultdict[int, dict[int, float]]  # what speaks for two strands being one, by their numbers


class Series(msgspec.Struct, frozen=True):
    """What people said of one thing. Each run is one value: the turn that told it, and those that said it again; the
    newest value first. If it is not sure, the first run may be about something else, and the second still hold."""

    runs: tuple[tuple[Passage, ...], ...]
    sure: bool = True

    @property
    def holds(self) -> Passage:
        """The turn since which the newest value holds."""
        return self.runs[0][0]

    @property
    def earlier(self) -> tuple[Passage, ...]:
        """The turns that told the others."""
        return tuple(run[0] for run in self.runs[1:])

    @property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(passage for run in self.runs for passage in run)

    @property
    def ended(self) -> list[tuple[Passage, Passage]]:
        """What does not hold any more, each with what does instead."""
        last, *before = self.undoubted.runs
        return [(passage, last[0]) for run in before for passage in run]

    @property
    def undoubted(self) -> Series:
        """Without the newest, if it may be about something else."""
        return self if self.sure else Series(self.runs[1:])


class Strand(msgspec.Struct):
    """A series while it is made."""

    members: list[Passage]
    doubtful: list[Passage] = []  # those by themselves that may continue it


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


def series(kindred: Kindred) -> list[Series]:
    """All that have more than one statement."""
    links = {(one.earlier, one.later): one.chances for one in kindred.kin}
    found: list[Series] = []
    in_doubt: set[int] = set()
    for strand in together(kindred.passages, links):
        one = read(strand, links)
        if len(one.passages) > 1 and strand.members[0].no not in in_doubt:
            found.append(one)
            in_doubt |= set() if one.sure else {one.holds.no}
    return found


def together(said: Sequence[Passage], links: Links) -> list[Strand]:
    """The statements by what they are about, the oldest first."""
    strands = {one.no: [one] for one in said}
    between = comparisons(strands, links)
    unite(strands, between)
    made = {no: Strand(sorted(members, key=place)) for no, members in strands.items()}
    for no, strand in made.items():
        if len(strand.members) == 1:
            likely = [other for other, speaks in between[no].items() if speaks >= -DOUBTS]
            if likely:
                nearest = max(likely, key=lambda other: (len(made[other].members) > 1, between[no][other], -other))
                made[nearest].doubtful.append(strand.members[0])
    return sorted(made.values(), key=lambda strand: place(strand.members[0]))


def comparisons(known: Container[int], links: Links) -> Between:
    """What speaks for each two going together, from either side."""
    between: Between = defaultdict(dict)
    for (one, other), chances in links.items():
        if one in known and other in known and one != other:
            between[one][other] = between[other][one] = evidence(chances)
    return between


def evidence(chances: Chances) -> float:
    """What a comparison speaks for two being about the same thing; below zero, against it."""
    chance = min(max(chances.either, TINY), 1 - TINY)
    return max(-SUREST, min(SUREST, math.log(chance / (1 - chance)) - EVEN))


def unite(strands: dict[int, list[Passage]], between: Between) -> None:
    """Makes one of two, those first for which most speaks, as long as anything does. Both are changed in place."""
    queue = [(-speaks, one, other) for one, near in between.items() for other, speaks in near.items() if one < other]
    heapify(queue)
    while queue and queue[0][0] < 0:
        minus, one, other = heappop(queue)
        if one not in strands or between[one].get(other) != -minus:
            continue  # one of them was united with another meanwhile, and what speaks for it was put in anew
        strands[one] += strands.pop(other)
        del between[one][other]
        for third, speaks in between.pop(other).items():
            if third == one:
                continue
            del between[third][other]
            total = between[one].get(third, 0.0) + speaks
            between[one][third] = between[third][one] = total
            heappush(queue, (-total, min(one, third), max(one, third)))


def read(strand: Strand, links: Links) -> Series:
    """A strand as values, the newest first. What may continue it, and was said since, may hold instead."""
    runs: list[list[Passage]] = []
    for passage in strand.members:
        if runs and any(links.get((one.no, passage.no), UNRELATED).repeats >= SAME for one in runs[-1]):
            runs[-1].append(passage)
        else:
            runs.append([passage])
    newer = [one for one in strand.doubtful if before(strand.members[-1], one)]
    if newer:
        runs.append([max(newer, key=place)])
    return Series(tuple(map(tuple, reversed(runs))), sure=not newer)
