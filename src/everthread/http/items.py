"""Items in pages, as OpenAI's lists are turned: `after` an item, at most `limit`, the newest or the oldest first."""

from __future__ import annotations

from collections.abc import Sequence

from everthread.core.transcript import Order
from everthread.errors import Malformed
from everthread.http.site import Call
from everthread.wire.responses import reply
from everthread.wire.responses.shown import Shown

USUAL = 20
MOST = 100


def limit(call: Call) -> int:
    text = call.query.get("limit")
    if not text:
        return USUAL
    return counted(text, "limit", MOST)


def counted(text: str, param: str, most: int) -> int:
    """How many are asked for: at least one."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 4 and 1 <= int(text) <= most):
        raise Malformed(f"{param} must be a whole number from 1 to {most}, not {text[:100]!r}.", param=param)
    return int(text)


def order(call: Call, default: Order = "desc") -> Order:
    text = call.query.get("order") or default
    if text == "asc":
        return "asc"
    if text == "desc":
        return "desc"
    raise Malformed(f"order must be asc or desc, not {text[:100]!r}.", param="order")


def beyond(items: Sequence[Shown], after: str) -> Sequence[Shown]:
    """The items that follow the one of this name."""
    for place, item in enumerate(items, start=1):
        if item["id"] == after:
            return items[place:]
    raise unknown_after(after)


def unknown_after(name: str) -> Malformed:
    return Malformed(f"after names no item of this list: {name[:100]!r}.", param="after")


def page(call: Call, items: Sequence[Shown], default: Order = "desc") -> bytes:
    """One page of items that are all at hand, oldest first."""
    rest = items if order(call, default) == "asc" else items[::-1]
    if after := call.query.get("after"):
        rest = beyond(rest, after)
    most = limit(call)
    return reply.item_page(rest[:most], more=len(rest) > most)
