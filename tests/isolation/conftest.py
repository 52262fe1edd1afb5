"""A server with settled tenants, shared by all that is asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from neighbours import ENDLESS, Town, settle
from statements import Statements

from belongings import Keyring
from front_door import Everthread
from upstream import Upstream
from webhook_receiver import Receiver


@pytest.fixture(scope="package")
def own_upstream() -> Iterator[Upstream]:
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture(scope="package")
def listener() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(scope="package")
def town(own_upstream: Upstream, listener: Receiver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    home: Path = tmp_path_factory.mktemp("town")
    patient = {"webhook_hosts": "127.0.0.1", "context_budget": "2000", "first_byte_timeout": "900"}
    with Statements.of_all_connections() as statements:
        server = Everthread(home, own_upstream.url, **patient)
    try:
        town = settle(server.url, Keyring(server.settings), own_upstream, listener, statements)
        yield town
        town.owner.client.send("POST", f"/v1/runs/{town.theirs['run_id'][ENDLESS]}/stop", b"")
    finally:
        server.stop()
