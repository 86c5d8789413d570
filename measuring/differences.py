"""Mean differences measured in pairs, and sums of such means, with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, variance

from msgspec import Struct

from measuring.student_t import satterthwaite, standard_error, t_critical


class Difference(Struct, frozen=True, kw_only=True):
    """A difference with its 95 % interval, standard error and degrees of freedom. If the difference is known exactly,
    the error and the degrees of freedom are 0.
    """

    mean: float
    low: float
    high: float
    error: float = 0.0
    freedom: float = 0.0


NO_DIFFERENCE = Difference(mean=0.0, low=0.0, high=0.0)
"""A difference of 0 that is known exactly, so that its standard error is 0."""


def exact_difference(difference: float) -> Difference:
    """Return the `Difference` of a value that is known exactly."""
    return Difference(mean=difference, low=difference, high=difference)


def mean_difference(values: Sequence[float], max_error: float = 0.0) -> Difference:
    """Return the mean of two or more differences, with Student's interval. `standard_error` explains `max_error`."""
    mean, count = fmean(values), len(values)
    error = standard_error(variance(values, mean) / count, count, count - 1, max_error)
    return _with_interval(mean, error, count - 1)


def sum_differences(parts: Iterable[Difference]) -> Difference:
    """Return the sum of differences that were measured independently."""
    found = list(parts)
    mean = math.fsum(part.mean for part in found)
    measured = [(part.error**2, part.freedom) for part in found if part.error]
    if not measured:
        return exact_difference(mean)
    return _with_interval(mean, math.sqrt(math.fsum(square for square, _ in measured)), satterthwaite(measured))


def _with_interval(mean: float, error: float, df: float) -> Difference:
    reach = t_critical(df) * error
    return Difference(mean=mean, low=mean - reach, high=mean + reach, error=error, freedom=df)
