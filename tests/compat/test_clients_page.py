"""The page on clients names the versions that are pinned."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_versions_of_the_page_are_the_pinned_ones() -> None:
    page = (ROOT / "docs/clients.md").read_text()
    rows = re.findall(r"^\| `([^`]+)`(?: \((\w+)\))? \| ([\w.]+) \|", page, re.MULTILINE)
    lock = (ROOT / "requirements/compat.lock").read_text()
    python = dict(re.findall(r"^([\w-]+)==([\w.]+)", lock, re.MULTILINE))
    node = json.loads((ROOT / "tests/compat/node/package.json").read_text())["devDependencies"]
    assert rows
    for name, language, version in rows:
        pinned = node if language == "Node" or name not in python else python
        assert (name, pinned[name]) == (name, version)
