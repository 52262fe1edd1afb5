"""The work of `everthread eval`, and how its figures look."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from everthread.errors import Malformed, Refused
from everthread.evals import evidence, locomo, reversals
from everthread.evals.house import DATABASE

WIDE = 26  # characters of a bar


def run(args: argparse.Namespace) -> int:
    refuse_nonsense(args)
    bar = Bar(sys.stderr.write, live=sys.stderr.isatty(), clock=time.monotonic)
    try:
        with home(args.keep) as folder:
            report, shown = measured(args, folder, bar)
    finally:
        bar.end()
    print(msgspec.json.encode(report).decode() if args.json else shown)
    return 0


def refuse_nonsense(args: argparse.Namespace) -> None:
    asked = [args.path is not None, args.reversals is not None, args.paraphrases]
    if sum(asked) != 1:
        raise Malformed("Say what to measure: PATH, --reversals N or --paraphrases, and one of them only.")
    if args.budget and args.path is None:
        raise Malformed("--budget is the size of a block for the questions of PATH; prompts have a room of their own.")
    numbers = {"--reversals": args.reversals, "--limit": args.limit, "--budget": min(args.budget or [1])}
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise Malformed(f"{name} is a number from 1 on.")


def measured(args: argparse.Namespace, folder: Path, bar: Bar) -> tuple[msgspec.Struct, str]:
    """The figures, and how they look."""
    if args.path is not None:
        budgets = sorted(set(args.budget or evidence.BUDGETS))
        samples, audited = locomo.load(Path(args.path))
        found = asyncio.run(
            evidence.evaluated(samples, audited, home=folder, budgets=budgets, limit=args.limit, progress=bar.show)
        )
        return found, evidence_table(found, budgets)
    if args.paraphrases:
        conversations, name, seed = reversals.paraphrased(), "paraphrases", None
    else:
        conversations, name, seed = reversals.family(args.family, args.reversals, args.seed), args.family, args.seed
    told = asyncio.run(
        reversals.evaluated(conversations, name=name, seed=seed, home=folder, limit=args.limit, progress=bar.show)
    )
    return told, reversals_table(told)


@contextmanager
def home(keep: str | None) -> Iterator[Path]:
    if keep is None:
        with TemporaryDirectory(prefix="everthread-eval-") as folder:
            yield Path(folder)
        return
    kept = Path(keep)
    if (kept / DATABASE).exists():
        raise Refused(f"{kept} has a database already; name a folder that has none.")
    try:
        kept.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise Refused(f"{kept} cannot be made: {error.strerror}.") from error
    yield kept


# --- how it looks ---


def evidence_table(report: evidence.Report, budgets: Sequence[int]) -> str:
    head = ("", "questions", *map(str, budgets))
    rows: list[tuple[str, ...]] = [
        head,
        row("all evidence, 1-4", report.questions, report.all_evidence),
        row("mean recall, 1-4", report.questions, report.mean_recall),
        row("all cited, 1-4", report.questions, report.all_cited),
        *(
            row(f"all evidence, {category}", figures.questions, figures.all_evidence)
            for category, figures in report.by_category.items()
        ),
        ("largest block", "", *map(str, report.largest_tail.values())),
    ]
    audit = report.audit
    facts = {
        "conversations": f"{report.samples}, {report.turns:,} turns; {report.unread} could not be read",
        "audit": f"{audit.recited} questions cite other turns, {audit.left_out} are left out as wrong,"
        f" {audit.without_evidence} cite nothing",
        "dates": f"{percent(report.dates)} of {report.date_questions} answers that are dates;"
        f" by the conversation's own date {percent(report.dates_by_said_day)}",
        "literal quotes": f"{percent(report.quotes_literal)} of {report.claims:,} claims",
        "model calls": f"{report.model_calls} for all questions",
        "recall": f"{report.recall_ms['p50']} ms (half of them), {report.recall_ms['p95']} ms (95 %);"
        f" {report.late_vectors} asked again, {report.by_words} in vain",
        "vectors": f"{report.embedder}, {report.embedded:,} texts, {report.embedded_per_second} a second",
        "took": f"{report.seconds:.0f} s",
    }
    return f"Share of questions, by tokens of the block:\n\n{columns(rows)}\n\n{listed(facts)}"


def row(name: str, questions: int, shares: evidence.Shares) -> tuple[str, ...]:
    return (name, str(questions), *map(percent, shares.values()))


def reversals_table(report: reversals.Report) -> str:
    rows: list[tuple[str, ...]] = [
        ("", "questions", "share", ""),
        ("newest in the prompt", str(report.questions), percent(report.current_in_prompt), ""),
        ("newest labelled REVERSED", str(report.questions), percent(report.current_reversed), "should be 0"),
        ("newest labelled CURRENT", str(report.changed), percent(report.current_labelled), "of what changed"),
        ("both sides, labelled", str(report.changed), percent(report.both_sides), ""),
        ("both sides, by their turns", str(report.changed), percent(report.turns_labelled), "whatever is quoted"),
        ("newest as UNRESOLVED", str(report.changed), percent(report.unresolved), ""),
        ("stale as current", str(report.changed), percent(report.stale_as_current), "should be 0"),
        ("stale without a label", str(report.changed), percent(report.stale_unlabelled), "beside its successor"),
        ("cause shown", str(report.causes), percent(report.cause_shown), "where one was told"),
        ("cause on the CURRENT line", str(report.causes), percent(report.cause_linked), ""),
    ]
    seed = f", seed {report.seed}" if report.seed is not None else ""
    facts = {
        "conversations": f"{report.conversations} ({report.family}{seed}), {report.turns:,} turns;"
        f" {report.unread} could not be read",
        "literal quotes": f"{percent(report.quotes_literal)} of {report.claims:,} claims;"
        f" {report.misquoted} lines of prompts misquote",
        "model calls": f"{report.model_calls} beside those that answer",
        "largest prompt": f"{report.largest_prompt:,} characters",
        "vectors": f"{report.embedder}, {report.embedded_per_second} a second;"
        f" {report.late_vectors} asked again, {report.by_words} in vain",
        "took": f"{report.seconds:.0f} s",
    }
    return f"{columns(rows)}\n\n{listed(facts)}"


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def columns(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first and last words stand left if they are words, and whose numbers stand right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number == 0 or cell[:1].isalpha() else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def listed(facts: dict[str, str]) -> str:
    wide = max(map(len, facts))
    return "\n".join(f"{name:{wide}}  {fact}" for name, fact in facts.items())


class Bar:
    """What is being done and how far it is: one line that changes on a terminal, a line for each tenth elsewhere."""

    def __init__(self, write: Callable[[str], object], *, live: bool, clock: Callable[[], float]) -> None:
        self._write = write
        self._live = live
        self._clock = clock
        self._what = ""
        self._began = 0.0
        self._told = -1
        self._drawn = ""

    def show(self, what: str, done: int, total: int) -> None:
        if what != self._what:
            self.end()
            self._what, self._began, self._told = what, self._clock(), -1
        part = (100 if self._live else 10) * done // total if total else 0
        if part == self._told:
            return
        self._told = part
        line = self._line(done, total)
        if self._live:
            self._write(f"\r{line.ljust(len(self._drawn))}")
            self._drawn = line
        else:
            self._write(f"{line}\n")

    def end(self) -> None:
        """Leaves the line as it is."""
        if self._drawn:
            self._write("\n")
            self._drawn = ""

    def _line(self, done: int, total: int) -> str:
        filled = WIDE * done // total if total else WIDE
        seconds = self._clock() - self._began
        line = f"{self._what:15}  [{'#' * filled}{'.' * (WIDE - filled)}]  {done:,} of {total:,}"
        if 0 < done < total and seconds > 1:
            left = int(seconds * (total - done) / done)
            line += f"  {left // 60}:{left % 60:02d} left"
        return line
