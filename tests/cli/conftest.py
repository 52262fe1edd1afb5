"""Commands in a home of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from everthread.cli.main import main
from front_door import KEY, Everthread

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `everthread ...` in that home or in another, beside a server if one is given: the exit code, what it prints,
    what it says besides."""
    monkeypatch.setenv("EVERTHREAD_API_KEY", KEY)
    monkeypatch.setenv("EVERTHREAD_PORT", "0")

    def ran(*words: object, server: Everthread | None = None, into: Path | None = None) -> tuple[int, str, str]:
        monkeypatch.setenv("EVERTHREAD_HOME", str(into or home))
        if server is not None:
            monkeypatch.setenv("EVERTHREAD_PORT", str(urlsplit(server.url).port))
        capsys.readouterr()
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return ran
