"""Scores, Elo and what luck taken out is worth, as tables and lines have them."""

from __future__ import annotations

import math
from typing import Protocol

from measuring.elo import Comparison
from measuring.saving import Factor


class _Interval(Protocol):
    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def interval(of: _Interval) -> str:
    """`0.582-0.713`."""
    return f"{of.low:.3f}-{of.high:.3f}"


def share(found: Comparison) -> str:
    """`0.650 (0.582-0.713)`."""
    return f"{found.score:.3f} ({interval(found)})"


def elo(found: Comparison) -> str:
    """`Elo +108 (+58 to +158)`; what has no end is `inf`."""
    above = found.score > 0.5
    low, high = _elo(found.elo.low, above=False), _elo(found.elo.high, above=True)
    return f"Elo {_elo(found.elo.elo, above=above)} ({low} to {high})"


def _elo(difference: float | None, *, above: bool) -> str:
    return f"{difference:+.0f}" if difference is not None else "+inf" if above else "-inf"


def superiority(found: Comparison) -> str:
    """`superior 97.5 %`: with this likelihood the side is the better one."""
    percent = 100 * found.superiority
    said = "> 99.9" if percent > 99.9 else "< 0.1" if percent < 0.1 else f"{percent:.1f}"
    return f"superior {said} %"


def games(count: float) -> str:
    """A number of games with two digits that count: `4,400`."""
    digits = max(0, math.floor(math.log10(count)) - 1) if count >= 1 else 0
    return f"{round(count, -digits):,.0f}"


def times(factor: Factor) -> str:
    """`150 (117-200) times as many`."""
    high = "inf" if factor.high is None else f"{factor.high:.3g}"
    return f"{factor.factor:.3g} ({factor.low:.3g}-{high}) times as many"
