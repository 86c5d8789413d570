"""Student's t distribution, and its inputs: the standard error of a mean and its degrees of freedom."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
"""The standard normal distribution."""
_MIN_NORMAL_DF = 500
"""Minimum degrees of freedom for which a corrected normal distribution is used. It is then right to six digits."""
_MIN_STANDARD_ERROR = 1e-9
"""Standard error below which all values count as equal. A smaller error comes from rounding."""
_DF_TOLERANCE = 1e-9
"""Relative distance to a whole number below which degrees of freedom are rounded to that number."""


def student_cdf(t: float, df: float) -> float:
    """Return the probability that a variable of Student's t distribution is at most `t`. The degrees of freedom `df`, 1
    or more, are rounded down.

    Source: M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions (1964), 26.7.3, 26.7.4 and 26.7.8.
    """
    whole = math.floor(df)
    if whole >= _MIN_NORMAL_DF:
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


def t_critical(df: float, confidence: float = 0.95) -> float:
    """Return the distance from a mean to either end of its confidence interval, in standard errors. The degrees of
    freedom `df` are rounded down.
    """
    return _t_critical(math.floor(df), confidence)


@lru_cache(maxsize=1000)
def _t_critical(freedom: int, confidence: float) -> float:
    sought = (1 + confidence) / 2
    low, high = 0.0, 1.0
    while student_cdf(high, freedom) < sought:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_cdf(middle, freedom) < sought else (low, middle)
    return (low + high) / 2


def standard_error(squared_error: float, count: int, df: float, max_error: float) -> float:
    """Return the standard error of a mean of `count` values from `squared_error`, its square.

    If all values are equal, the sample may have missed different values. With 95 % confidence, these are less than the
    fraction 1 - 0.05^(1/count) of all values. Each missed value is assumed to differ by `max_error`, and the standard
    error is chosen so that the interval includes their effect. Source: J. A. Hanley, A. Lippman-Hand, If nothing goes
    wrong, is everything all right? Interpreting zero numerators (1983).
    """
    error = math.sqrt(squared_error)
    return error if error >= _MIN_STANDARD_ERROR else max_error * (1 - 0.05 ** (1 / count)) / t_critical(df)


def satterthwaite(parts: Iterable[tuple[float, float]]) -> float:
    """Return the degrees of freedom of a sum of independent squared standard errors, given as (square, degrees of
    freedom).

    A result that differs from a whole number only by rounding errors is made whole, because callers round down and
    would lose one degree of freedom. If all squares are 0 up to rounding, the result is the sum of all degrees of
    freedom. Source: F. E. Satterthwaite, An approximate distribution of estimates of variance components (1946).
    """
    found = list(parts)
    total = math.fsum(square for square, _ in found)
    if math.sqrt(total) < _MIN_STANDARD_ERROR:
        return math.fsum(freedom for _, freedom in found)
    exact = 1 / math.fsum((square / total) ** 2 / freedom for square, freedom in found if square)
    return round(exact) if math.isclose(exact, round(exact), rel_tol=_DF_TOLERANCE) else exact
