"""What turns took, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import msgspec

from everthread.core.usage import By, Prices, Spent, Wanted, cost, price_of

NAMES: dict[By, str] = {"key": "key", "session": "session_id", "job": "job_id", "day": "day", "model": "model"}


def encode(wanted: Wanted, page: Sequence[Spent], total: Sequence[Spent], *, more: bool, prices: Prices) -> bytes:
    name = NAMES[wanted.by]
    rows = [
        {"object": "hermes.usage", name: of or None, **summed(tuple(some), prices)}
        for of, some in groupby(page, key=lambda spent: spent.of)
    ]
    return msgspec.json.encode(
        {
            "object": "list",
            "by": wanted.by,
            "since": wanted.since,
            "until": wanted.until,
            "data": rows,
            "total": summed(total, prices),
            "has_more": more,
        }
    )


def summed(some: Sequence[Spent], prices: Prices) -> dict[str, Any]:
    """Several models together; the cost is of those that have a price."""
    prompt, completion = sum(each.prompt for each in some), sum(each.completion for each in some)
    hidden = sum(each.hidden for each in some)
    priced = [(each, price) for each in some if (price := price_of(each.model, prices)) is not None]
    return {
        "requests": sum(each.requests for each in some),
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "cached_tokens": sum(each.cached for each in some),
        "hidden_tokens": {
            "distilling": sum(each.distilling for each in some),
            "searching": sum(each.searching for each in some),
        },
        "total_tokens": prompt + completion + hidden,
        "cost": round(sum(cost(each, price) for each, price in priced), 9) if prices else None,
        "unpriced_requests": sum(each.requests for each in some) - sum(each.requests for each, _ in priced)
        if prices
        else None,
    }
