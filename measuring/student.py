"""Student's t distribution: what a mean of a few numbers, whose spread is estimated from them, is judged by. Pure."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
_MANY = 500
"""Degrees of freedom from which the normal distribution, with a correction, is right to six digits."""


def cdf(t: float, freedom: float) -> float:
    """The chance of at most `t`, in `freedom` degrees of freedom, 1 or more; a fraction of one is dropped.

    Source: M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions (1964), 26.7.3, 26.7.4 and 26.7.8.
    """
    whole = math.floor(freedom)
    if whole >= _MANY:
        return _NORMAL.cdf(t * (1 - 1 / (4 * whole)) / math.sqrt(1 + t * t / (2 * whole)))
    angle = math.atan2(t, math.sqrt(whole))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = whole % 2
    term, total = (cosine if odd else 1.0), 0.0
    for power in range(2 + odd, whole + 1, 2):
        total += term
        term *= cosine * cosine * (power - 1) / power
    within = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return (1 + within) / 2


@lru_cache(maxsize=1000)
def reach(freedom: float, confidence: float = 0.95) -> float:
    """How many standard errors an interval of this confidence goes to either side of a mean."""
    sought = (1 + confidence) / 2
    low, high = 0.0, 1.0
    while cdf(high, freedom) < sought:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cdf(middle, freedom) < sought else (low, middle)
    return (low + high) / 2
