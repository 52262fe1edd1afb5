"""A line of the table: a figure on both sides, their ratio, and the goal."""

from __future__ import annotations

from typing import Literal

import msgspec

WIDTHS = (44, 11, 12, 12, 10, 16, 8)


class Goal(msgspec.Struct, frozen=True):
    """A bound on the figure through Everthread, on what it adds, or on its ratio to the direct one."""

    bound: float
    is_: Literal["<", "<=", ">="] = "<"
    of: Literal["", "added", "ratio"] = ""

    def text(self) -> str:
        return f"{self.is_} {figure(self.bound)} {self.of}".rstrip()

    def met(self, value: float) -> bool:
        match self.is_:
            case "<":
                return value < self.bound
            case "<=":
                return value <= self.bound
            case ">=":
                return value >= self.bound


class Row(msgspec.Struct, frozen=True):
    what: str  # indented when it continues the row above
    direct: float | None
    everthread: float | None
    added: float | None = None
    goal: Goal | None = None
    under: str = ""

    @property
    def name(self) -> str:
        return f"{self.under}: {self.what.strip()}" if self.under else self.what

    @property
    def ratio(self) -> float | None:
        if self.direct is None or self.everthread is None or self.direct <= 0:
            return None
        return self.everthread / self.direct

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        value = {"": self.everthread, "added": self.added, "ratio": self.ratio}[self.goal.of]
        return None if value is None else self.goal.met(value)

    def cells(self) -> tuple[str, ...]:
        verdict = {None: "", True: "ok", False: "MISSED"}[self.met]
        ratio = "" if self.ratio is None else f"{figure(self.ratio)}x"
        goal = self.goal.text() if self.goal else ""
        return (
            self.what,
            figure(self.direct),
            figure(self.everthread),
            ratio,
            figure(self.added),
            goal,
            verdict,
        )


def figure(value: float | None) -> str:
    """Three significant digits are all a benchmark has."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"


def line(cells: tuple[str, ...]) -> str:
    first, *rest = cells
    padded = [cell.rjust(width) for cell, width in zip(rest, WIDTHS[1:], strict=True)]
    return (first.ljust(WIDTHS[0]) + "".join(padded)).rstrip()
