"""The long crash loop of `make crash`, in its shortest form."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent


def test_a_short_loop_of_kills_under_load_of_every_kind_breaks_no_promise() -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "crash", "--kills", "6", "--minutes", "1"]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = {
        name.strip(): int(number.replace(",", ""))
        for name, number in re.findall(r"\| (.+?)\| +([\d,]+) \|", done.stdout)
    }
    assert counted["turns acknowledged"] > 20, "the load was real"
    assert counted["kills"] >= 2
