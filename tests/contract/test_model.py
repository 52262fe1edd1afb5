"""What every model promises, the scripted one and any server behind HTTP alike."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from everthread.core.messages import say
from everthread.core.ports import Model
from everthread.core.turn import ChoiceEnded, Folding, ModelEvent, Opened, Prompt, TextDelta, ToolCall, Usage
from everthread.errors import UpstreamFailed, UpstreamFailure
from everthread.models.openai import OpenAI
from everthread.models.scripted import Scripted
from upstream import Upstream, calls, falls_silent, says, status

PROMPT = Prompt(model="m", messages=(say("user", "hello"),), options=(("temperature", b"0"),))


@pytest.fixture(params=["scripted", "openai"])
async def models(request: pytest.FixtureRequest, upstream: Upstream) -> AsyncIterator[dict[str, Model]]:
    """The same model three times: one that says two words, one that calls a tool, one that fails."""
    if request.param == "scripted":
        yield {
            "talks": Scripted("good morning"),
            "calls": Scripted(ToolCall("c1", "add", '{"a": 1}')),
            "fails": Scripted(UpstreamFailed()),
        }
        return
    asked = OpenAI(upstream.url, "k")
    plans = {"talks": says("good morning"), "calls": calls(("c1", "add", '{"a": 1}')), "fails": status(500)}

    class Planned:
        def __init__(self, name: str) -> None:
            self._name = name

        def stream(self, prompt: Prompt) -> object:
            upstream.plan.append(plans[self._name])
            return asked.stream(prompt)

        cards = asked.cards
        close = asked.close

    yield {name: Planned(name) for name in plans}  # type: ignore[misc]
    await asked.close()


async def answer(model: Model) -> list[ModelEvent]:
    async with aclosing(model.stream(PROMPT)) as events:
        return [event async for some in events for event in some]


async def test_an_answer_opens_speaks_ends_and_counts(models: dict[str, Model]) -> None:
    events = await answer(models["talks"])
    assert isinstance(events[0], Opened)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "good morning"
    assert [e.reason for e in events if isinstance(e, ChoiceEnded)] == ["stop"]
    assert any(isinstance(e, Usage) and e.completion > 0 for e in events)


async def test_a_tool_call_arrives_whole(models: dict[str, Model]) -> None:
    folding = Folding()
    for event in await answer(models["calls"]):
        folding.add(event)
    choice = folding.outcome(lambda: Usage(0, 0)).choices[0]
    assert choice.tool_calls == (ToolCall("c1", "add", '{"a": 1}'),)
    assert choice.finish == "tool_calls"


async def test_a_failure_is_raised_and_not_said(models: dict[str, Model]) -> None:
    with pytest.raises(UpstreamFailure):
        await answer(models["fails"])


async def test_it_says_which_models_there_are(models: dict[str, Model]) -> None:
    assert [card.id for card in await models["talks"].cards()]


async def test_closing_an_answer_early_stops_the_model(upstream: Upstream) -> None:
    model = OpenAI(upstream.url)
    upstream.plan.append(falls_silent(0.2))
    async with aclosing(model.stream(PROMPT)) as events:
        async for _ in events:
            break
    assert [e async for e in model.stream(PROMPT)], "and it can be asked again"
    await model.close()
