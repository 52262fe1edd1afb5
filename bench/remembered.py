"""The rows of memory: what recall adds, where that goes, and the endless session that is given what was said."""

from __future__ import annotations

from bench.lasting import FLAT, largest, middle, stretch_rows, time_row
from bench.mindful import AROUND, Mindful
from bench.prompts import Prompt
from bench.recall import SHORT, Kind, Recalled
from bench.row import Goal, Row

ADDED = Goal(30, of="added")
ONE = Goal(1, "<=")


def recall_notes(recall: Recalled) -> list[str]:
    built = recall.built
    return [
        f"Recall: one session of {built.turns:,} turns, {built.passages:,} passages, {built.claims:,} claims, among"
        f" {built.scopes} other scopes of that size; {built.megabytes:,.0f} MB. {len(recall.found.times)} turns of each"
        " kind in turn, at a person's pace.",
        f'Its "direct" is a session of at most {SHORT} turns on the same server, which has nothing to recall.',
    ]


def recall_rows(recall: Recalled) -> list[Row]:
    under = "Recall"
    return [
        kind_row("Recall, something is found: p50, ms", "", recall, recall.found, goal=ADDED),
        Row("  p95, ms", recall.short.p95, recall.found.p95, recall.found.p95 - recall.short.p95, under=under),
        kind_row("  about another topic: p50, ms", under, recall, recall.nothing, goal=ADDED),
        Row("    p95, ms", recall.short.p95, recall.nothing.p95, recall.nothing.p95 - recall.short.p95, under=under),
        kind_row("  small talk: p50, ms", under, recall, recall.idle),
        cpu_row("  CPU per turn, found, ms", recall, recall.found),
        cpu_row("  CPU per turn, another topic, ms", recall, recall.nothing),
        cpu_row("  CPU per turn, small talk, ms", recall, recall.idle),
        Row("  CPU after the reply, ms", recall.short.after_ms, recall.found.after_ms, under=under),
        Row("  turns given something, if it was said", recall.short.recalled, recall.found.recalled, under=under),
        Row("  turns given something, another topic", None, recall.nothing.recalled, under=under),
        Row("  requests to the upstream per turn", None, recall.asked, goal=ONE, under=under),
        Row("  the first turn after a start, ms", None, recall.first_ms, under=under),
        Row("Stages of recall, inside: p50 (CPU in 'added'), ms", None, None),
        *(
            Row(f"  {'  ' if ': ' in stage.name else ''}{stage.name}", None, stage.p50, stage.cpu_p50, under="Stages")
            for stage in recall.stages
        ),
    ]


def kind_row(what: str, under: str, recall: Recalled, kind: Kind, *, goal: Goal | None = None) -> Row:
    return Row(what, recall.short.p50, kind.p50, kind.p50 - recall.short.p50, goal=goal, under=under)


def cpu_row(what: str, recall: Recalled, kind: Kind) -> Row:
    return Row(what, recall.short.cpu_ms, kind.cpu_ms, kind.cpu_ms - recall.short.cpu_ms, under="Recall")


def mindful_notes(mindful: Mindful) -> list[str]:
    return [
        f"Endless with memory: {mindful.turns:,} turns of one session, {mindful.rotations:,} rotations; memory had read"
        " all that was said before the turns that are timed began."
    ]


def mindful_rows(mindful: Mindful) -> list[Row]:
    under = "Endless with memory"
    young, old = spans(mindful)
    return [
        time_row(f"{under}, turns {young[0]}-{young[1]}", "", mindful.young),
        time_row(f"  turns {old[0]:,}-{old[1]:,}", under, mindful.old),
        Row(
            "  added, the last / the first", None, mindful.old.added_ms / mindful.young.added_ms, goal=FLAT, under=under
        ),
        Row(f"  turns {old[0]:,}-{old[1]:,} given something", None, mindful.recalled(*old), under=under),
        Row("  prompt tokens, the last / the first", None, flat(mindful, young, old), goal=FLAT, under=under),
        Row("  prompt tokens, largest", None, largest(mindful.prompts), goal=Goal(mindful.budget, "<="), under=under),
        Row("  upstream's count - the reply's, at most", None, mindful.miscounted, goal=Goal(0, "<="), under=under),
        *stretch_rows(mindful.stretch),
    ]


def spans(mindful: Mindful) -> tuple[tuple[int, int], tuple[int, int]]:
    half = AROUND // 2
    return (mindful.young.turn - half + 1, mindful.young.turn + half), (mindful.turns - AROUND + 1, mindful.turns)


def flat(mindful: Mindful, young: tuple[int, int], old: tuple[int, int]) -> float:
    return middle(part(mindful.prompts, old)) / middle(part(mindful.prompts, young))


def part(of: list[Prompt], span: tuple[int, int]) -> list[Prompt]:
    return of[span[0] - 1 : span[1]]
