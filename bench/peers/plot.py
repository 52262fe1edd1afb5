"""Lines over turns, as SVG: on a background of its own, light or dark as the reader likes it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Literal
from xml.sax.saxutils import escape

import msgspec

WIDTH, HEIGHT = 860, 420
LEFT, RIGHT, TOP, BOTTOM = 76, 150, 64, 56
LABEL_GAP = 17  # between two names
X_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
MOST_TICKS = 7
SMOOTH = 9  # turns
COLOURS = (("#0b6e4f", "#4fd1a5"), ("#c2410c", "#fb923c"), ("#2563eb", "#7aa7ff"), ("#7c3aed", "#c4a5ff"))

STYLE = """\
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #1f2933; }
.title { font-size: 17px; font-weight: 600; }
.quiet { fill: #5f6c7b; }
.name { font-weight: 600; paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round; }
.back { fill: #ffffff; }
.grid { stroke: #e3e8ee; }
.axis { stroke: #9aa5b1; }
path { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
"""
DARK = """\
text { fill: #e6edf3; } .quiet { fill: #9aa7b4; } .back { fill: #0d1117; }
.grid { stroke: #232b35; } .axis { stroke: #56616d; } .name { stroke: #0d1117; }
"""


class Series(msgspec.Struct, frozen=True):
    name: str
    values: list[float]  # by turn, from the first


class Chart(msgspec.Struct, frozen=True):
    title: str
    about: str  # the line below the title: what, and in which unit
    series: list[Series]
    scale: Literal["even", "log"] = "even"


def smoothed(values: Sequence[float], around: int = SMOOTH) -> list[float]:
    """The median of the turns around each."""
    half = around // 2
    return [statistics.median(values[max(0, place - half) : place + half + 1]) for place in range(len(values))]


# --- where things are ---


class Axis(msgspec.Struct, frozen=True):
    """From a value to a place on the page."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: float) -> float:
        low, high, value = (math.log10(v) if self.log else v for v in (self.low, self.high, max(value, self.low)))
        return self.start + (value - low) / (high - low) * (self.end - self.start)


def turn_axis(chart: Chart) -> Axis:
    longest = max(len(each.values) for each in chart.series)
    return Axis(1, max(2, longest), LEFT, WIDTH - RIGHT)


def value_axis(chart: Chart) -> Axis:
    values = [value for each in chart.series for value in each.values]
    if chart.scale == "log":
        positive = [value for value in values if value > 0] or [1.0]
        low, high = 10 ** math.floor(math.log10(min(positive))), 10 ** math.ceil(math.log10(max(positive)))
        return Axis(low, high if high > low else low * 10, HEIGHT - BOTTOM, TOP, log=True)
    top = max([*values, 1.0])
    step = even_step(top)
    return Axis(0, math.ceil(top / step) * step, HEIGHT - BOTTOM, TOP)


def even_step(top: float) -> float:
    """1, 2 or 5 times a power of ten: some five steps to the top."""
    power = 10.0 ** math.floor(math.log10(top / 5))
    return next(power * times for times in (1, 2, 5, 10) if top / (power * times) <= 5)


def value_ticks(axis: Axis) -> list[float]:
    if axis.log:
        low, high = round(math.log10(axis.low)), round(math.log10(axis.high))
        return [10.0**power for power in range(low, high + 1)]
    step = even_step(axis.high)
    return [number * step for number in range(round(axis.high / step) + 1)]


def turn_ticks(axis: Axis) -> list[int]:
    longest = int(axis.high)
    step = next((step for step in X_STEPS if longest / step <= MOST_TICKS), longest)
    return [1, *(turn for turn in range(step, longest + 1, step) if turn > 1)]


def tick(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 or value == 0 else f"{value:g}"


def apart(places: Sequence[float]) -> list[float]:
    """The same places, moved so that no two names lie upon each other, none below the last line."""
    order = sorted(range(len(places)), key=lambda number: places[number])
    moved = list(places)
    lowest = HEIGHT - BOTTOM + LABEL_GAP / 2
    for number in reversed(order):
        moved[number] = min(moved[number], lowest)
        lowest = moved[number] - LABEL_GAP
    return moved


# --- what is drawn ---


def text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def frame(chart: Chart, across: Axis, up: Axis) -> list[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    found = [text(LEFT, 28, chart.title, "title"), text(LEFT, 48, chart.about, "quiet")]
    for value in value_ticks(up):
        y = up.place(value)
        found += [line("grid", LEFT, y, right, y), text(LEFT - 10, y + 4, tick(value), "quiet", "end")]
    found.append(line("axis", LEFT, bottom, right, bottom))
    for turn in turn_ticks(across):
        x = across.place(turn)
        found += [line("axis", x, bottom, x, bottom + 5), text(x, bottom + 20, tick(turn), "quiet", "middle")]
    return [*found, text((LEFT + right) / 2, bottom + 42, "turn of the session", "quiet", "middle")]


def curves(chart: Chart, across: Axis, up: Axis) -> list[str]:
    """Names come last: no line crosses them."""
    ends = [(across.place(len(each.values)), up.place(each.values[-1])) for each in chart.series]
    heights = apart([y for _, y in ends])
    lines, names = [], []
    for number, (each, (x, y), height) in enumerate(zip(chart.series, ends, heights, strict=True)):
        points = (f"{across.place(turn):.1f},{up.place(value):.1f}" for turn, value in enumerate(each.values, 1))
        lines += [
            f'<path class="line{number}" d="M{" L".join(points)}"/>',
            f'<circle class="dot{number}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>',
        ]
        names.append(text(x + 12, height + 4, each.name, f"name dot{number}"))
    return lines + names


def style(count: int) -> str:
    def rules(shade: int) -> str:
        colours = (COLOURS[number % len(COLOURS)][shade] for number in range(count))
        return "\n".join(
            f".line{n} {{ stroke: {c}; }} text.dot{n}, .dot{n} {{ fill: {c}; }}" for n, c in enumerate(colours)
        )

    return f"{STYLE}{rules(0)}\n@media (prefers-color-scheme: dark) {{\n{DARK}{rules(1)}\n}}"


def svg(chart: Chart) -> str:
    drawn = Chart(chart.title, chart.about, [each for each in chart.series if each.values], chart.scale)
    across, up = turn_axis(drawn), value_axis(drawn)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' width="{WIDTH}" height="{HEIGHT}">',
        f"<title>{escape(chart.title)}</title>",
        f"<style>{style(len(drawn.series))}</style>",
        f'<rect class="back" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
        *frame(drawn, across, up),
        *curves(drawn, across, up),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
