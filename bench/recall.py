"""What recall adds to a turn: questions to a session with years behind it, among others like it."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench import scenario, scopes, server, stages, words
from bench.load import Target, percentile
from bench.scenario import Broken
from bench.scopes import Built
from bench.server import Process
from bench.stages import Stage
from bench.talk import Answer, Talk

SCOPES, QUICK_SCOPES = 10, 2
ROUNDS, QUICK_ROUNDS = 80, 30
WARM_ROUNDS = 8
SHORT = 24  # turns of a short session: all of them are in its window
IDLE = ("Thanks, that sounds good!", "Okay, great.", "Nice, thank you very much.", "Good morning!")
TOPICS = words.listed(  # each is asked about once: what was asked before would be recalled
    "photosynthesis, the offside rule, a diesel engine, the French Revolution, compound interest, a violin, plate "
    "tectonics, the immune system, chess openings, a black hole, sourdough bread, the stock exchange, a neural "
    "network, the Roman senate, glaciers, a vaccine, jazz harmony, the metric system, volcanoes, a suspension "
    "bridge, the water cycle, haiku, inflation, the Silk Road, a microwave oven, bee colonies, the alphabet, "
    "quantum entanglement, a sonnet, the Olympic games, DNA, a sundial, origami, the Renaissance, coral reefs, a "
    "steam locomotive, democracy, the speed of light, sign language, a combustion chamber, feudalism, the "
    "periodic table, a tornado, opera, evolution, a telescope, the Aztec calendar, antibiotics, a turbine, "
    "ballet, the Cold War, magnetism, a submarine, cheese making, the Moon, a transistor, tectonic faults, the "
    "blues, erosion, a parachute, Buddhism, nuclear fusion, a kaleidoscope, the tango, dinosaurs, a barometer, "
    "the printing press, migration of birds, a solar panel, cubism, gravity, an earthquake scale, the Ottoman "
    "Empire, a lithium battery, poker, tides, a helicopter, the Enlightenment, honey, a pendulum, the Arctic fox, "
    "superconductors, a clarinet, the gold standard, fungi, a zeppelin, stoicism, the Mariana Trench, a compass, "
    "vitamins"
)
WORLD = (
    "Please explain {} step by step, with two examples and some numbers.",
    "Write a summary about {} for a school magazine, within three paragraphs.",
    "How would an encyclopedia introduce {} to curious readers from abroad?",
    "Compare two common theories about {} and list their strongest arguments.",
)


def worldly(number: int) -> str:
    """A question whose words may have been said; but nothing about that."""
    return WORLD[number % len(WORLD)].format(TOPICS[number % len(TOPICS)])


class Kind(msgspec.Struct, frozen=True):
    """Turns of one kind. Times in ns."""

    times: list[int]
    cpu: list[int]  # of the server, from the request to the answer
    after: list[int]  # and from there until it rests
    tails: list[int]  # tokens that were recalled

    @property
    def p50(self) -> float:
        return percentile(self.times, 0.50) or 0.0

    @property
    def p95(self) -> float:
        return percentile(self.times, 0.95) or 0.0

    @property
    def cpu_ms(self) -> float:
        return statistics.median(self.cpu) / 1e6

    @property
    def after_ms(self) -> float:
        return statistics.median(self.after) / 1e6

    @property
    def recalled(self) -> float:
        """The share of turns that were given something."""
        return sum(tail > 0 for tail in self.tails) / len(self.tails)


class Recalled(msgspec.Struct, frozen=True):
    built: Built
    first_ms: float  # the first question after a start: model and vectors are loaded
    short: Kind  # a session with nothing outside its window
    found: Kind  # questions about something that was said
    nothing: Kind  # questions about something else: what little fits, if anything
    idle: Kind  # small talk, in the same session
    asked: float  # requests to the upstream per turn
    stages: list[Stage]


class Asking:
    """One person who asks this and that, each time after the server has come to rest."""

    def __init__(self, server: Process, talk: Talk, questions: list[str]) -> None:
        self.server = server
        self.talk = talk
        self.questions = questions
        self.turns = 0

    def kind(self) -> Kind:
        return Kind([], [], [], [])

    def short(self, number: int) -> tuple[str, str]:
        return self.questions[number % len(self.questions)], f"bench:short:{number // SHORT}"

    def turn(self, into: Kind, text: str, session: str) -> None:
        self.server.rest()
        before = self.server.cpu_ns()
        answer = self.said(text, session)
        then = self.server.cpu_ns()
        self.server.rest()
        into.times.append(answer.ns)
        into.cpu.append(then - before)
        into.after.append(self.server.cpu_ns() - then)
        into.tails.append(answer.hermes.context.tail)

    def said(self, text: str, session: str) -> Answer:
        self.turns += 1
        return self.talk.say(text, session)

    def round(self, number: int, kinds: list[Kind]) -> None:
        short, found, nothing, idle = kinds
        question = self.questions[number % len(self.questions)]
        self.turn(short, *self.short(number))
        self.turn(found, question, scopes.MAIN)
        self.turn(nothing, worldly(number), scopes.MAIN)
        self.turn(idle, IDLE[number % len(IDLE)], scopes.MAIN)


class Sizes(msgspec.Struct, frozen=True):
    scopes: int
    rounds: int


def sizes(scopes: int | None, *, quick: bool) -> Sizes:
    usual = QUICK_SCOPES if quick else SCOPES
    return Sizes(usual if scopes is None else scopes, QUICK_ROUNDS if quick else ROUNDS)


def measure(home: Path, upstream: Process, size: Sizes, say: Callable[[str], None]) -> Recalled:
    built = scopes.build(home / "everthread.db", scopes=size.scopes, say=say)
    say(f"recall: {built.megabytes:,.0f} MB; {size.rounds} turns of each kind")
    with server.everthread_at(home, upstream.target) as process:
        found = through(process, upstream.target, built, size)
    say("recall: its stages, inside")
    return Recalled(*found, stages=stages.measure(home / "everthread.db", built.questions, size.rounds))


def through(
    process: Process, upstream: Target, built: Built, size: Sizes
) -> tuple[Built, float, Kind, Kind, Kind, Kind, float]:
    with Talk(process.target) as talk:
        asking = Asking(process, talk, built.questions)
        talk.order("/compress", scopes.MAIN)  # it has a log and a profile, as any session of its age
        process.has_read()
        first = asking.said(built.questions[0], scopes.MAIN).ns / 1e6
        time.sleep(1.0)
        for number in range(WARM_ROUNDS):
            asking.round(number, [asking.kind() for _ in range(4)])
        asking.turns, before = 0, asked(upstream)
        kinds = [asking.kind() for _ in range(4)]
        gc.collect()
        gc.disable()
        try:
            for number in range(size.rounds):
                asking.round(WARM_ROUNDS + number, kinds)
        finally:
            gc.enable()
        requests = (asked(upstream) - before) / asking.turns
    short, found, nothing, idle = kinds
    check(short, found)
    return built, first, short, found, nothing, idle, requests


def check(short: Kind, found: Kind) -> None:
    """Is it recall that was measured?"""
    if any(short.tails):
        raise Broken("a session with nothing outside its window was given something from memory")
    if found.recalled < 0.9:
        raise Broken(f"only {found.recalled:.0%} of the questions about what was said found anything")


class Asked(msgspec.Struct):
    asked: int


def asked(upstream: Target) -> int:
    return msgspec.json.decode(scenario.post(upstream, "/bench/asked"), type=Asked).asked
