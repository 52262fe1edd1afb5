"""Items of the Responses API, both directions."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.conversations import ConversationItem
from openai.types.responses import ResponseItem, ResponseOutputItem
from pydantic import TypeAdapter

from everthread.core.ids import StepId
from everthread.core.messages import Message, say
from everthread.errors import Malformed
from everthread.wire import chat
from everthread.wire.responses import items, names, opaque, shown
from everthread.wire.responses.names import ItemName, parse_item_id

STEP = StepId("0abc12DEF")

LISTED: TypeAdapter[Any] = TypeAdapter(ResponseItem)
HELD: TypeAdapter[Any] = TypeAdapter(ConversationItem)
ANSWERED: TypeAdapter[Any] = TypeAdapter(ResponseOutputItem)


def decode(*raw: dict[str, Any], thoughts: bool = False) -> tuple[Message, ...]:
    read = items.decode_input(json.dumps(list(raw)).encode())
    return items.messages(read, {}, thoughts=thoughts)


def bodies(*raw: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(message.raw) for message in decode(*raw)]


def show(messages: tuple[Message, ...]) -> list[shown.Shown]:
    return [item for number, message in enumerate(messages) for item in shown.shown(STEP, number, message)]


def valid(item: shown.Shown) -> None:
    LISTED.validate_python(item)
    HELD.validate_python(item)


def call(call_id: str, name: str = "f") -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"}


def result(call_id: str, output: Any = "ok") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def chat_call(call_id: str, name: str = "f") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


# --- in ---


def test_messages_come_in_many_shapes() -> None:
    assert bodies(
        {"role": "user", "content": "a"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "b"}]},
        {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "phase": "final_answer",
         "content": [{"type": "output_text", "text": "c", "annotations": [], "logprobs": []}]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "d"}, {"type": "output_text", "text": "e"}]},
        {"role": "user", "content": "f", "name": "ann"},
    ) == [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": "c"},
        {"role": "assistant", "content": None, "refusal": "no"},
        {"role": "assistant", "content": [{"type": "text", "text": "d"}, {"type": "text", "text": "e"}]},
        {"role": "user", "content": "f", "name": "ann"},
    ]  # fmt: skip


def test_images_and_files_are_parts_of_a_message() -> None:
    (message,) = decode(
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": "http://x/a.png"},
                {"type": "input_image", "image_url": "http://x/b.png", "detail": "original"},
                {"type": "input_file", "file_data": "data:,x", "filename": "x.pdf"},
            ],
        }
    )
    assert json.loads(message.raw)["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "http://x/a.png"}},
        {"type": "image_url", "image_url": {"url": "http://x/b.png", "detail": "high"}},
        {"type": "file", "file": {"file_data": "data:,x", "filename": "x.pdf"}},
    ]
    assert (message.text, message.images, bool(message.bulk)) == ("look", 2, True)


def test_calls_that_stand_together_are_one_message_with_the_words_beside_them() -> None:
    both = {"role": "assistant", "content": "wait", "tool_calls": [chat_call("1"), chat_call("2")]}
    results = [{"role": "tool", "tool_call_id": str(n), "content": "ok"} for n in (1, 2)]
    answers = (result("1"), result("2"))
    words = {"role": "assistant", "content": "wait"}
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    assert bodies(words, call("1"), call("2"), *answers) == [both, *results]
    assert bodies(call("1"), thought, call("2"), words, *answers) == [both, *results]
    two = bodies(words, call("1"), words, call("2"), *answers)
    assert two[0]["content"] == [{"type": "text", "text": "wait"}, {"type": "text", "text": "wait"}]
    assert two[0]["tool_calls"] == both["tool_calls"]
    apart = bodies(call("1"), result("1"), call("2"), result("2"))
    assert [message["role"] for message in apart] == ["assistant", "tool", "assistant", "tool"]
    plain = bodies(words, words, call("1"))
    assert [message.get("tool_calls") for message in plain] == [None, [chat_call("1")]]


def thinks(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}], **more}


def test_a_thought_is_a_silent_message_of_its_own_where_thoughts_are_kept() -> None:
    raw = [
        thinks("a"),
        {"role": "assistant", "content": "b"},
        thinks("c", content=[{"type": "reasoning_text", "text": "d"}], encrypted_content="garbage"),
        call("1"),
        result("1"),
        thinks("e", encrypted_content=opaque.seal("f", "reasoning")),
    ]
    assert not any(message.is_silent for message in decode(*raw))
    kept = decode(*raw, thoughts=True)
    assert [message.is_silent for message in kept] == [True, False, True, False, False, True]
    listed = show(kept)
    for item in listed:
        valid(item)
    assert [item["type"] for item in listed] == [
        "reasoning",
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "reasoning",
    ]
    assert listed[2] == {**raw[2], "id": f"rs_{STEP}_i2", "status": "completed"}
    assert listed[5] == {**raw[5], "id": f"rs_{STEP}_i5", "status": "completed"}
    assert json.loads(kept[5].raw)["thought"]["sealed"] == "f", "it can be found, and forgotten"
    assert decode(*listed, thoughts=True) == kept
    assert shown.named(kept[0], ItemName("message", STEP, 0)) is None


def test_thoughts_between_calls_leave_the_calls_before_their_results() -> None:
    wait = {"role": "assistant", "content": "wait"}
    answers = (result("1"), result("2"))
    kept = decode(call("1"), thinks("a"), call("2"), thinks("b"), wait, *answers, thoughts=True)
    assert [message.calls for message in kept] == [("1", "2"), (), (), (), ()]
    assert [message.is_silent for message in kept] == [False, True, True, False, False]
    assert kept[0].text == "wait"


def test_very_many_calls_in_a_row_are_read_at_once() -> None:
    began = time.process_time()
    (message,) = decode(*(call(str(number)) for number in range(5000)))
    assert len(message.calls) == 5000
    assert time.process_time() - began < 2


def test_refusals_beside_a_call_are_kept_together() -> None:
    refusal = {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}
    (message,) = bodies(refusal, call("1"), refusal)
    assert message == {"role": "assistant", "content": None, "refusal": "no\nno", "tool_calls": [chat_call("1")]}


def test_results_may_have_parts() -> None:
    assert bodies(result("1", []))[0]["content"] == ""
    assert bodies(
        result("1", [{"type": "input_text", "text": "a"}]),
        result("2", [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "u"}]),
    ) == [
        {"role": "tool", "tool_call_id": "1", "content": "a"},
        {
            "role": "tool",
            "tool_call_id": "2",
            "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}],
        },
    ]
    assert decode(result("1"))[0].answers == "1"


def test_calls_of_other_kinds_that_chat_knows_are_kept() -> None:
    custom = {"type": "custom_tool_call", "call_id": "1", "name": "grep", "input": "x"}
    assert bodies(custom, {"type": "custom_tool_call_output", "call_id": "1", "output": "y"}) == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "custom", "custom": {"name": "grep", "input": "x"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "y"},
    ]
    ran = {"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "f", "arguments": "{}"}
    assert bodies({"type": "mcp_list_tools", "id": "m"}, {**ran, "output": "y"}) == [
        {"role": "assistant", "content": None, "tool_calls": [chat_call("mcp_1")]},
        {"role": "tool", "tool_call_id": "mcp_1", "content": "y"},
    ]
    assert bodies({**ran, "error": "gone"})[1]["content"] == '"gone"'


def test_a_type_that_cannot_be_used_is_named() -> None:
    with pytest.raises(Malformed, match=r"input\[0\]\.type is image_generation_call") as caught:
        decode({"type": "image_generation_call", "id": "ig_1"})
    assert caught.value.param == "input[0].type"


# --- sealed ---


kinds: st.SearchStrategy[opaque.Kind] = st.sampled_from(["compaction", "reasoning"])


@given(st.text(), kinds)
def test_what_is_sealed_can_be_opened(text: str, kind: opaque.Kind) -> None:
    if text.isascii() or text.encode(errors="ignore").decode() == text:
        sealed = opaque.seal(text, kind)
        assert sealed == opaque.seal(text, kind)
        assert opaque.unseal(sealed, kind) == text


@given(st.text(max_size=40), kinds)
def test_what_was_not_sealed_is_refused(text: str, kind: opaque.Kind) -> None:
    with pytest.raises(Malformed):
        opaque.unseal(text, kind)


def test_what_was_sealed_as_one_thing_is_not_opened_as_another() -> None:
    with pytest.raises(Malformed, match="The compaction item's encrypted_content was not made by this server"):
        opaque.unseal(opaque.seal("words", "reasoning"), "compaction")
    with pytest.raises(Malformed):
        opaque.unseal(opaque.seal("words", "compaction"), "reasoning")


def test_a_changed_seal_is_refused() -> None:
    sealed = opaque.seal("words " * 20, "compaction")
    for changed in (sealed[:-3], sealed[:20] + "A" + sealed[21:], "B" + sealed[1:], sealed + "AAAA"):
        with pytest.raises(Malformed):
            opaque.unseal(changed, "compaction")
    with pytest.raises(Malformed):
        opaque.unseal("A" * (opaque.LONGEST + 1), "compaction")


def test_a_seal_around_too_much_or_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def forged(packed: bytes) -> str:
        body = opaque.FIRST["compaction"] + opaque.check(packed) + packed
        return opaque.urlsafe_b64encode(body).decode().rstrip("=")

    with pytest.raises(Malformed):
        opaque.unseal(forged(b"not deflated"), "compaction")
    with pytest.raises(Malformed):
        opaque.unseal(forged(opaque.zlib.compress(b"\xff")), "compaction")
    sealed = opaque.seal("x" * 100, "compaction")
    monkeypatch.setattr(opaque, "MOST_TEXT", 99)
    with pytest.raises(Malformed, match="more than"):
        opaque.unseal(sealed, "compaction")


# --- out ---


def test_the_ids_of_items_say_where_they_are() -> None:
    body = {"role": "assistant", "content": "x", "tool_calls": [chat_call("c1"), chat_call("c2")]}
    message = items.message_of(body)
    ids = [str(item["id"]) for item in shown.shown(STEP, None, message)]
    hashes = [names.call_hash("c1"), names.call_hash("c2")]
    assert ids == [f"msg_{STEP}_o", f"fc_{STEP}_o_{hashes[0]}", f"fc_{STEP}_o_{hashes[1]}"]
    found = [parse_item_id(id_) for id_ in ids]
    assert found == [
        ItemName("message", STEP),
        ItemName("call", STEP, None, hashes[0]),
        ItemName("call", STEP, None, hashes[1]),
    ]
    parts = [shown.named(message, name) for name in found if name]
    assert [json.loads(part.raw) for part in parts if part] == [
        {"role": "assistant", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [chat_call("c1")]},
        {"role": "assistant", "content": None, "tool_calls": [chat_call("c2")]},
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("msg_abc_0", ItemName("message", StepId("abc"), 0)),
        ("msg_abc_12", ItemName("message", StepId("abc"), 12)),
        ("msg_abc_o", ItemName("message", StepId("abc"))),
        ("msg_abc_o2", ItemName("message", StepId("abc"))),
        ("fc_abc_3_0123456789ab", ItemName("call", StepId("abc"), 3, "0123456789ab")),
        ("fco_abc_3", ItemName("result", StepId("abc"), 3)),
        ("rs_abc", ItemName("reasoning", StepId("abc"))),
        ("rs_abc_2", ItemName("reasoning", StepId("abc"))),
        ("rs_abc_i2", ItemName("reasoning", StepId("abc"), 2)),
        ("cmp_abc", ItemName("compaction", StepId("abc"))),
        ("msg_abc", None),
        ("msg_abc_x", None),
        ("msg__1", None),
        ("fc_abc_o", None),
        ("fco_abc_o", None),
        ("resp_abc", None),
        ("msg_abc_0\n", None),
        ("msg_é_0", None),
        ("msg_" + "a" * 400 + "_0", None),
        ("", None),
    ],
)
def test_an_id_is_read_or_not_ours(text: str, name: ItemName | None) -> None:
    assert parse_item_id(text) == name


def test_a_part_that_is_not_there_has_no_message() -> None:
    calls = items.message_of({"role": "assistant", "content": None, "tool_calls": [chat_call("c1")]})
    assert shown.named(calls, ItemName("message", STEP)) is None
    assert shown.named(calls, ItemName("call", STEP, None, names.call_hash("c2"))) is None
    asked = say("user", "x")
    assert shown.named(asked, ItemName("message", STEP, 0)) is asked
    assert shown.named(asked, ItemName("call", STEP, 0, "0")) is None


@pytest.mark.parametrize(
    "body",
    [
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {}}, {"type": "text", "text": "x"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u", "detail": "huge"}}]},
        {"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}], "name": "ann"},
        {"role": "user", "content": [{"type": "file", "file": "odd"}]},
        {"role": "system", "content": "x"},
        {"role": "assistant", "content": [{"type": "text", "text": "x"}, {"type": "refusal", "refusal": "no"}]},
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "g"}}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "odd"}]},
        {"role": "assistant", "content": None, "refusal": "no", "name": "bot"},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "x"}]},
        {"role": "function", "name": "f", "content": "x"},
        {"role": "function", "name": "f", "content": None},
        {"role": "assistant", "content": "", "thought": "odd"},
        {"role": "assistant", "content": "", "thought": {"summary": "odd", "content": ["odd", {"text": 1}]}},
    ],
)
def test_whatever_the_chat_door_let_in_is_shown_in_valid_items(body: dict[str, Any]) -> None:
    message = chat.decode_message(json.dumps(body).encode())
    listed = shown.shown(STEP, 0, message)
    assert listed
    for item in listed:
        valid(item)


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
word = st.text("abc", min_size=1, max_size=4)
input_part = st.one_of(
    st.fixed_dictionaries({"type": st.just("input_text"), "text": text}),
    st.fixed_dictionaries(
        {"type": st.just("input_image"), "image_url": word}, optional={"detail": st.sampled_from(["low", "auto"])}
    ),
    st.fixed_dictionaries({"type": st.just("input_file"), "file_data": word}, optional={"filename": word}),
)
output_part = st.one_of(
    st.fixed_dictionaries({"type": st.just("output_text"), "text": text.filter(bool)}),
    st.fixed_dictionaries({"type": st.just("refusal"), "refusal": text}),
)
output = text | st.lists(input_part, min_size=1, max_size=3)
item = st.one_of(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "system"]), "content": text | st.lists(input_part, min_size=1, max_size=3)},
        optional={"name": word},
    ),
    st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": text.filter(bool) | st.lists(output_part, min_size=1)}
    ),
    st.fixed_dictionaries({"type": st.just("function_call"), "call_id": word, "name": word, "arguments": text}),
    st.fixed_dictionaries({"type": st.just("custom_tool_call"), "call_id": word, "name": word, "input": text}),
    st.fixed_dictionaries({"type": st.just("function_call_output"), "call_id": word, "output": output}),
    st.fixed_dictionaries({"type": st.just("reasoning"), "summary": st.just([])}),
)


@given(st.lists(item, max_size=6))
def test_what_is_shown_reads_as_what_came_in(raw: list[dict[str, Any]]) -> None:
    messages = decode(*raw)
    listed = show(messages)
    for each in listed:
        valid(each)
    for message in messages:
        if message.role == "assistant":
            for each in shown.shown(STEP, None, message):
                ANSWERED.validate_python(each)
    assert show(decode(*listed)) == listed
    if not any(
        part.get("type") == "refusal" for each in raw for part in each.get("content", ()) if isinstance(part, dict)
    ):
        assert decode(*listed) == messages
    again = chat.stored_messages(b"[" + b",".join(message.raw for message in messages) + b"]")
    assert again == messages, "what is stored reads as what came in"
