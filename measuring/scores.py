"""The score of a side, raw and adjusted for luck, with intervals and the number of games that the adjustment saves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist, fmean, variance

from msgspec import Struct

from measuring.pair_scores import SideScore, Strata, stratify
from measuring.student_t import satterthwaite, standard_error, student_cdf, t_critical
from measuring.variance_reduction import equivalent_games

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


class ScoreEstimates(Struct, frozen=True, kw_only=True):
    """The raw and the adjusted score of a side over its matches. `units` is the number of start positions; each match
    without a shared start position counts as one.

    `score` is None if there is no match. `adjusted` is None with fewer than two units, or if the luck of any match is
    unknown. `worth` is the number of single games whose raw score would be as certain as `adjusted`. It is None with
    fewer than `MIN_UNITS` units, or if all scores are equal.
    """

    games: int
    units: int
    score: Estimate | None = None
    adjusted: Estimate | None = None
    worth: float | None = None


def estimate_scores(matches: Iterable[SideScore]) -> ScoreEstimates:
    """Return the score and the adjusted score of a side from all its matches."""
    strata, known = stratify(matches)
    units = sum(map(len, strata.values()))
    if not units:
        return ScoreEstimates(games=0, units=0)
    freed = known and units > 1
    return ScoreEstimates(
        games=sum(unit.games for stratum in strata.values() for unit in stratum),
        units=units,
        score=_raw_estimate(strata),
        adjusted=_adjusted_estimate(strata) if freed else None,
        worth=equivalent_games(strata) if freed else None,
    )


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


def _raw_estimate(strata: Strata) -> Estimate:
    units = sum(map(len, strata.values()))
    return _estimate(units, _mean(strata, "raw"), _squared_error(strata, "raw")[0] if units > 1 else 0.0)


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


def _adjusted_estimate(strata: Strata) -> Estimate:
    """Return the mean adjusted points of two or more units, with Student's interval. A unit is all matches from one
    start position.

    A mean beyond 0 or 1 is clipped, which only brings it nearer to the true mean. If all units have equal points,
    `standard_error` allows for units that were missed and that differ by one point.
    """
    count = sum(map(len, strata.values()))
    mean = _mean(strata, "adjusted")
    square, freedom = _squared_error(strata, "adjusted")
    error, reach = standard_error(square, count, freedom, max_error=1.0), t_critical(freedom)
    return Estimate(
        mean=_clip(mean),
        low=_clip(_clip(mean) - reach * error),
        high=_clip(_clip(mean) + reach * error),
        error=error,
        superiority=student_cdf((mean - 0.5) / error, freedom),
    )


def _clip(share: float) -> float:
    return min(1.0, max(0.0, share))


def _mean(strata: Strata, column: str) -> float:
    units = [unit for stratum in strata.values() for unit in stratum]
    return fmean([getattr(unit, column) for unit in units], [unit.games for unit in units])


def _squared_error(strata: Strata, column: str) -> tuple[float, float]:
    """Return the squared standard error of the mean of two or more units, and its degrees of freedom."""
    games = sum(unit.games for stratum in strata.values() for unit in stratum)
    parts = []
    for stratum in strata.values():
        share = sum(unit.games for unit in stratum) / games
        spread = variance([getattr(unit, column) for unit in stratum])
        parts.append((share**2 * spread / len(stratum), len(stratum) - 1))
    return sum(part for part, _ in parts), satterthwaite(parts)
