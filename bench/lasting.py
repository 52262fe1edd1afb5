"""The rows of the sessions that go on: the endless one and the deep one."""

from __future__ import annotations

import statistics

from bench import prompts
from bench.depth import SHALLOW, Depth
from bench.endless import FIRST, Endless, Near, Stretch
from bench.load import percentile
from bench.prompts import Prompt
from bench.row import Goal, Row, figure

FLAT = Goal(1.3, "<=")
CHEAP = Goal(0.4, "<=", of="ratio")
COST_AT = (50, 100, 200, 500, 1_000, 10_000)
CHEAP_AT = 500  # turns; the whole history is then a little over 128,000 tokens, a common longest context
LONG_CONTEXT = 128_000


def endless_notes(endless: Endless) -> list[str]:
    beyond = prompts.first_beyond(endless.everything, LONG_CONTEXT)
    return [
        f"Endless: {len(endless.prompts):,} turns of one session, {endless.rotations:,} rotations, budget"
        f" {endless.budget:,} tokens; {endless.calm} turns, and those around each mark, at a person's pace.",
        f'For its tokens and costs "direct" is to send everything: over {LONG_CONTEXT:,} tokens from turn {beyond} on.',
    ]


def endless_rows(endless: Endless) -> list[Row]:
    found = [*time_rows(endless), *token_rows(endless), *cost_rows(endless)]
    for stretch in endless.stretches:
        found += stretch_rows(stretch)
    return [*found, Row(f"memory grown since turn {endless.calm:,}, MB", None, endless.memory_mb)]


def time_rows(endless: Endless) -> list[Row]:
    under = "Endless"
    last, first = endless.near[-1], endless.first
    rows = [time_row("Endless, turn 1", "", endless.near[0])]
    rows += [time_row(f"  turn {near.turn:,}", under, near) for near in endless.near[1:]]
    return [
        *rows,
        time_row(f"  turns 1-{FIRST}", under, first),
        Row(f"  added, {last.turn:,} / 1-{FIRST}", None, last.added_ms / first.added_ms, goal=FLAT, under=under),
        Row(
            f"  added, {last.turn:,} / a new server's 1-{len(last.beside)}",
            None,
            last.added_ms / last.added_beside_ms,
            goal=FLAT,
            under=under,
        ),
    ]


def time_row(what: str, under: str, near: Near) -> Row:
    return Row(f"{what}: p50, ms", near.direct_ms, near.through_ms, added=near.added_ms, under=under)


def token_rows(endless: Endless) -> list[Row]:
    under = "Prompt tokens"
    marks = [near.turn for near in endless.near]
    last, first = tokens(endless.prompts, marks[-1]), middle(endless.prompts[:FIRST])
    return [
        *(tokens_row(endless, mark) for mark in marks),
        Row(f"  turns 1-{FIRST}", middle(endless.everything[:FIRST]), first, under=under),
        Row(f"  {marks[-1]:,} / 1-{FIRST}", None, last / first, goal=FLAT, under=under),
        Row("  largest", None, largest(endless.prompts), goal=Goal(endless.budget, "<="), under=under),
        Row("  upstream's count - the reply's, at most", None, endless.miscounted, goal=Goal(0, "<="), under=under),
    ]


def tokens_row(endless: Endless, mark: int) -> Row:
    first = mark == 1
    return Row(
        f"{'Prompt tokens, turn' if first else '  turn'} {mark:,}",
        tokens(endless.everything, mark),
        tokens(endless.prompts, mark),
        under="" if first else "Prompt tokens",
    )


def tokens(of: list[Prompt], mark: int) -> float:
    """Of that turn; later, when prompts grow and are halved like the teeth of a saw, the middle of a hundred."""
    return of[mark - 1].tokens if mark < 100 else middle(of[mark - 50 : mark + 50])


def middle(of: list[Prompt]) -> float:
    return statistics.median(prompt.tokens for prompt in of)


def largest(of: list[Prompt]) -> int:
    return max(prompt.tokens for prompt in of)


def cost_rows(endless: Endless) -> list[Row]:
    """Here "direct" means sending everything: `everything` under the same prices."""
    ours, everything = endless.prompts, endless.everything
    calm = endless.calm
    return [
        Row(f"Cached share of the prompt, turns 1-{calm}", *shares(everything[:calm], ours[:calm])),
        Row(f"  turns {calm + 1}-{len(ours):,}", *shares(everything[calm:], ours[calm:])),
        *(cost_row(endless, turns) for turns in COST_AT if turns <= len(ours)),
        Row(f"  at most {figure(CHEAP.bound)}x from turn", None, cheap_from(ours, everything), under="Cost"),
    ]


def shares(everything: list[Prompt], ours: list[Prompt]) -> tuple[float, float]:
    return prompts.cached_share(everything), prompts.cached_share(ours)


def cost_row(endless: Endless, turns: int) -> Row:
    first = turns == COST_AT[0]
    return Row(
        f"{'Cost units per turn, turns' if first else '  turns'} 1-{turns:,}",
        prompts.cost_per_turn(endless.everything, turns),
        prompts.cost_per_turn(endless.prompts, turns),
        goal=CHEAP if turns == CHEAP_AT else None,
        under="" if first else "Cost units per turn",
    )


def cheap_from(ours: list[Prompt], everything: list[Prompt]) -> int | None:
    """The turn from which on all turns so far cost at most that part of sending everything."""
    mine = whole = 0.0
    since = None
    for turn, (prompt, other) in enumerate(zip(ours, everything, strict=True), 1):
        mine, whole = mine + prompt.cost, whole + other.cost
        if mine > CHEAP.bound * whole:
            since = None
        elif since is None:
            since = turn
    return since


def stretch_rows(stretch: Stretch) -> list[Row]:
    about = f"At once, turns {stretch.first:,}-{stretch.last:,}"
    return [
        Row(f"{about}: turns/s", None, stretch.turns / stretch.seconds),
        Row("  p50, ms", None, percentile(stretch.times, 0.50), under=about),
        Row("  p99, ms", None, percentile(stretch.times, 0.99), under=about),
        Row("  CPU per turn, us", None, stretch.cpu_us, under=about),
    ]


def depth_rows(depth: Depth) -> list[Row]:
    under = f"Depth {depth.depth:,}"
    newest = depth.p50_ms("newest")
    shallow = depth.p50_ms("shallow")
    root, ancestor = depth.p50_ms("root"), depth.p50_ms("ancestor")
    return [
        Row(f"{under}, by the newest id: p50, ms", None, newest),
        Row("  by the root's id", None, root, under=under),
        Row("  by an ancestor's, each once", None, ancestor, under=under),
        Row(f"  another session, at depth {SHALLOW}", None, shallow, under=under),
        Row("  root / newest", None, root / newest, goal=FLAT, under=under),
        Row("  ancestor / newest", None, ancestor / newest, goal=FLAT, under=under),
        Row("  root / the other session", None, root / shallow, goal=FLAT, under=under),
    ]
