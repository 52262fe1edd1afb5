"""`make red` can be run: what it breaks is where it says, and the page of guarantees tells of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from red.__main__ import broken
from red.sabotages import SABOTAGES, Sabotage

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda sabotage: sabotage.what)
def test_a_sabotage_finds_its_place_and_its_test(sabotage: Sabotage) -> None:
    texts: dict[str, str] = {}
    for edit in sabotage.edits:
        whole = texts.get(edit.file) or (ROOT / "src" / "everthread" / edit.file).read_text()
        texts[edit.file] = broken(whole, edit)
    for file, text in texts.items():
        compile(text, file, "exec")
    file, _, name = sabotage.test.partition("::")
    assert f"def {name}(" in (ROOT / file).read_text()


def test_the_page_of_guarantees_tells_what_is_broken_and_which_test_sees_it() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text()
    for sabotage in SABOTAGES:
        row = f"| {sabotage.promise} | {sabotage.what} | `{sabotage.test}` |"
        assert row in page, row
