"""Text of scores and Elo differences for tables and lines."""

from __future__ import annotations

import math
from typing import Protocol

from measuring.elo import Comparison

MAX_SHOWN_ELO = 1200
"""The Elo difference that is shown in place of an infinite one, as in `+1200 or more`."""


class _Interval(Protocol):
    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def format_score(score: float) -> str:
    """Format a score: `0.650`."""
    return f"{score:z.3f}"


def format_interval(interval: _Interval) -> str:
    """Format an interval: `0.582-0.713`, or `-0.139 to 0.139` with a minus sign."""
    low, high = format_score(interval.low), format_score(interval.high)
    return f"{low} to {high}" if low.startswith("-") else f"{low}-{high}"


def format_score_with_interval(comparison: Comparison) -> str:
    """Format a score with its interval: `0.650 (0.582-0.713)`."""
    return f"{format_score(comparison.score)} ({format_interval(comparison)})"


def describe_comparison(one: str, other: str, comparison: Comparison, scores: str) -> str:
    """Return a sentence that says which of two sides is better. If that is undecided, the sentence says by how much the
    true score of `one` may differ from 0.5. `scores` is the part of the sentence with the score of `one`, such as
    `scores 0.650 (0.582-0.713)`.
    """
    if comparison.low > 0.5:
        return f"{one} is better than {other}: it {scores}"
    if comparison.high < 0.5:
        return f"{one} is worse than {other}: it {scores}"
        # from the rounded ends that are shown: 0.355 and 0.645 are 0.145 from 0.5
    far = max(round(comparison.high, 3) - 0.5, 0.5 - round(comparison.low, 3))
    said = f"{one} {scores}; its true score is within {far:.3f} of 0.5 (95 %)"
    return f"neither {one} nor {other} is shown to be better: {said}"


def format_elo_with_interval(comparison: Comparison) -> str:
    """Format an Elo difference with its interval: `Elo +108 (+58 to +158)`."""
    return f"Elo {format_elo(comparison)} ({format_elo_interval(comparison)})"


def format_elo(comparison: Comparison) -> str:
    """Format an Elo difference: `+108`; `+inf` or `-inf` for scores of 1 or 0."""
    if comparison.elo.elo is not None:
        return _format_elo_number(comparison.elo.elo)
    return "+inf" if comparison.score > 0.5 else "-inf"


def format_elo_interval(comparison: Comparison) -> str:
    """Format an Elo interval: `+58 to +158`; `+58 or more` if one end is infinite, `any` if both are."""
    low, high = comparison.elo.low, comparison.elo.high
    if low is not None and high is not None:
        return f"{_format_elo_number(low)} to {_format_elo_number(high)}"
    if comparison.low <= 0 and comparison.high >= 1:
        return "any"
    return (
        f"{_format_elo_number(low or MAX_SHOWN_ELO)} or more"
        if comparison.high >= 1
        else f"{_format_elo_number(high or -MAX_SHOWN_ELO)} or less"
    )


def _format_elo_number(elo_difference: float) -> str:
    return f"{elo_difference:+z.0f}"


def format_superiority(comparison: Comparison) -> str:
    """Format the likelihood that the side is better than its opponent: `97.5 %`."""
    percent = 100 * comparison.superiority
    said = "> 99.9" if percent > 99.9 else "< 0.1" if percent < 0.1 else f"{percent:.1f}"
    return f"{said} %"


def format_games(count: float) -> str:
    """Format a number of games with two significant digits: `4,400`."""
    digits = max(0, math.floor(math.log10(count)) - 1) if count >= 1 else 0
    return f"{round(count, -digits):,.0f}"
