"""The raw score of a side, with its interval. adjusted_scores.py has scores adjusted for luck."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, variance

from msgspec import Struct

from measuring.pair_scores import Strata

_NORMAL = NormalDist()
"""The standard normal distribution."""
Z95 = _NORMAL.inv_cdf(0.975)
"""The distance from a normal mean to either end of its 95 % interval, in standard errors."""


class Estimate(Struct, frozen=True, kw_only=True):
    """A mean of points with its 95 % interval and its standard error.

    `superiority` is the probability that the true mean is above one half. Against a single opponent it is called the
    likelihood of superiority.
    """

    mean: float
    low: float
    high: float
    error: float
    superiority: float


def estimate_score(strata: Strata) -> Estimate | None:
    """Return the raw score of a side from the units that `stratify` returns; None if there are none."""
    units = sum(map(len, strata.values()))
    if not units:
        return None
    squared_error = sum(part for part, _ in squared_errors(strata, "raw")) if units > 1 else 0.0
    return _estimate(units, mean_of_units(strata, "raw"), squared_error)


def score_of_counts(counts: Sequence[int]) -> Estimate:
    """Estimate a score from the number of units (pairs or single games) that had each possible score. `counts` has the
    form that `count_moments` describes.
    """
    units = sum(counts)
    mean, square = count_moments(counts)
    return _estimate(units, mean, square / (units - 1) if units > 1 else 0.0)


def count_moments(counts: Sequence[int]) -> tuple[float, float]:
    """Return the mean and variance of scores from counts of each possible score. Scores go from 0 to 1 in equal steps:
    five counts for pairs, three for games.
    """
    scores = [at / (len(counts) - 1) for at in range(len(counts))]
    mean = fmean(scores, counts)
    return mean, fmean([(score - mean) ** 2 for score in scores], counts)


def _estimate(count: int, mean: float, squared_error: float) -> Estimate:
    """Estimate a score from the mean of `count` units and the squared standard error of this mean. For the interval,
    two units with score 0 and two with score 1 are added.

    So the interval is valid for few units, too, and is not empty if the seat decides every match. Source: A. Agresti,
    B. A. Coull, Approximate is better than "exact" for interval estimation of binomial proportions (1998).
    """
    middle = (mean * count + 2) / (count + 4)
    within = count * (count - 1) * squared_error
    added = count * (mean - middle) ** 2 + 2 * middle**2 + 2 * (1 - middle) ** 2
    error = math.sqrt((within + added) / ((count + 3) * (count + 4)))
    return Estimate(
        mean=mean,
        low=max(0.0, middle - Z95 * error),
        high=min(1.0, middle + Z95 * error),
        error=error,
        superiority=_NORMAL.cdf((middle - 0.5) / error),
    )


def mean_of_units(strata: Strata, column: str) -> float:
    """Return the mean of one column of the units, `raw` or `adjusted`, each weighted by its number of games."""
    units = [unit for stratum in strata.values() for unit in stratum]
    return fmean([getattr(unit, column) for unit in units], [unit.games for unit in units])


def squared_errors(strata: Strata, column: str) -> list[tuple[float, int]]:
    """Return the summands of the squared standard error of `mean_of_units`, each with its degrees of freedom. Each
    stratum must have two or more units.
    """
    games = sum(unit.games for stratum in strata.values() for unit in stratum)
    parts = []
    for stratum in strata.values():
        share = sum(unit.games for unit in stratum) / games
        spread = variance([getattr(unit, column) for unit in stratum])
        parts.append((share**2 * spread / len(stratum), len(stratum) - 1))
    return parts
