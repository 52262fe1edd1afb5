"""/v1/conversations: a session, seen through OpenAI's eyes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from front_door import Client, Everthread
from upstream import Upstream, calls, chunk, streams

PATH = "/v1/conversations"


def texts(items: list[dict[str, Any]]) -> list[str]:
    return [part["text"] for item in items if item["type"] == "message" for part in item["content"]]


def made(client: Client, *said: str, **more: Any) -> str:
    items = [{"role": "user", "content": each} for each in said]
    answer = client.post(PATH, {**({"items": items} if items else {}), **more})
    assert answer.status == 200, answer.body
    return str(answer.json["id"])


def listed(client: Client, id_: str, query: str = "") -> list[dict[str, Any]]:
    return list(client.get(f"{PATH}/{quote(id_, safe='')}/items?order=asc&limit=100{query}").json["data"])


def test_a_conversation_is_made_looked_at_changed_and_deleted(client: Client) -> None:
    id_ = made(client, metadata={"topic": "x"})
    assert id_.startswith("conv_")
    shown = client.get(f"{PATH}/{id_}").json
    assert (shown["object"], shown["metadata"]) == ("conversation", {"topic": "x"})
    assert client.post(f"{PATH}/{id_}", {"metadata": {"topic": "y"}}).json["metadata"] == {"topic": "y"}
    gone = client.send("DELETE", f"{PATH}/{id_}").json
    assert gone == {"id": id_, "object": "conversation.deleted", "deleted": True}
    for method, path in (("GET", id_), ("GET", f"{id_}/items"), ("DELETE", id_), ("POST", f"{id_}/items")):
        body = b'{"items": [{"role": "user", "content": "x"}]}' if method == "POST" else None
        assert client.send(method, f"{PATH}/{path}", body).status == 404


def test_an_empty_body_makes_a_conversation(client: Client) -> None:
    assert client.send("POST", PATH, b"{}").status == 200
    assert client.send("POST", PATH, b"").status == 200


def test_what_a_conversation_begins_with_is_in_the_prompt_of_its_first_response(
    client: Client, upstream: Upstream
) -> None:
    id_ = made(client, "My name is Alex.")
    answer = client.post("/v1/responses", {"input": "Who am I?", "conversation": id_})
    assert "I know Alex" in answer.json["output"][0]["content"][0]["text"]
    assert answer.json["conversation"] == {"id": id_}
    said = texts(listed(client, id_))
    assert said[:2] == ["My name is Alex.", "Who am I?"]
    assert len(said) == 3
    assert "I know Alex" in client.say("Who am I?", session=id_).text
    assert len(listed(client, id_)) == 5


def test_any_session_is_a_conversation(client: Client, name: str) -> None:
    session = f"repo:{name}/backend"
    client.say("My name is Alex.", session=session)
    path = f"{PATH}/{quote(session, safe='')}"
    assert client.get(path).json["id"] == session
    assert texts(listed(client, session))[0] == "My name is Alex."


def test_items_are_added_listed_in_pages_looked_at_and_taken_out(client: Client, upstream: Upstream) -> None:
    id_ = made(client)
    body = {
        "items": [
            {"type": "message", "role": "user", "content": "one"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "two"}]},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "r1"},
            {"type": "function_call_output", "call_id": "c2", "output": "r2"},
            {"type": "message", "role": "user", "content": "three"},
        ]
    }
    added = client.post(f"{PATH}/{id_}/items", body).json["data"]
    kinds = [item["type"] for item in added]
    assert kinds == [
        "message",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "message",
    ]
    assert listed(client, id_) == added
    first = client.get(f"{PATH}/{id_}/items?limit=3").json
    assert [item["id"] for item in first["data"]] == [item["id"] for item in reversed(added)][:3]
    assert (first["has_more"], first["last_id"]) == (True, added[4]["id"])
    second = client.get(f"{PATH}/{id_}/items?limit=3&after={first['last_id']}").json
    third = client.get(f"{PATH}/{id_}/items?limit=3&after={second['last_id']}").json
    assert [i["id"] for i in (*first["data"], *second["data"], *third["data"])] == [i["id"] for i in reversed(added)]
    assert not third["has_more"]
    for item in added:
        assert client.get(f"{PATH}/{id_}/items/{item['id']}").json == item
    assert client.send("DELETE", f"{PATH}/{id_}/items/{added[3]['id']}").json["id"] == id_
    assert client.send("DELETE", f"{PATH}/{id_}/items/{added[5]['id']}").status == 200
    assert client.get(f"{PATH}/{id_}/items/{added[3]['id']}").status == 404
    assert [item["id"] for item in listed(client, id_)] == [added[n]["id"] for n in (0, 1, 2, 4, 6)]
    client.post("/v1/responses", {"input": "four", "conversation": id_})
    roles = [message["role"] for message in upstream.prompts[-1]]
    assert roles == ["user", "assistant", "tool", "user", "user"]
    assert len(upstream.prompts[-1][1]["tool_calls"]) == 1


def test_what_is_taken_out_leaves_the_prompts_the_index_and_the_files(
    start: Callable[..., Everthread], upstream: Upstream, tmp_path: Path
) -> None:
    server = start(tmp_path / "home")
    client = server.client
    id_ = made(client)
    client.post("/v1/responses", {"input": "The password is xyzzyplugh.", "conversation": id_})
    client.post("/v1/responses", {"input": "And I live in Oslo.", "conversation": id_})
    for item in listed(client, id_):
        if "xyzzyplugh" in str(item):
            assert client.send("DELETE", f"{PATH}/{id_}/items/{item['id']}").status == 200
    assert "xyzzyplugh" not in str(listed(client, id_))
    client.post("/v1/responses", {"input": "What do you know?", "conversation": id_})
    assert "xyzzyplugh" not in str(upstream.prompts[-1])
    assert "Oslo" in str(upstream.prompts[-1])
    server.stop()
    for file in (tmp_path / "home").rglob("*"):
        assert not file.is_file() or b"xyzzyplugh" not in file.read_bytes(), file


def thinks(text: str) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs_x", "summary": [{"type": "summary_text", "text": text}]}


def test_thoughts_are_kept_in_their_place_and_no_model_is_shown_them(client: Client, upstream: Upstream) -> None:
    given = [
        {"role": "user", "content": "one"},
        thinks("first"),
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "r1"},
        {**thinks("second"), "encrypted_content": "garbage"},
        {"role": "assistant", "content": "two"},
    ]
    kinds = ["message", "reasoning", "function_call", "function_call_output", "reasoning", "message"]
    begun = client.post(PATH, {"items": given}).json["id"]
    assert [item["type"] for item in listed(client, begun)] == kinds
    id_ = made(client)
    added = client.post(f"{PATH}/{id_}/items", {"items": given}).json["data"]
    assert [item["type"] for item in added] == kinds
    assert listed(client, id_) == added
    assert added[1]["summary"] == [{"type": "summary_text", "text": "first"}]
    assert added[4]["encrypted_content"] == "garbage"
    for each in (begun, id_):
        client.post("/v1/responses", {"input": "three", "conversation": each})
        assert [message["role"] for message in upstream.prompts[-1]] == [
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
        ]
        assert "first" not in str(upstream.prompts[-1])
        assert "second" not in str(upstream.prompts[-1])
    path = f"{PATH}/{id_}/items/{added[1]['id']}"
    assert client.get(path).json == added[1]
    assert client.send("DELETE", path).status == 200
    assert client.get(path).status == 404
    assert [item["type"] for item in listed(client, id_)][:3] == ["message", "function_call", "function_call_output"]
    client.post("/v1/responses", {"input": "four", "conversation": id_})
    assert len(upstream.prompts[-1]) == 7


def test_a_thought_that_is_taken_out_leaves_the_files(start: Callable[..., Everthread], tmp_path: Path) -> None:
    server = start(tmp_path / "home")
    id_ = made(server.client, "The lake is deep.")
    given = [{**thinks("xyzzyplugh"), "encrypted_content": "fnord"}, thinks("The lake is deep.")]
    added = server.client.post(f"{PATH}/{id_}/items", {"items": given}).json["data"]
    assert server.client.send("DELETE", f"{PATH}/{id_}/items/{added[0]['id']}").status == 200
    assert [item["type"] for item in listed(server.client, id_)] == ["message", "reasoning"]
    server.stop()
    for file in (tmp_path / "home").rglob("*"):
        for word in (b"xyzzyplugh", b"fnord"):
            assert not file.is_file() or word not in file.read_bytes(), (file, word)


def test_the_thoughts_of_an_answer_go_with_it(client: Client, upstream: Upstream) -> None:
    id_ = made(client)
    upstream.plan.append(
        streams(chunk({"reasoning_content": "Hm."}), chunk({"content": "Yes."}), chunk({}, "stop"), "[DONE]")
    )
    client.post("/v1/responses", {"input": "Well?", "conversation": id_})
    question, thought, words = listed(client, id_)
    assert (thought["type"], thought["summary"][0]["text"]) == ("reasoning", "Hm.")
    assert client.send("DELETE", f"{PATH}/{id_}/items/{thought['id']}").status == 404
    assert client.send("DELETE", f"{PATH}/{id_}/items/{words['id']}").status == 200
    assert listed(client, id_) == [question]


def test_a_call_in_a_conversation_is_answered_in_it(client: Client, upstream: Upstream) -> None:
    id_ = made(client)
    tool = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
    upstream.plan.append(calls(("call_1", "weather", "{}")))
    client.post("/v1/responses", {"input": "Weather?", "conversation": id_, "tools": [tool]})
    result = [{"type": "function_call_output", "call_id": "call_1", "output": "rain"}]
    answer = client.post("/v1/responses", {"input": result, "conversation": id_, "tools": [tool]})
    assert answer.status == 200, answer.body
    assert [item["type"] for item in listed(client, id_)] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]


def test_too_many_items_at_once_and_unknown_ones_are_refused(client: Client) -> None:
    id_ = made(client)
    many = [{"role": "user", "content": "x"}] * 21
    assert client.post(f"{PATH}/{id_}/items", {"items": many}).json["error"]["param"] == "items"
    assert client.post(PATH, {"items": many}).status == 400
    assert client.post(f"{PATH}/{id_}/items", {"items": []}).status == 400
    assert client.post(f"{PATH}/{id_}/items", {"items": [{"type": "nonsense"}]}).status == 400
    assert client.get(f"{PATH}/{id_}/items?after=msg_nope_0").status == 400
    assert client.get(f"{PATH}/{id_}/items?limit=101").status == 400
    assert client.get(f"{PATH}/{id_}/items?order=sideways").status == 400


def test_a_session_key_gives_a_conversation_its_memory(client: Client, name: str) -> None:
    key = f"key:{name}"
    answer = client.post(PATH, {}, X_Hermes_Session_Key=key)
    shown = client.get(f"/api/sessions/{answer.json['id']}").json["session"]
    assert shown["session_key"] == key
