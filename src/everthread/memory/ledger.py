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
from everthread.memory.slots import relation, same_slot, same_value

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
    existing: Sequence[Claim],
    *,
    step: StepId,
    seq: int,
    said_at: datetime,
    recorded_at: datetime,
) -> Settled:
    """New statements held against the earlier claims they may concern, the nearest first."""
    book = Book(existing)
    for draft in drafts:
        claim = Claim(
            id=ClaimId(f"{step}.{draft.span.message}.{draft.span.start}-{draft.span.end}.{draft.kind}"),
            step=step,
            seq=seq,
            said_at=said_at,
            recorded_at=recorded_at,
            **{name: getattr(draft, name) for name in DRAWN},
        )
        book.enter(claim, draft)
    return book.settled


DRAWN = (
    "kind", "quote", "span", "speaker", "voice", "subject", "attribute", "value", "negated", "when", "valid_from",
    "valid_to", "because", "confidence",
)  # fmt: skip


class Book:
    """The claims while a step's statements are entered."""

    def __init__(self, existing: Sequence[Claim]) -> None:
        self._known = {claim.id: claim for claim in existing}  # in the order given: nearest first
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
        replaced: list[Claim] = []
        conflicting: list[Claim] = []
        for old in self._open():
            match relation(claim, old, turning=draft.turning, replaces=draft.replaces):
                case "repeats":
                    self._confirm(old)
                    return
                case "replaces":
                    replaced.append(old)
                case "conflicts":
                    conflicting.append(old)
                case None:
                    pass
        if draft.turning == "hard" and draft.replaces is None and claim.value is None:
            replaced, conflicting = self._undone(claim)
        self._write(claim, draft, replaced, conflicting)

    def _open(self) -> list[Claim]:
        """What still holds or is contested, the nearest first: this step's own, then the rest as given."""
        claims = [*reversed(self._new.values()), *self._known.values()]
        return [claim for claim in claims if claim.state in {"current", "unresolved"}]

    def _write(self, claim: Claim, draft: Draft, replaced: list[Claim], conflicting: list[Claim]) -> None:
        touched = [*replaced, *conflicting]
        if claim.voice == "assistant" and any(old.voice == "user" for old in touched):
            return  # the model does not overrule a person
        if draft.subject is None and draft.turning == "hard" and not touched:
            return  # a correction of nothing
        if draft.turning == "hard" and draft.replaces is not None:
            replaced = alike(replaced)
        later = [old for old in replaced if old.said_at > claim.said_at]
        if later:  # it was said before what we know already
            self._new[claim.id] = reversed_by(claim, later[-1])
            return
        held = [old for old in replaced if (old.pinned or old.author == "person") and draft.turning == "none"]
        if held or (conflicting and not replaced):
            self._contest(claim, (held or conflicting)[0])
            return
        if replaced:
            claim = replace(claim, supersedes=replaced[0].id)
        self._new[claim.id] = claim
        for old in replaced:
            self._put(reversed_by(old, claim))
            if old.state == "unresolved":
                self._settle_contest(old, claim)

    def _contest(self, claim: Claim, old: Claim) -> None:
        self._new[claim.id] = replace(claim, supersedes=old.id, state="unresolved", closed_at=claim.recorded_at)
        self._put(replace(old, superseded_by=claim.id, state="unresolved", closed_at=claim.recorded_at))

    def _settle_contest(self, old: Claim, claim: Claim) -> None:
        """The other side of a conflict that this claim ends."""
        for other in self._open():
            if (
                other.id != claim.id
                and other.state == "unresolved"
                and old.id in {other.supersedes, other.superseded_by}
            ):
                self._put(reversed_by(other, claim))

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
    freed = [
        replace(other, state="current", supersedes=None, closed_at=None)
        for other in claims
        if claim.state == "unresolved" and other.supersedes == claim.id and other.state == "unresolved"
    ]
    return (gone, *again, *freed)


def restored(claim: Claim) -> Claim:
    return replace(claim, state="current", superseded_by=None, valid_to=None, closed_at=None)


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
