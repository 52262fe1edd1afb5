"""Which model answers: names, retries, fallbacks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from everthread.core.messages import say
from everthread.core.turn import Prompt, TextDelta
from everthread.errors import (
    Failure,
    ModelNotFound,
    RejectedUpstream,
    UpstreamFailed,
    UpstreamRateLimited,
    UpstreamTimeout,
    UpstreamUnauthorized,
    UpstreamUnreachable,
)
from everthread.models.pool import Pool
from everthread.models.scripted import Scripted


class Clock:
    time = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time


class Trial:
    """A pool around a scripted model, with pauses that are noted instead of slept."""

    def __init__(self, *lines: str | Failure, default: str | None = "first", fallbacks: tuple[str, ...] = ()) -> None:
        self.model = Scripted(*lines)
        self.pauses: list[float] = []
        self.clock = Clock()
        self.pool = Pool(
            self.model, clock=self.clock, default=default, fallbacks=fallbacks, pause=self._pause, chance=lambda: 0.5
        )

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def ask(self, model: str = "") -> str:
        prompt = Prompt(model=model, messages=(say("user", "hi"),))
        return "".join([e.text async for some in self.pool.stream(prompt) for e in some if isinstance(e, TextDelta)])

    @property
    def asked(self) -> list[str]:
        return [prompt.model for prompt in self.model.prompts]


@pytest.mark.parametrize("failure", [UpstreamUnreachable(), UpstreamRateLimited(), UpstreamFailed()])
async def test_what_may_pass_is_tried_twice_more(failure: Failure) -> None:
    trial = Trial(failure, failure, "at last")
    assert await trial.ask() == "at last"
    assert trial.pauses == [0.2, 0.4]


async def test_and_then_it_is_told() -> None:
    trial = Trial(UpstreamFailed())
    with pytest.raises(UpstreamFailed):
        await trial.ask()
    assert trial.asked == ["first"] * 3


@pytest.mark.parametrize("failure", [RejectedUpstream(), UpstreamUnauthorized(), UpstreamTimeout(), ModelNotFound()])
async def test_what_will_not_pass_is_told_at_once(failure: Failure) -> None:
    trial = Trial(failure, "never")
    with pytest.raises(type(failure)):
        await trial.ask()
    assert len(trial.asked) == 1


async def test_a_server_that_asks_for_a_moment_gets_it_and_one_that_asks_for_long_does_not() -> None:
    trial = Trial(UpstreamRateLimited(retry_after=3), "thanks")
    assert await trial.ask() == "thanks"
    assert trial.pauses == [3]
    patient = Trial(UpstreamRateLimited(retry_after=120), "never")
    with pytest.raises(UpstreamRateLimited) as limited:
        await patient.ask()
    assert limited.value.retry_after == 120


async def test_fallbacks_are_asked_in_turn() -> None:
    trial = Trial(*[UpstreamFailed()] * 4, "from the third", fallbacks=("second", "third"))
    assert await trial.ask() == "from the third"
    assert trial.asked == ["first", "first", "first", "second", "third"]


@pytest.mark.parametrize("alias", ["", "hermes", "hermes-agent"])
async def test_an_alias_means_the_default(alias: str) -> None:
    trial = Trial("hi", default="the-model")
    await trial.ask(alias)
    assert trial.asked == ["the-model"]


async def test_without_a_default_it_is_the_first_that_the_server_lists() -> None:
    trial = Trial("hi", default=None)
    await trial.ask("hermes")
    await trial.ask("another")
    assert trial.asked == ["scripted", "another"]


async def test_the_list_of_models_is_kept_for_a_while() -> None:
    trial = Trial()
    first = await trial.pool.cards()
    assert [card.id for card in first] == ["hermes", "hermes-agent", "scripted"]
    assert await trial.pool.cards() == first
    trial.clock.time += timedelta(hours=1)
    assert await trial.pool.cards() == first
    await trial.pool.close()
