"""Writes the figures into docs/performance.md, between two marks, and the plots beside it."""

from __future__ import annotations

from pathlib import Path

from bench.peers import plot, table
from bench.peers.plot import Chart, Series, smoothed
from bench.peers.results import Results
from bench.server import ROOT

BEGIN = "<!-- written by make bench-peers ARGS=--write-docs -->"
END = "<!-- until here -->"
LATENCY = "latency-by-turn.svg"
TOKENS = "prompt-tokens-by-turn.svg"


class NoPlace(Exception):
    """The page has no marks to write between."""


def charts(results: Results) -> dict[str, Chart]:
    talked = [about for about in table.columns(results) if results.session.get(about.name)]
    if not talked:
        return {}
    whole = [about.title for about in talked if about.stateless]
    return {
        LATENCY: Chart(
            "Added latency by turn",
            f"ms more than the upstream itself takes, on a logarithmic scale; median of {plot.SMOOTH} turns",
            [Series(about.title, smoothed(table.added_ms(results, about.name))) for about in talked],
            "log",
        ),
        TOKENS: Chart(
            "Prompt tokens by turn",
            "; ".join(
                ["what the upstream is sent, tools included", *(f"clients of {name} send everything" for name in whole)]
            ),
            [Series(about.title, [float(turn.tokens) for turn in results.session[about.name]]) for about in talked],
        ),
    }


def part(results: Results) -> str:
    lines = [*table.heading(results), *(f"- {note}" for note in table.notes(results)), "", table.markdown(results)]
    heading, rest = "\n".join(lines[:2]), "\n".join(lines[2:])
    pictures = [f"![{chart.title}, {chart.about}](performance/{name})" for name, chart in charts(results).items()]
    return "\n\n".join([heading, rest, *pictures])


def replaced(page: str, new: str) -> str:
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise NoPlace(f"there is no {BEGIN} ... {END} to write between")
    return f"{before}{BEGIN}\n\n{new}\n\n{END}{after}"


def write(results: Results, docs: Path = ROOT / "docs") -> None:
    page = docs / "performance.md"
    page.write_text(replaced(page.read_text(), part(results)))
    folder = docs / "performance"
    folder.mkdir(exist_ok=True)
    for name, chart in charts(results).items():
        (folder / name).write_text(plot.svg(chart))
