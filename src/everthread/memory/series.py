"""What people said about the same thing, in the order in which they said it: the newest of it holds, what came before
it did. Nobody needs to say that something changed.

Which statements go together was found out two by two when they were read (`Kin`). Each comparison speaks for or against
it, by its log-odds. Here they become series: what has most that speaks for it, on average, comes together first, and
goes on as one, until nothing is left for which enough speaks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from heapq import heapify, heappop, heappush

import msgspec

from everthread.core.memory import UNRELATED, Chances, Kin, Kindred, Passage
from everthread.core.sentences import own_words
from everthread.memory import cues
from everthread.memory.weigh import is_personal

SUREST = 5.0  # log-odds: the most that one comparison speaks for two being about the same, or against it
JOINS, UNITES = -0.75, 1.0  # above which mean a statement joins others, and two series become one
UNHEARD = 0.5  # comparisons that say nothing, beside those that were made: one is worth less than several
DOUBTS = 0.1  # where no more than this speaks against it, it may be so
SAME = 0.7  # share of the chance that they go together: from there on the later gives no other value
TRACE = 0.05  # chance that they go together: below it the share says nothing

BRIEF, FEW = 60, 8  # characters and words of a message that puts a slip right
FITS = 0.06  # chance from which on it may be about that: what is not about it at all has 0.02
PUT_RIGHT = Chances(replaces=0.99, repeats=0.0)

TINY = 1e-6

Links = Mapping[tuple[int, int], Chances]  # by the numbers of the earlier and the later passage
Heard = tuple[float, int]  # what comparisons speak for, all in all, and how many they are
Between = defaultdict[int, dict[int, Heard]]  # of two strands, by their numbers


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


def may_put_right(passage: Passage) -> bool:
    """Whether it may be about a slip in what was said just before, and about nothing else: "Sorry, Thursday."."""
    few = len(passage.text) <= BRIEF and len(passage.text.split()) <= FEW
    return few and cues.FIXING.search(passage.text) is not None


def put_right(found: Sequence[Kin], slips: Mapping[int, int]) -> list[Kin]:
    """What was found, where those that put a slip right have to do with that alone: by themselves they could be about
    anything of the kind."""
    right = {kin.later for kin in found if slips.get(kin.later) == kin.earlier and kin.chances.either >= FITS}

    def stays(kin: Kin) -> bool:
        return slips[kin.later] == kin.earlier if kin.later in right else kin.earlier not in right

    return [Kin(kin.earlier, kin.later, PUT_RIGHT) if kin.later in right else kin for kin in found if stays(kin)]


def before(one: Passage, other: Passage) -> bool:
    return place(one) < place(other)


def place(passage: Passage) -> tuple[datetime, int, int]:
    return (passage.said_at, passage.seq, passage.no)


def one_voice(one: Passage, other: Passage) -> bool:
    """Did the same person say it, or does at least one of the two speak of what they share? Many a message in which
    "I" stands does: "I moved our servers"."""
    return one.speaker == other.speaker or not (is_personal(one.text) and is_personal(other.text))


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
            speaks = {other: speaks_for(heard, alone=True) for other, heard in between[no].items()}
            likely = [other for other, how_much in speaks.items() if how_much >= -DOUBTS]
            if likely:
                nearest = max(likely, key=lambda other: (len(made[other].members) > 1, speaks[other], -other))
                made[nearest].doubtful.append(strand.members[0])
    return sorted(made.values(), key=lambda strand: place(strand.members[0]))


def comparisons(known: Container[int], links: Links) -> Between:
    """What speaks for each two going together, from either side."""
    between: Between = defaultdict(dict)
    for (one, other), chances in links.items():
        if one in known and other in known and one != other:
            between[one][other] = between[other][one] = (log_odds(chances), 1)
    return between


def log_odds(chances: Chances) -> float:
    """Of two being about the same thing."""
    chance = min(max(chances.either, TINY), 1 - TINY)
    return max(-SUREST, min(SUREST, math.log(chance / (1 - chance))))


def speaks_for(heard: Heard, *, alone: bool) -> float:
    """How much what was heard of two strands speaks for them being one; below zero, against it. Less is enough where
    one of them is a statement by itself."""
    total, count = heard
    return (total - count * (JOINS if alone else UNITES)) / (count + UNHEARD)


def unite(strands: dict[int, list[Passage]], between: Between) -> None:
    """Makes one of two, those first for which most speaks, as long as anything does. Both are changed in place."""

    def speaks(one: int, other: int) -> float:
        return speaks_for(between[one][other], alone=min(len(strands[one]), len(strands[other])) == 1)

    queue = [(-speaks(one, other), one, other) for one, near in between.items() for other in near if one < other]
    heapify(queue)
    while queue and queue[0][0] < 0:
        minus, one, other = heappop(queue)
        if other not in between.get(one, ()) or speaks(one, other) != -minus:
            continue  # one of them was united with another meanwhile, and what speaks for it was put in anew
        changed = set(between[other])  # what is said of these and the two; of the others too, if it was one statement
        changed |= set(between[one]) if len(strands[one]) == 1 else set()
        strands[one] += strands.pop(other)
        del between[one][other]
        for third, heard in between.pop(other).items():
            if third != one:
                del between[third][other]
                known = between[one].get(third, (0.0, 0))
                between[one][third] = between[third][one] = (known[0] + heard[0], known[1] + heard[1])
        for third in changed - {one, other}:
            heappush(queue, (-speaks(one, third), min(one, third), max(one, third)))


def says_again(chances: Chances) -> bool:
    """Whether, if the later statement has to do with the earlier at all, it gives the same value."""
    return chances.either >= TRACE and chances.repeats >= SAME * chances.either


def read(strand: Strand, links: Links) -> Series:
    """A strand as values, the newest first. What may continue it, and was said since, may hold instead."""
    runs: list[list[Passage]] = []
    for passage in strand.members:
        if runs and any(says_again(links.get((one.no, passage.no), UNRELATED)) for one in runs[-1]):
            runs[-1].append(passage)
        else:
            runs.append([passage])
    newer = [one for one in strand.doubtful if before(strand.members[-1], one)]
    if newer:
        runs.append([max(newer, key=place)])
    return Series(tuple(map(tuple, reversed(runs))), sure=not newer)
