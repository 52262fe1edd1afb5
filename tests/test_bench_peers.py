"""`make bench-peers`: what it makes of figures; the figures here are fixed."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import server
from bench.load import Plan, Sample
from bench.machine import Machine
from bench.peers import install, page, plot, table
from bench.peers.__main__ import compared
from bench.peers.install import NotInstalled
from bench.peers.plot import Chart, Series
from bench.peers.results import Failure, Results, Standing, Turn
from bench.peers.rounds import Length
from bench.peers.servers import About
from bench.scenario import Cores, Round
from bench.upstream import answer_to

SVG = "{http://www.w3.org/2000/svg}"
MS = 1_000_000


def sampled(turns: int, p50: float) -> list[Round]:
    sample = Sample(seconds=2.0, turns=turns, events=turns * 10, p50=p50, p99=p50 * 2, first_p50=p50 / 2)
    return [Round(sample, took=2.0, cores=Cores(0.1, 0.1, 0.5, 0.75))]


def results(*, failures: tuple[Failure, ...] = ()) -> Results:
    speeds = {"direct": sampled(2000, 0.5), "everthread": sampled(1000, 1.5), "slow": sampled(10, 200.5)}
    return Results(
        machine=Machine("2026-11-16 12:00 UTC", "a CPU", 2, "3.11", 50.0, "3.40", "Linux", "here", "ext4", 0.3),
        rounds=1,
        seconds=2.0,
        took=60.0,
        about=[About("slow", "Slow One", "2.0", stateless=True), About("everthread", "Everthread", "1.0")],
        plans={"json-1": speeds, "json-32": {}, "json-128": {}, "sse-1": {}, "sse-events": {}},
        standing={
            "everthread": Standing(ready_ms=[900.0], idle_kb=[140 * 1024]),
            "slow": Standing(ready_ms=[3600.0], idle_kb=[70 * 1024]),
        },
        session={
            "direct": [Turn(MS)] * 12,
            "everthread": [Turn(3 * MS, tokens=100 + turn, messages=3) for turn in range(12)],
            "slow": [Turn((100 + turn) * MS, tokens=1000 * turn, messages=2 * turn + 1) for turn in range(8)],
        },
        failures=list(failures),
    )


def row(what: str) -> list[str]:
    return next(cells for cells in table.cells(results()) if cells[0] == what)


def test_everthread_comes_first_and_a_peers_figure_says_how_far_behind_it_is() -> None:
    assert table.cells(results())[0] == ["", "direct", "Everthread", "Slow One"]
    assert row("JSON, 1 client: turns/s") == ["JSON, 1 client: turns/s", "1,000", "500", "5.00 (100x)"]
    assert row("JSON, 1 client: added p50, ms")[2:] == ["1.00", "200 (200x)"]
    assert row("session, turn 1: messages in the prompt")[2:] == ["3.00", "1.00 (0.333x)"]


def test_where_the_peer_is_ahead_the_table_says_so() -> None:
    assert row("resident memory idle, MB")[2:] == ["140", "70.0 (0.5x)"]


def test_a_peer_that_left_the_session_has_no_figure_for_its_last_turn() -> None:
    assert row("session, turn 12: prompt tokens")[2:] == ["111", "-"]
    assert any("Slow One 8; the others 12" in note for note in table.notes(results()))


def test_a_failure_is_named_with_the_first_line_of_its_error() -> None:
    found = results(failures=(Failure("slow", "json-32", "WrongAnswer: not a 200\nHTTP/1.1 500 and so on"),))
    assert "FAILED: slow, json-32: WrongAnswer: not a 200" in table.printed(found)
    assert "and so on" not in table.printed(found)


def test_only_everthreads_own_failure_fails_the_run() -> None:
    assert compared(results(failures=(Failure("slow", "start", "NotReady"),)))
    assert not compared(results(failures=(Failure("everthread", "start", "NotReady"),)))


def test_a_machine_with_other_things_to_do_is_told_of() -> None:
    quiet = [Round(sampled(1, 1.0)[0].sample, 2.0, Cores(0.1, 0.1, 0.5, 0.7))]
    found = results()
    assert not any(note.startswith("WARNING") for note in table.notes(found))
    found.plans["json-32"]["slow"] = [*quiet, Round(quiet[0].sample, 2.0, Cores(0.1, 0.1, 0.5, 1.9))]
    assert "WARNING: other processes used up to 1.20 cores. Measure again on a quiet machine." in table.notes(found)


# --- the page -------------------------------------------------------------------------------------


def test_the_page_is_written_between_its_marks_and_nowhere_else(tmp_path: Path) -> None:
    there = tmp_path / "performance.md"
    there.write_text(f"Before.\n\n{page.BEGIN}\n\nold\n\n{page.END}\n\nAfter.\n")
    page.write(results(), tmp_path)
    once = there.read_text()
    page.write(results(), tmp_path)
    assert there.read_text() == once
    assert once.startswith("Before.\n\n<!--")
    assert once.endswith("-->\n\nAfter.\n")
    assert "old" not in once
    assert "| JSON, 1 client: turns/s | 1,000 | 500 | 5.00 (100x) |" in once
    for name in (page.LATENCY, page.TOKENS):
        assert f"(performance/{name})" in once
        ElementTree.parse(tmp_path / "performance" / name)


def test_the_projects_own_page_has_the_marks() -> None:
    text = (server.ROOT / "docs" / "performance.md").read_text()
    assert page.replaced(text, "new") != text


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "performance.md").write_text("Nothing to see.")
    with pytest.raises(page.NoPlace):
        page.write(results(), tmp_path)
    assert (tmp_path / "performance.md").read_text() == "Nothing to see."


# --- the plots ------------------------------------------------------------------------------------


def drawn(*series: Series, log: bool = False) -> ElementTree.Element:
    chart = Chart("A title", "ms & more", list(series), "log" if log else "even")
    return ElementTree.fromstring(plot.svg(chart))


def points(picture: ElementTree.Element, number: int) -> list[tuple[float, float]]:
    path = next(path for path in picture.iter(f"{SVG}path") if path.get("class") == f"line{number}")
    pairs = (pair.split(",") for pair in path.attrib["d"].removeprefix("M").split(" L"))
    return [(float(x), float(y)) for x, y in pairs]


@pytest.mark.parametrize("log", [False, True])
def test_a_line_has_a_point_for_each_turn_and_rises_with_its_values(log: bool) -> None:
    found = points(drawn(Series("one", [1.0, 10.0, 100.0, 4000.0]), log=log), 0)
    assert len(found) == 4
    assert all(x1 < x2 and y1 > y2 for (x1, y1), (x2, y2) in itertools.pairwise(found))


def test_on_a_logarithmic_scale_ten_times_as_much_is_one_step() -> None:
    (_, first), (_, second), (_, third) = points(drawn(Series("one", [1.0, 10.0, 100.0]), log=True), 0)
    assert first - second == pytest.approx(second - third, abs=0.2)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("values", [[0.0], [0.0, 0.0], [-1.0, 0.2], [0.003, 70_000.0], [5.0] * 300])
def test_nothing_lies_outside_the_picture(values: list[float], log: bool) -> None:
    picture = drawn(Series("one", values), Series("none", []), log=log)
    assert all(0 <= x <= plot.WIDTH and 0 <= y <= plot.HEIGHT for x, y in points(picture, 0))
    assert len(list(picture.iter(f"{SVG}path"))) == 1


def test_names_of_lines_that_end_together_do_not_lie_upon_each_other() -> None:
    picture = drawn(*(Series(name, [1.0, 50.0]) for name in ("one", "two", "three")))
    names = [each for each in picture.iter(f"{SVG}text") if (each.get("class") or "").startswith("name")]
    heights = sorted(float(each.attrib["y"]) for each in names)
    assert [each.text for each in names] == ["one", "two", "three"]
    assert all(below - above >= plot.LABEL_GAP - 0.1 for above, below in itertools.pairwise(heights))


def test_one_slow_turn_does_not_show_in_a_line_of_medians() -> None:
    assert plot.smoothed([1.0] * 10 + [900.0] + [1.0] * 10) == [1.0] * 21


# --- measuring ------------------------------------------------------------------------------------


def test_a_slow_servers_round_goes_on_until_there_are_answers_but_not_for_ever() -> None:
    plan = Plan(model="bench-4", stream=False, clients=16)
    length = Length(seconds=2.0, most=15.0)
    assert not length.is_over(1.9, 10_000, plan)
    assert not length.is_over(14.0, 15, plan)
    assert length.is_over(2.0, 16, plan)
    assert length.is_over(15.0, 0, plan)


def test_the_upstream_answers_the_same_words_alike_whatever_a_server_put_before_them() -> None:
    said = "What did Marek say about the harbour lights when you met in Porto?"
    assert answer_to(f"<memory>It is Tuesday.</memory>\n{said}") == answer_to(said)
    assert answer_to(said) != answer_to(said.replace("Porto", "Turin"))


def test_an_index_that_is_not_reached_is_said_clearly() -> None:
    nowhere = ["--isolated", "--no-cache-dir", "--retries=0", "--index-url=http://127.0.0.1:9/"]
    command = [sys.executable, "-m", "pip", "install", *nowhere, "a-package-that-is-nowhere"]
    with pytest.raises(NotInstalled, match="could not be installed: is the package index reached") as caught:
        install.run("nobody", command)
    assert "a-package-that-is-nowhere" in str(caught.value)
