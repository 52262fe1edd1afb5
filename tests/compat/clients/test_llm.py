"""The `llm` command line, configured as its users do: a file of models, one header, one key."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from llm.cli import cli

from conftest import Door

Llm = Callable[..., str]


@pytest.fixture(params=["chat", "responses"])
def home(request: pytest.FixtureRequest, door: Door, session: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """A home for `llm`, in which the model `everthread` has a session and `stranger` has none."""
    model = {
        "model_name": "hermes",
        "api_base": door.url,
        "api_key_name": "everthread",
        "responses": request.param == "responses",
        "supports_tools": True,
        "supports_schema": True,
    }
    models = [{"model_id": "everthread", "headers": session, **model}, {"model_id": "stranger", **model}]
    (tmp_path / "extra-openai-models.yaml").write_text(json.dumps(models))  # JSON is YAML
    (tmp_path / "keys.json").write_text(json.dumps({"everthread": door.key}))
    return {"LLM_USER_PATH": str(tmp_path)}


@pytest.fixture
def llm(home: dict[str, str]) -> Llm:
    def run(*arguments: str) -> str:
        done = CliRunner().invoke(cli, ["prompt", *arguments], env=home, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout.strip()

    return run


@pytest.mark.parametrize("home", ["chat"], indirect=True)
def test_the_session_remembers_between_runs_of_the_command(llm: Llm, home: dict[str, str]) -> None:
    llm("-m", "everthread", "My name is Alex.")
    assert llm("-m", "everthread", "What is my name?") == "Your name is Alex."
    assert llm("-m", "everthread", "--no-stream", "What is my name?") == "Your name is Alex."
    command = [sys.executable, "-m", "llm", "-m", "everthread", "What is my name?"]
    done = subprocess.run(command, env={**os.environ, **home}, capture_output=True, text=True, check=True, timeout=50)
    assert done.stdout.strip() == "Your name is Alex."


@pytest.mark.parametrize("home", ["responses"], indirect=True)
def test_with_responses_it_asks_that_nothing_be_stored_and_nothing_is(llm: Llm) -> None:
    llm("-m", "everthread", "My name is Alex.")
    assert llm("-m", "everthread", "What is my name?") == "I do not know your name."


def test_its_own_conversations_work_without_a_session(llm: Llm) -> None:
    llm("-m", "stranger", "My name is Alex.")
    assert llm("-c", "What is my name?") == "Your name is Alex."


def test_its_tools_are_called(llm: Llm) -> None:
    code = "def get_weather(city: str) -> str:\n    return 'snow in ' + city\n"
    answer = llm("-m", "everthread", "--functions", code, "How is the weather in Oslo?")
    assert answer.endswith("The tools say: snow in Oslo")


def test_its_schemas_are_filled(llm: Llm) -> None:
    answer = llm("-m", "everthread", "--schema", "name, age int", "My name is Alex. My age is 34.")
    assert json.loads(answer) == {"name": "Alex", "age": 34}
