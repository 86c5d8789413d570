"""What a bot was paid a round on the average, every opponent weighing the same, with an interval. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from msgspec import Struct

from measuring.student_t import satterthwaite, student_cdf, student_reach


class Paid(NamedTuple):
    """What a bot was paid in so many rounds, one or more."""

    total: float
    rounds: int


class PairPayoffs(NamedTuple):
    """What a bot was paid against one opponent: in so many units (matches, or the matches of one start) the mean of all
    rounds, and the sum of the squares by which units differ from it. Of a unit that paid `total` in `rounds` that is
    (total - mean · rounds), divided by the mean number of rounds of a unit.
    """

    units: int
    mean: float
    squares: float


class MeanPayoff(Struct, frozen=True, kw_only=True):
    """The mean over so many `opponents` of the mean payoff of all rounds against each, and its 95 % interval, None
    where no opponent was met twice. Opponents are taken as given: it says what more matches against them would change.
    """

    mean: float
    low: float | None
    high: float | None
    opponents: int


def mean_of_rounds(units: Sequence[Paid]) -> list[float]:
    """A value for each unit, one at least: their mean is that of all rounds, their differences from it are those of
    `PairPayoffs`. So the mean of matches of different lengths, a ratio, is handled as that of values (W. G. Cochran,
    Sampling Techniques, 1977, 6.4).
    """
    rounds = sum(unit.rounds for unit in units)
    mean, length = math.fsum(unit.total for unit in units) / rounds, rounds / len(units)
    return [mean + (unit.total - mean * unit.rounds) / length for unit in units]


def pair_payoffs(payoffs: Sequence[float]) -> PairPayoffs:
    """Those of units with these values, one at least."""
    mean = fmean(payoffs)
    return PairPayoffs(len(payoffs), mean, math.fsum((payoff - mean) ** 2 for payoff in payoffs))


def mean_payoff(pairs: Iterable[PairPayoffs]) -> MeanPayoff | None:
    """The mean over opponents; None without any.

    Its squared standard error is the mean's of each opponent, s²/n, summed and divided by the square of how many there
    are; the variance of one that was met once is that within all others. The interval is Student's, with the degrees of
    freedom of B. L. Welch, The generalization of 'Student's' problem when several different population variances are
    involved (1947).
    """
    met = list(pairs)
    if not met:
        return None
    mean, low, high = fmean(pair.mean for pair in met), None, None
    if (found := _error(met)) is not None:
        error, freedom = found
        reach = student_reach(freedom) * error / len(met) if error else 0.0
        low, high = mean - reach, mean + reach
    return MeanPayoff(mean=mean, low=low, high=high, opponents=len(met))


def chance_of_difference(strata: Sequence[PairPayoffs]) -> float:
    """How likely the sum of the strata's means is so far from 0, or farther, where it is 0 in truth: Student's test,
    both ways, with the error and freedom of `mean_payoff`. 1 where that can't be known.
    """
    found = _error(strata)
    total = math.fsum(stratum.mean for stratum in strata)
    if found is None or abs(total) < _EQUAL:
        return 1.0
    error, freedom = found
    return 2 * student_cdf(-abs(total) / error, freedom) if error else 0.0


_EQUAL = 1e-9
"""Sums below this are rounding."""


def _error(met: Sequence[PairPayoffs]) -> tuple[float, float] | None:
    """The standard error of the sum of the means, and its degrees of freedom; None where all are of one unit."""
    parts: list[tuple[float, int]] = []
    freedom, squares = 0, 0.0
    for units, _, deviations in met:
        if units > 1:
            parts.append((deviations / (units - 1) / units, units - 1))
            freedom, squares = freedom + units - 1, squares + deviations
    if not freedom:
        return None
    if lone := len(met) - len(parts):
        parts.append((lone * squares / freedom, freedom))
    total = math.fsum(part for part, _ in parts)
    if total < _EQUAL**2:
        return 0.0, freedom
    return math.sqrt(total), satterthwaite(parts)
