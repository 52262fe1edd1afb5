"""What turns took: tokens and their price, by API key, session, job, model and day."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Literal, Protocol

import msgspec

from everthread.core.ids import KeyId, SessionId, StepId, Tenant
from everthread.core.turn import Step
from everthread.errors import Malformed

By = Literal["key", "session", "job", "day", "model"]

MILLION = 1_000_000
DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")  # how a model's name ends when it says which version answered


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What some turns took, all of one model."""

    of: str  # the key, session, job, day or model that it is of; "": none is known
    model: str
    requests: int
    prompt: int
    completion: int
    cached: int  # of the prompt
    distilling: int  # hidden: writing a session's log, and drawing claims
    searching: int  # hidden: looking things up before the answer

    @property
    def hidden(self) -> int:
        return self.distilling + self.searching


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which turns, and by what they are told apart."""

    by: By
    since: date
    until: date  # not included
    keys: tuple[KeyId, ...] | None = None  # None: all of the tenant
    session: SessionId | None = None  # the id that its conversation began with
    job: str | None = None
    after: str | None = None
    limit: int = 100


class Accounts(Protocol):
    """What turns took. Those that are kept are counted with their step; nothing is visible across tenants."""

    async def add(self, tenant: Tenant, key: KeyId | None, step: Step) -> None:
        """Counts a turn of which nothing else is kept."""
        ...

    async def hidden(self, tenant: Tenant, of: StepId, *, model: str, tokens: int, at: datetime) -> None:
        """Counts a call that no client asked for, where a step is counted that it was about."""
        ...

    async def spent(self, tenant: Tenant, wanted: Wanted) -> tuple[tuple[Spent, ...], bool]:
        """One page, in the order of names, several models of one name after each other; and whether there are more."""
        ...

    async def total(self, tenant: Tenant, wanted: Wanted) -> tuple[Spent, ...]:
        """All of it, by model, also what belongs to sessions that are gone."""
        ...

    async def tokens(self, tenant: Tenant, key: KeyId, day: date) -> int:
        """All that a key took in a day."""
        ...


# --- prices ---


class Price(msgspec.Struct, frozen=True):
    """Of a million tokens."""

    prompt: float
    completion: float
    cached: float | None = None  # None: as the rest of the prompt


Prices = Mapping[str, Price]


def prices(given: Iterable[str]) -> dict[str, Price]:
    """`model=prompt/completion` or `model=prompt/completion/cached`, each per million tokens."""
    found: dict[str, Price] = {}
    for text in given:
        name, _, amounts = text.rpartition("=")
        parts = amounts.split("/")
        try:
            numbers = [float(part) for part in parts]
        except ValueError:
            numbers = []
        if not name.strip() or len(numbers) not in {2, 3} or not all(0 <= number < MILLION for number in numbers):
            raise Malformed(f"A price is model=prompt/completion per million tokens, as gpt-4o=2.5/10, not {text!r}.")
        found[name.strip()] = Price(*numbers)
    return found


def price_of(model: str, known: Prices) -> Price | None:
    """The model's own, or that of its name without the date of its version."""
    return known.get(model) or known.get(DATED.sub("", model))


def cost(spent: Spent, price: Price) -> float:
    """Hidden tokens are nearly all prompt, and are priced so."""
    cached = price.prompt if price.cached is None else price.cached
    plain = max(0, spent.prompt - spent.cached) + spent.hidden
    return (plain * price.prompt + spent.cached * cached + spent.completion * price.completion) / MILLION
