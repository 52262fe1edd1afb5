"""What was found, as it is kept in a file: everything else is derived from this."""

from __future__ import annotations

import statistics

import msgspec

from bench.machine import Machine
from bench.peers.servers import About
from bench.scenario import Round

DIRECT = "direct"
BRIEF = 400  # characters of an error that a table has room for


class Standing(msgspec.Struct, frozen=True):
    """What a server costs before and after it did something; one entry per start."""

    ready_ms: list[float] = msgspec.field(default_factory=list)
    first_ms: list[float] = msgspec.field(default_factory=list)  # the first answer after a start
    idle_kb: list[int] = msgspec.field(default_factory=list)
    loaded_kb: list[int] = msgspec.field(default_factory=list)  # after each round
    hello_tokens: list[int] = msgspec.field(default_factory=list)  # of the prompt for a first short message


class Turn(msgspec.Struct, frozen=True):
    """One turn of the long session."""

    ns: int
    tokens: int = 0  # of the prompt that the upstream got
    messages: int = 0
    requests: int = 1  # that the upstream got since the turn before


class Failure(msgspec.Struct, frozen=True):
    name: str
    what: str
    error: str

    @property
    def brief(self) -> str:
        first, *others = self.error.splitlines()
        more = f" {others[0]}" if first.endswith(":") and others else ""
        return f"{self.name}, {self.what}: {first}{more}"[:BRIEF]


class Results(msgspec.Struct, frozen=True):
    machine: Machine
    rounds: int
    seconds: float
    took: float  # seconds
    about: list[About]
    plans: dict[str, dict[str, list[Round]]]  # by plan, then by server; `direct` is the upstream itself
    standing: dict[str, Standing]
    session: dict[str, list[Turn]]  # by server; a slow one may have fewer turns
    failures: list[Failure]

    @property
    def names(self) -> list[str]:
        return [about.name for about in self.about]

    @property
    def turns(self) -> int:
        return max((len(turns) for turns in self.session.values()), default=0)

    def rounds_of(self, plan: str, name: str) -> list[Round]:
        return self.plans.get(plan, {}).get(name, [])


def middle(values: list[float]) -> float | None:
    return statistics.median(values) if values else None
