"""The rows of jobs: what they cost while they wait, and how late they fire."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.jobs import JOBS, PART, PER_SECOND, Fired, Jobs, Lags, Overdue, Standing
from bench.load import percentile
from bench.row import Goal, Row
from bench.scenario import Round

SOON = Goal(3_000)
IN_TIME = Goal(1_000)
NONE = Goal(0, "<=")
ONE = Goal(1, "<=")
SAME = Goal(1, "<=", of="ratio")
FLAT = Goal(1.1, "<=", of="ratio")


def notes(jobs: Jobs) -> list[str]:
    fired = jobs.fired
    return [
        f"Jobs: {jobs.count:,} of them, half by cron, half at intervals, none due: {len(jobs.full.ready_ms)} start(s)"
        ' each way. "Direct" is the same server without jobs.',
        f"Fires: {jobs.count:,} jobs at intervals of 200 s, {PER_SECOND} due in each second:"
        f" {len(fired.alone.started):,} alone, {len(fired.beside.started):,} beside a client, in turn with as long"
        f' without fires ({PART} s each): that is its "direct".',
    ]


def rows(jobs: Jobs) -> list[Row]:
    found = [*standing_rows(jobs.empty, jobs.full), *fired_rows(jobs.fired)]
    return [*found, *overdue_rows(jobs.overdue, jobs)] if jobs.overdue else found


def standing_rows(empty: Standing, full: Standing) -> list[Row]:
    under = f"{JOBS:,} jobs"
    without, with_jobs = (middle(side.rss_kb) / 1024 for side in (empty, full))
    return [
        Row(f"{under}: time to ready, ms", middle(empty.ready_ms), middle(full.ready_ms), goal=SOON),
        Row("  resident memory, MB", without, with_jobs, goal=FLAT, under=under),
        Row("  kB per job", None, (with_jobs - without) * 1024 / JOBS, under=under),
        Row("  threads", middle(empty.threads), middle(full.threads), goal=SAME, under=under),
        Row("  CPU while none is due, ms/s", middle(empty.idle_cpu), middle(full.idle_cpu), under=under),
    ]


def fired_rows(fired: Fired) -> list[Row]:
    under = f"{PER_SECOND} fires/s"
    quiet, busy = p50(fired.chat), p50(fired.chat_beside)
    return [
        *lag_rows(f"{under}: begun, p50, ms late", under, fired.alone),
        Row("  fires that did not happen once", None, fired.off, goal=NONE, under=under),
        Row("  requests to the upstream per fire", None, fired.asked, goal=ONE, under=under),
        Row("  CPU per fire (direct: per chat turn), us", cpu_us(fired.chat), fired.cpu_us, under=under),
        Row(
            "  memory before and after, MB",
            fired.before.rss_kb / 1024,
            fired.after.rss_kb / 1024,
            goal=FLAT,
            under=under,
        ),
        Row("  threads before and after", fired.before.threads, fired.after.threads, goal=SAME, under=under),
        *lag_rows("  beside a client: begun, p50, ms late", f"{under}, a client", fired.beside),
        Row("  the client's turn: p50, ms", quiet, busy, busy - quiet, under=under),
        Row("    p99, ms", p99(fired.chat), p99(fired.chat_beside), under=under),
    ]


def lag_rows(what: str, under: str, lags: Lags) -> list[Row]:
    inner = "  " + " " * (len(what) - len(what.lstrip()))
    return [
        Row(what, None, percentile(lags.started, 0.50)),
        Row(f"{inner}begun, p99", None, percentile(lags.started, 0.99), goal=IN_TIME, under=under),
        Row(f"{inner}begun, at most", None, percentile(lags.started, 1), under=under),
        Row(f"{inner}over, p50", None, percentile(lags.ended, 0.50), under=under),
        Row(f"{inner}over, p99", None, percentile(lags.ended, 0.99), under=under),
        Row(f"{inner}over, at most", None, percentile(lags.ended, 1), under=under),
    ]


def overdue_rows(overdue: Overdue, jobs: Jobs) -> list[Row]:
    under = f"{JOBS:,} overdue"
    return [
        Row(f"{under}: time to ready, ms", middle(jobs.empty.ready_ms), overdue.ready_ms, goal=SOON),
        Row("  from there until the first runs, s", None, overdue.first, under=under),
        Row("  and until all have run, s", None, overdue.seconds, under=under),
        Row("  a client's turn meanwhile: p50, ms", p50(jobs.fired.chat), overdue.chat.sample.p50, under=under),
        Row("  memory after, MB", middle(jobs.empty.rss_kb) / 1024, overdue.after.rss_kb / 1024, under=under),
        Row("  threads after", middle(jobs.empty.threads), overdue.after.threads, under=under),
    ]


def middle(values: Sequence[float]) -> float:
    return statistics.median(values)


def p50(rounds: list[Round]) -> float:
    return middle([each.sample.p50 or 0.0 for each in rounds])


def p99(rounds: list[Round]) -> float:
    return middle([each.sample.p99 or 0.0 for each in rounds])


def cpu_us(rounds: list[Round]) -> float:
    return middle([each.cores.everthread * each.took / each.sample.turns * 1e6 for each in rounds])
