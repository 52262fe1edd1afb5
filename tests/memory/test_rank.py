"""What is recalled comes in the order in which it helps, and nothing comes where nothing was asked."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.core.ids import LineageId, SessionId, StepId, ThreadId
from everthread.core.memory import Found, Passage
from everthread.memory.rank import MOST_WORDS, Question, Sought, rank, sought, words

MARCH = datetime(2026, 3, 2, 10, tzinfo=UTC)
NOW = datetime(2026, 6, 15, 9, tzinfo=UTC)


def found(
    seq: int,
    text: str,
    *,
    lexical: float = 0.0,
    similar: float = 0.0,
    speaker: str = "user",
    role: str = "user",
    said_at: datetime | None = None,
    lineage: str = "l1",
    message: int = 0,
) -> Found:
    passage = Passage(
        no=seq * 10 + message,
        step=StepId(f"s{seq}"),
        session=SessionId("a"),
        thread=ThreadId("t"),
        lineage=LineageId(lineage),
        seq=seq,
        message=message,
        start=0,
        role=role,
        speaker=speaker,
        said_at=said_at or MARCH + timedelta(days=seq),
        text=text,
    )
    return Found(passage, lexical, similar)


def asked(text: str, previous: str = "") -> Question:
    return Question(text=text, previous=previous, at=NOW)


def order(*passages: Found, question: str, previous: str = "") -> list[int]:
    return [one.passage.seq for one in rank(passages, asked(question, previous))]


# --- what is searched for ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("When did we move to the new office?", ("move", "new", "office")),
        ("the cat, the CAT and a Cat", ("cat",)),
        ('"NEAR" OR (drop* -table):x', ("near", "drop", "table", "x")),
        ("snake_case and it's Zoë's", ("snake", "case", "zoë")),
        ("and what was that?", ()),
        ("", ()),
    ],
)
def test_words_are_those_that_mean_something(text: str, expected: tuple[str, ...]) -> None:
    assert words(text) == expected


def test_a_speakers_name_is_not_searched_for() -> None:
    assert words("What did Ann Lee cook for Ben?", names=["Ann Lee", "user"]) == ("cook", "ben")


@given(st.text(max_size=400))
def test_words_are_few_and_safe_to_quote(text: str) -> None:
    given_back = words(text)
    assert len(given_back) <= MOST_WORDS
    assert len(set(given_back)) == len(given_back)
    assert all(word and '"' not in word and not word.isspace() for word in given_back)


def test_the_vector_of_a_question_is_made_without_speakers_names() -> None:
    wanted = sought(asked("What is Ann's dog called, and does Ben like it?"), names=["Ann", "Ben", "user"])
    assert wanted.text == "What is dog called, and does like it?"
    assert wanted.words == ("dog", "called", "like")


def test_a_name_is_searched_for_if_there_is_nothing_else() -> None:
    assert sought(asked("Who is Ann?"), names=["Ann", "Ben"]) == Sought(("ann",), "Who is Ann?", "Who is Ann?")


def test_a_greeting_by_name_asks_for_nothing() -> None:
    assert sought(asked("Hi Ann!"), names=["Ann", "Ben"]) == Sought()


def test_a_role_is_no_name() -> None:
    assert sought(asked("Which user has the assistant role?"), names=["user", "assistant"]).words == (
        "user",
        "assistant",
        "role",
    )


@pytest.mark.parametrize("text", ["thanks!", "ok, go on", "Great, thank you so much", "how are you?", "yes please", ""])
def test_small_talk_asks_for_nothing(text: str) -> None:
    assert sought(asked(text)) == Sought()


def test_a_question_made_of_small_words_is_still_one_if_it_is_about_us() -> None:
    assert sought(asked("What do I love?")).words == ("love",)


def test_a_short_question_leans_on_what_was_said_before_it() -> None:
    wanted = sought(asked("and when was that?", "Ann planted two cherry trees"), names=["Ann"])
    assert wanted.words == ("planted", "two", "cherry", "trees")
    assert "cherry trees" in wanted.text
    assert "Ann" not in wanted.text


def test_a_long_question_stands_alone() -> None:
    wanted = sought(asked("Which database does the billing service use?", "Ann planted two cherry trees"))
    assert wanted.words == ("database", "billing", "service", "use")


def test_thanks_lean_on_nothing() -> None:
    assert sought(asked("ok, thanks", "Ann planted two cherry trees")) == Sought()


# --- the order ---


def test_nothing_found_is_nothing_ranked() -> None:
    assert rank((), asked("Where did we park the car?")) == ()


def test_words_and_meaning_together_beat_either_alone() -> None:
    both = found(5, "We parked the car on level three", lexical=6, similar=0.6)
    lexical = found(15, "The car was expensive", lexical=7, similar=0.2)
    dense = found(25, "Our vehicle stands in the garage", similar=0.6)
    assert order(lexical, dense, both, question="Where did we park the car?")[0] == 5


def test_an_answer_is_lifted_by_the_question_before_it() -> None:
    at = MARCH + timedelta(days=4)
    question = found(5, "What colour is the new bike, Ann?", lexical=8, similar=0.8, said_at=at)
    answer = found(6, "Bright green, with a bell", similar=0.2, said_at=at + timedelta(minutes=1))
    elsewhere = found(40, "Green is a fine thing", similar=0.25)
    assert order(elsewhere, answer, question, question="What colour was my bike?") == [5, 6, 40]


@pytest.mark.parametrize("apart", [{"lineage": "l2"}, {"said_at": MARCH + timedelta(days=6)}])
def test_what_only_has_the_next_number_is_no_neighbour(apart: dict[str, str | datetime]) -> None:
    first = found(5, "My bike is new", lexical=8, similar=0.8)
    beside = found(6, "Bright green", similar=0.2, **({"said_at": MARCH + timedelta(days=5, hours=1)} | apart))  # type: ignore[arg-type]
    near = found(6, "Bright green", similar=0.2, said_at=MARCH + timedelta(days=5, hours=1))
    question = asked("What colour was my bike?")
    alone, together = rank((first, beside), question), rank((first, near), question)
    assert together[-1].score > (alone[-1].score if len(alone) > 1 else 0.0)


def test_messages_of_one_step_are_neighbours_only_one_after_the_other() -> None:
    at = MARCH
    first = found(5, "My bike is new", lexical=8, similar=0.8, said_at=at)
    second = found(5, "Noted", similar=0.2, said_at=at, message=1, speaker="assistant", role="assistant")
    third = found(5, "Noted", similar=0.2, said_at=at, message=2, speaker="assistant", role="assistant")
    question = asked("What did I say about my bike?")
    assert rank((first, second), question)[1].score > rank((first, third), question)[1].score


def test_a_day_that_fits_lifts_what_was_said_on_it() -> None:
    day = MARCH + timedelta(days=9)
    talk = [found(seq, "about the trip to Oslo", lexical=5, similar=0.6, said_at=day) for seq in (10, 20, 30)]
    same = found(50, "The hotel was cold", similar=0.4, said_at=day)
    other = found(90, "The hotel was warm", similar=0.4, said_at=day + timedelta(days=20))
    ranked = order(other, same, *talk, question="How was our hotel in Oslo?")
    assert ranked.index(50) < ranked.index(90)


def test_one_who_is_named_is_heard_first() -> None:
    ann = found(5, "I adopted a grey cat", lexical=4, similar=0.5, speaker="Ann")
    ben = found(15, "I adopted a black cat", lexical=4, similar=0.5, speaker="Ben")
    assert order(ben, ann, question="Which cat did Ann adopt?") == [5, 15]
    assert order(ben, ann, question="Which cat did ben adopt?") == [15, 5]


def test_one_who_was_named_before_is_heard_first_in_a_question_that_leans_on_it() -> None:
    ann = found(5, "I adopted a cat in May", lexical=4, similar=0.5, speaker="Ann")
    ben = found(15, "I adopted a cat in May", lexical=4, similar=0.5, speaker="Ben")
    assert order(ben, ann, question="when was that?", previous="Ann adopted a cat")[0] == 5


def test_who_is_asked_when_looks_for_a_time() -> None:
    timed = found(5, "I painted the fence last Friday", lexical=4, similar=0.5)
    plain = found(15, "I painted the fence with Tom", lexical=4, similar=0.5)
    assert order(plain, timed, question="When did I paint the fence?") == [5, 15]
    assert order(plain, timed, question="Why did I paint the fence?") == [15, 5]


def test_a_time_in_the_question_favours_what_was_said_then() -> None:
    april = found(5, "The trip was lovely", lexical=4, similar=0.5, said_at=datetime(2026, 4, 20, tzinfo=UTC))
    january = found(15, "The trip was awful", lexical=4, similar=0.5, said_at=datetime(2026, 1, 20, tzinfo=UTC))
    assert order(april, january, question="How was our trip in April?") == [5, 15]
    assert order(april, january, question="How was our trip in January?") == [15, 5]


def test_a_time_at_the_end_of_the_calendar_is_no_hint() -> None:
    passage = found(5, "The trip was lovely", lexical=4, similar=0.5)
    question = Question(text="How was our trip today?", at=datetime(9999, 12, 30, tzinfo=UTC))
    assert [one.passage for one in rank((passage,), question)] == [passage.passage]


def test_a_statement_says_more_than_a_question() -> None:
    question = found(15, "Do we need a permit for the fence?", lexical=4, similar=0.5)
    statement = found(5, "We need no permit for the fence.", lexical=4, similar=0.5)
    assert order(question, statement, question="Which permit does our fence need?") == [5, 15]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What did I say about the soup recipe?", 5),
        ("Is there a soup recipe that we know?", 5),
        ("Which soup recipe did you recommend?", 15),
        ("Can you tell me which soup recipe I like?", 5),
        ("Remind me of the soup recipe you suggested", 15),
    ],
)
def test_peoples_own_words_come_first_unless_the_others_are_asked_for(question: str, first: int) -> None:
    mine = found(5, "A soup recipe with leek", lexical=4, similar=0.5)
    theirs = found(15, "A soup recipe with peas", lexical=4, similar=0.5, speaker="assistant", role="assistant")
    assert order(theirs, mine, question=question)[0] == first


def test_of_equals_the_newest_is_first() -> None:
    old, new = (found(seq, "Our server is called Juno", lexical=4, similar=0.5) for seq in (5, 50))
    assert order(old, new, question="What is our server called?") == [50, 5]


# --- the margin ---


def test_a_question_about_the_world_recalls_nothing() -> None:
    passages = [found(seq, "I wrote to the landlord", lexical=3, similar=0.2) for seq in (5, 15)]
    assert order(*passages, question="Who wrote the Aeneid?") == []


def test_a_question_that_points_to_us_needs_less() -> None:
    passages = [found(seq, "I wrote to the landlord", lexical=3, similar=0.2) for seq in (5, 15)]
    assert order(*passages, question="Who wrote to our landlord?") == [15, 5]


def test_small_talk_recalls_nothing_however_similar() -> None:
    assert order(found(5, "Thanks!", lexical=3, similar=1.0), question="thanks!") == []


def test_what_is_weak_beside_the_best_is_left_out() -> None:
    best = found(5, "We parked the car on level three", lexical=8, similar=0.8)
    weak = found(50, "Level headed", lexical=0.1, similar=0.02)
    assert order(weak, best, question="On which level did we park the car?") == [5]


def test_words_alone_are_enough_where_there_are_no_vectors() -> None:
    passage = found(5, "The ferry to Oslo leaves at nine", lexical=5)
    assert order(passage, question="When does the Oslo ferry leave?") == [5]
    assert order(passage, question="Which composer wrote operas in Oslo?") == []
    assert order(passage, question="Which tickets did we buy for Oslo yesterday?") == [5]


# --- always ---

moments = st.datetimes(datetime(2020, 1, 1), datetime(2027, 1, 1)).map(lambda at: at.replace(tzinfo=UTC))  # noqa: DTZ001
texts = st.sampled_from(["I bought a boat", "Did I sell the boat?", "Last May, in Rome", "", "Ann likes boats", "!"])
anything = st.builds(
    found,
    st.integers(1, 300),
    texts,
    lexical=st.floats(0, 40),
    similar=st.floats(-1, 1),
    speaker=st.sampled_from(["user", "assistant", "Ann", "Ben"]),
    role=st.sampled_from(["user", "assistant"]),
    said_at=moments,
    lineage=st.sampled_from(["l1", "l2"]),
)
several = st.lists(anything, max_size=30, unique_by=lambda one: one.passage.no)
questions = st.builds(
    asked,
    st.one_of(st.text(max_size=60), st.sampled_from(["When did Ann buy my boat last May?", "and where?", "my boat"])),
    st.sampled_from(["", "Ben sold the boat"]),
)


@given(several, questions, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_how_it_was_found(
    passages: list[Found], question: Question, chance: object
) -> None:
    shuffled = list(passages)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert [one.passage for one in rank(shuffled, question)] == [one.passage for one in rank(passages, question)]


@given(several, questions)
def test_only_what_was_given_comes_back_each_once_and_best_first(passages: list[Found], question: Question) -> None:
    ranked = rank(passages, question)
    numbers = [one.passage.no for one in ranked]
    assert set(numbers) <= {each.passage.no for each in passages}
    assert len(set(numbers)) == len(numbers)
    scores = [one.score for one in ranked]
    assert all(math.isfinite(score) and score >= 0 for score in scores)
    assert scores == sorted(scores, reverse=True)
