"""Whether a prompt says rightly what holds now: its memory's lines, held against a conversation whose truth is known.

A statement is shown where a line quotes it from the turn it was said in and the quote holds its value: a change may
name the value it ends, so the turn decides, and a turn may say other things too, so the value does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from everthread.core.sentences import squeezed
from everthread.evals.conversation import Question
from everthread.memory.render import PROFILE, TAIL

Label = Literal["current", "reversed", "unresolved", "past", "known", "plain"]

PLACE = re.compile(r"\((?:[^()\"]*, )?turn (\d+)(?: of s\d+)?(?P<since>, since reversed in turn \d+)?\)")
BECAUSE = re.compile(r"(?<=[\")]) - because: (?=\")")


class Shown(msgspec.Struct, frozen=True):
    """A line of the memory in a prompt."""

    label: Label
    turn: int  # as the prompt numbers them
    quote: str
    whole: str  # with its cause

    def has(self, value: str) -> bool:
        return squeezed(value).casefold() in self.quote.casefold()


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a prompt tells of one question. None: it does not apply."""

    current_in_prompt: bool
    current_reversed: bool  # what holds is labelled as reversed
    current_labelled: bool | None  # of a thing that changed: its newest statement stands on a CURRENT line
    both_sides: bool | None  # and every older one is there as well, labelled as reversed
    turns_labelled: bool | None  # the same by the turns alone, whatever part of them is quoted
    unresolved: bool | None  # the newest statement is shown as one side of a conflict
    stale_as_current: bool | None  # an older one on a CURRENT or profile line; or on a plain one, without its successor
    stale_unlabelled: bool | None  # an older one on a plain line, whatever else is there
    cause_shown: bool | None  # of a thing whose cause was told: it is in the memory
    cause_linked: bool | None  # on the CURRENT line itself


def lines(prompt: str) -> list[Shown]:
    """The lines of the profile and the tail."""
    return [line for block in blocks(prompt) for line in shown(block)]


def blocks(prompt: str) -> Iterator[tuple[str, bool]]:
    """The blocks that were made from memory, each with whether it is the profile."""
    for introduction in (PROFILE, TAIL):
        _, found, rest = prompt.partition(introduction)
        if found:
            yield rest.partition("\n[")[0].partition("\n\n")[0], introduction is PROFILE


def shown(block: tuple[str, bool]) -> Iterator[Shown]:
    text, profile = block
    for line in text.splitlines():
        head, *because = BECAUSE.split(line, maxsplit=1)
        place, start, end = PLACE.search(outside(head)), head.find('"'), head.rfind('"')
        if place is not None and 0 <= start < end:
            label = "known" if profile else labelled(head.strip(), since=place["since"] is not None)
            yield Shown(label, int(place[1]), head[start + 1 : end], "".join((head, *because)))


def outside(line: str) -> str:
    """A line with its quote emptied: what is quoted may look like anything."""
    start, end = line.find('"'), line.rfind('"')
    return f"{line[: start + 1]}{line[end:]}" if 0 <= start < end else line


def labelled(line: str, *, since: bool) -> Label:
    if line.startswith(("CURRENT since ", "FROM NOW ON, ")):
        return "current"
    if line.startswith(("REVERSED: ", "NO LONGER SO, ")) or since:
        return "reversed"
    if line.startswith(("UNRESOLVED ", "or ")):
        return "unresolved"
    return "past" if line.startswith("PAST until ") else "plain"


def verdict(question: Question, shown: Sequence[Shown]) -> Verdict:
    """The turns of the question are those of its conversation, in which every second one is an answer."""
    newest = of(shown, question.current, question.current_turn)
    told = [of(shown, value, turn) for value, turn in question.stale]
    followers = [*told, newest][1:]
    changed = bool(told)
    current = has(newest, "current")
    as_current = any(
        has(one, "current", "known") or (has(one, "plain") and not follower)
        for one, follower in zip(told, followers, strict=True)
    )
    cause = squeezed(question.cause).casefold() if question.cause is not None else None
    return Verdict(
        current_in_prompt=bool(newest),
        current_reversed=has(newest, "reversed"),
        current_labelled=current if changed else None,
        both_sides=current and all(has(one, "reversed") for one in told) if changed else None,
        turns_labelled=turns_labelled(question, shown) if changed else None,
        unresolved=has(newest, "unresolved") if changed else None,
        stale_as_current=as_current if changed else None,
        stale_unlabelled=any(has(one, "plain") for one in told) if changed else None,
        cause_shown=any(cause in line.whole.casefold() for line in shown) if cause is not None else None,
        cause_linked=any(line.label == "current" and cause in line.whole.casefold() for line in newest)
        if cause is not None
        else None,
    )


def turns_labelled(question: Question, shown: Sequence[Shown]) -> bool:
    current = {line.turn for line in shown if line.label == "current"}
    ended = {line.turn for line in shown if line.label == "reversed"}
    return step(question.current_turn) in current and ended.issuperset(step(turn) for _, turn in question.stale)


def of(shown: Sequence[Shown], value: str, turn: int) -> list[Shown]:
    """The lines that show a statement."""
    return [line for line in shown if line.turn == step(turn) and line.has(value)]


def has(shown: Iterable[Shown], *labels: Label) -> bool:
    return any(line.label in labels for line in shown)


def step(turn: int) -> int:
    """The number that a prompt knows a conversation's turn by: a step holds a person's turn and its answer."""
    return turn // 2 + 1
