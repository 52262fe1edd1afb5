"""What people said about the same thing, in the order in which they said it: the newest of it holds, what came before
it did. Nobody needs to say that something changed.

Which statements go together was found out two by two when they were read (`Kin`). Each comparison speaks for or against
it, by its log-odds. Here they become series: what has most that speaks for it, on average, comes together first, and
goes on as one, until nothing is left for which enough speaks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime
from heapq import heapify, heappop, heappush
from statistics import fmean

import msgspec
from msgspec.structs import replace

from everthread.core.memory import Chances, Kin, Kindred, Passage
from everthread.core.sentences import own_words, squeezed
from everthread.memory import cues

SUREST = 5.0  # log-odds: the most that one comparison speaks for two being about the same, or against it
JOINS, UNITES = -0.75, 1.0  # above which mean a statement joins others, and two series become one
UNHEARD = 0.5  # comparisons that say nothing, beside those that were made: one is worth less than several
FOLLOWS = 0.0  # from which mean on, with those that gave the present value, a statement takes its place
DOUBTS = -0.75  # from which on it may take its place
RIVALS = 0.0  # from which mean on, with all of a series, the statement of another one may hold instead

SAME = 1.5  # above which mean a statement gives a value again
CLEAREST, SLIGHT = 3.0, 0.01  # the most that one comparison says of that; chances that are as good as none
TRACE = 0.05  # chance that they go together: below it a comparison says nothing of their values

BRIEF, FEW = 60, 8  # characters and words of a message that puts a slip right
FITS = 0.06  # chance from which on it may be about that: what is not about it at all has 0.02
PUT_RIGHT = Chances(replaces=0.99, repeats=0.0)

PERSON, LONGEST = "user", 40  # who speaks where there is no name; characters of one
TINY = 1e-6

Links = Mapping[tuple[int, int], Chances]  # by the numbers of the earlier and the later passage
Compared = defaultdict[int, list[tuple[int, Chances]]]  # by the number of a later passage, with each earlier one
Heard = tuple[float, int]  # what comparisons speak for, all in all, and how many they are
Between = defaultdict[int, dict[int, Heard]]  # of two strands, by their numbers


class Series(msgspec.Struct, frozen=True):
    """What people said of one thing. Each run is one value: the turn that told it, and those that said it again; the
    newest value first. If there is a rival, a later turn of which it is not clear what it is about, that may hold
    instead."""

    runs: tuple[tuple[Passage, ...], ...]
    rival: Passage | None = None

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
        return [(passage, self.holds) for run in self.runs[1:] for passage in run]


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


def read_as(earlier: Passage, later: Passage) -> tuple[str, str]:
    """How two statements are read together."""
    one, other = voiced((earlier.speaker, earlier.text), (later.speaker, later.text))
    return one, other


def voiced(*said: tuple[str, str]) -> list[str]:
    """Texts, each with who said it, as they are read together: those of several people with their names, by which one's
    own gym is another's no more, and what they share stays one thing."""
    several = len({speaker for speaker, _ in said}) > 1
    return [
        f"{squeezed(speaker)[:LONGEST]}: {text}" if several and speaker != PERSON else text for speaker, text in said
    ]


def series(kindred: Kindred) -> list[Series]:
    """All that have more than one statement, those that began first before others."""
    compared: Compared = defaultdict(list)
    for kin in kindred.kin:
        compared[kin.later].append((kin.earlier, kin.chances))
    strands = together(kindred.passages, {(kin.earlier, kin.later): kin.chances for kin in kindred.kin})
    read = [values(strand, compared) for strand in strands]
    rivals = contested(read, compared)
    found = [one if one.rival else replace(one, rival=rivals.get(at)) for at, one in enumerate(read)]
    return [one for one in found if len(one.passages) > 1]


def together(said: Sequence[Passage], links: Links) -> list[list[Passage]]:
    """The statements by what they are about, the oldest first."""
    strands = {one.no: [one] for one in said}
    unite(strands, comparisons(strands, links))
    return sorted((sorted(members, key=place) for members in strands.values()), key=lambda strand: place(strand[0]))


def contested(read: Sequence[Series], compared: Compared) -> dict[int, Passage]:
    """Series, by their places, with what may hold instead: the newest value of another one, of which something was said
    later that is likely to be about this one as well."""
    home = {one.no: at for at, series in enumerate(read) for one in series.passages}
    rivals: defaultdict[int, list[tuple[float, Passage]]] = defaultdict(list)
    for own, series in enumerate(read):
        speaks = {one.no: by_home(compared.get(one.no, ()), home) for one in series.passages}
        for means in speaks.values():
            for other, mean in means.items():
                newest = speaks[series.holds.no].get(other, mean)
                later = before(read[other].runs[0][-1], series.holds)
                if other != own and later and min(mean, newest) >= RIVALS:
                    rivals[other].append((mean, series.holds))
    return {at: max(some, key=lambda one: one[0])[1] for at, some in rivals.items()}


def by_home(told: Iterable[tuple[int, Chances]], home: Mapping[int, int]) -> dict[int, float]:
    """How much speaks for a statement going with each series, on average."""
    speaks: defaultdict[int, list[float]] = defaultdict(list)
    for earlier, chances in told:
        if earlier in home:
            speaks[home[earlier]].append(log_odds(chances))
    return {at: fmean(some) for at, some in speaks.items()}


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


def values(strand: Sequence[Passage], compared: Compared) -> Series:
    """A strand by the values that it tells. What goes with earlier values and not with the present one looks back."""
    runs: list[list[Passage]] = []
    rival: Passage | None = None
    known: dict[int, int] = {}  # which value each statement gives
    for passage in strand:
        told = [(earlier, chances) for earlier, chances in compared.get(passage.no, ()) if earlier in known]
        present = known[runs[-1][-1].no] if runs else None
        value = given(told, known, present)
        if runs and value == present:
            runs[-1].append(passage)
        elif len(known) < 2 or (speaks := follows(told, runs[-1])) >= FOLLOWS:
            runs.append([passage])
        else:
            rival = passage if speaks >= DOUBTS else rival
            continue
        rival = None
        known[passage.no] = len(known) if value is None else value
    return Series(tuple(map(tuple, reversed(runs))), rival)


def follows(told: Sequence[tuple[int, Chances]], present: Sequence[Passage]) -> float:
    """How much speaks for a statement taking the place of what holds."""
    numbers = {one.no for one in present}
    speaks = [log_odds(chances) for earlier, chances in told if earlier in numbers]
    if not speaks and told:
        return FOLLOWS  # it was said long after, and goes with what was compared
    return fmean(speaks) if speaks else -SUREST


def given(told: Sequence[tuple[int, Chances]], known: Mapping[int, int], present: int | None) -> int | None:
    """Which of the values that were told before a statement gives again, by all that it was compared with."""
    speaks: defaultdict[int, list[float]] = defaultdict(list)
    for earlier, chances in told:
        if chances.either >= TRACE:
            speaks[known[earlier]].append(says_again(chances))
    likely = max(speaks, key=lambda value: (fmean(speaks[value]), value == present), default=None)
    return None if likely is None or fmean(speaks[likely]) <= SAME else likely


def says_again(chances: Chances) -> float:
    """How much speaks for the later statement giving the same value as the earlier; below zero, for another one."""
    return max(-CLEAREST, min(CLEAREST, math.log((chances.repeats + SLIGHT) / (chances.replaces + SLIGHT))))
