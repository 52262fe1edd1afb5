"""What docs/clients.md shows is what works."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from llm.cli import cli

from conftest import TESTS, Door

PAGE = (TESTS.parent / "docs/clients.md").read_text()


def snippets(language: str, door: Door) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return [code.replace("http://127.0.0.1:8642/v1", door.url).replace("et_...", door.key) for code in found]


@pytest.mark.parametrize("which", range(4), ids=["openai", "agents", "langchain", "pydantic-ai"])
def test_each_snippet_remembers_the_name(door: Door, which: int) -> None:
    command = [sys.executable, "-c", snippets("python", door)[which]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    assert done.stdout == "Your name is Alex.\n", done.stderr


def test_the_models_file_of_llm_remembers_the_name(door: Door, tmp_path: Path) -> None:
    (models,) = snippets("yaml", door)
    assert yaml.safe_load(models)
    (tmp_path / "extra-openai-models.yaml").write_text(models)
    (tmp_path / "keys.json").write_text(f'{{"everthread": "{door.key}"}}')
    for text in ("My name is Alex.", "What is my name?"):
        done = CliRunner().invoke(cli, ["-m", "everthread", text], env={"LLM_USER_PATH": str(tmp_path)})
    assert done.stdout.strip() == "Your name is Alex."
