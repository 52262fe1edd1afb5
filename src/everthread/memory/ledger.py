"""The claims of one scope: which are new, which an earlier one gives way to, what holds and what held.

Two times are kept of each: when it was so (`valid_from`, `valid_to`), and when we learned it (`recorded_at`,
`closed_at`). Nothing is removed here: a claim that no longer holds stays, and names what took its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from everthread.core.claim import Claim, ClaimId, Draft
from everthread.core.ids import StepId
from everthread.core.memory import Near
from everthread.core.reversal import freed, restored
from everthread.memory import weigh
from everthread.memory.slots import is_past, relation, same_slot, same_value
from everthread.memory.statement import LOOSE
from everthread.memory.wording import likeness, says, stems

ECHO = 0.6  # how much alike what the model says and what a person said are when one repeats the other
HAS_TO_DO = 0.15  # how similar a cause and its effect are, if they were told one after the other
LAST = 2  # turns within which a correction follows what it corrects
FRESH = 3  # turns after which "we reverted it" no longer means the last thing that was said

replace = msgspec.structs.replace


class Settled(msgspec.Struct, frozen=True):
    """What is to be written: new claims, and earlier ones as they are now."""

    inserted: tuple[Claim, ...] = ()
    changed: tuple[Claim, ...] = ()


class Change(msgspec.Struct, frozen=True):
    """One line of a timeline: since when something is so, what it took the place of, and why."""

    at: datetime
    claim: Claim
    replaced: tuple[Claim, ...]
    because: str | None
    cause: Claim | None


def settle(
    drafts: Sequence[Draft],
    near: Sequence[Near],
    *,
    step: StepId,
    seq: int,
    said_at: datetime,
    recorded_at: datetime,
) -> Settled:
    """New statements held against the earlier claims they may concern, the nearest first.

    Reversed claims may be among these: what resembles one concerns the claim that took its place."""
    book = Book(near)
    for draft in drafts:
        claim = Claim(
            id=name_of(step, draft),
            step=step,
            seq=seq,
            said_at=said_at,
            recorded_at=recorded_at,
            **{name: getattr(draft, name) for name in DRAWN},
        )
        book.enter(claim, draft)
    return book.settled


def name_of(step: StepId, draft: Draft) -> ClaimId:
    """What a claim is called: the same whenever it is drawn."""
    return ClaimId(f"{step}.{draft.span.message}.{draft.span.start}-{draft.span.end}.{draft.kind}")


DRAWN = (
    "kind", "quote", "span", "speaker", "voice", "subject", "attribute", "value", "negated", "when", "valid_from",
    "valid_to", "because", "confidence",
)  # fmt: skip


class Match(msgspec.Struct):
    """The open claims that a new statement replaces, contradicts, or may be about at all."""

    replaced: list[Claim] = []
    conflicting: list[Claim] = []
    concerned: list[Claim] = []


class Book:
    """The claims while a step's statements are entered."""

    def __init__(self, near: Sequence[Near]) -> None:
        self._known = {one.claim.id: one.claim for one in near}  # in the order given: nearest first
        self._similar = {one.claim.id: one.similar for one in near}
        self._new: dict[ClaimId, Claim] = {}
        self._changed: set[ClaimId] = set()

    @property
    def settled(self) -> Settled:
        return Settled(
            inserted=tuple(self._new.values()),
            changed=tuple(claim for id, claim in self._known.items() if id in self._changed),  # noqa: A001
        )

    def enter(self, claim: Claim, draft: Draft) -> None:
        if claim.id in self._new or claim.id in self._known:
            return  # it was entered before
        if claim.kind == "cause":
            self._new[claim.id] = claim
            self._explain(claim)
            return
        if draft.refers:
            claim = replace(claim, cause=self._said_before(claim))
        match = self._matched(claim, draft)
        if match is None:
            return  # it was said before
        self._write(claim, draft, match)

    def _matched(self, claim: Claim, draft: Draft) -> Match | None:
        """What a new statement does to those that are open; None if it only says one of them again."""
        replaced: list[Claim] = []
        conflicting: list[Claim] = []
        for old in self._open():
            match relation(claim, old, turning=draft.turning, replaces=draft.replaces):
                case "repeats":
                    self._confirm(old)
                    return None
                case "replaces":
                    replaced.append(old)
                case "conflicts":
                    conflicting.append(old)
                case None:
                    pass
        if draft.turning == "hard" and draft.replaces is not None:
            replaced = alike(replaced)
        if draft.corrects and (last := self._just_said(claim, draft)):
            own = self._weighed(claim, draft, Match(replaced, conflicting))
            named = [old for old in own.replaced if stems(old.quote) & stems(claim.quote)]
            return own if named and last[0] not in own.replaced else Match(last)
        if is_undoing(draft):
            return Match(*self._undone(claim))
        if is_past(claim) or claim.voice == "assistant":
            return Match(replaced, conflicting)
        return self._weighed(claim, draft, Match(replaced, conflicting))

    def _weighed(self, claim: Claim, draft: Draft, ruled: Match) -> Match:
        """With what many small signs speak for, where no rule knows better."""
        likely = [one for one in self._candidates(claim) if weigh.is_likely(claim, draft, one)]
        found = [one for one in weigh.weighed(claim, draft, likely) if one.weight >= weigh.RELATED]
        heads = [one.candidate.head for one in found]
        if not found or found[0].weight < weigh.CERTAIN:
            return Match(ruled.replaced, ruled.conflicting, heads)
        certain = [heads[0], *(one.candidate.head for one in found[1:] if one.weight >= weigh.BESIDES)]
        known = {old.id for old in ruled.replaced}
        return Match([*ruled.replaced, *(old for old in certain if old.id not in known)], ruled.conflicting, heads)

    def _candidates(self, claim: Claim) -> list[weigh.Candidate]:
        """What holds or is contested, with what it took the place of."""
        chains: dict[ClaimId, list[Claim]] = {}
        for old in self._known.values():
            if old.state == "reversed" and (last := self._head(old)) is not None:
                chains.setdefault(last, []).append(old)
        return [
            weigh.Candidate(
                old,
                tuple(chains.get(old.id, ())),
                max(self._similar.get(one.id, 0.0) for one in (old, *chains.get(old.id, ()))),
            )
            for old in self._open()
            if old.step != claim.step and old.voice == "user" and may_concern(claim, old)
        ]

    def _head(self, old: Claim) -> ClaimId | None:
        """What took its place, and what took the place of that; None if it is not among the known."""
        seen = {old.id}
        while old.state == "reversed" and old.superseded_by is not None and old.superseded_by not in seen:
            seen.add(old.superseded_by)
            found = self._new.get(old.superseded_by) or self._known.get(old.superseded_by)
            if found is None:
                return None
            old = found
        return old.id

    def _echoes(self, claim: Claim) -> bool:
        return any(
            self._similar.get(old.id, 0.0) >= ECHO or likeness(stems(claim.quote), stems(old.quote)) >= ECHO
            for old in self._known.values()
            if old.voice == "user"
        )

    def _just_said(self, claim: Claim, draft: Draft) -> list[Claim]:
        """What "make that Friday" corrects: the last thing the same speaker said, of the same kind if it has one."""
        near = [old for old in self._open() if is_fresh(claim, old) and old.kind != "cause"]
        near.sort(key=lambda old: (-old.seq, -old.span.start))
        if draft.replaces:
            return [old for old in near if says(old.quote, draft.replaces)][:1]
        kinds = weigh.value_kinds(claim)
        alike = [old for old in near if (theirs := weigh.value_kinds(old)) & kinds or (theirs and "number" in kinds)]
        return (alike if kinds else near)[:1]

    def _open(self) -> list[Claim]:
        """What still holds or is contested, the nearest first: this step's own, then the rest as given."""
        claims = [*reversed(self._new.values()), *self._known.values()]
        return [claim for claim in claims if claim.state in {"current", "unresolved"}]

    def _write(self, claim: Claim, draft: Draft, match: Match) -> None:
        replaced, conflicting = match.replaced, match.conflicting
        touched = [*replaced, *conflicting]
        if claim.voice == "assistant" and (any(old.voice == "user" for old in touched) or self._echoes(claim)):
            return  # the model does not overrule a person, and what it repeats is known
        if (draft.corrects or (draft.subject is None and draft.replaces)) and not touched:
            return  # a correction of nothing
        later = [old for old in replaced if old.said_at > claim.said_at]
        if later:  # it was said before what we know already
            self._new[claim.id] = reversed_by(claim, later[-1])
            return
        held = [old for old in replaced if (old.pinned or old.author == "person") and draft.turning == "none"]
        if held or (conflicting and not replaced):
            self._contest(claim, (held or conflicting)[0])
            return
        if replaced:
            claim = replace(claim, supersedes=replaced[0].id, cause=claim.cause or self._why(claim, replaced))
            if claim.subject is None:
                claim = replace(claim, subject=replaced[0].subject, attribute=replaced[0].attribute)
        self._new[claim.id] = claim
        for old in replaced:
            self._put(reversed_by(old, claim))
            if old.state == "unresolved":
                self._settle_contest(old, claim, match)

    def _contest(self, claim: Claim, old: Claim) -> None:
        self._new[claim.id] = replace(claim, supersedes=old.id, state="unresolved", closed_at=claim.recorded_at)
        self._put(replace(old, superseded_by=claim.id, state="unresolved", closed_at=claim.recorded_at))

    def _settle_contest(self, old: Claim, claim: Claim, match: Match) -> None:
        """The other side of a conflict that this claim ends: it goes too, unless it was about something else."""
        concerned = {one.id for one in match.concerned}
        for other in self._open():
            if (
                other.id != claim.id
                and other.state == "unresolved"
                and old.id in {other.supersedes, other.superseded_by}
            ):
                over = same_slot(other, old) or other.id in concerned
                self._put(reversed_by(other, claim) if over else uncontested(other))

    def _confirm(self, old: Claim) -> None:
        """Somebody said one side of a conflict again: it holds, the other does not."""
        if old.state != "unresolved":
            return
        others = [
            claim
            for claim in self._open()
            if old.id in {claim.supersedes, claim.superseded_by} and claim.state == "unresolved"
        ]
        self._put(
            replace(
                old, state="current", superseded_by=None, supersedes=others[0].id if others else None, closed_at=None
            )
        )
        for other in others:
            self._put(reversed_by(replace(other, supersedes=None), old))

    def _undone(self, claim: Claim) -> tuple[list[Claim], list[Claim]]:
        """What "we reverted it" undoes: a decision of the same step; else perhaps the last one."""
        decisions = [old for old in self._open() if old.kind in {"decision", "event"} and old.voice == claim.voice]
        same = [old for old in decisions if old.step == claim.step]
        if same:
            return same[:1], []
        near = [old for old in decisions if 0 <= claim.seq - old.seq <= FRESH and old.speaker == claim.speaker]
        return [], near[:1]

    def _explain(self, cause: Claim) -> None:
        """A cause said after its effect: of the newest decision, event or reversal near it that has none."""
        for old in self._open():
            near = old.speaker == cause.speaker and 0 <= cause.seq - old.seq <= FRESH
            told = old.kind in {"decision", "event"} or old.supersedes is not None
            if near and told and old.because is None and old.cause is None:
                self._put(replace(old, cause=cause.id))
                return

    def _why(self, claim: Claim, replaced: Sequence[Claim]) -> ClaimId | None:
        """What was told just before a change that names no cause, if it happened and has to do with it."""
        if claim.because is not None:
            return None
        before = [old for old in self._open() if is_fresh(claim, old) and old.seq < claim.seq and old not in replaced]
        last = [old for old in before if old.seq == max(one.seq for one in before)]
        told = len(last) == 1 and befell(last[0]) and self._similar.get(last[0].id, 0.0) >= HAS_TO_DO
        return last[0].id if told else None

    def _said_before(self, claim: Claim) -> ClaimId | None:
        """The claim that "that's why" points to: the last thing the same speaker said just before."""
        near = [old for old in self._open() if old.speaker == claim.speaker and 0 <= claim.seq - old.seq <= 1]
        return near[0].id if near else None

    def _put(self, claim: Claim) -> None:
        if claim.id in self._new:
            self._new[claim.id] = claim
        else:
            self._known[claim.id] = claim
            self._changed.add(claim.id)


def uncontested(claim: Claim) -> Claim:
    return replace(claim, state="current", supersedes=None, superseded_by=None, closed_at=None)


def befell(claim: Claim) -> bool:
    """ "Deploys took two hours", "the gearbox died": no deed of the speaker's, and nothing that holds for good."""
    passing = claim.kind == "event" or is_past(claim) or claim.confidence <= LOOSE
    return passing and (claim.subject or claim.quote).casefold().split()[0] not in {"i", "we"}


def is_undoing(draft: Draft) -> bool:
    """ "We reverted it": what, it does not say."""
    return draft.turning == "hard" and draft.replaces is None and draft.value is None and draft.attribute is not None


def may_concern(claim: Claim, old: Claim) -> bool:
    """Can one be about the other at all? The same words again are not a change."""
    if old.kind == "cause" or is_past(old) or (old.kind == "preference" and claim.kind == "decision"):
        return False
    return stems(claim.quote) != stems(old.quote)


def is_fresh(claim: Claim, old: Claim) -> bool:
    return old.speaker == claim.speaker and old.voice == claim.voice and 0 <= claim.seq - old.seq <= LAST


def alike(replaced: list[Claim]) -> list[Claim]:
    """The nearest claim that a correction names, and others that say the same of the same."""
    return [
        old for old in replaced if old is replaced[0] or (same_slot(old, replaced[0]) and same_value(old, replaced[0]))
    ]


def reversed_by(old: Claim, new: Claim) -> Claim:
    began, ends = old.valid_from, new.valid_from or new.said_at
    return replace(
        old,
        state="reversed",
        superseded_by=new.id,
        valid_to=max(began, ends) if began else ends,
        closed_at=max(new.recorded_at, old.recorded_at),
    )


# --- what a person may do ---


def correct(old: Claim, new: Claim) -> tuple[Claim, Claim]:
    """A person says how it really is: the old claim, and the one that takes its place."""
    new = replace(new, supersedes=old.id, author="person", state="current", pinned=old.pinned or new.pinned)
    return replace(reversed_by(old, new), pinned=False), new


def retract(claim: Claim, claims: Sequence[Claim], *, at: datetime) -> tuple[Claim, ...]:
    """A person says that it was never so: what it had replaced, or put in doubt, holds again."""
    gone = replace(claim, state="retracted", closed_at=at, pinned=False)
    again = [
        restored(other)
        for other in claims
        if other.superseded_by == claim.id and other.state in {"reversed", "unresolved"}
    ]
    apart = [
        freed(other)
        for other in claims
        if claim.state == "unresolved" and other.supersedes == claim.id and other.state == "unresolved"
    ]
    return (gone, *again, *apart)


def pin(claim: Claim, *, pinned: bool = True) -> Claim:
    return replace(claim, pinned=pinned)


# --- what holds ---


def in_order(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    return tuple(
        sorted(claims, key=lambda claim: (claim.said_at, claim.seq, claim.span.message, claim.span.start, claim.id))
    )


def current(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """What holds now, the oldest first; what is contested is not among it."""
    return in_order(claim for claim in claims if claim.state == "current" and claim.valid_to is None)


def as_of(claims: Iterable[Claim], moment: datetime, *, known: datetime | None = None) -> tuple[Claim, ...]:
    """What was so at a moment, by all that is known, or by what was known at another moment."""
    return in_order(claim for claim in claims if held(claim, moment, known))


def held(claim: Claim, moment: datetime, known: datetime | None) -> bool:
    if known is not None and claim.recorded_at > known:
        return False
    closed = claim.closed_at is not None and (known is None or claim.closed_at <= known)
    if closed and claim.state in {"retracted", "unresolved"}:
        return False
    if (claim.valid_from or claim.said_at) > moment and not (claim.valid_from is None and claim.valid_to is not None):
        return False
    ends = None if claim.state == "reversed" and not closed else claim.valid_to
    return ends is None or moment < ends


def timeline(claims: Sequence[Claim]) -> tuple[Change, ...]:
    """What changed, when and why, the oldest first; retracted claims are not part of it."""
    told = [claim for claim in claims if claim.state != "retracted" and claim.kind != "cause"]
    by_id = {claim.id: claim for claim in claims}
    replaced: dict[ClaimId, list[Claim]] = {}
    for claim in told:
        if claim.superseded_by is not None and claim.state == "reversed":
            replaced.setdefault(claim.superseded_by, []).append(claim)
    changes = [
        Change(
            at=claim.valid_from or claim.said_at,
            claim=claim,
            replaced=in_order(replaced.get(claim.id, ())),
            because=claim.because,
            cause=by_id.get(claim.cause) if claim.cause else None,
        )
        for claim in in_order(told)
    ]
    return tuple(sorted(changes, key=lambda change: change.at))
