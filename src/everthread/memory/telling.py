"""What is shown of what was found: turns as they were said, and the claims in them that tell what holds today."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from everthread.core import reversal
from everthread.core.claim import Claim
from everthread.core.ids import StepId
from everthread.core.memory import Kindred, Passage
from everthread.core.sentences import squeezed
from everthread.memory.rank import Ranked
from everthread.memory.render import Held, Recalled
from everthread.memory.series import Series

TO_THE_POINT = 0.4  # of the best score: from there on a passage is about what is asked
COVERS, REPEATS = 0.95, 0.5  # of a passage: a quote that says it all; one that it does little but repeat
MOST_OVERTAKEN = 3  # that are told whatever the question is
LEADING = 2  # of a series: what holds and what held last stand together; the others where they would anyway, marked
REST = 4  # of the series that fits the question best: so many of the others that were not found by themselves


def told(
    ranked: Sequence[Ranked],
    claims: Sequence[Claim],
    found: Sequence[Series] = (),
    *,
    overtaken: Collection[StepId] = (),
) -> Iterator[Claim | Recalled | Held]:
    """What is to be shown, the best first, each thing once. Before a passage comes what holds and what held of the
    series that it belongs to; before one to the point, what its claims changed, were changed by, or have their cause
    in. Of a passage that says no more than these, only these. A doubt is told where both its sides were found. The
    series of turns that were overtaken come first: the prompt tells elsewhere what they say."""
    least = TO_THE_POINT * ranked[0].score if ranked else 0.0
    apt = {one.passage.no for one in ranked if one.score >= least}
    drawn = Drawn(claims)
    known = Told([one if apt.issuperset(numbers(contenders(one))) else replace(one, rival=None) for one in found])
    for ended, by in known.overtaken(overtaken):
        if by.rival is None:
            yield held((by.holds, ended), drawn)
        else:
            yield held(contenders(by), drawn, sure=False)
            yield recalled(ended, by.holds.seq, retracted=False)
    shown: set[str] = set()
    found_too, whole = numbers(one.passage for one in ranked), True
    for one in ranked:
        passage = one.passage
        if (own := known.begun(passage)) is not None:
            first = leading(own)
            if whole and own.rival is None and one.score >= least:
                first += tuple(old for old in own.earlier if old not in first and old.no not in found_too)[:REST]
            known.tell(own, first)
            yield held(first, drawn, sure=own.rival is None)
            whole = False
        inside = drawn.inside(passage)
        telling = [claim for claim in inside if is_linked(claim)] if one.score >= least else []
        telling = [claim for claim in telling if known.steps.isdisjoint(drawn.chain(claim))]
        yield from telling
        shown |= {drawn.words[claim.id] for claim in inside if claim.voice == "user"}
        text = squeezed(passage.text).casefold()
        if passage.no in known.shown or (passage.role == "assistant" and repeats(text, shown)):
            continue
        if not any(len(claim.quote) >= COVERS * len(passage.text.strip()) for claim in telling):
            later = known.over(passage) or drawn.reversed_in(passage, text)
            yield recalled(passage, later, retracted=drawn.retracted_in(text))


def unlinked(claims: Sequence[Claim], kindred: Kindred) -> tuple[Claim, ...]:
    """Claims without those links that rules made between two turns which were read together: whether one took the
    other's place is known better from that."""
    step_of = {passage.no: passage.step for passage in kindred.passages}
    compared = {frozenset((step_of[kin.earlier], step_of[kin.later])) for kin in kindred.kin}
    by_id = {claim.id: claim for claim in claims}

    def doubted(old: Claim | None, new: Claim | None) -> bool:
        if old is None or new is None or new.author != "rule":
            return False
        return frozenset((old.step, new.step)) in compared

    def apart(claim: Claim) -> Claim:
        if claim.superseded_by is not None and doubted(claim, by_id.get(claim.superseded_by)):
            claim = reversal.restored(claim)
        if claim.supersedes is not None and doubted(by_id.get(claim.supersedes), claim):
            claim = reversal.freed(claim) if claim.state == "unresolved" else replace(claim, supersedes=None)
        return claim

    return tuple(map(apart, claims))


class Told:
    """Series, and which of their passages have been shown."""

    def __init__(self, found: Sequence[Series]) -> None:
        self._found = found
        rivals = {one.rival.no: one for one in found if one.rival is not None}
        self._of = rivals | {passage.no: one for one in found for passage in one.passages}
        self._over = {passage.no: later.seq for one in found for passage, later in one.ended}
        self._answered = {passage.step: later.seq for one in found for passage, later in one.ended}
        changed = [passage for one in found if is_telling(one) for passage in (*one.passages, *contenders(one))]
        self.steps = {passage.step for passage in changed if passage.step is not None}
        self.shown: set[int] = set()

    def over(self, passage: Passage) -> int | None:
        """The turn that says otherwise than a passage, or than what it answers."""
        answer = passage.step is not None and passage.role == "assistant"
        return self._answered.get(passage.step) if answer else self._over.get(passage.no)

    def overtaken(self, steps: Collection[StepId]) -> list[tuple[Passage, Series]]:
        """Those of these steps that do not hold any more, each with its series; from now on they are shown."""
        ended = {
            passage.step: (passage, own) for own in self._found for passage, _ in own.ended if passage.step in steps
        }
        first = list(ended.values())[:MOST_OVERTAKEN]
        for passage, own in first:
            self.tell(own, (passage, own.holds, *contenders(own)))
        return first

    def begun(self, passage: Passage) -> Series | None:
        """The series that a passage belongs to, if nothing of it was shown."""
        own = self._of.get(passage.no)
        return None if own is None or not is_telling(own) or own.holds.no in self.shown else own

    def tell(self, own: Series, said: Iterable[Passage]) -> None:
        """Shows some of a series. Its rival, if that is of another one, is still told with that."""
        self.shown |= {passage.no for passage in said if self._of[passage.no] is own}


def numbers(passages: Iterable[Passage]) -> set[int]:
    return {passage.no for passage in passages}


def leading(one: Series) -> tuple[Passage, ...]:
    return contenders(one) or (one.holds, *one.earlier)[:LEADING]


def contenders(one: Series) -> tuple[Passage, ...]:
    """What may hold, where that is not clear."""
    return () if one.rival is None else (one.rival, one.holds)


def is_telling(one: Series) -> bool:
    """Whether there is more to it than one value."""
    return bool(one.earlier or one.rival)


def held(passages: Sequence[Passage], drawn: Drawn, *, sure: bool = True) -> Held:
    """What holds and what held before, as they were said, and why the newest came about."""

    def said(passage: Passage) -> Recalled:
        return recalled(passage, None, retracted=False)

    newest, *before = passages
    told = [claim for claim in drawn.inside(newest) if claim.because is not None or claim.cause is not None]
    return Held(
        said(newest),
        tuple(map(said, before)),
        sure=sure,
        why=told[-1] if told else None,
        claims=tuple(tuple(claim.id for claim in drawn.inside(passage)) for passage in passages),
    )


class Drawn:
    """Claims, by the steps that they were drawn from."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        self.by_id = {claim.id: claim for claim in claims}
        self._by_step: dict[StepId, list[Claim]] = {}
        for claim in claims:
            if claim.step is not None:
                self._by_step.setdefault(claim.step, []).append(claim)
        self.words = {claim.id: squeezed(claim.quote).casefold() for claim in claims}
        self._back = [self.words[claim.id] for claim in claims if claim.state == "retracted"]
        self._over = {claim.id: later.seq for claim in claims if (later := self._later(claim)) is not None}
        self._repeated = Quotes((self.words[claim], seq) for claim, seq in self._over.items())

    def _later(self, claim: Claim) -> Claim | None:
        """What took its place, if it was reversed."""
        return self.by_id.get(claim.superseded_by) if claim.state == "reversed" and claim.superseded_by else None

    def inside(self, passage: Passage) -> list[Claim]:
        if passage.step is None:
            return []
        return [claim for claim in self._by_step.get(passage.step, ()) if stands_in(claim, passage)]

    def chain(self, claim: Claim) -> set[StepId | None]:
        """The steps of a claim and of all that followed it."""
        steps: set[StepId | None] = set()
        following: Claim | None = claim
        while following is not None and following.step not in steps:
            steps.add(following.step)
            following = self.by_id.get(following.superseded_by) if following.superseded_by is not None else None
        return steps

    def retracted_in(self, text: str) -> bool:
        """Whether it says what a person has taken back."""
        return any(words in text for words in self._back)

    def reversed_in(self, passage: Passage, text: str) -> int | None:
        """The turn that says otherwise about something in the passage, also about what it only repeats."""
        own = [self._over[claim.id] for claim in self.inside(passage) if claim.id in self._over]
        return max((*own, *self._repeated.inside(text)), default=None)


class Quotes:
    """Quotes and what each stands for. A text is looked at only for those whose rarest word it has: a word between a
    quote's first and its last stands in every text that holds the quote."""

    def __init__(self, quotes: Iterable[tuple[str, int]]) -> None:
        split = [(quote.split(" ")[1:-1], quote, meaning) for quote, meaning in quotes]
        common = Counter(word for between, *_ in split for word in between)
        self._by_word: dict[str, list[tuple[str, int]]] = {}
        self._short: list[tuple[str, int]] = []
        for between, quote, meaning in split:
            kept = self._by_word.setdefault(min(between, key=common.__getitem__), []) if between else self._short
            kept.append((quote, meaning))

    def inside(self, text: str) -> Iterator[int]:
        shared = self._by_word.keys() & set(text.split(" ")) if self._by_word else ()
        for some in (self._short, *(self._by_word[word] for word in shared)):
            yield from (meaning for quote, meaning in some if quote in text)


def recalled(passage: Passage, reversed_by: int | None, *, retracted: bool) -> Recalled:
    return Recalled(
        passage.seq,
        passage.said_at,
        passage.text,
        passage.speaker,
        step=passage.step,
        session=passage.session,
        reversed_by=reversed_by,
        retracted=retracted,
    )


def repeats(text: str, shown: Collection[str]) -> bool:
    """Does an answer do little but repeat what a person said and is shown anyway?"""
    return any(len(words) >= REPEATS * len(text) and words in text for words in shown)


def stands_in(claim: Claim, passage: Passage) -> bool:
    span = claim.span
    end = passage.start + len(passage.text)
    return span.message == passage.message and passage.start <= span.start < end


def is_linked(claim: Claim) -> bool:
    """It changed something, was changed, is contested, or has its cause elsewhere."""
    linked = claim.supersedes is not None or claim.superseded_by is not None or claim.cause is not None
    return linked and claim.state != "retracted" and claim.kind != "cause"
