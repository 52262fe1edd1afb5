"""What the pair model is trained on: what is said to be true of it, is."""

from __future__ import annotations

import importlib
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

TRAINING = Path(__file__).parent.parent / "training"
FAMILIES = sorted(TRAINING.glob("data/*.json"), key=lambda path: int(path.stem))
STORIES = sorted(TRAINING.glob("data/stories/*.jsonl"))


@pytest.fixture
def families(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TRAINING))
    return importlib.import_module("families")


@pytest.fixture
def stories(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TRAINING))
    return importlib.import_module("stories")


@pytest.mark.parametrize("path", FAMILIES, ids=lambda path: path.stem)
def test_each_value_of_a_made_up_conversation_stands_in_its_turn(families: ModuleType, path: Path) -> None:
    for told in families.conversations(families.family(path), 12, seed=3):
        asked = {question.subject for question in told.questions}
        assert len(asked) == len(told.questions) >= families.FEWEST
        for question in told.questions:
            values = [*question.stale, (question.current, question.current_turn)]
            stands = [value.casefold() in told.turns[turn].text.casefold() for value, turn in values]
            assert all(stands), question.subject
            turns = [turn for _, turn in values]
            assert turns == sorted(set(turns))


@pytest.mark.parametrize("path", FAMILIES, ids=lambda path: path.stem)
def test_what_is_said_again_is_what_holds(families: ModuleType, path: Path) -> None:
    for number in range(30):
        holds: dict[int, str] = {}
        for line in families.talk(families.family(path), Random(number), hard=number % 2 == 0)[1]:
            if line.value:
                assert (holds.get(line.thing) == line.value) == line.again
                holds[line.thing] = line.value


@pytest.mark.parametrize("path", FAMILIES, ids=lambda path: path.stem)
def test_every_pattern_of_a_family_can_be_filled(families: ModuleType, path: Path) -> None:
    one = families.family(path)
    for topic in one.topics:
        own, shared = topic.own, topic.shared
        assert not set(own["values"]) & set(own["never"])
        known = ("thing", "Thing", "v", "V", "old", "Old", "x", "X", "cause", "Cause", "change", "Change")
        fields = dict.fromkeys(known, "?")
        patterns = [way for part in (own, shared) for how in ("first", "change", "again", "back") for way in part[how]]
        assert all("{v}" in way or "{V}" in way for way in patterns)
        idle = [way for part in (own, shared) for ways in part["idle"].values() for way in ways]
        assert all(way.format(**fields) for way in (*patterns, *idle))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_question_about_a_story_knows_every_value_from_the_turn_that_told_it(stories: ModuleType, path: Path) -> None:
    for story in stories.read(path):
        told: dict[str, list[tuple[str, int]]] = {}
        for number, line in enumerate(story.said):
            assert line.value in line.text.casefold()
            values = told.setdefault(line.thing, [])
            if not values or values[-1][0] != line.value:
                values.append((line.value, 2 * number))
        for asked in story.conversation.questions:
            thing = asked.subject.rpartition(" (")[2].removesuffix(")")
            known = [*asked.stale, (asked.current, asked.current_turn)]
            assert told[thing] == [(value.casefold(), turn) for value, turn in known]
