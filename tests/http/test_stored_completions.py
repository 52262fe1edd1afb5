"""Chat completions that a client asked to keep."""

from __future__ import annotations

from collections.abc import Callable

from front_door import Client, Everthread
from upstream import Upstream

PATH = "/v1/chat/completions"


def test_a_stored_completion_is_looked_at_labelled_and_deleted(client: Client, upstream: Upstream) -> None:
    said = client.say("My name is Alex.", store=True, metadata={"a": "1"}, temperature=0.5)
    assert "store" not in upstream.requests[-1]
    assert "metadata" not in upstream.requests[-1]
    id_ = said.json["id"]
    kept = client.get(f"{PATH}/{id_}").json
    assert kept["choices"] == said.json["choices"]
    assert kept["usage"] == said.json["usage"]
    assert (kept["metadata"], kept["temperature"]) == ({"a": "1"}, 0.5)
    assert client.post(f"{PATH}/{id_}", {"metadata": {"b": "2"}}).json["metadata"] == {"b": "2"}
    messages = client.get(f"{PATH}/{id_}/messages").json
    assert [message["content"] for message in messages["data"]] == ["My name is Alex."]
    assert client.send("DELETE", f"{PATH}/{id_}").json == {
        "object": "chat.completion.deleted",
        "id": id_,
        "deleted": True,
    }
    for method, path in (("GET", id_), ("DELETE", id_), ("GET", f"{id_}/messages")):
        assert client.send(method, f"{PATH}/{path}").status == 404


def test_what_was_not_stored_is_not_there(client: Client, name: str) -> None:
    id_ = client.say("Hello.", session=name).json["id"]
    assert client.get(f"{PATH}/{id_}").status == 404


def test_stored_completions_are_listed_in_pages_by_model_and_by_label(
    start: Callable[..., Everthread], upstream: Upstream
) -> None:
    client = start().client
    made = [
        client.say(f"number {number}", store=True, metadata={"parity": "odd" if number % 2 else "even"}).json["id"]
        for number in range(5)
    ]
    client.say("not kept")
    page = client.get(f"{PATH}?limit=2").json
    assert [one["id"] for one in page["data"]] == made[:2]
    assert page["has_more"]
    rest = client.get(f"{PATH}?after={page['last_id']}").json
    assert [one["id"] for one in rest["data"]] == made[2:]
    assert not rest["has_more"]
    newest = client.get(f"{PATH}?order=desc&limit=1").json["data"]
    assert newest[0]["id"] == made[-1]
    odd = client.get(f"{PATH}?metadata%5Bparity%5D=odd").json["data"]
    assert [one["id"] for one in odd] == made[1::2]
    assert client.get(f"{PATH}?model=nope").json["data"] == []
    assert len(client.get(f"{PATH}?model=fake-model").json["data"]) == 5
    assert client.get(f"{PATH}?after=nope").status == 400


def test_a_stream_can_be_stored_too(client: Client) -> None:
    streamed = client.say("Hello.", stream=True, store=True)
    id_ = streamed.events[0]["id"]
    assert client.get(f"{PATH}/{id_}").json["choices"][0]["message"]["content"] == streamed.text


def test_the_whole_history_of_its_request_is_among_its_messages(client: Client) -> None:
    messages = [
        {"role": "user", "content": "My name is Alex."},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": [{"type": "text", "text": "Who am I?"}]},
    ]
    id_ = client.say(messages, store=True).json["id"]
    shown = client.get(f"{PATH}/{id_}/messages").json["data"]
    assert [message["content"] for message in shown] == ["My name is Alex.", "Hello.", "Who am I?"]
    assert shown[2]["content_parts"] == [{"type": "text", "text": "Who am I?"}]
    assert client.get(f"{PATH}/{id_}/messages?limit=1&after={shown[0]['id']}").json["data"] == shown[1:2]
