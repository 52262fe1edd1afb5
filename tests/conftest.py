"""Fixtures: an upstream, a server in front of it, a client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings as property_tests

from everthread.core.ports import Clock
from front_door import Client, Everthread
from process import Process
from upstream import Upstream

property_tests.register_profile("untimed", deadline=None)  # how long one example takes says how busy a machine is
property_tests.load_profile("untimed")


@pytest.fixture(scope="session")
def shared_upstream() -> Iterator[Upstream]:
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture
def upstream(shared_upstream: Upstream) -> Upstream:
    shared_upstream.reset()
    return shared_upstream


@pytest.fixture(scope="session")
def server(shared_upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everthread]:
    everthread = Everthread(tmp_path_factory.mktemp("home"), shared_upstream.url)
    yield everthread
    everthread.stop()


@pytest.fixture
def client(server: Everthread, upstream: Upstream) -> Client:
    """Talks to a server that other tests use too: name sessions after the test."""
    return server.client


@pytest.fixture
def start(upstream: Upstream, tmp_path: Path) -> Iterator[Callable[..., Everthread]]:
    """Starts servers with settings of their own; each is stopped at the end."""
    running: list[Everthread] = []

    def starting(
        home: Path | None = None, *, upstream_url: str | None = None, clock: Clock | None = None, **settings: str
    ) -> Everthread:
        home = home or tmp_path / f"home{len(running)}"
        everthread = Everthread(home, upstream_url or upstream.url, clock, **settings)
        running.append(everthread)
        return everthread

    yield starting
    for everthread in running:
        everthread.stop()


@pytest.fixture
def process(upstream: Upstream, tmp_path: Path) -> Iterator[Process]:
    """A server in a process of its own, which can be killed."""
    with Process(tmp_path / "home", upstream_url=upstream.url, context_budget="1000000") as process:
        yield process


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A session id that no other test uses."""
    return str(request.node.name)[:200]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
