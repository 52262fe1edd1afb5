"""A model's server for many at once, and real server processes before it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from crowd import Serve
from trickle import Trickle

from bench.machine import allow_many_files
from process import Process


@pytest.fixture
def trickle() -> Iterator[Trickle]:
    allow_many_files()
    upstream = Trickle()
    yield upstream
    upstream.release()
    upstream.close()


@pytest.fixture
def serve(trickle: Trickle, tmp_path: Path) -> Iterator[Serve]:
    """Starts a server with settings of its own; it is stopped at the end."""
    running: list[Process] = []

    def starting(**settings: str) -> Process:
        given = {"upstream_url": trickle.url, "distil": "rules", "memory": "off", **settings}
        running.append(Process(tmp_path / f"home{len(running)}", **given))
        return running[-1]

    yield starting
    for process in running:
        assert process.stop() == 0, process.printed
