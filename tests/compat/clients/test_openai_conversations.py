"""The official `openai` client: conversations, which are sessions seen through OpenAI's eyes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

import shapes
from compat.reader import Reader
from conftest import Door, opened


def user(text: str) -> Any:
    return {"type": "message", "role": "user", "content": text}


def say(ai: OpenAI, text: str, conversation: Any, **more: Any) -> Any:
    return ai.responses.create(model="hermes", input=text, conversation=conversation, **more)


def texts(items: Any) -> list[str]:
    return [item.content[0].text for item in items]


def test_a_conversation_remembers(ai: OpenAI) -> None:
    conversation = ai.conversations.create(metadata={"topic": "names"})
    assert conversation.metadata == {"topic": "names"}
    say(ai, "My name is Alex.", conversation.id)
    asked = say(ai, "What is my name?", {"id": conversation.id})
    assert asked.output_text == "Your name is Alex."
    assert asked.conversation.id == conversation.id


async def test_it_remembers_over_streams_of_the_async_client(async_ai: AsyncOpenAI) -> None:
    conversation = await async_ai.conversations.create()
    for text in ("My name is Alex.", "What is my name?"):
        async with async_ai.responses.stream(model="hermes", input=text, conversation=conversation.id) as stream:
            final = await stream.get_final_response()
    assert final.output_text == "Your name is Alex."


def test_it_begins_with_the_items_it_is_given(ai: OpenAI) -> None:
    conversation = ai.conversations.create(items=[user("My name is Alex.")])
    assert say(ai, "What is my name?", conversation.id).output_text == "Your name is Alex."


def test_its_items_are_listed_added_and_deleted(ai: OpenAI) -> None:
    conversation = ai.conversations.create(items=[user("My name is Alex.")])
    say(ai, "What is 20 + 22?", conversation.id)
    listed = list(ai.conversations.items.list(conversation.id, order="asc"))
    assert texts(listed) == ["My name is Alex.", "What is 20 + 22?", "It is 42."]
    added = ai.conversations.items.create(conversation.id, items=[user("My name is Robin."), user("My age is 34.")])
    assert texts(added.data) == ["My name is Robin.", "My age is 34."]
    assert say(ai, "What is my name?", conversation.id).output_text == "Your name is Robin."
    ai.conversations.items.delete(added.data[0].id, conversation_id=conversation.id)
    with pytest.raises(openai.NotFoundError):
        ai.conversations.items.retrieve(added.data[0].id, conversation_id=conversation.id)
    assert say(ai, "What is my name?", conversation.id).output_text == "Your name is Alex."
    kept = ai.conversations.items.retrieve(added.data[1].id, conversation_id=conversation.id)
    assert texts([kept]) == ["My age is 34."]


def test_thoughts_are_kept_in_their_place_and_deleted(ai: OpenAI) -> None:
    conversation = ai.conversations.create(items=[user("My name is Alex.")])
    thought: Any = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "A name."}]}
    more: Any = {"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"], "store": False}
    sealed = say(ai, "What is 20 + 22?", None, **more).output[0].model_dump(exclude_none=True)
    added = ai.conversations.items.create(conversation.id, items=[thought, sealed])
    kept = list(ai.conversations.items.list(conversation.id, order="asc"))
    assert [item.type for item in kept] == ["message", "reasoning", "reasoning"]
    assert kept[1:] == added.data
    assert kept[1].summary[0].text == "A name."
    assert kept[2].encrypted_content == sealed["encrypted_content"]
    assert say(ai, "What is my name?", conversation.id).output_text == "Your name is Alex."
    ai.conversations.items.delete(added.data[0].id, conversation_id=conversation.id)
    kinds = [item.type for item in ai.conversations.items.list(conversation.id, order="asc")]
    assert kinds == ["message", "reasoning", "message", "message"]


def test_its_items_come_in_pages_from_both_ends(ai: OpenAI) -> None:
    told = [f"Lunch was {n}." for n in range(7)]
    conversation = ai.conversations.create(items=[user(text) for text in told])
    page = ai.conversations.items.list(conversation.id, limit=3)
    assert texts(page.data) == told[:3:-1]
    assert page.has_more
    assert texts(page) == told[::-1]
    after = ai.conversations.items.list(conversation.id, after=page.data[-1].id, limit=2)
    assert texts(after.data) == told[3:1:-1]


def test_its_metadata_is_changed_and_it_is_deleted(ai: OpenAI) -> None:
    conversation = ai.conversations.create(metadata={"a": "1"})
    assert ai.conversations.update(conversation.id, metadata={"b": "2"}).metadata == {"b": "2"}
    assert ai.conversations.retrieve(conversation.id).metadata == {"b": "2"}
    assert ai.conversations.delete(conversation.id).deleted
    with pytest.raises(openai.NotFoundError):
        ai.conversations.retrieve(conversation.id)
    with pytest.raises(openai.NotFoundError):
        say(ai, "hi", conversation.id)


def test_a_name_of_ones_own_makes_a_conversation(ai: OpenAI, session: dict[str, str]) -> None:
    name = session["X-Hermes-Session-Id"]
    say(ai, "My name is Alex.", name)
    assert say(ai, "What is my name?", name).output_text == "Your name is Alex."


def test_what_is_not_stored_is_not_in_it(ai: OpenAI) -> None:
    conversation = ai.conversations.create(items=[user("My name is Alex.")])
    asked = say(ai, "What is my name?", conversation.id, store=False)
    assert asked.output_text == "Your name is Alex."
    assert texts(ai.conversations.items.list(conversation.id)) == ["My name is Alex."]


def test_a_previous_response_and_a_conversation_exclude_each_other(ai: OpenAI) -> None:
    conversation = ai.conversations.create()
    told = say(ai, "My name is Alex.", conversation.id)
    with pytest.raises(openai.BadRequestError):
        say(ai, "What is my name?", conversation.id, previous_response_id=told.id)


def test_a_conversation_that_outgrows_the_window_goes_on_and_lists_everything(
    shared_reader: Reader, tmp_path: Path
) -> None:
    with (
        opened(tmp_path / "home", shared_reader.url, "context_budget=2400") as door,
        OpenAI(base_url=door.url, api_key=door.key, max_retries=0) as ai,
    ):
        conversation = ai.conversations.create().id
        say(ai, "My name is Alex.", conversation)
        for n in range(30):
            last = say(ai, f"Lunch number {n} was {'good ' * 40}.", conversation)
        assert last.hermes["session_id"] != last.hermes["root_session_id"], "it has rotated"
        assert say(ai, "What is my name?", conversation).output_text == "Your name is Alex."
        assert say(ai, "What is my name?", None, previous_response_id=last.id).output_text == "Your name is Alex."
        assert len(list(ai.conversations.items.list(conversation, limit=50))) == 64


def test_the_shapes_are_openais(door: Door) -> None:
    made = shapes.post(door, "/conversations", {"items": [user("My name is Alex.")], "metadata": {"a": "b"}}).json()
    assert shapes.conversation(made).metadata == {"a": "b"}
    shapes.post(door, "/responses", {"model": "hermes", "input": "What is my name?", "conversation": made["id"]})
    listed = shapes.get(door, f"/conversations/{made['id']}/items").json()
    assert [shapes.ITEM.validate_python(item).role for item in listed["data"]] == ["assistant", "user", "user"]
    assert (listed["object"], listed["has_more"]) == ("list", False)
    assert (listed["first_id"], listed["last_id"]) == (listed["data"][0]["id"], listed["data"][-1]["id"])
