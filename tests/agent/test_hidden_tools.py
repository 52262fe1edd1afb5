"""Tools that the server runs itself: the model calls them, the client sees what came of it."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from rehearsed import Asked, Clock, Counter, Rehearsed, Search, calls, offered, option, sent, speaks

from everthread.agent.ability import MOST_REMEMBERED, REMEMBERED, Ability
from everthread.agent.toolbox import LONGEST_RESULT, MOST_CALLS, MOST_ROUNDS, Hidden
from everthread.core.turn import (
    ChoiceEnded,
    ModelEvent,
    Opened,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from everthread.errors import (
    ModelNotFound,
    RejectedUpstream,
    StoreUnavailable,
    UpstreamDisconnected,
    UpstreamFailed,
    UpstreamIncomplete,
)
from everthread.models.openai import OpenAI
from everthread.models.scripted import Scripted
from upstream import Upstream, says, status
from upstream import calls as upstream_calls

ADD = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
MINE = {"type": "function", "function": {"name": "search", "description": "the client's own"}}


# --- the usual ---


async def test_a_search_is_run_and_the_client_sees_only_the_answer() -> None:
    model, search = Scripted(ToolCall("c1", "search", '{"query": "tea"}'), "You like tea."), Search()
    turn = await Asked(model, search).ends()
    assert search.asked == [{"query": "tea"}]
    assert (turn.choice.content, turn.choice.finish, turn.choice.tool_calls) == ("You like tea.", "stop", ())
    first, second = model.prompts
    assert offered(first) == offered(second) == ["search"]
    assert sent(second)[1:] == [
        {"role": "assistant", "content": None, "tool_calls": [ToolCall("c1", "search", '{"query": "tea"}').body()]},
        {"role": "tool", "tool_call_id": "c1", "content": "Alex likes tea."},
    ]
    assert second.messages[0] == first.messages[0]
    assert (second.messages[1].calls, second.messages[2].answers) == (("c1",), "c1")


async def test_a_stream_has_one_opening_the_words_as_they_came_and_one_end() -> None:
    model = Rehearsed(
        calls("search", text="Let me look.", usage=Usage(10, 2)), speaks("You |like |tea.", usage=Usage(20, 3))
    )
    turn = await Asked(model, Search()).ends()
    assert turn.seen == [
        Opened("m"),
        TextDelta("Let me look."),
        TextDelta("\n\n"),
        TextDelta("You "),
        TextDelta("like "),
        TextDelta("tea."),
        ChoiceEnded("stop"),
        Usage(30, 5),
    ]
    assert turn.choice.content == "Let me look.\n\nYou like tea."


async def test_without_a_call_everything_is_passed_on_as_it_comes() -> None:
    said = speaks("You |like |tea.", usage=Usage(3, 2, 1, b'{"prompt_tokens":3}'))
    turn = await Asked(Rehearsed(said), Search()).ends()
    assert turn.seen == said
    assert turn.box.hidden == Hidden()


async def test_without_tools_nothing_changes() -> None:
    model = Rehearsed(calls("search", "add"))
    turn = await Asked(model).ends()
    assert turn.seen == calls("search", "add")
    assert model.prompts == [turn.prompt]


async def test_several_calls_of_a_round_run_at_once_and_keep_their_order() -> None:
    slow, fast = Search("slow", name="slow", takes=0.05), Search("fast", name="fast")
    model = Rehearsed(calls("slow", "fast"), speaks("Done."))
    await Asked(model, slow, fast).ends()
    results = [(m["tool_call_id"], m["content"]) for m in sent(model.prompts[1]) if m["role"] == "tool"]
    assert results == [("c0", "slow"), ("c1", "fast")]


async def test_thoughts_are_passed_on_and_given_back_with_the_call() -> None:
    thinking: list[ModelEvent] = [Opened("m"), ReasoningDelta("Hm."), *calls("search")[1:]]
    model = Rehearsed(thinking, [Opened("m"), ReasoningDelta("Ah."), *speaks("Tea.")[1:]])
    turn = await Asked(model, Search()).ends()
    assert turn.choice.reasoning == "Hm.\n\nAh."
    assert turn.choice.content == "Tea."
    assert sent(model.prompts[1])[1]["reasoning_content"] == "Hm."


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("One.", "Two.", "One.\n\nTwo."),
        ("One.\n", "Two.", "One.\n\nTwo."),
        ("One.", "\n\nTwo.", "One.\n\nTwo."),
        ("\n\n", "Two.", "\n\nTwo."),
        ("", "Two.", "Two."),
        ("One.", "", "One."),
    ],
)
async def test_the_words_of_two_rounds_are_a_blank_line_apart(first: str, second: str, whole: str) -> None:
    turn = await Asked(Rehearsed(calls("search", text=first), speaks(second)), Search()).ends()
    assert turn.choice.content == whole


# --- ours and the client's ---


async def test_the_clients_tools_come_first_and_its_calls_reach_it() -> None:
    model = Rehearsed(calls("search"), calls("add"))
    turn = await Asked(model, Search(), tools=[ADD], temperature=0).ends()
    assert [offered(prompt) for prompt in model.prompts] == [["add", "search"]] * 2
    assert option(model.prompts[0], "tools")[0] == ADD
    assert [name for name, _ in model.prompts[0].options] == ["tools", "temperature"]
    assert turn.choice.tool_calls == (ToolCall("c0", "add", '{"query":"tea"}'),)
    assert (turn.choice.content, turn.choice.finish) == (None, "tool_calls")


async def test_of_both_kinds_in_one_round_the_clients_pass_counted_from_zero() -> None:
    model, search = Rehearsed(calls("search", "add", "search", "mul")), Search()
    turn = await Asked(model, search, tools=[ADD]).ends()
    assert [call.name for call in turn.choice.tool_calls] == ["add", "mul"]
    pieces = [event for event in turn.seen if isinstance(event, ToolCallDelta)]
    assert [(piece.index, piece.id, piece.name) for piece in pieces] == [
        (0, "c1", "add"),
        (0, None, None),
        (1, "c3", "mul"),
        (1, None, None),
    ]
    assert not search.asked
    assert len(model.prompts) == 1


async def test_a_tool_of_neither_kind_is_the_clients_business() -> None:
    turn = await Asked(Rehearsed(calls("nobody_knows")), Search()).ends()
    assert [call.name for call in turn.choice.tool_calls] == ["nobody_knows"]


async def test_a_name_that_the_client_uses_is_the_clients() -> None:
    model, search, recall = Rehearsed(calls("search")), Search(), Search(name="recall")
    turn = await Asked(model, search, recall, tools=[MINE]).ends()
    assert offered(model.prompts[0]) == ["search", "recall"]
    assert option(model.prompts[0], "tools")[0] == MINE
    assert [call.name for call in turn.choice.tool_calls] == ["search"]
    assert not search.asked


async def test_when_every_name_is_taken_the_request_stays_as_it_is() -> None:
    model = Rehearsed(speaks("Hello."))
    turn = await Asked(model, Search(), tools=[MINE]).ends()
    assert model.prompts == [turn.prompt]


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        ({"tool_choice": "auto"}, True),
        ({"tool_choice": "none"}, False),
        ({"tool_choice": "required"}, False),
        ({"tool_choice": {"type": "function", "function": {"name": "add"}}}, False),
        ({"n": 1}, True),
        ({"n": 2}, False),
        ({"response_format": {"type": "json_object"}}, True),
        ({"parallel_tool_calls": False}, True),
    ],
)
async def test_ours_are_offered_only_where_they_can_be_called(given: dict[str, Any], ours: bool) -> None:
    model = Rehearsed(speaks("Hello."))
    await Asked(model, Search(), tools=[ADD], **given).ends()
    assert offered(model.prompts[0]) == (["add", "search"] if ours else ["add"])
    for name, value in given.items():
        assert option(model.prompts[0], name) == value


async def test_a_call_that_comes_piece_by_piece_is_held_back_until_it_has_a_name() -> None:
    ours: list[ModelEvent] = [ToolCallDelta(0, "c0"), ToolCallDelta(0, arguments="{"), ToolCallDelta(0, name="search")]
    theirs: list[ModelEvent] = [ToolCallDelta(1, "c1"), ToolCallDelta(1, arguments="{"), ToolCallDelta(1, name="add")]
    end: list[ModelEvent] = [ToolCallDelta(1, arguments="}"), ChoiceEnded("tool_calls")]
    turn = await Asked(Rehearsed([Opened("m"), *ours, *theirs, *end]), Search()).ends()
    assert turn.seen[1:3] == [ToolCallDelta(0, "c1", "add", "{"), ToolCallDelta(0, arguments="}")]


async def test_a_server_that_gives_every_call_the_same_index_is_understood() -> None:
    pieces: list[ModelEvent] = [ToolCallDelta(0, "a", "search", "{}"), ToolCallDelta(0, "b", "add", "{}")]
    turn = await Asked(Rehearsed([Opened("m"), *pieces, ChoiceEnded("tool_calls")]), Search()).ends()
    assert turn.choice.tool_calls == (ToolCall("b", "add", "{}"),)


async def test_calls_with_the_same_id_each_have_their_result() -> None:
    pieces: list[ModelEvent] = [ToolCallDelta(0, "a", "search", "{}"), ToolCallDelta(1, "a", "search", "{}")]
    model = Rehearsed([Opened("m"), *pieces, ChoiceEnded("tool_calls")], speaks("Tea."))
    await Asked(model, Search()).ends()
    assert [message.answers for message in model.prompts[1].messages[2:]] == ["a", "call_1"]


async def test_a_call_without_a_name_is_passed_on_and_nothing_is_added_to_it_after_the_end() -> None:
    late: list[ModelEvent] = [ToolCallDelta(0, name="search", arguments="{}"), ChoiceEnded("stop")]
    nameless: list[ModelEvent] = [ToolCallDelta(0, "a", arguments="{"), ChoiceEnded("tool_calls")]
    turn = await Asked(Rehearsed([Opened("m"), *nameless, *late]), Search()).ends()
    assert turn.seen == [Opened("m"), ToolCallDelta(0, "a", None, "{"), ChoiceEnded("tool_calls")]


async def test_a_json_answer_stays_one_document() -> None:
    model, search = Rehearsed(calls("search", text='{"a": 1}')), Search()
    turn = await Asked(model, search, response_format={"type": "json_object"}).ends()
    assert (turn.choice.content, turn.choice.finish) == ('{"a": 1}', "stop")
    assert not search.asked


# --- limits ---


async def test_a_model_that_never_stops_calling_must_answer_in_the_last_round() -> None:
    model, search = Rehearsed(*[calls("search")] * (MOST_ROUNDS - 1), speaks("Enough.")), Search()
    turn = await Asked(model, search, tool_choice="auto").ends()
    assert len(model.prompts) == MOST_ROUNDS
    assert [option(prompt, "tool_choice") for prompt in model.prompts] == ["auto", "auto", "auto", "none"]
    assert turn.choice.content == "Enough."
    assert turn.box.hidden.calls == len(search.asked) == MOST_ROUNDS - 1


async def test_a_server_that_lets_it_call_even_then_is_asked_without_tools_once_and_no_more() -> None:
    model, search = Rehearsed(calls("search")), Search()
    turn = await Asked(model, search).ends()
    assert len(model.prompts) == MOST_ROUNDS + 1
    assert offered(model.prompts[-1]) == []
    assert len(search.asked) == MOST_ROUNDS - 1
    assert (turn.choice.content, turn.choice.finish, turn.choice.tool_calls) == ("", "stop", ())


async def test_in_the_last_round_the_client_has_its_own_tools_still() -> None:
    model = Rehearsed(*[calls("search")] * (MOST_ROUNDS - 1), calls("add"))
    turn = await Asked(model, Search(), tools=[ADD]).ends()
    assert model.prompts[-1].options == turn.prompt.options
    assert [call.name for call in turn.choice.tool_calls] == ["add"]


async def test_in_the_last_round_a_call_of_ours_beside_the_clients_tools_comes_to_nothing() -> None:
    model = Rehearsed(calls("search"))
    turn = await Asked(model, Search(), tools=[ADD]).ends()
    assert len(model.prompts) == MOST_ROUNDS
    assert (turn.choice.content, turn.choice.finish) == ("", "stop")


async def test_calls_are_bounded_too() -> None:
    model, search = Rehearsed(calls(*["search"] * 5), calls(*["search"] * 5), speaks("Enough.")), Search()
    await Asked(model, search).ends()
    assert len(search.asked) == MOST_CALLS
    last = sent(model.prompts[-1])
    assert option(model.prompts[-1], "tool_choice") == "none"
    made = [call["id"] for message in last for call in message.get("tool_calls", ())]
    assert made == [message["tool_call_id"] for message in last if message["role"] == "tool"]


async def test_a_result_of_a_megabyte_is_cut() -> None:
    model = Rehearsed(calls("search"), speaks("Long."))
    await Asked(model, Search("tea " * 250_000)).ends()
    result = sent(model.prompts[1])[-1]["content"]
    assert len(result) == LONGEST_RESULT
    assert result.endswith("[cut]")


@pytest.mark.parametrize("query", ["tea", "tea " * 50])
@pytest.mark.parametrize("room", [300, 350, 400, 500, 700, 1000, 2000])
@pytest.mark.parametrize("found", ["tea", "tea " * 1000])
async def test_all_that_is_hidden_stays_within_its_room(room: int, query: str, found: str) -> None:
    model, counter = Rehearsed(calls("search", "search", arguments=json.dumps({"query": query}))), Counter()
    turn = await Asked(model, Search(found), room=room).ends()
    tools = dict(model.prompts[0].options).get("tools", b"").decode()
    for prompt in model.prompts:
        hidden = prompt.messages[len(turn.prompt.messages) :]
        weights = [counter.per_message + counter.count(m.raw.decode() if m.calls else m.text) for m in hidden]
        assert counter.count(tools) + sum(weights) <= room


@pytest.mark.parametrize("room", [-1, 200, 310])
async def test_without_room_nothing_is_offered(room: int) -> None:
    model = Rehearsed(speaks("Hello."))
    turn = await Asked(model, Search(), room=room).ends()
    assert model.prompts == [turn.prompt]


async def test_a_call_too_long_to_repeat_is_not_run_and_the_model_must_answer() -> None:
    endless = json.dumps({"query": "tea " * 10_000})
    model, search = Rehearsed(calls("search", arguments=endless), speaks("Tea.")), Search()
    turn = await Asked(model, search, room=1000).ends()
    assert not search.asked
    assert turn.choice.content == "Tea."
    assert model.prompts[1].messages == turn.prompt.messages
    spoken = Rehearsed(calls("search", text="Tea, I think.", arguments=endless))
    turn = await Asked(spoken, search, room=1000).ends()
    assert (turn.choice.content, turn.choice.finish) == ("Tea, I think.", "stop")
    assert len(spoken.prompts) == 1


# --- a tool that fails ---


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ValueError("query is missing"), "Error: query is missing"),
        (StoreUnavailable(), f"Error: {StoreUnavailable.__doc__}"),
        (KeyError("a bug"), "Error: search failed."),
        (asyncio.CancelledError(), "Error: the tool gave up."),
        (ValueError("x" * 10_000), None),
    ],
)
async def test_a_failure_is_told_to_the_model_and_fails_no_turn(failure: BaseException, told: str | None) -> None:
    model = Rehearsed(calls("search"), speaks("I could not look."))
    turn = await Asked(model, Search(failure)).ends()
    assert turn.choice.content == "I could not look."
    result = sent(model.prompts[1])[-1]["content"]
    assert result == told if told else len(result) <= LONGEST_RESULT


async def test_a_tool_that_hangs_is_given_up() -> None:
    model = Rehearsed(calls("search", "search"), speaks("No luck."))
    turn = await Asked(model, Search(takes=60), patience=0.05).ends()
    assert [m["content"] for m in sent(model.prompts[1])[-2:]] == ["Error: search took too long."] * 2
    assert turn.choice.content == "No luck."


@pytest.mark.parametrize("broken", ['{"query": "te', "[1]", "tea", '"tea"', "null", "[" * 5000])
async def test_arguments_that_cannot_be_read_are_not_run_and_not_repeated(broken: str) -> None:
    model, search = Rehearsed(calls("search", arguments=broken), speaks("Well.")), Search()
    await Asked(model, search).ends()
    _, called, result = sent(model.prompts[1])
    assert called["tool_calls"][0]["function"]["arguments"] == "{}"
    assert result["content"] == "Error: the arguments are not a JSON object."
    assert not search.asked


async def test_a_call_that_was_cut_off_is_a_broken_one() -> None:
    cut: list[ModelEvent] = [*calls("search", arguments='{"query": "te')[:-1], ChoiceEnded("length")]
    turn = await Asked(Rehearsed(cut, speaks("Well.")), Search()).ends()
    assert (turn.choice.content, turn.choice.finish) == ("Well.", "stop")


async def test_no_arguments_are_an_empty_object() -> None:
    search = Search()
    await Asked(Rehearsed(calls("search", arguments=""), speaks("Well.")), search).ends()
    assert search.asked == [{}]


# --- interruption and failures upstream ---


async def test_an_interruption_while_a_tool_runs_ends_the_answer_as_it_stands() -> None:
    model, search = Rehearsed(calls("search", text="Let me look.")), Search(takes=60)
    turn = Asked(model, search)
    running = asyncio.create_task(turn.ends())
    await search.began.wait()
    turn.interruption.want()
    await asyncio.wait_for(running, 2)
    assert (turn.choice.content, turn.choice.finish) == ("Let me look.", "stop")
    assert running.cancelling() == 0
    assert len(model.prompts) == 1


async def test_an_interruption_before_the_first_word_opens_and_says_so() -> None:
    search = Search(takes=60)
    turn = Asked(Rehearsed(calls("search")), search)
    running = asyncio.create_task(turn.ends())
    await search.began.wait()
    turn.interruption.want()
    await asyncio.wait_for(running, 2)
    assert turn.seen == [Opened("m"), TextDelta("[interrupted]"), ChoiceEnded("stop")]


async def test_an_interruption_in_a_later_round_keeps_what_was_said() -> None:
    said = asyncio.Event()

    class Waiting(Rehearsed):
        async def stream(self, prompt: Any) -> Any:
            if self.prompts:
                yield [Opened("m"), TextDelta("You like")]
                said.set()
                await asyncio.sleep(60)
            async for some in super().stream(prompt):
                yield some

    turn = Asked(Waiting(calls("search", text="Let me look.")), Search())
    running = asyncio.create_task(turn.ends())
    await said.wait()
    turn.interruption.want()
    await asyncio.wait_for(running, 2)
    assert turn.choice.content == "Let me look.\n\nYou like"


async def test_a_turn_that_is_cancelled_while_a_tool_runs_is_cancelled() -> None:
    search = Search(takes=60)
    running = asyncio.create_task(Asked(Rehearsed(calls("search")), search).ends())
    await search.began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_failure_of_a_later_round_is_raised() -> None:
    turn = Asked(Rehearsed(calls("search", text="Let me look."), UpstreamDisconnected()), Search())
    with pytest.raises(UpstreamDisconnected):
        await turn.ends()
    assert turn.seen == [Opened("m"), TextDelta("Let me look.")]
    assert not turn.folding.complete


async def test_a_failure_before_the_first_word_finds_nothing_said() -> None:
    turn = Asked(Rehearsed(calls("search"), UpstreamDisconnected()), Search())
    with pytest.raises(UpstreamDisconnected):
        await turn.ends()
    assert turn.seen == []


async def test_a_round_that_breaks_off_in_a_call_of_ours_is_incomplete() -> None:
    search = Search()
    turn = Asked(Rehearsed([*calls("search")[:-1], Usage(1, 1)]), search)
    with pytest.raises(UpstreamIncomplete):
        await turn.ends()
    assert (turn.seen, search.asked) == ([], [])


async def test_a_plain_turn_that_is_interrupted_before_its_first_word_opens_too() -> None:
    class Silent(Rehearsed):
        async def stream(self, prompt: Any) -> Any:
            self.prompts.append(prompt)
            await asyncio.sleep(60)
            yield []

    model = Silent([])
    turn = Asked(model)
    running = asyncio.create_task(turn.ends())
    while not model.prompts:
        await asyncio.sleep(0)
    turn.interruption.want()
    await asyncio.wait_for(running, 2)
    assert turn.seen == [Opened("m"), TextDelta("[interrupted]"), ChoiceEnded("stop")]


# --- usage, and what else is kept ---


async def test_usage_is_the_sum_of_all_rounds_and_its_numbers_agree() -> None:
    one = {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    two = {**one, "prompt_tokens": 20, "total_tokens": 22, "cost": 0.5, "tier": "flex", "is_byok": True}
    three = {**two, "completion_tokens_details": {"reasoning_tokens": 3}, "prompt_tokens_details": None}
    told = zip((10, 20, 20), (4, 4, 0), (one, two, three), strict=True)
    used = [Usage(prompt, 2, cached, json.dumps(raw).encode()) for prompt, cached, raw in told]
    model = Rehearsed(calls("search", usage=used[0]), calls("search", usage=used[1]), speaks("Tea.", usage=used[2]))
    turn = await Asked(model, Search()).ends()
    usage = turn.outcome.usage
    assert (usage.prompt, usage.completion, usage.cached) == (50, 6, 8)
    assert json.loads(usage.raw) == {
        "prompt_tokens": 50,
        "completion_tokens": 6,
        "total_tokens": 56,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 3},
        "cost": 1.0,
        "tier": "flex",
        "is_byok": True,
    }
    assert turn.box.hidden == Hidden(calls=2, rounds=2, prompt=30, completion=4)


@pytest.mark.parametrize("raw", [b"", b"{broken", b'{"prompt_tokens": 1e999}'])
async def test_usage_that_cannot_be_added_is_told_in_our_words(raw: bytes) -> None:
    model = Rehearsed(calls("search", usage=Usage(1, 2, 0, b"{}")), speaks("Tea.", usage=Usage(3, 4, 1, raw)))
    assert (await Asked(model, Search()).ends()).outcome.usage == Usage(4, 6, 1)


async def test_what_is_kept_names_the_model_that_had_the_last_word() -> None:
    model = Rehearsed(calls("search", text="Hm."), [Opened("other", "fp"), *speaks("Tea.")[1:]])
    turn = await Asked(model, Search()).ends()
    assert (turn.outcome.model, turn.outcome.fingerprint) == ("other", "fp")
    assert [event for event in turn.seen if isinstance(event, Opened)] == [Opened("m")]


# --- servers that cannot do this ---


class Breaking(Rehearsed):
    """Fails after the events of its round."""

    def __init__(self, begun: list[ModelEvent], failure: Exception) -> None:
        super().__init__(begun)
        self._failure = failure

    async def stream(self, prompt: Any) -> Any:
        async for some in super().stream(prompt):
            yield some
        raise self._failure


@pytest.mark.parametrize(
    "refusal",
    [
        RejectedUpstream("m does not support tools"),
        ModelNotFound("No endpoints found that support tool use"),
        UpstreamFailed("The model's server answered 500: tools param requires --jinja flag"),
    ],
)
async def test_a_server_that_refuses_tools_is_asked_without_and_remembered_for_a_while(refusal: Exception) -> None:
    clock = Clock()
    ability = Ability(clock)
    model = Rehearsed(refusal, speaks("Hello."))  # type: ignore[arg-type]
    turn = await Asked(model, Search(), ability=ability).ends()
    assert turn.choice.content == "Hello."
    assert [offered(prompt) for prompt in model.prompts] == [["search"], []]
    assert model.prompts[1] == turn.prompt
    await Asked(model, Search(), ability=ability).ends()
    await Asked(model, Search(), ability=ability, name="another").ends()
    clock.later(REMEMBERED + timedelta(seconds=1))
    await Asked(model, Search(), ability=ability).ends()
    assert [offered(prompt) for prompt in model.prompts[2:]] == [[], ["search"], ["search"]]


async def test_a_request_that_is_wrong_without_tools_too_is_refused_and_proves_nothing() -> None:
    ability, model = Ability(Clock()), Rehearsed(RejectedUpstream("temperature"))
    with pytest.raises(RejectedUpstream, match="temperature"):
        await Asked(model, Search(), ability=ability).ends()
    assert len(model.prompts) == 2
    assert not ability.lacks("m", "tools")


@pytest.mark.parametrize("failure", [UpstreamFailed("The model's server answered 500."), UpstreamDisconnected()])
async def test_other_failures_are_not_taken_for_a_refusal(failure: Exception) -> None:
    model = Rehearsed(failure)  # type: ignore[arg-type]
    with pytest.raises(type(failure)):
        await Asked(model, Search()).ends()
    assert len(model.prompts) == 1


async def test_a_refused_request_with_the_clients_tools_is_the_clients_to_mend() -> None:
    model = Rehearsed(RejectedUpstream("bad schema"))
    with pytest.raises(RejectedUpstream):
        await Asked(model, Search(), tools=[ADD]).ends()
    assert len(model.prompts) == 1


async def test_a_server_that_refuses_to_go_on_after_a_call_is_asked_as_the_client_asked() -> None:
    ability = Ability(Clock())
    model = Rehearsed(calls("search"), RejectedUpstream("roles must alternate"), speaks("Hello."))
    turn = await Asked(model, Search(), ability=ability, tools=[ADD]).ends()
    assert model.prompts[2] == turn.prompt
    assert turn.choice.content == "Hello."
    assert ability.lacks("m", "tools")


async def test_after_words_a_refusal_is_a_failure() -> None:
    model = Rehearsed(calls("search", text="Let me look."), RejectedUpstream("too long"), speaks("Hello."))
    with pytest.raises(RejectedUpstream):
        await Asked(model, Search()).ends()


async def test_a_failure_in_the_middle_of_an_answer_is_no_refusal() -> None:
    model = Breaking([Opened("m"), ReasoningDelta("Hm.")], UpstreamFailed("the tool parser fell over"))
    with pytest.raises(UpstreamFailed):
        await Asked(model, Search()).ends()
    assert len(model.prompts) == 1


async def test_a_server_that_refuses_its_own_thoughts_gets_the_call_without_them() -> None:
    ability = Ability(Clock())
    thinking: list[ModelEvent] = [Opened("m"), ReasoningDelta("Hm."), *calls("search")[1:]]
    model = Rehearsed(thinking, RejectedUpstream("property 'reasoning_content' is unsupported"), speaks("Tea."))
    turn = await Asked(model, Search(), ability=ability).ends()
    assert turn.choice.content == "Tea."
    assert ["reasoning_content" in sent(prompt)[1] for prompt in model.prompts[1:]] == [True, False]
    assert sent(model.prompts[2])[2]["content"] == "Alex likes tea."
    assert (ability.lacks("m", "tools"), ability.lacks("m", "thoughts")) == (False, True)
    again = Rehearsed(thinking, speaks("Tea."))
    await Asked(again, Search(), ability=ability).ends()
    assert "reasoning_content" not in sent(again.prompts[1])[1]


def test_what_is_remembered_of_models_is_bounded() -> None:
    ability = Ability(Clock())
    for number in range(MOST_REMEMBERED + 10):
        ability.without(f"m{number}", "tools")
    assert [ability.lacks(name, "tools") for name in ("m0", "m9", "m10", f"m{MOST_REMEMBERED + 9}")] == [
        False,
        False,
        True,
        True,
    ]


# --- over a real socket ---


async def test_a_real_server_is_asked_in_rounds(upstream: Upstream) -> None:
    model = OpenAI(upstream.url, "k")
    upstream.plan[:] = [upstream_calls(("c1", "search", '{"query": "tea"}')), says("You like tea.")]
    try:
        turn = await Asked(model, Search(), tools=[ADD]).ends()
    finally:
        await model.close()
    assert (turn.choice.content, turn.choice.tool_calls) == ("You like tea.", ())
    first, second = upstream.requests
    assert [tool["function"]["name"] for tool in first["tools"]] == ["add", "search"]
    assert first["tools"][1]["function"]["parameters"] == Search.parameters
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "tool"]
    assert second["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": "Alex likes tea."}
    usage = turn.outcome.usage
    assert (usage.prompt, usage.completion, usage.cached) == (22, 14, 10)
    assert json.loads(usage.raw)["total_tokens"] == 36


async def test_a_real_server_that_knows_no_tools_answers_without(upstream: Upstream) -> None:
    model = OpenAI(upstream.url, "k")
    upstream.plan[:] = [status(400), says("Hello.")]
    try:
        turn = await Asked(model, Search()).ends()
    finally:
        await model.close()
    assert turn.choice.content == "Hello."
    assert ["tools" in request for request in upstream.requests] == [True, False]
