"""The figures as a table: direct, through Everthread, their ratio, and the goal."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import msgspec

from bench import lasting, punctual, remembered
from bench.depth import Depth
from bench.endless import Endless, Stretch
from bench.jobs import Jobs
from bench.load import TURNS_PER_SESSION, Sample
from bench.machine import Machine
from bench.mindful import Mindful
from bench.recall import Recalled
from bench.row import Goal, Row, line
from bench.scenario import Cores, Idle, Measured, Round

BUSY = 0.9  # of a core: from here on a single-threaded process is a bottleneck
QUIET = 0.15  # of a core: what else may run on the machine while it is measured
MANY = 100  # chunks of an answer: from there on its events are counted, not its turns


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
    endless: Endless | None
    mindful: Mindful | None
    depth: Depth | None
    recall: Recalled | None
    jobs: Jobs | None
    standing: dict[str, Standing]
    idle: dict[str, Idle]
    loaded_rss_kb: dict[str, int]


GOALS = {
    "json-1 p50": Goal(1.5, of="added"),
    "sse-1 p50": Goal(1.5, of="added"),
    "json-32 turns": Goal(2_500, ">="),
    "sse-32 turns": Goal(2_500, ">="),
    "sse-events": Goal(80_000, ">="),
    "idle stream": Goal(40),
    "idle memory": Goal(150),
}


# --- from rounds to rows ---


def middle(rounds: list[Round], what: Callable[[Sample], float | None]) -> float | None:
    values = [value for value in (what(r.sample) for r in rounds) if value is not None]
    return statistics.median(values) if values else None


def rate(what: str, measured: Measured, of: Callable[[Sample], float | None], goal: str = "") -> Row:
    return Row(what, middle(measured.direct, of), middle(measured.everthread, of), goal=GOALS.get(goal))


def time_row(under: str, what: str, measured: Measured, of: Callable[[Sample], float | None], goal: str = "") -> Row:
    direct, through = middle(measured.direct, of), middle(measured.everthread, of)
    added = None if direct is None or through is None else through - direct
    return Row(f"  {what}, ms", direct, through, added=added, goal=GOALS.get(goal), under=under)


def turn_rows(name: str, measured: Measured) -> list[Row]:
    plan = measured.plan
    form = "SSE" if plan.stream else "JSON"
    clients = f"{plan.clients} client{'s' * (plan.clients > 1)}"
    about = f"{form}, {clients}{'' if plan.named else ', no session header'}"
    rows = [
        rate(f"{about}: turns/s", measured, lambda s: s.turns_per_s, f"{name} turns"),
        time_row(about, "p50", measured, lambda s: s.p50, f"{name} p50"),
        time_row(about, "p99", measured, lambda s: s.p99),
    ]
    if plan.stream:
        rows.append(time_row(about, "first token p50", measured, lambda s: s.first_p50))
    rows.append(
        Row(
            "  CPU per turn, us",
            cpu_us(measured.direct, "upstream"),
            cpu_us(measured.everthread, "everthread"),
        )
    )
    return rows


def event_rows(name: str, measured: Measured) -> list[Row]:
    plan = measured.plan
    about = f"SSE, {plan.clients} streams of {plan.chunks:,}, {plan.turns_per_session} to a session"
    return [
        rate(f"{about}: events/s", measured, lambda s: s.events_per_s, name),
        time_row(about, "first token p50", measured, lambda s: s.first_p50),
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
        found += event_rows(name, measured) if measured.plan.chunks > MANY else turn_rows(name, measured)
    if results.endless:
        found += lasting.endless_rows(results.endless)
    if results.mindful:
        found += remembered.mindful_rows(results.mindful)
    if results.depth:
        found += lasting.depth_rows(results.depth)
    if results.recall:
        found += remembered.recall_rows(results.recall)
    if results.jobs:
        found += punctual.rows(results.jobs)
    return found + standing_rows(results)


# --- what could the parts do? ---


def bare_lines(results: Results) -> list[str]:
    """Beside a server of the same parts that does the bare work of a turn: how fast is this machine?"""
    measured = {name: some for name, some in results.plans.items() if some.bare}
    if not measured:
        return []
    lines = ["", line(("The same parts with the bare work of a turn", "bare", "everthread", "ratio", "", "", ""))]
    for name, some in measured.items():
        events = some.plan.chunks > MANY
        what, of = ("events/s", lambda s: s.events_per_s) if events else ("turns/s", lambda s: s.turns_per_s)
        lines.append(line(Row(f"{name}: {what}", middle(some.bare, of), middle(some.everthread, of)).cells()))
        if not events:
            p50 = [middle(side, lambda s: s.p50) for side in (some.bare, some.everthread)]
            lines.append(line(Row("  p50, ms", *p50).cells()))
    return lines


# --- who was the bottleneck? ---


def busy_lines(results: Results) -> list[str]:
    lines = [line(("CPU used, in cores", "load gen.", "upstream", "everthread", "others", "rate vs direct", ""))]
    for name, measured in results.plans.items():
        for side, rounds in (("direct", measured.direct), ("through", measured.everthread)):
            if rounds:
                ratio = rate(name, measured, lambda s: s.turns_per_s).ratio if side == "through" else None
                lines.append(busy_line(f"{name}, {side}", middle_cores(rounds), ratio))
    lines += [
        busy_line(f"{plan}, turns {some.first:,}-{some.last:,}", some.cores, None) for plan, some in at_once(results)
    ]
    lines += [busy_line(what, cores, None) for what, cores in fired(results)]
    return lines + verdicts(results)


def at_once(results: Results) -> list[tuple[str, Stretch]]:
    found = [("endless", stretch) for stretch in results.endless.stretches] if results.endless else []
    return found + ([("mindful", results.mindful.stretch)] if results.mindful else [])


def fired(results: Results) -> list[tuple[str, Cores]]:
    if not results.jobs:
        return []
    found = results.jobs.fired
    rounds = (("without fires", found.chat), ("with fires", found.chat_beside))
    return [("jobs, fires", found.cores), *((f"jobs, a client {how}", middle_cores(some)) for how, some in rounds)]


def busy_line(what: str, cores: Cores, ratio: float | None) -> str:
    used = [f"{value:.2f}" for value in (cores.load, cores.upstream, cores.everthread, cores.others)]
    return line((what, *used, "" if ratio is None else f"{ratio:.1%}", ""))


def middle_cores(rounds: list[Round]) -> Cores:
    return Cores(*(statistics.median(getattr(r.cores, who) for r in rounds) for who in Cores.__struct_fields__))


def verdicts(results: Results) -> list[str]:
    """Whether the figures are Everthread's own: neither the bench's nor those of a machine with other things to do."""
    lines = []
    direct = [middle_cores(measured.direct) for measured in results.plans.values()]
    through = [middle_cores(measured.everthread) for measured in results.plans.values() if measured.everthread]
    through += [stretch.cores for _, stretch in at_once(results)] + [cores for _, cores in fired(results)]
    if through:
        most = max(max(cores.load, cores.upstream) for cores in through)
        verdict = "neither was the bottleneck" if most < BUSY else "ONE OF THEM MAY BE THE BOTTLENECK"
        lines.append(f"Load generator and upstream beside Everthread: at most {most:.2f} of a core: {verdict}.")
    others = max((cores.others for cores in direct + through), default=0.0)
    if others > QUIET:
        lines.append(f"WARNING: other processes used up to {others:.2f} cores. Measure again on a quiet machine.")
    return lines


# --- text ---


def heading(results: Results) -> list[str]:
    machine = results.machine
    return [
        f"Everthread bench, {machine.date}",
        f"{machine.cpu}, {machine.cores} cores, {machine.system}",
        f"Python {machine.python} ({machine.call_ns:.0f} ns per method call), SQLite {machine.sqlite}",
        f"data in {machine.folder} ({machine.filesystem}); 4 kB with fsync takes {machine.fsync_ms:.2f} ms",
        f"{results.rounds} round(s) of {results.seconds:g} s per side, in turn; medians of the rounds.",
        "Load generator, fake upstream and Everthread share these cores; all on 127.0.0.1.",
        f"Each client has its own session, and a new one every {TURNS_PER_SESSION} turns if no other number is named.",
        "Everthread asks its upstream for a stream even for a JSON reply; direct JSON is plain JSON.",
        "EVERTHREAD_DISTIL=rules: the upstream is asked nothing but turns.",
    ]


def render(results: Results) -> str:
    lines = heading(results)
    if results.history:
        lines.append(f"Messages the upstream got in three turns of one session: {results.history}.")
    if results.machine.filesystem in {"tmpfs", "ramfs"}:
        lines.append("WARNING: the data lies in memory, so nothing here is durable: use --dir.")
    if results.endless:
        lines += lasting.endless_notes(results.endless)
    if results.mindful:
        lines += remembered.mindful_notes(results.mindful)
    if results.recall:
        lines += remembered.recall_notes(results.recall)
    if results.jobs:
        lines += punctual.notes(results.jobs)
    table = rows(results)
    lines += ["", line(("", "direct", "everthread", "ratio", "added", "goal", ""))]
    lines += [line(row.cells()) for row in table]
    lines += [*bare_lines(results), "", *busy_lines(results)]
    missed = [row.name for row in table if row.met is False]
    if any(row.met is not None for row in table):
        lines += ["", "Goals missed: " + "; ".join(missed) if missed else "All goals met."]
    return "\n".join(lines)
