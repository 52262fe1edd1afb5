"""Conversations in which things change, said to the end; then each question is asked in a new session under their key,
and the prompt that a model would be given is judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

import msgspec

from everthread.core.ids import SessionId, SessionKey
from everthread.core.sentences import squeezed
from everthread.core.turn import Prompt
from everthread.evals import former, independent, judged, working
from everthread.evals.conversation import Conversation, Question, Said
from everthread.evals.house import House, Line, opened
from everthread.evals.judged import Verdict
from everthread.evals.paraphrases import PARAPHRASES, Paraphrase
from everthread.evals.replay import Progress, quotes, replayed, share, silent
from everthread.evals.working_heldout import HELD_OUT
from everthread.evals.working_topics import WORKING

MOST_TRIES = 5  # of a question whose vector did not come in time on a busy machine
BEGAN = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)  # when the paraphrases' first statements are made


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of the questions that each is about; see `judged.Verdict`."""

    family: str
    seed: int | None
    conversations: int
    turns: int  # said by people
    questions: int
    changed: int  # questions about things that changed at least once
    current_in_prompt: float | None
    current_reversed: float | None
    current_labelled: float | None
    both_sides: float | None
    turns_labelled: float | None
    unresolved: float | None
    stale_as_current: float | None
    stale_unlabelled: float | None
    causes: int  # questions about things whose cause was told
    cause_shown: float | None
    cause_linked: float | None
    quotes_literal: float | None
    claims: int
    misquoted: int  # lines of prompts that are not literally in the turn they name
    model_calls: int  # beyond one for each turn, and one to ask each question
    unread: int  # turns that memory gave up reading
    largest_prompt: int  # characters
    late_vectors: int  # waited for in vain; those questions were asked again
    by_words: int  # questions whose vector never came: if there are any, the machine is too busy to measure
    embedder: str
    embedded_per_second: float
    seconds: float


def family(name: str, count: int, seed: int) -> tuple[Conversation, ...]:
    """That many conversations of a family; the same seed gives the same ones."""
    match name:
        case "working":
            return tuple(working.conversations(WORKING, count, seed))
        case "held-out":
            return tuple(working.conversations(HELD_OUT, count, seed))
        case "former":
            return tuple(former.conversations(count, seed))
        case _:
            return tuple(independent.conversations(count, seed))


def paraphrased() -> tuple[Conversation, ...]:
    """Each paraphrase as a conversation of two turns, a month apart."""
    return tuple(conversation(number, paraphrase) for number, paraphrase in enumerate(PARAPHRASES))


def conversation(number: int, paraphrase: Paraphrase) -> Conversation:
    turns: list[Said] = []
    for days, text in ((0, paraphrase.old), (30, paraphrase.new)):
        at = BEGAN + timedelta(days=days)
        turns += [Said(at, "user", "user", text), Said(at + timedelta(seconds=5), "assistant", "assistant", "Okay.")]
    question = Question(
        text=paraphrase.question,
        at=BEGAN + timedelta(days=33),
        subject="",
        current=paraphrase.current,
        current_turn=2,
        stale=((paraphrase.stale, 0),),
        cause=None,
        cause_turn=None,
        asked_by="user",
    )
    return Conversation(f"paraphrase-{number:02d}", 0, tuple(turns), (question,))


async def evaluated(
    conversations: Sequence[Conversation],
    *,
    name: str,
    seed: int | None,
    home: Path,
    limit: int | None = None,
    progress: Progress = silent,
) -> Report:
    """Replays the conversations in a new home and asks their questions, the first `limit` of them."""
    began = perf_counter()
    conversations = limited(conversations, limit)
    async with opened(home) as house:
        said = [list(lines(one)) for one in conversations]
        await replayed(house, said, progress)
        claims, literal = await quotes(house, [key_of(one) for one in conversations])
        turns = sum(map(len, said))
        asked = [(one, question) for one in conversations for question in one.questions]
        late = house.embedder.late
        verdicts: list[Verdict] = []
        largest = misquoted = by_words = 0
        for number, (one, question) in enumerate(asked, start=1):
            prompt, lexical = await heard(house, one, question, number)
            by_words += lexical
            shown = judged.lines(prompt)
            misquoted += sum(not is_literal(line, one) for line in shown)
            verdicts.append(judged.verdict(question, shown))
            largest = max(largest, len(prompt))
            progress("questions asked", number, len(asked))
        return Report(
            family=name,
            seed=seed,
            conversations=len(conversations),
            turns=turns,
            questions=len(verdicts),
            changed=sum(verdict.current_labelled is not None for verdict in verdicts),
            current_in_prompt=share_of(verdicts, lambda one: one.current_in_prompt),
            current_reversed=share_of(verdicts, lambda one: one.current_reversed),
            current_labelled=share_of(verdicts, lambda one: one.current_labelled),
            both_sides=share_of(verdicts, lambda one: one.both_sides),
            turns_labelled=share_of(verdicts, lambda one: one.turns_labelled),
            unresolved=share_of(verdicts, lambda one: one.unresolved),
            stale_as_current=share_of(verdicts, lambda one: one.stale_as_current),
            stale_unlabelled=share_of(verdicts, lambda one: one.stale_unlabelled),
            causes=sum(verdict.cause_shown is not None for verdict in verdicts),
            cause_shown=share_of(verdicts, lambda one: one.cause_shown),
            cause_linked=share_of(verdicts, lambda one: one.cause_linked),
            quotes_literal=share(literal, claims),
            claims=claims,
            misquoted=misquoted,
            model_calls=house.voice.calls - turns - house.questions,
            unread=await house.unread(),
            largest_prompt=largest,
            late_vectors=house.embedder.late - late,
            by_words=by_words,
            embedder=house.embedder.name,
            embedded_per_second=round(house.embedder.per_second, 1),
            seconds=round(perf_counter() - began, 1),
        )


def limited(conversations: Sequence[Conversation], limit: int | None) -> list[Conversation]:
    """The first so many questions, and the conversations that they are about."""
    if limit is None:
        return list(conversations)
    kept: list[Conversation] = []
    for one in conversations:
        if limit > 0:
            kept.append(dataclasses.replace(one, questions=one.questions[:limit]))
            limit -= len(one.questions)
    return kept


def share_of(verdicts: Sequence[Verdict], what: Callable[[Verdict], bool | None]) -> float | None:
    """Of the questions that it applies to."""
    known = [value for verdict in verdicts if (value := what(verdict)) is not None]
    return share(sum(known), len(known))


def key_of(conversation: Conversation) -> SessionKey:
    return SessionKey(conversation.id)


def lines(conversation: Conversation) -> Iterator[Line]:
    """What people said, each with the answer that followed."""
    turns = conversation.turns
    assert all(turn.role == ("user", "assistant")[number % 2] for number, turn in enumerate(turns))
    for turn, answer in zip(turns[::2], turns[1::2], strict=True):
        yield Line(
            key=key_of(conversation),
            session=SessionId(conversation.id),
            said_at=turn.at,
            text=turn.text,
            speaker=named(turn.speaker),
            answer=answer.text,
        )


def named(speaker: str) -> str | None:
    """A name, if the speaker has one."""
    return None if speaker == "user" else speaker


async def heard(house: House, conversation: Conversation, question: Question, number: int) -> tuple[str, bool]:
    """The prompt's text for a question, asked in a new session; and whether it was made by words alone."""
    line = Line(
        key=key_of(conversation),
        session=SessionId(f"question-{number}"),
        said_at=question.at,
        text=question.text,
        speaker=named(question.asked_by),
    )
    for _ in range(MOST_TRIES):
        late = house.embedder.late
        prompt = await house.asked(line)
        if house.embedder.late == late:
            return text_of(prompt), False
    return text_of(prompt), True


def text_of(prompt: Prompt) -> str:
    return "\n\n".join(message.text for message in prompt.messages)


def is_literal(line: judged.Shown, conversation: Conversation) -> bool:
    """Whether a line quotes the turn that it names; quotation marks within one are single."""
    turn = 2 * (line.turn - 1)
    said = squeezed(" ".join(said.text for said in conversation.turns[turn : turn + 2]))
    return line.quote.replace('"', "'") in said.replace('"', "'")
