"""Text of scores, Elo differences and variance reductions for tables and lines."""

from __future__ import annotations

import math
from typing import Protocol

from measuring.elo import Comparison
from measuring.payoffs import MeanPayoff
from measuring.variance_reduction import VarianceReduction

MOST = 1200
"""Elo difference to print if even the near end of an interval is infinite."""


class _Interval(Protocol):
    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def points(share: float) -> str:
    """Format a score: `0.650`."""
    return f"{share:z.3f}"


def interval(of: _Interval) -> str:
    """Format an interval: `0.582-0.713`, or `-0.139 to 0.139` with a minus sign."""
    low, high = points(of.low), points(of.high)
    return f"{low} to {high}" if low.startswith("-") else f"{low}-{high}"


def payoff(value: float) -> str:
    """Format a payoff: `2.553`, with fewer decimals from a thousand on."""
    return f"{value:z.3f}" if abs(value) < 1000 else f"{value:z.1f}"


def payoff_interval(of: MeanPayoff) -> str:
    """Format an interval of payoffs: `2.541-2.565`, or `-0.021 to 0.004` with a minus sign; empty if there is none."""
    if of.low is None or of.high is None:
        return ""
    low, high = payoff(of.low), payoff(of.high)
    return f"{low} to {high}" if low.startswith("-") else f"{low}-{high}"


def share(found: Comparison) -> str:
    """Format a score with its interval: `0.650 (0.582-0.713)`."""
    return f"{points(found.score)} ({interval(found)})"


def comparison(one: str, other: str, found: Comparison, scores: str) -> str:
    """Say in a sentence which of two is better, or how far from even the one's true score may be; `scores` says what it
    scored.
    """
    if found.low > 0.5:
        return f"{one} is better than {other}: it {scores}"
    if found.high < 0.5:
        return f"{one} is worse than {other}: it {scores}"
    # of the ends as they are shown: 0.355 and 0.645 are 0.145 from 0.5
    far = max(round(found.high, 3) - 0.5, 0.5 - round(found.low, 3))
    said = f"{one} {scores}; its true score is within {far:.3f} of 0.5 (95 %)"
    return f"neither {one} nor {other} is shown to be better: {said}"


def elo(found: Comparison) -> str:
    """Format an Elo difference with its interval: `Elo +108 (+58 to +158)`."""
    return f"Elo {elo_of(found)} ({elo_interval(found)})"


def elo_of(found: Comparison) -> str:
    """Format an Elo difference: `+108`; `+inf` or `-inf` for scores of 1 or 0."""
    if found.elo.elo is not None:
        return _elo(found.elo.elo)
    return "+inf" if found.score > 0.5 else "-inf"


def elo_interval(found: Comparison) -> str:
    """Format an Elo interval: `+58 to +158`; `+58 or more` if one end is infinite, `any` if both are."""
    low, high = found.elo.low, found.elo.high
    if low is not None and high is not None:
        return f"{_elo(low)} to {_elo(high)}"
    if found.low <= 0 and found.high >= 1:
        return "any"
    return f"{_elo(low or MOST)} or more" if found.high >= 1 else f"{_elo(high or -MOST)} or less"


def _elo(elo_difference: float) -> str:
    return f"{elo_difference:+z.0f}"


def better(found: Comparison) -> str:
    """Format the likelihood that the side is the better one: `97.5 %`."""
    percent = 100 * found.superiority
    said = "> 99.9" if percent > 99.9 else "< 0.1" if percent < 0.1 else f"{percent:.1f}"
    return f"{said} %"


def games(count: float) -> str:
    """Format a number of games with two significant digits: `4,400`."""
    digits = max(0, math.floor(math.log10(count)) - 1) if count >= 1 else 0
    return f"{round(count, -digits):,.0f}"


def times(factor: VarianceReduction) -> str:
    """Format a variance reduction: `150 (117-200) times as many`."""
    high = "inf" if factor.high is None else _factor(factor.high)
    return f"{_factor(factor.factor)} ({_factor(factor.low)}-{high}) times as many"


def _factor(times: float) -> str:
    return f"{times:.3g}" if times < 999.5 else f"{round(times, 2 - math.floor(math.log10(times))):,.0f}"
