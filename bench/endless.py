"""One session that goes on and on: what its turns take, what its prompts hold, what they would cost."""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack

import msgspec

from bench import prompts, scenario, words
from bench.prompts import Prompt
from bench.recorder import Heard
from bench.scenario import Broken, Cores, Sides
from bench.server import Process
from bench.talk import Answer, Talk

FIRST = 100  # turns that later ones are compared with
WARM_TURNS = 60
SESSION = "bench:endless"


class Size(msgspec.Struct, frozen=True):
    calm: int  # turns, from the first, before each of which the server has come to rest
    marks: tuple[int, ...]  # turns that are looked at, after those
    around: int  # turns that are timed around each
    young: int  # sessions whose first and tenth turns are timed: one session has only one of each


FULL = Size(calm=500, marks=(1_000, 10_000), around=100, young=40)
QUICK = Size(calm=150, marks=(1_000,), around=40, young=20)


class Near(msgspec.Struct, frozen=True):
    """The turns around one number. Times in ns."""

    turn: int
    direct: list[int]  # the same message, without a history, to the upstream itself
    through: list[int]
    beside: list[int]  # the first turns of a new session on a new server, in the same seconds

    @property
    def direct_ms(self) -> float:
        return statistics.median(self.direct) / 1e6

    @property
    def through_ms(self) -> float:
        return statistics.median(self.through) / 1e6

    @property
    def added_ms(self) -> float:
        return self.through_ms - self.direct_ms

    @property
    def added_beside_ms(self) -> float:
        return statistics.median(self.beside) / 1e6 - self.direct_ms


def near(turn: int) -> Near:
    return Near(turn, [], [], [])


class Stretch(msgspec.Struct, frozen=True):
    """Turns that followed each other at once."""

    first: int
    last: int
    seconds: float
    cores: Cores
    times: list[int]

    @property
    def turns(self) -> int:
        return self.last - self.first + 1

    @property
    def cpu_us(self) -> float:
        return self.cores.everthread * self.seconds / self.turns * 1e6


class Endless(msgspec.Struct, frozen=True):
    budget: int
    rotations: int
    calm: int  # turns at a person's pace; those after them follow each other at once, but around the marks
    first: Near  # the first hundred turns
    near: list[Near]
    stretches: list[Stretch]
    prompts: list[Prompt]  # as the upstream got them, by turn
    everything: list[Prompt]  # as they would be with the whole history
    miscounted: int  # the largest difference between what a reply and the upstream say of a prompt, in tokens
    memory_mb: float  # by which the process has grown after the calm turns


class Cast(msgspec.Struct, frozen=True):
    """The processes that take part."""

    upstream: Process
    server: Process  # with a database that holds the endless session and little else
    beside: Process  # another one, whose database stays small


class Measuring:
    """Three people: one talks to the server, one to the other server, one to the upstream itself."""

    def __init__(self, cast: Cast, through: Talk, beside: Talk, direct: Talk, *, session: str = SESSION) -> None:
        self.session = session
        self.sides = Sides(cast.upstream, cast.server)
        self.server = cast.server
        self.other = cast.beside
        self.through = through
        self.beside = beside
        self.direct = direct
        self.answers: list[Answer] = []
        self.asked: list[str] = []
        self.messages = words.messages()

    def turn(self) -> Answer:
        """The endless session's next."""
        text = next(self.messages)
        answer = self.through.say(text, self.session, recorded_as=self.session)
        self.asked.append(text)
        self.answers.append(answer)
        return answer

    def calm_turn(self) -> Answer:
        self.server.rest()
        return self.turn()

    def timed(self, into: Near, text: str, answer: Answer) -> None:
        """Takes the turn's time, and that of the same message said directly."""
        into.through.append(answer.ns)
        self.server.rest()
        into.direct.append(self.direct.say(text).ns)

    def young(self, sessions: int) -> list[Near]:
        """First and tenth turns."""
        found = {1: near(1), 10: near(10)}
        for number in range(sessions):
            for place, text in enumerate(itertools.islice(words.messages(words.SEED + 1 + number), 10), 1):
                if place not in found:
                    self.through.say(text, f"bench:young:{number}")
                    continue
                self.server.rest()
                self.timed(found[place], text, self.through.say(text, f"bench:young:{number}"))
        return list(found.values())

    def around(self, turn: int, count: int, *, beside: bool = False) -> Near:
        """The next turns, each with a direct one, and if wanted with one of a session that is new."""
        found = near(turn)
        others = words.messages(words.SEED + turn)
        if beside:
            warm(self.beside)
        for _ in range(count):
            answer = self.calm_turn()
            self.timed(found, self.asked[-1], answer)
            if beside:
                self.other.rest()
                found.beside.append(self.beside.say(next(others), f"bench:beside:{turn}").ns)
        return found

    def stretch(self, until: int) -> Stretch:
        first = len(self.answers) + 1
        before, began = self.sides.clock(), time.perf_counter()
        times = [self.turn().ns for _ in range(first, until + 1)]
        after, took = self.sides.clock(), time.perf_counter() - began
        return Stretch(first, until, took, Cores.between(before, after, took), times)


def measure(cast: Cast, *, quick: bool, say: Callable[[str], None]) -> Endless:
    heard_of(cast.upstream)
    targets = (cast.server.target, cast.beside.target, cast.upstream.target)
    with ExitStack() as stack:
        through, beside, direct = (stack.enter_context(Talk(target)) for target in targets)
        for talk in (through, beside, direct):
            warm(talk)
        gc.collect()
        gc.disable()
        try:
            measuring = Measuring(cast, through, beside, direct)
            return run(measuring, cast.upstream, QUICK if quick else FULL, say)
        finally:
            gc.enable()


def warm(talk: Talk) -> None:
    talk.reconnect()
    for text in itertools.islice(words.messages(0), WARM_TURNS):
        talk.say(text, "bench:warm")


def run(measuring: Measuring, upstream: Process, size: Size, say: Callable[[str], None]) -> Endless:
    say(f"endless: {size.young} young sessions, {size.calm} turns at a person's pace")
    found = measuring.young(size.young)
    first = measuring.around(0, 150)
    found.append(part(first, 100, slice(50, 150)))
    while len(measuring.answers) < size.calm:
        measuring.calm_turn()
    memory = measuring.server.rss_kb()
    stretches = []
    for mark in size.marks:
        say(f"endless: turns {len(measuring.answers) + 1:,} to {mark + size.around // 2:,}")
        stretches.append(measuring.stretch(mark - size.around // 2))
        found.append(measuring.around(mark, size.around, beside=True))
    memory = measuring.server.rss_kb() - memory
    answers = measuring.answers
    received = list(prompts.received(heard_of(upstream)[SESSION]))
    return Endless(
        budget=answers[0].hermes.context.budget,
        rotations=len({answer.hermes.session_id for answer in answers}) - 1,
        calm=size.calm,
        first=part(first, 0, slice(FIRST)),
        near=found,
        stretches=stretches,
        prompts=received,
        everything=list(prompts.everything(measuring.asked, [answer.text for answer in answers])),
        miscounted=miscounted(answers, received),
        memory_mb=memory / 1024,
    )


def part(whole: Near, turn: int, of: slice) -> Near:
    return Near(turn, whole.direct[of], whole.through[of], whole.beside[of])


def miscounted(answers: list[Answer], received: list[Prompt]) -> int:
    """By how many tokens the replies were wrong about their prompts, at worst."""
    told = [answer.hermes.context for answer in answers]
    if len(received) != len(told):
        raise Broken(f"the upstream got {len(received)} prompts in {len(told)} turns")
    if over := [context for context in told if context.prompt_tokens > context.budget]:
        raise Broken(f"{len(over)} prompts are over the budget; the first: {over[0]}")
    return max(abs(context.prompt_tokens - prompt.tokens) for context, prompt in zip(told, received, strict=True))


def heard_of(upstream: Process) -> dict[str, list[Heard]]:
    """What the upstream has recorded since it was last asked."""
    return msgspec.json.decode(scenario.post(upstream.target, "/bench/heard"), type=dict[str, list[Heard]])
