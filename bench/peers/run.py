"""One whole run: the servers are started, loaded, and talked to; what fails is noted, and the rest goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import msgspec

from bench import endless, machine, server
from bench.load import Plan, WrongAnswer
from bench.peers import install, servers
from bench.peers.install import NotInstalled
from bench.peers.results import DIRECT, Failure, Results, Standing
from bench.peers.rounds import BRIEF, ONCE, PLANS, Length, alone, round_of
from bench.peers.servers import Contender
from bench.peers.session import Conversation, Person, weighed
from bench.scenario import Broken, Round
from bench.server import NotReady, Process

SETTLE_SECONDS = 1.0
WARM_TURNS = 5
HELLO = "Hello! Could you tell me what you can do for me?"
PEERS = ("hermes", "litellm")
FAILED = (WrongAnswer, Broken, NotReady, OSError, TimeoutError, msgspec.MsgspecError)


class Size(msgspec.Struct, frozen=True):
    rounds: int
    length: Length
    starts: int
    turns: int  # of the session
    load_seconds: float  # after which no further round is begun
    share: float  # seconds that one server may take for the session


FULL = Size(rounds=3, length=Length(2.0, 40.0), starts=2, turns=300, load_seconds=210.0, share=150.0)
QUICK = Size(rounds=1, length=Length(0.5, 20.0), starts=1, turns=40, load_seconds=80.0, share=40.0)


class Stage:
    """The servers that run now. One that failed is started anew."""

    def __init__(self, source: Process, parent: str | None, note: Callable[[Failure], None]) -> None:
        self.source = source
        self.parent = parent
        self.note = note
        self.open: dict[str, ExitStack] = {}
        self.running: dict[str, Process] = {}

    def start(self, contender: Contender) -> Process | None:
        name = contender.about.name
        stack = ExitStack()
        try:
            process = stack.enter_context(contender.start(self.source.target, self.parent))
        except FAILED as error:
            self.note(Failure(name, "start", told(error)))
            return None
        self.open[name] = stack
        self.running[name] = process
        return process

    def stop(self, name: str) -> None:
        self.running.pop(name, None)
        if stack := self.open.pop(name, None):
            stack.close()

    def restart(self, contender: Contender) -> None:
        self.stop(contender.about.name)
        self.start(contender)


def told(error: BaseException) -> str:
    return "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])])


class Bench:
    def __init__(self, size: Size, wanted: Sequence[str], parent: str | None) -> None:
        self.size = size
        self.wanted = wanted
        self.parent = parent
        self.began = time.perf_counter()
        self.failures: list[Failure] = []
        self.standing: dict[str, Standing] = {}

    def say(self, what: str) -> None:
        print(f"[{time.perf_counter() - self.began:5.1f} s] {what}", file=sys.stderr, flush=True)

    def note(self, failure: Failure) -> None:
        self.failures.append(failure)
        self.say(f"FAILED: {failure.brief}")

    # --- who takes part ---

    def contenders(self) -> list[Contender]:
        found = [servers.everthread(), servers.everthread(lean=True)]
        for name in self.wanted:
            try:
                env = install.environment(name, self.say)
            except NotInstalled as error:
                self.note(Failure(name, "installation", str(error)))
                continue
            if name == "hermes":
                found += [servers.hermes(env), servers.hermes(env, lean=True)]
            if name == "litellm":
                found.append(servers.litellm(env))
        return found

    @contextmanager
    def stage(self, source: Process, contenders: Sequence[Contender]) -> Iterator[Stage]:
        """Each is started alone, says hello, and is looked at."""
        stage = Stage(source, self.parent, self.note)
        try:
            for contender in contenders:
                with self.others_stopped(stage):
                    self.greet(stage, contender)
            yield stage
        finally:
            for name in list(stage.open):
                stage.stop(name)

    @contextmanager
    def others_stopped(self, stage: Stage) -> Iterator[None]:
        there = list(stage.running.values())
        with alone(stage.source, there):
            yield

    def greet(self, stage: Stage, contender: Contender) -> None:
        process = stage.start(contender)
        if process is None:
            return
        time.sleep(SETTLE_SECONDS)
        name = contender.about.name
        found = self.standing.setdefault(name, Standing())
        found.ready_ms.append(process.ready_ms)
        found.idle_kb.append(process.rss_kb())
        person = Person(process.target, stateless=contender.about.stateless, session="bench:hello")
        try:
            first = person.say(HELLO)
            found.first_ms.append(first.ns / 1e6)
            process.rest()
            found.hello_tokens.append(weighed(first, HELLO, endless.heard_of(stage.source).get(name, [])).tokens)
            for _ in range(WARM_TURNS):
                person.say(HELLO)
        except FAILED as error:
            self.note(Failure(name, "the first turns", told(error)))
            stage.stop(name)
            return
        process.rest()
        self.say(f"{name} is ready (process {process.popen.pid})")

    # --- the load ---

    def load(self, stage: Stage, contenders: Sequence[Contender]) -> dict[str, dict[str, list[Round]]]:
        until = time.perf_counter() + self.size.load_seconds
        found: dict[str, dict[str, list[Round]]] = {name: {} for name in PLANS}
        for number in range(self.size.rounds):
            for name, plan in PLANS.items():
                if number and (name in ONCE or time.perf_counter() > until):
                    continue
                self.say(f"{name}, round {number + 1}")
                self.direct(stage, plan, found[name])
                for contender in contenders:
                    if name in BRIEF or not contender.about.brief:
                        self.round(stage, contender, name, found[name])
        return found

    def direct(self, stage: Stage, plan: Plan, into: dict[str, list[Round]]) -> None:
        with self.others_stopped(stage):
            into.setdefault(DIRECT, []).append(round_of(stage.source, stage.source, plan, self.size.length))

    def round(self, stage: Stage, contender: Contender, plan: str, into: dict[str, list[Round]]) -> None:
        name = contender.about.name
        process = stage.running.get(name)
        if process is None or any(failure.name == name and failure.what == plan for failure in self.failures):
            return
        try:
            with alone(process, list(stage.running.values())):
                into.setdefault(name, []).append(round_of(stage.source, process, PLANS[plan], self.size.length))
                self.standing[name].loaded_kb.append(process.rss_kb())
        except FAILED as error:
            self.note(Failure(name, plan, told(error)))
            stage.restart(contender)

    # --- all of it ---

    def run(self) -> Results:
        contenders = self.contenders()
        whole = [contender for contender in contenders if not contender.about.part]
        began = time.perf_counter()
        with ExitStack() as stack:
            home = stack.enter_context(server.folder(self.parent))
            facts = machine.look(home.parent)
            source = stack.enter_context(server.fake_upstream())
            for _ in range(self.size.starts - 1):
                with self.stage(source, whole):
                    pass
            with self.stage(source, contenders) as stage:
                plans = self.load(stage, contenders)
            with self.stage(source, whole) as stage:
                about = [contender.about for contender in whole]
                talk = Conversation(source, stage.running, about, self.size.share)
                session = talk.run(self.size.turns, self.say)
            for failure in talk.failures:
                self.note(failure)
        return Results(
            machine=facts,
            rounds=self.size.rounds,
            seconds=self.size.length.seconds,
            took=time.perf_counter() - began,
            about=[contender.about for contender in contenders],
            plans=plans,
            standing=self.standing,
            session=session,
            failures=self.failures,
        )
