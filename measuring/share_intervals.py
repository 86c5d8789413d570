"""Confidence intervals of shares of points, from numbers of points and matches, and of their differences."""

from __future__ import annotations

import math

from msgspec import Struct

from measuring.scores import Z95

_TAIL_PROBABILITY = 0.025
"""The probability that a true share lies beyond one given end of its interval."""
_BISECTIONS = 50
"""Number of bisections in the search for an end of an interval."""
_PRECISION = 1e-12
"""Relative change of the continued fraction for the beta distribution below which no further terms are computed."""
_MAX_TERMS = 10_000
"""Maximum number of terms of the continued fraction for the beta distribution."""


class ShareInterval(Struct, frozen=True, kw_only=True):
    """A share of points (0 to 1), or the difference of two shares (-1 to 1), with its 95 % interval."""

    score: float
    low: float
    high: float


def share_interval(score: float, played: int) -> ShareInterval:
    """Return a share with Wilson's interval. A draw counts as half a win, which makes the interval a little wide.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """
    if not played:
        return ShareInterval(score=score, low=0.0, high=1.0)
    z2 = Z95 * Z95 / played
    middle = (score + z2 / 2) / (1 + z2)
    reach = Z95 * math.sqrt(score * (1 - score) / played + z2 / (4 * played)) / (1 + z2)
    return ShareInterval(score=score, low=max(0.0, middle - reach), high=min(1.0, middle + reach))


def share_difference(score: float, played: int, before: float, played_before: int) -> ShareInterval:
    """Return the difference of two independent shares, `score` less `before`, with Newcombe's hybrid score interval.

    Newcombe combines the distances from each share to the ends of its Wilson interval. This function uses exact
    intervals instead. So the interval of the difference stays within -1 to 1, and contains the true difference in 94 %
    of cases or more, even after few matches. Sources: R. G. Newcombe, Interval estimation for the difference between
    independent proportions (1998); C. J. Clopper, E. S. Pearson, The use of confidence or fiducial limits (1934).
    """
    low, high = _exact_interval(score, played)
    low_before, high_before = _exact_interval(before, played_before)
    difference = score - before
    return ShareInterval(
        score=difference,
        low=max(-1.0, difference - math.hypot(score - low, high_before - before)),
        high=min(1.0, difference + math.hypot(high - score, before - low_before)),
    )


def _exact_interval(score: float, played: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share, by Clopper and Pearson."""
    return _low_end(score * played, played), 1 - _low_end((1 - score) * played, played)


def _low_end(won: float, played: int) -> float:
    """Return the low end of the exact interval: the share at which `won` or more wins have a probability of 2.5 %."""
    if won <= 0:
        return 0.0
    low, high = 0.0, won / played
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _beta_cdf(middle, won, played - won + 1) < _TAIL_PROBABILITY else (low, middle)
    return low


def _beta_cdf(x: float, a: float, b: float) -> float:
    """Return the probability that a beta-distributed variable is at most `x`, 0 < x < 1. Source: DLMF 8.17.22."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_cdf(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    # Lentz's method for continued fractions
    upper, lower = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = lower
    for m in range(1, _MAX_TERMS):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            lower = 1 / (1 + factor * lower)
            upper = 1 + factor / upper
            change = lower * upper
            fraction *= change
        if abs(change - 1) < _PRECISION:
            break
    return front * fraction
