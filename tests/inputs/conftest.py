"""A server that bad requests are sent to, and good names for them to begin with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from target import Target

from belongings import STRANGERS, furnish
from front_door import Everthread
from upstream import Upstream
from webhook_receiver import SECRET, Receiver


@pytest.fixture(scope="package")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    upstream, receiver = Upstream(), Receiver()
    settings = {"webhook_hosts": "127.0.0.1", "context_budget": "2000"}
    server = Everthread(tmp_path_factory.mktemp("target"), upstream.url, **settings)
    try:
        hook = {"url": receiver.url, "secret": SECRET}
        yield Target(server.url, furnish(server.client, upstream, STRANGERS, owner="ours", hook=hook), upstream)
    finally:
        server.stop()
        receiver.close()
        upstream.close()
