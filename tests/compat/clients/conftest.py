"""Fixtures: a reader, Everthread in front of it as a process of its own, and the address of that."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from openai import AsyncOpenAI, OpenAI

from compat.reader import Reader

TESTS = Path(__file__).parents[2]
PYTHON = os.environ.get("EVERTHREAD_PYTHON") or str(TESTS.parent / ".venv/bin/python")


@dataclass(frozen=True)
class Door:
    """Where Everthread is reached."""

    url: str
    key: str


@contextmanager
def opened(home: Path, upstream: str, *settings: str) -> Iterator[Door]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("EVERTHREAD_", "OPENAI_"))}
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        [PYTHON, TESTS / "compat/serve.py", str(home), upstream, *settings],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**ours, "PYTHONPATH": path},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the server did not start"
        try:
            yield Door(**json.loads(line))
        finally:
            process.stdin.close()
            process.wait(40)


@pytest.fixture(scope="session")
def shared_reader() -> Iterator[Reader]:
    reader = Reader()
    yield reader
    reader.close()


@pytest.fixture
def reader(shared_reader: Reader) -> Reader:
    shared_reader.reset()
    return shared_reader


@pytest.fixture(scope="session")
def door(shared_reader: Reader, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with opened(tmp_path_factory.mktemp("home"), shared_reader.url) as door:
        yield door


@pytest.fixture
def ai(door: Door) -> Iterator[OpenAI]:
    with OpenAI(base_url=door.url, api_key=door.key, max_retries=0) as client:
        yield client


@pytest.fixture
async def async_ai(door: Door) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=door.url, api_key=door.key, max_retries=0) as client:
        yield client


@pytest.fixture
def session(request: pytest.FixtureRequest) -> dict[str, str]:
    """The header that makes a conversation persistent, with an id that no other test uses."""
    return {"X-Hermes-Session-Id": str(request.node.nodeid).encode("ascii", "replace").decode()[-200:]}
