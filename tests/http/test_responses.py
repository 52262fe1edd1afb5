"""POST /v1/responses: a turn like any other, and the same turn to look at again."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_runs import settled

from everthread.http import reply
from front_door import Answer, Client, Everthread
from upstream import USAGE, Upstream, calls, chunk, cuts, sleeps, status, streams

PATH = "/v1/responses"


def ask(client: Client, given: Any, *, session: str | None = None, key: str | None = None, **more: Any) -> Answer:
    headers = {}
    if session is not None:
        headers["X-Hermes-Session-Id"] = session
    if key is not None:
        headers["X-Hermes-Session-Key"] = key
    return client.send("POST", PATH, json.dumps({"input": given, **more}).encode(), headers)


def text(answer: Answer) -> str:
    assert answer.status == 200, answer.body
    parts = [part for item in answer.json["output"] if item["type"] == "message" for part in item["content"]]
    return "".join(part["text"] for part in parts)


def told(answer: Answer) -> list[dict[str, Any]]:
    """The events of a stream, without [DONE]."""
    assert answer.events[-1] == "[DONE]", answer.body
    return list(answer.events[:-1])


def words(prompt: list[dict[str, Any]]) -> list[str]:
    return [str(message["content"]) for message in prompt]


# --- going on ---


def test_a_response_goes_on_from_the_one_before_it(client: Client, upstream: Upstream) -> None:
    first = ask(client, "My name is Alex.")
    second = ask(client, "Who am I?", previous_response_id=first.json["id"])
    assert "I know Alex" in text(second)
    assert second.json["previous_response_id"] == first.json["id"]
    assert [message["role"] for message in upstream.prompts[-1]] == ["user", "assistant", "user"]


def test_two_responses_from_one_are_two_conversations(client: Client, upstream: Upstream) -> None:
    root = ask(client, "My name is Alex.").json["id"]
    left = ask(client, "My cat is called Tom.", previous_response_id=root).json["id"]
    right = ask(client, "My dog is called Rex.", previous_response_id=root).json["id"]
    assert "I know Alex, Tom." in text(ask(client, "Names?", previous_response_id=left))
    assert "I know Alex, Rex." in text(ask(client, "Names?", previous_response_id=right))
    third = ask(client, "My fish is called Bob.", previous_response_id=left)
    assert "I know Alex, Tom, Bob." in text(third)  # left was gone on with already: another branch of it
    assert "I know Alex, Tom." in text(ask(client, "And?", previous_response_id=left))


def test_a_response_made_in_a_session_is_continued_by_chat_and_the_other_way_round(client: Client, name: str) -> None:
    response = ask(client, "My name is Alex.", session=name)
    assert response.headers["x-hermes-session-id"] == name
    assert response.json["hermes"]["session_id"] == name
    assert "I know Alex" in client.say("Who am I?", session=name).text
    client.say("My cat is called Tom.", session=name)
    assert "I know Alex, Tom." in text(ask(client, "Names?", session=name))
    completion = client.say("My dog is called Rex.", session=name).json["id"]
    later = ask(client, "Names?", session=name)
    assert "Alex, Tom, Rex" in text(later)
    assert client.get(f"/api/sessions/{name}/messages").json["data"][0]["content"] == "My name is Alex."
    assert completion.startswith("chatcmpl-")


def test_both_session_headers_work_as_on_chat(client: Client, name: str) -> None:
    key = f"key:{name}"
    first = ask(client, "My name is Alex.", session=f"{name}-1", key=key)
    assert first.headers["x-hermes-session-key"] == key
    assert first.json["hermes"]["session_key"] == key
    other = ask(client, "Hello.", session=f"{name}-1", key="another")
    assert (other.status, other.json["error"]["code"]) == (409, "session_key_mismatch")


def test_a_previous_response_of_another_session_is_a_400(client: Client, name: str) -> None:
    theirs = ask(client, "My name is Alex.", session=f"{name}-a").json["id"]
    ask(client, "Hello.", session=f"{name}-b")
    refused = ask(client, "Who am I?", session=f"{name}-b", previous_response_id=theirs)
    assert (refused.status, refused.json["error"]["param"]) == (400, "previous_response_id")
    taken = ask(client, "Who am I?", session=f"{name}-a", previous_response_id=theirs)
    assert "I know Alex" in text(taken)


@pytest.mark.parametrize("previous", ["resp_0", "resp_nope", "chatcmpl-1", "resp_", "x" * 300])
def test_a_previous_response_that_is_not_there_says_so(client: Client, previous: str) -> None:
    refused = ask(client, "Hello.", previous_response_id=previous)
    assert (refused.status, refused.json["error"]["code"]) == (400, "previous_response_not_found")
    assert refused.json["error"]["param"] == "previous_response_id"


def test_instructions_are_not_carried_over_and_system_items_are(client: Client, upstream: Upstream) -> None:
    first = ask(
        client,
        [{"role": "developer", "content": "Speak like a pirate."}, {"role": "user", "content": "Hello."}],
        instructions="Be brief.",
    )
    assert words(upstream.prompts[-1])[:2] == ["Be brief.", "Speak like a pirate."]
    second = ask(client, "And now?", previous_response_id=first.json["id"])
    assert second.json["instructions"] is None
    system = [message for message in upstream.prompts[-1] if message["role"] in {"system", "developer"}]
    assert words(system) == ["Speak like a pirate."]
    ask(client, "And now?", previous_response_id=second.json["id"], instructions="Sing.")
    assert words(upstream.prompts[-1])[:2] == ["Speak like a pirate.", "Sing."]


def test_nothing_is_left_of_a_response_that_is_not_stored(
    start: Callable[..., Everthread], upstream: Upstream, tmp_path: Path
) -> None:
    server = start(tmp_path / "home")
    base = ask(server.client, "My name is Alex.").json["id"]
    answer = ask(server.client, "The password is xyzzyplugh.", store=False, previous_response_id=base)
    assert "I know Alex" in text(answer)
    assert answer.json["store"] is False
    assert server.client.get(f"{PATH}/{answer.json['id']}").status == 404
    assert ask(server.client, "More.", previous_response_id=answer.json["id"]).status == 400
    ask(server.client, "Who am I?", previous_response_id=base)
    assert len(upstream.prompts[-1]) == 3
    for streamed in (False, True):
        ask(server.client, "Say xyzzyplugh.", store=False, stream=streamed, conversation="free name")
    assert server.client.get("/v1/conversations/free%20name").status == 404
    server.stop()
    for file in (tmp_path / "home").rglob("*"):
        assert not file.is_file() or b"xyzzyplugh" not in file.read_bytes(), file


# --- what is sent and shown ---


def test_a_function_call_goes_to_the_client_and_its_output_continues_the_turn(
    client: Client, upstream: Upstream
) -> None:
    upstream.plan.append(calls(("call_1", "weather", '{"city":"Oslo"}'), ("call_2", "time", "{}")))
    tool = {"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": True}
    first = ask(client, "Weather in Oslo?", tools=[tool, {**tool, "name": "time"}])
    items = [item for item in first.json["output"] if item["type"] == "function_call"]
    assert [(item["call_id"], item["name"], item["arguments"]) for item in items] == [
        ("call_1", "weather", '{"city":"Oslo"}'),
        ("call_2", "time", "{}"),
    ]
    assert upstream.requests[-1]["tools"][0]["function"]["name"] == "weather"
    outputs = [
        {"type": "function_call_output", "call_id": "call_1", "output": "rain"},
        {"type": "function_call_output", "call_id": "call_2", "output": "noon"},
    ]
    second = ask(client, outputs, previous_response_id=first.json["id"], tools=[tool])
    assert second.status == 200
    roles = [message["role"] for message in upstream.prompts[-1]]
    assert roles == ["user", "assistant", "tool", "tool"]
    unknown = [{"type": "function_call_output", "call_id": "call_9", "output": "?"}]
    refused = ask(client, unknown, previous_response_id=first.json["id"])
    assert (refused.status, refused.json["error"]["param"]) == (400, "input")
    assert "call_9" in refused.json["error"]["message"]


def test_an_item_can_be_named_instead_of_sent(client: Client, upstream: Upstream) -> None:
    first = ask(client, "My name is Alex.")
    said = client.get(f"{PATH}/{first.json['id']}/input_items").json["data"][0]["id"]
    again = [
        {"type": "item_reference", "id": said},
        {"type": "item_reference", "id": first.json["output"][0]["id"]},
        {"role": "user", "content": "Who am I?"},
    ]
    assert "I know Alex" in text(ask(client, again))
    assert [message["role"] for message in upstream.prompts[-1]] == ["user", "assistant", "user"]
    missing = ask(client, [{"type": "item_reference", "id": "msg_nope_0"}, {"role": "user", "content": "?"}])
    assert (missing.status, missing.json["error"]["param"]) == (404, "input")


def test_an_answer_that_was_cut_off_is_incomplete(client: Client, upstream: Upstream) -> None:
    upstream.plan.append(
        streams(chunk({"role": "assistant", "content": "It was"}), chunk({}, "length"), USAGE, "[DONE]")
    )
    answer = ask(client, "Tell me a story.", max_output_tokens=16)
    assert upstream.requests[-1]["max_completion_tokens"] == 16
    assert answer.json["status"] == "incomplete"
    assert answer.json["incomplete_details"] == {"reason": "max_output_tokens"}
    assert client.get(f"{PATH}/{answer.json['id']}").json["status"] == "incomplete"


def test_what_it_was_asked_with_is_shown_again(client: Client) -> None:
    asked = {
        "instructions": "Be brief.",
        "metadata": {"project": "x"},
        "temperature": 0.5,
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True}],
        "text": {"format": {"type": "json_object"}},
        "reasoning": {"effort": "low"},
        "truncation": "auto",
        "safety_identifier": "u1",
    }
    made = ask(client, "Hello.", **asked).json
    kept = client.get(f"{PATH}/{made['id']}").json
    for field, value in asked.items():
        shown = kept[field]
        if isinstance(value, dict):
            assert {name: shown[name] for name in value} == value, field
        elif field == "tools":
            assert shown[0]["name"] == "f"
        else:
            assert shown == value, field
    assert kept == made
    assert "user" not in kept


def test_the_input_is_listed_in_pages(client: Client, name: str) -> None:
    given = [{"role": "user", "content": f"part {number}"} for number in range(5)]
    made = ask(client, given, session=name).json["id"]
    page = client.get(f"{PATH}/{made}/input_items?limit=2&order=asc").json
    assert [item["content"][0]["text"] for item in page["data"]] == ["part 0", "part 1"]
    assert page["has_more"]
    rest = client.get(f"{PATH}/{made}/input_items?limit=9&order=asc&after={page['last_id']}").json
    assert [item["content"][0]["text"] for item in rest["data"]] == ["part 2", "part 3", "part 4"]
    assert not rest["has_more"]
    assert client.get(f"{PATH}/{made}/input_items").json["data"][0]["content"][0]["text"] == "part 4"
    assert client.get(f"{PATH}/{made}/input_items?limit=0").status == 400
    assert client.get(f"{PATH}/{made}/input_items?after=nope").status == 400


def test_a_history_that_came_with_the_first_request_is_part_of_its_input(client: Client) -> None:
    given = [
        {"role": "user", "content": "My name is Alex."},
        {"role": "assistant", "content": "Hello Alex."},
        {"role": "user", "content": "Who am I?"},
    ]
    made = ask(client, given)
    assert "I know Alex" in text(made)
    listed = client.get(f"{PATH}/{made.json['id']}/input_items?order=asc").json["data"]
    assert [item["content"][0]["text"] for item in listed] == ["My name is Alex.", "Hello Alex.", "Who am I?"]


def test_the_tokens_of_a_prompt_are_counted_without_asking(client: Client, upstream: Upstream) -> None:
    first = ask(client, "My name is Alex.").json["id"]
    asked = len(upstream.requests)
    alone = client.post(f"{PATH}/input_tokens", {"input": "Who am I?"}).json
    more = client.post(f"{PATH}/input_tokens", {"input": "Who am I?", "previous_response_id": first}).json
    assert alone["object"] == "response.input_tokens"
    assert 0 < alone["input_tokens"] < more["input_tokens"]
    assert len(upstream.requests) == asked


# --- streams ---


def test_the_events_come_in_their_order_and_can_be_heard_again_from_any_number(client: Client) -> None:
    streamed = ask(client, "My name is Alex.", stream=True)
    events = told(streamed)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    kinds = [event["type"] for event in events]
    assert kinds[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert kinds[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert set(kinds[4:-4]) == {"response.output_text.delta"}
    assert events[-1]["response"]["hermes"]["session_id"] == streamed.headers["x-hermes-session-id"]
    path = f"{PATH}/{events[0]['response']['id']}?stream=true"
    assert told(client.get(path)) == events
    for number in (0, 3, len(events) - 2, len(events) + 5):
        assert told(client.get(f"{path}&starting_after={number}")) == events[number + 1 :]
    assert client.get(f"{path}&starting_after=x").status == 400


def test_thoughts_words_and_calls_are_told_again_as_they_came(client: Client, upstream: Upstream) -> None:
    upstream.plan.append(
        streams(
            chunk({"role": "assistant", "reasoning_content": "Hm, "}),
            chunk({"reasoning_content": "well."}),
            chunk({"content": "Let me "}),
            chunk({"content": "see."}),
            chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": '{"a"'}}]}),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}),
            chunk({"tool_calls": [{"index": 1, "id": "c2", "function": {"name": "g", "arguments": "{}"}}]}),
            chunk({}, "tool_calls"),
            USAGE,
            "[DONE]",
        )
    )
    tools = [{"type": "function", "name": each, "parameters": {"type": "object"}} for each in "fg"]
    events = told(ask(client, "Think.", stream=True, tools=tools))
    made = events[-1]["response"]
    assert [item["type"] for item in made["output"]] == ["reasoning", "message", "function_call", "function_call"]
    assert told(client.get(f"{PATH}/{made['id']}?stream=true")) == events
    assert client.get(f"{PATH}/{made['id']}").json == made


def test_thoughts_are_sealed_in_every_form_for_who_wants_to_send_them_back(client: Client, upstream: Upstream) -> None:
    thinks = streams(chunk({"reasoning_content": "Hm."}), chunk({"content": "Yes."}), chunk({}, "stop"), "[DONE]")
    wanted = {"include": ["reasoning.encrypted_content"]}
    upstream.plan += [thinks] * 4
    whole = ask(client, "Think.", **wanted).json
    sealed = whole["output"][0]["encrypted_content"]
    assert client.get(f"{PATH}/{whole['id']}").json == whole
    assert "include" not in whole
    events = told(ask(client, "Think.", stream=True, **wanted))
    done = next(event["item"] for event in events if event["type"] == "response.output_item.done")
    assert done["encrypted_content"] == sealed
    assert events[-1]["response"]["output"][0] == done
    assert told(client.get(f"{PATH}/{done['id'].replace('rs_', 'resp_')}?stream=true")) == events
    unstored = ask(client, "Think.", store=False, **wanted).json["output"]
    assert unstored[0]["encrypted_content"] == sealed
    assert "encrypted_content" not in ask(client, "Think.").json["output"][0]
    garbage = {"type": "reasoning", "id": "rs_x", "summary": [], "encrypted_content": "garbage"}
    assert ask(client, [garbage, *unstored, {"role": "user", "content": "So?"}]).status == 200
    assert [message["role"] for message in upstream.prompts[-1]] == ["assistant", "user"]
    assert "Hm." not in str(upstream.prompts[-1])


def test_it_is_completed_when_its_answer_is_there(client: Client, upstream: Upstream) -> None:
    upstream.plan.append(sleeps(1.2))
    made = ask(client, "Hello.").json
    assert 1 <= made["completed_at"] - made["created_at"] <= 3
    assert client.get(f"{PATH}/{made['id']}").json == made


def test_a_model_that_fails_before_its_first_word_is_a_502_and_after_it_an_event(
    client: Client, upstream: Upstream, name: str
) -> None:
    for streamed in (False, True):
        upstream.plan += [status(500)] * 3
        refused = ask(client, "Hello.", session=name, stream=streamed)
        assert (refused.status, refused.json["error"]["code"]) == (502, "upstream_failed")
    upstream.plan.append(cuts)
    broken = ask(client, "Hello.", session=name, stream=True)
    assert broken.status == 200
    failed = told(broken)[-1]
    assert failed["type"] == "response.failed"
    assert failed["response"]["error"]["code"] == "server_error"
    assert client.get(f"{PATH}/{failed['response']['id']}").status == 404
    assert text(ask(client, "Again.", session=name)).endswith("I see 1 messages.")


def test_the_same_idempotency_key_gets_the_same_response(client: Client, upstream: Upstream, name: str) -> None:
    for streamed in (False, True):
        body = json.dumps({"input": "Hello.", "stream": streamed}).encode()
        headers = {"Idempotency-Key": f"{name}-{streamed}"}
        first = client.send("POST", PATH, body, headers)
        asked = len(upstream.requests)
        second = client.send("POST", PATH, body, headers)
        assert second.headers["idempotent-replayed"] == "true"
        assert second.body == first.body
        assert len(upstream.requests) == asked


# --- the end of it ---


def test_what_is_deleted_is_gone_for_ever(client: Client) -> None:
    made = ask(client, "My name is Alex.").json["id"]
    gone = client.send("DELETE", f"{PATH}/{made}")
    assert gone.json["deleted"] is True
    for method, path in (
        ("GET", made),
        ("GET", f"{made}?stream=true"),
        ("DELETE", made),
        ("GET", f"{made}/input_items"),
        ("POST", f"{made}/cancel"),
    ):
        assert client.send(method, f"{PATH}/{path}").status == 404, path
    refused = ask(client, "Who am I?", previous_response_id=made)
    assert (refused.status, refused.json["error"]["code"]) == (400, "previous_response_not_found")


def test_the_words_of_a_conversation_that_only_responses_knew_leave_with_the_last_of_them(
    start: Callable[..., Everthread], tmp_path: Path
) -> None:
    server = start(tmp_path / "home")
    first = ask(server.client, "The password is xyzzyplugh.").json["id"]
    second = ask(server.client, "Say xyzzyplugh.", previous_response_id=first).json["id"]
    server.client.send("DELETE", f"{PATH}/{second}")
    assert server.client.get(f"{PATH}/{first}").status == 200
    server.client.send("DELETE", f"{PATH}/{first}")
    server.stop()
    for file in (tmp_path / "home").rglob("*"):
        assert not file.is_file() or b"xyzzyplugh" not in file.read_bytes(), file


def test_a_deleted_response_leaves_its_session_as_it_is(client: Client, name: str) -> None:
    made = ask(client, "My name is Alex.", session=name).json["id"]
    client.send("DELETE", f"{PATH}/{made}")
    assert "I know Alex" in client.say("Who am I?", session=name).text


# --- compaction ---


def test_a_conversation_in_short_stands_for_all_of_it(client: Client, upstream: Upstream) -> None:
    first = ask(client, "My name is Alex and I live at Elm Street 42.").json["id"]
    second = ask(client, "My deadline is 2027-03-01.", previous_response_id=first).json["id"]
    short = client.post(f"{PATH}/compact", {"previous_response_id": second, "model": "hermes"}).json
    assert short["object"] == "response.compaction"
    *users, item = short["output"]
    assert [part["content"][0]["text"] for part in users] == [
        "My name is Alex and I live at Elm Street 42.",
        "My deadline is 2027-03-01.",
    ]
    assert item["type"] == "compaction"
    assert short["usage"]["output_tokens"] > 0
    said = ask(client, [*short["output"], {"role": "user", "content": "Who am I?"}])
    assert said.status == 200
    shown = " ".join(words(upstream.prompts[-1]))
    assert "Elm Street 42" in shown
    assert "2027-03-01" in shown
    assert len(upstream.prompts[-1]) == 2
    broken = [{**item, "encrypted_content": "nonsense"}, {"role": "user", "content": "?"}]
    assert ask(client, broken).status == 400


def test_a_client_that_asks_for_compaction_is_told_of_it(client: Client, upstream: Upstream, name: str) -> None:
    managed = [{"type": "compaction", "compact_threshold": 1000}]
    for number in range(3):
        ask(client, f"Fact {number}: the code is {number}99. " + "Nothing else matters here. " * 60, session=name)
    events = told(ask(client, "What is the code?", session=name, stream=True, context_management=managed))
    kinds = [event["type"] for event in events]
    assert kinds[2:5] == [
        "response.output_item.added",
        "response.compaction.compacting",
        "response.output_item.done",
    ]
    made = events[-1]["response"]
    assert made["output"][0]["type"] == "compaction"
    assert client.get(f"{PATH}/{made['id']}").json["output"][0] == made["output"][0]
    assert told(client.get(f"{PATH}/{made['id']}?stream=true")) == events
    ask(client, [made["output"][0], {"role": "user", "content": "Go on."}])
    assert "the code is 099" in " ".join(words(upstream.prompts[-1]))
    quiet = ask(client, "Hello.", context_management=managed)
    assert quiet.json["output"][0]["type"] == "message"


# --- what cannot be done ---


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": "x", "previous_response_id": "resp_1", "conversation": "c"}, "previous_response_id"),
        ({"input": "x", "background": True, "store": False}, "background"),
        ({"input": "x", "tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"input": [{"type": "computer_call_output", "call_id": "c"}]}, "input[0].type"),
        ({"input": "x", "metadata": {"k": "v" * 513}}, "metadata.k"),
        ({"input": "x", "conversation": "a\u0007b"}, "conversation"),
    ],
)
def test_what_cannot_be_done_is_a_400_that_names_the_field(client: Client, body: Any, param: str) -> None:
    refused = client.post(PATH, body)
    assert refused.status == 400, refused.body
    assert refused.json["error"]["param"] == param
    assert set(refused.json["error"]) == {"message", "type", "param", "code"}


def test_what_the_middle_finds_wrong_is_said_of_the_input(client: Client, upstream: Upstream, name: str) -> None:
    ask(client, "Hello.", session=name)
    orphan = [{"type": "function_call_output", "call_id": "call_9", "output": "?"}]
    for given in (orphan, "word " * 200_000, [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]):
        for streamed in (False, True):
            refused = ask(client, given, session=name, stream=streamed)
            assert (refused.status, refused.json["error"]["param"]) == (400, "input"), given[:2]
            assert not refused.json["error"]["message"].startswith("messages")
        failed = settled(client, ask(client, given, session=name, background=True).json["id"])
        assert failed["error"]["code"] == "invalid_prompt"
        assert not failed["error"]["message"].startswith("messages")
    counted = client.post(f"{PATH}/input_tokens", {"input": "word " * 200_000})
    assert (counted.status, counted.json["error"]["param"]) == (400, "input")
    assert client.post(PATH, {"messages": []}).json["error"]["param"] == "messages", "it is what was sent"


def test_what_went_wrong_after_a_long_wait_is_said_of_the_input(
    client: Client, upstream: Upstream, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply, "FIRST_EVENT", 0.2)
    upstream.plan.append(sleeps(1))
    first = threading.Thread(target=lambda: ask(client, "Hello.", session=name))
    first.start()
    time.sleep(0.3)
    orphan = [{"type": "function_call_output", "call_id": "call_9", "output": "?"}]
    refused = ask(client, orphan, session=name, stream=True)
    first.join(20)
    assert refused.status == 200
    assert (refused.events[-1]["type"], refused.events[-1]["param"]) == ("error", "input")


def test_an_unknown_conversation_id_is_a_404_and_a_name_is_made_on_first_use(client: Client, name: str) -> None:
    refused = ask(client, "Hello.", conversation="conv_nope")
    assert (refused.status, refused.json["error"]["param"]) == (404, "conversation")
    first = ask(client, "My name is Alex.", conversation=name)
    assert first.json["conversation"] == {"id": name}
    assert "I know Alex" in text(ask(client, "Who am I?", conversation={"id": name}))
    assert "I know Alex" in client.say("Who am I?", session=name).text


@pytest.mark.slow
def test_storage_does_not_grow_with_the_square_of_the_conversation(
    start: Callable[..., Everthread], upstream: Upstream, tmp_path: Path
) -> None:
    """Bytes per turn around turn 10 and around turn 1,000."""
    server = start(tmp_path / "home", memory="off")
    upstream.answer = lambda request: "Noted, and kept for later."
    sizes: dict[int, int] = {}
    previous = None
    for number in range(1, 1001):
        asked = {"previous_response_id": previous} if previous else {}
        previous = ask(server.client, f"Fact number {number} is that all is well.", **asked).json["id"]
        if number in {5, 25, 900, 1000}:
            sizes[number] = used(tmp_path / "home")
    early, late = (sizes[25] - sizes[5]) / 20, (sizes[1000] - sizes[900]) / 100
    assert late < 1.5 * early + 512, (early, late)


def used(home: Path) -> int:
    """Bytes in use in the database."""
    import sqlite3

    with sqlite3.connect(home / "everthread.db") as db:
        pages, free, size = (
            db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
    return int((pages - free) * size)


def test_a_compaction_of_a_compaction_stands_for_both(client: Client, upstream: Upstream) -> None:
    first = client.post(f"{PATH}/compact", {"input": "My pet is a cat called Tom.", "model": "hermes"}).json
    sealed = [item for item in first["output"] if item["type"] == "compaction"]
    second = client.post(f"{PATH}/compact", {"input": [*sealed, {"role": "user", "content": "My hat is blue."}]}).json
    ask(client, [second["output"][-1], {"role": "user", "content": "What do you know?"}])
    shown = " ".join(words(upstream.prompts[-1]))
    assert "cat called Tom" in shown
    assert "hat is blue" in shown


def test_a_call_that_was_not_stored_is_answered_in_a_session(client: Client, upstream: Upstream, name: str) -> None:
    client.say("My name is Alex.", session=name)
    given = [
        {"role": "user", "content": "Weather?"},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "rain"},
    ]
    assert ask(client, given, session=name, store=False).status == 200
    assert [m["role"] for m in upstream.prompts[-1]] == ["user", "assistant", "user", "assistant", "tool"]


def test_what_was_said_in_turns_is_shown_in_its_order_however_it_is_asked_for(
    client: Client, upstream: Upstream
) -> None:
    pieces = streams(
        chunk({"role": "assistant", "content": "First. "}),
        chunk({"reasoning_content": "Hm."}),
        chunk({"content": "Second."}),
        chunk({}, "stop"),
        USAGE,
        "[DONE]",
    )
    upstream.plan += [pieces, pieces]
    streamed = told(ask(client, "Speak.", stream=True))[-1]["response"]
    assert [item["type"] for item in streamed["output"]] == ["message", "reasoning", "message"]
    assert client.get(f"{PATH}/{streamed['id']}").json == streamed
    whole = ask(client, "Speak.").json
    assert [item["type"] for item in whole["output"]] == ["message", "reasoning", "message"]
    assert client.get(f"{PATH}/{whole['id']}").json == whole
