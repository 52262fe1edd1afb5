"""The figures side by side, and how far ahead Everthread is of each peer."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Literal

import msgspec

from bench.load import TURNS_PER_SESSION, Sample
from bench.peers.results import DIRECT, Results, Standing, middle
from bench.peers.rounds import ONCE, PLANS, cpu_ms
from bench.peers.servers import About
from bench.report import QUIET
from bench.row import figure

OURS = "everthread"
AROUND = 10  # turns on each side of one whose time is looked at
MARKS = (1, 100, 300)


class Line(msgspec.Struct, frozen=True):
    """One figure of each server."""

    what: str
    values: dict[str, float | None]
    more_is_better: bool = False

    def ahead(self, peer: str) -> float | None:
        """How many times better Everthread's figure is."""
        ours, theirs = self.values.get(OURS), self.values.get(peer)
        if not ours or not theirs or ours < 0 or theirs < 0:
            return None
        return ours / theirs if self.more_is_better else theirs / ours


# --- from what was found to lines ---


def lines(results: Results) -> list[Line]:
    found: list[Line] = []
    for plan in ("json-1", "json-32", "json-128"):
        found += load_lines(results, plan)
    found += stream_lines(results)
    found += standing_lines(results)
    return [line for line in found + session_lines(results) if any(line.values.get(n) for n in results.names)]


def each(results: Results, of: Callable[[str], float | None], *, direct: bool = True) -> dict[str, float | None]:
    return {name: of(name) for name in ([DIRECT] if direct else []) + results.names}


def sampled(results: Results, plan: str, of: Callable[[Sample], float | None]) -> dict[str, float | None]:
    def value(name: str) -> float | None:
        return middle([found for r in results.rounds_of(plan, name) if (found := of(r.sample)) is not None])

    return each(results, value)


def added(values: dict[str, float | None]) -> dict[str, float | None]:
    direct = values[DIRECT]
    return {
        name: None if value is None or direct is None else value - direct
        for name, value in values.items()
        if name != DIRECT
    }


def load_lines(results: Results, plan: str) -> list[Line]:
    clients = PLANS[plan].clients
    about = f"JSON, {clients} client{'s' * (clients > 1)}"
    rate = Line(f"{about}: turns/s", sampled(results, plan, lambda s: s.turns_per_s), more_is_better=True)
    if plan in ONCE:
        return [rate]
    found = [
        rate,
        Line(f"{about}: added p50, ms", added(sampled(results, plan, lambda s: s.p50))),
        Line(f"{about}: added p99, ms", added(sampled(results, plan, lambda s: s.p99))),
    ]
    if clients == 1:
        found.append(
            Line(f"{about}: CPU per turn, ms", each(results, lambda name: cpu(results, plan, name), direct=False))
        )
    return found


def cpu(results: Results, plan: str, name: str) -> float | None:
    return middle([cpu_ms(round_, PLANS[plan]) for round_ in results.rounds_of(plan, name)])


def stream_lines(results: Results) -> list[Line]:
    plan = PLANS["sse-events"]
    about = f"SSE, {plan.clients} streams of {plan.chunks}: events/s"
    return [
        Line("SSE, 1 client: first token, added p50, ms", added(sampled(results, "sse-1", lambda s: s.first_p50))),
        Line(about, sampled(results, "sse-events", lambda s: s.events_per_s), more_is_better=True),
    ]


def standing_lines(results: Results) -> list[Line]:
    def median(of: Callable[[Standing], list[float]]) -> dict[str, float | None]:
        return each(results, lambda name: middle(of(results.standing.get(name, Standing()))), direct=False)

    return [
        Line("resident memory idle, MB", median(lambda s: [kb / 1024 for kb in s.idle_kb])),
        Line("resident memory after the load, MB", median(lambda s: [max(s.loaded_kb) / 1024] if s.loaded_kb else [])),
        Line("time to ready, ms", median(lambda s: s.ready_ms)),
        Line("first answer after a start, ms", median(lambda s: s.first_ms)),
        Line("prompt tokens of a first message", median(lambda s: [float(tokens) for tokens in s.hello_tokens])),
    ]


def session_lines(results: Results) -> list[Line]:
    last = results.turns
    marks = [mark for mark in MARKS if mark <= last] + ([last] if last and last not in MARKS else [])

    def row(what: str, of: Callable[[Results, str], float | None]) -> Line:
        return Line(what, each(results, partial(of, results), direct=False))

    return [
        *(row(f"session, around turn {mark}: added, ms", partial(near, turn=mark)) for mark in marks),
        *(row(f"session, turn {mark}: prompt tokens", partial(at, turn=mark, of="tokens")) for mark in marks),
        *(
            row(f"session, turn {mark}: messages in the prompt", partial(at, turn=mark, of="messages"))
            for mark in marks
        ),
        row("session: requests to the upstream per turn", asked),
    ]


def at(results: Results, name: str, *, turn: int, of: Literal["tokens", "messages"]) -> float | None:
    turns = results.session.get(name, [])
    return float(getattr(turns[turn - 1], of)) if len(turns) >= turn else None


def added_ms(results: Results, name: str) -> list[float]:
    """By turn; direct is the median of all turns, since each has one new message."""
    direct = results.session.get(DIRECT, [])
    if not direct:
        return []
    base = statistics.median(turn.ns for turn in direct)
    return [(turn.ns - base) / 1e6 for turn in results.session.get(name, [])]


def near(results: Results, name: str, *, turn: int) -> float | None:
    """The median of the turns around it; of the first ones, for the first."""
    times = added_ms(results, name)
    return middle(times[max(0, turn - 1 - AROUND) : turn + AROUND]) if len(times) >= turn else None


def asked(results: Results, name: str) -> float | None:
    turns = results.session.get(name, [])
    return statistics.fmean(turn.requests for turn in turns) if turns else None


# --- text ---


def heading(results: Results) -> list[str]:
    machine = results.machine
    versions = ", ".join(f"{about.title} {about.version}" for about in results.about if not about.part)
    return [
        f"{machine.date}; {machine.cpu}, {machine.cores} cores, {machine.system}, Python {machine.python}; {versions}.",
        f"{results.rounds} round(s) of {results.seconds:g} s or more, in turn; medians. "
        f"A session of {results.turns} turns.",
    ]


def notes(results: Results) -> list[str]:
    """What has to be known to read the table."""
    found = [
        "In brackets: how many times less time, memory or tokens Everthread takes, or how many times more it answers. "
        "Below 1 the peer is ahead.",
        f"In the load each client has a session of its own and begins a new one every {TURNS_PER_SESSION} turns.",
    ]
    found += [
        f"{about.title} keeps no conversation: its client sends all of it with each message of the session. "
        "In the load it is sent one message only, which is in its favour."
        for about in results.about
        if about.stateless
    ]
    slow = [
        f"{about.title} {len(turns)}"
        for about in results.about
        if 0 < len(turns := results.session.get(about.name, [])) < results.turns
    ]
    if slow:
        found.append(
            f"Turns of the session within the time that each has: {', '.join(slow)}; the others {results.turns}."
        )
    if (others := busiest(results)) > QUIET:
        found.append(f"WARNING: other processes used up to {others:.2f} cores. Measure again on a quiet machine.")
    return found + [f"FAILED: {failure.brief}" for failure in results.failures]


def busiest(results: Results) -> float:
    """What others used of the machine, in cores, in the worst round."""
    rounds = (r for plan in results.plans.values() for side in plan.values() for r in side)
    return max((r.cores.others for r in rounds), default=0.0)


def columns(results: Results) -> list[About]:
    """Everthread first, and last what only shows a setting."""
    return sorted(results.about, key=lambda about: (about.name != OURS, about.part))


def cells(results: Results) -> list[list[str]]:
    """With a head: direct, then each server; a peer's figure is followed by how far Everthread is ahead."""
    known = columns(results)
    head = ["", DIRECT, *(about.title for about in known)]
    return [head] + [
        [line.what, figure(line.values.get(DIRECT)), *(cell(line, about.name) for about in known)]
        for line in lines(results)
    ]


def cell(line: Line, name: str) -> str:
    ahead = None if name == OURS else line.ahead(name)
    text = figure(line.values.get(name))
    return text if ahead is None else f"{text} ({figure(ahead)}x)"


def printed(results: Results) -> str:
    table = cells(results)
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
    body = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in table
    ]
    title = "Everthread and its peers, on the same load and the same fake upstream"
    return "\n".join([title, *heading(results), *notes(results), "", *body])


def markdown(results: Results) -> str:
    head, *body = cells(results)
    rows = [head, ["---", *("---:" for _ in head[1:])], *body]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
