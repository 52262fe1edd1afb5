"""What is shown of what was found: turns as they were said, and the claims in them that tell what holds today."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from everthread.core.claim import Claim
from everthread.core.ids import StepId
from everthread.core.memory import Passage
from everthread.core.sentences import squeezed
from everthread.memory import weigh
from everthread.memory.rank import Ranked
from everthread.memory.render import Held, Recalled
from everthread.memory.series import Series

TO_THE_POINT = 0.4  # of the best score: from there on a passage is about what is asked
COVERS, REPEATS = 0.95, 0.5  # of a passage: a quote that says it all; one that it does little but repeat
LEADING = 2  # of the answers: what holds and what held last stand together; the others where they would anyway, marked
STATES = frozenset({"fact", "decision", "preference", "instruction"})  # what is so until it is changed


class Told(msgspec.Struct, frozen=True):
    """What is to be shown, the best first, each made when it is asked for; and the newest claim to the point."""

    items: Iterable[Claim | Recalled | Held] = ()
    latest: Claim | None = None

    def holds(self, claim: Claim) -> bool:
        """Whether nothing newer may have taken its place; what was noted by hand holds until it is undone."""
        return self.latest is None or claim.step is None or not overtaken(claim, self.latest)


def told(ranked: Sequence[Ranked], claims: Sequence[Claim], answers: Series | None = None) -> Told:
    """What answers the question comes first, as what holds and what held; then the passages. Those to the point are led
    by their claims that changed something, were changed, or have their cause elsewhere; where nobody looked for
    answers, also by the newest claim among them, which holds for all we know."""
    if not ranked:
        return Told()
    drawn = Drawn(claims)
    least = TO_THE_POINT * ranked[0].score
    if answers is not None:
        return Told(items(ranked, least, drawn, answers, None))
    apt = (one.passage for one in ranked if one.score >= least)
    latest = max(
        (claim for passage in apt for claim in drawn.inside(passage) if holds(claim)), key=said_last, default=None
    )
    return Told(items(ranked, least, drawn, Series(), latest), latest)


def items(
    ranked: Sequence[Ranked], least: float, drawn: Drawn, answers: Series, latest: Claim | None
) -> Iterator[Claim | Recalled | Held]:
    """Each thing once; of a passage that says no more than its claims, only these."""
    leading = {passage.no for passage in answers.passages[:LEADING]}
    over = {passage.no: answers.current.seq for passage in answers.earlier} if answers.current else {}
    settled = {passage.step for passage in answers.passages}
    if leading:
        yield held(answers, drawn)
    shown: set[str] = set()
    for one in ranked:
        passage = one.passage
        inside = drawn.inside(passage)
        telling = [claim for claim in inside if is_linked(claim) or claim is latest] if one.score >= least else []
        telling = [claim for claim in telling if settled.isdisjoint(drawn.chain(claim))]
        yield from telling
        shown |= {drawn.words[claim.id] for claim in inside if claim.voice == "user"}
        text = squeezed(passage.text).casefold()
        if passage.no in leading or (passage.role == "assistant" and repeats(text, shown)):
            continue
        if not any(len(claim.quote) >= COVERS * len(passage.text.strip()) for claim in telling):
            later = over.get(passage.no) or drawn.reversed_in(passage, text)
            yield recalled(passage, later, retracted=drawn.retracted_in(text))


def held(answers: Series, drawn: Drawn) -> Held:
    """The answers as they were said, and why the newest came about."""

    def said(passage: Passage) -> Recalled:
        return recalled(passage, None, retracted=False)

    newest, *before = answers.passages[:LEADING]
    told = [claim for claim in drawn.inside(newest) if claim.because is not None or claim.cause is not None]
    return Held(
        said(newest),
        tuple(map(said, before)),
        sure=answers.current is not None,
        why=told[-1] if told else None,
        claims=tuple(claim.id for passage in (newest, *before) for claim in drawn.inside(passage)),
    )


def overtaken(old: Claim, latest: Claim) -> bool:
    """Whether the newest claim may have taken its place without saying so: both answer the same question, have
    something in common, and nothing tells their subjects apart."""
    return (
        old.speaker == latest.speaker
        and said_last(old) < said_last(latest)
        and weigh.alike(latest, old)
        and not weigh.apart(latest, old)
        and not weigh.other_person(latest, old)
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


def holds(claim: Claim) -> bool:
    return claim.state == "current" and claim.kind in STATES and claim.voice == "user" and claim.valid_to is None


def said_last(claim: Claim) -> tuple[object, ...]:
    return (claim.said_at, claim.seq, claim.span.message, claim.span.start)
