"""What is noticed in what people say; and, above all, what is not."""

from __future__ import annotations

from datetime import UTC, datetime
from time import thread_time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.core.claim import Draft
from everthread.core.messages import Message, Role, say
from everthread.core.sentences import vocabulary
from everthread.memory.notice import notice

MONDAY = datetime(2026, 3, 2, 10, tzinfo=UTC)


def noticed(text: str, *, role: Role = "user", name: str | None = None) -> tuple[Draft, ...]:
    message = msgspec.structs.replace(say(role, text), name=name)
    drafts = notice((message,), MONDAY)
    for draft in drafts:
        assert text[draft.span.start : draft.span.end] == draft.quote
        assert draft.because is None or draft.because in text
        assert draft.replaces is None or draft.replaces in draft.quote
    return drafts


def only(text: str) -> Draft:
    (draft,) = noticed(text)
    return draft


@pytest.mark.parametrize(
    ("text", "kind", "subject", "attribute", "value"),
    [
        # software
        ("We use PostgreSQL 15.", "fact", "We", "use", "PostgreSQL 15"),
        ("We use PostgreSQL 15 on RDS with read replicas in us-east-1.", "fact", "We", "use", "PostgreSQL 15"),
        ("We use Redis for caching.", "fact", "We", "use for caching", "Redis"),
        ("Our API is written in Go.", "fact", "Our API", "write in", "Go"),
        ("The staging server is db-2.", "fact", "The staging server", "is", "db-2"),
        ("We deploy on Fridays.", "fact", "We", "deploy on", "Fridays"),
        ("The budget is $5,000.", "fact", "The budget", "is", "$5,000"),
        ("The team's standup is at 9:30.", "fact", "The team's standup", "is", "9:30"),
        ("We're on AWS.", "fact", "We", "is on", "AWS"),
        ("We're committed to microservices.", "decision", "We", "commit to", "microservices"),
        ("Let's go with the blue one.", "decision", "Let's", "go with", "the blue one"),
        ("We decided to go with FastAPI.", "decision", "We", "decide to", "go with FastAPI"),
        ("We chose Hetzner for the backups.", "decision", "We", "choose for backups", "Hetzner"),
        # families
        ("My daughter is allergic to nuts.", "fact", "My daughter", "is", "allergic to nuts"),
        ("My name is Anna Schmidt.", "fact", "I", "name", "Anna Schmidt"),
        ("I have two kids.", "fact", "I", "have", "two kids"),
        ("My parents live in Hamburg.", "fact", "My parents", "live in", "Hamburg"),
        ("Anna's birthday is on 3 May.", "fact", "Anna's birthday", "is", "3 May"),
        ("Max is allergic to cats.", "fact", "Max", "is", "allergic to cats"),
        ("My favourite colour is green.", "fact", "My favourite colour", "is", "green"),
        # health, work, travel
        ("I'm vegan.", "fact", "I", "is", "vegan"),
        ("I'm a nurse.", "fact", "I", "is", "a nurse"),
        ("My weight is 82 kg.", "fact", "My weight", "is", "82 kg"),
        ("I take 20 mg of lisinopril.", "fact", "I", "take", "20 mg of lisinopril"),
        ("I work at Siemens.", "fact", "I", "work at", "Siemens"),
        ("I've been working at Siemens since 2019.", "fact", "I", "work at", "Siemens"),
        ("I'm flying to Rome next Tuesday.", "event", "I", "fly to", "Rome"),
        ("I went to the dentist yesterday.", "event", "I", "go to", "the dentist"),
        ("I'm going to visit Oslo next week.", "event", "I", "visit", "Oslo"),
        ("I was in Oslo last week.", "fact", "I", "is in", "Oslo"),
        ("I go to the gym on Mondays.", "fact", "I", "go to", "the gym"),
        ("For CI we use Buildkite.", "fact", "we", "use for ci", "Buildkite"),
        ("Last week we visited Oslo.", "event", "we", "visit", "Oslo"),
        ("Remember that the gate code is 4711.", "fact", "the gate code", "is", "4711"),
        # tastes
        ("I prefer tea over coffee.", "preference", "I", "prefer", "tea"),
        ("I'd rather have the window seat.", "preference", "I", "prefer", "have the window seat"),
        ("I love hiking!", "preference", "I", "like", "hiking"),
        ("I'm a big fan of jazz.", "preference", "I", "like", "jazz"),
    ],
)
def test_a_plain_statement_is_noticed_with_its_parts(
    text: str, kind: str, subject: str, attribute: str, value: str
) -> None:
    draft = only(text)
    assert (draft.kind, draft.subject, draft.attribute, draft.value) == (kind, subject, attribute, value)
    assert not draft.negated


@pytest.mark.parametrize(
    "text",
    [
        "I hate cilantro.",
        "I can't stand cilantro.",
        "I don't like cilantro.",
        "My brother dislikes cilantro.",
    ],
)
def test_a_dislike_is_a_preference_with_its_sign(text: str) -> None:
    draft = only(text)
    assert (draft.kind, draft.attribute, draft.value, draft.negated) == ("preference", "like", "cilantro", True)


@pytest.mark.parametrize(
    "text",
    [
        # questions
        "Do we use Redis?",
        "do we use redis",
        "What is our database",
        "Is my daughter allergic to nuts?",
        # conditions
        "If we switched to Go, it would be faster.",
        "Suppose we use Redis.",
        "We would use Redis.",
        "We could move to Go.",
        "Unless we use Redis, it is slow.",
        # doubt and plans that are none
        "I think we use Redis.",
        "Maybe we use Redis.",
        "We're considering Redis.",
        "I'm thinking about moving to Rome.",
        "We probably use Redis.",
        # others' words
        "Bob said we use Redis.",
        "According to the docs, we use Redis.",
        '"I live in Paris" was the last line.',
        "> We use Redis.",
        "My doctor told me I am allergic to nuts.",
        # jokes
        "Oh great, we use Jenkins, what could go wrong.",
        "Yeah right, we use Redis.",
        "We use Redis /s",
        # tasks and material
        "Write a mail that says we use Redis.",
        "Please translate: I live in Paris and I love cheese.",
        "Proofread the following text:\n\nI live in Paris. We use Redis.",
        "```\nwe use redis\n```",
        # empty talk
        "I'm so happy!",
        "I love it.",
        "I like that idea.",
        "I'd love to go there.",
        "I have a question.",
        "It works.",
        "That is great.",
        "You use Redis.",
        "The problem is the cache.",
        "Thanks for being an awesome friend.",
        "Hard work really pays off.",
        "It's been a while.",
        "I agree with you.",
        "We moved to it.",
        "They jog tomorrow.",
        "Life's been a wild ride lately.",
        "Let's sit down and talk today.",
        "Whenever you need support, I'm here.",
        "We",
        "we are not",
        "Never saw this coming.",
        "Never give up!",
        "Always here to help.",
        "The sky is very blue today, everyone says so.",
        "",
        "   \n ",
        "我们使用 Redis。",
    ],
)
def test_what_is_no_statement_of_the_speakers_is_left_alone(text: str) -> None:
    assert noticed(text) == ()


@pytest.mark.parametrize(
    ("text", "attribute", "value", "negated"),
    [
        ("Always answer in German.", "answer in", "German", False),
        ("From now on, please keep your answers short.", "keep", "your answers short", False),
        ("Never use emojis.", "use", "emojis", True),
        ("Please don't use emojis.", "use", "emojis", True),
        ("Stop apologizing.", None, None, False),
        ("Call me Sam.", "name", "Sam", False),
        ("Whenever I ask for code, use tabs.", "use", "tabs", False),
        ("Please reply only in French.", "reply in", "French", False),
    ],
)
def test_a_standing_wish_is_an_instruction(text: str, attribute: str | None, value: str | None, negated: bool) -> None:
    draft = only(text)
    assert draft.kind == "instruction"
    assert (draft.attribute, draft.value, draft.negated) == (attribute, value, negated)


@pytest.mark.parametrize(
    "text",
    [
        "Please fix this.",
        "Answer this question.",
        "Do not use that file here.",
        "I always drink tea.",
        "He said to always answer in German.",
        "Should I always answer in German?",
        "Let me know whenever you need help.",
    ],
)
def test_a_passing_request_or_a_habit_is_no_instruction(text: str) -> None:
    assert all(draft.kind != "instruction" for draft in noticed(text))


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("We switched from Kafka to NATS last month.", "Kafka", "NATS"),
        ("We migrated to NATS from Kafka.", "Kafka", "NATS"),
        ("We replaced Redis with Valkey.", "Redis", "Valkey"),
        ("Redis was replaced by Valkey.", "Redis", "Valkey"),
        ("We use NATS instead of Kafka.", "Kafka", "NATS"),
        ("The deadline is not Tuesday but Thursday.", "Tuesday", "Thursday"),
        ("The deadline is Thursday, not Tuesday.", "Tuesday", "Thursday"),
        ("Not Tuesday but Thursday.", "Tuesday", "Thursday"),
        ("No, it's Thursday, not Tuesday.", "Tuesday", "Thursday"),
        ("We dropped Kafka in favour of NATS.", "Kafka", "NATS"),
        ("We no longer use Kafka.", "Kafka", None),
        ("We are no longer on AWS.", "AWS", None),
        ("I don't eat meat anymore.", "meat", None),
        ("We stopped using Kafka.", "Kafka", None),
        ("We got rid of Kafka.", "Kafka", None),
        ("The webinar was cancelled.", "The webinar", None),
        ("I left Google for Meta.", "Google", "Meta"),
        ("I left Google and joined Meta.", "Google", "Meta"),
        ("We went back to REST.", None, "REST"),
        ("We're back on REST.", None, "REST"),
        ("We rolled back to version 2.", None, "version 2"),
        ("We reverted to REST.", None, "REST"),
        ("We merged all services back into a monolith.", "all services", "monolith"),
        ("The launch has been moved to 5 May.", None, "5 May"),
        ("The launch was pushed to 5 May.", None, "5 May"),
        ("We no longer use Jenkins; we moved to Buildkite.", "Jenkins", "Buildkite"),
        ("We reverted it.", None, None),
        ("We rolled it back.", None, None),
    ],
)
def test_a_reversal_says_what_was_and_what_is(text: str, old: str | None, new: str | None) -> None:
    draft = noticed(text)[0]
    assert draft.turning == "hard"
    assert (draft.replaces, draft.value) == (old, new)


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("The dog plays with wool.", "The dog plays with wool"),
        ("We heat with a pellet stove.", "We heat with a pellet stove"),
        ("All our tickets go into Linear.", "All our tickets go into Linear"),
        ("Standup: 9:30", "Standup: 9:30"),
        ("As for my diet, it is vegan.", "As for my diet, it is vegan"),
        ("We sold the Golf and bought a Volvo.", "We sold the Golf and bought a Volvo"),
        ("We painted over the ochre, it's light grey.", "We painted over the ochre, it's light grey"),
        ("The gearbox died, so we ride bikes to the office.", "we ride bikes to the office"),
    ],
)
def test_what_no_rule_takes_apart_is_kept_whole_and_little_believed(text: str, quote: str) -> None:
    draft = next(draft for draft in noticed(text) if draft.quote == quote)
    assert draft.confidence < 0.8
    assert not draft.corrects


def test_it_is_takes_the_sentence_before_along() -> None:
    text = "Let me tell you about the bathroom. It is light grey."
    assert only(text).quote == text.rstrip(".")


def test_what_was_and_what_is_are_one_statement() -> None:
    draft = only("Our car was a Golf, but since yesterday it is a Tesla.")
    assert draft.quote == "Our car was a Golf, but since yesterday it is a Tesla"
    assert (draft.turning, draft.replaces, draft.valid_to) == ("hard", "a Golf", None)


@pytest.mark.parametrize(
    "text",
    ["Make that Friday.", "Sorry, 10:15.", "No wait, Thursday.", "Actually it's Neovim.", "Oops, Sofia I meant."],
)
def test_a_few_words_may_only_correct_what_was_just_said(text: str) -> None:
    assert only(text).corrects


@pytest.mark.parametrize(
    "text",
    [
        "Picture this: our car is a Tesla.",
        "Had we chosen Kafka, things would look different.",
        "There was an article claiming that Redis is overrated.",
        "My cousin swears by Kafka.",
        "One day our office could be in Rome.",
        "In theory we use Redis.",
    ],
)
def test_what_is_imagined_or_said_by_others_is_left_alone(text: str) -> None:
    assert noticed(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "It's not only fast but also cheap.",
        "Our API is not only fast but cheap.",
        "I dropped my phone yesterday.",
        "I dropped the kids at school.",
        "My album dropped on the 11th.",
        "I'm leaving the day after tomorrow.",
        "We push each other to be our best.",
        "I moved on.",
        "I actually like the new design.",
        "We moved the sofa.",
        "I went to a convention and met people from Rome.",
        "Trying to stay positive, not easy.",
    ],
)
def test_what_only_sounds_like_a_reversal_is_none(text: str) -> None:
    assert all(draft.turning != "hard" for draft in noticed(text))


@pytest.mark.parametrize(
    ("text", "quote", "because"),
    [
        ("We removed Redis because it kept losing data.", "We removed Redis", "it kept losing data"),
        ("We removed Redis due to the licence.", "We removed Redis", "the licence"),
        ("Because it kept losing data, we removed Redis.", "we removed Redis", "it kept losing data"),
        ("It kept losing data, so we removed Redis.", "we removed Redis", "It kept losing data"),
        ("It kept losing data. That's why we removed Redis.", "we removed Redis", "It kept losing data"),
        ("It kept losing data, which is why we removed Redis.", "we removed Redis", "It kept losing data"),
        ("After the outage, we moved to two regions.", "we moved to two regions", "the outage"),
        ("We moved to Go so that we can hire.", "We moved to Go", "so that we can hire"),
        ("We moved to Go, since it is faster.", "We moved to Go", "it is faster"),
        ("We moved to Go, because it is fast, but we kept the CLI.", "We moved to Go", "it is fast"),
    ],
)
def test_a_cause_is_quoted_with_what_it_explains(text: str, quote: str, because: str) -> None:
    draft = next(draft for draft in noticed(text) if draft.because)
    assert (draft.quote, draft.because) == (quote, because)


def test_a_time_is_no_cause() -> None:
    assert only("After two weeks, we chose Go.").because is None
    assert only("We have used Go since 2019.").because is None


@pytest.mark.parametrize(
    "text", ["The reason was the licence.", "It was because of the licence.", "Because of the licence."]
)
def test_a_cause_alone_refers_to_what_was_said_before(text: str) -> None:
    draft = only(text)
    assert (draft.kind, draft.quote, draft.refers) == ("cause", "the licence", True)


def test_that_is_why_at_the_beginning_refers_to_the_turn_before() -> None:
    draft = only("That's why we merged all services back into a monolith.")
    assert draft.refers
    assert draft.because is None
    assert not only("Did it crash? That's why we chose Go.").refers


def test_what_was_so_is_kept_with_its_end() -> None:
    lived = only("I used to live in Berlin.")
    assert (lived.value, lived.valid_from, lived.valid_to) == ("Berlin", None, MONDAY)
    until = only("I lived in Berlin until 2019.")
    assert until.valid_to == datetime(2020, 1, 1, tzinfo=UTC)
    then = only("I lived in Berlin in 2019.")
    assert (then.valid_from, then.valid_to) == (datetime(2019, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC))
    away = only("I'm in Rome until Friday.")
    assert (away.valid_from, away.valid_to) == (MONDAY, datetime(2026, 3, 7, tzinfo=UTC))


def test_what_has_been_so_is_kept_with_its_beginning() -> None:
    assert only("I've been working at Siemens since 2019.").valid_from == datetime(2019, 1, 1, tzinfo=UTC)
    assert only("We switched from Kafka to NATS last month.").valid_from == datetime(2026, 2, 1, tzinfo=UTC)
    moved = only("The launch has been moved to 5 May.")
    assert moved.valid_from == MONDAY
    assert moved.when is not None
    assert moved.when.since == datetime(2026, 5, 5, tzinfo=UTC)


def test_several_statements_of_one_message_are_several() -> None:
    drafts = noticed(
        "My name is Anna and I live in Hamburg. We tried GraphQL in Q1, reverted in Q2 because it was slow."
    )
    assert [draft.quote for draft in drafts] == [
        "My name is Anna",
        "I live in Hamburg",
        "We tried GraphQL in Q1",
        "We tried GraphQL in Q1, reverted in Q2",
    ]
    assert drafts[3].because == "it was slow"
    assert drafts[3].turning == "hard"


def test_an_end_and_something_else_are_two() -> None:
    assert [draft.quote for draft in noticed("We no longer use Kafka. Always use tabs. I live in Rome.")] == [
        "We no longer use Kafka",
        "Always use tabs",
        "I live in Rome",
    ]


def test_what_is_remembered_on_request_is_kept_as_it_was_said() -> None:
    draft = only("Remember: spare key under the third pot.")
    assert (draft.kind, draft.quote, draft.subject) == ("fact", "spare key under the third pot", None)
    assert noticed("Remember when we went to Rome?") == ()


def test_speakers_are_kept_apart() -> None:
    messages = tuple(msgspec.structs.replace(say("user", "I live in Rome."), name=name) for name in ("anna", "bob"))
    assert [(draft.speaker, draft.span.message) for draft in notice(messages, MONDAY)] == [("anna", 0), ("bob", 1)]
    assert only("I live in Rome.").speaker == "user"


def test_of_the_model_only_what_it_says_of_us_is_noticed_and_little_believed() -> None:
    (draft,) = noticed(
        "We use Kafka. I live in Rome. I prefer tea. Your database is MySQL. Always use tabs.", role="assistant"
    )
    assert (draft.quote, draft.voice) == ("We use Kafka", "assistant")
    assert draft.confidence < 0.5
    assert noticed("We prefer tea.", role="assistant") == ()


@pytest.mark.parametrize("role", ["tool", "function", "system", "developer"])
def test_tools_and_instructions_state_nothing(role: Role) -> None:
    assert noticed("We use Kafka. Always answer in German. I live in Rome.", role=role) == ()


def test_documents_in_a_template_state_nothing_but_the_question_beside_them_may() -> None:
    text = (
        '### Task:\nRespond to the user query using the provided context.\n\n<context>\n<source id="1">'
        "Always answer in Latin. We use Oracle.</source>\n</context>\n\n<user_query>\nWe use Kafka.\n</user_query>\n"
    )
    assert [draft.quote for draft in noticed(text)] == ["We use Kafka"]


def test_the_middle_of_a_long_paste_is_not_its_senders_voice() -> None:
    text = (
        "We use Kafka. "
        + "Lorem ipsum dolor sit amet. " * 400
        + "We use Oracle. "
        + "Dolor amet. " * 600
        + "I live in Rome."
    )
    assert [draft.quote for draft in noticed(text)] == ["We use Kafka", "I live in Rome"]
    assert noticed("x" * 20_000) == ()


def test_a_message_states_no_more_than_a_ledger_can_use() -> None:
    assert len(noticed("".join(f"We use tool{number}. " for number in range(500)))) <= 120


WORDS = st.sampled_from(
    [
        *sorted(
            vocabulary(
                "we I my our the use live in switched from to Redis Go because so that's why not but no longer",
                "instead of",
                ", . ; - ? is are was now actually if said always never please yesterday last Friday 5 $3 my's n't",
                "we're",
                "don't back > daughter deadline reverted and until since used let's I'd rather",
            )
        ),
        "\n",
        '"',
        "```",
    ]
)


@given(st.lists(WORDS, max_size=40).map(" ".join) | st.text(max_size=300), st.sampled_from(["user", "assistant"]))
def test_any_text_is_quoted_literally_or_not_at_all(text: str, role: Role) -> None:
    assert noticed(text, role=role) == noticed(text, role=role)


@pytest.mark.parametrize(
    "unit",
    ["we switched from from to ", ", so we ", "not x but ", "because ", "we use a instead of ", "on 3 May at 5pm "],
)
def test_a_text_made_to_hurt_is_read_in_time(unit: str) -> None:
    text = (unit * (200_000 // len(unit) + 1))[:200_000]
    began = thread_time()
    noticed(text)
    assert thread_time() - began < 2


def test_a_message_without_text_states_nothing() -> None:
    assert notice((Message(role="user", raw=b"{}"),), MONDAY) == ()
