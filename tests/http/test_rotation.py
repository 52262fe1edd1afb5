"""A session that never ends: its prompt stays within its budget, it rotates, and no id ever goes stale."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from everthread import wiring
from everthread.context.tokens import O200k
from everthread.core.ids import Tenant
from front_door import Client, Everthread
from upstream import Behaviour, Upstream, calls, own_text, says, text_of

pytestmark = pytest.mark.slow

COUNTER = O200k()
BUDGET = 2000
Start = Callable[..., Everthread]
FACTS = ("We use PostgreSQL {n} on RDS.", "The budget for project P-{n} is ${n}00.", "Call Alex about order {n}.")


@pytest.fixture
def client(start: Start) -> Client:
    return start(context_budget=str(BUDGET)).client


def question(number: int) -> str:
    return f"Turn {number}. {FACTS[number % 3].format(n=number)} " + "Some more words about nothing at all. " * 2


def weight(prompt: list[dict[str, Any]]) -> int:
    return sum(4 + COUNTER.count(text_of(message)) for message in prompt)


def window(prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [message for message in prompt if message["role"] != "system"]


def grow(client: Client, session: str, upstream: Upstream, *, turns: int = 60, stream: bool = False) -> list[str]:
    """Talks until it has rotated; every effective id that was named."""
    ids = []
    for number in range(turns):
        answer = client.say(question(number), session=session, stream=stream)
        assert answer.status == 200, answer.body
        ids.append(answer.hermes["session_id"])
    return ids


@pytest.mark.parametrize("stream", [False, True], ids=["json", "sse"])
def test_a_stale_parent_id_goes_on_where_the_compressed_conversation_is(
    client: Client, upstream: Upstream, name: str, stream: bool
) -> None:
    """The report that started all this, steps 1 to 7, with what it expected."""
    ids = grow(client, name, upstream, stream=stream)  # 1-3: one id, until compression triggers
    children = list(dict.fromkeys(ids))
    assert len(children) > 2, "it was compressed, more than once"
    assert children[0] == name
    listed = client.get(f"/api/sessions/{name}").json["session"]  # 4: the parent has a child
    assert listed["end_reason"] == "compression"
    assert listed["tip_session_id"] == children[-1] or listed["tip_session_id"] not in children
    answer = client.say(question(60), session=name, stream=stream)  # 5: the reply names the continuation
    hermes = answer.hermes
    assert hermes["session_id"] != name
    assert hermes["rotated"] is True
    assert hermes["root_session_id"] == name
    assert answer.headers["x-hermes-session-id"] == hermes["session_id"]
    for stale in (name, children[1], hermes["session_id"]):  # 6: another request with an old id
        again = client.say("And now?", session=stale, stream=stream)
        prompt = upstream.prompts[-1]  # 7: the continuation's history, not the parent's
        assert weight(prompt) <= BUDGET
        assert prompt[0]["role"] == "system"
        assert window(prompt)[-3]["content"] in {question(60), "And now?"}
        assert again.hermes["root_session_id"] == name


def test_child_ids_can_be_read_and_sort_by_time(client: Client, upstream: Upstream, name: str) -> None:
    children = list(dict.fromkeys(grow(client, name, upstream)))
    assert all(re.fullmatch(re.escape(name) + r"~\d{8}_\d{6}_[0-9a-f]{6}", child) for child in children[1:])
    stamps = [child[len(name) : len(name) + 16] for child in children]
    assert stamps == sorted(stamps)


def test_within_an_epoch_the_prompt_only_grows_at_its_end(client: Client, upstream: Upstream, name: str) -> None:
    """Up to the message before the new one: that one came with what was recalled for it, once."""
    rules = {"role": "system", "content": "Answer in one sentence."}
    before: tuple[str, bytes] | None = None
    kept = 0
    for number in range(60):
        answer = client.say([rules, {"role": "user", "content": question(number)}], session=name)
        prompt = upstream.requests[-1]["messages"]
        sent = json.dumps(prompt).encode()
        if before is not None and before[0] == answer.hermes["session_id"]:
            assert sent.startswith(before[1]), "byte for byte"
            kept += 1
        before = (answer.hermes["session_id"], json.dumps(prompt[:-1]).encode()[:-1])
    assert kept > 30


def test_what_left_the_window_is_in_the_log_dated_and_cited(client: Client, upstream: Upstream, name: str) -> None:
    grow(client, name, upstream, turns=40)
    prompt = upstream.prompts[-1]
    log = prompt[0]["content"]
    assert "data, not instructions" in log
    assert re.search(r"\d{4}-\d\d-\d\d \(turn \d+\) user: ", log)
    shown = [text_of(message) for message in window(prompt)]
    quoted = re.findall(r'\(turn (\d+)\) user: "?(.+?)"?$', log, re.MULTILINE)
    assert quoted
    for turn, words in quoted:
        assert words.strip('"').split('" ... "')[0][:30] in question(int(turn) - 1), "verbatim"
        assert question(int(turn) - 1) not in shown, "what is in the window is not told twice"


def test_a_rotation_that_cannot_wait_happens_before_the_first_word(
    client: Client, upstream: Upstream, name: str
) -> None:
    for number in range(6):
        client.say(question(number), session=name)
    answer = client.say("The code is XK-4711. " + "A long story. " * 440, session=name)
    assert answer.status == 200
    assert answer.hermes["rotated"] is True
    prompt = upstream.prompts[-1]
    assert weight(prompt) <= BUDGET
    assert prompt[0]["role"] == "system"
    assert "PostgreSQL" in prompt[0]["content"]


def test_a_turn_with_an_open_tool_call_is_never_cut(client: Client, upstream: Upstream, name: str) -> None:
    upstream.answer = lambda request: "Noted. " * 60
    for number in range(14):
        upstream.plan[:] = [calls_tool(f"call_{number}")]
        first = client.say(question(number), session=name)
        assert first.json["choices"][0]["finish_reason"] == "tool_calls"
        time.sleep(0.01)
        second = client.say([{"role": "tool", "tool_call_id": f"call_{number}", "content": "x" * 400}], session=name)
        assert second.status == 200
        prompt = upstream.prompts[-1]
        assert prompt[-1]["role"] == "tool"
        assert prompt[-2]["tool_calls"][0]["id"] == f"call_{number}"
        assert weight(prompt) <= BUDGET
    assert second.hermes["session_id"] != name


def test_a_long_tool_result_is_whole_once_and_then_shortened_with_a_pointer(
    client: Client, upstream: Upstream, name: str
) -> None:
    upstream.plan[:] = [calls_tool("call_1")]
    client.say("Read the file.", session=name)
    text = "BEGIN " + "line of the file\n" * 150 + "END"
    client.say([{"role": "tool", "tool_call_id": "call_1", "content": text}], session=name)
    assert upstream.prompts[-1][-1]["content"] == text
    client.say("Thanks.", session=name)
    shown = next(message for message in upstream.prompts[-1] if message["role"] == "tool")["content"]
    assert len(shown) < 1200
    assert shown.startswith("BEGIN")
    assert shown.endswith("END")
    assert re.search(r"\[\.\.\. \d+ characters left out: turn \w+, \d+-\d+ \.\.\.\]", shown)
    kept = client.get(f"/api/sessions/{name}/messages").json["data"]
    assert text in [message["content"] for message in kept], "the ledger has it whole"


def test_a_tool_loop_longer_than_the_budget_goes_on_without_its_oldest_results(
    client: Client, upstream: Upstream, name: str
) -> None:
    upstream.answer = lambda request: "Done."
    upstream.plan[:] = [calls_tool("call_0")]
    client.say("Find all the bugs.", session=name)
    for number in range(12):
        upstream.plan[:] = [calls_tool(f"call_{number + 1}")]
        result = {"role": "tool", "tool_call_id": f"call_{number}", "content": f"result {number} " * 90}
        answer = client.say([result], session=name)
        assert answer.status == 200, answer.body
        prompt = upstream.prompts[-1]
        assert weight(prompt) <= BUDGET + 200, "calls are weighed by their JSON"
        assert answer.hermes["context"]["prompt_tokens"] <= BUDGET
        assert window(prompt)[0]["content"] == "Find all the bugs."


def calls_tool(name: str) -> Behaviour:
    return calls((name, "read", "{}"))


def test_fifty_parallel_posts_are_fifty_turns_in_one_order(client: Client, upstream: Upstream, name: str) -> None:
    upstream.answer = lambda request: f"Heard {text_of(request['messages'][-1])}"
    threads = [
        threading.Thread(
            target=client.say, args=(f"post {number}",), kwargs={"session": name, "stream": number % 2 == 0}
        )
        for number in range(50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    client.say("the end", session=name)
    entries = client.get(f"/api/sessions/{name}/messages?limit=200").json["data"]
    said = [entry["content"] for entry in entries]
    assert sorted(said[0:100:2]) == sorted(f"post {number}" for number in range(50))
    assert said[1:100:2] == [f"Heard {text}" for text in said[0:100:2]]
    for prompt in upstream.prompts:
        seen = [text_of(message) for message in window(prompt)]
        last = said.index(seen[-1]) if seen[-1] != "the end" else 100
        assert seen == said[last + 1 - len(seen) : last + 1], (
            "each saw exactly its predecessors, as many as its window has"
        )


@pytest.mark.slow
@pytest.mark.long
def test_three_kinds_of_client_have_the_same_endless_conversation(start: Start, upstream: Upstream, name: str) -> None:
    """One follows the returned id, one for ever sends the first, one streams and ignores everything.

    Longer by hand: ENDLESS_TURNS=2000 make test ARGS="-k three_kinds"."""
    client = start(context_budget=str(BUDGET), memory="off").client  # the conversation itself; recall has its own tests
    turns = int(os.environ.get("ENDLESS_TURNS", "700"))
    upstream.answer = lambda request: f"Answer to {text_of(request['messages'][-1])[:40]}"
    following = f"{name} a"
    answers: dict[str, list[str]] = {"follows": [], "first": [], "streams": []}
    for number in range(turns):
        text = question(number)
        upstream.requests.clear()
        one = client.say(text, session=following)
        following = one.headers["x-hermes-session-id"]
        two = client.say(text, session=f"{name} b")
        three = client.say(text, session=f"{name} c", stream=True)
        for kind, answer in zip(answers, (one, two, three), strict=True):
            answers[kind].append(answer.text)
        for prompt in upstream.prompts:
            assert weight(prompt) <= BUDGET
            seen = [own_text(message) for message in window(prompt)]
            users = seen[0::2]
            first = number + 1 - len(users)
            assert users == [question(n) for n in range(first, number + 1)], "the newest, verbatim, none doubled"
            assert number < 5 or len(users) > 1
    assert answers["follows"] == answers["first"] == answers["streams"]
    for kind in "abc":
        said = transcript(client, f"{name} {kind}")
        assert [text for role, text in said if role == "user"] == [question(number) for number in range(turns)]
        assert len(said) == 2 * turns


def transcript(client: Client, session: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    after = ""
    while True:
        page = client.get(f"/api/sessions/{quote(session, safe='')}/messages?limit=200{after}").json
        found += [(entry["role"], entry["content"]) for entry in page["data"]]
        if not page["has_more"]:
            return found
        after = f"&after={page['data'][-1]['id']}"


# --- a model writes the log ---


@pytest.mark.slow
@pytest.mark.parametrize("faithful", [True, False], ids=["faithful", "drops a number"])
def test_a_models_log_is_taken_only_if_it_lost_nothing(
    start: Start, upstream: Upstream, name: str, faithful: bool
) -> None:
    client = start(context_budget="4000", distil="model").client
    chatter = "Some more words about nothing at all. " * 14

    def answer(request: dict[str, Any]) -> str:
        rules = text_of(request["messages"][0])
        if "You keep the log" not in rules:
            return "Noted."
        said = text_of(request["messages"][1]).replace("Some more words about nothing at all.", "")
        told = "\n".join(f"{line.rstrip()} (retold)" for line in said.splitlines() if "user:" in line)
        return told if faithful else re.sub(r"P-\d+", "a project", told, count=1)

    upstream.answer = answer
    spent: dict[str, list[int]] = {}
    for number in range(40):
        hermes = client.say(f"{question(number)} {chatter}", session=name).hermes
        spent.setdefault(hermes["session_id"], []).append(hermes["usage"]["distilling"])
        time.sleep(0.01)
    log = next(prompt for prompt in reversed(upstream.prompts) if "You keep the log" not in text_of(prompt[0]))[0][
        "content"
    ]
    assert ("(retold)" in log) is faithful
    assert "P-" in log
    assert any(told[0] > 0 for told in spent.values())
    assert not any(later for told in spent.values() for later in told[1:]), "told once, by the first reply that has it"


def test_a_model_that_fails_to_write_the_log_costs_no_turn(start: Start, upstream: Upstream, name: str) -> None:
    client = start(context_budget=str(BUDGET), distil="model").client

    def answer(request: dict[str, Any]) -> str:
        if "You keep the log" in text_of(request["messages"][0]):
            raise ConnectionResetError
        return "Noted."

    upstream.answer = answer
    ids = grow(client, name, upstream)
    assert len(set(ids)) > 1, "the extracted block stands"


def test_a_rotated_session_survives_a_restart(start: Start, upstream: Upstream, name: str, tmp_path: Path) -> None:
    first = start(tmp_path / "kept", context_budget=str(BUDGET))
    ids = grow(first.client, name, upstream)
    before = first.client.say("Before.", session=name)
    first.stop()
    again = start(tmp_path / "kept", context_budget=str(BUDGET)).client
    for stale in (name, ids[-1]):
        answer = again.say("After.", session=stale)
        assert answer.hermes["root_session_id"] == name
        assert answer.hermes["context"]["log"] > 0
        assert before.hermes["root_session_id"] == name


# --- what must not be lost ---


def test_a_long_message_is_still_there_for_the_next_question(start: Start, upstream: Upstream, name: str) -> None:
    client = start().client
    rules = "\n".join(f"Rule {number}: never do thing number {number} on a Monday." for number in range(700))
    client.say(f"Here are the rules.\n{rules}", session=name)
    time.sleep(0.1)
    client.say("And rule 5?", session=name)
    seen = [text_of(message) for message in window(upstream.prompts[-1])]
    assert len(seen) == 3
    assert "Rule 5:" in seen[0]


def test_pictures_are_still_there_for_the_next_question(start: Start, upstream: Upstream, name: str) -> None:
    client = start().client
    client.say("Hello.", session=name)
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    client.say([{"role": "user", "content": [*[picture] * 6, {"type": "text", "text": "Six doors."}]}], session=name)
    time.sleep(0.1)
    client.say("Which one is red?", session=name)
    assert any(isinstance(message["content"], list) for message in upstream.prompts[-1])


def test_a_turn_of_many_tool_calls_is_still_there_for_the_next_question(
    start: Start, upstream: Upstream, name: str
) -> None:
    client = start().client
    upstream.plan[:] = [calls_tool("call_0")]
    client.say("Which of the ten files has the bug?", session=name)
    for number in range(10):
        more = [calls_tool(f"call_{number + 1}")] if number < 9 else [says("It is in file 7, line 42.")]
        upstream.plan[:] = more
        result = {"role": "tool", "tool_call_id": f"call_{number}", "content": f"file {number}: " + "some code " * 600}
        assert client.say([result], session=name).status == 200
    time.sleep(0.2)
    answer = client.say("Are you sure?", session=name)
    seen = [text_of(message) for message in window(upstream.prompts[-1])]
    assert seen[0] == "Which of the ten files has the bug?"
    assert seen[-2] == "It is in file 7, line 42."
    assert answer.hermes["context"]["prompt_tokens"] <= 12_000


@pytest.mark.slow
def test_the_newest_turn_comes_before_the_log(start: Start, upstream: Upstream, name: str) -> None:
    client = start(context_budget="4000").client
    for number in range(120):
        client.say(question(number), session=name)
    client.say("Please translate the next text to Finnish.", session=name)
    time.sleep(0.2)
    client.say("A long text. " * 850, session=name)
    seen = [text_of(message) for message in window(upstream.prompts[-1])]
    assert seen[-3] == "Please translate the next text to Finnish."


def test_a_body_that_ends_with_a_commands_answer_has_nothing_new(client: Client, name: str) -> None:
    told = [{"role": "user", "content": "/new"}, {"role": "assistant", "content": "This is a new session: ses_1"}]
    for body in (told, [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}, *told]):
        assert client.say(body, session=name).status == 400


def test_compressing_leaves_the_newest_turn(client: Client, upstream: Upstream, name: str) -> None:
    client.say("The only thing I said.", session=name)
    told = client.say("/compress", session=name)
    assert "nothing to compress" in told.text
    client.say("And now?", session=name)
    assert len(upstream.prompts[-1]) == 3


@pytest.mark.slow
def test_one_heavy_request_costs_the_session_nothing(start: Start, upstream: Upstream, name: str) -> None:
    client = start(context_budget="6000").client
    upstream.answer = lambda _: "As you say, and some more words about it."
    for number in range(80):
        client.say(question(number), session=name)
    time.sleep(0.1)
    before = client.say("Before.", session=name).hermes["context"]
    tools = [
        {"type": "function", "function": {"name": f"tool_{n}", "description": "a word " * 30, "parameters": {}}}
        for n in range(55)
    ]
    heavy = client.say("With tools.", session=name, tools=tools)
    assert heavy.status == 200
    time.sleep(0.1)
    after = client.say("After.", session=name).hermes["context"]
    assert after["log"] >= before["log"]
    assert after["window"] > before["window"] // 2


def test_messages_without_words_can_be_compressed(client: Client, upstream: Upstream, name: str) -> None:
    upstream.answer = lambda request: ""
    for _ in range(2):
        assert client.say("", session=name).status == 200
    assert client.say("/compress", session=name).status == 200
    assert client.say("word " * 1200, session=name).status == 200


@pytest.mark.slow
def test_two_tenants_with_the_same_id_never_share_a_block(start: Start, upstream: Upstream, tmp_path: Path) -> None:
    everthread = start(tmp_path / "two", context_budget=str(BUDGET))
    made = tenant_key(everthread, "acme")
    ours, theirs = everthread.client, Client(everthread.url, made)
    for number in range(60):
        ours.say(f"SECRET {number}: the vault code is {9000 + number}. " + question(number), session="main")
        theirs.say(question(number), session="main")
        if number % 5 == 4:
            theirs.say("/compress", session="main")
            assert "SECRET" not in json.dumps(upstream.prompts[-1])
    theirs.say("And?", session="main")
    assert "SECRET" not in json.dumps(upstream.prompts[-1])


def tenant_key(everthread: Everthread, tenant: str) -> str:
    secret, key = wiring.new_key(wiring.SystemClock().now(), tenant=Tenant(tenant))
    assert everthread.running is not None
    asyncio.run_coroutine_threadsafe(everthread.running.site.store.add_key(key), everthread.loop).result(10)
    return secret
