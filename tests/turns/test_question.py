"""What a message is searched by."""

from __future__ import annotations

from everthread.turns.recall import LONGEST_QUESTION, ends


def test_of_a_long_message_the_beginning_and_the_end_are_what_it_is_about() -> None:
    question = "Which of these did we use in Oslo?"
    assert ends(question) == question
    assert ends("x" * LONGEST_QUESTION) == "x" * LONGEST_QUESTION
    for long in (question + "x" * 10_000, "x" * 10_000 + question):
        assert question in ends(long)
        assert len(ends(long)) == LONGEST_QUESTION + 1
