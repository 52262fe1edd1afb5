"""`everthread keys`: a key alone on its line, and its webhook."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from everthread.cli.main import main
from everthread.core import signature

Command = Callable[..., tuple[int, str, str]]
URL = "https://hooks.example.com/in/password"


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.setenv("EVERTHREAD_HOME", str(tmp_path / "home"))

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["keys", *words])
        return code, *capsys.readouterr()

    return run


def test_a_key_stands_alone_on_its_line_and_a_secret_that_was_made_on_the_next(keys: Command) -> None:
    code, out, _ = keys("create", "--webhook", URL)
    first, second = out.splitlines()
    assert code == 0
    assert re.fullmatch(r"et_[0-9a-f]{12}_[A-Za-z0-9-]+", first)
    label, _, secret = second.partition(": ")
    assert label == "webhook secret"
    assert signature.secret(secret) == secret
    assert keys("create")[1].count("\n") == 1


def test_a_secret_of_ones_own_is_not_repeated(keys: Command) -> None:
    _, out, _ = keys("create", "--webhook", URL, "--webhook-secret", "correct horse battery")
    assert out.count("\n") == 1
    assert "horse" not in out


def test_the_list_shows_where_a_webhook_is_and_nothing_that_may_be_secret(keys: Command) -> None:
    _, out, _ = keys("create", "--name", "bridge", "--webhook", URL)
    secret = out.splitlines()[1].partition(": ")[2]
    _, listed, _ = keys("list")
    assert "https://hooks.example.com " in listed
    assert "password" not in listed
    assert secret not in listed
    assert secret.removeprefix("whsec_") not in listed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--webhook", "http://127.0.0.1:9/"), "not on the public Internet"),
        (("--webhook", "ftp://example.com/"), "webhook"),
        (("--webhook", URL, "--webhook-secret", "short"), "secret"),
        (("--webhook-secret", "correct horse battery"), "--webhook"),
    ],
)
def test_a_webhook_that_the_server_would_not_call_makes_no_key(
    keys: Command, words: tuple[str, ...], said: str
) -> None:
    code, out, err = keys("create", *words)
    assert (code, out) == (1, "")
    assert said in err
    assert "There are no keys yet" in keys("list")[1]


def test_a_host_that_is_allowed_may_be_called(keys: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERTHREAD_WEBHOOK_HOSTS", "127.0.0.1:9")
    assert keys("create", "--webhook", "http://127.0.0.1:9/")[0] == 0
