"""A model's block stands only if it lost nothing."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.context.distil import SHOWN, brief, held, missing, written
from everthread.context.log import Block, Said, consolidate, extract, render
from everthread.context.tokens import O200k

counter = O200k()
FIRST = datetime(2026, 1, 14, 9, 30, tzinfo=UTC)
STORY = [
    Said(402, FIRST, "user", "user", "We use PostgreSQL 15 on RDS with two read replicas in us-east-1."),
    Said(402, FIRST, "assistant", "assistant", "Replication lag is 3.5 s at most."),
    Said(403, FIRST + timedelta(days=1), "user", "user", "Call Anna about INV-2231. Can you check src/app.py?"),
]
BLOCK = extract(STORY, room=400, counter=counter)
FAITHFUL = """Here is the log:
- 2026-01-14 (turn 402) user: PostgreSQL 15 runs on RDS, 2 read replicas in `us-east-1`; lag 3.5 s
2026-01-15 (turn 403) user wants Anna called about INV-2231; still asks to check src/app.py
"""


def test_a_faithful_text_is_accepted() -> None:
    assert missing(BLOCK, FAITHFUL) == ()
    block = written(FAITHFUL, BLOCK, room=400, counter=counter)
    assert block
    assert block.author == "model"
    assert block.lines == tuple(line.removeprefix("- ") for line in FAITHFUL.splitlines()[1:])
    assert (block.first_seq, block.last_seq, block.since) == (402, 403, FIRST)
    assert block.tokens == counter.count("".join(f"{line}\n" for line in block.lines))


@pytest.mark.parametrize(
    ("dropped", "instead", "lost"),
    [
        ("15 runs", "runs", "15"),
        ("15 runs", "16 runs", "15"),
        ("15 runs", "150 runs", "15"),
        ("3.5 s", "35 s", "3.5"),
        ("2 read", "read", "2"),
        ("PostgreSQL", "Postgres", "PostgreSQL"),
        ("us-east-1", "us-east-12", "us-east-1"),
        ("INV-2231", "the invoice", "INV-2231"),
        ("src/app.py", "app.py", "src/app.py"),
        ("Anna", "her", "Anna"),
        ("RDS", "AWS", "RDS"),
        ("still asks to check src/app.py", "src/app.py", '"Can you check src/app.py?"'),
    ],
)
def test_a_text_that_drops_one_mark_is_refused(dropped: str, instead: str, lost: str) -> None:
    text = FAITHFUL.replace(dropped, instead)
    assert text != FAITHFUL
    assert missing(BLOCK, text) == (lost,)
    assert written(text, BLOCK, room=400, counter=counter) is None


def test_a_turn_or_a_day_does_not_stand_for_a_number() -> None:
    block = extract([Said(15, FIRST, "user", "user", "We own 14 boats in Kiel.")], room=100, counter=counter)
    assert missing(block, "2026-01-14 (turns 14, 15) boats in Kiel") == ("14",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PostgreSQL 15",
        re.sub(r"\(turn \d+\)", "", FAITHFUL),
        FAITHFUL.replace("turn 403", "turn 999"),
        FAITHFUL.replace("2026-01-15", "2031-01-15"),
    ],
)
def test_lines_without_a_day_and_a_turn_of_the_block_do_not_count(text: str) -> None:
    assert written(text, BLOCK, room=400, counter=counter) is None


def test_a_text_over_its_room_is_refused() -> None:
    assert written(FAITHFUL, BLOCK, room=20, counter=counter) is None


def test_the_model_is_told_what_it_will_be_held_to_and_sees_no_documents() -> None:
    wrapped = "### Task:\nanswer\n<context><source>Oslo</source></context>\nIs Paris allowed?"
    long = "word " * SHOWN
    said = [*STORY, Said(404, FIRST, "user", "user", wrapped), Said(404, FIRST, "tool", "tool", long)]
    instructions, transcript = brief(said, room=321, over=BLOCK)
    assert (instructions.role, transcript.role) == ("system", "user")
    assert "321 tokens" in instructions.text
    assert "us-east-1" in instructions.text
    assert "Can you check src/app.py?" in instructions.text
    assert "2026-01-14 (turn 402) user: We use PostgreSQL 15" in transcript.text
    assert "Is Paris allowed?" in transcript.text
    assert "Oslo" not in transcript.text
    assert len(transcript.text) < 2 * SHOWN
    bare, _ = brief(STORY, room=321)
    assert "us-east-1" not in bare.text


WORDS = [
    *(
        "Kafka",
        "Anna",
        "München",
        "北京",
        "C++",
        "load_config",
        "a/b/c.py",
        "x@y.org",
        "`make it`",
        "us-east-1",
        "ABC-123",
    ),
    *("42", "1,200", "3.5", "v2.1", "7%", "eleven", "turn 9", "2026-03-02", "14:30"),
]
phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" with ".join)
facts = phrases.map(lambda phrase: f"We decided on {phrase} here.")
stories = st.lists(st.one_of(facts, st.text(max_size=80)), min_size=1, max_size=5)


def block_of(story: list[str]) -> Block:
    said = [Said(seq, FIRST, "user", "user", text) for seq, text in enumerate(story, start=1)]
    return extract(said, room=600, counter=counter)


@settings(deadline=None)
@given(stories)
def test_a_block_is_faithful_to_itself(story: list[str]) -> None:
    block = block_of(story)
    assert missing(block, render((block,))) == ()


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(facts, min_size=1, max_size=5))
def test_a_block_without_one_of_its_marks_is_not_faithful(story: list[str]) -> None:
    block = block_of(story)
    text = render((block,))
    for mark in held(block):
        if mark in text:
            assert mark in missing(block, text.replace(mark, "")), mark


def test_a_request_of_nothing_but_an_identifier_is_needed_literally() -> None:
    block = block_of(["ABC-123?"])
    assert missing(block, "ABC-123 is there") == ('"ABC-123?"',)
    assert missing(block, 'they asked "ABC-123?"') == ()


def test_blocks_of_a_model_are_consolidated_too() -> None:
    block = written(FAITHFUL.replace("(turn 402)", "(turns 402, 403)"), BLOCK, room=400, counter=counter)
    assert block
    (smaller,) = consolidate((block,), room=90, counter=counter)
    assert smaller.author == "merged"
    assert set(smaller.lines) < set(block.lines)
