"""Files in LoCoMo's format: long conversations of two people, and questions that cite the turns with the answer.

If `audit_errors.json` lies beside a file, its corrections are applied: where only the citation is wrong or incomplete
it is replaced; where it finds the question or its answer wrong, the question is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from everthread.errors import Malformed

AUDIT = "audit_errors.json"
RECITED = frozenset({"WRONG_CITATION", "INCOMPLETE"})  # the question stands, with other citations
ADVERSARIAL = 5  # asks for what was never said, or was said by somebody else
SAID_ON = "%I:%M %p on %d %B, %Y"
SESSION = re.compile(r"session_(\d+)")
CITED = re.compile(r"D:?(\d+):(\d+)")  # some are written "D:11:26", "D30:05" or "D8:6; D9:17"


class Spoken(msgspec.Struct, frozen=True):
    id: str  # "D3:7"
    said_at: datetime
    speaker: str
    text: str  # with the caption of its picture in parentheses


class Asked(msgspec.Struct, frozen=True):
    text: str
    answer: str
    category: int
    evidence: tuple[str, ...]  # turns that are there, each once


class Sample(msgspec.Struct, frozen=True):
    name: str
    turns: tuple[Spoken, ...]
    questions: tuple[Asked, ...]


class Audited(msgspec.Struct, frozen=True):
    """What became of the questions that a file has."""

    recited: int = 0  # cite other turns now
    left_out: int = 0  # declared wrong
    without_evidence: int = 0  # cite nothing that is there

    def __add__(self, other: Audited) -> Audited:
        return Audited(
            self.recited + other.recited,
            self.left_out + other.left_out,
            self.without_evidence + other.without_evidence,
        )


# --- the format ---


class RawTurn(msgspec.Struct):
    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None


class RawQuestion(msgspec.Struct):
    question: str
    category: int = 0
    evidence: list[str] = []
    answer: str | int | float | None = None


class RawSample(msgspec.Struct):
    conversation: dict[str, Any]
    qa: list[RawQuestion]
    sample_id: str = ""


class RawError(msgspec.Struct):
    question_id: str  # "locomo_3_qa17": both count from 0
    question: str
    error_type: str
    correct_evidence: list[str] = []


def load(path: Path) -> tuple[tuple[Sample, ...], Audited]:
    """The samples of a file, or of all files in a folder that have this format. Malformed says what is wrong."""
    if path.is_dir():
        files = [file for file in sorted(path.glob("*.json")) if file.name != AUDIT and is_list_of_samples(file)]
        if not files:
            raise Malformed(f"{path} has no JSON file with a list of conversations and their questions.")
    else:
        files = [path]
    samples: list[Sample] = []
    audited = Audited()
    for file in files:
        found, told = of_file(file)
        samples += found
        audited += told
    return tuple(samples), audited


def is_list_of_samples(file: Path) -> bool:
    try:
        decoded(file, list[RawSample])
    except Malformed:
        return False
    return True


def of_file(file: Path) -> tuple[list[Sample], Audited]:
    raw = decoded(file, list[RawSample])
    beside = file.with_name(AUDIT)
    errors = {error.question_id: error for error in decoded(beside, list[RawError])} if beside.is_file() else {}
    samples: list[Sample] = []
    audited = Audited()
    for number, one in enumerate(raw):
        name = f"{file.stem}:{one.sample_id or number}"
        turns = tuple(spoken(one.conversation, f"{file.name}, sample {number}"))
        known = {turn.id for turn in turns}
        questions: list[Asked] = []
        for place, asked in enumerate(one.qa):
            error = errors.pop(f"locomo_{number}_qa{place}", None)
            if error is not None and error.question != asked.question:
                raise Malformed(f"{beside} belongs to another file: its {error.question_id} is another question.")
            if error is not None and error.error_type not in RECITED:
                audited += Audited(left_out=1)
                continue
            recited = error is not None and bool(error.correct_evidence)
            evidence = cited(error.correct_evidence if error is not None and recited else asked.evidence, known)
            audited += Audited(recited=int(recited), without_evidence=int(not evidence))
            if evidence:
                answer = "" if asked.answer is None else str(asked.answer)
                questions.append(Asked(asked.question, answer, asked.category, evidence))
        samples.append(Sample(name, turns, tuple(questions)))
    return samples, audited


def decoded(file: Path, kind: type[list[Any]]) -> Any:
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except OSError as error:
        raise Malformed(f"{file} cannot be read: {error.strerror}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"{file} is not a list of such objects: {error}") from error


def spoken(conversation: dict[str, Any], where: str) -> Iterator[Spoken]:
    """The turns of all sessions in their order, each a second after the one before it."""
    numbers = sorted(int(match[1]) for name in conversation if (match := SESSION.fullmatch(name)))
    for number in numbers:
        began = moment(conversation.get(f"session_{number}_date_time"), f"{where}, session {number}")
        try:
            turns = msgspec.convert(conversation[f"session_{number}"], list[RawTurn])
        except msgspec.ValidationError as error:
            raise Malformed(f"{where}, session {number}: {error}") from error
        for place, turn in enumerate(turns):
            text = f"{turn.text} ({turn.blip_caption})" if turn.blip_caption else turn.text
            yield Spoken(turn.dia_id, began + timedelta(seconds=place), turn.speaker, text.strip())


def moment(text: object, where: str) -> datetime:
    try:
        return datetime.strptime(str(text), SAID_ON).replace(tzinfo=UTC)
    except ValueError as error:
        raise Malformed(f'{where}: its time is {text!r}, not such as "1:56 pm on 8 May, 2023".') from error


def cited(evidence: Iterable[str], known: set[str]) -> tuple[str, ...]:
    ids = (f"D{int(session)}:{int(turn)}" for one in evidence for session, turn in CITED.findall(one))
    return tuple(dict.fromkeys(one for one in ids if one in known))
