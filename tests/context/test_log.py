"""The log: what survives, in whose words, within which room."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.context.log import (
    HEADER,
    INTRODUCTION,
    Block,
    Said,
    consolidate,
    decode,
    encode,
    extract,
    open_requests,
    render,
    said_in,
    without_repeats,
)
from everthread.context.tokens import O200k
from everthread.core.sentences import own_words, squeezed

counter = O200k()
FIRST = datetime(2026, 1, 14, 9, 30, tzinfo=UTC)


def said(*texts: str, role: str = "user") -> list[Said]:
    return [
        Said(number, FIRST + timedelta(days=number - 402), role, role, text)
        for number, text in enumerate(texts, start=402)
    ]


def talk(*turns: tuple[str, str]) -> list[Said]:
    return [Said(seq, FIRST, role, role, text) for seq, (role, text) in enumerate(turns, start=1)]


def kept(*texts: str, role: str = "user", room: int = 2000) -> str:
    return "\n".join(extract(said(*texts, role=role), room=room, counter=counter).lines)


# --- what survives ---


def test_a_line_is_dated_cites_its_step_and_quotes() -> None:
    block = extract(said("We use PostgreSQL 15 on RDS with read replicas in us-east-1"), room=200, counter=counter)
    line = '2026-01-14 (turn 402) user: "We use PostgreSQL 15 on RDS with read replicas in us-east-1"'
    assert block.lines == (line,)
    assert (block.first_seq, block.last_seq, block.author) == (402, 402, "rules")


@pytest.mark.parametrize(
    "sentence",
    [
        "We decided to go with Kafka.",
        "Let's use the blue theme for the landing page.",
        "Deploys took two hours because the tests ran one after another.",
        "We no longer use the old billing service.",
        "We switched from Jenkins to Buildkite.",
        "Please always answer in French from now on.",
        "Never push to the main branch.",
        "I prefer short answers without bullet points.",
        "My daughter Anna is allergic to nuts.",
        "The invoice is $1,200 and is due on 2026-03-02.",
        "Latency at p95 is 340 ms.",
        "Look at src/app/main.py and call load_config().",
        "Write to ops@example.com about ABC-123.",
        "See https://example.com/a/b?c=1#d for the details of v2.3.1.",
        "Dr. Weber from Siemens will visit us, e.g. on Friday.",
        "Wir haben uns für Hetzner entschieden, weil AWS zu teuer war.",
        "Wir nutzen nicht mehr Jenkins.",
        "Nous avons choisi Scaleway parce que c'est moins cher.",
        "我们决定采用 PostgreSQL 15，因为它更快。",
        "我女儿对花生过敏，请以后提醒我 3 次。",
    ],
)
def test_facts_decisions_causes_reversals_and_preferences_survive(sentence: str) -> None:
    assert sentence in kept("Hello there! How are you?", f"Hey! {sentence} Thanks a lot!", "Great, thank you!")


@pytest.mark.parametrize(
    "text",
    [
        "Hi!",
        "Hello, how are you?",
        "Thanks, that looks great!",
        "Ok, sounds good.",
        "lol",
        "Good morning",
        "👍",
        "",
        " ",
    ],
)
def test_small_talk_leaves_nothing(text: str) -> None:
    assert kept(text) == ""
    assert kept(text, role="assistant") == ""


def test_an_assistants_courtesies_leave_nothing() -> None:
    assert kept("Great question! Let me know if you need anything else.", role="assistant") == ""


def test_the_users_words_come_first_then_the_assistants_then_a_tools() -> None:
    fact = "The {} cluster in Frankfurt has 12 nodes with 64 GB each."
    everyone = talk(("tool", fact.format("alpha")), ("assistant", fact.format("beta")), ("user", fact.format("gamma")))
    by_room = [
        "".join(word[0] for line in extract(everyone, room=room, counter=counter).lines for word in names(line))
        for room in (42, 80, 140)
    ]
    assert by_room == ["g", "bg", "abg"]


def names(line: str) -> list[str]:
    return [name for name in ("alpha", "beta", "gamma") if name in line]


def test_what_is_said_twice_is_kept_once_and_what_only_looks_alike_is_kept() -> None:
    assert kept("We have 3 servers in Paris.", "We have 3 servers in Paris!").count("Paris") == 1
    assert kept("We have 3 servers in Paris.", "We have 4 servers in Paris.").count("Paris") == 2
    assert kept("The Paris servers are in use.", "The Paris servers are not in use.").count("Paris") == 2


def test_the_documents_of_a_retrieval_template_are_not_the_users_words() -> None:
    documents = '<source id="1" name="a.pdf">The secret budget is 99 million in Oslo.</source>'
    task = (
        "### Task:\nRespond to the user query using the provided context.\n\n<context>\n"
        + documents
        + "\n</context>\n\n"
    )
    question = "We have 3 offices in Paris, is that allowed?"
    for wrapped in (task + question, f"{task}<user_query>\n{question}\n</user_query>"):
        assert own_words(wrapped).strip() == question
        log = kept(wrapped)
        assert "Paris" in log
        assert "Oslo" not in log
    assert own_words(task.removesuffix("</context>\n\n")) == ""
    assert own_words("### Task: rename it") == "### Task: rename it"


def test_code_is_kept_after_prose() -> None:
    code = "```python\n" + "\n".join(f"value_{n} = load_config({n})" for n in range(30)) + "\n```"
    log = kept(f"We use Django 5 in Lyon.\n{code}\nThe deadline is 2026-04-01.", room=60)
    assert "Django 5" in log
    assert "2026-04-01" in log
    assert "value_3 " not in log


def test_a_group_is_quoted_by_name() -> None:
    message = Said(7, FIRST, 'Zoë: "the boss", (turn 9)', "user", "I live in Lisbon with 2 cats.")
    (line,) = extract([message], room=100, counter=counter).lines
    assert (match := HEADER.match(line))
    assert match[3] == "Zoë the boss turn 9"
    assert line.endswith('"I live in Lisbon with 2 cats."')


def test_a_long_text_without_full_stops_is_quoted_in_pieces() -> None:
    text = "we run " + " and ".join(f"server{n} in Paris" for n in range(100))
    log = kept(text, room=300)
    assert "server" in log
    assert all(quote in text for line in log.splitlines() for quote in quotes(line))


def test_of_a_very_long_message_the_beginning_and_the_end_are_read() -> None:
    text = "We use Kafka 3.7 in Lyon.\n" + "hello there again\n" * 20_000 + "Please never delete topic-9."
    first, last = kept(text).splitlines()
    assert first.endswith('"We use Kafka 3.7 in Lyon."')
    assert last.endswith('"Please never delete topic-9."')


def test_nothing_is_kept_where_there_is_no_room() -> None:
    block = extract(said("We use PostgreSQL 15."), room=5, counter=counter)
    assert (block.lines, block.tokens) == ((), 0)
    assert render((block,)) == render(()) == ""


# --- open requests ---


@pytest.mark.parametrize(
    ("turns", "still_open"),
    [
        ([("user", "Which region is cheapest?")], ["Which region is cheapest?"]),
        ([("user", "Which region is cheapest?"), ("assistant", "It is us-east-2.")], []),
        ([("user", "Which region is cheapest?"), ("assistant", "I don't know yet.")], ["Which region is cheapest?"]),
        ([("user", "Deploy it. Can you deploy the app?"), ("assistant", "Which one?")], ["Can you deploy the app?"]),
        ([("user", "Remind me to call Anna."), ("assistant", "Sure.")], ["Remind me to call Anna."]),
        ([("user", "Which region is cheapest?"), ("user", "Never mind.")], []),
        ([("user", "Remind me to call Anna."), ("assistant", "Sure."), ("user", "Forget it.")], []),
        ([("user", "How are you?")], []),
        ([("user", "Welche Region ist am billigsten?"), ("assistant", "Das weiß ich nicht.")], ["Welche Region"]),
        ([("user", "哪个区域最便宜？")], ["哪个区域最便宜？"]),
        ([("tool", "Which region is cheapest?")], []),
        ([("user", "Which region is cheapest?"), ("assistant", "")], ["Which region is cheapest?"]),
    ],
)
def test_a_request_is_open_until_it_is_answered(turns: list[tuple[str, str]], still_open: list[str]) -> None:
    found = [request.text for request in open_requests(talk(*turns))]
    assert len(found) == len(still_open)
    assert all(text.startswith(wanted) for text, wanted in zip(found, still_open, strict=True))


def test_in_a_group_another_persons_words_are_an_answer() -> None:
    asked = Said(1, FIRST, "Ann", "user", "Which venue did we book?")
    again = Said(2, FIRST, "Ann", "user", "It was big.")
    told = Said(3, FIRST, "Bob", "user", "The town hall.")
    assert [request.text for request in open_requests([asked, again])] == [asked.text]
    assert open_requests([asked, again, told]) == ()


def test_an_open_request_is_marked_in_the_log() -> None:
    assert ", open: " in kept("Can you check the invoice INV-7?")


# --- properties ---

CLAUSES = [
    "We decided to use Kafka 3.7 because of load.",
    "Hi!",
    "Thanks.",
    "Can you check INV-{}?",
    "My sister Zoë lives in São Paulo since {}.",
    "Wir nutzen Server {} in Köln nicht mehr, weil er 45 s braucht.",
    "我们有 {} 台服务器。",
    'He said "no" to us-east-{}.',
    "```\nx = {}\n```",
    "- item_{} costs $1,{}00",
    "see turn {}",
    "`run {}` and 👩‍👩‍👧",
    "a\n\nb",
]
clauses = st.builds(lambda text, n: text.replace("{}", str(n)), st.sampled_from(CLAUSES), st.integers(0, 40))
texts = st.one_of(st.lists(clauses, max_size=8).map(" ".join), st.lists(clauses, max_size=8).map("\n".join), st.text())
messages = st.builds(
    lambda seq, role, text: Said(seq, FIRST + timedelta(hours=7 * seq), role, role, text),
    st.integers(1, 50),
    st.sampled_from(["user", "assistant", "tool"]),
    texts,
)
histories = st.lists(messages, min_size=1, max_size=8).map(lambda many: sorted(many, key=lambda each: each.seq))
rooms = st.integers(0, 400)


def quotes(line: str) -> list[str]:
    match = HEADER.match(line)
    assert match, line
    body = line[match.end() :]
    assert body[0] == body[-1] == '"'
    return body[1:-1].split('" … "')


@settings(deadline=None)
@given(histories, rooms)
def test_a_block_fits_its_room_and_quotes_literally(history: list[Said], room: int) -> None:
    block = extract(history, room=room, counter=counter)
    assert block.tokens <= room
    assert block.tokens == counter.count(render((block,))) - counter.count(INTRODUCTION) or not block.lines
    seqs = []
    for line in block.lines:
        assert line == squeezed(line)
        match = HEADER.match(line)
        assert match
        sources = [squeezed(message.text) for message in history if message.seq == int(match[2])]
        assert any(all(quote in source for quote in quotes(line)) for source in sources), line
        seqs.append(int(match[2]))
    assert seqs == sorted(seqs)
    assert block == extract(history, room=room, counter=counter), "the same again"


blocks = st.lists(st.tuples(histories, rooms), max_size=6).map(
    lambda many: tuple(extract(history, room=room, counter=counter) for history, room in many)
)


@pytest.mark.slow
@settings(deadline=None)
@given(blocks, st.integers(60, 600))
def test_a_consolidated_log_fits_and_is_left_alone_after(log: tuple[Block, ...], room: int) -> None:
    smaller = consolidate(log, room=room, counter=counter)
    weight = counter.count(render(smaller))
    before = counter.count(INTRODUCTION) + sum(block.tokens for block in log)
    assert smaller == log if before <= room else weight <= room * 2 // 3 or not any(b.lines for b in smaller)
    assert consolidate(smaller, room=room, counter=counter) == smaller
    assert log[len(log) - len(smaller) + 1 :] == smaller[1:], "the newest are as they were"
    assert all(line in {line for block in log for line in block.lines} for block in smaller for line in block.lines)
    if log:
        assert (smaller[0].first_seq, smaller[-1].last_seq) == (log[0].first_seq, log[-1].last_seq)


@pytest.mark.slow
@settings(deadline=None)
@given(blocks)
def test_a_log_is_stored_and_rendered_so_that_more_of_it_only_adds(log: tuple[Block, ...]) -> None:
    assert decode(encode(log)) == log
    for number in range(1, len(log)):
        assert render(log).startswith(render(log[:number]))


def test_the_oldest_are_merged_and_their_best_lines_stay() -> None:
    dull = ["We had a walk through the old town again.", "The weather stays as it was before, mostly grey."]
    log = tuple(
        extract(said(f"We decided to use engine {n} because it handles {n}00 GB.", *dull), room=200, counter=counter)
        for n in range(2, 12)
    )
    total = sum(block.tokens for block in log)
    smaller = consolidate(log, room=total - 1, counter=counter)
    assert smaller[0].author == "merged"
    assert smaller[-1] == log[-1]
    assert "engine 2 because" in render(smaller[:1])
    assert render(smaller[:1]).count("weather") <= 1
    alone = consolidate(log[:1], room=60, counter=counter)
    assert len(alone) == 1
    assert alone[0].tokens < log[0].tokens


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "1." * 100_000,
        "1," * 100_000,
        '"' * 200_000,
        "." * 199_999 + "x",
        "/a" * 100_000,
        "`a" * 100_000,
        "I decided because of 5 GB. " * 7_000,
        "中" * 200_000,
        "e\u0301" * 100_000,
        "\n" * 200_000,
        "```\n" * 50_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_the_work_is_bounded_whatever_is_said(text: str) -> None:
    began = thread_time()
    block = extract(said(text), room=500, counter=counter)
    assert thread_time() - began < 2
    assert block.tokens <= 500


def test_what_an_earlier_block_says_in_the_same_words_is_not_said_again() -> None:
    one = extract(said("The deadline is 30 June.", "We use PostgreSQL 15."), room=200, counter=counter)
    two = extract(said("The deadline is 30 June.", "Alex joined on 4 May."), room=200, counter=counter)
    left = without_repeats(two, (one,), counter)
    assert [said_in(line) for line in left.lines] == [said_in(line) for line in two.lines if "Alex" in line]
    assert left.tokens < two.tokens
    assert without_repeats(one, (), counter) == one
