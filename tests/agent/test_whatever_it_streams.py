"""Whatever a model streams: what is kept is what was passed on, and nothing of ours is visible."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from rehearsed import Asked, Rehearsed, Search, offered

from everthread.agent.toolbox import MOST_CALLS, MOST_ROUNDS
from everthread.core.turn import (
    ChoiceEnded,
    Folding,
    ModelEvent,
    Opened,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from everthread.errors import Failure, RejectedUpstream, UpstreamFailed

text = st.sampled_from(["", " ", "\n", "\n\n", "tea", "a\n", "\nb"])
arguments = st.sampled_from(["", "{}", "{", "}", '{"query":', '"SECRET"}'])
choice = st.sampled_from([0, 0, 0, 0, 0, 1])
name = st.none() | st.sampled_from(["", "search", "search", "recall", "add", "unknown"])
events: st.SearchStrategy[ModelEvent] = st.one_of(
    st.builds(Opened, st.sampled_from(["", "m", "other"])),
    st.builds(TextDelta, text, choice),
    st.builds(ReasoningDelta, text, choice),
    st.builds(RefusalDelta, text, choice),
    st.builds(ToolCallDelta, st.integers(0, 2), st.none() | st.sampled_from(["", "a", "b"]), name, arguments, choice),
    st.builds(ToolCallDelta, st.integers(0, 2), st.sampled_from(["a", "b"]), st.just("search"), arguments),
    st.builds(ChoiceEnded, st.sampled_from(["stop", "length", "tool_calls"]), choice),
    st.builds(Usage, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
)
whole = st.lists(events, max_size=8).map(lambda some: [Opened("m"), *some, ChoiceEnded("tool_calls")])
refusals = st.sampled_from([RejectedUpstream(), UpstreamFailed("no tools")])
rounds = st.lists(st.one_of(whole, whole, whole, st.lists(events, max_size=8), refusals), min_size=1, max_size=7)
options = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.just([{"type": "function", "function": {"name": "add"}}]),
        "response_format": st.just({"type": "json_object"}),
    },
)


@settings(deadline=None, max_examples=500)
@given(rounds, options, st.sampled_from([250, 400, 600, 10_000]))
def test_what_is_kept_is_what_was_passed_on_and_ours_is_not_in_it(
    played: list[list[ModelEvent] | Failure], given_options: dict[str, Any], room: int
) -> None:
    async def turn() -> None:
        model, search, recall = Rehearsed(*played), Search(), Search(name="recall")
        asked = Asked(model, search, recall, room=room, **given_options)
        whole = False
        with suppress(Failure):
            await asked.ends()
            whole = True
        assert len(model.prompts) <= MOST_ROUNDS + 3, "and those without what was refused"
        assert len(search.asked) + len(recall.asked) <= MOST_CALLS
        for prompt in model.prompts:
            made = [call for message in prompt.messages for call in message.calls]
            assert made == [message.answers for message in prompt.messages if message.answers]
        if not offered(model.prompts[0]) or offered(model.prompts[0]) == ["add"]:
            return
        assert sum(isinstance(event, Opened) for event in asked.seen) <= 1
        assert not any(isinstance(event, ToolCallDelta) and event.name in {"search", "recall"} for event in asked.seen)
        assert [event.choice for event in asked.seen if isinstance(event, ChoiceEnded)] == [0] * whole
        if whole:
            again = Folding()
            for event in asked.seen:
                again.add(event)
            told, kept = again.outcome(lambda: Usage(0, 0)), asked.outcome
            assert (told.choices, told.usage) == (kept.choices, kept.usage)
            assert not {call.name for call in kept.choices[0].tool_calls} & {"search", "recall"}
            assert sorted({e.index for e in asked.seen if isinstance(e, ToolCallDelta)}) == list(
                range(len(kept.choices[0].tool_calls))
            )

    asyncio.run(turn())


@settings(deadline=None, max_examples=100)
@given(rounds, st.integers(0, 40))
def test_whenever_it_is_interrupted_the_answer_ends_once_and_is_kept_as_seen(
    played: list[list[ModelEvent] | Failure], steps: int
) -> None:
    async def turn() -> None:
        asked = Asked(Rehearsed(*played), Search(takes=0.001))
        running = asyncio.create_task(asked.ends())
        for _ in range(steps):
            await asyncio.sleep(0)
        asked.interruption.want()
        with suppress(Failure):
            await running
            assert sum(isinstance(event, ChoiceEnded) for event in asked.seen) == 1
            assert asked.choice.content == "".join(e.text for e in asked.seen if isinstance(e, TextDelta)) or (
                asked.choice.content is None
            )

    asyncio.run(turn())
