"""Histograms of observations, as monitoring systems read them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


class Histogram:
    """A histogram: counts of observations between the ascending `bounds`, and of observations above the last bound."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        """The number of observations by bound: those up to the bound, and above the previous one. The last number
        counts observations above all bounds.
        """
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value
