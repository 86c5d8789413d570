"""Scores, Elo and what luck taken out is worth, as tables and lines have them."""

from __future__ import annotations

import math
from typing import Protocol

from measuring.elo import Comparison
from measuring.payoffs import MeanPayoff
from measuring.variance_reduction import VarianceReduction

MOST = 1200
"""A difference of Elo that is told where even the near end of an interval has none."""


class _Interval(Protocol):
    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def points(share: float) -> str:
    """`0.650`."""
    return f"{share:z.3f}"


def interval(of: _Interval) -> str:
    """`0.582-0.713`; `-0.139 to 0.139` where a minus sign is in it."""
    low, high = points(of.low), points(of.high)
    return f"{low} to {high}" if low.startswith("-") else f"{low}-{high}"


def payoff(value: float) -> str:
    """`2.553`; with fewer decimals from a thousand on."""
    return f"{value:z.3f}" if abs(value) < 1000 else f"{value:z.1f}"


def payoff_interval(of: MeanPayoff) -> str:
    """`2.541-2.565`; `-0.021 to 0.004` where a minus sign is in it; empty where there is none."""
    if of.low is None or of.high is None:
        return ""
    low, high = payoff(of.low), payoff(of.high)
    return f"{low} to {high}" if low.startswith("-") else f"{low}-{high}"


def share(found: Comparison) -> str:
    """`0.650 (0.582-0.713)`."""
    return f"{points(found.score)} ({interval(found)})"


def comparison(one: str, other: str, found: Comparison, scores: str) -> str:
    """Say in a sentence which of two is better, or by how much they may differ; `scores` says what the one scored."""
    if found.low > 0.5:
        return f"{one} is better than {other}: it {scores}"
    if found.high < 0.5:
        return f"{one} is worse than {other}: it {scores}"
    apart = math.ceil(round(1000 * max(found.high - 0.5, 0.5 - found.low), 6)) / 1000  # 0.513 - 0.5 is above 0.013
    return f"neither {one} nor {other} is shown to be better: {one} {scores}; they are {apart:.3f} apart at most"


def elo(found: Comparison) -> str:
    """`Elo +108 (+58 to +158)`."""
    return f"Elo {elo_of(found)} ({elo_interval(found)})"


def elo_of(found: Comparison) -> str:
    """`+108`; `+inf` and `-inf` for all of the points and for none, at which no difference is enough."""
    if found.elo.elo is not None:
        return _elo(found.elo.elo)
    return "+inf" if found.score > 0.5 else "-inf"


def elo_interval(found: Comparison) -> str:
    """`+58 to +158`; `+58 or more` where it has no end, `any` where it has none either way."""
    low, high = found.elo.low, found.elo.high
    if low is not None and high is not None:
        return f"{_elo(low)} to {_elo(high)}"
    if found.low <= 0 and found.high >= 1:
        return "any"
    return f"{_elo(low or MOST)} or more" if found.high >= 1 else f"{_elo(high or -MOST)} or less"


def _elo(elo_difference: float) -> str:
    return f"{elo_difference:+z.0f}"


def better(found: Comparison) -> str:
    """`97.5 %`: how likely the side is the better one."""
    percent = 100 * found.superiority
    said = "> 99.9" if percent > 99.9 else "< 0.1" if percent < 0.1 else f"{percent:.1f}"
    return f"{said} %"


def games(count: float) -> str:
    """A number of games with two digits that count: `4,400`."""
    digits = max(0, math.floor(math.log10(count)) - 1) if count >= 1 else 0
    return f"{round(count, -digits):,.0f}"


def times(factor: VarianceReduction) -> str:
    """`150 (117-200) times as many`."""
    high = "inf" if factor.high is None else _factor(factor.high)
    return f"{_factor(factor.factor)} ({_factor(factor.low)}-{high}) times as many"


def _factor(times: float) -> str:
    """With three digits that count."""
    return f"{times:.3g}" if times < 999.5 else f"{round(times, 2 - math.floor(math.log10(times))):,.0f}"
