"""`everthread eval`, on made-up conversations."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from everthread.cli.main import main
from everthread.evals import locomo

Command = Callable[..., tuple[int, str, str]]

LONG = (
    "Our beekeeping course at the allotment covered so much: how to open a hive calmly, how to read the brood pattern,"
    " how to spot a queen among ten thousand workers, how to mix sugar syrup for autumn, how to strap a box down before"
    " a storm, how to extract honey without spilling half of it on the floor, and how to write everything into a diary."
)


def turn(id: str, speaker: str, text: str, **more: str) -> dict[str, str]:  # noqa: A002
    return {"dia_id": id, "speaker": speaker, "text": text, **more}


def asked(question: str, answer: object, category: int, *evidence: str) -> dict[str, object]:
    return {"question": question, "answer": answer, "category": category, "evidence": list(evidence)}


def samples() -> list[dict[str, Any]]:
    bees = {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            turn("D1:1", "Ada", "Yesterday I adopted a tortoise named Pebble from the shelter."),
            turn("D1:2", "Ben", "How lovely!"),
            turn("D1:3", "Ben", LONG),
        ],
        "session_2_date_time": "12:05 am on 3 July, 2023",
        "session_2": [
            turn("D2:1", "Ben", "The trombone recital in June went well.", blip_caption="a photo of a golden trombone"),
            turn("D2:2", "Ada", "My glacier postcards hang above the piano."),
        ],
        "session_3_date_time": "9:00 am on 9 July, 2023",  # nothing was said
    }
    boats = {
        "speaker_a": "Cleo",
        "speaker_b": "Dan",
        "session_1_date_time": "10:00 am on 1 March, 2023",
        "session_1": [
            turn("D1:1", "Cleo", "I repaired the canoe's paddle with walnut glue."),
            turn("D1:2", "Dan", "Splendid, the canoe deserves it."),
        ],
    }
    return [
        {
            "sample_id": "bees",
            "conversation": bees,
            "qa": [
                asked("When did Ada adopt the tortoise Pebble?", "7 May 2023", 2, "D1:1"),
                asked("What did Ben's beekeeping course at the allotment cover?", "Hives", 4, "D1:3"),
                asked("When was the trombone recital?", "June 2023", 2, "D2:2"),  # wrong; the audit cites D2:1
                asked("Which of Ada's glacier postcards is green?", "The third", 1, "D2:2"),  # left out by the audit
                asked("Which tortoise, and which beekeeping course?", "Pebble; hives", 1, "D1:1; D1:03", "D9:9"),
                asked("Who lives on the moon?", 2021, 3, "D"),  # cites nothing
            ],
        },
        {
            "sample_id": "boats",
            "conversation": boats,
            "qa": [
                asked("With which glue did Cleo repair the canoe's paddle?", 2021, 4, "D1:1"),
                {
                    "question": "With which glue did Dan repair the canoe's paddle?",
                    "adversarial_answer": "walnut",
                    "category": 5,
                    "evidence": ["D1:1"],
                },
            ],
        },
    ]


def error(number: int, kind: str, *evidence: str) -> dict[str, object]:
    question = samples()[0]["qa"][number]["question"]
    return {
        "question_id": f"locomo_0_qa{number}",
        "question": question,
        "error_type": kind,
        "cited_evidence": [],
        "correct_evidence": list(evidence),
    }


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "talk.json").write_text(json.dumps(samples()))
    errors = [error(2, "WRONG_CITATION", "D2:1"), error(3, "HALLUCINATION", "D2:2")]
    (folder / "audit_errors.json").write_text(json.dumps(errors))
    return folder / "talk.json"


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["eval", *words])
        return code, *capsys.readouterr()

    return run


def test_a_file_is_read_with_its_corrections(file: Path) -> None:
    (bees, boats), audited = locomo.load(file)
    assert audited == locomo.Audited(recited=1, left_out=1, without_evidence=1)
    assert [question.evidence for question in bees.questions] == [
        ("D1:1",),
        ("D1:3",),
        ("D2:1",),
        ("D1:1", "D1:3"),
    ]
    assert [turn.id for turn in bees.turns] == ["D1:1", "D1:2", "D1:3", "D2:1", "D2:2"]
    assert bees.turns[3].text == "The trombone recital in June went well. (a photo of a golden trombone)"
    assert [f"{turn.said_at:%Y-%m-%d %H:%M:%S}" for turn in bees.turns[2:4]] == [
        "2023-05-08 13:56:02",
        "2023-07-03 00:05:00",
    ]
    assert [question.answer for question in boats.questions] == ["2021", ""]


def test_without_corrections_a_file_is_taken_as_it_is(file: Path) -> None:
    file.with_name("audit_errors.json").unlink()
    (bees, _), audited = locomo.load(file.parent)
    assert audited == locomo.Audited(without_evidence=1)
    assert [question.evidence for question in bees.questions][2:4] == [("D2:2",), ("D2:2",)]


@pytest.mark.slow
def test_the_figures_are_those_that_were_counted_by_hand(file: Path, command: Command) -> None:
    code, out, notes = command(str(file), "--budget", "90", "--budget", "2048", "--json")
    assert code == 0
    report = json.loads(out)
    # The long turn does not fit into 90 tokens; one of the five questions needs only that, one needs it as well.
    assert report["all_evidence"] == {"90": 0.6, "2048": 1.0}
    assert report["mean_recall"] == {"90": 0.7, "2048": 1.0}
    assert {name: figures["questions"] for name, figures in report["by_category"].items()} == {
        "1": 1,
        "2": 2,
        "4": 2,
        "5": 1,
    }
    assert report["by_category"]["4"]["all_evidence"] == {"90": 0.5, "2048": 1.0}
    assert report["by_category"]["5"]["mean_recall"] == {"90": 1.0, "2048": 1.0}
    assert (report["samples"], report["turns"], report["questions"]) == (2, 7, 5)
    assert report["audit"] == {"recited": 1, "left_out": 1, "without_evidence": 1}
    # 7 May is "yesterday" and June is named; that it was in 2021 nobody said.
    assert (report["dates"], report["dates_by_said_day"], report["date_questions"]) == (0.6667, 0.0, 3)
    assert report["quotes_literal"] == 1.0
    assert report["claims"] > 0
    assert (report["model_calls"], report["unread"]) == (0, 0)
    assert report["largest_tail"]["90"] <= 90
    assert report["recall_ms"]["p50"] <= report["recall_ms"]["p95"]
    assert "questions asked  [##########################]  6 of 6" in notes


@pytest.mark.slow
def test_a_table_is_for_people(file: Path, command: Command, tmp_path: Path) -> None:
    code, out, _ = command(str(file.parent), "--limit", "2", "--keep", str(tmp_path / "kept"))
    assert code == 0
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[2].split() == ["questions", "512", "1024", "2048", "4096", "8192"]
    assert lines[3].split("  ")[0] == "all evidence, 1-4"
    assert (tmp_path / "kept" / "everthread.db").exists()
    assert command("--paraphrases", "--keep", str(tmp_path / "kept"))[2].endswith("name a folder that has none.\n")


@pytest.mark.slow
def test_made_up_conversations_are_judged(command: Command) -> None:
    code, out, notes = command("--reversals", "3", "--seed", "5", "--json")
    assert code == 0
    report = json.loads(out)
    assert (report["family"], report["seed"], report["conversations"]) == ("independent", 5, 3)
    assert 0 < report["changed"] <= report["questions"]
    assert report["current_in_prompt"] > 0.5
    assert 0 <= report["both_sides"] <= report["current_labelled"] <= 1
    assert 0 <= report["stale_as_current"] <= 1
    assert 0 <= report["current_reversed"] <= report["current_in_prompt"]
    assert 0 <= report["cause_linked"] <= report["cause_shown"] <= 1
    assert (report["quotes_literal"], report["misquoted"]) == (1.0, 0)
    assert (report["model_calls"], report["unread"]) == (0, 0)
    assert "turns said" in notes


@pytest.mark.slow
def test_paraphrases_are_reported_as_they_are(command: Command) -> None:
    code, out, _ = command("--paraphrases", "--limit", "4")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 100
    assert out.splitlines()[1].split() == ["newest", "in", "the", "prompt", "4", "100.0", "%"]
    assert "4 (paraphrases), 8 turns; 0 could not be read" in out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "Say what to measure"),
        (("x.json", "--paraphrases"), "one of them only"),
        (("--reversals", "0"), "--reversals is a number from 1 on"),
        (("x.json", "--limit", "0"), "--limit is a number from 1 on"),
        (("x.json", "--budget", "0"), "--budget is a number from 1 on"),
        (("--reversals", "2", "--budget", "512"), "--budget is the size of a block"),
        (("nowhere.json",), "nowhere.json cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_measured_is_said_in_one_line(command: Command, words: tuple[str, ...], complaint: str) -> None:
    code, out, notes = command(*words)
    assert (code, out, notes.count("\n")) == (1, "", 1)
    assert complaint in notes


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "is not a list of such objects"),
        ('[{"qa": []}]', "is not a list of such objects"),
        ('[{"qa": [], "conversation": {"session_1": []}}]', 'not such as "1:56 pm on 8 May, 2023"'),
        (
            '[{"qa": [], "conversation": {"session_1": [{}], "session_1_date_time": "1:56 pm on 8 May, 2023"}}]',
            "sample 0, session 1",
        ),
    ],
)
def test_a_file_in_another_format_is_refused(command: Command, tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "other.json").write_text(text)
    code, _, notes = command(str(tmp_path / "other.json"))
    assert code == 1
    assert complaint in notes


def test_a_folder_without_such_files_is_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    code, _, notes = command(str(tmp_path))
    assert code == 1
    assert "has no JSON file with a list of conversations" in notes


def test_corrections_of_another_file_are_refused(file: Path, command: Command) -> None:
    wrong = error(2, "WRONG_CITATION") | {"question": "Something else?"}
    file.with_name("audit_errors.json").write_text(json.dumps([wrong]))
    code, _, notes = command(str(file))
    assert code == 1
    assert "belongs to another file" in notes
