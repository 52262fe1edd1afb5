"""The figures as a table: direct, through Everthread, their ratio, and the goal."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import msgspec

from bench.load import TURNS_PER_SESSION, Sample
from bench.machine import Machine
from bench.scenario import Idle, Measured, Round

WIDTHS = (44, 11, 12, 12, 10, 16, 8)
BUSY = 0.9  # of a core: from here on a single-threaded process is a bottleneck


class Standing(msgspec.Struct, frozen=True):
    """What a process costs before it does anything."""

    ready_ms: list[float]
    rss_kb: list[int]


class Results(msgspec.Struct, frozen=True):
    machine: Machine
    rounds: int
    seconds: float
    history: list[int]  # messages the upstream saw in three turns of one session
    plans: dict[str, Measured]
    standing: dict[str, Standing]
    idle: dict[str, Idle]
    loaded_rss_kb: dict[str, int]


class Goal(msgspec.Struct, frozen=True):
    """A bound, on the figure through Everthread or on what it adds."""

    bound: float
    at_least: bool = False
    of_added: bool = False

    def text(self) -> str:
        return f"{'>=' if self.at_least else '<'} {figure(self.bound)}{' added' if self.of_added else ''}"

    def met(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value < self.bound


class Row(msgspec.Struct, frozen=True):
    what: str
    direct: float | None
    everthread: float | None
    added: float | None = None
    goal: Goal | None = None

    @property
    def ratio(self) -> float | None:
        if self.direct is None or self.everthread is None or self.direct <= 0:
            return None
        return self.everthread / self.direct

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        value = self.added if self.goal.of_added else self.everthread
        return None if value is None else self.goal.met(value)

    def cells(self) -> tuple[str, ...]:
        verdict = {None: "", True: "ok", False: "MISSED"}[self.met]
        ratio = "" if self.ratio is None else f"{figure(self.ratio)}x"
        goal = self.goal.text() if self.goal else ""
        return (
            self.what,
            figure(self.direct),
            figure(self.everthread),
            ratio,
            figure(self.added),
            goal,
            verdict,
        )


GOALS = {
    "json-1 p50": Goal(1.5, of_added=True),
    "sse-1 p50": Goal(1.5, of_added=True),
    "json-32 turns": Goal(2_500, at_least=True),
    "sse-32 turns": Goal(2_500, at_least=True),
    "sse-events": Goal(80_000, at_least=True),
    "idle stream": Goal(40),
    "idle memory": Goal(150),
}


def figure(value: float | None) -> str:
    """Three significant digits are all a benchmark has."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"


# --- from rounds to rows ---


def middle(rounds: list[Round], what: Callable[[Sample], float | None]) -> float | None:
    values = [value for value in (what(r.sample) for r in rounds) if value is not None]
    return statistics.median(values) if values else None


def both(measured: Measured, what: Callable[[Sample], float | None]) -> tuple[float | None, float | None]:
    return middle(measured.direct, what), middle(measured.everthread, what)


def rate(what: str, measured: Measured, of: Callable[[Sample], float | None], goal: str = "") -> Row:
    direct, through = both(measured, of)
    return Row(what, direct, through, goal=GOALS.get(goal))


def time_row(what: str, measured: Measured, of: Callable[[Sample], float | None], goal: str = "") -> Row:
    direct, through = both(measured, of)
    added = None if direct is None or through is None else through - direct
    return Row(what, direct, through, added=added, goal=GOALS.get(goal))


def turn_rows(name: str, measured: Measured) -> list[Row]:
    plan = measured.plan
    form = "SSE" if plan.stream else "JSON"
    clients = f"{plan.clients} client{'s' * (plan.clients > 1)}"
    about = f"{form}, {clients}{'' if plan.named else ', no session header'}"
    rows = [
        rate(f"{about}: turns/s", measured, lambda s: s.turns_per_s, f"{name} turns"),
        time_row("  p50, ms", measured, lambda s: s.p50, f"{name} p50"),
        time_row("  p99, ms", measured, lambda s: s.p99),
    ]
    if plan.stream:
        rows.append(time_row("  first token p50, ms", measured, lambda s: s.first_p50))
    rows.append(
        Row(
            "  CPU per turn, us",
            cpu_us(measured.direct, "upstream"),
            cpu_us(measured.everthread, "everthread"),
        )
    )
    return rows


def event_rows(name: str, measured: Measured) -> list[Row]:
    about = f"SSE, {measured.plan.clients} streams of {measured.plan.chunks:,}: events/s"
    return [
        rate(about, measured, lambda s: s.events_per_s, name),
        time_row("  first token p50, ms", measured, lambda s: s.first_p50),
    ]


def cpu_us(rounds: list[Round], who: str) -> float | None:
    spent = [getattr(r.cores, who) * r.took / r.sample.turns * 1e6 for r in rounds if r.sample.turns]
    return statistics.median(spent) if spent else None


def standing_rows(results: Results) -> list[Row]:
    def pair(of: Callable[[str], float | None]) -> tuple[float | None, float | None]:
        return of("direct"), of("everthread")

    def standing(side: str, of: Callable[[Standing], float]) -> float | None:
        return of(results.standing[side]) if side in results.standing else None

    def idle(side: str) -> float | None:
        return results.idle[side].kb_each if side in results.idle else None

    def loaded(side: str) -> float | None:
        return results.loaded_rss_kb[side] / 1024 if side in results.loaded_rss_kb else None

    streams = max((idle.streams for idle in results.idle.values()), default=0)
    return [
        Row(f"kB per idle stream, at {streams:,}", *pair(idle), goal=GOALS["idle stream"]),
        Row(
            "resident memory idle, MB",
            *pair(lambda side: standing(side, lambda s: statistics.median(s.rss_kb) / 1024)),
            goal=GOALS["idle memory"],
        ),
        Row("resident memory after the load, MB", *pair(loaded)),
        Row("time to ready, ms", *pair(lambda side: standing(side, lambda s: statistics.median(s.ready_ms)))),
    ]


def rows(results: Results) -> list[Row]:
    found: list[Row] = []
    for name, measured in results.plans.items():
        found += event_rows(name, measured) if name == "sse-events" else turn_rows(name, measured)
    return found + standing_rows(results)


# --- who was the bottleneck? ---


def cores_of(rounds: list[Round], who: str) -> float:
    values: list[float] = [getattr(r.cores, who) for r in rounds]
    return statistics.median(values)


def busy_lines(results: Results) -> list[str]:
    lines = [
        line(("CPU used, in cores", "load gen.", "upstream", "everthread", "others", "rate vs direct", ""))
    ]
    worst = 0.0
    for name, measured in results.plans.items():
        for side, rounds in (("direct", measured.direct), ("through", measured.everthread)):
            if not rounds:
                continue
            load, source, server, machine = (
                cores_of(rounds, who) for who in ("load", "upstream", "everthread", "machine")
            )
            others = max(0.0, machine - load - source - server)
            ratio = rate(name, measured, lambda s: s.turns_per_s).ratio
            part = f"{ratio:.1%}" if side == "through" and ratio is not None else ""
            lines.append(
                line((f"{name}, {side}", *(f"{v:.2f}" for v in (load, source, server, others)), part, ""))
            )
            if side == "through":
                worst = max(worst, load, source)
    if worst:
        verdict = "neither was the bottleneck" if worst < BUSY else "ONE OF THEM MAY BE THE BOTTLENECK"
        lines.append(
            f"Load generator and upstream, with Everthread between: at most {worst:.2f} of a core: {verdict}."
        )
    return lines


# --- text ---


def line(cells: tuple[str, ...]) -> str:
    first, *rest = cells
    padded = [cell.rjust(width) for cell, width in zip(rest, WIDTHS[1:], strict=True)]
    return (first.ljust(WIDTHS[0]) + "".join(padded)).rstrip()


def heading(results: Results) -> list[str]:
    machine = results.machine
    return [
        f"Everthread bench, {machine.date}",
        f"{machine.cpu}, {machine.cores} cores, Python {machine.python}, {machine.system}",
        f"data in {machine.folder} ({machine.filesystem}); 4 kB with fsync takes {machine.fsync_ms:.2f} ms",
        f"{results.rounds} round(s) of {results.seconds:g} s per side, in turn; medians of the rounds.",
        "Load generator, fake upstream and Everthread share these cores; all on 127.0.0.1.",
        f"Each client has its own session and begins a new one every {TURNS_PER_SESSION} turns.",
        "Everthread asks its upstream for a stream even for a JSON reply; direct JSON is plain JSON.",
    ]


def render(results: Results) -> str:
    lines = heading(results)
    if results.history:
        lines.append(f"Messages the upstream got in three turns of one session: {results.history}.")
    if results.machine.filesystem in {"tmpfs", "ramfs"}:
        lines.append("WARNING: the data lies in memory, so nothing here is durable: use --dir.")
    table = rows(results)
    lines += ["", line(("", "direct", "everthread", "ratio", "added", "goal", ""))]
    lines += [line(row.cells()) for row in table]
    lines += ["", *busy_lines(results)]
    missed = [row.what.strip() for row in table if row.met is False]
    if any(row.met is not None for row in table):
        lines += ["", "Goals missed: " + "; ".join(missed) if missed else "All goals met."]
    return "\n".join(lines)
