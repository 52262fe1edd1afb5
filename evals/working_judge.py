"""How the rules do on the working family: `python -m evals.working_judge [--held-out] [--count N] [--show N]`."""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import msgspec

from everthread.core.claim import Claim, ClaimId, Draft
from everthread.core.ids import StepId
from everthread.core.memory import Near
from everthread.core.messages import Message, say
from everthread.embed.choose import best
from everthread.memory.ledger import settle
from everthread.memory.notice import notice
from evals.conversation import Conversation, Question, Said
from evals.working import conversations
from evals.working_heldout import HELD_OUT
from evals.working_topics import WORKING

NEAREST, RECENT = 30, 20


class Vectors:
    """Sentence vectors, each made once."""

    def __init__(self) -> None:
        self.embedder = best()
        self.known: dict[str, bytes] = {}
        self.loop = asyncio.new_event_loop()

    def learn(self, texts: Iterable[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self.known |= dict(zip(new, self.loop.run_until_complete(self.embedder.embed(new)), strict=True))

    def similar(self, text: str, others: Sequence[str]) -> list[float]:
        self.learn((text, *others))
        return self.embedder.similarities(self.known[text], [self.known[other] for other in others])

    def close(self) -> None:
        self.loop.run_until_complete(self.embedder.close())
        self.loop.close()


@dataclass(slots=True)
class Tally:
    asked: int = 0
    current: int = 0  # the newest statement holds, linked over all the others
    both: int = 0  # the same, or all sides shown as unresolved
    stale: int = 0  # an old one is shown as if it held
    missing: int = 0  # the newest statement is no claim
    statements: int = 0  # claims of turns that nothing reverses
    wronged: int = 0  # of them reversed
    doubted: int = 0
    notice_seconds: float = 0.0
    settle_seconds: float = 0.0
    turns: int = 0
    settled: int = 0
    ways: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        share = lambda part, whole: f"{100 * part / max(1, whole):.1f} %"  # noqa: E731
        return (
            f"{self.asked} questions: current {share(self.current, self.asked)}, both sides "
            f"{share(self.both, self.asked)}, stale as current {share(self.stale, self.asked)}, newest not noticed "
            f"{share(self.missing, self.asked)}; of {self.statements} other statements reversed "
            f"{share(self.wronged, self.statements)}, unresolved {share(self.doubted, self.statements)}; notice "
            f"{1000 * self.notice_seconds / max(1, self.turns):.3f} ms, settle "
            f"{1000 * self.settle_seconds / max(1, self.settled):.3f} ms"
        )


def message(said: Said) -> Message:
    name = None if said.speaker in {"user", "assistant"} else said.speaker
    return msgspec.structs.replace(say(said.role, said.text), name=name)


def remembered(conversation: Conversation, vectors: Vectors, tally: Tally) -> dict[ClaimId, Claim]:
    """The claims of a conversation, after its last turn."""
    claims: dict[ClaimId, Claim] = {}
    for seq, said in enumerate(conversation.turns):
        began = perf_counter()
        drafts = notice((message(said),), said.at)
        tally.notice_seconds += perf_counter() - began
        tally.turns += 1
        for draft in drafts:
            assert said.text[draft.span.start : draft.span.end] == draft.quote
        if not drafts:
            continue
        for draft in drafts:
            near = nearest(draft, claims, vectors)
            began = perf_counter()
            done = settle((draft,), near, step=StepId(f"s{seq}"), seq=seq, said_at=said.at, recorded_at=said.at)
            tally.settle_seconds += perf_counter() - began
            tally.settled += 1
            claims |= {claim.id: claim for claim in (*done.inserted, *done.changed)}
    return claims


def nearest(draft: Draft, claims: dict[ClaimId, Claim], vectors: Vectors) -> list[Near]:
    """As a store would give them: similar ones and recent ones, and what took the place of those that are reversed."""
    if not claims:
        return []
    known = list(claims.values())
    similar = vectors.similar(draft.quote, [claim.quote for claim in known])
    near = {claim.id: Near(claim, one) for claim, one in zip(known, similar, strict=True)}
    order = sorted(near.values(), key=lambda one: -one.similar)
    recent = sorted(near.values(), key=lambda one: (-one.claim.seq, -one.claim.span.start))
    chosen = {one.claim.id: one for one in (*order[:NEAREST], *recent[:RECENT])}
    for one in list(chosen.values()):
        while one.claim.superseded_by is not None and one.claim.superseded_by not in chosen:
            one = near[one.claim.superseded_by]
            chosen[one.claim.id] = one
    return sorted(chosen.values(), key=lambda one: -one.similar)


def judged(conversation: Conversation, claims: dict[ClaimId, Claim], tally: Tally, show: Callable[[str], None]) -> None:
    at: dict[int, list[Claim]] = {}
    for claim in claims.values():
        at.setdefault(claim.seq, []).append(claim)
    told: set[int] = set()
    for question in conversation.questions:
        told |= {question.current_turn, *(turn for _, turn in question.stale)}
        if question.cause_turn is not None:
            told.add(question.cause_turn)
        judge(conversation, question, at, claims, tally, show)
    for seq, drawn in at.items():
        if seq in told or conversation.turns[seq].role != "user":
            continue
        for claim in drawn:
            tally.statements += 1
            tally.wronged += claim.state == "reversed"
            tally.doubted += claim.state == "unresolved"
            if claim.state != "current":
                over = claims.get(claim.superseded_by) if claim.superseded_by else None
                show(f"FALSE {claim.state}: {claim.quote!r} by {over.quote if over else None!r}")


def judge(
    conversation: Conversation,
    question: Question,
    at: dict[int, list[Claim]],
    claims: dict[ClaimId, Claim],
    tally: Tally,
    show: Callable[[str], None],
) -> None:
    tally.asked += 1
    newest = [claim for claim in at.get(question.current_turn, ()) if claim.kind != "cause"]
    stale = {turn for _, turn in question.stale}
    heads = [claim for claim in newest if claim.state == "current"]
    under = {turn: {claim.id for claim in at.get(turn, ())} for turn in stale}
    right = any(all(chain(head, claims) & ids for ids in under.values()) for head in heads)
    contested = any(
        all((chain(claim, claims) | contest(claim, claims)) & ids for ids in under.values()) for claim in newest
    )
    stale_current = [
        claim
        for turn in stale
        for claim in at.get(turn, ())
        if claim.state == "current" and claim.kind != "cause" and says(claim, question, turn)
    ]
    tally.current += right
    tally.both += right or contested
    tally.stale += bool(stale_current)
    tally.missing += not newest
    if not right or stale_current:
        lines = [f"{'STALE ' if stale_current else ''}{'' if right else 'WRONG '}{question.subject}:"]
        for turn in sorted({*stale, question.current_turn}):
            states = [
                (
                    c.state,
                    c.quote,
                    c.subject,
                    c.attribute,
                    c.value,
                    claims[c.superseded_by].quote if c.superseded_by else None,
                )
                for c in at.get(turn, ())
            ]
            lines.append(
                f"    {turn} {conversation.turns[turn].speaker}: {conversation.turns[turn].text!r}\n         {states}"
            )
        show("\n".join(lines))


def says(claim: Claim, question: Question, turn: int) -> bool:
    """Is it this claim of the turn that has the old value? One that only stands beside it may go on holding."""
    return any(value.casefold() in claim.quote.casefold() for value, place in question.stale if place == turn)


def chain(head: Claim, claims: dict[ClaimId, Claim]) -> set[ClaimId]:
    """All that a claim took the place of, one after the other."""
    found = {head.id}
    grown = True
    while grown:
        more = {c.id for c in claims.values() if c.superseded_by in found and c.state == "reversed"} - found
        found |= more
        grown = bool(more)
    return found - {head.id}


def contest(claim: Claim, claims: dict[ClaimId, Claim]) -> set[ClaimId]:
    """The other sides of its conflict, with what they had replaced."""
    if claim.state != "unresolved":
        return set()
    sides = {claim.id}
    grown = True
    while grown:
        more = {
            c.id
            for c in claims.values()
            if c.state == "unresolved" and c.id not in sides
            and (c.superseded_by in sides or c.supersedes in sides
                 or any(claims[s].superseded_by == c.id or claims[s].supersedes == c.id for s in sides))
        }  # fmt: skip
        sides |= more
        grown = bool(more)
    return sides | {one for side in sides for one in chain(claims[side], claims)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0)
    asked = parser.parse_args()
    tally, vectors, shown = Tally(), Vectors(), Counter[str]()

    def show(text: str) -> None:
        shown["all"] += 1
        if shown["all"] <= asked.show:
            print(text)

    for conversation in conversations(HELD_OUT if asked.held_out else WORKING, asked.count, asked.seed):
        judged(conversation, remembered(conversation, vectors, tally), tally, show)
    vectors.close()
    print(tally)


if __name__ == "__main__":
    main()
