"""What is sent upstream: counted, within the budget, tool calls beside their results."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.context.assemble import assemble, closed, frame
from everthread.context.epoch import Sealed
from everthread.context.reconcile import begun, read, refuse_unknown_calls, rolled
from everthread.context.shorten import limits
from everthread.context.tokens import O200k, weigh, weigh_options
from everthread.core.messages import Message, say
from everthread.core.ports import Past, past_of
from everthread.errors import ContextTooLong, Malformed
from everthread.wire.chat import decode_message

counter = O200k()
LIMITS = limits(12_000)


def no_log(_: int) -> Sealed:
    return Sealed()


def calling(*calls: str) -> Message:
    body = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": c, "type": "function", "function": {"name": "f", "arguments": "{}"}} for c in calls],
    }
    return decode_message(json.dumps(body).encode())


def result(call: str, text: str = "42") -> Message:
    return decode_message(json.dumps({"role": "tool", "tool_call_id": call, "content": text}).encode())


def past(*messages: Message) -> Past:
    return past_of(messages, weigh(messages, counter))


# --- counting ---


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("hello world", 2),
        ("Hello, world!", 4),
        ("안녕하세요", 2),
        ("\n\n\n", 1),
        ("1234567", 3),
        ("don't stop", 2),
    ],
)
def test_tokens_are_counted_as_o200k_does(text: str, tokens: int) -> None:
    assert counter.count(text) == tokens


def test_a_very_long_text_is_counted_by_its_beginning() -> None:
    text = "word " * 100_000
    assert counter.count(text) == pytest.approx(100_000, rel=0.01)


def test_images_and_tools_weigh_too() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    message = decode_message(json.dumps({"role": "user", "content": [picture]}).encode())
    assert 900 < weigh((message,), counter) < 2000, "by estimate, not by the length of its data"
    tools = json.dumps([{"type": "function", "function": {"name": "f", "description": "x " * 500}}]).encode()
    assert weigh_options((("tools", tools), ("temperature", b"1")), counter) > 500


# --- assembling ---

words = st.text("ab c", max_size=60)
turns = st.one_of(
    st.builds(lambda q, a: [past(say("user", q), say("assistant", a))], words, words),
    st.builds(lambda q: [past(say("user", q), calling("c", "d"))], words),
    st.builds(
        lambda q, r, a: [past(say("user", q), calling("c")), past(result("c", r), say("assistant", a))],
        words,
        words,
        words,
    ),
)
histories = st.lists(turns, max_size=10).map(lambda turns: tuple(step for turn in turns for step in turn))


@given(histories, st.integers(24, 300))
def test_the_prompt_never_exceeds_its_budget_and_keeps_the_newest(history: tuple[Past, ...], budget: int) -> None:
    fixed = frame(
        (say("system", "be brief"),), (say("user", "hi"),), (), log=no_log, newest=0, budget=budget, counter=counter
    )
    assembled = assemble(fixed, history, counter)
    context = assembled.context
    assert context.prompt_tokens == context.prefix + context.window + fixed.message <= budget
    assert weigh(assembled.messages, counter) <= context.prompt_tokens
    said = [message for step in history for message in step.messages]
    kept = [message for message in assembled.messages[1:-1] if message.text != "[no result]"]
    assert kept[-1:] == said[-1:] or not kept, "the newest"
    rest = iter(said)
    assert all(any(message == other for other in rest) for message in kept), "in order"
    open_calls: set[str] = set()
    for message in assembled.messages:
        if message.answers is not None:
            assert message.answers in open_calls, "a result follows its call"
            open_calls.remove(message.answers)
        else:
            assert not open_calls, "every call is answered before anyone else speaks"
        open_calls.update(message.calls)


def test_a_result_keeps_its_call_even_when_little_else_fits() -> None:
    history = (
        past(say("user", "long " * 40), say("assistant", "ok")),
        past(say("user", "sum?"), calling("c1", "c2")),
    )
    fixed = frame((), (result("c1"), result("c2")), (), log=no_log, newest=0, budget=120, counter=counter)
    roles = [m.role for m in assemble(fixed, history, counter).messages]
    assert roles == ["user", "assistant", "tool", "tool"]


def test_a_result_whose_call_does_not_fit_is_refused() -> None:
    history = (past(say("user", "long " * 400), calling("c1")),)
    fixed = frame((), (result("c1"),), (), log=no_log, newest=0, budget=60, counter=counter)
    with pytest.raises(ContextTooLong):
        assemble(fixed, history, counter)


def test_a_message_that_cannot_fit_is_refused_with_the_numbers() -> None:
    with pytest.raises(ContextTooLong, match=r"needs \d+ tokens .* budget is 50"):
        frame((), (say("user", "word " * 100),), (), log=no_log, newest=0, budget=50, counter=counter)


def test_a_call_that_got_no_result_is_closed_in_the_prompt() -> None:
    whole = closed((say("user", "a"), calling("c1", "c2"), result("c1"), say("user", "never mind")))
    assert [(m.role, m.answers) for m in whole] == [
        ("user", None),
        ("assistant", None),
        ("tool", "c1"),
        ("tool", "c2"),
        ("user", None),
    ]
    assert whole[3].text == "[no result]"


# --- reconciling ---


def test_a_known_session_takes_only_what_is_new() -> None:
    body = (say("user", "old"), say("assistant", "foreign"), say("user", "new"))
    assert [m.text for m in read(body).new] == ["new"]
    assert [m.text for m in read((say("user", "hi"), say("user", "hi"))).new] == ["hi", "hi"]


def test_a_body_that_ends_with_an_answer_wants_it_to_go_on() -> None:
    body = read((say("user", "a"), say("assistant", "b"), say("user", "c"), say("assistant", "d")))
    assert body.goes_on
    assert [m.text for m in body.new] == ["c", "d"]


def test_a_new_session_brings_its_history_along() -> None:
    body = (say("user", "q1"), calling("c"), result("c"), say("assistant", "a2"), say("user", "q3"))
    reconciled = begun(body, counter, LIMITS)
    assert [[m.role for m in e.messages] for e in reconciled.imported] == [["user", "assistant"], ["tool", "assistant"]]
    assert [m.text for m in reconciled.input] == ["q3"]
    assert len({e.rolling for e in reconciled.imported}) == 2


def test_an_answer_that_the_client_began_goes_on_from_its_question() -> None:
    body = (say("user", "q1"), say("assistant", "a1"), say("user", "q2"), say("assistant", "Once upon"))
    reconciled = begun(body, counter, LIMITS)
    assert [m.text for m in reconciled.input] == ["q2", "Once upon"]
    assert len(reconciled.imported) == 1


def test_a_result_for_an_unknown_call_is_refused() -> None:
    with pytest.raises(Malformed, match="no open tool call 'c9'"):
        begun((say("user", "q"), calling("c1"), result("c9")), counter, LIMITS)
    with pytest.raises(Malformed):
        refuse_unknown_calls((result("c1"),), ())


@given(st.lists(words, min_size=1, max_size=5), st.lists(words, min_size=1, max_size=5))
def test_the_rolling_hash_knows_what_was_said_and_not_how_it_was_spaced(one: list[str], two: list[str]) -> None:
    def rolling(texts: list[str]) -> bytes:
        now = b""
        for text in texts:
            now = rolled(now, (say("user", text),))
        return now

    squeezed = [" ".join(text.split()) for text in one]
    assert rolling(one) == rolling(squeezed) == rolling([f"  {text}\n" for text in one])
    assert (rolling(one) == rolling(two)) == (squeezed == [" ".join(text.split()) for text in two])
