"""Differences that were measured in pairs: their mean, and the sum of several such means, with 95 % intervals. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, variance

from msgspec import Struct

from measuring.scores import Z95, student_reach

_EQUAL = 1e-9
"""A standard error below which all are taken as equal: what is left is rounding."""


class Difference(Struct, frozen=True, kw_only=True):
    """A difference with its 95 % interval, its standard error, and that error's degrees of freedom; 0 where it is known
    without any.
    """

    mean: float
    low: float
    high: float
    error: float = 0.0
    freedom: float = 0.0


NO_DIFFERENCE = Difference(mean=0.0, low=0.0, high=0.0)
"""No difference, for sure."""


def certain(difference: float) -> Difference:
    """One that is known."""
    return Difference(mean=difference, low=difference, high=difference)


def mean_difference(values: Sequence[float], most: float = 0.0) -> Difference:
    """The mean of two values or more, with Student's interval.

    Where all are equal some that are not may have been missed, less than 1 - 0.05^(1/n) of all with 95 % confidence:
    each is taken to be off by `most`. Source: J. A. Hanley, A. Lippman-Hand, If nothing goes wrong, is everything all
    right? Interpreting zero numerators (1983).
    """
    mean, count = fmean(values), len(values)
    freedom = count - 1
    reach = student_reach(freedom)
    error = math.sqrt(variance(values, mean) / count)
    if error < _EQUAL:
        error = most * (1 - 0.05 ** (1 / count)) / reach
    return _within(mean, error, freedom, reach)


def sum_of(parts: Iterable[Difference]) -> Difference:
    """The sum of differences that were measured independently.

    Source for its degrees of freedom: F. E. Satterthwaite, An approximate distribution of estimates of variance
    components (1946).
    """
    found = list(parts)
    mean = math.fsum(part.mean for part in found)
    square = math.fsum(part.error**2 for part in found)
    doubt = math.fsum(part.error**4 / part.freedom for part in found if part.error)
    if not doubt:
        return certain(mean)
    freedom = square**2 / doubt
    return _within(mean, math.sqrt(square), freedom, student_reach(math.floor(freedom)) if freedom < 1e6 else Z95)


def _within(mean: float, error: float, freedom: float, reach: float) -> Difference:
    low, high = mean - reach * error, mean + reach * error
    return Difference(mean=mean, low=low, high=high, error=error, freedom=freedom)
