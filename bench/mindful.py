"""The endless session with memory on: every turn from its first rotation on is given what was said before."""

from __future__ import annotations

import gc
from collections.abc import Callable

import msgspec

from bench import endless, prompts
from bench.endless import Cast, Measuring, Near, Stretch
from bench.prompts import Prompt
from bench.talk import Talk

YOUNG = 250  # the turn whose surroundings later ones are compared with: they are given something too
AROUND = 100
TURNS, QUICK_TURNS, LONG_TURNS = 1_000, 500, 10_000
SESSION = "bench:mindful"


class Mindful(msgspec.Struct, frozen=True):
    turns: int
    budget: int
    rotations: int
    young: Near
    old: Near
    tails: list[int]  # tokens that were recalled, by turn
    stretch: Stretch
    prompts: list[Prompt]
    miscounted: int

    def recalled(self, first: int, last: int) -> float:
        """The share of these turns that were given something."""
        return sum(tail > 0 for tail in self.tails[first - 1 : last]) / (last - first + 1)


def turns(*, quick: bool, long: bool) -> int:
    return LONG_TURNS if long else QUICK_TURNS if quick else TURNS


def measure(cast: Cast, count: int, say: Callable[[str], None]) -> Mindful:
    endless.heard_of(cast.upstream)
    with Talk(cast.server.target) as through, Talk(cast.upstream.target) as direct:
        for talk in (through, direct):
            endless.warm(talk)
        measuring = Measuring(cast, through, through, direct, session=SESSION)
        gc.collect()
        gc.disable()
        try:
            return run(measuring, count, say)
        finally:
            gc.enable()


def run(measuring: Measuring, count: int, say: Callable[[str], None]) -> Mindful:
    say(f"endless, memory on: turns 1 to {YOUNG + AROUND // 2}")
    measuring.stretch(YOUNG - AROUND // 2)
    young = around(measuring, YOUNG)
    say(f"endless, memory on: turns {len(measuring.answers) + 1:,} to {count:,}")
    stretch = measuring.stretch(count - AROUND)
    old = around(measuring, count - AROUND // 2)
    answers = measuring.answers
    received = list(prompts.received(endless.heard_of(measuring.sides.upstream)[SESSION]))
    return Mindful(
        turns=count,
        budget=answers[0].hermes.context.budget,
        rotations=len({answer.hermes.session_id for answer in answers}) - 1,
        young=young,
        old=old,
        tails=[answer.hermes.context.tail for answer in answers],
        stretch=stretch,
        prompts=received,
        miscounted=endless.miscounted(answers, received),
    )


def around(measuring: Measuring, turn: int) -> Near:
    """Once everything was read that was said in a hurry."""
    measuring.server.has_read()
    measuring.through.reconnect()
    measuring.direct.reconnect()
    return measuring.around(turn, AROUND)
