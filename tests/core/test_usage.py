"""Prices: read as they are written, and what tokens cost by them."""

from __future__ import annotations

import pytest

from everthread.core.usage import Price, Spent, cost, price_of, prices
from everthread.errors import Malformed


def spent(**more: int) -> Spent:
    amounts = dict.fromkeys(("requests", "prompt", "completion", "cached", "distilling", "searching"), 0)
    return Spent(of="", model="m", **{**amounts, **more})


def test_prices_are_read_as_they_are_written() -> None:
    assert prices(["gpt-4o=2.5/10", "a=b=0/0/0.5"]) == {"gpt-4o": Price(2.5, 10), "a=b": Price(0, 0, 0.5)}
    assert prices([]) == {}


@pytest.mark.parametrize("text", ["", "m", "m=1", "=1/2", "m=1/2/3/4", "m=a/b", "m=-1/2", "m=1/nan", "m=1/inf"])
def test_a_price_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(Malformed, match="per million tokens"):
        prices([text])


def test_a_name_stands_for_its_dated_versions_and_for_no_other_model() -> None:
    known = prices(["gpt-4o=2.5/10", "gpt-4o-2024-05-13=5/15"])
    assert price_of("gpt-4o-2024-08-06", known) == Price(2.5, 10)
    assert price_of("gpt-4o-20240806", known) == Price(2.5, 10)
    assert price_of("gpt-4o-2024-05-13", known) == Price(5, 15)
    assert price_of("gpt-4o-mini", known) is None


def test_cached_tokens_have_their_own_price_and_hidden_ones_that_of_the_prompt() -> None:
    took = spent(prompt=1000, completion=100, cached=400, distilling=20, searching=30)
    assert cost(took, Price(1e6, 0)) == pytest.approx(1050)
    assert cost(took, Price(1e6, 0, 0)) == pytest.approx(650)
    assert cost(took, Price(0, 1e6)) == pytest.approx(100)
