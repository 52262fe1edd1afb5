"""Who lives on a server: one who has everything, two strangers who have the same, and newcomers without anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from probes import lookalikes
from statements import Statements

from belongings import OWNERS, STRANGERS, Belongings, Keyring, furnish
from everthread.core.view import Hook
from front_door import Client
from upstream import Upstream
from webhook_receiver import SECRET, Receiver

ENDLESS = "a run that is not over"
AT_ONCE = 200  # newcomers' keys that are made together
numbers = count()


@dataclass
class Town:
    """Who lives on a server."""

    url: str
    keys: Keyring
    upstream: Upstream
    receiver: Receiver
    statements: Statements  # that its store is asked
    owner: Belongings
    knowing: Belongings  # a stranger who has got hold of the owner's names
    guessing: Belongings  # a stranger who makes names up
    newcomers: Iterator[Client]  # each of a tenant of its own, with nothing

    def __post_init__(self) -> None:
        self.theirs = self.owner.named
        self.nobodys = lookalikes(self.owner.named)
        self.secrets = [*self.owner.words, *self.owner.names, *self.owner.secrets]


def settle(
    url: str, keys: Keyring, upstream: Upstream, receiver: Receiver, statements: Statements | None = None
) -> Town:
    hook = {"url": receiver.url, "secret": SECRET}
    (owners,) = keys.make("owner", hook=Hook(receiver.url, SECRET))
    knows, guesses = keys.make("knowing", "guessing")
    return Town(
        url,
        keys,
        upstream,
        receiver,
        statements or Statements(),
        furnish(Client(url, owners), upstream, OWNERS, owner="owner", hook=hook),
        furnish(Client(url, knows), upstream, STRANGERS, owner="knows", hook=hook),
        furnish(Client(url, guesses), upstream, STRANGERS, owner="guess", hook=hook),
        newcomers(url, keys),
    )


def newcomers(url: str, keys: Keyring) -> Iterator[Client]:
    while True:
        for secret in keys.make(*(f"newcomer-{next(numbers)}" for _ in range(AT_ONCE))):
            yield Client(url, secret)
