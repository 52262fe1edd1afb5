"""The conversations that are made up."""

from __future__ import annotations

import pytest

from everthread.evals import reversals


def test_the_same_seed_gives_the_same_conversations() -> None:
    first = reversals.family("independent", 5, 7)
    assert first == reversals.family("independent", 5, 7)
    assert first[:3] == reversals.family("independent", 3, 7)
    assert first != reversals.family("independent", 5, 8)


def test_a_question_knows_the_turns_that_hold_its_answer() -> None:
    for conversation in (*reversals.family("independent", 20, 1), *reversals.paraphrased()):
        assert len(list(reversals.lines(conversation))) == len(conversation.turns) / 2
        for question in conversation.questions:
            told = ((question.current, question.current_turn), *question.stale)
            for value, turn in told:
                assert conversation.turns[turn].role == "user"
                assert value.casefold() in conversation.turns[turn].text.casefold()


def test_there_are_forty_paraphrases() -> None:
    assert len(reversals.paraphrased()) == 40


@pytest.mark.parametrize("name", ["former", "working", "held-out"])
def test_the_families_for_those_who_write_rules_are_the_same_for_the_same_seed(name: str) -> None:
    assert reversals.family(name, 3, 7) == reversals.family(name, 3, 7) != reversals.family(name, 3, 8)
