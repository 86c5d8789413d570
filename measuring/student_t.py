"""Student's t distribution, and what it takes: the standard error of a mean, and its degrees of freedom. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
_MANY = 500
"""Degrees of freedom from which the normal distribution, with a correction, is right to six digits."""
_EQUAL = 1e-9
"""A standard error below which all values are taken as equal: what is left is rounding."""
_ROUNDING = 1e-9
"""Degrees of freedom that are so near to a whole number, relative to it, are that number: only rounding is between."""


def student_cdf(t: float, freedom: float) -> float:
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


def student_reach(freedom: float, confidence: float = 0.95) -> float:
    """How many standard errors an interval of this confidence goes to either side of a mean; a fraction of a degree of
    freedom is dropped.
    """
    return _reach(math.floor(freedom), confidence)


@lru_cache(maxsize=1000)
def _reach(freedom: int, confidence: float) -> float:
    sought = (1 + confidence) / 2
    low, high = 0.0, 1.0
    while student_cdf(high, freedom) < sought:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_cdf(middle, freedom) < sought else (low, middle)
    return (low + high) / 2


def standard_error(square: float, count: int, freedom: float, most: float) -> float:
    """That of a mean of so many values, from its square.

    Where all are equal some that are not may have been missed, less than 1 - 0.05^(1/n) of all with 95 % confidence:
    each is taken to be off by `most`, to which the interval goes then. Source: J. A. Hanley, A. Lippman-Hand, If
    nothing goes wrong, is everything all right? Interpreting zero numerators (1983).
    """
    error = math.sqrt(square)
    return error if error >= _EQUAL else most * (1 - 0.05 ** (1 / count)) / student_reach(freedom)


def satterthwaite(parts: Iterable[tuple[float, float]]) -> float:
    """Return the degrees of freedom of a sum of squares of standard errors that are independent, each with its own.

    Of one square, or of several that are alike, that is a whole number, and returned as one: callers drop fractions.
    Where all squares are 0, or only rounding makes them more, it is the sum of all degrees of freedom. Source:
    F. E. Satterthwaite, An approximate distribution of estimates of variance components (1946).
    """
    found = list(parts)
    total = math.fsum(square for square, _ in found)
    if math.sqrt(total) < _EQUAL:
        return math.fsum(freedom for _, freedom in found)
    exact = 1 / math.fsum((square / total) ** 2 / freedom for square, freedom in found if square)
    return round(exact) if math.isclose(exact, round(exact), rel_tol=_ROUNDING) else exact
