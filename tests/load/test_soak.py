"""The long soak of `make soak`, in its shortest form, and the line that it draws."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from soak.gauge import Row, grown, verdicts

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
@pytest.mark.long
def test_a_server_under_mixed_load_stays_as_it_is() -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "soak", "--minutes", "0.35", "--pace", "4", "--memory", "off"]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert not re.findall(r"^(.+?) +NOT FLAT", done.stdout, re.MULTILINE), done.stdout
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^memory, MB +flat", done.stdout, re.MULTILINE)
    counted = {
        name.strip(): int(number.replace(",", ""))
        for name, number in re.findall(r"\| (\D+?)\| +([\d,]+) \|", done.stdout)
    }
    for what in ("turns acknowledged", "runs completed", "rotations", "streams left in the middle"):
        assert counted[what] > 5, f"the load was real: {what}"
    assert counted["faults of the model's server"] > 5


def row(minute: int, **figures: float) -> Row:
    usual: dict[str, float] = {
        "p50": 5,
        "p99": 20,
        "direct": 2,
        "cpu": 4,
        "others": 0.1,
        "memory": 300,
        "at_hand": 9,
        "wal": 4,
    }
    counts: dict[str, int] = {"turns": 1000, "files": 30, "threads": 8, "tasks": 10}
    return Row(minute=minute, **{**usual, **counts, **figures})  # type: ignore[arg-type]


def grew(rows: list[Row], *, minutes: float = 30) -> set[str]:
    return {verdict.bound.figure for verdict in verdicts(rows, minutes=minutes) if not verdict.flat}


def test_what_only_trembles_is_flat() -> None:
    chance = random.Random(1)
    assert not grew([row(n, memory=300 + chance.gauss(0, 4), p50=chance.uniform(3, 9)) for n in range(30)])


def test_what_grows_while_it_warms_up_is_flat() -> None:
    assert not grew([row(n, memory=min(300, 150 + 15 * n)) for n in range(30)])


@pytest.mark.parametrize(
    ("figure", "first", "each"),
    [("memory", 300, 1.0), ("files", 30, 1), ("threads", 8, 0.5), ("tasks", 10, 2), ("wal", 4, 1), ("cpu", 4, 0.2)],
)
def test_what_grows_all_the_time_is_not_flat(figure: str, first: float, each: float) -> None:
    judged = "beside" if figure == "memory" else figure
    assert grew([row(n, **{figure: first + each * n}) for n in range(30)]) == {judged}


def test_what_is_at_hand_may_grow_and_has_bounds_of_its_own() -> None:
    assert not grew([row(n, memory=300 + n, at_hand=9 + n) for n in range(30)])


def test_latency_is_held_against_the_way_without_the_server() -> None:
    slower = [row(n, p50=5 + n / 2) for n in range(30)]
    assert grew(slower) == {"ratio"}
    assert not grew([row(n, p50=5 + n / 2, direct=2 + n / 5) for n in range(30)]), "the machine became slower"
    busy = [row(n, p50=5 + n / 2, others=1.5) for n in range(30)]
    assert not grew(busy), "a machine that is busy with other things tells nothing of times"
    assert not grew(slower, minutes=1), "so short a time tells nothing of times"


def test_one_odd_value_does_not_tilt_the_line() -> None:
    assert grown([5.0] * 10 + [500.0]) == 0
    assert grown([float(n) for n in range(11)]) == 10
