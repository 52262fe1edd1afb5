"""The largest of many numbers, without putting all of them in order."""

from __future__ import annotations

from collections.abc import Sequence

SAMPLE = 1024  # looked at first


def largest(values: Sequence[float], most: int) -> list[int]:
    """Where the largest are, the largest first; of equals, the earlier first."""
    least = guessed(values, most)
    places = [at for at, value in enumerate(values) if value >= least]
    if len(places) < most:
        places = list(range(len(values)))
    places.sort(key=values.__getitem__, reverse=True)
    return places[:most]


def guessed(values: Sequence[float], most: int) -> float:
    """A number that `most` of the values reach, by what a sample says, and as a rule not many more."""
    apart = len(values) // SAMPLE
    place = most // max(apart, 1) * 5 // 4 + 16  # a sample is a little off
    if apart < 2 or place >= SAMPLE:
        return float("-inf")
    return sorted(values[::apart], reverse=True)[place]
