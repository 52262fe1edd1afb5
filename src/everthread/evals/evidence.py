"""How much of what a question needs is in the block that a prompt would be given, by the block's size.

A cited turn counts only if all of its text stands in the block literally, as a block quotes it (on one line, with
single quotation marks inside, and without the last full stop), and the block cites its step. Questions are asked by
their text alone, from a session that is yet to begin."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from time import perf_counter

import msgspec

from everthread.context.epoch import MOST_TAIL
from everthread.core.claim import Block
from everthread.core.ids import SessionId, SessionKey, StepId
from everthread.evals import dated
from everthread.evals.house import House, Line, opened
from everthread.evals.locomo import ADVERSARIAL, Asked, Audited, Sample
from everthread.evals.replay import Progress, percentile, quotes, replayed, share, silent
from everthread.memory.rank import Question
from everthread.memory.render import quoted

ENDING = " .!?…"  # of a turn: a claim's quote goes without it
BUDGETS = (512, 1024, 2048, 4096, 8192)  # tokens
MOST_TRIES = 5  # of a question whose vector did not come in time on a busy machine

Shares = dict[str, float | None]  # by budget


class Recalled(msgspec.Struct, frozen=True):
    """What became of one question, by budget."""

    question: Asked
    found: dict[int, int]  # cited turns that stand in the block, whole
    cited: dict[int, int]  # cited turns that the block speaks of, if only in part
    tokens: dict[int, int]
    milliseconds: float  # of the search and of one block, of about the size that prompts have room for
    by_words: bool = False  # its vector never came in time


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    questions: int
    all_evidence: Shares  # questions all of whose evidence is in the block
    mean_recall: Shares  # evidence in the block, on average


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All figures; the headline is without the adversarial category."""

    samples: int
    turns: int
    questions: int
    audit: Audited
    all_evidence: Shares
    mean_recall: Shares
    all_cited: Shares  # as all_evidence, but turns count that are quoted in part
    by_category: dict[str, Figures]
    dates: float | None
    dates_by_said_day: float | None
    date_questions: int
    quotes_literal: float | None
    claims: int
    model_calls: int  # while questions were asked
    unread: int  # turns that memory gave up reading
    largest_tail: dict[str, int]
    recall_ms: dict[str, float | None]
    late_vectors: int  # waited for in vain; those questions were asked again
    by_words: int  # questions whose vector never came: if there are any, the machine is too busy to measure
    embedder: str
    embedded: int
    embedded_per_second: float
    seconds: float


async def evaluated(
    samples: Sequence[Sample],
    audited: Audited,
    *,
    home: Path,
    budgets: Sequence[int] = BUDGETS,
    limit: int | None = None,
    progress: Progress = silent,
) -> Report:
    """Replays the samples in a new home and asks their questions, the first `limit` of them."""
    began = perf_counter()
    samples = limited(samples, limit)
    async with opened(home) as house:
        keys = [key_of(number, sample) for number, sample in enumerate(samples)]
        said = await replayed(house, [lines(sample, key) for sample, key in zip(samples, keys, strict=True)], progress)
        claims, literal = await quotes(house, keys)
        calls, late = house.voice.calls, house.embedder.late
        results = await answered(
            [Asking(house, *one, budgets) for one in zip(samples, keys, said, strict=True)], progress
        )
        headline = [result for result in results if result.question.category != ADVERSARIAL]
        figures = summed(headline, budgets)
        timed = [times for sample in samples for times in timed_questions(sample)]
        milliseconds = [result.milliseconds for result in results]
        return Report(
            samples=len(samples),
            turns=sum(len(sample.turns) for sample in samples),
            questions=len(headline),
            audit=audited,
            all_evidence=figures.all_evidence,
            mean_recall=figures.mean_recall,
            all_cited={
                str(budget): share(sum(all_of(result, result.cited[budget]) for result in headline), len(headline))
                for budget in budgets
            },
            by_category=by_category(results, budgets),
            dates=share(sum(dated.grounded(*one) for one in timed), len(timed)),
            dates_by_said_day=share(sum(dated.by_said_day(*one) for one in timed), len(timed)),
            date_questions=len(timed),
            quotes_literal=share(literal, claims),
            claims=claims,
            model_calls=house.voice.calls - calls,
            unread=await house.unread(),
            largest_tail={
                str(budget): max((result.tokens[budget] for result in results), default=0) for budget in budgets
            },
            recall_ms={"p50": percentile(milliseconds, 0.5), "p95": percentile(milliseconds, 0.95)},
            late_vectors=house.embedder.late - late,
            by_words=sum(result.by_words for result in results),
            embedder=house.embedder.name,
            embedded=house.embedder.texts,
            embedded_per_second=round(house.embedder.per_second, 1),
            seconds=round(perf_counter() - began, 1),
        )


def limited(samples: Sequence[Sample], limit: int | None) -> list[Sample]:
    """The first so many questions, and the samples that have them; without a limit all in which something was said."""
    if limit is None:
        return [sample for sample in samples if sample.turns]
    kept: list[Sample] = []
    for sample in samples:
        if limit > 0 and sample.questions:
            kept.append(msgspec.structs.replace(sample, questions=sample.questions[:limit]))
            limit -= len(sample.questions)
    return kept


def key_of(number: int, sample: Sample) -> SessionKey:
    return SessionKey(f"{number}:{sample.name}")


def lines(sample: Sample, key: SessionKey) -> list[Line]:
    return [
        Line(key=key, session=SessionId(key), said_at=turn.said_at, text=turn.text, speaker=turn.speaker)
        for turn in sample.turns
    ]


class Asking:
    """Asks the questions of one sample, once it was said and read."""

    def __init__(
        self, house: House, sample: Sample, key: SessionKey, steps: Sequence[StepId], budgets: Sequence[int]
    ) -> None:
        self.questions = sample.questions
        self._house = house
        self._key = key
        self._at = sample.turns[-1].said_at
        self._budgets = budgets
        self._timed = min(budgets, key=lambda budget: abs(budget - MOST_TAIL))
        self._step = {turn.id: step for turn, step in zip(sample.turns, steps, strict=True)}
        self._quote = {turn.id: quoted(turn.text.rstrip(ENDING))[:-1] for turn in sample.turns}

    async def ask(self, question: Asked) -> Recalled:
        for _ in range(MOST_TRIES):
            late = self._house.embedder.late
            result = await self._ask(question)
            if self._house.embedder.late == late:
                return result
        return msgspec.structs.replace(result, by_words=True)

    async def _ask(self, question: Asked) -> Recalled:
        recall, view = self._house.recall, await self._house.view(self._key)
        asked = Question(text=question.text, at=self._at)
        blocks: dict[int, Block] = {}
        took = 0.0
        for budget in self._budgets:
            began = perf_counter()
            blocks[budget] = await recall.block(view, asked, room=budget)
            if budget == self._timed:
                took = perf_counter() - began
        return Recalled(
            question,
            {budget: sum(self._whole(one, block) for one in question.evidence) for budget, block in blocks.items()},
            {
                budget: sum(self._step[one] in block.steps for one in question.evidence)
                for budget, block in blocks.items()
            },
            {budget: block.tokens for budget, block in blocks.items()},
            1000 * took,
        )

    def _whole(self, turn: str, block: Block) -> bool:
        return self._step[turn] in block.steps and self._quote[turn] in block.text


async def answered(askings: Sequence[Asking], progress: Progress) -> list[Recalled]:
    """All questions, one after the other: what one takes is measured."""
    total = sum(len(asking.questions) for asking in askings)
    results: list[Recalled] = []
    for asking in askings:
        for question in asking.questions:
            results.append(await asking.ask(question))
            progress("questions asked", len(results), total)
    return results


def all_of(result: Recalled, found: int) -> bool:
    return found == len(result.question.evidence)


def summed(results: Sequence[Recalled], budgets: Sequence[int]) -> Figures:
    return Figures(
        questions=len(results),
        all_evidence={
            str(budget): share(sum(all_of(result, result.found[budget]) for result in results), len(results))
            for budget in budgets
        },
        mean_recall={
            str(budget): share(
                sum(result.found[budget] / len(result.question.evidence) for result in results), len(results)
            )
            for budget in budgets
        },
    )


def by_category(results: Sequence[Recalled], budgets: Sequence[int]) -> dict[str, Figures]:
    categories = sorted({result.question.category for result in results})
    return {
        str(category): summed([result for result in results if result.question.category == category], budgets)
        for category in categories
    }


def timed_questions(sample: Sample) -> list[tuple[dated.Time, list[tuple[str, datetime]]]]:
    """The answers that are dates, each with the turns that hold it."""
    turns = {turn.id: (turn.text, turn.said_at) for turn in sample.turns}
    return [
        (time, [turns[one] for one in question.evidence])
        for question in sample.questions
        if question.category != ADVERSARIAL and (time := dated.answered(question.answer)) is not None
    ]
